//! What the user says stays whole as long as it fits, and can be read where it does not.

use std::sync::Arc;

use context_manager::{CacheHint, CompactOutcome, ModelRequest, TurnOutcome};
use insta::assert_snapshot;
use proptest::prelude::*;
use protocol::{
    Compaction, Content, LogEntry, Message, MessageHandle, SessionEvent, SharedText, Speaker,
    TurnEnd, estimate_tokens, recalled_text,
};
use serde_json::json;

use crate::stage::{Reply, Stage, says, wants_one};

const DONE: TurnOutcome = TurnOutcome::Ended(TurnEnd::Done);

fn text(text: impl Into<SharedText>) -> Content {
    Content::Text { text: text.into() }
}

fn big(index: usize, size: usize) -> Reply {
    wants_one(&format!("c{index}"), "big", json!({"path": format!("f{index}"), "size": size}))
}

/// A stage with a window of so many tokens, of which an answer takes a tenth.
fn window(tokens: u64, replies: impl IntoIterator<Item = Reply>) -> Stage {
    Stage::new(replies).with(|options| {
        options.context_tokens = tokens;
        options.max_tokens = u32::try_from(tokens / 10).unwrap();
        options.turn_limit = 1_000;
    })
}

/// The requests of the conversation itself, each with the log as it was then.
fn asked(stage: &Stage) -> Vec<(Vec<LogEntry>, ModelRequest)> {
    let entries = stage.entries();
    let is_asked = |entry: &&LogEntry| matches!(entry.event, SessionEvent::ModelAsked { .. });
    let moments = entries.iter().filter(is_asked).map(|entry| entry.sequence);
    let logs = moments.map(|moment| entries[..moment as usize].to_vec());
    let requests = stage.requests().into_iter();
    let requests = requests.filter(|request| request.cache == CacheHint::Conversation);
    logs.zip(requests).collect()
}

fn texts(messages: &[Arc<Message>]) -> impl Iterator<Item = String> {
    messages.iter().flat_map(|message| &message.content).filter_map(|content| match content {
        Content::Text { text } | Content::Attached { text, .. } => Some(text.to_string()),
        Content::ToolResult { result: Ok(value), .. } => value.as_str().map(str::to_owned),
        _ => None,
    })
}

fn compactions(stage: &Stage) -> Vec<Compaction> {
    let compaction = |entry: LogEntry| match entry.event {
        SessionEvent::Compacted(compaction) => Some(compaction),
        _ => None,
    };
    stage.entries().into_iter().filter_map(compaction).collect()
}

#[tokio::test]
async fn a_message_larger_than_the_window_is_shown_in_part_and_the_rest_is_told_of() {
    let message: String = (1..=200_000).map(|line| format!("line {line}\n")).collect();
    assert!(message.len() > 2_000_000);
    let mut stage = window(20_000, [says("I see.")]);
    assert_eq!(stage.send(&message).await, DONE);
    let requests = asked(&stage);
    let [(log, request)] = requests.as_slice() else { panic!("{}", requests.len()) };
    let shown = texts(&request.messages).collect::<Vec<_>>().join("\n");
    assert!(shown.starts_with("line 1\nline 2\n") && shown.ends_with("line 199999\nline 200000\n"));
    let note = shown.lines().find(|line| line.starts_with("[…")).unwrap();
    assert_snapshot!(note, @"[… 2265787 of 2288895 characters are left out here: read message:1 like a file, from line 1641 …]");
    // It begins where it says.
    let recalled = recalled_text(&log[0].event).unwrap();
    let from: usize =
        note.rsplit("from line ").next().unwrap().trim_end_matches(" …]").parse().unwrap();
    let next = recalled.lines().nth(from - 1).unwrap();
    let before = shown.split("\n[…").next().unwrap().lines().last().unwrap();
    assert!(next.starts_with(before), "{next} {before}");
    let compaction = &compactions(&stage)[0];
    assert_eq!((compaction.summarised, compaction.summary.as_str()), (0, ""));
}

#[tokio::test]
async fn without_tools_nothing_is_promised() {
    let mut stage = window(20_000, [says("I see.")]).with(|options| options.offers_tools = false);
    assert_eq!(stage.send(&"word ".repeat(50_000)).await, DONE);
    let request = stage.requests().pop().unwrap();
    let shown = texts(&request.messages).collect::<Vec<_>>().join("\n");
    assert!(shown.contains("characters are left out here …]"));
    assert!(!shown.contains("message:"));
}

#[tokio::test]
async fn a_message_that_leaves_no_room_even_for_a_note_ends_the_turn() {
    let mut stage = window(30, [says("never")]);
    let outcome = stage.send(&"word ".repeat(10_000)).await;
    assert_eq!(outcome, TurnOutcome::Ended(TurnEnd::ContextFull));
    assert!(stage.requests().is_empty());
}

#[tokio::test]
async fn the_running_message_stays_whole_through_a_long_turn() {
    let message = "Rename `a` to `b`, but not in \"docs\".\n".repeat(250);
    let calls = (0..60).map(|index| big(index, 1_800));
    let mut stage = window(16_000, calls.chain([says("Done.")]));
    assert_eq!(stage.send(&message).await, DONE);
    assert!(compactions(&stage).len() > 2);
    for (_, request) in asked(&stage) {
        let whole = [text(message.clone())];
        assert!(request.messages.iter().any(|message| message.content == whole));
    }
}

#[tokio::test]
async fn attached_files_are_shortened_before_the_users_own_words() {
    let words = "Compare them carefully. ".repeat(100);
    let file = |name: &str| Content::attached(name, &"data, ".repeat(9_000));
    let mut stage = window(16_000, [says("I see.")]);
    let content = vec![text(words.clone()), file("a"), file("b")];
    assert_eq!(stage.try_say(content).await.unwrap(), DONE);
    let (_, request) = asked(&stage).pop().unwrap();
    let shown: Vec<String> = texts(&request.messages).collect();
    assert_eq!((shown.len(), &shown[0]), (3, &words));
    assert!(shown[1].starts_with("The user attached a:\ndata, "), "{}", shown[1]);
    assert!(shown[2].contains("read message:1 like a file, from line "), "{}", shown[2]);
}

#[tokio::test]
async fn what_stayed_in_one_turn_is_not_lost_in_the_next() {
    // In the first turn results are too short to be worth shortening, in the second they are not.
    let calls = |from: usize, size| (from..from + 40).map(move |index| big(index, size));
    let mut stage = window(10_000, calls(0, 1_900).chain((0..3).map(|_| says("One."))));
    let first = format!("The first wish: {}", "keep all names. ".repeat(30));
    assert_eq!(stage.send(&first).await, DONE);
    assert_eq!(compactions(&stage).last().unwrap().kept, [1]);
    let mut stage = stage.with(|options| options.context_tokens = 40_000);
    stage.script(calls(50, 3_000).chain([says("Two.")]));
    assert_eq!(stage.send("The second wish").await, DONE);
    assert!(compactions(&stage).iter().any(|made| made.summarised == 0 && made.kept == [1]));
    for (_, request) in asked(&stage) {
        assert!(texts(&request.messages).any(|text| text.contains(first.trim_end())));
    }
}

#[tokio::test]
async fn a_summary_wanted_by_the_user_keeps_the_last_words_whole() {
    let wish = "Use tabs, never spaces. ".repeat(80);
    let mut stage = window(40_000, [says(&"a long story ".repeat(300)), says("So it was.")]);
    stage.send(&wish).await;
    let ports = stage.ports();
    let outcome = stage.context.compact(&ports, &stage.options, &stage.cancel()).await.unwrap();
    let CompactOutcome::Compacted(compaction) = outcome else { panic!("{outcome:?}") };
    assert!(compaction.summary.contains(wish.trim_end()));
    assert_eq!(compaction.summarised, 2);
    assert!(compaction.tokens_after < compaction.tokens_before);
}

/// What happens in a random conversation.
#[derive(Clone, Debug)]
enum Happening {
    /// The user says something: the percentage of the window that it takes, and of attached files.
    Says(u64, Vec<u64>),
    /// The model speaks, in percent of the window.
    Answers(u64),
    /// A tool answers with this many percent of the window.
    Calls(u64),
    Noted,
}

fn any_happening() -> impl Strategy<Value = Happening> {
    let size = || prop_oneof![4 => 0_u64..4, 2 => 4_u64..40, 1 => 40_u64..200];
    prop_oneof![
        3 => (size(), prop::collection::vec(size(), 0..3)).prop_map(|(own, files)| Happening::Says(own, files)),
        2 => (0_u64..20).prop_map(Happening::Answers),
        6 => size().prop_map(Happening::Calls),
        1 => Just(Happening::Noted),
    ]
}

fn any_window() -> impl Strategy<Value = u64> {
    prop_oneof![6 => 8_000_u64..20_000, 2 => 20_000_u64..60_000, 1 => 60_000_u64..=200_000]
}

/// A text that takes so many percent of a window, different for each salt.
fn filling(percent: u64, window: u64, salt: usize) -> String {
    let bytes = usize::try_from(window * percent / 100 * 4).unwrap();
    let line = format!("{salt} says \"so\" — and on\n");
    line.repeat(bytes / line.len() + usize::from(percent > 0))
}

/// A turn: what the user says, what the model answers, and whether a note follows.
#[derive(Default)]
struct Turn {
    said: Vec<Content>,
    replies: Vec<Reply>,
    is_noted: bool,
}

fn turns(window: u64, happenings: &[Happening]) -> Vec<Turn> {
    let filling = |percent, salt| text(filling(percent, window, salt));
    let mut turns = Vec::new();
    let mut turn = Turn { said: vec![filling(1, 0)], ..Turn::default() };
    for (salt, happening) in (1..).zip(happenings) {
        let said = match happening {
            Happening::Says(own, files) => {
                let parts = [own].into_iter().chain(files);
                parts.map(|&percent| filling(percent, salt)).collect()
            }
            // An answer ends the turn, so the user goes on.
            Happening::Answers(percent) => {
                let Content::Text { text } = filling(*percent, salt) else { continue };
                turn.replies.push(says(&text.to_string()));
                vec![filling(1, salt)]
            }
            Happening::Calls(percent) => {
                turn.replies.push(big(salt, usize::try_from(window * percent / 25).unwrap()));
                continue;
            }
            Happening::Noted => {
                turn.is_noted = true;
                continue;
            }
        };
        turns.push(std::mem::replace(&mut turn, Turn { said, ..Turn::default() }));
    }
    turns.push(turn);
    turns
}

async fn play(window_tokens: u64, happenings: &[Happening]) -> Stage {
    let mut stage = window(window_tokens, []);
    for turn in turns(window_tokens, happenings) {
        // A summary may take the place of an answer.
        stage.script(turn.replies.into_iter().chain((0..9).map(|_| says("Yes."))));
        let (ports, cancel) = (stage.ports(), stage.cancel());
        let sent = stage.context.send_message(turn.said, &ports, &stage.options, &cancel);
        sent.await.unwrap();
        if turn.is_noted {
            stage.write(SessionEvent::Nudged { text: "The user has used undo.".into() }).await;
        }
    }
    stage.check();
    stage
}

/// The parts that the user said last, and where.
fn last_said(log: &[LogEntry]) -> (MessageHandle, Vec<String>) {
    let said = log.iter().rev().find_map(|entry| match &entry.event {
        SessionEvent::UserMessage { content } => Some((entry.sequence, content)),
        _ => None,
    });
    let (sequence, content) = said.expect("the user has said something");
    let parts = content.iter().filter_map(|content| match content {
        Content::Text { text } if !text.is_empty() => Some(text.to_string()),
        _ => None,
    });
    (MessageHandle(sequence), parts.collect())
}

/// The handles that a text names.
fn handles(text: String) -> Vec<MessageHandle> {
    let named = text.match_indices("message:").filter_map(|(at, _)| {
        let rest = &text[at..];
        let digits = rest["message:".len()..].bytes().take_while(u8::is_ascii_digit).count();
        MessageHandle::parse(&rest[.."message:".len() + digits])
    });
    named.collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(32))]
    #[test]
    fn the_running_message_is_whole_or_reachable_and_every_request_fits(
        window in any_window(),
        happenings in prop::collection::vec(any_happening(), 1..24),
    ) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap();
        let stage = runtime.block_on(play(window, &happenings));
        let room = window * 9 / 10 - window / 10;
        for (log, request) in asked(&stage) {
            let messages = &request.messages;
            let taken: usize = messages
                .iter()
                .map(|message| estimate_tokens(&serde_json::to_string(message).unwrap()))
                .sum();
            prop_assert!(taken as u64 <= room, "{} > {}", taken, room);
            crate::story::assert_valid(messages);
            let (handle, parts) = last_said(&log);
            let users = messages.iter().filter(|message| message.role == Speaker::User);
            let is_whole = users.clone().any(|message| {
                let content = texts(std::slice::from_ref(message)).collect::<Vec<_>>();
                !parts.is_empty() && content == parts
            });
            let named = users.flat_map(|message| texts(std::slice::from_ref(message)).collect::<Vec<_>>());
            let mut named = named.flat_map(handles);
            prop_assert!(parts.is_empty() || is_whole || named.any(|it| it == handle), "{}", handle);
            for named in texts(messages).flat_map(handles) {
                let entry = &log[named.0 as usize - 1];
                prop_assert!(recalled_text(&entry.event).is_some(), "{} is {:?}", named, entry);
            }
        }
        let ended = |end| move |entry: &LogEntry| entry.event == SessionEvent::TurnEnded(end);
        prop_assert!(!stage.entries().iter().any(ended(TurnEnd::ContextFull)));
        prop_assert!(!stage.entries().iter().any(ended(TurnEnd::Failed)));
    }
}
