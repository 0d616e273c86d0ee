//! Budgets of a session: what its sub-agents may use, and what is told when something runs out.

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use context_manager::{
    Budget, ModelError, ModelErrorKind, ModelEvent, ModelProvider, ModelRequest, ModelStream,
    Prices, StopReason, Usage,
};
use futures_util::{StreamExt as _, stream};
use protocol::{PauseReason, SessionEvent, ToolCall, TurnEnd};
use serde_json::{Value, json};
use session::{Session, SessionError, TurnOutcome};
use tokio_util::sync::CancellationToken;

use crate::stage::{Reply, Scripted, Stage, calls, message, result_of, says, send};

const DONE: TurnOutcome = TurnOutcome::Ended(TurnEnd::Done);

/// The same answer, for this many tokens.
fn taking(reply: Reply, input: u64) -> Reply {
    let Reply::Complete(mut events) = reply else { return reply };
    for event in &mut events {
        if let ModelEvent::Usage(usage) = event {
            *usage = Usage { input, output: 10, ..Usage::default() };
        }
    }
    Reply::Complete(events)
}

fn delegates(id: &str, more: Value) -> Reply {
    let mut task = json!({"task": "Look into the notes"});
    task.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    calls(id, "delegate", task)
}

/// A search that is not the same as the one before.
fn looks(number: usize) -> Reply {
    calls(&format!("g{number}"), "glob", json!({"pattern": format!("*.{number}")}))
}

/// A sub-agent that would look around for ever.
fn never_ending() -> impl Iterator<Item = Reply> {
    std::iter::once(delegates("d1", json!({}))).chain((0..50).map(looks))
}

fn tokens(tokens: u64) -> Budget {
    Budget { tokens: Some(tokens), ..Budget::default() }
}

#[tokio::test]
async fn a_sub_agent_uses_up_the_budget_of_the_session_and_its_caller_pauses_too() {
    let model = Scripted::new("scripted", never_ending().map(|reply| taking(reply, 20_000)));
    let mut stage = Stage::new(&model).await;
    stage.parts.budget = tokens(100_000);
    let mut session = stage.begin().await;
    let outcome = send(&mut session, "Look").await;
    let out = PauseReason::TokenBudget { used: 80_040, limit: 100_000 };
    assert_eq!(outcome, TurnOutcome::Paused(out));
    assert_eq!(model.requests().len(), 4, "one of the session, three of its sub-agent");
    let log = stage.log(&session).await;
    let report = log.iter().find_map(|entry| match &entry.event {
        SessionEvent::CallEnded { result, .. } => Some(result.clone().unwrap()),
        _ => None,
    });
    let report = report.unwrap();
    assert_eq!(report["outcome"], "limit reached");
    assert_eq!(
        report["reason"],
        "the budget of the whole session of 100000 tokens: 80040 are used, the next request needs more than is left"
    );
}

#[tokio::test]
async fn going_on_is_another_helping_for_the_whole_tree() {
    let replies = never_ending().map(|reply| taking(reply, 20_000));
    let model = Scripted::new("scripted", replies);
    let mut stage = Stage::new(&model).await;
    stage.parts.budget = tokens(50_000);
    let mut session = stage.begin().await;
    send(&mut session, "Look").await;
    let before = session.context().usage().total();
    let outcome = session.continue_turn(&CancellationToken::new()).await.unwrap();
    let used = session.context().usage().total();
    let out = PauseReason::TokenBudget { used, limit: before + 50_000 };
    assert_eq!(outcome, TurnOutcome::Paused(out));
    assert!(used > before && used <= before + 50_000, "{before} {used}");
}

#[tokio::test]
async fn dollars_and_rounds_are_shared_too() {
    let prices = Prices { input: 1.0, output: 1.0, cache_read: 1.0, cache_write: 1.0 };
    let model = Scripted::new("scripted", never_ending().map(|reply| taking(reply, 20_000)));
    let mut stage = Stage::new(&model).await;
    stage.parts.model.prices = Some(prices);
    stage.parts.budget = Budget { cost_usd: Some(0.05), ..Budget::default() };
    let mut session = stage.begin().await;
    let outcome = send(&mut session, "Look").await;
    let TurnOutcome::Paused(PauseReason::CostBudget { used, limit: 0.05 }) = outcome else {
        panic!("{outcome:?}")
    };
    assert!(used < 0.05, "{used}");

    let model = Scripted::new("scripted", never_ending());
    let mut stage = Stage::new(&model).await;
    stage.parts.turn_limit = 6;
    let mut session = stage.begin().await;
    let outcome = send(&mut session, "Look").await;
    assert_eq!(outcome, TurnOutcome::Paused(PauseReason::TurnLimit { turns: 6 }));
    assert_eq!(model.requests().len(), 6);
}

#[tokio::test]
async fn a_report_names_the_limit_of_the_task_and_its_caller_goes_on() {
    let table = [
        (
            json!({"max_tokens": 30_000}),
            "the budget of this task of 30000 tokens: 20010 are used, the next request needs more than is left",
        ),
        (json!({"max_turns": 1}), "the limit of this task on rounds: 1 were made"),
    ];
    for (limit, reason) in table {
        let replies = [delegates("d1", limit), looks(1), says("Done.")];
        let model = Scripted::new("scripted", replies.map(|reply| taking(reply, 20_000)));
        let stage = Stage::new(&model).await;
        let mut session = stage.begin().await;
        assert_eq!(send(&mut session, "Look").await, DONE);
        let report = result_of(&model.requests()[2], "d1").unwrap();
        let told = format!("[limit reached: {reason}; 1 turn, ");
        assert!(report.as_str().unwrap().starts_with(&told), "{report}");
    }
}

#[tokio::test]
async fn a_report_names_the_error_of_the_provider() {
    let failing = Reply::Fails(ModelErrorKind::Unauthorized, "the key has expired");
    let replies = [delegates("d1", json!({})), failing, says("Done.")];
    let model = Scripted::new("scripted", replies);
    let stage = Stage::new(&model).await;
    let mut session = stage.begin().await;
    assert_eq!(send(&mut session, "Look").await, DONE);
    let error = result_of(&model.requests()[2], "d1").unwrap_err();
    assert_eq!(
        error.message,
        "the sub-agent ended without a report: the provider failed: the key has expired"
    );

    let said = Reply::Complete(vec![
        ModelEvent::Text("Half of it is".into()),
        ModelEvent::ToolCall(ToolCall::new("g", "glob", serde_json::Map::new())),
        ModelEvent::Done(StopReason::ToolUse),
    ]);
    let failing = Reply::Fails(ModelErrorKind::Unauthorized, "the key has expired");
    let model =
        Scripted::new("scripted", [delegates("d1", json!({})), said, failing, says("Done.")]);
    let stage = Stage::new(&model).await;
    let mut session = stage.begin().await;
    assert_eq!(send(&mut session, "Look").await, DONE);
    let report = result_of(&model.requests()[3], "d1").unwrap();
    let told = "Half of it is\n[failed: the provider failed: the key has expired; ";
    assert!(report.as_str().unwrap().starts_with(told), "{report}");
}

/// A model that delegates everything and whose sub-agents never answer.
struct Silent;

#[async_trait]
impl ModelProvider for Silent {
    fn name(&self) -> &str {
        "silent"
    }

    async fn stream(&self, request: &ModelRequest) -> Result<ModelStream, ModelError> {
        if request.system.contains("You are a sub-agent") {
            return Ok(stream::pending().boxed());
        }
        let is_asked = request.messages.last().unwrap().content.contains(&message("Well?")[0]);
        let reply = if is_asked { says("I am here.") } else { delegates("d1", json!({})) };
        let Reply::Complete(events) = reply else { unreachable!("both are complete") };
        Ok(stream::iter(events.into_iter().map(Ok)).boxed())
    }
}

#[tokio::test]
async fn the_time_limit_cuts_a_sub_agent_in_the_middle_of_its_answer() {
    let mut stage = Stage::new(&Scripted::new("unused", [])).await;
    stage.parts.model.provider = Arc::new(Silent);
    // Long enough for the sub-agent to ask its model on a busy machine.
    stage.parts.budget = Budget { wall_time: Some(Duration::from_secs(1)), ..Budget::default() };
    let mut session = stage.begin().await;
    let outcome = send(&mut session, "Look").await;
    let TurnOutcome::Paused(PauseReason::TimeBudget { limit_ms: 1000, .. }) = outcome else {
        panic!("{outcome:?}")
    };
    // What the sub-agent may have been charged for is in the log, so that every later budget counts it.
    let entries = stage.parts.store.load(session.id()).await.unwrap().entries;
    let nested = entries.iter().filter(|entry| matches!(entry.event, SessionEvent::Nested { .. }));
    let spent: Vec<_> = nested.filter_map(|entry| entry.event.spent()).collect();
    assert!(matches!(&spent[..], [(usage, _)] if usage.input > 100), "{spent:?}");
    let id = session.id().clone();
    session.close().await;
    stage.parts.budget = Budget::default();
    let (mut session, _) = Session::resume(stage.parts.clone(), id).await.unwrap();
    assert_eq!(send(&mut session, "Well?").await, DONE);
}

#[tokio::test]
async fn a_budget_in_dollars_needs_a_price_at_the_beginning_and_at_every_change() {
    let model = Scripted::new("scripted", []);
    let mut stage = Stage::new(&model).await;
    stage.parts.budget = Budget { cost_usd: Some(1.0), ..Budget::default() };
    let refused = Session::begin(stage.parts.clone()).await.err().unwrap();
    assert!(matches!(&refused, SessionError::NoPrice { model } if model == "scripted-1"));
    assert!(stage.store.list(&Default::default()).await.unwrap().is_empty(), "nothing is begun");

    let prices = Prices { input: 1.0, output: 1.0, cache_read: 1.0, cache_write: 1.0 };
    stage.parts.model.prices = Some(prices);
    let mut session = stage.begin().await;
    let refused = session.set_model(model.model()).await.unwrap_err();
    assert!(matches!(refused, SessionError::NoPrice { .. }));
    assert!(session.parts().model.prices.is_some(), "nothing has changed");
}
