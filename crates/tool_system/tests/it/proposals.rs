//! The gate: proposals are shown, answered and performed exactly as they are.

use std::sync::{Arc, Mutex};

use protocol::{
    ApprovalRequest, ApprovalResponse, Base, Change, ChangeSet, ErrorCode, FileBytes, Proposal,
    ToolResult,
};
use serde_json::json;
use tool_system::prelude::*;
use tool_system::{ApproveAll, Approved, Approver, Asker, Caller, ExecutorOptions, Performer};

use crate::harness::{Bench, Reply, Setup, no, with_arguments, yes};

/// Proposes to write a file.
#[derive(Debug)]
struct Scribble;

/// Propose a file.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct ScribbleArgs {
    text: String,
}

#[derive(Debug, Serialize, JsonSchema)]
struct ScribbleOutput {
    written: usize,
}

#[async_trait]
impl Tool for Scribble {
    fn definition(&self) -> ToolDefinition {
        ToolDefinition::new::<ScribbleArgs, ScribbleOutput>("scribble", Category::Reading)
            .permissions([ToolPermission::ReadFiles, ToolPermission::WriteFiles])
            .approval(Approval::Always)
            .example(json!({"text": "x"}))
    }

    async fn execute(&self, args: ToolArguments, _: ToolContext) -> Result<Outcome, ToolError> {
        let args: ScribbleArgs = args.parse()?;
        let write = Change::Write {
            path: "note.txt".into(),
            base: Base::Absent,
            content: FileBytes(args.text.clone().into_bytes()),
            mode: None,
        };
        Ok(Outcome::Proposal(Proposed {
            proposal: Proposal::Changes(ChangeSet { changes: vec![write] }),
            purpose: None,
            answer: Some(json!({"written": args.text.len()})),
            takes_back: None,
            unseen: false,
        }))
    }
}

/// Answers from a list and remembers what was asked; performs nothing but remembers what.
#[derive(Default)]
struct Desk {
    answers: Mutex<Vec<Reply>>,
    asked: Mutex<Vec<ApprovalRequest>>,
    performed: Mutex<Vec<Proposal>>,
}

#[async_trait]
impl Approver for Desk {
    async fn decide(&self, request: &ApprovalRequest) -> Result<ApprovalResponse, ToolError> {
        self.asked.lock().unwrap().push(request.clone());
        let reply = self.answers.lock().unwrap().remove(0);
        Ok(reply(request))
    }
}

#[async_trait]
impl Performer for Desk {
    async fn perform(&self, approved: &Approved<'_>, _: &ToolContext, _: &Asker<'_>) -> ToolResult {
        self.performed.lock().unwrap().push(approved.proposal.clone());
        Ok(json!({}))
    }
}

fn bench(answers: Vec<Reply>) -> (Bench, Arc<Desk>) {
    let desk = Arc::new(Desk { answers: Mutex::new(answers), ..Desk::default() });
    let options = ExecutorOptions { performer: Some(desk.clone()), ..Default::default() };
    let caller = Caller { approver: desk.clone(), detect_repeats: true, ..Default::default() };
    (Bench::with("//- /a.txt\none\n", Setup { options, caller }, vec![Arc::new(Scribble)]), desk)
}

fn text_of(proposal: &Proposal) -> String {
    match proposal {
        Proposal::Changes(set) => match &set.changes[0] {
            Change::Write { content, .. } => String::from_utf8(content.0.clone()).unwrap(),
            other => panic!("{other:?}"),
        },
        other => panic!("{other:?}"),
    }
}

#[tokio::test]
async fn what_is_approved_is_what_is_performed() {
    let (bench, desk) = bench(vec![yes()]);
    assert_eq!(bench.ok("scribble", json!({"text": "abc"})).await, json!({"written": 3}));
    let asked = desk.asked.lock().unwrap();
    let performed = desk.performed.lock().unwrap();
    assert_eq!(asked[0].proposal, performed[0]);
    assert_eq!(asked[0].proposal_hash, performed[0].hash());
    assert_eq!((asked[0].step_id.as_str(), asked[0].tool.as_str()), ("c1", "scribble"));
}

#[tokio::test]
async fn a_refusal_reaches_the_model_and_nothing_is_performed() {
    let (bench, desk) = bench(vec![no(None), no(Some("use tabs"))]);
    let error = bench.err("scribble", json!({"text": "abc"})).await;
    assert_eq!(
        (error.code, error.message.as_str()),
        (ErrorCode::Rejected, "User rejected changes")
    );
    assert_eq!(bench.err("scribble", json!({"text": "abc"})).await.message, "use tabs");
    assert!(desk.performed.lock().unwrap().is_empty());
}

#[tokio::test]
async fn edited_arguments_make_a_new_proposal_that_is_shown_again() {
    let (bench, desk) = bench(vec![with_arguments(json!({"text": "better"})), yes()]);
    assert_eq!(
        bench.ok("scribble", json!({"text": "worse"})).await,
        json!({"written": 6, "edited_by_user": "The user changed text to \"better\"."})
    );
    let shown: Vec<_> =
        desk.asked.lock().unwrap().iter().map(|asked| text_of(&asked.proposal)).collect();
    assert_eq!(shown, ["worse", "better"]);
    let performed: Vec<_> = desk.performed.lock().unwrap().iter().map(text_of).collect();
    assert_eq!(performed, ["better"]);
}

#[tokio::test]
async fn edited_arguments_are_validated_like_any_others() {
    let (bench, desk) = bench(vec![with_arguments(json!({"txet": "better"}))]);
    assert_eq!(bench.err("scribble", json!({"text": "x"})).await.code, ErrorCode::InvalidArguments);
    assert!(desk.performed.lock().unwrap().is_empty());
}

#[tokio::test]
async fn a_write_between_two_identical_calls_makes_the_second_run() {
    let (bench, _) = bench(vec![yes()]);
    bench.ok("grep", json!({"pattern": "one"})).await;
    bench.ok("scribble", json!({"text": "x"})).await;
    let again = bench.ok("grep", json!({"pattern": "one"})).await;
    assert!(again.get("redundant").is_none());
}

#[tokio::test]
async fn without_an_approver_the_error_says_how_to_allow_it() {
    let options = ExecutorOptions::default();
    let bench = Bench::with("//- /a\n", options, vec![Arc::new(Scribble)]);
    let error = bench.err("scribble", json!({"text": "x"})).await;
    assert_eq!(error.code, ErrorCode::ApprovalRequired);
    assert!(error.suggestion.is_some());
}

#[tokio::test]
async fn a_yes_beforehand_still_needs_a_performer() {
    let caller = Caller { approver: Arc::new(ApproveAll), ..Default::default() };
    let bench = Bench::with("//- /a\n", caller, vec![Arc::new(Scribble)]);
    let error = bench.err("scribble", json!({"text": "x"})).await;
    assert_eq!(error.code, ErrorCode::PermissionDenied);
}
