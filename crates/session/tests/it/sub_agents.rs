//! Tasks for sub-agents: their rights, their depth, their budget, and what is written about them.

use std::sync::Arc;

use insta::assert_snapshot;
use protocol::{AgentRole, ErrorCode, SessionEvent, Speaker, TurnEnd};
use serde_json::{Value, json};
use session::TurnOutcome;
use tokio_util::sync::CancellationToken;

use crate::stage::{
    Reply, Scripted, Stage, USED, calls, message, offered, result_of, says, send, story,
};

fn delegates(id: &str, more: Value) -> Reply {
    let mut task = json!({"task": "Look into the notes"});
    task.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    calls(id, "delegate", task)
}

fn reads(id: &str) -> Reply {
    calls(id, "read_file", json!({"path": "notes.txt"}))
}

#[tokio::test]
async fn a_sub_agent_sees_its_task_alone_and_everything_it_does_is_written_down() {
    let replies =
        [delegates("d1", json!({})), reads("r1"), says("The notes say first."), says("Done.")];
    let model = Scripted::new("scripted", replies);
    let stage = Stage::new(&model).await;
    let mut session = stage.begin().await;
    send(&mut session, "What do the notes say?").await;
    let requests = model.requests();
    assert_eq!(requests[1].messages.len(), 1);
    assert_eq!(requests[1].messages[0].content, message("Look into the notes"));
    assert!(requests[1].system.contains("You are a sub-agent"), "{}", requests[1].system);
    assert_eq!(
        result_of(&requests[3], "d1").unwrap(),
        json!("The notes say first.\n[2 turns, 30 tokens]")
    );
    // What a sub-agent uses is used by the session.
    assert_eq!(session.context().usage().total(), 4 * USED.total());

    let log = stage.log(&session).await;
    assert_snapshot!(story(&log), @"
    opened
    user_message
    model_asked
    model_answered
    call_started
      user_message
      model_asked
      model_answered
      call_started
      call_ended
      model_asked
      text_delta
      model_answered
      turn_ended
    call_ended
    model_asked
    text_delta
    model_answered
    turn_ended
    ");
    let nested = log.iter().filter_map(|entry| match &entry.event {
        SessionEvent::Nested { call_id, entry } => Some((call_id.as_str(), entry.sequence)),
        _ => None,
    });
    assert!(nested.eq((1..=9).map(|sequence| ("d1", sequence))));
}

#[tokio::test]
async fn a_sub_agent_has_no_rights_that_its_parent_lacks() {
    let write = calls("w1", "append_file", json!({"path": "notes.txt", "content": "x"}));
    let replies = [delegates("d1", json!({"role": "actor"})), write, says("No."), says("Done.")];
    let model = Scripted::new("scripted", replies);
    let mut stage = Stage::new(&model).await;
    stage.parts.role = AgentRole::Planner;
    let mut session = stage.begin().await;
    send(&mut session, "Have the notes changed").await;
    let requests = model.requests();
    assert_eq!(offered(&requests[1]), offered(&requests[0]));
    assert!(!offered(&requests[1]).contains(&"append_file"));
    // Not offered is not all: a model may call what it was not told about.
    let refused = result_of(&requests[2], "w1").unwrap_err();
    assert_eq!(refused.code, ErrorCode::PermissionDenied);
    assert_eq!(stage.project.read("notes.txt"), "first\n");
}

#[tokio::test]
async fn an_actor_may_have_an_actor_and_hears_what_it_changed() {
    let write = calls("w1", "create_file", json!({"path": "new.txt", "content": "x"}));
    let replies = [delegates("d1", json!({"role": "actor"})), write, says("Made."), says("Done.")];
    let model = Scripted::new("scripted", replies);
    let stage = Stage::new(&model).await;
    let mut session = stage.begin().await;
    send(&mut session, "Have a file made").await;
    let report = result_of(&model.requests()[3], "d1").unwrap();
    assert_eq!(report, json!("Made.\n[2 turns, 30 tokens; changed new.txt]"));
    assert_eq!(stage.project.read("new.txt"), "x");
}

#[tokio::test]
async fn sub_agents_of_sub_agents_have_none() {
    let replies = [
        delegates("d1", json!({})),
        delegates("d2", json!({})),
        delegates("d3", json!({})),
        says("I cannot hand it on."),
        says("Reported."),
        says("Done."),
    ];
    let model = Scripted::new("scripted", replies);
    let stage = Stage::new(&model).await;
    let mut session = stage.begin().await;
    let outcome = send(&mut session, "Look").await;
    assert_eq!(outcome, TurnOutcome::Ended(TurnEnd::Done));
    let requests = model.requests();
    let refused = result_of(&requests[3], "d3").unwrap_err();
    assert_eq!(refused.code, ErrorCode::PermissionDenied);
    // Each counts what those below it have used.
    let told = |report: &str, requests: u64| {
        json!(format!("{report}\n[2 turns, {} tokens]", requests * USED.total()))
    };
    assert_eq!(result_of(&requests[4], "d2").unwrap(), told("I cannot hand it on.", 2));
    assert_eq!(result_of(&requests[5], "d1").unwrap(), told("Reported.", 4));
    assert_eq!(session.context().usage().total(), 6 * USED.total());
}

#[tokio::test]
async fn a_sub_agent_stops_at_its_budget_and_says_so() {
    for limit in [json!({"max_tokens": USED.total()}), json!({"max_turns": 1})] {
        let replies = [delegates("d1", limit), reads("r1"), says("Done.")];
        let model = Scripted::new("scripted", replies);
        let stage = Stage::new(&model).await;
        let mut session = stage.begin().await;
        send(&mut session, "Look").await;
        assert_eq!(model.requests().len(), 3);
        let report = result_of(&model.requests()[2], "d1").unwrap();
        assert!(report.as_str().unwrap().starts_with("[limit reached: "), "{report}");
    }
}

#[tokio::test]
async fn a_cancel_ends_the_sub_agent_too_and_the_conversation_goes_on() {
    let replies = [delegates("d1", json!({})), Reply::Silence, says("I am here.")];
    let model = Scripted::new("scripted", replies);
    let stage = Stage::new(&model).await;
    let mut session = stage.begin().await;
    let cancel = CancellationToken::new();
    let (button, waiting) = (cancel.clone(), Arc::clone(&model));
    let approver = tokio::spawn(async move {
        waiting.wait_for(2).await;
        button.cancel();
    });
    let outcome = session.send(message("Look"), &cancel).await.unwrap();
    approver.await.unwrap();
    assert_eq!(outcome, TurnOutcome::Ended(TurnEnd::Cancelled));
    assert_eq!(send(&mut session, "Are you there?").await, TurnOutcome::Ended(TurnEnd::Done));
    let request = &model.requests()[2];
    assert_eq!(result_of(request, "d1").unwrap_err().code, ErrorCode::Cancelled);
    assert_eq!(request.messages.last().unwrap().role, Speaker::User);
}
