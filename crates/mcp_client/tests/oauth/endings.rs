//! What does not end a login.

use std::net::TcpStream;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use mcp_client::oauth::{Begun, Callback};
use protocol::ErrorCode;
use testkit::LoginServer;

use super::User;

fn raw(status: &str, body: &str) -> String {
    let length = body.len();
    format!("HTTP/1.1 {status}\r\ncontent-length: {length}\r\nconnection: close\r\n\r\n{body}")
}

#[tokio::test]
async fn a_refusal_on_the_way_to_the_issuer_does_not_end_a_login() {
    let server = LoginServer::start();
    let user = User::of(&server);
    user.logged_in().await.expect("a login");
    for refusal in [
        raw("403 Forbidden", "<html>The proxy does not know you.</html>"),
        raw("404 Not Found", ""),
        raw("407 Proxy Authentication Required", "{}"),
        raw("400 Bad Request", r#"{"error":"temporarily_unavailable"}"#),
        raw("429 Too Many Requests", r#"{"error":"slow_down"}"#),
        raw("500 Internal Server Error", r#"{"error":"invalid_grant"}"#),
    ] {
        server.state().tokens.clear();
        server.state().raw.insert("/token".into(), refusal.clone());
        let error = user.used().await.expect_err("not renewed");
        assert_eq!(error.code, ErrorCode::ExecutionError, "{refusal}: {}", error.message);
        assert!(error.message.contains("cannot be renewed"), "{refusal}: {}", error.message);
        server.state().raw.clear();
        assert_eq!(user.used().await.expect("renewed"), 1, "{refusal}");
    }
    // The control: this is how an issuer ends one.
    server.state().tokens.clear();
    let ended = raw("400 Bad Request", r#"{"error":"invalid_grant"}"#);
    server.state().raw.insert("/token".into(), ended);
    let error = user.used().await.expect_err("ended");
    // The last message of the use before may have heard it first, and then there is nothing left to renew.
    assert_eq!(error.code, ErrorCode::PermissionDenied, "{}", error.message);
    assert!(error.message.contains("needs a login"), "{}", error.message);
}

#[tokio::test]
async fn tokens_that_cannot_be_kept_are_used_by_the_process_that_has_them() {
    let server = LoginServer::start();
    // Each request renews them, and the server knows each refresh token once.
    server.state().lifetime = Some(1);
    let user = User::of(&server);
    user.logged_in().await.expect("a login");
    let client = user.client();
    user.vault.is_full.store(true, Ordering::SeqCst);
    for round in 1..=2 {
        let tools = user.server(&client).learn().await;
        assert_eq!(tools.map(|tools| tools.tools.len()).expect("tools"), 1, "round {round}");
    }
    // Once there is room, others find what is good by then.
    user.vault.is_full.store(false, Ordering::SeqCst);
    assert!(user.server(&client).learn().await.is_ok());
    assert_eq!(user.used().await.expect("tools"), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_program_that_holds_connections_open_does_not_keep_the_browser_away() {
    const HELD: usize = 100;
    let server = LoginServer::start();
    let user = User::of(&server);
    let client = user.client();
    client.ask_only().await;
    let _ = user.server(&client).learn().await;
    let callback = Callback::listen(None).await.expect("a port");
    let Begun::Asks(attempt) = client.begin(&callback.redirect(), false).await.expect("begun")
    else {
        panic!("the user was not asked");
    };
    let attempt = Arc::new(*attempt);
    let redirected = LoginServer::browse(attempt.url());
    let address = callback.redirect().replace("http://", "").replace("/callback", "");
    let visit = std::thread::spawn(move || {
        let held: Vec<_> = (0..HELD).map(|_| TcpStream::connect(&address)).collect();
        let began = Instant::now();
        let status = LoginServer::visit(&redirected);
        drop(held);
        (status, began.elapsed())
    });
    callback.redirected(&attempt).await;
    let (status, waited) = visit.join().expect("no panic");
    assert_eq!(status, "200");
    // A silent connection has five seconds.
    assert!(waited < Duration::from_secs(4), "{waited:?}");
}
