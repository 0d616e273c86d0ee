//! The input box by its keys.

mod any_keys;
mod screens;

use super::*;
use crate::{LiveLines, LiveStyle, columns};

pub(super) fn press(input: &mut InputBox, keys: &str) -> InputAction {
    keys.split(' ').map(|key| input.key(key_named(key))).last().unwrap_or(InputAction::Nothing)
}

pub(super) fn write(input: &mut InputBox, text: &str) -> InputAction {
    let key = |c| KeyEvent::new(KeyCode::Char(c), NONE);
    text.chars().map(|c| input.key(key(c))).last().unwrap_or(InputAction::Nothing)
}

/// `C-a`, `M-b`, `S-Enter`, `Up`, or a character.
fn key_named(name: &str) -> KeyEvent {
    let (modifiers, name) = match name.split_once('-') {
        Some(("C", name)) => (CTRL, name),
        Some(("M", name)) => (KeyModifiers::ALT, name),
        Some(("S", name)) => (KeyModifiers::SHIFT, name),
        _ => (NONE, name),
    };
    let code = match name {
        "Enter" => KeyCode::Enter,
        "Esc" => KeyCode::Esc,
        "Tab" => KeyCode::Tab,
        "Up" => KeyCode::Up,
        "Down" => KeyCode::Down,
        "Left" => KeyCode::Left,
        "Right" => KeyCode::Right,
        "Home" => KeyCode::Home,
        "End" => KeyCode::End,
        "Backspace" => KeyCode::Backspace,
        "Delete" => KeyCode::Delete,
        other => KeyCode::Char(other.chars().next().expect("a key has a name")),
    };
    KeyEvent::new(code, modifiers)
}

pub(super) fn draw(input: &mut InputBox, width: usize) -> LiveLines {
    let drawn = input.draw(LiveStyle { width, colour: false });
    assert!(drawn.lines.iter().all(|line| columns(line) <= width), "{drawn:#?}");
    drawn
}

/// The text with `|` where the cursor is.
fn marked(input: &InputBox) -> String {
    let shown = |unit: &EditUnit| match unit {
        EditUnit::Grapheme(text) => text.clone(),
        EditUnit::Chip(chip) => chip.label.clone(),
    };
    let (before, after) = input.buffer.units().split_at(input.buffer.cursor());
    let text = |units: &[EditUnit]| units.iter().map(shown).collect::<String>();
    format!("{}|{}", text(before), text(after))
}

fn with_history(entries: &[&str]) -> InputBox {
    let mut history = InputHistory::default();
    for entry in entries {
        history.add(entry);
    }
    InputBox::new(history)
}

fn sent(action: InputAction) -> Submission {
    match action {
        InputAction::Send(submission) => submission,
        other => panic!("nothing was sent: {other:?}"),
    }
}

#[test]
fn keys_of_a_shell_edit_the_text() {
    let table = [
        ("one two", "C-a", "|one two"),
        ("one two", "C-a C-e", "one two|"),
        ("one two", "C-w", "one |"),
        ("one two", "M-b C-k", "one |"),
        ("one two", "M-b C-u", "|two"),
        ("one two", "M-b C-u C-e C-y", "twoone |"),
        ("one two", "C-Left C-Left C-Right", "one| two"),
        ("one two", "Home M-d", "| two"),
        ("one a.b", "M-Backspace", "one a.|"),
        ("one a.b", "C-w", "one |"),
        ("one", "Left Delete", "on|"),
        ("one two", "C-_", "one |"),
        ("one two", "C-_ C-_ M-_", "one |"),
        ("one", "C-j x C-a Backspace", "one|x"),
        ("one", "C-j x C-a C-u", "one|x"),
        ("one\\", "Enter", "one\n|"),
        ("one", "S-Enter", "one\n|"),
        ("one", "M-Enter", "one\n|"),
        ("e\u{301}x", "Backspace Backspace", "|"),
        ("👩\u{200d}👧!", "Left Left", "|👩\u{200d}👧!"),
        ("ab", "Left \u{301} Left", "|a\u{301}b"),
    ];
    for (text, keys, expected) in table {
        let mut input = InputBox::new(InputHistory::default());
        write(&mut input, text);
        press(&mut input, keys);
        assert_eq!(marked(&input), expected, "{text:?} {keys}");
    }
}

#[test]
fn words_are_undone_one_by_one() {
    let mut input = InputBox::new(InputHistory::default());
    write(&mut input, "one two");
    press(&mut input, "C-w");
    assert_eq!(marked(&input), "one |");
    press(&mut input, "C-7");
    assert_eq!(marked(&input), "one two|");
    press(&mut input, "C-7");
    assert_eq!(marked(&input), "one |");
    press(&mut input, "M-_ M-_");
    assert_eq!(marked(&input), "one |");
}

#[test]
fn arrows_move_by_rows_as_drawn_and_keep_their_column() {
    let mut input = InputBox::new(InputHistory::default());
    draw(&mut input, 20);
    write(&mut input, "aaaa bbbb cccc dddd");
    press(&mut input, "C-j x C-j");
    write(&mut input, "eeeee");
    press(&mut input, "Up Up");
    assert_eq!(marked(&input), "aaaa bbbb cccc |dddd\nx\neeeee");
    press(&mut input, "Down Down");
    assert_eq!(marked(&input), "aaaa bbbb cccc dddd\nx\neeeee|");
}

#[test]
fn a_long_paste_is_one_unit_and_is_sent_as_a_whole() {
    let mut input = InputBox::new(InputHistory::default());
    write(&mut input, "see ");
    input.paste(&"row\r\n".repeat(41));
    write(&mut input, "!");
    assert_eq!(marked(&input), "see [pasted 41 lines]!|");
    press(&mut input, "Left Left");
    assert_eq!(marked(&input), "see |[pasted 41 lines]!");
    press(&mut input, "End Left Backspace");
    assert_eq!(marked(&input), "see |!");
    press(&mut input, "C-_");
    let submission = sent(press(&mut input, "Enter"));
    assert_eq!(submission.text, format!("see {}!", "row\n".repeat(41)));
    assert!(input.is_empty());
}

#[test]
fn history_keeps_the_draft_and_has_each_text_once() {
    let mut input = with_history(&["one", "two", "one"]);
    write(&mut input, "draft");
    press(&mut input, "Up");
    assert_eq!(marked(&input), "one|");
    press(&mut input, "Up Up Up");
    assert_eq!(marked(&input), "two|");
    press(&mut input, "Down Down");
    assert_eq!(marked(&input), "draft|");
    assert_eq!(press(&mut input, "Down"), InputAction::Nothing);
}

#[test]
fn a_search_takes_or_leaves_the_draft() {
    let mut input = with_history(&["cargo test", "git status", "cargo check"]);
    write(&mut input, "draft");
    press(&mut input, "C-r c a r");
    assert!(draw(&mut input, 60).lines.concat().contains("cargo check"));
    press(&mut input, "Esc");
    assert_eq!(marked(&input), "draft|");
    press(&mut input, "C-r c a r C-r Enter");
    assert_eq!(marked(&input), "cargo test|");
    press(&mut input, "C-_");
    assert_eq!(marked(&input), "draft|");
    press(&mut input, "C-r G I T Left");
    assert_eq!(marked(&input), "git statu|s");
    press(&mut input, "C-r z");
    assert!(draw(&mut input, 60).lines.concat().contains("not found"));
}

#[test]
fn files_are_asked_for_ranked_and_become_one_unit() {
    let file = |text: &str, kind| MentionCandidate {
        text: text.into(),
        target: None,
        kind,
        detail: String::new(),
    };
    let candidates = || {
        let files = ["docs/chart.md", "src/my cart.ts"].map(|text| file(text, CandidateKind::File));
        [&files[..], &[file("src", CandidateKind::Directory)]].concat()
    };
    let mut input = InputBox::new(InputHistory::default());
    let asked =
        |query: &str| InputAction::Complete { query: query.into(), kind: CompletionKind::Mention };
    assert_eq!(write(&mut input, "see @cart"), asked("cart"));
    input.set_candidates(candidates());
    press(&mut input, "Enter");
    assert_eq!(marked(&input), "see @\"src/my cart.ts\" |");
    press(&mut input, "Backspace Backspace");
    assert_eq!(marked(&input), "see |");
    write(&mut input, "@sr");
    input.set_candidates(candidates());
    press(&mut input, "Down Up");
    assert_eq!(press(&mut input, "Tab"), asked("src/"));
    assert_eq!(marked(&input), "see @src/|");
    input.set_candidates(candidates());
    press(&mut input, "Esc");
    assert_eq!(write(&mut input, "x"), InputAction::Changed, "a list that was closed stays closed");
    assert_eq!(sent(press(&mut input, "Enter")).text, "see @src/x");
    assert_eq!(write(&mut input, "me@exa"), InputAction::Changed);
}

fn commands() -> Vec<CommandHint> {
    let command = |name: &str, arguments: &str, about: &str| CommandHint {
        name: name.into(),
        arguments: arguments.into(),
        about: about.into(),
    };
    vec![
        command("help", "", "list the commands"),
        command("model", "[NAME]", "show or change the model"),
        command("redo", "", "make a change again that was taken back"),
        command("resume", "[ID]", "go on with another session"),
    ]
}

#[test]
fn commands_are_completed_and_those_without_arguments_are_sent() {
    let mut input = InputBox::new(InputHistory::default());
    input.set_commands(commands());
    write(&mut input, "/mo");
    press(&mut input, "Enter");
    assert_eq!(marked(&input), "/model |");
    write(&mut input, "opus");
    let submission = sent(press(&mut input, "Enter"));
    assert_eq!(
        (submission.kind, submission.text.as_str()),
        (SubmissionKind::Command, "/model opus")
    );
    write(&mut input, "/hel");
    assert_eq!(sent(press(&mut input, "Enter")).text, "/help");
    write(&mut input, "/model");
    assert_eq!(sent(press(&mut input, "Enter")).text, "/model");
    write(&mut input, "/redo");
    press(&mut input, "Tab");
    assert_eq!(marked(&input), "/redo|");
    assert_eq!(sent(press(&mut input, "Enter")).text, "/redo");
}

#[test]
fn a_shell_command_is_told_from_a_message() {
    let mut input = InputBox::new(InputHistory::default());
    write(&mut input, "! npm test");
    assert!(draw(&mut input, 60).lines[0].contains("runs as a command"));
    let submission = sent(press(&mut input, "Enter"));
    assert_eq!((submission.kind, submission.text.as_str()), (SubmissionKind::Shell, "npm test"));
    assert_eq!(submission.history, Some(HistoryWrite::Replace("#V2\n! npm test\n".into())));
    write(&mut input, "!");
    assert_eq!(sent(press(&mut input, "Enter")).kind, SubmissionKind::Message);
}

#[test]
fn queued_messages_can_be_edited_and_withdrawn() {
    let mut input = InputBox::new(InputHistory::default());
    for text in ["first", "second"] {
        write(&mut input, text);
        let submission = sent(press(&mut input, "Enter"));
        input.queue_mut().push(submission);
    }
    press(&mut input, "Up");
    assert_eq!((marked(&input).as_str(), input.queue().len()), ("second|", 1));
    write(&mut input, "!");
    let submission = sent(press(&mut input, "Enter"));
    input.queue_mut().push(submission);
    press(&mut input, "Up");
    assert_eq!(marked(&input), "second!|");
    assert_eq!(press(&mut input, "Esc"), InputAction::Changed, "it is withdrawn");
    assert_eq!((input.is_empty(), input.queue().len()), (true, 1));
    assert_eq!(press(&mut input, "Esc"), InputAction::Stop);
    assert_eq!(press(&mut input, "Backspace"), InputAction::Changed);
    assert!(input.queue().is_empty());
    assert_eq!(press(&mut input, "Backspace"), InputAction::Nothing);
    assert_eq!(input.queue_mut().take_next(), None);
}

#[test]
fn keys_for_the_caller_are_told() {
    let mut input = InputBox::new(InputHistory::default());
    let table = [
        ("C-c", InputAction::Interrupt),
        ("C-d", InputAction::Leave),
        ("C-l", InputAction::Redraw),
        ("Esc", InputAction::Stop),
        ("Enter", InputAction::Nothing),
        ("C-g", InputAction::EditExternally(String::new())),
        ("C-x C-e", InputAction::EditExternally(String::new())),
    ];
    for (keys, expected) in table {
        assert_eq!(press(&mut input, keys), expected, "{keys}");
    }
    write(&mut input, "ab");
    assert_eq!(press(&mut input, "C-x Left C-e C-d"), InputAction::Changed);
    assert_eq!(press(&mut input, "C-g"), InputAction::EditExternally("ab".into()));
    input.set_text("from the editor\r\n\n");
    assert_eq!(marked(&input), "from the editor|");
    assert_eq!(press(&mut input, "C-c"), InputAction::Changed);
    assert!(input.is_empty());
    press(&mut input, "C-_");
    assert_eq!(marked(&input), "from the editor|");
}

#[test]
fn a_released_key_does_nothing() {
    let mut input = InputBox::new(InputHistory::default());
    let mut event = KeyEvent::new(KeyCode::Char('x'), NONE);
    event.kind = KeyEventKind::Release;
    assert_eq!(input.key(event), InputAction::Nothing);
    assert!(input.is_empty());
}

#[test]
fn a_symbol_is_shown_by_name_and_sent_by_its_place() {
    let mut input = InputBox::new(InputHistory::default());
    write(&mut input, "why @tot");
    input.set_candidates(vec![MentionCandidate {
        text: "total".into(),
        target: Some("src/cart.ts:41".into()),
        kind: CandidateKind::Symbol,
        detail: "src/cart.ts".into(),
    }]);
    press(&mut input, "Tab");
    assert_eq!(marked(&input), "why @total |");
    assert_eq!(sent(press(&mut input, "Enter")).text, "why @src/cart.ts:41 ");
}

#[test]
fn a_directory_with_blanks_is_mentioned_as_a_whole() {
    let mut input = InputBox::new(InputHistory::default());
    write(&mut input, "@my");
    input.set_candidates(vec![MentionCandidate {
        text: "my docs".into(),
        target: None,
        kind: CandidateKind::Directory,
        detail: String::new(),
    }]);
    press(&mut input, "Tab");
    assert_eq!(marked(&input), "@\"my docs\" |");
}

#[test]
fn a_text_that_is_too_long_to_edit_is_one_unit() {
    let long = "a line of an earlier message\n".repeat(1000);
    let mut input = with_history(&[&long]);
    press(&mut input, "Up");
    assert_eq!(marked(&input), "[text of 1000 lines]|");
    assert_eq!(input.text(), long);
    press(&mut input, "Backspace");
    assert!(input.is_empty());
}

#[test]
fn a_pasted_image_is_mentioned() {
    let mut input = InputBox::new(InputHistory::default());
    write(&mut input, "see ");
    input.paste("'/tmp/my shot.png'");
    assert_eq!(marked(&input), "see @\"/tmp/my shot.png\"|");
    press(&mut input, "Backspace");
    assert_eq!(marked(&input), "see |");
}
