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
    let answers = |replica: &Service| {
        let audit = replica.get("/api/audit?project=app")["entries"].take();
        let all = audit.as_array().unwrap().iter();
        all.filter(|row| row["kind"] == "approved").cloned().collect::<Vec<_>>()
    };
    let before = answers(&first);
    assert_eq!((before.len(), &before[0]["subject"]), (1, &json!("append_file")), "{before:?}");
    // What another replica deletes stays in the audit of both.
    let deleted =
        second.request(&format!("DELETE /api/sessions/{session}"), &[&second.token("all")], "");
    assert_eq!(deleted.status, 200, "{}", deleted.body);
    assert_eq!((answers(&first), answers(&second)), (before.clone(), before));
}

#[test]
fn a_call_by_hand_at_one_replica_is_approved_at_another() {
    let Some(replicas) = Replicas::new([]) else { return };
    let start = || replicas.start_with(&["--two-users"]);
    let (first, second) = (start(), start());
    let member = invited(&first, &second, "member", &MEMBER);
    let approver = invited(&first, &second, "approver", &APPROVER);
    let mut watcher = second.watch("");
    let line = json!({"arguments": {"path": "notes.txt", "content": "one\n"}}).to_string();
    let called = std::thread::scope(|scope| {
        let call =
            scope.spawn(|| first.request("POST /api/tools/append_file", &[&member], &line).json());
        watcher.until("the question", |seen| !seen.questions.is_empty());
        let listed = |who: &str| {
            second.request("GET /api/approvals", &[who], "").json()["questions"].clone()
        };
        // Its own user sees it there too, and may not answer.
        let asked = listed(&approver);
        assert_eq!(listed(&member), asked);
        let part = |name: &str| asked[0][name].as_str().unwrap().to_owned();
        let (owner, tool) = (part("owner"), part("tool"));
        assert!(owner.starts_with("project:app:") && tool == "append_file", "{asked}");
        let one = format!("/api/approvals/{owner}/{}", part("question"));
        let whole = second.request(&format!("GET {one}"), &[&approver], "").json();
        assert_eq!(whole["files"][0]["path"], "notes.txt", "{whole}");
        let target = format!("POST {one}");
        let yes = json!({"approve": true}).to_string();
        assert_eq!(second.request(&target, &[&member], &yes).status, 403);
        let answered = second.request(&target, &[&approver], &yes);
        assert_eq!(answered.status, 200, "{}", answered.body);
        assert_eq!(second.request(&target, &[&approver], &yes).status, 409);
        call.join().unwrap()
    });
    assert_eq!(called["ok"], true, "{called}");
    let text = std::fs::read_to_string(replicas.project.root().join("notes.txt")).unwrap();
    assert_eq!(text, "zero\none\n");
    let audit = first.get("/api/audit?project=app");
    assert_eq!(audit["entries"][0]["kind"], "approved", "{audit}");
}
