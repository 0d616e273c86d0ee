//! A turn can be ended at any moment, and is over when the editor is told so.

use std::fs;
use std::sync::atomic::{AtomicUsize, Ordering};

use serde_json::json;
use testkit::{Gate, Reply};

use super::editor::{Desk, UserAnswer, text_of};
use super::tasks::PROJECT;

/// Whether any process has this word among its arguments.
fn runs(word: &str) -> bool {
    let processes = fs::read_dir("/proc").unwrap().filter_map(Result::ok);
    let lines = processes.filter_map(|process| fs::read(process.path().join("cmdline")).ok());
    lines.into_iter().any(|line| String::from_utf8_lossy(&line).contains(word))
}

/// A command that runs for ever, and a word that tells its processes from all others.
fn endless() -> (Reply, String) {
    static COUNT: AtomicUsize = AtomicUsize::new(0);
    let word = format!("9{}{}", std::process::id(), 1000 + COUNT.fetch_add(1, Ordering::Relaxed));
    let command = format!("echo begun; sleep {word} & sleep {word}");
    (Reply::call("bash", json!({"command": command})), word)
}

#[test]
fn a_cancelled_command_is_dead_when_the_prompt_is_answered() {
    let (reply, word) = endless();
    let desk = Desk::new(PROJECT, [reply, Reply::text("Never said.")]);
    let mut editor = desk.plain_editor();
    let session = editor.begin();
    let prompt = editor.begin_saying(&session, "Wait");
    editor.wait_until(|editor| {
        editor.kind("tool_call_update").any(|update| text_of(update).contains("begun"))
    });
    assert!(runs(&word));
    editor.notify("session/cancel", json!({"sessionId": session}));
    assert_eq!(editor.stop_reason(prompt), "cancelled");
    assert!(!runs(&word));
    assert_eq!(editor.call("Run")["status"], "failed");
    assert_eq!(desk.model.calls().len(), 1);
    // The session goes on.
    assert_eq!(editor.say(&session, "And now?"), "end_turn");
}

#[test]
fn taking_back_the_request_cancels_too() {
    let (reply, word) = endless();
    let desk = Desk::new(PROJECT, [reply]);
    let mut editor = desk.plain_editor();
    let session = editor.begin();
    let prompt = editor.begin_saying(&session, "Wait");
    editor.wait_until(|editor| {
        editor.kind("tool_call_update").any(|update| text_of(update).contains("begun"))
    });
    editor.notify("$/cancel_request", json!({"requestId": prompt}));
    assert_eq!(editor.stop_reason(prompt), "cancelled");
    assert!(!runs(&word));
}

#[test]
fn an_answer_that_is_being_said_is_cut() {
    let gate = Gate::new();
    let desk = Desk::new(PROJECT, [Reply::pieces(["One. ", "Two. ", "Three."]).through(&gate)]);
    let mut editor = desk.plain_editor();
    let session = editor.begin();
    let prompt = editor.begin_saying(&session, "Count");
    gate.pass(1);
    editor.wait_until(|editor| editor.words().contains("One."));
    editor.notify("session/cancel", json!({"sessionId": session}));
    assert_eq!(editor.stop_reason(prompt), "cancelled");
    gate.open();
    assert!(!editor.words().contains("Three."));
}

#[test]
fn a_question_that_stands_is_taken_back() {
    let change = json!({"path": "src/main.rs", "find": "oven", "replace": "kiln"});
    let desk = Desk::new(PROJECT, [Reply::call("replace_in_file", change)]);
    let mut editor = desk.plain_editor();
    editor.answers.push_back(UserAnswer::Silence);
    let session = editor.begin();
    let prompt = editor.begin_saying(&session, "Rename it");
    editor.wait_until(|editor| editor.asked.len() == 1);
    editor.notify("session/cancel", json!({"sessionId": session}));
    assert_eq!(editor.stop_reason(prompt), "cancelled");
    editor.wait_until(|editor| editor.withdrawn.len() == 1);
    assert!(desk.project.read("src/main.rs").contains("oven"));
}

#[test]
fn prompts_that_wait_are_cancelled_with_the_one_that_is_answered() {
    let (reply, word) = endless();
    let desk = Desk::new(PROJECT, [reply]);
    let mut editor = desk.plain_editor();
    let session = editor.begin();
    let first = editor.begin_saying(&session, "Wait");
    let second = editor.begin_saying(&session, "Wait more");
    editor.wait_until(|editor| {
        editor.kind("tool_call_update").any(|update| text_of(update).contains("begun"))
    });
    editor.notify("session/cancel", json!({"sessionId": session}));
    assert_eq!(editor.stop_reason(first), "cancelled");
    assert_eq!(editor.stop_reason(second), "cancelled");
    assert!(!runs(&word) && desk.model.calls().len() == 1);
}

#[test]
fn an_editor_that_leaves_ends_the_turn_and_releases_the_session() {
    let (reply, word) = endless();
    let desk = Desk::new(PROJECT, [reply, Reply::text("I am back.")]);
    let mut editor = desk.plain_editor();
    let session = editor.begin();
    editor.begin_saying(&session, "Wait");
    editor.wait_until(|editor| {
        editor.kind("tool_call_update").any(|update| text_of(update).contains("begun"))
    });
    assert!(editor.leave().success());
    assert!(!runs(&word));
    let mut editor = desk.plain_editor();
    editor.load(&session);
    assert_eq!(editor.call("Run")["status"], "failed");
    assert_eq!(editor.say(&session, "Go on"), "end_turn");
}

#[test]
fn a_question_is_not_answered_by_leaving() {
    let change = json!({"path": "src/main.rs", "find": "oven", "replace": "kiln"});
    let desk = Desk::new(PROJECT, [Reply::call("replace_in_file", change)]);
    let mut editor = desk.plain_editor();
    editor.answers.push_back(UserAnswer::Silence);
    let session = editor.begin();
    editor.begin_saying(&session, "Rename it");
    editor.wait_until(|editor| editor.asked.len() == 1);
    assert!(editor.leave().success());
    assert_eq!(desk.model.calls().len(), 1);
    let mut editor = desk.plain_editor();
    editor.load(&session);
    let call = editor.call("Edit src/main.rs");
    assert!(!text_of(&call).contains("rejected") && call["status"] == "failed", "{call:#}");
}

#[test]
fn a_signal_ends_the_turn_and_releases_the_session() {
    let (reply, word) = endless();
    let desk = Desk::new(PROJECT, [reply]);
    let mut editor = desk.plain_editor();
    let session = editor.begin();
    editor.begin_saying(&session, "Wait");
    editor.wait_until(|editor| {
        editor.kind("tool_call_update").any(|update| text_of(update).contains("begun"))
    });
    assert_eq!(editor.terminate().code(), Some(143));
    assert!(!runs(&word));
    let mut editor = desk.plain_editor();
    assert!(editor.load(&session).get("error").is_none());
}
