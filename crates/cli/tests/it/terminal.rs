//! The user at a terminal, played through a real pseudo-terminal.

use serde_json::json;
use testkit::{Fixture, ModelServer, Reply};

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
fn what_was_typed_before_the_question_is_no_answer_to_it() {
    let project = project();
    let mut session = edit(&project);
    session.press("y\ny\ny\n");
    session.answer(PROMPT, "n typed ahead");
    let (code, result) = session.end();
    assert_eq!(code, 1);
    assert!(result.contains("typed ahead") && result.contains("REJECTED"), "{result}");
    assert!(!project.read("a.txt").contains("zwei"));
}

#[test]
fn only_a_whole_answer_is_a_yes_and_other_text_is_a_no_with_that_reason() {
    let project = project();
    let mut session = edit(&project);
    session.answer(PROMPT, "");
    session.answer(PROMPT, "yes, but in English");
    let (code, result) = session.end();
    assert_eq!(code, 1);
    assert!(result.contains("yes, but in English") && result.contains("REJECTED"), "{result}");
    assert!(!project.read("a.txt").contains("zwei"));
}

#[test]
fn the_only_hunk_of_a_file_can_be_left_out() {
    let project = Fixture::new("//- /a.txt\none\n//- /b.txt\none\n");
    let changes = r#"{"changes":[{"path":"a.txt","search":"one","replace":"two"},{"path":"b.txt","search":"one","replace":"two"}]}"#;
    let mut session = Session::start(&project, &["call", "apply_changes", changes], Output::Piped);
    session.answer(PROMPT, "h");
    session.answer("a.txt: which of 1-1", "0");
    session.answer("b.txt: which of 1-1", "1");
    session.answer(PROMPT, "y");
    let (code, result) = session.end();
    assert_eq!(code, 0, "{result}");
    assert!(result.contains("left out 1 of 2 hunks"), "{result}");
    assert_eq!((project.read("a.txt"), project.read("b.txt")), ("one\n".into(), "two\n".into()));
}

#[test]
fn a_question_that_ends_unanswered_is_not_a_no_of_the_user() {
    let project = project();
    let mut session = edit(&project);
    session.wait_for(PROMPT);
    session.press("\x04");
    let (code, result) = session.end();
    assert_eq!(code, 1);
    assert!(result.contains("APPROVAL_REQUIRED") && result.contains("--yes"), "{result}");
}

#[test]
fn always_says_what_it_means_and_is_not_offered_where_no_rule_can_say_it() {
    let project = project();
    let mut session = edit(&project);
    session.wait_for("Always: from now on update_file may create and change `a.txt`, with any");
    session.answer("[y/n/e/h/a/u/?]", "n");
    session.end();
    let mut session =
        Session::start(&project, &["call", "delete_file", r#"{"path":"a.txt"}"#], Output::Piped);
    session.answer("[y/n/e/h/u/?]", "a");
    session.answer(PROMPT, "n");
    assert!(!session.seen.contains("lways"), "{}", session.seen);
    assert_eq!(session.end().0, 1);
    assert!(project.path("a.txt").exists());
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

/// A chat of lines with a scripted model.
fn chat_of_lines(project: &Fixture, server: &ModelServer, config: &Fixture) -> Session {
    let mut command = crate::run::command(Some(config));
    command.env("XDG_STATE_HOME", project.root().with_file_name("state"));
    command.args(["chat", "--provider", "ollama", "--model", "scripted", "--base-url"]);
    command.arg(server.base_url()).arg("--root").arg(project.root()).env("TERM", "dumb");
    Session::spawn(command, Output::Terminal)
}

fn append(text: &str) -> Reply {
    Reply::call("append_file", json!({"path": "a.txt", "content": text}))
}

#[test]
fn in_a_conversation_undo_at_a_question_is_the_conversations_own_and_the_model_knows() {
    let project = project();
    let before = project.read("a.txt");
    let replies = [append("one\n"), append("two\n"), Reply::text("First."), Reply::text("Second.")];
    let server = ModelServer::start(replies);
    let mut chat = chat_of_lines(&project, &server, &Fixture::new(""));
    chat.press("go\n");
    chat.answer(PROMPT, "y");
    chat.answer(PROMPT, "u");
    chat.wait_for("undo changes the existing `a.txt`");
    chat.answer(PROMPT, "y");
    chat.wait_for("Undid change ");
    chat.answer(PROMPT, "n");
    chat.wait_for("First.");
    assert_eq!(project.read("a.txt"), before);
    chat.press("go on\n");
    chat.wait_for("Second.");
    let told = server.calls().pop().unwrap().body.to_string();
    assert!(told.contains("The user has used undo. Undid change "), "{told}");
    let list = crate::run::run_with_state(&project, &["history", "--json"]);
    let sessions: Vec<_> =
        list.stdout.split("\"session\":").skip(1).map(|rest| rest.split(',').next()).collect();
    assert!(sessions.len() > 1 && sessions.windows(2).all(|two| two[0] == two[1]), "{sessions:?}");
}

#[test]
fn a_role_that_may_not_write_undoes_nothing_from_the_question() {
    let project = project();
    let config = Fixture::new(
        "//- /toolkiln/config.toml\n[roles.runner]\npermissions = [\"ReadFiles\", \"ExecuteCommands\"]\n\
         [[policy.rules]]\ndecision = \"ask\"\ntool = \"bash\"\n",
    );
    let run = Reply::call("bash", json!({"command": "true"}));
    let replies = [append("one\n"), Reply::text("First."), run, Reply::text("Second.")];
    let server = ModelServer::start(replies);
    let mut chat = chat_of_lines(&project, &server, &config);
    chat.press("go\n");
    chat.answer(PROMPT, "y");
    chat.wait_for("First.");
    let changed = project.read("a.txt");
    chat.press("/role runner\n");
    chat.press("go on\n");
    chat.answer(PROMPT, "u");
    chat.wait_for("the role runner may not use undo");
    chat.answer(PROMPT, "n");
    chat.wait_for("Second.");
    assert_eq!(project.read("a.txt"), changed);
}

#[test]
fn an_undo_that_is_switched_off_is_so_at_the_question_too() {
    let project = project();
    project.write(".toolkiln/config.toml", "[tools]\ndisabled = [\"undo\"]\n");
    crate::run::run_with_state(
        &project,
        &["call", "create_file", r#"{"path":"new.txt","content":"x\n"}"#, "--yes"],
    );
    let mut session = edit(&project);
    session.answer(PROMPT, "u");
    session.wait_for("the tool undo is switched off");
    session.answer(PROMPT, "n");
    assert_eq!(session.end().0, 1);
    assert!(project.path("new.txt").exists());
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
    // The tool has a question of its own, from which nothing more is undone.
    session.wait_for("undo deletes `new.txt`");
    session.answer("[y/n/e/h/?]", "y");
    session.wait_for("Undid change ");
    session.answer(PROMPT, "n");
    assert_eq!(session.end().0, 1);
    assert!(!project.path("new.txt").exists());
    assert_eq!(project.read("a.txt"), before);
}
