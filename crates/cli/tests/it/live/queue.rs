//! Messages, commands and lines for the shell that are sent while a turn runs.

use serde_json::json;
use testkit::{Fixture, Gate, ModelServer, Reply};

use super::LiveChat;
use super::live_chat::{BACKSPACE, DB, ESC, UP, project};

/// A turn that streams, reads a file, and says that it is done; later turns say so at once.
struct LongTurn {
    project: Fixture,
    server: ModelServer,
    chat: LiveChat,
    gate: Gate,
}

impl LongTurn {
    fn begin() -> Self {
        let project = project();
        let gate = Gate::new();
        let first = Reply::pieces(["I look. ", "Now."])
            .through(&gate)
            .and_call("read_file", json!({"path": "package.json"}));
        let done = (1..=3).map(|number| Reply::text(&format!("I am done {number}.")));
        let server = ModelServer::start([first].into_iter().chain(done));
        let mut chat = LiveChat::with_model(&project, &server);
        chat.say("go");
        gate.pass(1);
        chat.sees("I look.");
        Self { project, server, chat, gate }
    }

    /// Sends something while the turn runs, and waits until it is shown as queued.
    fn queues(&mut self, text: &str) {
        self.chat.say(text);
        let text = text.to_owned();
        self.chat.screen.wait_until(|screen| {
            let is_queued = |row: &String| row.contains(&text) && row.contains("queued");
            screen.rows(0, u16::MAX).any(|row| is_queued(&row))
        });
    }

    /// What the user has said in the request with this number.
    fn said(&self, request: usize) -> Vec<String> {
        self.server.calls()[request].user_texts()
    }
}

#[test]
fn a_message_goes_in_after_the_results_of_the_tools() {
    let mut turn = LongTurn::begin();
    turn.queues("and the licence");
    turn.gate.open();
    turn.chat.sees("I am done 1.");
    turn.chat.is_idle();
    let calls = turn.server.calls();
    assert_eq!(calls.len(), 2, "it is a part of the turn");
    assert_eq!(calls[1].user_texts(), ["go", "and the licence"]);
    let messages = calls[1].body["messages"].as_array().unwrap();
    let roles: Vec<&str> = messages.iter().filter_map(|message| message["role"].as_str()).collect();
    assert_eq!(roles[roles.len() - 2..], ["tool", "user"]);
    turn.chat.no_longer_sees("queued");
    turn.chat.leave();
}

#[test]
fn a_queued_message_is_edited_with_up() {
    let mut turn = LongTurn::begin();
    turn.queues("and the licence");
    turn.chat.press(UP);
    turn.chat.has_typed("and the licence");
    turn.chat.no_longer_sees("queued ·");
    turn.queues(" of it");
    turn.gate.open();
    turn.chat.sees("I am done 1.");
    assert_eq!(turn.said(1), ["go", "and the licence of it"]);
}

#[test]
fn a_queued_message_is_withdrawn_with_backspace() {
    let mut turn = LongTurn::begin();
    turn.queues("one");
    turn.queues("two");
    turn.chat.press(BACKSPACE);
    turn.chat.no_longer_sees("› two");
    turn.gate.open();
    turn.chat.sees("I am done 1.");
    turn.chat.is_idle();
    assert_eq!(turn.said(1), ["go", "one"]);
    assert_eq!(turn.server.calls().len(), 2);
}

#[test]
fn commands_and_lines_for_the_shell_run_in_order_after_the_turn() {
    let mut turn = LongTurn::begin();
    turn.queues("first");
    turn.queues("/rename the long turn");
    turn.queues("!echo from the shell");
    turn.queues("last");
    turn.gate.open();
    turn.chat.sees("I am done 2.");
    turn.chat.is_idle();
    assert_eq!(turn.said(1), ["go", "first"]);
    let said = turn.said(2);
    // What the shell has told goes before what the user says next.
    let last = said.last().cloned().unwrap_or_default();
    assert!(last.contains("echo from the shell") && last.ends_with("last"), "{said:?}");
    let text = turn.chat.leave();
    let at = |part: &str| text.find(part).unwrap_or_else(|| panic!("{part} in {text}"));
    let order = ["I am done 1.", "is now called the long turn", "!echo from", "I am done 2."];
    let places = order.map(at);
    assert!(places.is_sorted(), "{places:?} in {text}");
}

#[test]
fn after_esc_everything_is_back_in_the_box_in_order() {
    let mut turn = LongTurn::begin();
    turn.queues("first");
    turn.queues("!echo second");
    turn.chat.press("third");
    turn.chat.has_typed("third");
    turn.chat.press(ESC);
    turn.chat.has_typed("first\n!echo second\nthird");
    turn.chat.no_longer_sees("queued");
    assert_eq!(turn.server.calls().len(), 1);
}

#[test]
fn a_mention_in_a_queued_message_is_attached() {
    let mut turn = LongTurn::begin();
    turn.queues("see @src/db.js please");
    turn.gate.open();
    turn.chat.sees("I am done 1.");
    let said = turn.said(1).join("\n");
    assert!(said.contains("see @src/db.js please") && said.contains(DB.trim_end()), "{said}");
    assert_eq!(turn.project.read("src/db.js"), DB);
}
