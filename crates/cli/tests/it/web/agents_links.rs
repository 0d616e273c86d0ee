//! Links to questions, and everything that can happen before they are followed.

use std::io::{BufRead as _, BufReader, Write as _};

use serde_json::{Value, json};

use super::agents::{Agent, adding, asked_at, notes, service};

fn repeated(asked: &Value, action: &str) -> Value {
    let mut again = adding();
    again["requestState"] = asked["requestState"].clone();
    again["inputResponses"] = json!({"approval": {"action": action}});
    again
}

#[test]
fn two_equal_questions_are_answered_one_by_one() {
    let (project, service) = service();
    let agent = Agent::new(&service);
    let [one, two] = [(), ()].map(|()| agent.result("tools/call", adding()));
    let link = |asked: &Value| asked["inputRequests"]["approval"]["params"]["url"].clone();
    assert_eq!(link(&one), link(&two));
    let at = asked_at(&service, &one);
    service.post(&at, json!({"approve": true}));
    service.post(&at, json!({"approve": false, "reason": "once is enough"}));
    assert_eq!(service.get("/api/approvals"), json!({"questions": []}));
    let results = [&one, &two].map(|asked| agent.result("tools/call", repeated(asked, "accept")));
    let mut failed: Vec<bool> =
        results.iter().map(|result| result["isError"].as_bool().unwrap()).collect();
    failed.sort_unstable();
    assert_eq!(failed, [false, true], "{results:?}");
    assert_eq!(notes(&project), "first\nsecond\n");
}

#[test]
fn a_client_that_declines_after_the_user_has_said_yes_is_told_what_was_done() {
    let (project, service) = service();
    let agent = Agent::new(&service);
    let asked = agent.result("tools/call", adding());
    service.post(&asked_at(&service, &asked), json!({"approve": true}));
    let done = agent.result("tools/call", repeated(&asked, "decline"));
    assert_eq!(done["isError"], false, "{done}");
    assert_eq!(notes(&project), "first\nsecond\n");
}

#[test]
fn the_question_of_a_session_that_ends_is_taken_back() {
    let (project, service) = service();
    let agent = Agent::new(&service);
    let hello = json!({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {
        "protocolVersion": "2025-11-25", "capabilities": agent.capabilities,
        "clientInfo": {"name": "t", "version": "1"}}});
    let opened = service.raw(agent.post("", &hello.to_string()).as_bytes());
    let session = opened.head.lines().find(|line| line.starts_with("mcp-session-id: ")).unwrap();
    let session = format!("{session}\r\n");
    let told = r#"{"jsonrpc": "2.0", "method": "notifications/initialized"}"#;
    assert_eq!(service.raw(agent.post(&session, told).as_bytes()).status, 202);
    let mut watcher = service.watch("");
    let call = json!({"jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": adding()});
    let mut stream = service.connect();
    stream.write_all(agent.post(&session, &call.to_string()).as_bytes()).unwrap();
    let mut lines = BufReader::new(stream).lines();
    // The link comes when the question can be answered.
    let asked = lines.find_map(|line| Some(line.ok()?).filter(|line| line.contains("elicitation")));
    assert!(asked.unwrap().contains("/#/inbox/"));
    assert_eq!(service.get("/api/approvals")["questions"].as_array().unwrap().len(), 1);
    let end = agent.post(&session, "").replacen("POST", "DELETE", 1);
    assert_eq!(service.raw(end.as_bytes()).status, 204);
    watcher.until("the end of the question", |seen| seen.questions.is_empty());
    assert_eq!(notes(&project), "first\n");
}
