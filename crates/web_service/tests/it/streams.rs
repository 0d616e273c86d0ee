//! Streams that are open while rights change.

use protocol::{Content, SessionEvent};
use serde_json::json;
use team::{NewBrowser, PeopleStore as _, SecretKind, SecretText};

use crate::client::open;
use crate::team_service::TeamService;

#[tokio::test(flavor = "multi_thread")]
async fn a_stream_over_all_sessions_tells_only_of_those_that_may_be_seen() {
    let service = TeamService::start().await;
    let mut of_bob = service.stream("bob", "/api/events?follow=*").await;
    let mut of_pat = service.stream("pat", "/api/events?follow=*").await;
    of_bob.until("event: hello").await.unwrap();
    of_pat.until("event: hello").await.unwrap();
    let hidden = service.session("ada", "/create_file new.txt xylophone").await;
    let shown = service.session("bob", "hello").await;
    let told = of_bob.until(&format!("\"id\":\"{shown}\"")).await.unwrap();
    for text in [hidden.as_str(), "xylophone", "create_file"] {
        assert!(!told.contains(text), "{text}: {told}");
    }
    of_pat.until(&hidden).await.unwrap();
    let refused = service.ask("bob", &format!("GET /api/events?follow={hidden}"), "").await;
    assert_eq!(refused.status, 404);
    // Nor by a position that was never given to this client.
    let target = format!("GET /api/events?follow={hidden}:1");
    assert_eq!(service.ask("bob", &target, "").await.status, 404);
    let (header, last) = (service.header("bob"), format!("last-event-id: {hidden}:1"));
    let (status, mut resumed) =
        open(&service.address, "GET /api/events", &[&header, &last], "").await;
    assert_eq!(status, 200);
    let told = resumed.until("event: questions").await.unwrap();
    assert!(!told.contains("xylophone") && !told.contains("event: items"), "{told}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_role_that_is_taken_away_ends_streams_and_refuses_the_next_request() {
    let service = TeamService::start().await;
    let id = service.session("ada", "hello").await;
    let mut log = service.stream("pat", &format!("/api/sessions/{id}/log")).await;
    log.until("event: session").await.unwrap();
    let mut events = service.stream("pat", &format!("/api/events?follow={id}")).await;
    events.until("event: questions").await.unwrap();
    let pat = format!("PATCH /api/people/{}", service.user("pat").id);
    service.good("root", &pat, &json!({"role": "member"}).to_string()).await;
    // The log of a session that may not be seen any more ends; the other stream goes on without it.
    log.rest().await;
    let closed = events.until("event: closed").await.unwrap();
    assert!(!closed.contains("event: items"), "{closed}");
    assert_eq!(service.ask("pat", &format!("GET /api/sessions/{id}"), "").await.status, 404);
    let me = service.good("pat", "GET /api/me", "").await;
    assert_eq!(me["role"], "member");
    assert!(!me["scopes"].to_string().contains("approve"), "{me}");
    // What happens there now is not told.
    service.say("ada", &id, "xylophone").await;
    service.good("root", &pat, &json!({"disabled": true}).to_string()).await;
    let rest = events.rest().await;
    assert!(!rest.contains("xylophone"), "{rest}");
    assert_eq!(service.ask("pat", "GET /api/me", "").await.status, 401);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_stream_of_an_agent_ends_with_its_token_and_with_nothing_less() {
    let service = TeamService::start().await;
    let body = json!({"name": "agent", "scopes": ["mcp"]}).to_string();
    let made = service.good("ada", "POST /api/me/tokens", &body).await;
    let token = crate::team_service::bearer(made["token"].as_str().unwrap());
    let (status, mut agent) = open(&service.address, "GET /mcp/web", &[&token], "").await;
    assert_eq!(status, 200);
    agent.until("web ").await.unwrap();
    let bob = format!("PATCH /api/people/{}", service.user("bob").id);
    service.good("root", &bob, r#"{"role": "viewer"}"#).await;
    let id = made["id"].as_str().unwrap();
    service.good("ada", &format!("DELETE /api/me/tokens/{id}"), "").await;
    agent.rest().await;
    assert_eq!(open(&service.address, "GET /mcp/web", &[&token], "").await.0, 401);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_project_that_is_shared_no_more_is_gone_at_once() {
    let service = TeamService::start().await;
    let id = service.session("bob", "hello").await;
    let log = service.stream("bob", &format!("/api/sessions/{id}/log")).await;
    let share = format!("/api/projects/web/people/{}", service.user("bob").id);
    service.good("root", &format!("DELETE {share}"), "").await;
    log.rest().await;
    assert_eq!(service.ask("bob", &format!("GET /api/sessions/{id}"), "").await.status, 404);
    let listed = service.good("bob", "GET /api/sessions", "").await;
    assert_eq!(listed["sessions"], json!([]));
    service.good("root", &format!("PUT {share}"), "").await;
    assert_eq!(service.ask("bob", &format!("GET /api/sessions/{id}"), "").await.status, 200);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_session_that_is_shown_and_hidden_again_follows_its_owner() {
    let service = TeamService::start().await;
    let id = service.session("ada", "hello").await;
    let one = format!("GET /api/sessions/{id}");
    let access = format!("PUT /api/sessions/{id}/access");
    assert_eq!(service.ask("vic", &one, "").await.status, 404);
    service.good("ada", &access, r#"{"visibility": "project"}"#).await;
    assert_eq!(service.ask("vic", &one, "").await.status, 200);
    let log = service.stream("vic", &format!("/api/sessions/{id}/log")).await;
    assert_eq!(service.ask("bob", &access, r#"{"visibility": "private"}"#).await.status, 403);
    service.good("ada", &access, r#"{"visibility": "private"}"#).await;
    log.rest().await;
    assert_eq!(service.ask("vic", &one, "").await.status, 404);
    // A copy of a session belongs to whoever has made it.
    service.good("ada", &access, r#"{"visibility": "project"}"#).await;
    let made = service.good("bob", &format!("POST /api/sessions/{id}/fork"), "{}").await;
    let copy = made["id"].as_str().unwrap().to_owned();
    assert_eq!(service.ask("bob", &format!("GET /api/sessions/{copy}"), "").await.status, 200);
    assert_eq!(service.ask("ada", &format!("GET /api/sessions/{copy}"), "").await.status, 404);
}

#[tokio::test(flavor = "multi_thread")]
async fn streams_end_when_the_login_does() {
    let service = TeamService::start().await;
    let ada = service.user("ada").id.clone();
    let id = service.session("ada", "hello").await;
    let secret = SecretText::generate(SecretKind::Browser).unwrap();
    let new = NewBrowser { user: ada, hash: secret.hash(), seconds: 1, made_with: None };
    service.people.begin_browser(new).await.unwrap();
    let cookie = format!("cookie: toolkiln={}", secret.expose());
    let headers = [cookie.as_str(), "sec-fetch-site: same-origin"];
    let mut open_streams = Vec::new();
    for target in ["GET /api/events".to_owned(), format!("GET /api/sessions/{id}/log")] {
        let (status, stream) = open(&service.address, &target, &headers, "").await;
        assert_eq!(status, 200);
        open_streams.push(stream);
    }
    // Nothing else changes.
    service.people.pass_seconds(2);
    for stream in open_streams {
        stream.rest().await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_stream_of_an_agent_ends_with_the_role_that_may_have_agents() {
    let service = TeamService::start().await;
    let mut agent = service.stream("ada", "/mcp/web").await;
    agent.until("web ").await.unwrap();
    let ada = format!("PATCH /api/people/{}", service.user("ada").id);
    service.good("root", &ada, r#"{"role": "viewer"}"#).await;
    agent.rest().await;
}

/// More than connections hold that are not read from.
const LONG_LOG: usize = 32;
const ENTRY_BYTES: usize = 1024 * 1024;

#[tokio::test(flavor = "multi_thread")]
async fn a_stream_that_has_much_to_send_ends_all_the_same() {
    let service = TeamService::start().await;
    let id = service.session("ada", "hello").await;
    let said = |text: &str| SessionEvent::UserMessage {
        content: vec![Content::Text { text: text.into() }],
    };
    let much = "x".repeat(ENTRY_BYTES);
    let mut long: Vec<SessionEvent> = (0..LONG_LOG).map(|_| said(&much)).collect();
    long.push(said("xylophone"));
    let id_of: store::SessionId = id.parse().unwrap();
    // The session is open in the service, which is the only one to write to it; a fork is not.
    let fork = service.web.fork(&id_of, None).await.unwrap();
    service.web.append(&fork, long).await.unwrap();
    let mut log = service.stream("pat", &format!("/api/sessions/{fork}/log")).await;
    log.until("event: entry").await.unwrap();
    let pat = format!("PATCH /api/people/{}", service.user("pat").id);
    service.good("root", &pat, r#"{"role": "member"}"#).await;
    assert!(!log.ends_with("xylophone").await);
}
