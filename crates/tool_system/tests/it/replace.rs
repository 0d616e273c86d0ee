//! `replace_in_file`: every scenario of the specification.

use protocol::ErrorCode;
use serde_json::json;
use tool_system::ExecutorOptions;

use crate::harness::{Bench, ScriptedApprover, no};

const FILE: &str = "//- /a.txt\noldText one\ntwo oldText oldText\nthree\n";

#[tokio::test]
async fn simple_text_replacement() {
    let bench = Bench::writable(FILE);
    let done = bench
        .ok("replace_in_file", json!({"path": "a.txt", "find": "oldText", "replace": "newText"}))
        .await;
    assert_eq!(done["replacements"], 3);
    assert_eq!(bench.project.read("a.txt"), "newText one\ntwo newText newText\nthree\n");
    assert_eq!(bench.approver.asked().len(), 1);
    assert!(done["diff"].as_str().unwrap().contains("+newText one"), "{done:#}");
}

#[tokio::test]
async fn regex_based_replacement() {
    let bench = Bench::writable("//- /a.rs\nlet a = f(1, 2);\nlet b = f(3, 4);\n");
    let arguments = json!({
        "path": "a.rs", "find": r"f\((\d), (?P<second>\d)\)", "replace": "g(${second}, $1)", "is_regex": true,
    });
    let done = bench.ok("replace_in_file", arguments).await;
    assert_eq!(done["replacements"], 2);
    assert_eq!(bench.project.read("a.rs"), "let a = g(2, 1);\nlet b = g(4, 3);\n");
}

#[tokio::test]
async fn preview_mode() {
    let bench = Bench::writable(FILE);
    let arguments =
        json!({"path": "a.txt", "find": "three", "replace": "drei", "preview_only": true});
    let shown = bench.ok("replace_in_file", arguments).await;
    let diff = shown["diff"].as_str().unwrap();
    assert!(diff.contains("-three") && diff.contains("+drei"), "{diff}");
    assert_eq!(shown["replacements"], 1);
    assert!(bench.project.read("a.txt").ends_with("three\n"));
    assert!(bench.approver.asked().is_empty());
}

#[tokio::test]
async fn pattern_not_found() {
    let bench = Bench::writable(FILE);
    let before = bench.project.read("a.txt");
    let done = bench
        .ok("replace_in_file", json!({"path": "a.txt", "find": "oldTxet one", "replace": "x"}))
        .await;
    assert_eq!(done["replacements"], 0);
    assert!(done["message"].as_str().unwrap().contains("0 replacements"), "{done:#}");
    assert_eq!(bench.project.read("a.txt"), before);
    assert!(bench.approver.asked().is_empty());
    // The miss helps: it names the nearest line.
    assert!(done["miss"].to_string().contains("oldText one"), "{done:#}");
}

#[tokio::test]
async fn file_not_found() {
    let bench = Bench::writable(FILE);
    let error =
        bench.err("replace_in_file", json!({"path": "b.txt", "find": "x", "replace": "y"})).await;
    assert_eq!(error.code, ErrorCode::FileNotFound);
    assert!(error.message.contains("b.txt"));
}

#[tokio::test]
async fn an_expected_count_that_is_wrong_changes_nothing() {
    let bench = Bench::writable(FILE);
    let arguments = json!({"path": "a.txt", "find": "oldText", "replace": "x", "expected": 1});
    let error = bench.err("replace_in_file", arguments).await;
    assert!(error.message.contains('3') && error.message.contains('1'), "{error}");
    assert!(bench.project.read("a.txt").contains("oldText"));
    assert!(bench.approver.asked().is_empty());
}

#[tokio::test]
async fn an_invalid_regex_is_explained() {
    let bench = Bench::writable(FILE);
    let arguments = json!({"path": "a.txt", "find": "(", "replace": "x", "is_regex": true});
    assert_eq!(bench.err("replace_in_file", arguments).await.code, ErrorCode::InvalidPattern);
}

#[tokio::test]
async fn a_refused_replacement_leaves_the_file_alone() {
    let approver = ScriptedApprover::answering([no(None)]);
    let bench = Bench::asking(FILE, approver, ExecutorOptions::default());
    let error = bench
        .err("replace_in_file", json!({"path": "a.txt", "find": "three", "replace": "x"}))
        .await;
    assert_eq!(
        (error.code, error.message.as_str()),
        (ErrorCode::Rejected, "User rejected changes")
    );
    assert!(bench.project.read("a.txt").contains("three"));
}

#[tokio::test]
async fn bytes_outside_the_match_stay_as_they_are() {
    let bench = Bench::writable("//- /x/\n");
    bench.project.write("mixed", b"\xEF\xBB\xBFcaf\xC3\xA9\r\nold\nlast \xFF\r\nold");
    bench.ok("replace_in_file", json!({"path": "mixed", "find": "old", "replace": "new"})).await;
    assert_eq!(
        bench.project.read_bytes("mixed"),
        b"\xEF\xBB\xBFcaf\xC3\xA9\r\nnew\nlast \xFF\r\nnew"
    );
}

#[tokio::test]
async fn a_careful_match_is_named_and_shown_before_it_is_made() {
    let bench = Bench::writable(
        "//- /a.rs\nfn f() {\n    old();\n}\n\nfn g() {\n    same();\n    same();\n}\n",
    );
    let edit = |find: &str, more: bool| json!({"path": "a.rs", "find": find, "replace": "\tnew();", "preview_only": more});
    let shown = bench.ok("replace_in_file", edit("\told();", true)).await;
    assert_eq!(
        shown["message"],
        "Preview only: 1 replacement would be made (match apart from indentation; the new lines were re-indented)."
    );
    let done = bench.ok("replace_in_file", edit("\told();", false)).await;
    assert_eq!(
        done["message"],
        "1 replacement in a.rs (match apart from indentation; the new lines were re-indented)."
    );
    assert!(bench.project.read("a.rs").starts_with("fn f() {\n    new();\n}\n"));
    let error = bench.err("replace_in_file", edit("\tsame();", false)).await;
    assert_eq!(error.code, ErrorCode::InvalidArguments);
    assert!(error.message.contains("2 times (at lines 6, 7)"), "{error}");
    assert_eq!(bench.approver.asked().len(), 1);
}
