//! Identical calls in one turn.

use serde_json::{Value, json};
use tool_system::Caller;

use crate::harness::Bench;

fn bench() -> Bench {
    let caller = Caller { detect_repeats: true, ..Default::default() };
    Bench::with("//- /a.txt\none\n//- /b.txt\none\n", caller, Vec::new())
}

fn is_redundant(result: &Value) -> bool {
    result["redundant"].as_str().is_some_and(|remark| remark.contains("already answered"))
}

#[tokio::test]
async fn an_identical_call_is_answered_from_memory_and_says_so() {
    let bench = bench();
    let first = bench.ok("read_file", json!({"path": "a.txt", "limit": 5})).await;
    assert!(!is_redundant(&first));
    let again = bench.ok("read_file", json!({"limit": 5, "path": "a.txt"})).await;
    assert!(is_redundant(&again));
    assert_eq!(again["content"], first["content"]);
    let other = bench.ok("read_file", json!({"path": "b.txt", "limit": 5})).await;
    assert!(!is_redundant(&other));
}

#[tokio::test]
async fn a_new_turn_forgets() {
    let bench = bench();
    bench.ok("grep", json!({"pattern": "one"})).await;
    assert!(is_redundant(&bench.ok("grep", json!({"pattern": "one"})).await));
    bench.executor.clear_current_turn();
    assert!(!is_redundant(&bench.ok("grep", json!({"pattern": "one"})).await));
    bench.executor.clear_state();
    assert!(!is_redundant(&bench.ok("grep", json!({"pattern": "one"})).await));
}

#[tokio::test]
async fn a_file_that_changed_meanwhile_is_read_again() {
    let bench = bench();
    bench.ok("read_file", json!({"path": "a.txt"})).await;
    bench.project.write("a.txt", "two\n");
    let again = bench.ok("read_file", json!({"path": "a.txt"})).await;
    assert!(!is_redundant(&again));
    assert_eq!(again["content"], "     1\ttwo");
}

#[tokio::test]
async fn errors_are_not_remembered() {
    let bench = bench();
    bench.err("read_file", json!({"path": "new.txt"})).await;
    bench.project.write("new.txt", "here\n");
    bench.ok("read_file", json!({"path": "new.txt"})).await;
}
