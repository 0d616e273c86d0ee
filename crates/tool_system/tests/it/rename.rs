//! `rename_symbol`: many files, one approval, and only names.

use protocol::ErrorCode;
use serde_json::json;

use crate::harness::{Bench, strings};

const PROJECT: &str = r#"
//- /a.rs
// calls old
fn main() { old("old"); older(); }
//- /b.rs
pub fn old(text: &str) {}
//- /c.py
def old(): pass
//- /d.lua
old()
"#;

#[tokio::test]
async fn a_rename_is_one_approval_and_one_undo() {
    let bench = Bench::writable(PROJECT);
    let done = bench.ok("rename_symbol", json!({"symbol": "old", "new_name": "fresh"})).await;
    assert_eq!(
        bench.project.read("a.rs"),
        "// calls old\nfn main() { fresh(\"old\"); older(); }\n"
    );
    assert_eq!(bench.project.read("b.rs"), "pub fn fresh(text: &str) {}\n");
    assert_eq!(bench.project.read("c.py"), "def fresh(): pass\n");
    assert_eq!(bench.project.read("d.lua"), "old()\n");
    assert_eq!(strings(&done["files"]), ["a.rs", "b.rs", "c.py"]);
    assert_eq!(done["replacements"], 3);
    assert_eq!(done["left_alone"], json!(["d.lua"]));
    assert_eq!(bench.approver.asked().len(), 1);
    bench.ok("undo", json!({})).await;
    assert!(bench.project.read("a.rs").contains("old(\"old\")"));
    assert_eq!(bench.project.read("c.py"), "def old(): pass\n");
}

#[tokio::test]
async fn comments_and_strings_are_renamed_only_if_asked_and_only_in_the_path() {
    let bench = Bench::writable(PROJECT);
    let asked =
        json!({"symbol": "old", "new_name": "fresh", "path": "a.rs", "include_comments": true});
    bench.ok("rename_symbol", asked).await;
    assert_eq!(
        bench.project.read("a.rs"),
        "// calls fresh\nfn main() { fresh(\"fresh\"); older(); }\n"
    );
    assert_eq!(bench.project.read("b.rs"), "pub fn old(text: &str) {}\n");
}

#[tokio::test]
async fn what_would_break_is_refused_with_the_reason() {
    let bench = Bench::writable(PROJECT);
    let taken = bench.err("rename_symbol", json!({"symbol": "old", "new_name": "older"})).await;
    assert_eq!(taken.code, ErrorCode::Conflict);
    assert!(taken.message.contains("a.rs:2"), "{taken}");
    for new_name in ["fn", "2x", "a b", "", "a::b"] {
        let error =
            bench.err("rename_symbol", json!({"symbol": "old", "new_name": new_name})).await;
        assert_eq!(error.code, ErrorCode::InvalidArguments, "{new_name}: {error}");
    }
    assert!(bench.approver.asked().is_empty());
    assert!(bench.project.read("b.rs").contains("old"));
}

#[tokio::test]
async fn nothing_to_rename_needs_no_approval() {
    let bench = Bench::writable(PROJECT);
    let done = bench.ok("rename_symbol", json!({"symbol": "missing", "new_name": "fresh"})).await;
    assert_eq!(done["replacements"], 0);
    assert!(done["message"].as_str().unwrap().starts_with("0 replacements"), "{done:#}");
    assert!(bench.approver.asked().is_empty());
}

#[tokio::test]
async fn a_qualified_name_is_renamed_only_if_it_can_be_told_apart() {
    let one = "//- /a.rs\nstruct A;\nimpl A { fn run(&self) {} }\nfn f(a: A) { a.run(); }\n";
    let bench = Bench::writable(one);
    bench.ok("rename_symbol", json!({"symbol": "A::run", "new_name": "go"})).await;
    assert!(bench.project.read("a.rs").contains("a.go()"));
    let two = format!("{one}//- /b.rs\nstruct B;\nimpl B {{ fn run(&self) {{}} }}\n");
    let bench = Bench::writable(&two);
    let error = bench.err("rename_symbol", json!({"symbol": "A::run", "new_name": "go"})).await;
    assert_eq!(error.code, ErrorCode::Conflict);
    assert!(error.message.contains("b.rs:2"), "{error}");
    let error = bench.err("rename_symbol", json!({"symbol": "C::run", "new_name": "go"})).await;
    assert_eq!(error.code, ErrorCode::InvalidArguments, "{error}");
}

#[tokio::test]
async fn every_other_byte_stays_as_it_is() {
    let bench = Bench::writable("//- /x.txt\n");
    bench.project.write("crlf.py", b"\xEF\xBB\xBFdef old():\r\n\tpass\n\r\n");
    bench.project.write("latin.py", b"# caf\xE9 na\xEFve\ndef old(): pass");
    let utf16 = |text: &str| text.encode_utf16().flat_map(u16::to_le_bytes).collect::<Vec<u8>>();
    bench.project.write("wide.py", utf16("\u{FEFF}def old(): pass\r\n"));
    bench.ok("rename_symbol", json!({"symbol": "old", "new_name": "fresh"})).await;
    let bytes = |name: &str| std::fs::read(bench.project.path(name)).unwrap();
    assert_eq!(bytes("crlf.py"), b"\xEF\xBB\xBFdef fresh():\r\n\tpass\n\r\n");
    assert_eq!(bytes("latin.py"), b"# caf\xE9 na\xEFve\ndef fresh(): pass");
    assert_eq!(bytes("wide.py"), utf16("\u{FEFF}def fresh(): pass\r\n"));
}
