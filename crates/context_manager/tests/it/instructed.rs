//! Instructions of the project: each is told once, and again when the model cannot see it any more.

use insta::assert_snapshot;
use protocol::{ContentHash, Instructions, TurnEnd};
use serde_json::json;

use context_manager::TurnOutcome;

use crate::stage::{Stage, says, wants_one};

fn says_in(path: &str, text: &str) -> Instructions {
    let version = ContentHash::of(text.as_bytes());
    Instructions { path: path.into(), version, remark: None, text: text.into() }
}

fn told(stage: &Stage, text: &str) -> usize {
    stage.last_request().matches(text).count()
}

#[tokio::test]
async fn they_are_told_once() {
    let look = |id| wants_one(id, "look", json!({"path": "a"}));
    let mut stage = Stage::new([look("c1"), look("c2"), says("Done."), says("Again.")]);
    *stage.tools.instructions.lock().unwrap() = vec![says_in("a/AGENTS.md", "Be kind.")];
    assert_eq!(stage.send("hi").await, TurnOutcome::Ended(TurnEnd::Done));
    stage.send("and again").await;
    assert_snapshot!(stage.last_request(), @r#"
    user: hi
    user: [Automatic note] Be kind.
    model: <c1 look(path="a")>
    user: <c1 = {"done":"a"}>
    model: <c2 look(path="a")>
    user: <c2 = {"done":"a"}>
    model: Done.
    user: and again
    "#);
}

#[tokio::test]
async fn what_has_changed_is_told_again() {
    let mut stage = Stage::new([says("One."), says("Two."), says("Three.")]);
    for (text, old) in [("Be kind.", 1), ("Be brief.", 1), ("Be brief.", 1)] {
        *stage.tools.instructions.lock().unwrap() = vec![says_in("AGENTS.md", text)];
        stage.send("hi").await;
        assert_eq!(told(&stage, text), old);
    }
    // The earlier version is not taken out of what was said.
    assert_eq!(told(&stage, "Be kind."), 1);
}

#[tokio::test]
async fn what_was_left_out_to_make_room_is_told_again() {
    let long = "a long story ".repeat(1000);
    let mut stage = Stage::new([says(&long), says("A summary."), says("Here.")]).with(|options| {
        (options.context_tokens, options.max_tokens) = (10_000, 1_000);
    });
    *stage.tools.instructions.lock().unwrap() = vec![says_in("AGENTS.md", "Be kind.")];
    stage.send("hi").await;
    let ports = stage.ports();
    stage.context.compact(&ports, &stage.options, &stage.cancel()).await.unwrap();
    stage.send("still there?").await;
    assert_eq!(told(&stage, "Be kind."), 1);
    let said = stage.last_request();
    let (told, asked) = (said.find("Be kind."), said.find("still there?"));
    assert!(asked < told, "{said}");
}

#[tokio::test]
async fn what_was_told_takes_from_the_room_for_more() {
    let mut stage =
        Stage::new([says("Done."), says("Done.")]).with(|options| options.context_tokens = 20_000);
    *stage.tools.instructions.lock().unwrap() =
        vec![says_in("a/AGENTS.md", &"Be kind. ".repeat(100))];
    let room = |stage: &Stage| stage.tools.room.load(std::sync::atomic::Ordering::SeqCst);
    stage.send("go").await;
    let before = room(&stage);
    stage.send("go on").await;
    let after = room(&stage);
    assert!(before < 20_000 / 8 && (100..500).contains(&(before - after)), "{before} {after}");
}
