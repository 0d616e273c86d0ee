//! The user's words in windows of every size: whole in each request, or to be read by a handle that
//! it names; and every request is one that its provider accepts.

use std::fs::{self, File};
use std::sync::{Arc, Mutex};

use proptest::prelude::*;
use protocol::{Content, LogEntry, MessageHandle, SessionEvent};
use serde_json::json;
use testkit::model_server::{ModelCall, WireFormat};
use testkit::{Fixture, ModelServer, Reply};

use super::bench::{Bench, Model};
use super::validity;
use crate::run::{Ran, finish};

/// Sends a message of any length to a model with a window of so many tokens.
fn ask(bench: &Bench, model: Model<'_>, window: u64, message: &str, more: &[&str]) -> Ran {
    let config = format!("//- /toolkiln/config.toml\n[model]\ncontext_tokens = {window}\n");
    let config = Fixture::new(&config);
    let input = bench.project.root().with_file_name("message.txt");
    fs::write(&input, message).unwrap();
    let mut command = bench.asking(model, "-");
    command.env("XDG_CONFIG_HOME", config.root()).stdin(File::open(input).unwrap());
    finish(command.args(more))
}

/// The messages of the user in a log, with their handles.
fn said(log: &[LogEntry]) -> Vec<(MessageHandle, String)> {
    let messages = log.iter().filter_map(|entry| match &entry.event {
        SessionEvent::UserMessage { content } => Some((entry.sequence, content)),
        _ => None,
    });
    let text = |content: &Content| match content {
        Content::Text { text } => text.to_string(),
        other => panic!("{other:?}"),
    };
    messages
        .map(|(sequence, content)| (MessageHandle(sequence), content.iter().map(text).collect()))
        .collect()
}

/// The page that a model got last, and where it goes on.
fn last_page(request: &ModelCall) -> Option<(String, Option<u64>)> {
    let answer = request.tool_answers().pop()?;
    // The notes are the last line, in brackets.
    let (page, notes) = answer.text.split_at(answer.text.rfind("\n[")? + 1);
    Some((page.to_owned(), number_after(notes, "offset=")))
}

fn number_after(text: &str, mark: &str) -> Option<u64> {
    let rest = text.split(mark).nth(1)?;
    rest.split(|c: char| !c.is_ascii_digit()).next()?.parse().ok()
}

#[test]
fn a_message_of_two_megabytes_is_read_in_pages_in_a_small_window() {
    const PAGES: usize = 30;
    let lines: Vec<String> = (1..=180_000).map(|line| format!("item {line}\n")).collect();
    let message = lines.concat();
    assert!(message.len() > 2_000_000);
    for format in WireFormat::ALL {
        let pages = Arc::new(Mutex::new(Vec::new()));
        let read = Arc::clone(&pages);
        let server = ModelServer::answering(move |request| {
            if request.tools().is_empty() {
                return Reply::text("It has read on.");
            }
            let mut read = read.lock().unwrap();
            let from = match last_page(request) {
                None => number_after(&request.user_texts().join("\n"), "from line "),
                Some((page, next)) => {
                    read.push(page);
                    next.filter(|_| read.len() < PAGES)
                }
            };
            let page = |from| json!({"path": "message:2", "offset": from, "line_numbers": false});
            from.map_or_else(|| Reply::text("Enough."), |from| Reply::call("read_file", page(from)))
        });
        let bench = Bench::new("");
        let ran = ask(&bench, Model { format, server: &server }, 20_000, &message, &[]);
        assert_eq!(ran.code, 0, "{}", ran.stderr);
        let calls = server.calls();
        let first = calls[0].user_texts().join("\n");
        assert!(first.contains("item 1\nitem 2\n") && first.contains("item 180000"), "{first}");
        let start = usize::try_from(number_after(&first, "from line ").unwrap()).unwrap();
        let pages = pages.lock().unwrap().concat();
        let expected = lines[start - 1..start - 1 + pages.lines().count()].concat();
        assert!(pages == expected, "a page was lost, or read twice:\n{}", ran.stderr);
        assert!(pages.len() > PAGES * 4_000, "{}", pages.len());
        for call in &calls {
            validity::check(call);
            let shown = call.user_texts().join("\n");
            assert!(call.tools().is_empty() || shown.contains("read message:2 like a file"));
        }
        let log = bench.log("");
        assert_eq!(said(&log), [(MessageHandle(2), message.clone())]);
        assert!(ran.stderr.contains("made room: "), "{}", ran.stderr);
    }
}

/// A conversation of several turns: the percentage of the window that each message takes, and those
/// of the files that are then read.
type Turns = Vec<(u64, Vec<u64>)>;

fn any_turns() -> impl Strategy<Value = Turns> {
    let size = || prop_oneof![3 => 0_u64..5, 2 => 5_u64..50, 1 => 50_u64..150];
    prop::collection::vec((size(), prop::collection::vec(size(), 0..5)), 2..5)
}

fn any_window() -> impl Strategy<Value = u64> {
    prop_oneof![2 => 8_000_u64..20_000, 1 => 20_000_u64..200_000]
}

fn filling(percent: u64, window: u64, salt: usize) -> String {
    let line = format!("{salt}: so \"it\" goes — on\n");
    line.repeat(usize::try_from(window * percent / 25).unwrap() / line.len() + 1)
}

/// Whether the message is whole in a request, or named by its handle.
fn is_reachable(request: &ModelCall, handle: MessageHandle, message: &str) -> bool {
    let shown = request.user_texts().join("\n");
    let named = |mark: &str| shown.contains(&format!("{mark}{handle} "));
    shown.contains(message.trim_end()) || named("read ")
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(6))]
    #[test]
    fn every_request_of_a_long_conversation_is_valid_and_has_the_users_words(
        window in any_window(),
        turns in any_turns(),
        format in prop::sample::select(&WireFormat::ALL[..]),
    ) {
        let bench = Bench::new("");
        for (number, (size, files)) in turns.iter().enumerate() {
            let message = filling(*size, window, number);
            for (file, &percent) in files.iter().enumerate() {
                let path = bench.project.root().join(format!("{file}.txt"));
                fs::write(path, filling(percent, window, file)).unwrap();
            }
            let mut left = files.len();
            let server = ModelServer::answering(move |request| {
                if request.tools().is_empty() || left == 0 {
                    return Reply::text("Done.");
                }
                left -= 1;
                Reply::call("read_file", json!({"path": format!("{left}.txt")}))
            });
            let more: &[&str] = if number == 0 { &[] } else { &["--resume"] };
            let ran = ask(&bench, Model { format, server: &server }, window, &message, more);
            prop_assert_eq!(ran.code, 0, "{}", ran.stderr);
            let log = bench.log("");
            let (handle, stored) = said(&log).pop().unwrap();
            prop_assert_eq!(&stored, &message);
            for call in server.calls() {
                validity::check(&call);
                let is_summary = call.tools().is_empty();
                prop_assert!(is_summary || is_reachable(&call, handle, &message), "{}", handle);
            }
            let room = window * 9 / 10;
            for entry in &log {
                if let SessionEvent::ModelAsked { estimated_tokens } = entry.event {
                    prop_assert!(estimated_tokens <= room, "{} > {}", estimated_tokens, room);
                }
            }
        }
    }
}
