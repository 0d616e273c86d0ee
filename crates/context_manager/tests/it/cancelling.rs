//! A cancel at any moment. The clock is a tokio clock at rest, which moves only when all wait.

use std::time::Duration;

use context_manager::{ModelErrorKind, StopReason, TurnOutcome};
use insta::assert_snapshot;
use protocol::TurnEnd;
use serde_json::json;
use tokio::time::Instant;

use crate::stage::{Line, Stage, call, done, says, text, wants, wants_one};

const CANCELLED: TurnOutcome = TurnOutcome::Ended(TurnEnd::Cancelled);

/// After a cancel, the same user goes on with a new token.
async fn afterwards(stage: &mut Stage, words: &str) -> String {
    stage.renew();
    assert_eq!(stage.send(words).await, TurnOutcome::Ended(TurnEnd::Done));
    stage.last_request()
}

#[tokio::test(start_paused = true)]
async fn in_the_middle_of_an_answer_the_words_the_user_has_seen_are_kept() {
    let reply = vec![
        text("I think that"),
        call("c1", "write", json!({})),
        Line::Cancelled,
        done(StopReason::ToolUse),
    ];
    let mut stage = Stage::new([reply, says("Fine.")]);
    assert_eq!(stage.send("go").await, CANCELLED);
    assert_snapshot!(stage.story(), @r"
    user: go
    asked
    text: I think that
    failed: the user stopped the answer
    turn ended: Cancelled
    ");
    assert_snapshot!(afterwards(&mut stage, "never mind").await, @r"
    user: go
    model: I think that
    user: [The answer above was interrupted before it was complete.]
    user: never mind
    ");
}

#[tokio::test(start_paused = true)]
async fn before_an_answer_nothing_is_left_of_it() {
    let mut stage = Stage::new([vec![Line::Cancelled], says("Fine.")]);
    assert_eq!(stage.send("go").await, CANCELLED);
    assert_snapshot!(afterwards(&mut stage, "go on").await, @r"
    user: go
    user: go on
    ");
}

#[tokio::test(start_paused = true)]
async fn before_anything_the_model_is_not_even_asked() {
    let mut stage = Stage::new([]);
    stage.cancel().cancel();
    assert_eq!(stage.send("go").await, CANCELLED);
    assert!(stage.requests().is_empty());
}

#[tokio::test(start_paused = true)]
async fn while_waiting_to_try_again_the_wait_ends() {
    let cut = vec![text("x"), Line::Fails(ModelErrorKind::Cut)];
    let mut stage = Stage::new([cut]);
    // User, asked, text; the fourth is that it failed and is tried again.
    *stage.log.cancel_in.lock().unwrap() = Some((4, stage.cancel()));
    let begun = Instant::now();
    assert_eq!(stage.send("go").await, CANCELLED);
    assert_eq!(begun.elapsed(), Duration::ZERO);
}

#[tokio::test(start_paused = true)]
async fn a_tool_that_heeds_the_cancel_says_itself_what_became_of_it() {
    let calls = vec![call("c1", "cancels_and_heeds", json!({})), call("c2", "write", json!({}))];
    let mut stage = Stage::new([wants(calls), says("Fine.")]);
    let begun = Instant::now();
    assert_eq!(stage.send("go").await, CANCELLED);
    assert_eq!(begun.elapsed(), Duration::ZERO);
    assert_snapshot!(stage.story(), @r"
    user: go
    asked
    answer ToolUse: <c1 cancels_and_heeds()> <c2 write()>
    start c1
    end c1: CANCELLED stopped at once
    end c2: CANCELLED The user cancelled before this call was run.
    turn ended: Cancelled
    ");
    assert_snapshot!(afterwards(&mut stage, "and now?").await, @r"
    user: go
    model: <c1 cancels_and_heeds()> <c2 write()>
    user: <c1 = CANCELLED stopped at once> <c2 = CANCELLED The user cancelled before this call was run.>
    user: and now?
    ");
}

#[tokio::test(start_paused = true)]
async fn a_change_under_way_may_be_finished() {
    let mut stage = Stage::new([wants_one("c1", "cancels_and_finishes", json!({}))]);
    assert_eq!(stage.send("go").await, CANCELLED);
    assert_snapshot!(stage.story().lines().nth(4).unwrap(), @r#"end c1: "the change is made""#);
}

#[tokio::test(start_paused = true)]
async fn a_tool_that_ignores_the_cancel_is_left_behind_after_fifty_milliseconds() {
    let calls = (0..20).map(|index| {
        let name = if index == 0 { "cancels_and_hangs" } else { "look" };
        call(&format!("c{index}"), name, json!({}))
    });
    let mut stage = Stage::new([wants(calls.collect())]);
    let begun = Instant::now();
    assert_eq!(stage.send("go").await, CANCELLED);
    assert_eq!(begun.elapsed().as_millis(), 50);
    let hung = stage.story();
    let hung: Vec<_> = hung.lines().filter(|line| line.starts_with("end c0:")).collect();
    assert_snapshot!(hung.join("\n"), @"end c0: CANCELLED The user cancelled while this call was running; it may still take effect.");
}

#[tokio::test(start_paused = true)]
async fn whoever_drops_a_turn_stops_its_tools() {
    let mut stage = Stage::new([wants_one("c1", "waits", json!({}))]);
    let tools = stage.tools.clone();
    let turn = tokio::time::timeout(Duration::from_secs(1), stage.send("go")).await;
    assert!(turn.is_err(), "the tool waits for ever");
    tools.stopped.notified().await;
}

#[tokio::test(start_paused = true)]
async fn in_any_append_of_a_turn() {
    let replies = || {
        [
            vec![text("I look."), call("c1", "look", json!({})), done(StopReason::ToolUse)],
            wants(vec![call("c2", "write", json!({})), call("c3", "write", json!({}))]),
            says("Done."),
        ]
    };
    let mut whole = Stage::new(replies());
    assert_eq!(whole.send("go").await, TurnOutcome::Ended(TurnEnd::Done));
    let appends = whole.log.appends.load(std::sync::atomic::Ordering::SeqCst);
    for at in 1..appends {
        let mut stage = Stage::new(replies());
        *stage.log.cancel_in.lock().unwrap() = Some((at, stage.cancel()));
        assert_eq!(stage.send("go").await, CANCELLED, "append {at} of {appends}");
        assert!(stage.context.unfinished(crate::stage::nothing_charged()).is_empty());
    }
}
