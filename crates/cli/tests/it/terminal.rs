//! The person at a terminal, played through a real pseudo-terminal.

use testkit::Fixture;

use crate::pty::{Output, Session};

const PROMPT: &str = "Do it?";

fn project() -> Fixture {
    let lines: String = (1..=30).map(|line| format!("line {line}\n")).collect();
    Fixture::new(&format!("//- /a.txt\n{lines}"))
}

fn edit(project: &Fixture) -> Session {
    let content =
        project.read("a.txt").replace("line 2\n", "zwei\n").replace("line 25\n", "funf\n");
    let arguments = serde_json::json!({"path": "a.txt", "content": content}).to_string();
    Session::start(project, &["call", "update_file", &arguments], Output::Piped)
}

#[test]
fn the_diff_is_shown_and_a_yes_writes_it() {
    let project = project();
    let mut session = edit(&project);
    session.answer(PROMPT, "y");
    assert!(session.seen.contains("-line 2") && session.seen.contains("+zwei"), "{}", session.seen);
    assert_eq!(session.end().0, 0);
    assert!(project.read("a.txt").contains("zwei\n"));
}

#[test]
fn a_no_with_a_reason_reaches_the_caller() {
    let project = project();
    let mut session = edit(&project);
    session.answer(PROMPT, "n write it in English");
    let (code, result) = session.end();
    assert_eq!(code, 1);
    assert!(result.contains("write it in English") && result.contains("REJECTED"), "{result}");
    assert!(!project.read("a.txt").contains("zwei"));
}

#[test]
fn picked_hunks_are_shown_again_before_they_are_written() {
    let project = project();
    let mut session = edit(&project);
    session.answer(PROMPT, "h");
    session.answer("which of 1-2", "2");
    session.answer(PROMPT, "y");
    assert_eq!(session.end().0, 0);
    let text = project.read("a.txt");
    assert!(text.contains("line 2\n") && text.contains("funf\n"), "{text}");
}

#[test]
fn what_the_editor_leaves_is_what_is_written() {
    let project = project();
    std::fs::write(project.path("../editor.sh"), "echo edited > \"$1\"\n").unwrap();
    let mut session = edit(&project);
    session.answer(PROMPT, "e");
    session.answer(PROMPT, "y");
    assert_eq!(session.end().0, 0);
    assert_eq!(project.read("a.txt"), "edited\n");
}

#[test]
fn always_is_remembered_listed_and_can_be_revoked() {
    let project = project();
    let mut session = edit(&project);
    session.answer(PROMPT, "a");
    assert_eq!(session.end().0, 0);
    let again = crate::run::run_with_state(
        &project,
        &["call", "update_file", r#"{"path":"a.txt","content":"x\n"}"#],
    );
    assert_eq!(again.code, 0, "{}", again.stderr);
    let listed = crate::run::run_with_state(&project, &["policy", "list"]).stdout;
    let line = listed.lines().find(|line| line.contains("a remembered answer")).unwrap();
    let id = line.split(' ').next().unwrap();
    assert_eq!(crate::run::run_with_state(&project, &["policy", "revoke", id]).code, 0);
    let asked = crate::run::run_with_state(
        &project,
        &["call", "update_file", r#"{"path":"a.txt","content":"y\n"}"#],
    );
    assert_eq!(asked.json()["code"], "APPROVAL_REQUIRED");
}

#[test]
fn the_last_change_can_be_undone_from_the_question() {
    let project = project();
    let before = project.read("a.txt");
    crate::run::run_with_state(
        &project,
        &["call", "create_file", r#"{"path":"new.txt","content":"x\n"}"#, "--yes"],
    );
    let mut session = edit(&project);
    session.answer(PROMPT, "?");
    session.answer(PROMPT, "u");
    session.answer("Undo the last change to new.txt?", "y");
    session.answer(PROMPT, "n");
    assert_eq!(session.end().0, 1);
    assert!(!project.path("new.txt").exists());
    assert_eq!(project.read("a.txt"), before);
}
