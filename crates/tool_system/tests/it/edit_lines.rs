//! `edit_lines`: every scenario of the specification.

use protocol::ErrorCode;
use serde_json::{Value, json};

use crate::harness::Bench;

fn bench() -> Bench {
    let lines: String = (1..=20).map(|line| format!("line {line}\n")).collect();
    Bench::writable(&format!("//- /a.txt\n{lines}"))
}

fn lines(bench: &Bench) -> Vec<String> {
    bench.project.read("a.txt").lines().map(str::to_owned).collect()
}

async fn edit(bench: &Bench, arguments: Value) -> Value {
    let done = bench.ok("edit_lines", arguments).await;
    assert_eq!(bench.approver.asked().len(), 1, "it requires approval");
    done
}

#[tokio::test]
async fn insert_lines() {
    let bench = bench();
    let done = edit(
        &bench,
        json!({"path": "a.txt", "operation": "insert", "start_line": 10, "content": "new"}),
    )
    .await;
    assert_eq!(lines(&bench)[9..12], ["line 10", "new", "line 11"]);
    assert_eq!(done["total_lines"], 21);
    assert!(done["diff"].as_str().unwrap().contains("+new"), "{done:#}");
}

#[tokio::test]
async fn delete_line_range() {
    let bench = bench();
    let done = edit(
        &bench,
        json!({"path": "a.txt", "operation": "delete", "start_line": 5, "end_line": 8}),
    )
    .await;
    assert_eq!(lines(&bench)[3..5], ["line 4", "line 9"]);
    assert_eq!(done["total_lines"], 16);
}

#[tokio::test]
async fn replace_line_range() {
    let bench = bench();
    let arguments = json!({
        "path": "a.txt", "operation": "replace", "start_line": 10, "end_line": 15, "content": "ten\nto fifteen",
    });
    let done = edit(&bench, arguments).await;
    assert_eq!(lines(&bench)[8..12], ["line 9", "ten", "to fifteen", "line 16"]);
    assert_eq!(done["total_lines"], 16);
}

#[tokio::test]
async fn invalid_line_range() {
    let bench = bench();
    for arguments in [
        json!({"path": "a.txt", "operation": "delete", "start_line": 21}),
        json!({"path": "a.txt", "operation": "delete", "start_line": 5, "end_line": 99}),
        json!({"path": "a.txt", "operation": "replace", "start_line": 8, "end_line": 5, "content": "x"}),
    ] {
        let error = bench.err("edit_lines", arguments.clone()).await;
        assert_eq!(error.code, ErrorCode::InvalidRange, "{arguments}");
        assert!(error.message.contains("1") && error.message.contains("20"), "{error}");
    }
    assert!(bench.approver.asked().is_empty());
}

#[tokio::test]
async fn file_not_found() {
    let bench = bench();
    let error = bench
        .err("edit_lines", json!({"path": "b.txt", "operation": "delete", "start_line": 1}))
        .await;
    assert_eq!(error.code, ErrorCode::FileNotFound);
    assert!(error.message.contains("b.txt"));
}

#[tokio::test]
async fn lines_that_are_not_what_the_model_believes_are_a_conflict() {
    let bench = bench();
    let arguments = json!({
        "path": "a.txt", "operation": "replace", "start_line": 3, "content": "x", "expected": "line 4",
    });
    let error = bench.err("edit_lines", arguments).await;
    assert_eq!(error.code, ErrorCode::Conflict);
    assert!(error.full_message().contains("line 3"), "{error:?}");
}

#[tokio::test]
async fn a_file_that_changed_since_it_was_read_must_be_read_again() {
    let bench = bench();
    bench.ok("read_file", json!({"path": "a.txt"})).await;
    bench.project.write("a.txt", "other\ncontent\n");
    let edit = json!({"path": "a.txt", "operation": "delete", "start_line": 1});
    let error = bench.err("edit_lines", edit.clone()).await;
    assert_eq!(error.code, ErrorCode::Conflict);
    bench.ok("read_file", json!({"path": "a.txt"})).await;
    bench.ok("edit_lines", edit).await;
    assert_eq!(bench.project.read("a.txt"), "content\n");
}
