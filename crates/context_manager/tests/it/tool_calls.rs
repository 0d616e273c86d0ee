//! How the calls of one answer are run.

use std::sync::atomic::Ordering;

use context_manager::{ContextState, TurnOutcome};
use insta::assert_snapshot;
use protocol::{SessionEvent, TurnEnd};
use serde_json::json;

use crate::stage::{Line, Stage, call, says, wants, wants_one};

fn looks(count: usize) -> Vec<Line> {
    (0..count).map(|index| call(&format!("c{index}"), "look", json!({"path": index}))).collect()
}

#[tokio::test]
async fn calls_that_only_look_run_side_by_side_and_their_results_stay_in_order() {
    let mut stage = Stage::new([wants(looks(3)), says("ok")]);
    stage.send("look").await;
    assert_eq!(stage.tools.most_at_once.load(Ordering::SeqCst), 3);
    assert_snapshot!(stage.last_request(), @r#"
    user: look
    model: <c0 look(path=0)> <c1 look(path=1)> <c2 look(path=2)>
    user: <c0 = {"done":0}> <c1 = {"done":1}> <c2 = {"done":2}>
    "#);
}

#[tokio::test]
async fn an_answer_is_written_together_with_the_beginning_of_its_first_calls() {
    for calls in [looks(1), looks(3)] {
        let mut stage = Stage::new([wants(calls), says("ok")]);
        stage.send("look").await;
        // The message, the first request, its answer with the calls, their results, the second
        // request, its answer.
        assert_eq!(stage.log.appends.load(Ordering::SeqCst), 6);
    }
}

#[tokio::test]
async fn calls_that_are_cancelled_while_their_beginning_is_written_are_not_run() {
    let mut stage = Stage::new([wants(looks(2)), says("ok")]);
    *stage.log.cancel_in.lock().unwrap() = Some((3, stage.cancel()));
    assert_eq!(stage.send("look").await, TurnOutcome::Ended(TurnEnd::Cancelled));
    assert_eq!(stage.tools.most_at_once.load(Ordering::SeqCst), 0);
    assert_snapshot!(stage.story(), @r"
    user: look
    asked
    answer ToolUse: <c0 look(path=0)> <c1 look(path=1)>
    start c0
    start c1
    end c0: CANCELLED The user cancelled before this call was run.
    end c1: CANCELLED The user cancelled before this call was run.
    turn ended: Cancelled
    ");
}

#[tokio::test]
async fn if_one_call_changes_something_all_run_in_order() {
    let mut calls = looks(2);
    calls.insert(1, call("w", "write", json!({"path": "x"})));
    let mut stage = Stage::new([wants(calls), says("ok")]);
    stage.send("go").await;
    assert_eq!(stage.tools.most_at_once.load(Ordering::SeqCst), 1);
    assert_snapshot!(stage.story(), @r#"
    user: go
    asked
    answer ToolUse: <c0 look(path=0)> <w write(path="x")> <c1 look(path=1)>
    start c0
    end c0: {"done":0}
    start w
    end w: {"done":"x"}
    start c1
    end c1: {"done":1}
    asked
    text: ok
    answer EndOfTurn: ok
    turn ended: Done
    "#);
}

#[tokio::test]
async fn a_thousand_calls_in_one_answer_get_a_thousand_results_eight_at_a_time() {
    let mut stage = Stage::new([wants(looks(1000)), says("ok")]);
    stage.send("look").await;
    assert_eq!(stage.tools.most_at_once.load(Ordering::SeqCst), 8);
    let ended = |entry: &protocol::LogEntry| matches!(entry.event, SessionEvent::CallEnded { .. });
    assert_eq!(stage.entries().iter().filter(|entry| ended(entry)).count(), 1000);
}

#[tokio::test]
async fn a_call_whose_id_was_used_before_gets_another_one() {
    let twice = || vec![call("c", "look", json!({})), call("c", "look", json!({}))];
    let mut stage = Stage::new([wants(twice()), wants(twice()), says("ok")]);
    stage.send("look").await;
    assert_snapshot!(stage.last_request(), @r#"
    user: look
    model: <c look()> <c_3 look()>
    user: <c = {"done":null}> <c_3 = {"done":null}>
    model: <c_2 look()> <c_4 look()>
    user: <c_2 = {"done":null}> <c_4 = {"done":null}>
    user: [Automatic note] You have called look 4 times with the same arguments and got the same result each time. Calling it again will not help: use what you know, try something else, or tell the user what is in the way.
    "#);
}

#[tokio::test]
async fn a_tool_step_by_itself_runs_the_calls_of_the_last_answer_once() {
    let mut stage = Stage::new([wants_one("c1", "look", json!({})), says("ok")]);
    stage.send("look").await;
    let entries = stage.entries();
    let answered = entries
        .iter()
        .position(|entry| matches!(entry.event, SessionEvent::ModelAnswered(_)))
        .unwrap();
    let step = |stage: Stage, length: usize| async move {
        let mut stage = stage;
        stage.log.entries.lock().unwrap().truncate(length);
        stage.context = context_manager::ChatContext::replay(&entries[..length]);
        let ports = stage.ports();
        stage.context.process_auto_tool_step(&ports, &stage.cancel()).await.unwrap();
        assert_eq!(*stage.context.state(), ContextState::Ready);
        stage.context.process_auto_tool_step(&ports, &stage.cancel()).await.unwrap();
        stage.story().lines().last().unwrap().to_owned()
    };
    let story = step(stage, answered + 1).await;
    assert_snapshot!(story, @r#"end c1: {"done":null}"#);
}

#[tokio::test]
async fn a_call_that_had_been_started_before_is_not_run_again() {
    let mut stage = Stage::new([wants_one("c1", "look", json!({})), says("ok")]);
    stage.send("look").await;
    let entries = stage.entries();
    let started = entries
        .iter()
        .position(|entry| matches!(entry.event, SessionEvent::CallStarted { .. }))
        .unwrap();
    stage.context = context_manager::ChatContext::replay(&entries[..=started]);
    stage.log.entries.lock().unwrap().truncate(started + 1);
    let ports = stage.ports();
    stage.context.process_auto_tool_step(&ports, &stage.cancel()).await.unwrap();
    assert_snapshot!(stage.story().lines().last().unwrap(), @"end c1: INTERRUPTED The session ended while this call was running; it may have had an effect.");
}

#[tokio::test]
async fn a_model_without_tools_is_told_of_none() {
    let mut stage = Stage::new([says("ok")]).with(|options| options.offers_tools = false);
    assert_eq!(stage.send("hi").await, TurnOutcome::Ended(TurnEnd::Done));
    assert!(stage.requests()[0].tools.is_empty());
}
