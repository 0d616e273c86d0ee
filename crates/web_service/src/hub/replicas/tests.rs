//! Two hubs on one store, as two replicas have it. Everything is asked of the one that does not have the session.

mod hinting_store;
mod memory_exchange;
mod stage;

use std::sync::Arc;

use protocol::{ApprovalResponse, Content, SessionEvent, ToolCall, TurnEnd};
use session::RewindFiles;
use store::SessionId;
use tokio_util::sync::CancellationToken;
use tool_system::Caller;
use tool_system::policy::Rule;

use self::stage::{Reply, Sharing, TwoReplicas, WATCHDOG, calls, says};
use super::{OpenSession, RequestKey};
use crate::hub::{AgentNames, HubError, LiveState, Sent};

fn said(text: &str) -> Vec<Content> {
    vec![Content::Text { text: text.into() }]
}

fn writing() -> Reply {
    calls("write", "append_file", serde_json::json!({"path": "notes.txt", "content": "once\n"}))
}

/// A session of the first replica that the second one knows of.
async fn begun(stage: &TwoReplicas) -> SessionId {
    let project = stage.first.projects()[0].clone();
    let id = stage.first.begin(&project, None, AgentNames::default()).await.unwrap().id().clone();
    stage.second_knows(&id).await;
    id
}

async fn a_message_to_one_replica_runs_on_the_one_that_has_the_session(
    sharing: Sharing,
) -> Option<()> {
    let stage = TwoReplicas::new(sharing, [says("Hello."), says("Again.")]).await?;
    let id = begun(&stage).await;
    let sent = stage.second.send(&id, said("Hi"), RequestKey::New).await.unwrap();
    assert!(matches!(sent, Sent::Written(_)), "{sent:?}");
    stage.ended_turns(&id, 1).await;
    assert!(stage.second.live_session(&id).is_none());
    assert!(stage.first.live_session(&id).is_some());
    // Whoever follows the session at the second replica sees all of it.
    let feed = stage.second.feed(&stage.second.projects()[0], &id);
    feed.load().await.unwrap();
    stage.second.send(&id, said("Hi again"), RequestKey::New).await.unwrap();
    stage.ended_turns(&id, 2).await;
    let last = stage.log(&id).await.last().unwrap().sequence;
    let mut changes = feed.watch();
    let caught_up = async {
        while feed.with(|feed| feed.through()) < last {
            changes.changed().await.unwrap();
        }
    };
    tokio::time::timeout(WATCHDOG, caught_up).await.expect("the feed comes to the end of the log");
    Some(())
}

async fn a_named_message_that_is_sent_twice_is_said_once(sharing: Sharing) -> Option<()> {
    let stage = TwoReplicas::new(sharing, [says("Hello.")]).await?;
    let id = begun(&stage).await;
    let key = || RequestKey::Named("k-1".to_owned());
    let one = stage.second.send(&id, said("Hi"), key()).await.unwrap();
    let other = stage.first.send(&id, said("Hi"), key()).await.unwrap();
    assert_eq!(one, other);
    stage.ended_turns(&id, 1).await;
    let log = stage.log(&id).await;
    let messages = log.iter().filter(|it| matches!(it.event, SessionEvent::UserMessage { .. }));
    assert_eq!(messages.count(), 1);
    Some(())
}

async fn of_two_answers_at_two_replicas_one_counts(sharing: Sharing) -> Option<()> {
    let stage = TwoReplicas::new(sharing, [writing(), says("Written.")]).await?;
    let id = begun(&stage).await;
    stage.second.send(&id, said("Write"), RequestKey::New).await.unwrap();
    stage.questions(&stage.first, &id, 1).await;
    stage.questions(&stage.second, &id, 1).await;
    let answered = |hub: &Arc<crate::hub::SessionHub>, is_yes: bool| {
        let (hub, id) = (Arc::clone(hub), id.clone());
        async move {
            let open = hub.open_session(&id).unwrap();
            let question = open.question(open.questions()[0].clone()).await.unwrap();
            let response = match is_yes {
                true => question.asked.approve(),
                false => ApprovalResponse::no(None),
            };
            hub.answer(&id, &question, response).await
        }
    };
    let (yes, no) = tokio::join!(answered(&stage.first, true), answered(&stage.second, false));
    assert!(yes.is_ok() != no.is_ok(), "{yes:?} {no:?}");
    stage.ended_turns(&id, 1).await;
    let written = if yes.is_ok() { "first\nonce\n" } else { "first\n" };
    assert_eq!(stage.project.read("notes.txt"), written);
    let log = stage.log(&id).await;
    let answers = log.iter().filter(|it| matches!(it.event, SessionEvent::ApprovalAnswered { .. }));
    assert_eq!(answers.count(), 1);
    stage.questions(&stage.second, &id, 0).await;
    Some(())
}

async fn messages_wait_are_taken_back_and_the_turn_is_interrupted_from_elsewhere(
    sharing: Sharing,
) -> Option<()> {
    let stage = TwoReplicas::new(sharing, [Reply::Silence]).await?;
    let id = begun(&stage).await;
    stage.second.send(&id, said("Think"), RequestKey::New).await.unwrap();
    stage.state(&stage.second, &id, LiveState::Working).await;
    let Sent::Queued(name) =
        stage.second.send(&id, said("And this"), RequestKey::New).await.unwrap()
    else {
        panic!("the message does not wait")
    };
    assert_eq!(stage.second.queue(&id).len(), 1);
    assert_eq!(stage.second.withdraw(&id, name).await.unwrap(), "And this");
    let again = stage.second.withdraw(&id, name).await;
    assert!(matches!(again, Err(HubError::NotWaiting | HubError::Refused { .. })), "{again:?}");
    assert!(stage.second.interrupt(&id).await.unwrap());
    stage.state(&stage.second, &id, LiveState::Idle).await;
    assert!(!stage.second.interrupt(&id).await.unwrap());
    let log = stage.log(&id).await;
    assert_eq!(log.last().unwrap().event, SessionEvent::TurnEnded(TurnEnd::Cancelled));
    Some(())
}

async fn a_session_goes_back_is_changed_and_is_deleted_from_elsewhere(
    sharing: Sharing,
) -> Option<()> {
    let stage = TwoReplicas::new(sharing, [says("Hello.")]).await?;
    let id = begun(&stage).await;
    let Sent::Written(sequence) =
        stage.second.send(&id, said("Hi"), RequestKey::New).await.unwrap()
    else {
        panic!("the message waits")
    };
    stage.ended_turns(&id, 1).await;
    stage.state(&stage.second, &id, LiveState::Idle).await;
    let not_paused = stage.second.go_on(&id).await.unwrap_err();
    assert_eq!(not_paused.to_string(), HubError::NotPaused.to_string());
    let (point, rewind) = stage.second.rewind(&id, sequence, RewindFiles::Keep).await.unwrap();
    assert_eq!((point.content, rewind.to), (said("Hi"), sequence));
    let names = AgentNames { model: None, role: Some("planner".to_owned()) };
    stage.second.change(&id, names.clone()).await.unwrap();
    // The choice holds in whichever replica opens the session next.
    stage.first.drain().await;
    let live = stage.second.open(&id).await.unwrap();
    assert_eq!(live.choice(), names);
    assert_eq!(live.executor().role().name(), "planner");
    stage.second.delete(&id).await.unwrap();
    assert!(matches!(stage.second.project_of(&id).await, Err(HubError::UnknownSession { .. })));
    Some(())
}

async fn a_session_that_is_open_elsewhere_is_deleted_there(sharing: Sharing) -> Option<()> {
    let stage = TwoReplicas::new(sharing, []).await?;
    let id = begun(&stage).await;
    stage.second.delete(&id).await.unwrap();
    assert!(stage.first.live_session(&id).is_none());
    assert!(stage.log(&id).await.is_empty());
    Some(())
}

async fn what_waits_at_a_replica_that_ends_is_done_by_another(sharing: Sharing) -> Option<()> {
    let stage = TwoReplicas::new(sharing, [Reply::Silence, says("Done elsewhere.")]).await?;
    let id = begun(&stage).await;
    stage.first.send(&id, said("Think"), RequestKey::New).await.unwrap();
    stage.asked(1).await;
    stage.state(&stage.second, &id, LiveState::Working).await;
    let queued = stage.second.send(&id, said("Then this"), RequestKey::New).await.unwrap();
    assert!(matches!(queued, Sent::Queued(_)), "{queued:?}");
    // It has no time left for the turn, which is interrupted.
    stage.first.drain().await;
    assert!(stage.first.is_draining() && stage.first.live_session(&id).is_none());
    stage.ended_turns(&id, 2).await;
    assert!(stage.second.live_session(&id).is_some());
    let project = stage.first.projects()[0].clone();
    let refused = stage.first.begin(&project, None, AgentNames::default()).await;
    assert!(matches!(refused.err(), Some(HubError::Closing)));
    // The replica that ends still answers, through the other one.
    let is_elsewhere = |open: OpenSession| matches!(open, OpenSession::Elsewhere(_));
    stage
        .until(&stage.first, "it is elsewhere", |hub| {
            hub.open_session(&id).is_some_and(is_elsewhere)
        })
        .await;
    Some(())
}

async fn a_replica_that_has_said_goodbye_stops_its_turns(sharing: Sharing) -> Option<()> {
    let stage = TwoReplicas::new(sharing, [Reply::Silence, says("Next.")]).await?;
    let id = begun(&stage).await;
    stage.first.send(&id, said("Think"), RequestKey::New).await.unwrap();
    stage.asked(1).await;
    // As it is when it cannot renew its presence: others may have its sessions from now on.
    stage.first.link().unwrap().exchange.leave().await.unwrap();
    stage.until(&stage.first, "it is left", |hub| hub.live_session(&id).is_none()).await;
    stage.second.send(&id, said("Next"), RequestKey::New).await.unwrap();
    stage.ended_turns(&id, 2).await;
    assert!(stage.second.live_session(&id).is_some());
    Some(())
}

async fn a_call_by_hand_is_approved_from_elsewhere_once(sharing: Sharing) -> Option<()> {
    let stage = TwoReplicas::new(sharing, []).await?;
    let project = stage.first.projects()[0].clone();
    let calls = stage.first.direct_calls(&project, None);
    let call = |id: &str, line: &str| {
        let arguments = serde_json::json!({"path": "notes.txt", "content": line});
        let call = ToolCall::new(id, "append_file", arguments.as_object().cloned().unwrap());
        let executor = calls.executor().clone();
        tokio::spawn(async move { executor.execute_tool(&call, &CancellationToken::new()).await })
    };
    let asked_elsewhere = async || {
        stage.until(&stage.second, "a question", |hub| hub.questions_elsewhere().len() == 1).await;
        stage.second.questions_elsewhere().remove(0)
    };
    let called = call("one", "once\n");
    let question = asked_elsewhere().await;
    assert_eq!(
        (question.project.as_str(), question.asked.tool.as_str()),
        (&*project.name, "append_file")
    );
    // Of two answers at two replicas one counts.
    let here = calls.approvals().pending().remove(0);
    let (elsewhere, here) =
        tokio::join!(stage.second.answer_elsewhere(&question, question.asked.approve()), async {
            calls.approvals().answer_to(&here, ApprovalResponse::no(None))
        },);
    assert!(elsewhere.is_ok() != here.is_ok(), "{elsewhere:?} {here:?}");
    assert_eq!(called.await.unwrap().is_ok(), elsewhere.is_ok());
    let again = stage.second.answer_elsewhere(&question, question.asked.approve()).await;
    assert!(matches!(again, Err(HubError::AnsweredAlready)), "{again:?}");
    // One that is alone counts.
    stage.until(&stage.second, "no question", |hub| hub.questions_elsewhere().is_empty()).await;
    let called = call("two", "twice\n");
    let question = asked_elsewhere().await;
    stage.second.answer_elsewhere(&question, question.asked.approve()).await.unwrap();
    called.await.unwrap().unwrap();
    let called = call("three", "never\n");
    let question = asked_elsewhere().await;
    stage.second.answer_elsewhere(&question, ApprovalResponse::no(None)).await.unwrap();
    assert!(called.await.unwrap().is_err());
    let notes = stage.project.read("notes.txt");
    assert!(notes.ends_with("twice\n") && notes.matches("twice").count() == 1, "{notes}");
    Some(())
}

#[tokio::test]
async fn a_rule_from_a_session_with_a_directory_of_its_own_holds_in_all_of_the_project() {
    let stage = TwoReplicas::new(Sharing::Memory, []).await.unwrap();
    let hub = stage.with_own_directories();
    let project = &hub.projects()[0];
    let direct = hub.direct_calls(project, None);
    let id = SessionId::generate().unwrap();
    let tools = project.tools_for(&id).await.unwrap();
    let rule = serde_json::json!({"decision": "allow", "tool": "append_file"});
    let rule: Rule = serde_json::from_value(rule).unwrap();
    tools.executor(Caller::default()).remember(rule.clone()).await.unwrap();
    let policy = direct.executor().policy().unwrap();
    assert!(policy.rules().any(|known| known.id() == rule.id()));
}

/// Each story once in memory and once on a real PostgreSQL.
macro_rules! on_both {
    ($($story:ident),* $(,)?) => {
        mod in_memory {
            use super::*;
            $(#[tokio::test(flavor = "multi_thread")]
            async fn $story() {
                super::$story(Sharing::Memory).await.unwrap();
            })*
        }
        mod in_postgres {
            use super::*;
            $(#[tokio::test(flavor = "multi_thread")]
            async fn $story() {
                // Left out where there is no PostgreSQL, and only there.
                let told = super::$story(Sharing::Postgres).await;
                assert_eq!(told.is_some(), testkit::Postgres::shared().is_some());
            })*
        }
    };
}

on_both! {
    a_message_to_one_replica_runs_on_the_one_that_has_the_session,
    a_named_message_that_is_sent_twice_is_said_once,
    of_two_answers_at_two_replicas_one_counts,
    messages_wait_are_taken_back_and_the_turn_is_interrupted_from_elsewhere,
    a_session_goes_back_is_changed_and_is_deleted_from_elsewhere,
    a_session_that_is_open_elsewhere_is_deleted_there,
    what_waits_at_a_replica_that_ends_is_done_by_another,
    a_replica_that_has_said_goodbye_stops_its_turns,
    a_call_by_hand_is_approved_from_elsewhere_once,
}
