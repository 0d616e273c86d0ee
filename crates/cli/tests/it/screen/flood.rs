//! More than a screen can show: frames, bytes and memory stay bounded, and keys are seen.

use serde_json::json;
use testkit::{LiveScreen, Reply};

use super::DrawnChat;
use super::drawn_chat::small_project;

/// The largest frame: some screens full of text with its colours.
const LARGEST_FRAME: usize = 256 * 1024;
/// The most memory that the chat may have had, in kilobytes, built without optimisation.
const MOST_MEMORY_KB: u64 = 400 * 1024;

/// The most memory that the program has had so far, in kilobytes.
fn most_memory(screen: &LiveScreen) -> u64 {
    let path = format!("/proc/{}/status", screen.process().as_raw_nonzero());
    let status = std::fs::read_to_string(path).unwrap();
    let line = status.lines().find(|line| line.starts_with("VmHWM:")).unwrap();
    line.split_whitespace().nth(1).unwrap().parse().unwrap()
}

#[track_caller]
fn assert_bounded(chat: &mut DrawnChat) {
    let largest = chat.screen.take_updates().into_iter().max().unwrap();
    assert!(largest < LARGEST_FRAME, "a frame of {largest} bytes");
    let memory = most_memory(&chat.screen);
    assert!(memory < MOST_MEMORY_KB, "{memory} KB");
}

#[test]
fn a_tool_that_prints_fifty_megabytes() {
    let command = "yes 'a line that is printed again and again' | head -c 50000000; echo the end";
    let replies = [Reply::call("bash", json!({"command": command})), Reply::text("I saw it.")];
    let mut chat = DrawnChat::start(replies);
    chat.say("print");
    chat.see("printed again");
    chat.screen.press("typed");
    chat.see("› typed");
    chat.see("I saw it.");
    chat.wait_ready();
    assert_bounded(&mut chat);
    assert!(chat.screen.bytes() < 2_000_000, "{} bytes", chat.screen.bytes());
    chat.screen.press("\x03");
    chat.screen.wait_until(|screen| !screen.contents().contains("typed"));
    chat.leave();
}

#[test]
fn an_answer_of_one_line_without_blanks() {
    const PIECE: usize = 50_000;
    let gate = testkit::Gate::new();
    let pieces = (0..100).map(|_| "x".repeat(PIECE)).chain(["\n\nThe end.".to_owned()]);
    let project = small_project();
    let config = project.root().with_file_name("config");
    std::fs::create_dir_all(config.join("toolkiln")).unwrap();
    let limits = "[model]\nmax_tokens = 5000000\ncontext_tokens = 10000000\n";
    std::fs::write(config.join("toolkiln/config.toml"), limits).unwrap();
    let reply = Reply::pieces(pieces).through(&gate);
    let mut chat = DrawnChat::with((80, 24), project, [reply], |command| {
        command.env("XDG_CONFIG_HOME", &config);
    });
    chat.say("write");
    gate.pass(20);
    chat.see("xxxx");
    chat.screen.press("typed");
    chat.see("› typed");
    gate.open();
    chat.see("The end.");
    chat.wait_ready();
    assert_bounded(&mut chat);
    chat.screen.press("\x03");
    chat.screen.wait_until(|screen| !screen.contents().contains("typed"));
    chat.leave();
}

#[test]
fn two_thousand_calls() {
    const CALLS: usize = 2_000;
    const AT_ONCE: usize = 250;
    let mut asked = 0;
    let server = testkit::ModelServer::answering(move |_| {
        if asked == CALLS {
            return Reply::text("All are done.");
        }
        let calls = asked..asked + AT_ONCE;
        asked += AT_ONCE;
        calls.fold(Reply::text("Next."), |reply, number| {
            reply.and_call("read_file", json!({"path": format!("missing/{number}.txt")}))
        })
    });
    let mut chat = DrawnChat::with_server((80, 24), small_project(), server, |_| {});
    chat.say("read all");
    chat.see("Next.");
    chat.screen.press("typed");
    chat.see("› typed");
    chat.see("All are done.");
    chat.wait_ready();
    assert_bounded(&mut chat);
    chat.screen.press("\x03");
    chat.screen.wait_until(|screen| !screen.contents().contains("typed"));
    chat.leave();
}
