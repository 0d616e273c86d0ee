//! `find_definition`: one answer for every language, the best first.

use protocol::ErrorCode;
use serde_json::json;
use tool_system::{Limits, Vocabulary};

use crate::harness::{Bench, each};

const SERVICES: &str = r"
//- /src/main.js
const { DatabaseService } = require('./services/DatabaseService');
const db = new DatabaseService();
//- /src/services/DatabaseService.js
// Talks to the DatabaseService of old.
class DatabaseService {
  connect() {}
}
module.exports = { DatabaseService };
//- /tests/db.test.js
class DatabaseService {}
";

#[tokio::test]
async fn symbol_lookup() {
    let bench = Bench::speaking(Vocabulary::Explorer, SERVICES);
    let found = bench.ok("find_definition", json!({"symbol": "DatabaseService"})).await;
    let best = &found["definitions"][0];
    assert_eq!(best["path"], "src/services/DatabaseService.js");
    assert_eq!(best["line"], 2);
    assert_eq!(best["kind"], "class");
    assert_eq!(best["signature"], "class DatabaseService");
    assert_eq!(best["before"], json!(["// Talks to the DatabaseService of old."]));
    assert_eq!(found["definitions"][1]["path"], "tests/db.test.js", "tests come later");
    let read = bench.ok("read_file", json!({"path": best["path"]})).await;
    assert!(read.to_string().contains("connect()"), "{read}");
}

#[tokio::test]
async fn every_default_language_is_understood() {
    let table = [
        ("a.rs", "pub struct Foo;\nimpl Foo {\n    pub fn wanted(&self) {}\n}\n", 3, "method"),
        ("a.py", "import os\n\n@decorated\ndef wanted():\n    pass\n", 4, "function"),
        ("a.js", "const a = 1;\nconst wanted = () => a;\n", 2, "function"),
        ("a.ts", "class A {\n  private async wanted<T>(a: T) {}\n}\n", 2, "method"),
        ("a.tsx", "export const wanted = () => <div/>;\n", 1, "function"),
        ("a.go", "package a\n\nfunc (r *R) wanted() {}\n", 3, "method"),
        ("A.java", "class A {\n  public static <T> void wanted(T a) {}\n}\n", 2, "method"),
        ("a.c", "static int\nwanted(int a)\n{\n\treturn wanted(a);\n}\n", 2, "function"),
        ("a.cpp", "namespace n {\nvoid A::wanted() {}\n}\n", 2, "method"),
        ("a.cs", "class A {\n  void wanted() { wanted(); }\n}\n", 2, "method"),
        ("a.rb", "class A\n  def self.wanted\n  end\nend\n", 2, "method"),
        ("a.php", "<?php\nfunction wanted() {}\n", 2, "function"),
        ("a.sh", "echo wanted\nwanted() {\n  :\n}\n", 2, "function"),
        ("a.h", "#define wanted(x) (x)\n", 1, "macro"),
        ("b.rs", "fn f() {\n    enum wanted { A }\n}\n", 2, "enum"),
        ("b.go", "package a\n\nconst (\n\tx = 1\n\twanted = 2\n)\n", 5, "constant"),
    ];
    for (name, text, line, kind) in table {
        let bench = Bench::new("");
        bench.project.write(name, text);
        let found = bench.ok("find_definition", json!({"symbol": "wanted"})).await;
        let best = &found["definitions"][0];
        assert_eq!(
            (best["line"].as_u64(), best["kind"].as_str()),
            (Some(line), Some(kind)),
            "{name}: {found:#}"
        );
        assert!(best.get("by").is_none(), "{name}");
    }
}

#[tokio::test]
async fn a_language_without_a_grammar_is_answered_by_text_after_the_others() {
    let bench = Bench::new(
        "//- /a.lua\nlocal x = setup()\nfunction setup()\nend\n//- /b/c/d.py\ndef setup():\n    pass\n//- /notes.md\nsetup: how to\n",
    );
    let found = bench.ok("find_definition", json!({"symbol": "setup", "context": 0})).await;
    assert_eq!(each(&found["definitions"], "path"), ["b/c/d.py", "a.lua"], "{found:#}");
    assert_eq!(
        (&found["definitions"][1]["by"], &found["definitions"][1]["line"]),
        (&json!("text"), &json!(2))
    );
}

const RUST: &str = r#"
//- /src/lib.rs
pub mod net;
use net::Session as Connection;
//- /src/net.rs
pub struct Session { pub open: bool }
impl Session {
    pub fn new() -> Session { Session { open: true } }
}
pub struct Other;
impl Other {
    pub fn new() -> Other { Other }
}
fn open() -> bool { let open = true; open }
//- /src/net/tests.rs
fn new() {}
"#;

#[tokio::test]
async fn qualified_names_in_any_spelling_find_the_one_that_is_meant() {
    let bench = Bench::new(RUST);
    for symbol in [
        "Session::new",
        "Session.new",
        "Session#new",
        "net::Session::new()",
        "crate::net::Session::new",
    ] {
        let found = bench.ok("find_definition", json!({"symbol": symbol})).await;
        assert_eq!(
            (&found["total"], &found["definitions"][0]["line"]),
            (&json!(1), &json!(3)),
            "{symbol}: {found:#}"
        );
        assert_eq!(found["definitions"][0]["container"], "Session");
    }
    let missing = bench.ok("find_definition", json!({"symbol": "Stream::new"})).await;
    let message = missing["message"].as_str().unwrap();
    assert!(message.starts_with("No `Stream.new`, but 3 definitions of `new`."), "{message}");
}

#[tokio::test]
async fn definitions_come_before_fields_locals_and_imports_and_types_narrow() {
    let bench = Bench::new(RUST);
    let kinds = |found: serde_json::Value| -> Vec<String> {
        each(&found["definitions"], "kind").into_iter().map(str::to_owned).collect()
    };
    let all = bench.ok("find_definition", json!({"symbol": "open"})).await;
    assert_eq!(kinds(all), ["function", "field", "local"]);
    let only = bench.ok("find_definition", json!({"symbol": "open", "type": "variable"})).await;
    assert_eq!(kinds(only), ["field", "local"]);
    let only = bench.ok("find_definition", json!({"symbol": "open", "type": "class"})).await;
    assert_eq!(only["total"], 0);
    let alias =
        bench.ok("find_definition", json!({"symbol": "Connection", "type": "import"})).await;
    assert_eq!(
        (&alias["definitions"][0]["path"], &alias["definitions"][0]["line"]),
        (&json!("src/lib.rs"), &json!(2))
    );
}

#[tokio::test]
async fn nothing_found_is_a_success_with_near_names() {
    let bench = Bench::new(RUST);
    let found = bench.ok("find_definition", json!({"symbol": "sesion"})).await;
    assert_eq!(found["total"], 0);
    assert!(
        found["message"].as_str().unwrap().contains("Did you mean `Session` (src/net.rs:1)?"),
        "{found:#}"
    );
    let found = bench.ok("find_definition", json!({"symbol": "xyzzy"})).await;
    assert!(found["message"].as_str().unwrap().contains("grep"), "{found:#}");
}

#[tokio::test]
async fn limits_hold_and_the_rest_is_counted() {
    let files: String =
        (0..30).map(|n| format!("//- /d/f{n}.py\ndef many():\n    pass\n")).collect();
    let bench = Bench::new(&files);
    let found = bench.ok("find_definition", json!({"symbol": "many", "max_results": 5})).await;
    assert_eq!(found["definitions"].as_array().unwrap().len(), 5);
    assert_eq!(found["total"], 30);
    assert!(found["message"].as_str().unwrap().contains("…and 25 more"), "{found:#}");
    let again = bench.ok("find_definition", json!({"symbol": "many", "max_results": 5})).await;
    assert_eq!(found["definitions"], again["definitions"]);
    let one = bench.ok("find_definition", json!({"symbol": "many", "path": "d/f7.py"})).await;
    assert_eq!(one["total"], 1);
    let late = Limits { search_ms: 0, ..Limits::default() };
    let partial =
        Bench::limited(&files, late).ok("find_definition", json!({"symbol": "many"})).await;
    assert!(partial["warnings"][0].as_str().unwrap().contains("Time ran out"), "{partial:#}");
}

#[tokio::test]
async fn hostile_files_and_arguments_are_survived() {
    let bench = Bench::new("//- /ok.py\ndef wanted():\n    pass\n");
    bench.project.write("deep.js", "[".repeat(50_000) + "wanted(");
    bench.project.write("deep.c", "{".repeat(50_000) + " int wanted(");
    bench.project.write("long.js", "wanted=1;".repeat(40_000));
    bench.project.write("binary.py", b"def wanted():\0\0\n");
    bench.project.write("latin.py", b"# caf\xE9\ndef wanted(): pass\n");
    bench.project.write(
        "utf16.py",
        "\u{FEFF}def wanted(): pass\n"
            .encode_utf16()
            .flat_map(u16::to_le_bytes)
            .collect::<Vec<u8>>(),
    );
    let found = bench.ok("find_definition", json!({"symbol": "wanted", "type": "function"})).await;
    let paths = each(&found["definitions"], "path");
    for path in ["ok.py", "latin.py", "utf16.py"] {
        assert!(paths.contains(&path), "{path}: {found:#}");
    }
    assert!(!paths.contains(&"binary.py"));
    for symbol in ["", "two words", "::", "\0"] {
        let error = bench.err("find_definition", json!({"symbol": symbol})).await;
        assert_eq!(error.code, ErrorCode::InvalidArguments, "{symbol:?}");
    }
    let error = bench.err("find_definition", json!({"symbol": "wanted", "path": "no/such"})).await;
    assert_eq!(error.code, ErrorCode::FileNotFound);
}
