//! Logs that end in the middle, that others write to, or that cannot be written at all.

use std::panic::AssertUnwindSafe;
use std::sync::atomic::Ordering;

use context_manager::{ChatContext, ContextState, ModelEvent, TurnOutcome};
use futures_util::FutureExt as _;
use insta::assert_snapshot;
use protocol::{
    AgentRole, Content, LogEntry, PlanStep, SessionEvent, Settings, StepStatus, TurnEnd,
};
use serde_json::json;

use crate::stage::{Line, Reply, Stage, call, done, says, text, wants, wants_one};
use crate::story;

fn replies() -> Vec<Reply> {
    vec![
        vec![
            text("I look."),
            call("c1", "look", json!({})),
            done(context_manager::StopReason::ToolUse),
        ],
        wants(vec![call("c2", "write", json!({})), call("c3", "write", json!({}))]),
        says("Done."),
    ]
}

#[tokio::test]
async fn a_log_cut_anywhere_is_closed_and_goes_on() {
    let mut whole = Stage::new(replies());
    whole.send("go").await;
    let entries = whole.entries();
    for length in 0..=entries.len() {
        let mut stage = Stage::new([says("Back again.")]);
        *stage.log.entries.lock().unwrap() = entries[..length].to_vec();
        stage.context = ChatContext::replay(&entries[..length]);
        let outcome = stage.send("are you there?").await;
        assert_eq!(outcome, TurnOutcome::Ended(TurnEnd::Done), "cut at {length}");
        assert!(stage.last_request().ends_with("user: are you there?"));
    }
}

#[tokio::test]
async fn what_was_open_at_the_end_says_whether_it_was_begun() {
    let mut whole = Stage::new(replies());
    whole.send("go").await;
    let entries = whole.entries();
    let start = entries
        .iter()
        .position(|entry| story::of_log(std::slice::from_ref(entry)) == "start c2")
        .unwrap();
    let context = ChatContext::replay(&entries[..=start]);
    let events = context.unfinished(crate::stage::nothing_charged()).into_iter();
    let closing: Vec<_> = events.map(|event| LogEntry { sequence: 0, at: 0, event }).collect();
    assert_snapshot!(story::of_log(&closing), @r"
    end c2: INTERRUPTED The session ended while this call was running; it may have had an effect.
    end c3: INTERRUPTED The session ended before this call was run; it had no effect.
    turn ended: Interrupted
    ");
}

#[tokio::test]
async fn another_model_does_not_get_the_thoughts_of_the_one_before() {
    let thought = Content::Opaque { provider: "p".into(), block: json!({"signed": "thought"}) };
    let kept = Line::Piece(ModelEvent::Kept(thought));
    let mut stage = Stage::new([
        vec![kept, text("Hello."), done(context_manager::StopReason::EndOfTurn)],
        says("Good day."),
        says("And again."),
    ]);
    let settings = |model: &str| {
        SessionEvent::SettingsChanged(Settings {
            provider: "p".into(),
            model: model.into(),
            role: AgentRole::Actor,
        })
    };
    stage.write(settings("first")).await;
    stage.send("hi").await;
    stage.send("the same one").await;
    assert!(stage.last_request().contains("signed"), "{}", stage.last_request());
    stage.write(settings("second")).await;
    stage.send("another one").await;
    assert!(!stage.last_request().contains("signed"), "{}", stage.last_request());
    assert!(stage.last_request().contains("Hello."));
}

#[tokio::test]
async fn an_event_that_cannot_be_written_does_not_happen() {
    let mut whole = Stage::new(replies());
    whole.send("go").await;
    let appends = whole.log.appends.load(Ordering::SeqCst);
    for full in 0..appends {
        let mut stage = Stage::new(replies());
        *stage.log.full_after.lock().unwrap() = Some(full);
        let error = stage.try_send("go").await.unwrap_err();
        assert_eq!(error.to_string(), "the session cannot be written down: no space left");
        *stage.log.full_after.lock().unwrap() = None;
        let ports = stage.ports();
        stage.context.stop_turn(&ports).await.unwrap();
        assert_eq!(*stage.context.state(), ContextState::Idle);
    }
}

#[tokio::test]
async fn a_panic_is_caught_by_the_tool_runtime_or_not_at_all() {
    let mut stage = Stage::new([wants_one("c1", "panics", json!({})), says("on we go")]);
    let ended = AssertUnwindSafe(stage.send("go")).catch_unwind().await;
    assert_eq!(ended.unwrap_err().downcast_ref::<&str>(), Some(&"out of luck"));
    // The call is open in the log, and is closed before the next request.
    stage.send("again").await;
    assert_snapshot!(stage.last_request(), @r"
    user: go
    model: <c1 panics()>
    user: <c1 = INTERRUPTED The session ended while this call was running; it may have had an effect.>
    user: again
    ");
}

#[tokio::test]
async fn what_others_write_into_the_log_is_taken_into_account() {
    let mut stage = Stage::new([says("a")]);
    let steps = vec![PlanStep { text: "measure".into(), status: StepStatus::Pending }];
    *stage.log.aside.lock().unwrap() = vec![
        SessionEvent::PlanChanged { steps: steps.clone() },
        SessionEvent::Renamed { title: "Speed".into() },
    ];
    stage.send("1").await;
    assert_eq!(stage.context.plan(), steps);
    assert_eq!(stage.context.title(), Some("Speed"));
}

#[tokio::test]
async fn every_message_of_the_user_begins_a_turn_for_the_tools() {
    let mut stage = Stage::new([says("a"), says("b")]);
    stage.send("1").await;
    stage.send("2").await;
    assert_eq!(stage.tools.turns.load(Ordering::SeqCst), 2);
}
