//! Streams that are open while rights change.

use serde_json::json;

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
