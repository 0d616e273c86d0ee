//! Users of a team, whichever replica they talk to.

use serde_json::{Value, json};
use testkit::{Reply, invited_token};

use super::{Replicas, adding, has_ended, question};
use crate::web::service::Service;

const MEMBER: [&str; 4] = ["read", "chat", "tools", "mcp"];
const APPROVER: [&str; 5] = ["read", "chat", "approve", "tools", "mcp"];

/// The token of a new user, who accepts the invitation at another replica than the one that made it.
fn invited(made_at: &Service, accepted_at: &Service, role: &str, scopes: &[&str]) -> String {
    let invitation = json!({"role": role, "projects": ["app"], "note": role});
    let made = made_at.post("/api/invitations", invitation);
    let link = made["link"].as_str().unwrap();
    let code = link.split_once("#code=").expect("a link").1;
    let token = invited_token(&accepted_at.address, code, role, scopes);
    format!("authorization: Bearer {token}")
}

#[test]
fn a_session_of_another_user_is_in_no_replica() {
    let replies = [Reply::text("A secret."), Reply::text("Mine.")];
    let Some(replicas) = Replicas::new(replies) else { return };
    let (first, second) = (replicas.start(), replicas.start());
    let bob = invited(&first, &second, "member", &MEMBER);
    let session = first.begin();
    let mut watcher = first.watch(&format!("{session}:0"));
    first.say(&session, "Hi");
    watcher.until("the end of the turn", |seen| has_ended(seen, &session));
    for replica in [&first, &second] {
        let asked = |target: &str, body: &str| {
            let answer = replica.request(target, &[&bob], body);
            assert!(!answer.body.contains("secret"), "{target}: {}", answer.body);
            answer.status
        };
        for target in ["", "/items", "/export", "/diff", "/queue", "/log?after=0"] {
            let target = format!("GET /api/sessions/{session}{target}");
            assert_eq!(asked(&target, ""), 404, "{target}");
        }
        let said = r#"{"text": "Hi"}"#;
        let posted = [("messages", said), ("interrupt", "{}"), ("continue", "{}"), ("fork", "{}")];
        for (target, body) in posted {
            let target = format!("POST /api/sessions/{session}/{target}");
            assert_eq!(asked(&target, body), 404, "{target}");
        }
        assert_eq!(asked(&format!("DELETE /api/sessions/{session}"), ""), 404);
        assert_eq!(asked(&format!("GET /api/events?follow={session}:0"), ""), 404);
        let listed = replica.request("GET /api/sessions", &[&bob], "").json();
        assert_eq!(listed["sessions"], json!([]));
        // What an admin may do is refused as such.
        assert_eq!(asked("GET /api/people", ""), 403);
    }
    // The admin sees what the member begins, at the other replica.
    let begun = second.request("POST /api/sessions", &[&bob], "{}").json();
    let own = begun["id"].as_str().unwrap();
    let owners: Vec<Value> = first.get("/api/sessions")["sessions"]
        .as_array()
        .unwrap()
        .iter()
        .map(|it| it["id"].clone())
        .collect();
    assert!(owners.contains(&json!(own)) && owners.contains(&json!(session)), "{owners:?}");
}

#[test]
fn the_user_who_asks_may_not_approve_at_any_replica() {
    let Some(replicas) = Replicas::new([adding(), Reply::text("Added.")]) else { return };
    let start = || replicas.start_with(&["--two-users"]);
    let (first, second) = (start(), start());
    let approver = invited(&first, &second, "approver", &APPROVER);
    let session = first.begin();
    let follow = format!("{session}:0");
    let [mut watcher, mut other] = [first.watch(&follow), second.watch(&follow)];
    first.say(&session, "Add one");
    for watcher in [&mut watcher, &mut other] {
        watcher.until("the question", |seen| !seen.questions.is_empty());
    }
    let target = format!("POST /api/approvals/{session}/{}", question(&watcher));
    let yes = json!({"approve": true}).to_string();
    for replica in [&first, &second] {
        let refused = replica.request(&target, &[&*replica.token("all")], &yes);
        assert_eq!(refused.status, 403, "{}", refused.body);
    }
    let answered = second.request(&target, &[&approver], &yes);
    assert_eq!(answered.status, 200, "{}", answered.body);
    watcher.until("the end of the turn", |seen| has_ended(seen, &session));
    let text = std::fs::read_to_string(replicas.project.root().join("notes.txt")).unwrap();
    assert_eq!(text, "zero\none\n");
    let audit = first.get("/api/audit");
    assert!(audit.to_string().contains("append_file"), "{audit}");
}
