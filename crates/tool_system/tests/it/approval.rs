//! The gate with real files: what is shown is what is written.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use protocol::{ApprovalResponse, ErrorCode, FileBytes, Remember};
use serde_json::{Value, json};
use tool_system::policy::{ApprovalMode, Decision, Policy, Rule};
use tool_system::prelude::async_trait;
use tool_system::{Approver, ExecutorOptions, RefuseAll, RuleKeeper};

use crate::harness::{Bench, Reply, ScriptedApprover, always, with_hunks, yes};

fn numbered(lines: std::ops::RangeInclusive<u32>) -> String {
    lines.map(|line| format!("line {line}\n")).collect()
}

fn bench(answers: Vec<Reply>) -> Bench {
    let fixture = format!("//- /a.txt\n{}", numbered(1..=40));
    Bench::asking(&fixture, ScriptedApprover::answering(answers), ExecutorOptions::default())
}

fn far_edits() -> Value {
    let content = numbered(1..=40).replace("line 2\n", "zwei\n").replace("line 30\n", "dreissig\n");
    json!({"path": "a.txt", "content": content})
}

#[tokio::test]
async fn only_the_hunks_that_were_picked_are_written_and_they_are_shown_again() {
    let bench = bench(vec![with_hunks("a.txt", &[1])]);
    let mut done = bench.ok("update_file", far_edits()).await;
    let text = bench.project.read("a.txt");
    assert!(text.contains("line 2\n") && text.contains("dreissig\n"), "{text}");
    done["change_id"].take();
    assert_eq!(done["size"], text.len());
    assert_eq!(
        done["edited_by_user"],
        "The user left out 1 of 2 hunks. `diff` is exactly what was applied."
    );
    insta::assert_snapshot!(done["diff"].as_str().unwrap(), @r"
    diff --git a/a.txt b/a.txt
    --- a/a.txt
    +++ b/a.txt
    @@ -27,7 +27,7 @@
     line 27
     line 28
     line 29
    -line 30
    +dreissig
     line 31
     line 32
     line 33
    ");
    let asked = bench.approver.asked();
    assert_eq!(asked.iter().map(|asked| asked.diffs[0].hunks.len()).collect::<Vec<_>>(), [2, 1]);
}

#[tokio::test]
async fn bytes_that_the_user_edited_are_what_is_written() {
    let files = || BTreeMap::from([("a.txt".to_owned(), FileBytes(b"mine\n".to_vec()))]);
    let bench = bench(vec![Box::new(move |request| request.with_files(files()))]);
    let done = bench.ok("update_file", far_edits()).await;
    assert_eq!(done["size"], 5);
    assert_eq!(
        done["edited_by_user"],
        "The user edited a.txt. `diff` is exactly what was applied."
    );
    assert!(done["diff"].as_str().unwrap().ends_with("+mine\n"), "{done}");
    assert_eq!(bench.project.read("a.txt"), "mine\n");
    assert_eq!(bench.approver.asked().len(), 2);
}

#[tokio::test]
async fn a_yes_that_is_remembered_is_not_asked_for_again() {
    let bench = bench(vec![always()]);
    bench.ok("append_file", json!({"path": "a.txt", "content": "x\n"})).await;
    bench.ok("append_file", json!({"path": "a.txt", "content": "y\n"})).await;
    assert_eq!(bench.approver.asked().len(), 1);
    bench.ok("update_file", json!({"path": "a.txt", "content": "z\n"})).await;
    assert_eq!(bench.approver.asked().len(), 1);
    assert_eq!(
        bench
            .executor
            .policy()
            .unwrap()
            .rules()
            .filter(|rule| rule.decision == Decision::Allow)
            .count(),
        1
    );
}

/// Counts the rules that it is to keep.
#[derive(Default)]
struct Keeper(AtomicUsize);

#[async_trait]
impl RuleKeeper for Keeper {
    async fn keep(&self, _: &Rule) -> Result<(), protocol::ToolError> {
        self.0.fetch_add(1, Ordering::SeqCst);
        Ok(())
    }
}

#[tokio::test]
async fn only_an_answer_for_good_is_kept_and_one_for_the_session_counts_as_much() {
    for (scope, kept) in [(Remember::Session, 0), (Remember::Project, 1)] {
        let keeper = Arc::new(Keeper::default());
        let options =
            ExecutorOptions { rule_keeper: Some(keeper.clone()), ..ExecutorOptions::default() };
        let answer: Reply = Box::new(move |request| request.approve_and_remember(scope));
        let approver = ScriptedApprover::answering([answer]);
        let bench = Bench::asking("//- /a.txt\nx\n", approver, options);
        for content in ["y\n", "z\n"] {
            bench.ok("append_file", json!({"path": "a.txt", "content": content})).await;
        }
        assert_eq!(bench.approver.asked().len(), 1);
        assert_eq!(keeper.0.load(Ordering::SeqCst), kept);
    }
}

#[tokio::test]
async fn comments_on_lines_reach_the_model_with_a_no_and_with_a_part() {
    let comment =
        |line, text: &str| protocol::LineComment { path: "a.txt".into(), line, text: text.into() };
    let part = move |request: &protocol::ApprovalRequest| {
        let hunks = [("a.txt".to_owned(), vec![0])].into();
        request.with_hunks(hunks).commenting(comment(9, "this stays"))
    };
    let refused = move |_: &protocol::ApprovalRequest| {
        ApprovalResponse::no(None).commenting(comment(2, "use tabs"))
    };
    let bench = bench(vec![Box::new(part), yes(), Box::new(refused)]);
    let done = bench.ok("update_file", far_edits()).await;
    assert_eq!(done["user_note"], "a.txt:9: this stays");
    assert!(
        done["edited_by_user"].as_str().unwrap().starts_with("The user left out 1 of 2 hunks.")
    );
    let error = bench.call("delete_file", json!({"path": "a.txt"})).await.unwrap_err();
    assert_eq!(error.message, "User rejected changes:\na.txt:2: use tabs");
}

#[tokio::test]
async fn what_is_too_grave_to_be_remembered_is_done_once_and_says_so() {
    let bench = bench(vec![Box::new(|request| request.approve_always().saying("it was old"))]);
    let done = bench.ok("delete_file", json!({"path": "a.txt"})).await;
    assert_eq!(bench.approver.asked()[0].remembers, None);
    assert_eq!(done["remark"], "This always needs approval; the answer was not remembered.");
    assert_eq!(done["user_note"], "it was old");
}

#[tokio::test]
async fn the_models_words_stand_beside_the_reason_and_never_in_its_place() {
    let bench = bench(Vec::new());
    let harmless = json!({"path": ".envrc", "content": "x\n", "description": "just a note"});
    bench.ok("create_file", harmless).await;
    let reason = &bench.approver.asked()[0].reason;
    assert!(
        reason.contains("protected") && reason.contains("The model says it is for: just a note"),
        "{reason}"
    );
}

/// Writes the file while the approver looks at the proposal.
struct Meddler(std::path::PathBuf);

#[async_trait]
impl Approver for Meddler {
    async fn decide(
        &self,
        request: &protocol::ApprovalRequest,
    ) -> Result<ApprovalResponse, protocol::ToolError> {
        std::fs::write(&self.0, "another process\n").unwrap();
        Ok(request.approve())
    }
}

#[tokio::test]
async fn a_write_between_proposal_and_apply_is_a_conflict_and_never_lost() {
    let bench = bench(Vec::new());
    let call =
        protocol::ToolCall::new("c1", "update_file", far_edits().as_object().unwrap().clone());
    let meddler = Meddler(bench.project.path("a.txt"));
    let cancel = Default::default();
    let error = bench.executor.report(&call, &cancel, &meddler).await.result.unwrap_err();
    assert_eq!(error.code, ErrorCode::Conflict);
    assert_eq!(bench.project.read("a.txt"), "another process\n");
}

#[tokio::test]
async fn a_read_only_policy_denies_and_says_why() {
    let options = ExecutorOptions {
        policy: Policy::new(ApprovalMode::ReadOnly, []).into(),
        ..Default::default()
    };
    let bench = Bench::asking("//- /a.txt\none\n", ScriptedApprover::answering([]), options);
    let error = bench.err("append_file", json!({"path": "a.txt", "content": "x"})).await;
    assert_eq!(error.code, ErrorCode::PermissionDenied);
    assert!(error.message.contains("read-only"), "{error}");
    assert!(bench.approver.asked().is_empty());
}

#[tokio::test]
async fn protected_names_ask_even_where_new_files_pass() {
    let options = ExecutorOptions {
        policy: Policy::new(ApprovalMode::Workspace, []).into(),
        ..Default::default()
    };
    let bench = Bench::asking("//- /a.txt\none\n", ScriptedApprover::answering([]), options);
    bench.ok("create_file", json!({"path": "plain.txt", "content": "x\n"})).await;
    assert!(bench.approver.asked().is_empty());
    bench.ok("create_file", json!({"path": ".github/workflows/ci.yml", "content": "x\n"})).await;
    assert_eq!(bench.approver.asked().len(), 1);
}

#[tokio::test]
async fn without_an_approver_nothing_is_written() {
    let refusing = Arc::new(RefuseAll { how_to_allow: "Use --yes.".into() });
    let bench = bench(Vec::new());
    let call =
        protocol::ToolCall::new("c1", "update_file", far_edits().as_object().unwrap().clone());
    let cancel = Default::default();
    let error = bench.executor.report(&call, &cancel, &*refusing).await.result.unwrap_err();
    assert_eq!(error.code, ErrorCode::ApprovalRequired);
    assert_eq!(error.suggestion.as_deref(), Some("Use --yes."));
    assert_eq!(bench.project.read("a.txt"), numbered(1..=40));
}

/// Answers with what it was given, whatever it is asked.
struct Replayer(std::sync::Mutex<Option<ApprovalResponse>>);

#[async_trait]
impl Approver for Replayer {
    async fn decide(
        &self,
        request: &protocol::ApprovalRequest,
    ) -> Result<ApprovalResponse, protocol::ToolError> {
        let mut kept = self.0.lock().unwrap();
        Ok(kept.get_or_insert_with(|| request.approve_always()).clone())
    }
}

#[tokio::test]
async fn a_yes_to_something_else_or_to_nothing_in_particular_is_a_conflict() {
    let bench = bench(Vec::new());
    let unbound = serde_json::from_value(json!({"approved": true})).unwrap();
    let stale = Replayer(Default::default());
    let edit = |text: &str| {
        let arguments = json!({"path": "a.txt", "content": text});
        protocol::ToolCall::new("c1", "append_file", arguments.as_object().unwrap().clone())
    };
    let cancel = Default::default();
    bench.executor.report(&edit("1\n"), &cancel, &stale).await.result.unwrap();
    for approver in [stale, Replayer(std::sync::Mutex::new(Some(unbound)))] {
        let call = protocol::ToolCall::new(
            "c2",
            "update_file",
            json!({"path": "a.txt", "content": "2\n"}).as_object().unwrap().clone(),
        );
        let error = bench.executor.report(&call, &cancel, &approver).await.result.unwrap_err();
        assert_eq!(error.code, ErrorCode::Conflict, "{error}");
    }
    assert!(bench.project.read("a.txt").ends_with("line 40\n1\n"));
}

#[tokio::test]
async fn a_file_with_one_hunk_can_be_left_out_with_the_directory_made_for_it() {
    let bench = bench(vec![with_hunks("new/b.txt", &[])]);
    let changes = json!({"changes": [
        {"path": "a.txt", "search": "line 2\n", "replace": "zwei\n"},
        {"path": "new/b.txt", "content": "b\n"},
    ]});
    let done = bench.ok("apply_changes", changes).await;
    assert!(bench.project.read("a.txt").contains("zwei\n"));
    assert!(!bench.project.path("new").exists());
    assert_eq!(done["files"], json!(["a.txt"]));
    assert_eq!(
        done["edited_by_user"],
        "The user left out 1 of 2 hunks. `diff` is exactly what was applied."
    );
    assert!(!done["diff"].as_str().unwrap().contains("b.txt"), "{done}");
}

#[tokio::test]
async fn leaving_out_everything_is_a_refusal() {
    let bench = bench(vec![with_hunks("a.txt", &[]), with_hunks("a.txt", &[7])]);
    let error = bench.err("update_file", far_edits()).await;
    assert_eq!(error.code, ErrorCode::Rejected);
    assert!(error.message.contains("left out every part"), "{error}");
    assert_eq!(bench.err("update_file", far_edits()).await.code, ErrorCode::InvalidArguments);
    assert_eq!(bench.project.read("a.txt"), numbered(1..=40));
}
