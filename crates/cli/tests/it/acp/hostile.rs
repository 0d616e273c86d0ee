//! An editor that does not keep to the rules.

use serde_json::{Value, json};
use testkit::Reply;

use super::editor::{Desk, UserAnswer};
use super::tasks::PROJECT;

fn edit() -> Reply {
    let change = json!({"path": "src/main.rs", "find": "oven", "replace": "kiln"});
    Reply::call("replace_in_file", change)
}

#[test]
fn only_an_offered_yes_is_a_yes() {
    let desk = Desk::new(PROJECT, [edit(), edit(), edit(), Reply::text("So be it.")]);
    let mut editor = desk.plain_editor();
    editor.answers.extend([
        UserAnswer::Option("allow_everything"),
        // It is known, but was not offered.
        UserAnswer::Option("allow_parts"),
        UserAnswer::Error,
    ]);
    let session = editor.begin();
    assert_eq!(editor.say(&session, "Rename it"), "end_turn");
    assert!(desk.project.read("src/main.rs").contains("oven"));
    let told = desk.model.calls().last().unwrap().tool_answers();
    assert!(told[0].text.contains("which was not offered"), "{told:#?}");
    assert!(told[2].text.contains("could not ask the user: no window"), "{told:#?}");
}

#[test]
fn a_second_answer_changes_nothing() {
    let desk = Desk::new(PROJECT, [edit(), Reply::text("Done."), Reply::text("Still here.")]);
    let mut editor = desk.plain_editor();
    editor.answers.push_back(UserAnswer::Twice);
    let session = editor.begin();
    assert_eq!(editor.say(&session, "Rename it"), "end_turn");
    assert!(desk.project.read("src/main.rs").contains("kiln"));
    assert_eq!(editor.say(&session, "Are you there?"), "end_turn");
}

#[test]
fn garbage_is_answered_with_errors_and_the_connection_lives() {
    let desk = Desk::new(PROJECT, [Reply::text("Here.")]);
    let mut editor = desk.plain_editor();
    let session = editor.begin();
    let lines: [&[u8]; 7] = [
        b"not json",
        b"[]",
        b"{}",
        b"\xff\xfe",
        b"{\"jsonrpc\":\"2.0\",\"id\":99,\"result\":{}}",
        b"{\"jsonrpc\":\"2.0\",\"method\":\"session/update\",\"params\":{}}",
        b"",
    ];
    lines.iter().for_each(|line| editor.write_line(line));
    let unknown = editor.request("session/dance", json!({}));
    assert_eq!(unknown["error"]["code"], -32601);
    for params in [json!({}), json!({"sessionId": 5}), json!({"sessionId": session, "prompt": "x"})]
    {
        let refused = editor.request("session/prompt", params.clone());
        assert_eq!(refused["error"]["code"], -32602, "{params}");
    }
    editor.notify("session/cancel", json!({"sessionId": "unknown"}));
    assert_eq!(editor.say(&session, "Hello?"), "end_turn");
}

#[test]
fn places_that_are_no_projects_are_refused() {
    let desk = Desk::new(PROJECT, []);
    let mut editor = desk.plain_editor();
    let root = editor.root().to_owned();
    let mut refusal = |params: Value| -> String {
        let answer = editor.request("session/new", params);
        answer["error"]["message"].as_str().unwrap_or_else(|| panic!("{answer}")).to_owned()
    };
    assert!(refusal(json!({"cwd": "src", "mcpServers": []})).contains("not an absolute path"));
    assert!(refusal(json!({"cwd": "/", "mcpServers": []})).contains("not a project"));
    assert!(refusal(json!({"cwd": root.join("nowhere"), "mcpServers": []})).contains("nowhere"));
    let more = json!({"cwd": root, "mcpServers": [], "additionalDirectories": ["/etc"]});
    assert!(refusal(more).contains("one project"));
    let web = json!([{"type": "http", "name": "x", "url": "http://localhost", "headers": []}]);
    assert!(refusal(json!({"cwd": root, "mcpServers": web})).contains("programs"));
    for id in ["", "../../x", "zzzzzzzzzzzzzzzzzzzz"] {
        assert!(editor.load(id)["error"]["code"].is_i64(), "{id}");
    }
}

#[test]
fn an_editor_that_does_not_tell_its_texts_is_not_waited_for_twice() {
    let read = || Reply::call("read_file", json!({"path": "src/main.rs"}));
    let desk = Desk::new(PROJECT, [read(), edit(), Reply::text("Done.")]);
    let mut editor = desk.able_editor();
    editor.tells_texts = false;
    let session = editor.begin();
    assert_eq!(editor.say(&session, "Rename it"), "end_turn");
    assert!(desk.project.read("src/main.rs").contains("kiln"));
    assert_eq!(editor.files.len(), 1);
    assert!(editor.words().contains("does not tell its texts"), "{}", editor.words());
}

#[test]
fn a_huge_text_of_the_editor_is_bounded_like_a_file() {
    let desk = Desk::new(
        PROJECT,
        [Reply::call("read_file", json!({"path": "src/main.rs"})), Reply::text("Long.")],
    );
    let mut editor = desk.able_editor();
    editor.type_into("src/main.rs", &"a line of text\n".repeat(2_000_000));
    let session = editor.begin();
    assert_eq!(editor.say(&session, "Read it"), "end_turn");
    let told = desk.model.calls().last().unwrap().tool_answers();
    assert!(told[0].text.len() < 300_000, "{}", told[0].text.len());
}
