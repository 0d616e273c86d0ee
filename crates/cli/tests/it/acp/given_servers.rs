//! MCP servers that an editor gives a session.

use std::path::Path;

use serde_json::{Value, json};
use testkit::{MCP_SERVER, Reply};

use super::editor::{Desk, Editor};
use super::tasks::PROJECT;

const PYTHON: &str = "/usr/bin/python3";
/// Far more than begin while a server starts.
const MOST_SESSIONS: usize = 1000;
const UNKNOWN: &str = "is asked for its tools";

fn begin_with(editor: &mut Editor, servers: &Value) -> String {
    let wanted = json!({"cwd": editor.root(), "mcpServers": servers});
    let answer = editor.request("session/new", wanted);
    let id = answer["result"]["sessionId"].as_str();
    let id = id.unwrap_or_else(|| panic!("{answer}")).to_owned();
    // The last that is told about a new session, after what there is to say about the servers.
    editor.wait_until(|editor| editor.kind("available_commands_update").next().is_some());
    id
}

/// The first session whose tools are known, since an earlier one has had the server asked.
fn begin_knowing(editor: &mut Editor, servers: &Value) -> String {
    for _ in 0..MOST_SESSIONS {
        editor.updates.clear();
        let session = begin_with(editor, servers);
        if !editor.words().contains(UNKNOWN) {
            return session;
        }
        let closed = editor.request("session/close", json!({"sessionId": session}));
        assert!(closed.get("error").is_none(), "{closed}");
    }
    panic!("the tools of {servers} do not become known");
}

#[test]
fn a_server_that_the_editor_gives_is_called_under_the_same_gate() {
    if !Path::new(PYTHON).exists() {
        return testkit::left_out("there is no python3");
    }
    let echo = Reply::call("My-files__echo", json!({"text": "once more"}));
    let desk = Desk::new(PROJECT, [echo, Reply::text("Done.")]);
    desk.project.write("server.py", MCP_SERVER);
    let mut editor = desk.plain_editor();
    let program = editor.root().join("server.py");
    let servers = json!([{"name": "My files", "command": PYTHON, "args": [program], "env": []}]);
    let first = begin_with(&mut editor, &servers);
    if editor.words().contains("sandbox") {
        return testkit::left_out("programs cannot be confined here");
    }
    assert!(editor.words().contains(UNKNOWN), "{}", editor.words());
    editor.request("session/close", json!({"sessionId": first}));

    let session = begin_knowing(&mut editor, &servers);
    assert_eq!(editor.say(&session, "Say it again"), "end_turn");
    let [question] = &editor.asked[..] else { panic!("{:#?}", editor.asked) };
    let shown = question["toolCall"].to_string();
    assert!(shown.contains("MCP server My-files"), "{shown}");
    let told = desk.model.calls().last().unwrap().tool_answers();
    assert!(told[0].text.contains("once more"), "{told:?}");
}

#[test]
fn a_server_without_a_usable_name_is_told_and_harms_nothing() {
    let desk = Desk::new(PROJECT, [Reply::text("Hello.")]);
    let mut editor = desk.plain_editor();
    let servers = json!([{"name": "\u{202e}", "command": PYTHON, "args": [], "env": []}]);
    let session = begin_with(&mut editor, &servers);
    assert!(editor.words().contains("is not used"), "{}", editor.words());
    assert_eq!(editor.say(&session, "Hello"), "end_turn");
}
