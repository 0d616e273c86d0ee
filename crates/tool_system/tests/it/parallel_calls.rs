//! Calls of one session at the same time: each lands, and none overwrites another.

use std::sync::Mutex;

use protocol::{ApprovalRequest, ApprovalResponse, ErrorCode, ToolCall, ToolError, ToolResult};
use serde_json::{Value, json};
use tokio::sync::Barrier;
use tool_system::prelude::async_trait;
use tool_system::{Approver, ExecutorOptions};

use crate::harness::{Bench, ScriptedApprover, allowing};

/// Says yes to the first questions only when so many calls have asked, so that all proposals are
/// made from the same files; to later ones at once.
struct Together {
    barrier: Barrier,
    asked: Mutex<Vec<ApprovalRequest>>,
    calls: usize,
}

impl Together {
    fn new(calls: usize) -> Self {
        Self { barrier: Barrier::new(calls), asked: Mutex::default(), calls }
    }
}

#[async_trait]
impl Approver for Together {
    async fn decide(&self, request: &ApprovalRequest) -> Result<ApprovalResponse, ToolError> {
        let number = {
            let mut asked = self.asked.lock().unwrap();
            asked.push(request.clone());
            asked.len()
        };
        if number <= self.calls {
            self.barrier.wait().await;
        }
        Ok(request.approve())
    }
}

async fn call(bench: &Bench, approver: &dyn Approver, name: &str, arguments: Value) -> ToolResult {
    let call = ToolCall::new(name, name, arguments.as_object().unwrap().clone());
    bench.executor.report(&call, &Default::default(), approver).await.result
}

fn lines() -> String {
    (1..=40).map(|line| format!("line {line}\n")).collect()
}

fn bench() -> Bench {
    Bench::writable(&format!("//- /a.txt\n{}", lines()))
}

fn replace(find: &str, with: &str) -> Value {
    json!({"path": "a.txt", "find": find, "replace": with})
}

#[tokio::test]
async fn two_creations_in_one_new_directory_both_land_and_are_asked_about_once_each() {
    let (bench, user) = (bench(), Together::new(2));
    let create = |path: &str| json!({"path": path, "content": "x\n"});
    let (one, two) = tokio::join!(
        call(&bench, &user, "create_file", create("new/deep/1.txt")),
        call(&bench, &user, "create_file", create("new/deep/2.txt")),
    );
    one.unwrap();
    two.unwrap();
    assert_eq!(bench.project.read("new/deep/1.txt"), "x\n");
    assert_eq!(bench.project.read("new/deep/2.txt"), "x\n");
    assert_eq!(user.asked.lock().unwrap().len(), 2);
}

#[tokio::test]
async fn two_edits_of_one_file_both_land_and_are_asked_about_once_each() {
    let (bench, user) = (bench(), Together::new(2));
    let (one, two) = tokio::join!(
        call(&bench, &user, "replace_in_file", replace("line 3\n", "three\nand a half\n")),
        call(&bench, &user, "replace_in_file", replace("line 30\n", "thirty\n")),
    );
    one.unwrap();
    two.unwrap();
    let expected =
        lines().replace("line 3\n", "three\nand a half\n").replace("line 30\n", "thirty\n");
    assert_eq!(bench.project.read("a.txt"), expected);
    assert_eq!(user.asked.lock().unwrap().len(), 2);
}

#[tokio::test]
async fn an_edit_that_has_become_another_one_is_asked_about_again() {
    let (bench, user) = (bench(), Together::new(2));
    let (one, two) = tokio::join!(
        call(&bench, &user, "replace_in_file", replace("line 3\n", "three\n")),
        call(&bench, &user, "replace_in_file", replace("line 4\n", "four\n")),
    );
    one.unwrap();
    two.unwrap();
    let text = bench.project.read("a.txt");
    assert!(text.contains("three\nfour\n"), "{text}");
    let asked = user.asked.lock().unwrap();
    assert_eq!(asked.len(), 3, "its surroundings differ from what was shown");
    assert_ne!(asked[1].proposal_hash, asked[2].proposal_hash);
}

#[tokio::test]
async fn what_can_no_longer_be_done_is_told_and_not_forced() {
    let (bench, user) = (bench(), Together::new(2));
    let (one, two) = tokio::join!(
        call(&bench, &user, "create_file", json!({"path": "new.txt", "content": "1\n"})),
        call(&bench, &user, "create_file", json!({"path": "new.txt", "content": "2\n"})),
    );
    let text = bench.project.read("new.txt");
    let (done, failed) = if one.is_ok() { ("1\n", two) } else { ("2\n", one) };
    assert_eq!(text, done);
    assert!(failed.unwrap_err().message.contains("exists"));
}

#[tokio::test(flavor = "multi_thread")]
async fn many_unasked_edits_of_one_file_all_land() {
    let mut options = allowing(&["replace_in_file"]);
    options.require_read = true;
    let bench = Bench::asking(
        &format!("//- /a.txt\n{}", lines()),
        ScriptedApprover::answering([]),
        options,
    );
    bench.ok("read_file", json!({"path": "a.txt"})).await;
    let edit = |line: u32| {
        let arguments = replace(&format!("line {line}\n"), &format!("{line}\n"));
        bench.call("replace_in_file", arguments)
    };
    let done = tokio::join!(edit(11), edit(14), edit(17), edit(20), edit(23), edit(26));
    for result in [done.0, done.1, done.2, done.3, done.4, done.5] {
        result.unwrap();
    }
    let text = bench.project.read("a.txt");
    for line in [11, 14, 17, 20, 23, 26] {
        assert!(text.contains(&format!("\n{line}\n")), "{text}");
    }
    assert!(bench.approver.asked().is_empty());
}

/// Another program writes the file while the user looks at the proposal.
struct Meddler<'a>(&'a Bench);

#[async_trait]
impl Approver for Meddler<'_> {
    async fn decide(&self, request: &ApprovalRequest) -> Result<ApprovalResponse, ToolError> {
        let text = self.0.project.read("a.txt") + "theirs\n";
        self.0.project.write("a.txt", &text);
        Ok(request.approve())
    }
}

#[tokio::test]
async fn a_foreign_change_stays_a_conflict_even_after_one_of_our_own() {
    let bench = Bench::asking(
        &format!("//- /a.txt\n{}", lines()),
        ScriptedApprover::answering([]),
        ExecutorOptions::default(),
    );
    bench.ok("replace_in_file", replace("line 3\n", "three\n")).await;
    let meddler = Meddler(&bench);
    let failed = call(&bench, &meddler, "replace_in_file", replace("line 30\n", "thirty\n")).await;
    assert_eq!(failed.unwrap_err().code, ErrorCode::Conflict);
    assert!(bench.project.read("a.txt").ends_with("theirs\n"));
    assert!(!bench.project.read("a.txt").contains("thirty"));
}
