//! What other agents, and those who pretend to be some, try over HTTP.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpStream;

use serde_json::json;

use super::agents::{Agent, PROJECT, adding, asked_at, notes, service};
use super::service::Service;
use testkit::Fixture;

fn reading() -> serde_json::Value {
    json!({"name": "read_file", "arguments": {"path": "notes.txt"}})
}

#[test]
fn requests_of_other_pages_hosts_and_tokens_reach_no_tool() {
    let (_project, service) = service();
    let agent = Agent::new(&service);
    let good = agent.text("tools/call", reading());
    assert_eq!(service.raw(good.as_bytes()).status, 200);
    let host = format!("host: {}\r\n", service.address);
    let token = format!("{}\r\n", service.token("mcp"));
    let with = |header: &str| good.replacen(&host, &format!("{host}{header}\r\n"), 1);
    let other_token =
        |scope: &str| good.replacen(&token, &format!("{}\r\n", service.token(scope)), 1);
    let port = service.address.rsplit(':').next().unwrap();
    let login = format!(r#"{{"code": "{}"}}"#, service.code);
    let cookie = service.request("POST /api/login", &["x-toolkiln: 1"], &login);
    let cookie = cookie.head.lines().find_map(|line| line.strip_prefix("set-cookie: ")).unwrap();
    let cookie = format!(
        "cookie: {}\r\norigin: http://{}\r\nx-toolkiln: 1\r\n",
        cookie.split(';').next().unwrap(),
        service.address
    );
    let table = [
        (with("origin: https://evil.example"), "403 FOREIGN_ORIGIN"),
        (with("origin: null"), "403 FOREIGN_ORIGIN"),
        (with(&format!("origin: https://{}", service.address)), "403 FOREIGN_ORIGIN"),
        (with("sec-fetch-site: cross-site"), "403 FOREIGN_ORIGIN"),
        (good.replacen(&host, &format!("host: evil.example:{port}\r\n"), 1), "421 WRONG_HOST"),
        (good.replacen(&host, "", 1), "421 WRONG_HOST"),
        (with(&format!("host: {}", service.address)), "421 WRONG_HOST"),
        (good.replacen(&token, "", 1), "401 UNAUTHORIZED"),
        (good.replacen(&token, "authorization: Bearer x\r\n", 1), "401 UNAUTHORIZED"),
        (good.replacen(&token, &format!("{token}{token}"), 1), "401 UNAUTHORIZED"),
        (good.replacen(&token, &cookie, 1), "401 UNAUTHORIZED"),
        (other_token("chat"), "403 PERMISSION_DENIED"),
        (other_token("approve"), "403 PERMISSION_DENIED"),
        (other_token("tools"), "403 PERMISSION_DENIED"),
        (good.replacen("POST /mcp", "POST /mcp/nothing", 1), "404 NOT_FOUND"),
        (good.replacen("application/json\r\n", "text/plain\r\n", 1), "415 UNSUPPORTED_MEDIA_TYPE"),
    ];
    for (text, expected) in table {
        let answer = service.raw(text.as_bytes());
        assert_eq!(answer.refusal(), expected, "{text}");
        assert!(!answer.head.contains("access-control-"), "{}", answer.head);
    }
}

#[test]
fn the_token_that_asks_sees_no_session_and_answers_no_question() {
    let (project, service) = service();
    // It says that it shows forms; its answers would not count, so it is not asked, and the page is.
    let agent =
        Agent { capabilities: json!({"elicitation": {"form": {}}}), ..Agent::new(&service) };
    let mut watcher = service.watch("");
    let waiting = agent.begin("tools/call", adding());
    watcher.until("the question", |seen| seen.questions.len() == 1);
    let question = watcher.seen.questions[0].clone();
    let at = format!(
        "/api/approvals/{}/{}",
        question["owner"].as_str().unwrap(),
        question["question"].as_str().unwrap()
    );
    let own = service.token("mcp");
    for (target, body) in [
        (format!("POST {at}"), r#"{"approve": true}"#),
        (format!("GET {at}"), ""),
        ("GET /api/approvals".into(), ""),
        ("GET /api/sessions".into(), ""),
        ("GET /api/events".into(), ""),
        ("POST /api/tools/undo".into(), "{}"),
        ("DELETE /api/policy/1".into(), ""),
    ] {
        let answer = service.request(&target, &[&own], body);
        assert_eq!(answer.refusal(), "403 PERMISSION_DENIED", "{target}");
    }
    let login = format!(r#"{{"code": "{}"}}"#, service.secrets["mcp"].as_str().unwrap());
    assert_eq!(service.request("POST /api/login", &[], &login).status, 401);
    // An answer that it makes up itself belongs to no question.
    let mut forged = adding();
    forged["requestState"] = question["question"].clone();
    let yes = json!({"action": "accept", "content": {"decision": "once"}});
    forged["inputResponses"] = json!({"approval": yes});
    assert_eq!(agent.refused(forged), "APPROVAL_REQUIRED");
    assert_eq!(notes(&project), "first\n");
    drop(waiting);
    watcher.until("the end of the question", |seen| seen.questions.is_empty());
}

#[test]
fn a_client_that_may_approve_is_asked_by_a_form_whose_state_is_good_once_and_for_it_alone() {
    let (project, service) = service();
    let forms = json!({"elicitation": {"form": {}}});
    let host = Agent { token: "all", capabilities: forms.clone(), ..Agent::new(&service) };
    let other = Agent { capabilities: json!({"elicitation": {"url": {}}}), ..Agent::new(&service) };
    let yes = |asked: &serde_json::Value| {
        let mut again = adding();
        again["requestState"] = asked["requestState"].clone();
        let yes = json!({"action": "accept", "content": {"decision": "once"}});
        again["inputResponses"] = json!({"approval": yes});
        again
    };
    let asked = host.result("tools/call", adding());
    assert_eq!(asked["inputRequests"]["approval"]["params"]["mode"], "form", "{asked}");
    // The state of another client, and then used up by the attempt.
    assert_eq!(other.refused(yes(&asked)), "APPROVAL_REQUIRED");
    assert_eq!(host.refused(yes(&asked)), "APPROVAL_REQUIRED");
    assert_eq!(notes(&project), "first\n");
    let asked = host.result("tools/call", adding());
    let mut changed = yes(&asked);
    changed["arguments"]["content"] = "other\n".into();
    assert_eq!(host.refused(changed), "APPROVAL_REQUIRED");
    let asked = host.result("tools/call", adding());
    assert_eq!(host.result("tools/call", yes(&asked))["isError"], false);
    assert_eq!(host.refused(yes(&asked)), "APPROVAL_REQUIRED");
    assert_eq!(notes(&project), "first\nsecond\n");
}

#[test]
fn headers_that_contradict_the_message_are_refused() {
    let (_project, service) = service();
    let good = Agent::new(&service).text("tools/call", reading());
    let (method, name) = ("mcp-method: tools/call\r\n", "mcp-name: read_file\r\n");
    let version = "mcp-protocol-version: 2026-07-28\r\n";
    for text in [
        good.replacen(method, "mcp-method: tools/list\r\n", 1),
        good.replacen(method, "", 1),
        good.replacen(method, &format!("{method}mcp-method: tools/list\r\n"), 1),
        good.replacen(method, &method.repeat(2), 1),
        good.replacen(name, "mcp-name: bash\r\n", 1),
        good.replacen(name, "", 1),
        good.replacen(name, &format!("mcp-name: bash\r\n{name}"), 1),
        good.replacen(version, "mcp-protocol-version: 2025-11-25\r\n", 1),
        good.replacen(version, &version.repeat(2), 1),
    ] {
        let answer = service.raw(text.as_bytes());
        assert_eq!(
            (answer.status, &answer.message()["error"]["code"]),
            (400, &json!(-32020)),
            "{text}"
        );
    }
    for method in ["GET", "DELETE", "PUT", "PATCH", "OPTIONS"] {
        let text = good.replacen("POST", method, 1);
        assert_eq!(service.raw(text.as_bytes()).status, 405, "{method}");
    }
}

#[test]
fn batches_broken_messages_and_huge_ones_are_refused() {
    let (_project, service) = service();
    let agent = Agent::new(&service);
    let version = "mcp-protocol-version: 2026-07-28\r\n";
    let ping = r#"{"jsonrpc": "2.0", "id": 1, "method": "ping"}"#;
    let deep = "[".repeat(100_000);
    let table: [(&str, i64); 8] = [
        (&format!("[{ping}]"), -32600),
        ("[]", -32600),
        ("{}", -32600),
        ("", -32700),
        ("nonsense", -32700),
        (&deep, -32700),
        (r#"{"jsonrpc": "2.0", "id": 1, "method": "ping", "method": "tools/call"}"#, -32600),
        (r#"{"jsonrpc": "2.0", "id": null, "method": "ping"}"#, -32600),
    ];
    for (body, code) in table {
        let answer = service.raw(agent.post(version, body).as_bytes());
        let told = answer.message()["error"]["code"].clone();
        assert_eq!((answer.status, told), (400, json!(code)), "{body:.60}");
    }
    let huge = format!(r#"{{"jsonrpc": "2.0", "x": "{}"}}"#, "x".repeat(17 * 1024 * 1024));
    assert_eq!(service.raw(agent.post(version, &huge).as_bytes()).refusal(), "413 TOO_LARGE");
    assert_eq!(agent.send("tools/call", reading()).status, 200);
}

#[test]
fn a_call_whose_stream_is_closed_is_cancelled() {
    let (project, service) = service();
    let agent = Agent { capabilities: json!({}), ..Agent::new(&service) };
    let mut watcher = service.watch("");
    let waiting: Vec<TcpStream> = (0..3).map(|_| agent.begin("tools/call", adding())).collect();
    watcher.until("the questions", |seen| seen.questions.len() == 3);
    drop(waiting);
    watcher.until("their end", |seen| seen.questions.is_empty());
    assert_eq!(notes(&project), "first\n");
}

#[test]
fn killed_while_the_user_is_asked_nothing_is_done_and_the_answer_is_good_for_nothing() {
    let project = Fixture::new(PROJECT);
    let start = || Service::start_with(&project, &["--provider", "offline"]);
    let service = start();
    let asked = Agent::new(&service).result("tools/call", adding());
    let at = asked_at(&service, &asked);
    service.kill();
    let service = start();
    let answered = service.try_post(&at, json!({"approve": true}));
    assert_eq!(answered.refusal(), "409 CONFLICT");
    let mut again = adding();
    again["requestState"] = asked["requestState"].clone();
    again["inputResponses"] = json!({"approval": {"action": "accept"}});
    assert_eq!(Agent::new(&service).refused(again), "APPROVAL_REQUIRED");
    assert_eq!(notes(&project), "first\n");
}

#[test]
fn a_thousand_streams_and_clients_that_never_read_leave_room_for_others() {
    let (_project, service) = service();
    let agent = Agent::new(&service);
    let hello = json!({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {
        "protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}}});
    let opened = service.raw(agent.post("", &hello.to_string()).as_bytes());
    let session = opened.head.lines().find(|line| line.starts_with("mcp-session-id: ")).unwrap();
    let listen = agent.post(&format!("{session}\r\n"), "").replacen("POST", "GET", 1);
    // A session has few at a time: the oldest ends for a new one. None is read.
    let mut open = Vec::new();
    for _ in 0..1_000 {
        let mut stream = service.connect();
        stream.write_all(listen.as_bytes()).unwrap();
        let mut lines = BufReader::new(stream);
        let mut first = String::new();
        lines.read_line(&mut first).unwrap();
        assert!(first.contains(" 200 ") || first.contains(" 429 "), "{first}");
        open.push(lines);
    }
    let unread: Vec<TcpStream> = (0..200).map(|_| agent.begin("tools/list", json!({}))).collect();
    assert_eq!(agent.send("tools/call", reading()).status, 200);
    drop(open);
    let mut last = unread.into_iter().next_back().unwrap();
    let mut answer = String::new();
    last.read_to_string(&mut answer).unwrap();
    assert!(answer.contains("read_file"), "{answer:.200}");
}
