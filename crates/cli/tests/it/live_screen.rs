//! `toolkiln chat` at a real terminal, with a model of its screen and a scripted language model.
//!
//! What is true of every look of the chat is tested here; the look itself has its own tests.

use testkit::{Fixture, Gate, LiveScreen, ModelServer, Reply};
use vt100::Screen;

use crate::run::command;

/// The key that leaves an empty prompt.
const LEAVE: &str = "\x04";

/// A chat about `project` with a scripted model.
pub(crate) fn chat(project: &Fixture, server: &ModelServer, columns: u16, rows: u16) -> LiveScreen {
    let mut command = command(None);
    command.env("XDG_STATE_HOME", project.root().with_file_name("state"));
    // Ollama's kind of server needs no key.
    command.args(["chat", "--provider", "ollama", "--model", "scripted", "--base-url"]);
    command.arg(server.base_url()).arg("--root").arg(project.root());
    LiveScreen::start(&command, columns, rows)
}

/// Whether the cursor stands behind the mark of the prompt.
pub(crate) fn has_prompt(screen: &Screen) -> bool {
    let (row, column) = screen.cursor_position();
    let cell = |at: u16| screen.cell(row, at).map_or("", vt100::Cell::contents);
    !screen.hide_cursor() && column >= 2 && [">", "›"].contains(&cell(column - 2))
}

#[test]
fn leaving_puts_the_modes_of_the_terminal_back() {
    let project = Fixture::new("//- /a.txt\nhello\n");
    let server = ModelServer::start([]);
    let mut chat = chat(&project, &server, 100, 30);
    chat.wait_until(has_prompt);
    let changed = chat.changed_modes();
    assert!(changed.contains(&"-icanon".to_owned()), "keys are read one by one: {changed:?}");
    chat.press(LEAVE);
    assert_eq!(chat.wait_exit(), 0);
    assert_eq!(chat.changed_modes(), [""; 0]);
}

#[test]
fn an_answer_is_shown_while_it_is_streamed() {
    let project = Fixture::new("//- /a.txt\nhello\n");
    let gate = Gate::new();
    let pieces = ["The first paragraph.\n\n", "The second one.\n\n", "The end."];
    let server = ModelServer::start([Reply::pieces(pieces).through(&gate)]);
    let mut chat = chat(&project, &server, 100, 30);
    chat.wait_until(has_prompt);
    chat.press("hello\r");
    gate.pass(1);
    chat.wait_for("The first paragraph.");
    assert!(!chat.text().contains("The second one."), "{}", chat.text());
    gate.open();
    chat.wait_for("The end.");
    chat.wait_until(has_prompt);
    chat.press(LEAVE);
    assert_eq!(chat.wait_exit(), 0);
    let text = chat.text();
    assert_eq!(text.matches("The second one.").count(), 1, "{text}");
}

#[test]
fn a_word_is_seen_as_far_as_it_has_come() {
    let project = Fixture::new("//- /a.txt\nhello\n");
    let gate = Gate::new();
    let server = ModelServer::start([Reply::pieces(["A ka", "olin", "ite."]).through(&gate)]);
    let mut chat = chat(&project, &server, 100, 30);
    chat.wait_until(has_prompt);
    chat.press("hello\r");
    for seen in ["A ka", "A kaolin", "A kaolinite."] {
        gate.pass(1);
        chat.wait_until(|screen| screen.rows(0, 100).any(|row| row.trim_end() == seen));
    }
    chat.wait_until(has_prompt);
    chat.press(LEAVE);
    assert_eq!(chat.wait_exit(), 0);
    let text = chat.text();
    assert_eq!(text.matches("A ka").count(), 1, "{text}");
}
