//! When the person is asked how to go on.

use std::time::Duration;

use context_manager::{Budget, ContextState, Prices, TurnOutcome, Usage};
use insta::assert_snapshot;
use protocol::{PauseReason, TurnEnd};
use serde_json::json;

use crate::stage::{Reply, Stage, says, using, wants_one};

const DONE: TurnOutcome = TurnOutcome::Ended(TurnEnd::Done);

fn paused_after(turns: u32) -> TurnOutcome {
    TurnOutcome::Paused(PauseReason::TurnLimit { turns })
}

/// Calls that differ, so that nobody takes them for a circle.
fn counting(times: usize) -> Vec<Reply> {
    (0..times).map(|index| wants_one(&format!("c{index}"), "count", json!({"n": index}))).collect()
}

/// Seed: "Infinite Loops".
#[tokio::test]
async fn infinite_loops_stop_after_ten_tool_turns_and_may_be_continued() {
    let mut stage = Stage::new(counting(15).into_iter().chain([says("Done.")]));
    assert_eq!(stage.send("go").await, paused_after(10));
    assert_eq!(stage.requests().len(), 10);
    assert!(matches!(stage.context.state(), ContextState::Paused(_)));
    assert!(stage.context.unfinished().is_empty(), "a pause is not a crash");
    assert_eq!(stage.go_on().await, DONE);
    assert_eq!(stage.requests().len(), 16);
}

/// Seed: "Infinite Loops".
#[tokio::test]
async fn infinite_loops_may_be_aborted() {
    let mut stage = Stage::new(counting(10).into_iter().chain([says("What now?")]));
    assert_eq!(stage.send("go").await, paused_after(10));
    assert_eq!(stage.stop().await, TurnOutcome::Ended(TurnEnd::Stopped));
    assert_eq!(stage.go_on().await, TurnOutcome::Ended(TurnEnd::Stopped), "it is over");
    assert_eq!(stage.send("something else").await, DONE);
}

#[tokio::test]
async fn each_continuation_is_another_helping() {
    let mut stage = Stage::new(counting(6)).with(|options| options.turn_limit = 2);
    assert_eq!(stage.send("go").await, paused_after(2));
    assert_eq!(stage.go_on().await, paused_after(4));
    assert_eq!(stage.go_on().await, paused_after(6));
}

#[tokio::test]
async fn a_message_during_a_pause_ends_the_turn_and_begins_another() {
    let replies = counting(2).into_iter().chain([says("Fine.")]);
    let mut stage = Stage::new(replies).with(|options| options.turn_limit = 2);
    stage.send("go").await;
    assert_eq!(stage.send("do this instead").await, DONE);
    let story = stage.story();
    let end: Vec<_> = story.lines().skip_while(|line| !line.starts_with("paused")).collect();
    assert_snapshot!(end.join("\n"), @r"
    paused: TurnLimit { turns: 2 }
    turn ended: Stopped
    user: do this instead
    asked
    text: Fine.
    answer EndOfTurn: Fine.
    turn ended: Done
    ");
}

#[tokio::test]
async fn a_model_going_in_circles_is_told_and_then_the_person_is_asked() {
    let same = |index| wants_one(&format!("c{index}"), "look", json!({"path": "a"}));
    let mut stage = Stage::new((0..9).map(same).chain([says("I see.")]));
    let circles = PauseReason::GoingInCircles { tool: "look".into(), times: 6 };
    assert_eq!(stage.send("go").await, TurnOutcome::Paused(circles));
    let story = stage.story();
    let told: Vec<_> = story.lines().filter(|line| line.starts_with("nudged")).collect();
    assert_snapshot!(told.join("\n"), @"nudged: You have called look 3 times with the same arguments and got the same result each time. Calling it again will not help: use what you know, try something else, or tell the user what is in the way.");
    let fourth = &stage.requests()[3].messages;
    assert!(crate::story::of_messages(fourth).ends_with("what is in the way."));
    stage.model.requests.lock().unwrap().clear();
    assert_eq!(stage.go_on().await, DONE);
}

#[tokio::test]
async fn honest_repetition_is_no_circle() {
    let polls = (0..9).map(|index| wants_one(&format!("c{index}"), "count", json!({})));
    let mut stage = Stage::new(polls.chain([says("It is ready.")]));
    assert_eq!(stage.send("wait for it").await, DONE);
    assert!(!stage.story().contains("nudged"));
}

#[tokio::test]
async fn tokens_and_money_run_out_before_a_request_that_is_too_much() {
    let usage = Usage { input: 900, output: 100, ..Usage::default() };
    let replies = || {
        let calls = counting(2).into_iter().map(|reply| using(reply, usage));
        calls.chain([using(says("Done."), usage)])
    };
    let prices = Prices { input: 1000.0, output: 1000.0, cache_read: 0.0, cache_write: 0.0 };
    let tokens = Budget { tokens: Some(1500), ..Budget::default() };
    let mut stage = Stage::new(replies()).with(|options| options.budget = tokens);
    let out = PauseReason::TokenBudget { used: 1000, limit: 1500 };
    assert_eq!(stage.send("go").await, TurnOutcome::Paused(out));
    let out = PauseReason::TokenBudget { used: 2000, limit: 2500 };
    assert_eq!(stage.go_on().await, TurnOutcome::Paused(out));
    assert_eq!(stage.go_on().await, DONE);

    let money = Budget { cost_usd: Some(1.5), ..Budget::default() };
    let mut stage = Stage::new(replies()).with(|options| {
        options.budget = money;
        options.prices = Some(prices);
    });
    let out = PauseReason::CostBudget { used: 1.0, limit: 1.5 };
    assert_eq!(stage.send("go").await, TurnOutcome::Paused(out));
    assert!(matches!(stage.go_on().await, TurnOutcome::Paused(PauseReason::CostBudget { .. })));
    assert_eq!(stage.go_on().await, DONE);
}

#[tokio::test(start_paused = true)]
async fn time_runs_out_and_is_granted_again() {
    use crate::stage::{Line, text};
    use context_manager::ModelErrorKind;
    let cut = || vec![text("x"), Line::Fails(ModelErrorKind::Cut)];
    let budget = Budget { wall_time: Some(Duration::from_millis(400)), ..Budget::default() };
    let mut stage = Stage::new([cut(), says("Done.")]).with(|options| options.budget = budget);
    let outcome = stage.send("go").await;
    let TurnOutcome::Paused(PauseReason::TimeBudget { limit_ms: 400, .. }) = outcome else {
        panic!("{outcome:?}")
    };
    assert_eq!(stage.go_on().await, DONE);
}
