//! Questions to the approver: logged before they are asked, answered by the front end or the approver,
//! and their answers reach the model.

use std::sync::{Arc, Mutex};

use async_trait::async_trait;
use context_manager::{LogError, SessionLog};
use insta::assert_snapshot;
use protocol::{
    ApprovalRequest, ApprovalResponse, Change, ChangeSet, ErrorCode, LogEntry, Proposal, Remember,
    SessionEvent, ToolError,
};
use serde_json::json;
use session::ApprovalManager;
use store::Store;
use tokio_util::sync::CancellationToken;
use tool_system::Approver;

use crate::stage::{
    FixedApprover, Reply, Scripted, Stage, calls, message, result_of, says, send, story,
};

fn adding() -> Reply {
    calls("c1", "append_file", json!({"path": "notes.txt", "content": "second\n"}))
}

/// An approver that reads the log at the moment of being asked.
struct Curious {
    store: Arc<dyn Store>,
    seen: Mutex<String>,
}

#[async_trait]
impl Approver for Curious {
    async fn decide(&self, request: &ApprovalRequest) -> Result<ApprovalResponse, ToolError> {
        let session = self.store.list(&Default::default()).await.unwrap().remove(0).id;
        let log = self.store.load(&session).await.unwrap().entries;
        *self.seen.lock().unwrap() = story(&log);
        Ok(request.approve())
    }
}

#[tokio::test]
async fn a_question_is_written_down_before_it_is_asked_and_its_answer_before_it_counts() {
    let model = Scripted::new("scripted", [adding(), says("Done.")]);
    let mut stage = Stage::new(&model).await;
    let approver = Arc::new(Curious { store: Arc::clone(&stage.store), seen: Mutex::default() });
    stage.parts.approver = Some(approver.clone());
    let mut session = stage.begin().await;
    send(&mut session, "Add a line").await;
    assert_snapshot!(approver.seen.lock().unwrap(), @"
    opened
    user_message
    model_asked
    model_answered
    call_started
    approval_asked
    ");
    assert_snapshot!(story(&stage.log(&session).await), @"
    opened
    user_message
    model_asked
    model_answered
    call_started
    approval_asked
    approval_answered
    call_ended
    model_asked
    text_delta
    model_answered
    turn_ended
    ");
    assert_eq!(stage.project.read("notes.txt"), "first\nsecond\n");
}

#[tokio::test]
async fn a_refusal_reaches_the_model_with_its_reason() {
    let model = Scripted::new("scripted", [adding(), says("I leave it.")]);
    let mut stage = Stage::new(&model).await;
    stage.parts.approver = Some(Arc::new(FixedApprover(Some("the notes are finished"))));
    let mut session = stage.begin().await;
    send(&mut session, "Add a line").await;
    let told = result_of(&model.requests()[1], "c1").unwrap_err();
    assert_eq!(told.code, ErrorCode::Rejected);
    assert!(told.full_message().contains("the notes are finished"), "{told:?}");
    assert_eq!(stage.project.read("notes.txt"), "first\n");
}

/// Answers the first question in the log, as a front end does that shows the log.
async fn answering(model: &Arc<Scripted>, stage: &mut Stage) -> String {
    stage.parts.approver = None;
    let mut session = stage.begin().await;
    let mut log = session.log().watch();
    let approvals = Arc::clone(session.approvals());
    let turn = tokio::spawn(async move { send(&mut session, "Add a line").await });
    let asked = loop {
        let mut event = log.recv().await.unwrap().event;
        while let SessionEvent::Nested { entry, .. } = event {
            event = entry.event;
        }
        if let SessionEvent::ApprovalAsked(request) = event {
            break request;
        }
    };
    // A yes to something else, or to nothing in particular, is none and leaves the question open.
    let mut other = asked.clone();
    other.proposal_hash = protocol::ContentHash::of(b"something else");
    let unbound = serde_json::from_value(json!({"approved": true})).unwrap();
    for wrong in [other.approve(), unbound] {
        approvals.answer(&asked.step_id, wrong).unwrap_err();
    }
    approvals.answer(&asked.step_id, asked.approve()).unwrap();
    turn.await.unwrap();
    assert_eq!(approvals.pending(), []);
    assert_eq!(stage.project.read("notes.txt"), "first\nsecond\n");
    assert!(model.requests().len() > 1);
    approvals.answer(&asked.step_id, asked.approve()).unwrap_err().to_string()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_question_can_be_answered_once_from_elsewhere() {
    let model = Scripted::new("scripted", [adding(), says("Done.")]);
    let mut stage = Stage::new(&model).await;
    assert_snapshot!(answering(&model, &mut stage).await, @"there is no open question with the id `c1`; it may have been answered already");
}

#[tokio::test(flavor = "multi_thread")]
async fn so_can_the_question_of_a_sub_agent() {
    let task = json!({"task": "Add a line to notes.txt", "role": "actor"});
    let replies = [calls("d1", "delegate", task), adding(), says("Added."), says("Done.")];
    let model = Scripted::new("scripted", replies);
    let mut stage = Stage::new(&model).await;
    answering(&model, &mut stage).await;
}

#[tokio::test]
async fn a_question_that_is_cancelled_is_no_longer_open_and_nothing_is_done() {
    let model = Scripted::new("scripted", [adding(), says("I am here.")]);
    let mut stage = Stage::new(&model).await;
    stage.parts.approver = None;
    let mut session = stage.begin().await;
    let approvals = Arc::clone(session.approvals());
    let mut log = session.log().watch();
    let cancel = CancellationToken::new();
    let button = cancel.clone();
    let approver = tokio::spawn(async move {
        while !matches!(log.recv().await.unwrap().event, SessionEvent::ApprovalAsked(_)) {}
        button.cancel();
    });
    session.send(message("Add a line"), &cancel).await.unwrap();
    approver.await.unwrap();
    assert_eq!(approvals.pending(), []);
    assert_eq!(stage.project.read("notes.txt"), "first\n");
    send(&mut session, "Are you there?").await;
    assert_eq!(result_of(&model.requests()[1], "c1").unwrap_err().code, ErrorCode::Cancelled);
}

/// A log that is only there.
struct NoLog;

#[async_trait]
impl SessionLog for NoLog {
    async fn append(&self, _: Vec<SessionEvent>) -> Result<Vec<LogEntry>, LogError> {
        Ok(Vec::new())
    }
}

fn request(path: &str) -> ApprovalRequest {
    let change = Change::MakeDir { path: path.into(), mode: None };
    let proposal = Proposal::Changes(ChangeSet { changes: vec![change] });
    ApprovalRequest {
        step_id: "c1".into(),
        tool: "bash".into(),
        args: Default::default(),
        reason: String::new(),
        is_routine: false,
        proposal_hash: proposal.hash(),
        proposal,
        diffs: Vec::new(),
        remembers: None,
        expires_in_ms: 1,
    }
}

#[tokio::test]
async fn an_answer_that_is_remembered_answers_the_equal_questions_that_wait() {
    let manager = ApprovalManager::new(Arc::new(NoLog), None);
    let asking = |path: &str, id: &str, rule: &str| ApprovalRequest {
        step_id: id.into(),
        remembers: Some(rule.into()),
        ..request(path)
    };
    let (one, equal) = (asking("one", "c1", "bash may make"), asking("two", "c2", "bash may make"));
    let other = asking("three", "c3", "bash may test");
    let (first, second, third, ()) = tokio::join!(
        biased;
        manager.decide(&one),
        manager.decide(&equal),
        manager.decide(&other),
        async {
            manager.answer("c1", one.approve_and_remember(Remember::Session)).unwrap();
            // Only the other question is left for the user.
            for _ in testkit::in_time("the answer to the equal question") {
                if manager.pending().len() == 1 {
                    break;
                }
                tokio::task::yield_now().await;
            }
            manager.answer("c3", ApprovalResponse::no(None)).unwrap();
        }
    );
    assert_eq!(first.unwrap().remember, Some(Remember::Session));
    assert_eq!(second.unwrap(), equal.approve());
    assert!(!third.unwrap().is_approved());
    assert_eq!(manager.pending(), []);
}

#[tokio::test]
async fn two_agents_whose_calls_have_the_same_id_get_each_their_own_answer() {
    let manager = ApprovalManager::new(Arc::new(NoLog), None);
    let (one, two) = (request("one"), request("two"));
    let (first, second, ()) = tokio::join!(biased; manager.decide(&one), manager.decide(&two), async {
        assert_eq!(manager.pending().len(), 2);
        manager.answer("c1", two.approve()).unwrap();
        manager.answer("c1", two.approve()).unwrap_err();
        manager.answer("c1", one.approve().saying("the first")).unwrap();
    });
    assert_eq!(first.unwrap(), one.approve().saying("the first"));
    assert_eq!(second.unwrap(), two.approve());
    assert_eq!(manager.pending(), []);
}

#[tokio::test]
async fn the_very_same_question_of_two_agents_is_two_questions() {
    let manager = ApprovalManager::new(Arc::new(NoLog), None);
    let (one, two) = (request("one"), request("one"));
    let mut settled = tokio::task::JoinSet::new();
    let manager = Arc::new(manager);
    for asked in [one.clone(), two] {
        let manager = Arc::clone(&manager);
        settled.spawn(async move { manager.decide(&asked).await });
    }
    // Turns in which everything else that can run does.
    for _ in 0..64 {
        tokio::task::yield_now().await;
    }
    assert_eq!(manager.pending().len(), 2);
    manager.answer_to(&one, one.approve()).unwrap();
    assert_eq!(settled.join_next().await.unwrap().unwrap().unwrap(), one.approve());
    // The end of the first is not the end of the other.
    assert_eq!(manager.pending(), std::slice::from_ref(&one));
    manager.answer_to(&one, ApprovalResponse::no(Some("once is enough".into()))).unwrap();
    let second = settled.join_next().await.unwrap().unwrap().unwrap();
    assert_eq!(second.reason.as_deref(), Some("once is enough"));
    assert_eq!(manager.pending(), []);
}

#[tokio::test]
async fn a_no_reaches_the_question_it_is_meant_for_and_watchers_are_told() {
    let manager = ApprovalManager::new(Arc::new(NoLog), None);
    let (one, two) = (request("one"), request("two"));
    let mut changes = manager.changes();
    let (first, second, ()) = tokio::join!(biased; manager.decide(&one), manager.decide(&two), async {
        changes.changed().await.unwrap();
        assert_eq!(manager.pending().len(), 2);
        manager.answer_to(&two, one.approve()).unwrap_err();
        manager.answer_to(&two, ApprovalResponse::no(Some("not two".into()))).unwrap();
        changes.changed().await.unwrap();
        assert_eq!(manager.pending(), std::slice::from_ref(&one));
        manager.answer_to(&two, two.approve()).unwrap_err();
        manager.answer_to(&one, one.approve()).unwrap();
    });
    assert_eq!(first.unwrap(), one.approve());
    assert_eq!(second.unwrap().reason.as_deref(), Some("not two"));
    assert!(changes.has_changed().unwrap());
}
