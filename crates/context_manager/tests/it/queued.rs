//! What the user says while a turn runs.

use context_manager::{ModelRequest, StopReason, TurnOutcome};
use insta::assert_snapshot;
use protocol::{PauseReason, SessionEvent, Speaker, TurnEnd};
use serde_json::json;

use crate::stage::{Line, Reply, Stage, call, done, says, text, wants, wants_one};
use crate::story::said;

const DONE: TurnOutcome = TurnOutcome::Ended(TurnEnd::Done);

fn hears(id: &str, words: &str) -> Reply {
    wants_one(id, "hears", json!({"words": words}))
}

#[tokio::test]
async fn words_go_in_behind_the_results_of_the_running_calls() {
    let both =
        vec![call("a", "hears", json!({"words": "Not in docs."})), call("b", "look", json!({}))];
    let mut stage = Stage::new([wants(both), says("Done.")]);
    assert_eq!(stage.send("Rename it.").await, DONE);
    assert_snapshot!(stage.story(), @r#"
    user: Rename it.
    asked
    answer ToolUse: <a hears(words="Not in docs.")> <b look()>
    start a
    start b
    end b: {"done":null}
    end a: "heard"
    user adds: Not in docs.
    asked
    text: Done.
    answer EndOfTurn: Done.
    turn ended: Done
    "#);
    assert_snapshot!(stage.last_request(), @r#"
    user: Rename it.
    model: <a hears(words="Not in docs.")> <b look()>
    user: <a = "heard"> <b = {"done":null}>
    user: Not in docs.
    "#);
    assert!(stage.inbox.waiting().is_empty());
}

#[tokio::test]
async fn a_turn_that_ends_leaves_what_waits_to_the_front_end() {
    let ends = wants_one("a", "hears", json!({"words": "too late", "terminate": true}));
    let mut stage = Stage::new([ends]);
    assert_eq!(stage.send("Go.").await, TurnOutcome::Ended(TurnEnd::Terminated));
    let waiting = stage.inbox.waiting();
    assert_eq!(waiting.len(), 1);
    assert_eq!(stage.inbox.withdraw(waiting[0].id), Some(said("too late")));
    let is_added = |event: &SessionEvent| matches!(event, SessionEvent::UserAdded { .. });
    assert!(!stage.entries().iter().any(|entry| is_added(&entry.event)));
}

#[tokio::test]
async fn a_cancelled_turn_takes_nothing() {
    let calls = vec![call("a", "hears", json!({})), call("b", "cancels_and_heeds", json!({}))];
    let mut stage = Stage::new([wants(calls)]);
    assert_eq!(stage.send("Go.").await, TurnOutcome::Ended(TurnEnd::Cancelled));
    assert_eq!(stage.inbox.waiting().len(), 1);
}

#[tokio::test]
async fn an_answer_that_only_paused_is_taken_up_first() {
    let pauses = vec![text("I look it up"), Line::Hears("and more"), done(StopReason::Pause)];
    let goes_on = wants_one("a", "look", json!({}));
    let mut stage = Stage::new([pauses, goes_on, says("Both.")]);
    assert_eq!(stage.send("Go.").await, DONE);
    let last = |request: &ModelRequest| request.messages.last().unwrap().clone();
    let requests = stage.requests();
    assert_eq!(last(&requests[1]).role, Speaker::Assistant);
    assert_eq!(last(&requests[2]).content, said("and more"));
}

#[tokio::test]
async fn words_are_in_the_inbox_or_in_the_log_whenever_the_disk_fills() {
    let mut both = (0, 0);
    for appends in 1..9 {
        let mut stage = Stage::new([hears("a", "keep me"), says("Done.")]);
        *stage.log.full_after.lock().unwrap() = Some(appends);
        // Whether it fails depends on where the disk is full.
        let _ = stage.try_send("Go.").await;
        let (waiting, story) = (stage.inbox.waiting().len(), stage.story());
        let written = story.matches("user adds: keep me").count();
        let was_said = story.contains("start a");
        assert_eq!(waiting + written, usize::from(was_said), "after {appends}: {story}");
        both = (both.0 + waiting, both.1 + written);
    }
    assert!(both.0 > 0 && both.1 > 0, "{both:?}");
}

#[tokio::test]
async fn added_words_grant_no_further_rounds() {
    let rounds = (0..9).map(|round| hears(&format!("c{round}"), "and more"));
    let mut stage = Stage::new(rounds).with(|options| options.turn_limit = 3);
    let paused = stage.send("Go.").await;
    assert_eq!(paused, TurnOutcome::Paused(PauseReason::TurnLimit { turns: 3 }));
}

#[tokio::test]
async fn added_words_stay_whole_when_room_is_made() {
    let words = "Rename `a` to `b`, but not in \"docs\".\n".repeat(100);
    let big = |at: usize| wants_one(&format!("b{at}"), "big", json!({"path": at, "size": 1_800}));
    let replies = [hears("a", &words)].into_iter().chain((0..60).map(big)).chain([says("Done.")]);
    let mut stage = Stage::new(replies).with(|options| {
        options.context_tokens = 16_000;
        options.max_tokens = 1_600;
        options.turn_limit = 1_000;
    });
    assert_eq!(stage.send("Go.").await, DONE);
    let compacted = |event: &SessionEvent| matches!(event, SessionEvent::Compacted(_));
    assert!(stage.entries().iter().filter(|entry| compacted(&entry.event)).count() > 2);
    let (whole, last) = (said(&words), stage.requests().pop().unwrap());
    assert!(last.messages.iter().any(|message| message.content == whole));
}
