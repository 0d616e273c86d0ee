//! Text that a terminal would obey, wherever the chat shows text: nothing of it is obeyed.

use serde_json::json;
use testkit::{ModelServer, Reply};

use super::DrawnChat;
use super::drawn_chat::{gated, small_project};
use super::terminal_bytes::{obeyed, outside_of_updates};

/// Sets the title, clears the screen in two ways, moves the cursor, blinks, takes the other screen, rings, turns the line
/// around, hides what follows, resets the terminal.
const EVIL: &str = "e\x1b]0;t\x07\x1b[2J\u{9b}2J\x1b[9;9H\x1b[5;41m\x1b[?1049h\x07\u{202e}\u{200b}\u{2066}\u{feff}\u{8}\x0b\x1bcx";

/// The same for `printf`.
fn evil_for_printf() -> String {
    EVIL.bytes().map(|byte| format!("\\{byte:03o}")).collect()
}

/// Everything that was written so far: only our own sequences, and text that is seen.
#[track_caller]
fn assert_harmless(chat: &mut DrawnChat, place: &str) {
    let written = chat.screen.take_written();
    let others = obeyed(&written);
    assert!(others.is_empty(), "{place}: {others:?}");
    let shown = String::from_utf8_lossy(&written);
    let is_shown = shown.contains("[2J");
    assert!(is_shown, "{place}: the text is not shown\n{}", chat.screen.text());
}

#[test]
fn answers_calls_and_the_viewer() {
    for colours in [false, true] {
        let printed = evil_for_printf();
        let bash = |command: String| Reply::call("bash", json!({"command": command}));
        let ends = bash(format!(": '{EVIL}'; printf 'a\\n{printed}\\n{printed}\\rover\\n'"));
        let runs = bash(format!(": '{EVIL}'; printf '{printed}\\n'; sleep 1000"));
        let answer = format!(
            "{EVIL}\n\n# {EVIL}\n\n```{EVIL}\n{EVIL}\n```\n\n| {EVIL} |\n|---|\n| b |\n\n[{EVIL}](http://x/{EVIL}) `{EVIL}`\rover"
        );
        let said = Reply::text(&answer).and_thinking(&format!("{EVIL}\n\n{EVIL}"));
        let replies = [said, ends, Reply::text("done"), runs, Reply::text("stopped")];
        let mut chat = DrawnChat::with((100, 40), small_project(), replies, |command| {
            if !colours {
                command.env("NO_COLOR", "1");
            }
        });
        chat.say("write");
        chat.see("over");
        chat.wait_ready();
        assert_harmless(&mut chat, "answer");
        chat.screen.press("\x0f");
        chat.see("/ search");
        assert_harmless(&mut chat, "thought in the viewer");
        chat.screen.press("q");
        chat.wait_ready();
        chat.say("run");
        chat.see("done");
        chat.wait_ready();
        assert_harmless(&mut chat, "finished call");
        chat.screen.press("\x0f");
        chat.see("1 of 2");
        assert_harmless(&mut chat, "output in the viewer");
        chat.screen.press("q");
        chat.wait_ready();
        chat.screen.take_written();
        chat.say("run on");
        // In the title of the call, in what it has printed, and in the status line.
        chat.screen
            .wait_written(|written| String::from_utf8_lossy(written).matches("[2J").count() >= 3);
        assert_harmless(&mut chat, "running call and status line");
        chat.screen.press("\x1b");
        chat.wait_ready();
        assert_eq!(obeyed(&chat.screen.take_written()), [""; 0]);
        chat.leave();
    }
}

#[test]
fn questions_and_file_names() {
    let project = small_project();
    project.write(EVIL, "one\n");
    project.write("evil\u{202e}\u{200b}.txt", "one\n");
    let edit = json!({"path": EVIL, "content": format!("{EVIL}\ntwo\n")});
    let replies = [Reply::call("update_file", edit), Reply::text("as you like")];
    let mut chat = DrawnChat::with((100, 40), project, replies, |command| {
        command.env("NO_COLOR", "1");
    });
    chat.screen.press("@e");
    chat.see("› README.md");
    // Such names are not offered.
    assert!(chat.screen.look(|screen| !screen.contents().contains("evil")));
    assert_eq!(obeyed(&chat.screen.take_written()), [""; 0], "completion");
    chat.screen.press("\x15");
    chat.say("edit");
    chat.see("waiting for you");
    assert_harmless(&mut chat, "question");
    chat.screen.press("\x1b");
    chat.wait_ready();
    assert_harmless(&mut chat, "question that was withdrawn");
    chat.leave();
}

#[test]
fn titles_pasted_text_and_the_queue() {
    let project = small_project();
    let (gate, reply) = gated(&["a ", "b"]);
    let server = ModelServer::start([Reply::text("first"), reply]);
    let mut chat = DrawnChat::with_server((100, 40), project, server, |command| {
        command.env("NO_COLOR", "1");
    });
    chat.say("hello");
    chat.see("first");
    chat.wait_ready();
    // A terminal takes the end of the paste out of what is pasted; the rest comes as it is.
    chat.screen.paste(&format!("/rename {EVIL}"));
    chat.screen.wait_until(|screen| screen.contents().contains("/rename e"));
    chat.screen.press("\r");
    chat.see("is now called");
    assert!(obeyed(&chat.screen.take_written()).is_empty());
    chat.say("/new");
    chat.wait_ready();
    chat.say("/resume");
    chat.see("esc closes");
    assert_eq!(obeyed(&chat.screen.take_written()), [""; 0], "picker");
    chat.screen.press("\x1b");
    chat.screen.wait_until(|screen| !screen.contents().contains("esc closes"));
    chat.say("go");
    chat.see("esc stops");
    chat.screen.paste(EVIL);
    chat.screen.press("waits\r");
    chat.screen.wait_until(|screen| screen.contents().contains("waits"));
    chat.screen.paste(&format!("{EVIL}\n{EVIL}typed"));
    chat.screen.wait_until(|screen| screen.contents().contains("typed"));
    gate.open();
    chat.see("a b");
    chat.wait_ready();
    assert_eq!(obeyed(&chat.screen.take_written()), [""; 0], "queue and input box");
    chat.screen.press("\x03");
    chat.wait_ready();
    chat.leave();
}

#[test]
fn keys_typed_during_an_answer_are_seen_in_the_input_box_only() {
    let pieces: Vec<String> = (0..20).map(|number| format!("piece {number}\n\n")).collect();
    let pieces: Vec<&str> = pieces.iter().map(String::as_str).collect();
    let (gate, reply) = gated(&pieces);
    let mut chat = DrawnChat::start([reply]);
    chat.say("write");
    chat.see("esc stops");
    let mut typed = String::new();
    for (number, letter) in ('a'..='t').enumerate() {
        typed.push(letter);
        chat.screen.press(&letter.to_string());
        gate.pass(1);
        chat.see(&format!("│ › {typed} "));
        chat.screen.wait_for(&format!("piece {number}"));
        let modes = chat.screen.modes();
        assert!(!modes.has("echo") && !modes.has("icanon"), "{modes:?}");
    }
    gate.open();
    chat.wait_ready();
    let text = chat.screen.text();
    assert_eq!(text.matches("abc").count(), 1, "{text}");
    let written = chat.screen.take_written();
    assert_eq!(outside_of_updates(&written), "", "{text}");
    chat.screen.press("\x03");
    chat.screen.wait_until(|screen| !screen.contents().contains("abc"));
    chat.leave();
}
