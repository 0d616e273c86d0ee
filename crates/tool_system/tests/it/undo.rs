//! Taking changes back and making them again.

use protocol::ErrorCode;
use serde_json::json;

use crate::harness::{Bench, strings};

const PROJECT: &str = "//- /a.txt\none\n//- /dir/b.txt\ntwo\n";

#[tokio::test]
async fn the_last_change_is_undone_and_redone_each_with_a_diff_to_approve() {
    let bench = Bench::writable(PROJECT);
    bench.ok("update_file", json!({"path": "a.txt", "content": "changed\n"})).await;
    bench.approver.asked();
    let undone = bench.ok("undo", json!({})).await;
    assert_eq!(strings(&undone["paths"]), ["a.txt"]);
    assert_eq!(bench.project.read("a.txt"), "one\n");
    let asked = bench.approver.asked();
    assert_eq!((asked.len(), asked[0].diffs[0].path.as_str()), (1, "a.txt"));
    bench.ok("redo", json!({})).await;
    assert_eq!(bench.project.read("a.txt"), "changed\n");
    bench.ok("undo", json!({})).await;
    assert_eq!(bench.project.read("a.txt"), "one\n");
}

#[tokio::test]
async fn one_change_can_be_undone_by_its_id_and_a_session_as_a_whole() {
    let bench = Bench::writable(PROJECT);
    let first = bench.ok("update_file", json!({"path": "a.txt", "content": "1\n"})).await;
    bench.ok("create_file", json!({"path": "new/c.txt", "content": "c\n"})).await;
    bench.ok("delete_file", json!({"path": "dir", "recursive": true})).await;
    bench.ok("undo", json!({"change_id": first["change_id"]})).await;
    assert_eq!(bench.project.read("a.txt"), "one\n");
    assert!(bench.project.path("new/c.txt").exists());
    bench.ok("undo", json!({"session": true})).await;
    assert!(!bench.project.path("new").exists());
    assert_eq!(bench.project.read("dir/b.txt"), "two\n");
    assert_eq!(bench.project.read("a.txt"), "one\n");
}

#[tokio::test]
async fn one_change_can_be_redone_by_its_id() {
    let bench = Bench::writable(PROJECT);
    let first = bench.ok("update_file", json!({"path": "a.txt", "content": "1\n"})).await;
    let second = bench.ok("update_file", json!({"path": "dir/b.txt", "content": "2\n"})).await;
    for change in [&first, &second] {
        bench.ok("undo", json!({"change_id": change["change_id"]})).await;
    }
    bench.ok("redo", json!({"change_id": first["change_id"]})).await;
    assert_eq!(bench.project.read("a.txt"), "1\n");
    assert_eq!(bench.project.read("dir/b.txt"), "two\n");
    let again = bench.err("redo", json!({"change_id": first["change_id"]})).await;
    assert!(again.message.contains("is not undone"), "{again}");
}

#[tokio::test]
async fn a_session_that_moved_a_directory_is_undone_with_one_approval_and_redone() {
    let bench = Bench::writable(PROJECT);
    bench.ok("update_file", json!({"path": "dir/b.txt", "content": "before\n"})).await;
    bench.ok("move_file", json!({"from": "dir", "to": "moved"})).await;
    bench.ok("update_file", json!({"path": "moved/b.txt", "content": "after\n"})).await;
    bench.ok("create_file", json!({"path": "moved/c.txt", "content": "c\n"})).await;
    bench.approver.asked();
    let undone = bench.ok("undo", json!({"session": true})).await;
    assert_eq!(undone["changes"].as_array().map(Vec::len), Some(4));
    assert_eq!(bench.approver.asked().len(), 1);
    assert_eq!(bench.project.read("dir/b.txt"), "two\n");
    assert!(!bench.project.path("moved").exists());
    bench.ok("redo", json!({})).await;
    assert_eq!(bench.project.read("moved/b.txt"), "after\n");
    assert_eq!(bench.project.read("moved/c.txt"), "c\n");
    assert!(!bench.project.path("dir").exists());
}

#[tokio::test]
async fn an_undo_never_overwrites_what_was_written_since() {
    let bench = Bench::writable(PROJECT);
    bench.ok("update_file", json!({"path": "a.txt", "content": "changed\n"})).await;
    bench.project.write("a.txt", "by hand\n");
    let error = bench.err("undo", json!({})).await;
    assert_eq!(error.code, ErrorCode::Conflict);
    assert!(error.message.contains("a.txt"), "{error}");
    assert_eq!(bench.project.read("a.txt"), "by hand\n");
}

#[tokio::test]
async fn with_nothing_to_undo_it_says_so() {
    let bench = Bench::writable(PROJECT);
    assert_eq!(bench.err("undo", json!({})).await.message, "there is nothing to undo");
    assert_eq!(bench.err("redo", json!({})).await.message, "there is nothing to redo");
    assert_eq!(
        bench.err("undo", json!({"change_id": "abc"})).await.code,
        ErrorCode::InvalidArguments
    );
}
