//! `toolkiln mcp` as a real process.

use serde_json::{Value, json};
use testkit::{Fixture, StdioServer};

use crate::pty::{Output, Session};
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

/// A call of the era in which it is repeated with the answer.
fn stateless(mut call: Value) -> Value {
    let meta = &mut call["_meta"];
    meta["io.modelcontextprotocol/protocolVersion"] = "2026-07-28".into();
    meta["io.modelcontextprotocol/clientCapabilities"] = json!({"elicitation": {}});
    call
}

#[test]
fn a_command_runs_once_however_often_the_call_is_repeated_for_its_answers() {
    let project = Fixture::new("//- /a.txt\nhello\n");
    let mut command = command(None);
    command.env("XDG_STATE_HOME", project.root().with_file_name("state"));
    command.env("PATH", "/usr/bin:/bin").arg("mcp").arg("--root").arg(project.root());
    let mut server = StdioServer::start(command);
    let random = "od -An -N16 -tx1 /dev/urandom > a.txt";
    let mut call = json!({"name": "bash", "arguments": {"command": random}});
    let mut questions = Vec::new();
    let result = loop {
        let answer = server.request("tools/call", stateless(call.clone()));
        let result = &answer["result"];
        if result["resultType"] != "input_required" {
            break result.clone();
        }
        let asked = &result["inputRequests"]["approval"]["params"]["message"];
        questions.push(asked.as_str().expect("a message").to_owned());
        assert!(questions.len() <= 2, "the same is asked again: {questions:#?}");
        call["requestState"] = result["requestState"].clone();
        let yes = json!({"action": "accept", "content": {"decision": "once"}});
        call["inputResponses"] = json!({"approval": yes});
    };
    if result.to_string().contains("SANDBOX_UNAVAILABLE") {
        testkit::left_out("commands cannot be confined here");
        return;
    }
    assert_eq!(result["isError"], false, "{result}");
    let written = project.read("a.txt");
    let shown = questions.last().expect("a question about the changes");
    assert!(shown.contains(&format!("\n+{}", written.trim_end())), "{shown}\n{written}");
}

#[test]
fn the_question_is_the_same_as_at_a_terminal() {
    let project = Fixture::new("//- /a.txt\nhello\n");
    let edit =
        json!({"path": "a.txt", "content": "hello \u{202e}you\n", "description": "Be\npolite"});
    let mut command = command(None);
    command.env("XDG_STATE_HOME", project.root().with_file_name("state"));
    command.arg("mcp").arg("--root").arg(project.root());
    let mut server = StdioServer::start(command);
    let call = stateless(json!({"name": "update_file", "arguments": edit}));
    let asked = server.request("tools/call", call);
    let asked = &asked["result"]["inputRequests"]["approval"]["params"]["message"];
    let arguments = ["call", "update_file", &edit.to_string()];
    let mut terminal = Session::start(&project, &arguments, Output::Piped);
    terminal.answer("Do it?", "n");
    let seen = terminal.seen.replace("\r\n", "\n");
    let (question, _) = seen.split_once("Do it?").unwrap();
    assert_eq!(question, asked.as_str().unwrap());
    terminal.end();
}

#[test]
fn the_vocabulary_is_chosen_on_the_command_line() {
    let project = Fixture::new("//- /a.txt\nhello\n");
    let mut server = start(&project, &["--vocabulary", "workspace"]);
    initialize(&mut server);
    let read = json!({"name": "read_file", "arguments": {"path": "a.txt"}});
    let called = server.request("tools/call", read);
    assert_eq!(called["result"]["structuredContent"]["content"], "hello\n");
}

/// Calls that a client sends without waiting for answers, and the bytes of the file that each reads.
const PIPELINED: usize = 600;
const READ_BYTES: usize = 40 * 1024;
/// What the server may take at most while it answers them. Without a bound on the calls that run at
/// once it takes half as much again for these, and more for every further call.
const MOST_MEMORY_KB: u64 = 100 * 1024;

#[test]
fn memory_stays_bounded_however_many_calls_are_sent_at_once() {
    let project = Fixture::new("//- /a.txt\nhello\n");
    project.write("big.txt", format!("{}\n", "x".repeat(63)).repeat(READ_BYTES / 64));
    let mut command = command(None);
    command.arg("mcp").arg("--root").arg(project.root());
    let mut server = StdioServer::start(command);
    initialize(&mut server);
    let read = json!({"name": "read_file", "arguments": {"path": "big.txt"}});
    let lines: Vec<Vec<u8>> = (0..PIPELINED)
        .map(|id| {
            let id = format!("r{id}");
            json!({"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": read})
        })
        .map(|request| request.to_string().into_bytes())
        .collect();
    let mut answers = 0;
    server.send_all(lines, |answer| {
        let content = answer["result"]["structuredContent"]["content"].as_str();
        assert!(content.is_some_and(|content| content.len() > READ_BYTES), "{answer:.300}");
        answers += 1;
        answers == PIPELINED
    });
    let peak = server.peak_memory_kb();
    assert!(peak < MOST_MEMORY_KB, "{peak} KB");
    assert!(server.finish().success());
}

#[test]
fn a_result_stays_below_the_size_at_which_hosts_cut_it() {
    let project = Fixture::new("//- /a.txt\nhello\n");
    let lines: String =
        (0..20_000).map(|line| format!("let value_{line} = \"{line}\";\n")).collect();
    project.write("big.rs", lines);
    let mut server = start(&project, &[]);
    initialize(&mut server);
    let read = json!({"name": "read_file", "arguments": {"path": "big.rs", "limit": 20_000}});
    let result = &server.request("tools/call", read)["result"];
    let content = &result["structuredContent"];
    assert!(content.to_string().len() < 90_000, "{}", content.to_string().len());
    assert!(result["_meta"]["anthropic/maxResultSizeChars"].is_number());
    let shown = content["content"].as_str().expect("text").lines().count();
    let next = json!({"name": "read_file", "arguments": {"path": "big.rs", "offset": shown + 1}});
    let rest = server.request("tools/call", next);
    let first = rest["result"]["structuredContent"]["content"].as_str().expect("text");
    assert!(first.contains(&format!("let value_{shown} = ")), "{content:.300} {first:.300}");
}
