//! Terminals that cannot be drawn on, and pipes: lines, at the width of the terminal.

use std::io::Write as _;
use std::process::Stdio;

use testkit::{LiveScreen, ModelServer, Reply};

use super::drawn_chat::{chat, small_project};
use super::terminal_bytes::{TerminalPiece, pieces};

const WORDS: &str =
    "Every word of this answer is written on a line that is as wide as the terminal, and no wider.";

#[test]
fn a_dumb_terminal_gets_lines_of_its_width_and_no_sequences() {
    let (project, server) = (small_project(), ModelServer::start([Reply::text(WORDS)]));
    let mut command = chat(&project, &server);
    command.env("TERM", "dumb");
    let mut screen = LiveScreen::start(&command, 40, 24);
    screen.wait_until(|screen| screen.contents().trim_end().ends_with("\n>"));
    assert!(screen.changed_modes().is_empty(), "{:?}", screen.changed_modes());
    screen.press("say it\n");
    screen.wait_for("no wider.");
    screen.wait_until(|screen| screen.contents().trim_end().ends_with("\n>"));
    screen.press("\x04");
    assert_eq!(screen.wait_exit(), 0);
    let text = screen.text();
    let answer: Vec<&str> = text.lines().skip_while(|line| !line.starts_with("Every")).collect();
    let answer = answer.split(|line| line.is_empty()).next().unwrap();
    insta::assert_snapshot!(answer.join("\n"), @r#"
    Every word of this answer is written on
    a line that is as wide as the terminal,
    and no wider.
    "#);
    let written = String::from_utf8(screen.take_written()).unwrap();
    let sequences: Vec<_> = pieces(&written)
        .into_iter()
        .filter(|piece| matches!(piece, TerminalPiece::Sequence(it) if !["\r", "\n"].contains(it)))
        .collect();
    assert!(sequences.is_empty(), "{sequences:?}");
    assert!(screen.changed_modes().is_empty(), "{:?}", screen.changed_modes());
}

#[test]
fn a_pipe_gets_the_words_on_one_line_and_nothing_else() {
    let (project, server) = (small_project(), ModelServer::start([Reply::text(WORDS)]));
    let mut command = chat(&project, &server);
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    child.stdin.take().unwrap().write_all(b"say it\n").unwrap();
    let output = child.wait_with_output().unwrap();
    let (words, notes) =
        (String::from_utf8(output.stdout).unwrap(), String::from_utf8(output.stderr).unwrap());
    assert_eq!((words.trim_end(), output.status.code()), (WORDS, Some(0)), "{notes}");
    assert!(!notes.contains('\x1b'), "{notes:?}");
}
