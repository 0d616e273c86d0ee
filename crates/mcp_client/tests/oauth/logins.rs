//! What a login is good for, and how long.

use std::sync::Arc;

use mcp_client::OAuthGrant;
use mcp_client::oauth::{Begun, Callback};
use protocol::ErrorCode;
use serde_json::json;
use testkit::LoginServer;

use super::User;

#[tokio::test]
async fn a_call_without_a_login_names_the_command_and_a_login_makes_it_work() {
    let server = LoginServer::start();
    let user = User::of(&server);
    let error = user.used().await.expect_err("not logged in");
    assert_eq!(error.code, ErrorCode::PermissionDenied);
    assert_eq!(error.message, "the MCP server t needs a login: it wants a login");
    let suggestion = error.suggestion.expect("what to do");
    assert!(suggestion.contains("`toolkiln mcp login t`"), "{suggestion}");
    assert!(server.requests_to("/authorize").is_empty(), "no browser was opened");
    user.logged_in().await.expect("a login");
    assert_eq!(user.used().await.expect("tools"), 1);
    let (_, registered) = server.requests_to("/register").pop().expect("a registration");
    for part in [r#""application_type":"native""#, r#""refresh_token""#, r#""none""#] {
        assert!(registered.contains(part), "{part} in {registered}");
    }
    let (head, form) = server.requests_to("/token").pop().expect("a token request");
    assert!(form.contains("resource=") && !head.contains("token="), "{form}");
    assert!(server.requests_to("/authorize")[0].0.contains("resource="));
}

#[tokio::test]
async fn tokens_are_renewed_before_they_expire_and_each_refresh_token_is_used_once() {
    let server = LoginServer::start();
    server.state().lifetime = Some(1);
    let user = User::of(&server);
    user.logged_in().await.expect("a login");
    // The server knows a refresh token once, so a second use of one would end the login.
    for round in 1..=3 {
        assert_eq!(user.used().await.expect("tools"), 1, "round {round}");
    }
    let renewals = server.requests_to("/token").len();
    assert!(renewals > 3, "{renewals}");
    server.state().lifetime = Some(3600);
    assert_eq!(user.used().await.expect("tools"), 1);
    server.state().tokens.clear();
    assert_eq!(user.used().await.expect("renewed after a refusal"), 1);
}

#[tokio::test]
async fn processes_that_renew_at_the_same_time_share_what_one_of_them_gets() {
    let server = LoginServer::start();
    let user = User::of(&server);
    user.logged_in().await.expect("a login");
    server.state().tokens.clear();
    let before = server.requests_to("/token").len();
    let all = (0..8).map(|_| {
        let user = user.clone();
        tokio::spawn(async move { user.used().await.map_err(|error| error.message) })
    });
    for one in all.collect::<Vec<_>>() {
        assert_eq!(one.await.expect("no panic"), Ok(1));
    }
    assert_eq!(server.requests_to("/token").len(), before + 1);
}

#[tokio::test]
async fn a_login_that_ended_at_the_server_is_asked_for_again() {
    let server = LoginServer::start();
    let user = User::of(&server);
    user.logged_in().await.expect("a login");
    let kept = user.vault.text();
    assert!(kept.contains("refresh-3-secret"), "{kept}");
    assert!(user.client().log_out().await.expect("logged out"));
    assert_eq!(server.requests_to("/revoke").len(), 1);
    assert_eq!(user.vault.text(), "");
    assert!(!user.client().log_out().await.expect("nothing to do"));
    // What was kept by another process is worth nothing any more.
    user.vault.files.lock().unwrap().insert("t.json".into(), kept.into_bytes());
    server.state().tokens.clear();
    let error = user.used().await.expect_err("revoked");
    assert!(error.message.contains("the login has ended"), "{}", error.message);
    assert!(!error.message.contains("secret"), "a server repeats the token: {}", error.message);
}

#[tokio::test]
async fn more_rights_are_asked_for_with_the_next_login_and_not_for_ever() {
    let server = LoginServer::start();
    server.state().resource.insert("scopes_supported".into(), json!(["read"]));
    let user = User::of(&server);
    user.logged_in().await.expect("a login");
    server.state().wanted_scope = Some("write".into());
    let error = user.used().await.expect_err("not granted");
    assert!(error.message.ends_with("it wants your consent to: write"), "{}", error.message);
    assert_eq!(error.code, ErrorCode::PermissionDenied);
    user.logged_in().await.expect("a login");
    assert_eq!(user.used().await.expect("tools"), 1);
    let (asked, _) = server.requests_to("/authorize").pop().expect("an address");
    assert!(asked.contains("scope=read+write"), "{asked}");
    // A server that is never content does not send its user to log in again and again.
    for token in server.state().tokens.values_mut() {
        token.clear();
    }
    let error = user.used().await.expect_err("never content");
    assert_eq!(error.code, ErrorCode::ExecutionError);
    assert!(error.message.contains("asks for nothing more"), "{}", error.message);
}

#[tokio::test]
async fn a_client_with_a_secret_needs_no_user() {
    let server = LoginServer::start();
    let mut user = User::of(&server);
    user.config.client_id = Some("machine".into());
    user.config.issuer = Some(server.origin());
    user.config.grant = OAuthGrant::ClientCredentials;
    user.secret = Some("machine-secret");
    assert_eq!(user.used().await.expect("tools"), 1);
    server.state().tokens.clear();
    assert_eq!(user.used().await.expect("another token"), 1);
    server.state().wanted_scope = Some("write".into());
    assert_eq!(user.used().await.expect("more rights"), 1);
    assert!(matches!(user.begun().await, Ok((_, Begun::Done))));
    assert!(
        server.requests_to("/authorize").is_empty() && server.requests_to("/register").is_empty()
    );
    let kept = user.vault.text();
    assert!(kept.contains("access-") && !kept.contains("machine-secret"), "{kept}");
    user.secret = Some("wrong-secret");
    server.state().tokens.clear();
    let error = user.used().await.expect_err("a wrong secret");
    assert!(error.message.contains("invalid_client"), "{}", error.message);
}

#[tokio::test]
async fn clients_are_configured_described_by_a_document_or_registered() {
    let server = LoginServer::start();
    let mut user = User::of(&server);
    user.config.client_metadata_url = Some("https://me.example/client.json".into());
    let (_, attempt) = user.asked().await.expect("registered");
    assert!(attempt.url().contains("client_id=registered"));
    server.state().metadata.insert("client_id_metadata_document_supported".into(), json!(true));
    let (_, attempt) = user.asked().await.expect("described");
    assert!(attempt.url().contains("client_id=https%3A%2F%2Fme.example%2Fclient.json"));
    user.config.client_id = Some("mine".into());
    let (_, attempt) = user.asked().await.expect("configured");
    assert!(attempt.url().contains("client_id=mine"));
    user.config = Default::default();
    server.state().metadata.insert("registration_endpoint".into(), json!(null));
    let why = user.asked().await.expect_err("no way to become a client");
    assert!(why.contains("`oauth.client_id`"), "{why}");
}

#[tokio::test]
async fn a_server_that_trusts_another_issuer_now_is_registered_with_anew() {
    let (server, other) = (LoginServer::start(), LoginServer::start());
    let mut user = User::of(&server);
    user.logged_in().await.expect("a login");
    server.state().issuer = Some(other.origin());
    server.state().tokens.clear();
    user.logged_in().await.expect("a login at the other");
    assert_eq!(
        (server.requests_to("/register").len(), other.requests_to("/register").len()),
        (1, 1)
    );
    let seen = format!("{:?}", other.state().requests);
    assert!(!seen.contains("refresh-") && !seen.contains("access-"), "{seen}");
    // A client of one's own belongs to the issuer where it was registered.
    user.config.client_id = Some("mine".into());
    server.state().issuer = None;
    let why = user.asked().await.expect_err("another issuer");
    assert!(why.contains("`oauth.issuer`"), "{why}");
    user.config.issuer = Some(server.origin());
    user.asked().await.expect("named by the user");
    user.config.issuer = Some("https://auth.example".into());
    let why = user.asked().await.expect_err("not trusted by the server");
    assert!(why.contains("https://auth.example"), "{why}");
}

#[tokio::test]
async fn the_browser_comes_back_to_this_machine() {
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
    let origin = callback.redirect().replace("/callback", "");
    let visits = std::thread::spawn(move || {
        let others = ["/", "/callback", "/callback?code=x&state=y", "/favicon.ico"];
        let mut statuses: Vec<String> =
            others.iter().map(|path| LoginServer::visit(&format!("{origin}{path}"))).collect();
        statuses.push(LoginServer::visit(&redirected));
        statuses
    });
    let answer = callback.redirected(&attempt).await;
    assert_eq!(visits.join().expect("no panic"), ["400", "400", "400", "400", "200"]);
    client.finish(&attempt, &answer).await.expect("a login");
    assert_eq!(user.used().await.expect("tools"), 1);
}
