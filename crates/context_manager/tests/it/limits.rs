//! When the user is asked how to go on.

use std::time::Duration;

use context_manager::{
    Budget, ContextState, ModelErrorKind, ModelEvent, Prices, StopReason, TurnOutcome, Usage,
};
use insta::assert_snapshot;
use protocol::{LogEntry, PauseReason, SessionEvent, TurnEnd};
use serde_json::json;
use tokio::time::Instant;

use crate::stage::{Line, Reply, Stage, call, done, says, text, using, wants, wants_one};

const DONE: TurnOutcome = TurnOutcome::Ended(TurnEnd::Done);

fn paused_after(turns: u32) -> TurnOutcome {
    TurnOutcome::Paused(PauseReason::TurnLimit { turns })
}

/// Calls that differ, so that they do not count as repetition.
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
    assert!(
        stage.context.unfinished(crate::stage::nothing_charged()).is_empty(),
        "a pause is not a crash"
    );
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
async fn a_model_going_in_circles_is_told_and_then_the_user_is_asked() {
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

/// A turn that may take 400 milliseconds.
fn hurried(replies: impl IntoIterator<Item = Reply>) -> Stage {
    let budget = Budget { wall_time: Some(Duration::from_millis(400)), ..Budget::default() };
    Stage::new(replies).with(|options| options.budget = budget)
}

const TIME_IS_UP: TurnOutcome =
    TurnOutcome::Paused(PauseReason::TimeBudget { used_ms: 400, limit_ms: 400 });

#[tokio::test(start_paused = true)]
async fn the_time_limit_cuts_a_wait_for_another_try_and_time_is_granted_again() {
    let cut = || vec![text("x"), Line::Fails(ModelErrorKind::Cut)];
    let mut stage = hurried([cut(), says("Done.")]);
    let begun = Instant::now();
    assert_eq!(stage.send("go").await, TIME_IS_UP);
    assert_eq!(begun.elapsed().as_millis(), 400);
    assert_eq!(stage.requests().len(), 1);
    assert_eq!(stage.go_on().await, DONE);
}

#[tokio::test(start_paused = true)]
async fn the_time_limit_cuts_an_answer_at_the_moment_and_keeps_its_words() {
    let usage = Usage { input: 70, output: 1, ..Usage::default() };
    let hangs = using(vec![text("I think that"), Line::Hangs], usage);
    let mut stage = hurried([hangs, says("Done.")]);
    let begun = Instant::now();
    assert_eq!(stage.send("go").await, TIME_IS_UP);
    assert_eq!(begun.elapsed().as_millis(), 400);
    assert_snapshot!(stage.story(), @r"
    user: go
    asked
    text: I think that
    failed: the time limit cut the answer
    paused: TimeBudget { used_ms: 400, limit_ms: 400 }
    ");
    // What it announced, and three tokens of words that can be seen.
    assert_eq!(stage.context.usage(), Usage { input: 70, output: 3, ..Usage::default() });
    assert_eq!(stage.go_on().await, DONE);
    assert_snapshot!(stage.last_request(), @r"
    user: go
    model: I think that
    user: [The answer above was interrupted before it was complete.]
    ");
}

#[tokio::test(start_paused = true)]
async fn the_time_limit_cuts_tools_and_their_results_say_so() {
    let calls = ["waits", "hangs"].map(|name| call(name, name, json!({})));
    let mut stage = hurried([wants(calls.into()), says("Done.")]);
    let begun = Instant::now();
    assert_eq!(stage.send("go").await, TIME_IS_UP_IN_TOOLS);
    // A tool that does not heed it has 50 milliseconds to end.
    assert_eq!(begun.elapsed().as_millis(), 450);
    let story = stage.story();
    let ends: Vec<_> = story.lines().filter(|line| line.starts_with("end")).collect();
    assert_snapshot!(ends.join("\n"), @r"
    end waits: CANCELLED The time limit of 400 ms cut this call: stopped
    end hangs: CANCELLED The time limit of 400 ms cut this call; it may still take effect.
    ");
    assert_eq!(stage.go_on().await, DONE);
}

const TIME_IS_UP_IN_TOOLS: TurnOutcome =
    TurnOutcome::Paused(PauseReason::TimeBudget { used_ms: 450, limit_ms: 400 });

#[tokio::test(start_paused = true)]
async fn a_turn_within_its_time_leaves_no_clock_behind() {
    let late_end = Line::Late(350, ModelEvent::Done(StopReason::EndOfTurn));
    let mut stage = hurried([says("Done."), vec![text("x"), late_end], says("Late.")]);
    assert_eq!(stage.send("go").await, DONE);
    tokio::time::advance(Duration::from_millis(300)).await;
    // The clock of the first turn would go off in the middle of this one.
    assert!(matches!(stage.send("again").await, TurnOutcome::Ended(_)));
}

#[tokio::test]
async fn an_answer_may_not_be_longer_than_the_budget_has_left() {
    let usage = Usage { input: 900, output: 100, ..Usage::default() };
    let replies = || [using(counting(1).remove(0), usage), using(says("Done."), usage)];
    let tokens = Budget { tokens: Some(2_500), ..Budget::default() };
    let mut stage = Stage::new(replies()).with(|options| options.budget = tokens);
    assert_eq!(stage.send("go").await, DONE);
    let [first, second] = [0, 1].map(|at| stage.requests()[at].max_tokens);
    assert!(first < 2_500 && second < 600 && second > 256, "{first} {second}");

    let prices = Prices { input: 0.0, output: 1000.0, cache_read: 0.0, cache_write: 0.0 };
    let money = Budget { cost_usd: Some(1.0), ..Budget::default() };
    let mut stage = Stage::new(replies()).with(|options| {
        options.budget = money;
        options.prices = Some(prices);
    });
    assert_eq!(stage.send("go").await, DONE);
    assert_eq!([0, 1].map(|at| stage.requests()[at].max_tokens), [1000, 900]);
}

#[tokio::test]
async fn an_answer_that_was_cut_by_the_budget_pauses_the_turn_and_may_go_on() {
    let usage = Usage { input: 200, output: 790, ..Usage::default() };
    let cut = || using(vec![text("It is long, and"), done(StopReason::MaxTokens)], usage);
    let tokens = Budget { tokens: Some(1_000), ..Budget::default() };
    let mut stage =
        Stage::new([cut(), says("this is the rest.")]).with(|options| options.budget = tokens);
    let out = PauseReason::TokenBudget { used: 990, limit: 1_000 };
    assert_eq!(stage.send("go").await, TurnOutcome::Paused(out));
    assert_eq!(stage.go_on().await, DONE);
    assert_snapshot!(stage.last_request(), @r"
    user: go
    model: It is long, and
    user: [Automatic note] Your last answer was cut because the budget was used up. Go on where you stopped.
    ");

    // The limit of the model is no budget.
    let mut stage = Stage::new([cut()]).with(|options| options.max_tokens = 500);
    assert_eq!(stage.send("go").await, TurnOutcome::Ended(TurnEnd::MaxTokens));
}

#[tokio::test]
async fn a_budget_in_dollars_sends_nothing_to_a_model_without_a_price() {
    let money = Budget { cost_usd: Some(1.0), ..Budget::default() };
    let mut stage = Stage::new([says("Done.")]).with(|options| options.budget = money);
    let out = PauseReason::CostBudget { used: 0.0, limit: 1.0 };
    assert_eq!(stage.send("go").await, TurnOutcome::Paused(out));
    assert!(stage.requests().is_empty());
}

#[tokio::test(start_paused = true)]
async fn answers_that_break_off_count_what_they_announced() {
    let announced = Usage { input: 1_000, output: 1, ..Usage::default() };
    let cut = || using(vec![Line::Fails(ModelErrorKind::Cut)], announced);
    let tokens = Budget { tokens: Some(2_500), ..Budget::default() };
    let mut stage =
        Stage::new([cut(), cut(), cut(), cut()]).with(|options| options.budget = tokens);
    let outcome = stage.send("go").await;
    let out = PauseReason::TokenBudget { used: 2_002, limit: 2_500 };
    // A third request could still be sent, if it had not been seen what the others took.
    assert_eq!(outcome, TurnOutcome::Paused(out), "{}", stage.story());
    assert_eq!(stage.context.usage().total(), 2_002);
}

#[tokio::test(start_paused = true)]
async fn an_attempt_that_may_have_been_charged_is_counted() {
    let usage = Usage { input: 40, output: 2, ..Usage::default() };
    let answer = || using(says("Done."), usage);
    for (kind, is_charged) in [(ModelErrorKind::Cut, true), (ModelErrorKind::Overloaded, false)] {
        let mut stage = Stage::new([vec![Line::Fails(kind)], answer()]);
        assert_eq!(stage.send("go").await, DONE);
        assert_eq!(stage.context.usage().total() > usage.total(), is_charged, "{kind:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_server_that_cannot_be_reached_costs_nothing() {
    let mut stage = Stage::new(vec![vec![Line::Unreachable]; 5]);
    assert_eq!(stage.send("go").await, TurnOutcome::Ended(TurnEnd::Failed));
    assert!(stage.context.usage().is_zero());
}

/// A server once reported ten million tokens for a few words.
#[tokio::test]
async fn a_report_that_cannot_be_true_does_not_end_the_conversation() {
    for total in [300_000, 10_000_000, u64::MAX] {
        let absurd = Usage { input: total, output: 50, ..Usage::default() };
        let mut stage = Stage::new([using(says("Hello."), absurd), says("Still here.")]);
        assert_eq!(stage.send("hello").await, DONE);
        assert_eq!(stage.send("are you there?").await, DONE, "{total}: {}", stage.story());
    }
    // Thoughts that are not sent back take no room in the next request.
    let thinking = Usage { input: 40, output: 190_000, ..Usage::default() };
    let mut stage = Stage::new([using(says("ok"), thinking), says("ok")]);
    assert_eq!(stage.send("think").await, DONE);
    assert_eq!(stage.send("again").await, DONE, "{}", stage.story());
}

#[tokio::test]
async fn an_answer_without_end_is_cut() {
    let endless = std::iter::repeat_with(|| text(&"many words ".repeat(1_000))).take(10_000);
    let mut stage = Stage::new([endless.collect()]).with(|options| options.max_tokens = 1_000);
    assert_eq!(stage.send("go").await, TurnOutcome::Ended(TurnEnd::MaxTokens));
    let written = stage.context.usage().output;
    assert!((5_000..1_000_000).contains(&written), "{written}");
}

#[tokio::test(start_paused = true)]
async fn what_was_under_way_when_the_process_ended_is_paid_for() {
    let replies = || [vec![text("The answer is"), Line::Hangs]];
    let mut stage = Stage::new(replies());
    let cancelled = tokio::time::timeout(Duration::from_millis(50), stage.send("go")).await;
    assert!(cancelled.is_err(), "it hangs");
    let entries = stage.entries();
    let context = context_manager::ChatContext::replay(&entries);
    let prices = Prices { input: 1e6, output: 1e6, cache_read: 0.0, cache_write: 0.0 };
    let charge = context_manager::Charge::of(&*stage.ports().model, Some(prices));
    let spent: Vec<_> = context.unfinished(charge).iter().filter_map(SessionEvent::spent).collect();
    let [(usage, Some(cost))] = spent[..] else { panic!("{spent:?}") };
    assert!(usage.input > 0 && usage.output > 0, "{usage:?}");
    assert!((cost - usage.total() as f64).abs() < 1e-6);

    // The same in a sub-agent's sub-agent.
    let last = entries.last().map_or(0, |entry| entry.sequence);
    let nest = |call_id: &str, sequence, event| {
        let entry = Box::new(LogEntry { sequence, at: 0, event });
        SessionEvent::Nested { call_id: call_id.to_owned(), entry }
    };
    let asked = |tokens| SessionEvent::ModelAsked { estimated_tokens: tokens };
    let mut context = context;
    for (number, event) in [
        nest("a", 1, asked(100)),
        nest("b", 1, nest("c", 1, asked(20))),
        nest("a", 2, SessionEvent::TurnEnded(TurnEnd::Done)),
    ]
    .into_iter()
    .enumerate()
    {
        context.apply(&LogEntry { sequence: last + 1 + number as u64, at: 0, event });
    }
    let spent: Vec<_> = context.unfinished(charge).iter().filter_map(SessionEvent::spent).collect();
    let inputs: Vec<u64> = spent.iter().map(|(usage, _)| usage.input).collect();
    assert_eq!(inputs, [20, usage.input]);
}
