//! Commands that go on while calls come and go.

use protocol::ErrorCode;
use serde_json::{Value, json};
use tool_system::{ExecutorOptions, Limits};

use crate::harness::{Bench, ScriptedApprover, allowing};

fn bench(options: ExecutorOptions) -> Option<Bench> {
    Bench::running("//- /a.txt\none\n", ScriptedApprover::answering([]), options)
}

async fn start(bench: &Bench, command: &str) -> String {
    let started = bench.ok("job", json!({"action": "start", "command": command})).await;
    assert_eq!(started["running"], true);
    started["id"].as_str().unwrap().to_owned()
}

/// Reads on until the output holds `text`; the place after it.
async fn until(bench: &Bench, id: &str, text: &str, mut cursor: u64) -> u64 {
    let mut seen = String::new();
    while !seen.contains(text) {
        let look = bench.ok("job", json!({"action": "output", "id": id, "cursor": cursor})).await;
        seen += look["output"].as_str().unwrap();
        cursor = look["cursor"].as_u64().unwrap();
        assert!(look["running"] == true || seen.contains(text), "{look}");
    }
    cursor
}

#[tokio::test]
async fn a_job_is_started_talked_to_and_stopped() {
    let Some(bench) = bench(allowing(&["job"])) else { return };
    let id = start(&bench, "echo ready; while read line; do echo got $line; done").await;
    let cursor = until(&bench, &id, "ready\n", 0).await;
    let told = bench.ok("job", json!({"action": "input", "id": id, "input": "äpfel\n"})).await;
    assert_eq!(told["running"], true);
    let cursor = until(&bench, &id, "got äpfel\n", cursor).await;
    let listed = bench.ok("job", json!({"action": "list"})).await;
    assert_eq!(
        (&listed["jobs"][0]["id"], &listed["jobs"][0]["running"]),
        (&json!(id), &json!(true))
    );
    let stopped = bench.ok("job", json!({"action": "stop", "id": id})).await;
    assert_eq!(stopped, json!({"id": id, "running": false, "message": "stopped"}));
    let after = json!({"action": "output", "id": id, "cursor": cursor});
    let rest = bench.ok("job", after).await;
    assert_eq!((&rest["output"], &rest["running"]), (&json!(""), &json!(false)));
    let told = json!({"action": "input", "id": id, "input": "x"});
    assert_eq!(bench.err("job", told).await.code, ErrorCode::ExecutionError);
}

#[tokio::test]
async fn a_job_sees_every_edit_and_changes_nothing() {
    let Some(bench) = bench(ExecutorOptions::default()) else { return };
    let command =
        "exec 2>&1; echo two > a.txt; mkdir d; echo ready; while read line; do cat a.txt; done";
    let id = start(&bench, command).await;
    let cursor = until(&bench, &id, "ready\n", 0).await;
    bench.ok("write_file", json!({"path": "a.txt", "content": "edited\n"})).await;
    bench.approver.asked();
    bench.ok("job", json!({"action": "input", "id": id, "input": "go\n"})).await;
    until(&bench, &id, "edited\n", cursor).await;
    bench.ok("job", json!({"action": "stop", "id": id})).await;
    assert!(bench.approver.asked().is_empty());
    assert_eq!(bench.project.read("a.txt"), "edited\n");
    assert!(!bench.project.path("d").exists());
}

#[tokio::test]
async fn a_job_that_ends_by_itself_leaves_its_code() {
    let Some(bench) = bench(allowing(&["job"])) else { return };
    let id = start(&bench, "exit 7").await;
    let mut look = Value::Null;
    for _ in testkit::in_time("the end of the job") {
        if look["running"] == false {
            break;
        }
        look = bench.ok("job", json!({"action": "output", "id": id, "cursor": 0})).await;
    }
    assert_eq!(look["exit_code"], 7);
}

#[tokio::test]
async fn there_are_only_so_many_and_wrong_calls_are_explained() {
    let limits = Limits { jobs: 1, ..Limits::default() };
    let Some(bench) = bench(ExecutorOptions { limits, ..allowing(&["job"]) }) else { return };
    start(&bench, "cat").await;
    let error = bench.err("job", json!({"action": "start", "command": "cat"})).await;
    assert_eq!(error.message, "1 jobs are running, and no more are allowed");
    let error = bench.err("job", json!({"action": "start"})).await;
    assert_eq!(error.message, "to start, command is needed");
    let error = bench.err("job", json!({"action": "stop", "id": "nine"})).await;
    assert_eq!(error.message, "there is no job nine");
}
