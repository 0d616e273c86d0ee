//! Sessions outlive the agent: closed, left, killed, and shown again.

use serde_json::{Value, json};
use testkit::Reply;

use super::editor::{Desk, Editor, text_of};
use super::tasks::PROJECT;

fn kinds(editor: &Editor) -> Vec<String> {
    let kinds = editor.updates.iter().map(|update| &update["update"]["sessionUpdate"]);
    kinds.map(|kind| kind.as_str().unwrap().to_owned()).collect()
}

fn task() -> [Reply; 2] {
    let change = json!({"path": "src/main.rs", "find": "oven", "replace": "kiln"});
    [Reply::text("I rename it. ").and_call("replace_in_file", change), Reply::text("Done.")]
}

#[test]
fn a_session_that_was_left_is_listed_and_shown_again() {
    let desk = Desk::new(PROJECT, task());
    let mut editor = desk.plain_editor();
    let session = editor.begin();
    editor.say(&session, "Rename it");
    let before = editor.call("Edited src/main.rs");
    assert!(editor.leave().success());

    let mut editor = desk.plain_editor();
    let listed = editor.request("session/list", json!({"cwd": editor.root()}));
    let [only] = &listed["result"]["sessions"].as_array().unwrap()[..] else { panic!("{listed}") };
    assert_eq!((&only["sessionId"], &only["title"]), (&json!(session), &json!("Rename it")));
    assert_eq!(only["cwd"], json!(editor.root()));
    let loaded = editor.load(&session);
    assert_eq!(loaded["result"]["modes"]["currentModeId"], "actor:strict");
    let expected = [
        "user_message_chunk",
        "agent_message_chunk",
        "tool_call",
        "agent_message_chunk",
        "usage_update",
    ];
    assert_eq!(kinds(&editor), expected);
    let again = editor.call("Edited src/main.rs");
    for key in ["toolCallId", "title", "kind", "status", "content", "locations", "rawInput"] {
        assert_eq!(again[key], before[key], "{key}");
    }
}

#[test]
fn after_kill_9_everything_is_shown_and_the_open_call_is_closed() {
    let endless =
        Reply::text("I wait. ").and_call("bash", json!({"command": "echo begun; sleep 600"}));
    let desk = Desk::new(PROJECT, [endless, Reply::text("Where was I?")]);
    let mut editor = desk.plain_editor();
    let session = editor.begin();
    editor.begin_saying(&session, "Wait");
    editor.wait_until(|editor| {
        editor.kind("tool_call_update").any(|update| text_of(update).contains("begun"))
    });
    editor.kill();

    let mut editor = desk.plain_editor();
    editor.load(&session);
    assert_eq!(editor.words(), "I wait. ");
    let call = editor.call("Run");
    assert_eq!(call["status"], "failed");
    let closed = "The session ended while this call was running";
    assert!(text_of(&call).contains(closed), "{call:#}");
    assert_eq!(editor.say(&session, "Go on"), "end_turn");
    let told = desk.model.calls().last().unwrap().tool_answers();
    assert!(told[0].text.contains(closed), "{told:#?}");
}

#[test]
fn a_session_is_resumed_without_being_shown_and_goes_on() {
    let desk = Desk::new(PROJECT, [Reply::text("One."), Reply::text("Two.")]);
    let mut editor = desk.plain_editor();
    let session = editor.begin();
    editor.say(&session, "First");
    let closed = editor.request("session/close", json!({"sessionId": session}));
    assert!(closed.get("error").is_none(), "{closed}");
    let refused = editor.request("session/prompt", json!({"sessionId": session, "prompt": []}));
    assert_eq!(refused["error"]["code"], -32002);
    editor.updates.clear();
    let wanted = json!({"sessionId": session, "cwd": editor.root(), "mcpServers": []});
    let resumed = editor.request("session/resume", wanted);
    assert!(resumed["result"]["configOptions"].is_array(), "{resumed}");
    assert_eq!(editor.say(&session, "Second"), "end_turn");
    assert_eq!(editor.words(), "Two.");
    assert!(desk.model.calls()[1].body.to_string().contains("First"));
}

#[test]
fn a_session_that_another_process_has_open_says_so() {
    let desk = Desk::new(PROJECT, [Reply::text("One."), Reply::text("Two.")]);
    let mut editor = desk.plain_editor();
    let session = editor.begin();
    editor.say(&session, "First");
    let mut other = desk.plain_editor();
    let refused = other.load(&session);
    let message = refused["error"]["message"].as_str().unwrap();
    assert!(message.contains("is open in"), "{message}");
    // Nor can it be taken up or deleted behind the back of the editor that has it.
    let wanted = json!({"sessionId": session, "cwd": other.root(), "mcpServers": []});
    assert!(other.request("session/resume", wanted).get("error").is_some());
    let kept = other.request("session/delete", json!({"sessionId": session}));
    let message = kept["error"]["message"].as_str().unwrap();
    assert!(message.contains("is open in"), "{message}");
    assert_eq!(editor.say(&session, "Second"), "end_turn");
    assert!(editor.leave().success());
    assert!(other.load(&session).get("error").is_none());
    assert_eq!(other.words(), "One.Two.");
}

#[test]
fn a_deleted_session_is_gone() {
    let desk = Desk::new(PROJECT, [Reply::text("One.")]);
    let mut editor = desk.plain_editor();
    let session = editor.begin();
    editor.say(&session, "First");
    let deleted = editor.request("session/delete", json!({"sessionId": session}));
    assert!(deleted.get("error").is_none(), "{deleted}");
    let listed = editor.request("session/list", json!({"cwd": editor.root()}));
    assert_eq!(listed["result"]["sessions"], json!([]));
    assert_eq!(editor.load(&session)["error"]["code"], -32002);
    let again = editor.request("session/delete", json!({"sessionId": session}));
    assert_eq!(again["error"]["code"], -32002);
}

#[test]
fn commands_of_the_chat_work_on_the_session() {
    let [first, second] = task();
    let desk = Desk::new(PROJECT, [first, second]);
    let mut editor = desk.plain_editor();
    let session = editor.begin();
    editor.say(&session, "Rename it");
    editor.updates.clear();
    for command in ["/diff", "/rename Kilns", "/cost", "/context", "/jobs", "/rewind", "/fork"] {
        assert_eq!(editor.say(&session, command), "end_turn", "{command}");
    }
    let words = editor.words();
    for expected in [
        "+    let kiln = 1;",
        "This session is now called Kilns.",
        "1. Rename it",
        "The copy is session",
    ] {
        assert!(words.contains(expected), "{expected} in {words}");
    }
    let titles: Vec<&Value> = editor.kind("session_info_update").map(|it| &it["title"]).collect();
    assert_eq!(titles, ["Kilns"]);
    editor.say(&session, "/undo");
    assert!(desk.project.read("src/main.rs").contains("oven"));
    assert_eq!(editor.asked.len(), 2);
    assert!(editor.words().contains("Undid change "), "{}", editor.words());
    editor.say(&session, "/redo");
    editor.say(&session, "/rewind 1");
    assert!(desk.project.read("src/main.rs").contains("oven"));
    editor.load(&session);
    assert!(!kinds(&editor).contains(&"user_message_chunk".to_owned()), "{:?}", kinds(&editor));
}
