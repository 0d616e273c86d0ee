//! `toolkiln mcp` as a real process.

use serde_json::json;
use testkit::{Fixture, StdioServer};

use crate::run::command;

fn start(project: &Fixture, more: &[&str]) -> StdioServer {
    let mut command = command(None);
    command.arg("mcp").args(more).arg("--root").arg(project.root());
    StdioServer::start(command)
}

fn initialize(server: &mut StdioServer) {
    let hello = json!({
        "protocolVersion": "2025-11-25",
        "capabilities": {},
        "clientInfo": {"name": "test", "version": "1"},
    });
    let answer = server.request("initialize", hello);
    assert_eq!(answer["result"]["serverInfo"]["name"], "toolkiln");
    server.notify("notifications/initialized", json!({}));
}

#[test]
fn a_client_can_list_and_call_and_leave() {
    let project = Fixture::new("//- /a.txt\nhello\n");
    let mut server = start(&project, &[]);
    initialize(&mut server);
    let listed = server.request("tools/list", json!({}));
    assert_eq!(listed["result"]["tools"][0]["name"], "glob");
    let called =
        server.request("tools/call", json!({"name": "read_file", "arguments": {"path": "a.txt"}}));
    assert_eq!(called["result"]["structuredContent"]["content"], "     1\thello");
    assert!(server.finish().success());
}

#[test]
fn garbage_on_the_line_does_not_end_the_server() {
    let project = Fixture::new("//- /a.txt\nhello\n");
    let mut server = start(&project, &[]);
    initialize(&mut server);
    server.send_raw_line(b"this is not json");
    server.send_raw_line(b"\xff\xfe\x00");
    let found =
        server.request("tools/call", json!({"name": "grep", "arguments": {"pattern": "hello"}}));
    assert_eq!(found["result"]["structuredContent"]["total"], 1);
}

#[test]
fn the_vocabulary_is_chosen_at_the_door() {
    let project = Fixture::new("//- /a.txt\nhello\n");
    let mut server = start(&project, &["--vocabulary", "workspace"]);
    initialize(&mut server);
    let read = json!({"name": "read_file", "arguments": {"path": "a.txt"}});
    let called = server.request("tools/call", read);
    assert_eq!(called["result"]["structuredContent"]["content"], "hello\n");
}
