//! Images in a conversation.

use std::sync::Arc;

use context_manager::{ChatContext, ModelErrorKind, TurnOutcome};
use insta::assert_snapshot;
use protocol::{
    AgentRole, Content, Image, ImageTokens, LogEntry, Message, SessionEvent, Settings, TurnEnd,
};
use serde_json::json;

use crate::stage::{Line, Reply, Stage, picture, says, wants_one};

const DONE: TurnOutcome = TurnOutcome::Ended(TurnEnd::Done);

/// A rule by which images count; any does here.
const PATCHES: ImageTokens =
    ImageTokens::Patches { side: 28, longest: 1568, most: 1568, per_hundred: 100 };

/// A model that sees images.
fn seeing(replies: impl IntoIterator<Item = Reply>) -> Stage {
    Stage::new(replies).with(|options| options.images = Some(PATCHES))
}

fn refuses(kind: ModelErrorKind) -> Reply {
    vec![Line::Refuses(kind)]
}

fn attached(text: &str, images: &[Image]) -> Vec<Content> {
    let images = images.iter().cloned().map(Content::Image);
    std::iter::once(Content::Text { text: text.into() }).chain(images).collect()
}

async fn attach(stage: &mut Stage, text: &str, images: &[Image]) -> TurnOutcome {
    let (ports, cancel) = (stage.ports(), stage.cancel());
    let content = attached(text, images);
    let sent = stage.context.send_message(content, &ports, &stage.options, &cancel).await;
    let again = ChatContext::replay(&stage.entries());
    assert_eq!(again.messages(), stage.context.messages(), "replay leads to the same messages");
    sent.unwrap()
}

/// The images of messages, and whether their bytes are there.
fn images(messages: &[Arc<Message>]) -> Vec<(String, bool)> {
    let contents = messages.iter().flat_map(|message| &message.content);
    let images = contents.flat_map(|content| match content {
        Content::Image(image) => std::slice::from_ref(image),
        Content::ToolResult { images, .. } => images,
        _ => &[],
    });
    images.map(|image| (image.name.clone(), image.base64().is_some())).collect()
}

fn sees(stage: &Stage) -> Vec<bool> {
    stage.requests().iter().map(|request| request.shows_images).collect()
}

fn asked(stage: &Stage) -> Vec<u64> {
    let entries = stage.entries().into_iter();
    entries
        .filter_map(|entry| match entry.event {
            SessionEvent::ModelAsked { estimated_tokens } => Some(estimated_tokens),
            _ => None,
        })
        .collect()
}

#[tokio::test]
async fn images_of_messages_and_results_are_sent_and_counted() {
    let replies =
        || [wants_one("c", "picture", json!({"path": "b.png", "side": 1000})), says("Nice.")];
    let mut stage = seeing(replies());
    let image = picture("a.png", 280);
    assert_eq!(attach(&mut stage, "look", std::slice::from_ref(&image)).await, DONE);
    let requests = stage.requests();
    assert_eq!(sees(&stage), [true, true]);
    let shown = |name: &str| (name.to_owned(), true);
    assert_eq!(images(&requests[0].messages), [shown("a.png")]);
    assert_eq!(images(&requests[1].messages), [shown("a.png"), shown("b.png")]);

    let mut blind = Stage::new(replies());
    attach(&mut blind, "look", &[image]).await;
    assert_eq!(sees(&blind), [false, false]);
    // 280 and 1000 pixels are 10 and 36 patches of 28.
    let more: Vec<u64> =
        asked(&stage).iter().zip(asked(&blind)).map(|(seen, blind)| seen - blind).collect();
    assert_eq!(more, [100, 100 + 1296]);
}

#[tokio::test]
async fn the_log_holds_the_bytes_of_an_image_once() {
    let replies =
        [wants_one("c", "picture", json!({"path": "a.png"})), says("Same."), says("Yes.")];
    let mut stage = seeing(replies);
    let image = picture("a.png", 280);
    attach(&mut stage, "look", std::slice::from_ref(&image)).await;
    attach(&mut stage, "again", &[image.clone(), picture("b.png", 280)]).await;
    let log = serde_json::to_string(&stage.entries()).unwrap();
    assert_eq!(log.matches(image.base64().unwrap()).count(), 1);
    assert_eq!(log.matches(&image.hash.to_string()).count(), 3);
    let all = images(&stage.context.messages());
    assert_eq!(all.len(), 4);
    assert!(all.iter().all(|(_, is_shown)| *is_shown), "{all:?}");
}

#[tokio::test]
async fn a_provider_that_refuses_images_gets_descriptions() {
    let invalid = || refuses(ModelErrorKind::InvalidRequest);
    let mut stage = seeing([invalid(), says("A picture."), says("Still.")]);
    assert_eq!(attach(&mut stage, "look", &[picture("a.png", 280)]).await, DONE);
    let story: Vec<_> = stage.story().lines().skip(2).map(str::to_owned).collect();
    assert_snapshot!(story.join("\n"), @r#"
    failed: InvalidRequest; asking again with images described in words, again in 0 ms
    asked
    text: A picture.
    answer EndOfTurn: A picture.
    turn ended: Done
    ImagesRefused { message: "InvalidRequest" }
    "#);
    assert_eq!(stage.send("and?").await, DONE);
    assert_eq!(sees(&stage), [true, false, false], "it is not asked again");
}

#[tokio::test]
async fn another_model_is_shown_images_again_and_the_same_one_if_it_is_chosen_again() {
    let settings = |model: &str, role| Settings { provider: "p".into(), model: model.into(), role };
    let table = [
        (settings("one", AgentRole::Planner), false),
        (settings("one", AgentRole::Actor), true),
        (settings("two", AgentRole::Actor), true),
        (settings("two", AgentRole::Planner), true),
    ];
    for (chosen, sees_again) in table {
        let invalid = refuses(ModelErrorKind::InvalidRequest);
        let mut stage = seeing([invalid, says("A picture."), says("I see.")]);
        stage.write(SessionEvent::SettingsChanged(settings("one", AgentRole::Actor))).await;
        attach(&mut stage, "look", &[picture("a.png", 280)]).await;
        stage.write(SessionEvent::SettingsChanged(chosen.clone())).await;
        stage.send("and now?").await;
        assert_eq!(sees(&stage), [true, false, sees_again], "{chosen:?}");
    }
}

#[tokio::test]
async fn a_refusal_for_another_reason_does_not_blind_the_session() {
    let invalid = || refuses(ModelErrorKind::InvalidRequest);
    let mut stage = seeing([invalid(), invalid(), says("Hello.")]);
    let failed = TurnOutcome::Ended(TurnEnd::Failed);
    assert_eq!(attach(&mut stage, "look", &[picture("a.png", 280)]).await, failed);
    assert_eq!(stage.send("again").await, DONE);
    assert_eq!(sees(&stage), [true, false, true]);
}

#[tokio::test]
async fn only_a_request_with_images_can_be_refused_for_them() {
    for kind in [ModelErrorKind::InvalidRequest, ModelErrorKind::UnknownModel] {
        let mut stage = seeing([refuses(kind)]);
        assert_eq!(stage.send("hi").await, TurnOutcome::Ended(TurnEnd::Failed));
        assert_eq!(sees(&stage), [true]);
    }
    // An unknown model is that, unless images are mentioned.
    let mut stage = seeing([refuses(ModelErrorKind::UnknownModel)]);
    let failed = TurnOutcome::Ended(TurnEnd::Failed);
    assert_eq!(attach(&mut stage, "look", &[picture("a.png", 280)]).await, failed);
    assert_eq!(sees(&stage), [true]);
}

#[test]
fn more_images_than_a_request_can_hold_are_described_the_oldest_first() {
    let entry = |number: u64| LogEntry {
        sequence: number,
        at: 0,
        event: SessionEvent::UserMessage {
            content: attached("see", &[picture(&format!("{number}.png"), 100)]),
        },
    };
    let shown = |count: u64| {
        let entries: Vec<_> = (1..=count).map(entry).collect();
        let all = images(&ChatContext::replay(&entries).messages());
        assert_eq!(all.len() as u64, count, "none is lost");
        let first = all.iter().position(|(_, is_shown)| *is_shown).unwrap();
        assert!(all[first..].iter().all(|(_, is_shown)| *is_shown));
        all.len() - first
    };
    assert_eq!([20, 21, 22, 31, 32].map(shown), [20, 10, 11, 20, 10]);
    let at_once: Vec<_> = (0..25).map(|number| picture(&number.to_string(), 100)).collect();
    let event = SessionEvent::UserMessage { content: attached("see", &at_once) };
    let messages = ChatContext::replay(&[LogEntry { sequence: 1, at: 0, event }]).messages();
    assert_eq!(images(&messages).iter().filter(|(_, is_shown)| *is_shown).count(), 20);
}

#[tokio::test]
async fn old_images_make_room_before_words_do() {
    let calls = (0..18).map(|index| {
        let arguments = json!({"path": format!("{index}.png"), "side": 1100});
        wants_one(&format!("c{index}"), "picture", arguments)
    });
    let mut stage = seeing(calls.chain([says("Done.")])).with(|options| {
        options.context_tokens = 30_000;
        options.max_tokens = 1_000;
        options.turn_limit = 100;
    });
    assert_eq!(stage.send("look at them all").await, DONE);
    let compactions: Vec<_> = stage
        .entries()
        .into_iter()
        .filter_map(|entry| match entry.event {
            SessionEvent::Compacted(compaction) => Some(compaction),
            _ => None,
        })
        .collect();
    assert!(!compactions.is_empty());
    assert!(compactions.iter().all(|compaction| compaction.summary.is_empty()));
    let left = images(&stage.requests().last().unwrap().messages);
    assert!(left.len() < 18 && left.last() == Some(&("17.png".into(), true)), "{left:?}");
}

#[tokio::test]
async fn a_summary_names_the_images_that_were_left_out() {
    let story = "a long story ".repeat(1000);
    let mut stage = seeing([says(&story), says("Summary."), says("Bye.")]);
    attach(&mut stage, "look", &[picture("a.png", 280)]).await;
    let (ports, cancel) = (stage.ports(), stage.cancel());
    stage.context.compact(&ports, &stage.options, &cancel).await.unwrap();
    stage.send("bye").await;
    let request = stage.last_request();
    assert!(request.contains("[image: a.png (PNG image, 280x280 pixels, 5 bytes)]"), "{request}");
    assert!(images(&stage.requests().last().unwrap().messages).is_empty());
}

#[tokio::test]
async fn after_a_resume_images_are_not_counted_twice() {
    let mut stage = seeing([says("Nice."), says("Yes.")]);
    attach(&mut stage, "look", &[picture("a.png", 1000)]).await;
    let before = stage.context.context_tokens_used();
    stage.context = ChatContext::replay(&stage.entries());
    stage.send("and?").await;
    assert!(asked(&stage)[1] < before + 100, "{:?}", asked(&stage));
}

#[tokio::test]
async fn an_image_of_the_turn_under_way_outlives_a_summary() {
    let words = "word ".repeat(300);
    let calls = (0..40).map(|index| {
        let arguments = json!({"path": format!("f{index}"), "size": 380 * 4});
        wants_one(&format!("c{index}"), "big", arguments)
    });
    let mut stage = seeing(calls.chain([says(&words)])).with(|options| {
        options.context_tokens = 10_000;
        options.max_tokens = 1_000;
        options.turn_limit = 100;
    });
    assert_eq!(attach(&mut stage, "draw this", &[picture("a.png", 280)]).await, DONE);
    let compacted = |entry: &LogEntry| matches!(&entry.event, SessionEvent::Compacted(it) if !it.summary.is_empty());
    assert!(stage.entries().iter().any(compacted));
    let left = images(&stage.requests().last().unwrap().messages);
    assert_eq!(left, [("a.png".to_owned(), true)]);
}
