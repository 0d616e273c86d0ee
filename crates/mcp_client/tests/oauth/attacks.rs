//! What servers, and those between, could try.

use std::io;
use std::net::IpAddr;
use std::sync::Arc;
use std::time::{Duration, Instant};

use mcp_client::oauth::{LoginParts, OAuthClient, Vault};
use serde_json::json;
use testkit::LoginServer;

use super::User;

const METADATA: &str = "/.well-known/oauth-authorization-server";
const RESOURCE: &str = "/.well-known/oauth-protected-resource/mcp";

#[tokio::test]
async fn an_answer_of_another_issuer_is_not_sent_anywhere() {
    let server = LoginServer::start();
    server.state().iss = Some("https://evil.example".into());
    let user = User::of(&server);
    let why = user.logged_in().await.expect_err("mixed up");
    assert!(why.contains("does not come from"), "{why}");
    assert!(server.requests_to("/token").is_empty());
    // Even one that leaves its name out, if it said that it never does.
    let (client, attempt) = user.asked().await.expect("asked");
    let redirected = LoginServer::browse(attempt.url());
    let unnamed = redirected.split("&iss=").next().unwrap_or_default();
    assert!(client.finish(&attempt, unnamed).await.is_err());
    assert!(server.requests_to("/token").is_empty());
}

#[tokio::test]
async fn an_issuer_that_calls_itself_otherwise_is_not_used() {
    let server = LoginServer::start();
    for issuer in [format!("{}/", server.origin()), "https://evil.example".into(), String::new()] {
        server.state().metadata.insert("issuer".into(), json!(issuer));
        let why = User::of(&server).logged_in().await.expect_err("another issuer");
        assert!(why.contains("calls itself"), "{why}");
    }
    assert!(server.requests_to("/register").is_empty());
}

#[tokio::test]
async fn the_answer_to_another_login_is_refused_and_a_code_is_used_once() {
    let server = LoginServer::start();
    let user = User::of(&server);
    let (client, one) = user.asked().await.expect("asked");
    let (other_client, other) = user.asked().await.expect("asked");
    let answer_to_other = LoginServer::browse(other.url());
    assert!(!one.is_answered_by(&answer_to_other));
    let why = client.finish(&one, &answer_to_other).await.expect_err("another state");
    assert!(why.contains("another login"), "{why}");
    assert!(server.requests_to("/token").is_empty());
    other_client.finish(&other, &answer_to_other).await.expect("a login");
    let why = other_client.finish(&other, &answer_to_other).await.expect_err("replayed");
    assert!(why.contains("invalid_grant") && !why.contains("code-"), "{why}");
    assert_eq!(user.used().await.expect("the login is whole"), 1);
}

#[tokio::test]
async fn a_server_without_pkce_is_not_logged_in_to() {
    let server = LoginServer::start();
    for methods in [json!(null), json!([]), json!(["plain"])] {
        server.state().metadata.insert("code_challenge_methods_supported".into(), methods);
        let why = User::of(&server).logged_in().await.expect_err("no S256");
        assert!(why.contains("S256"), "{why}");
    }
    assert!(server.requests_to("/authorize").is_empty());
}

#[tokio::test]
async fn a_description_that_leads_into_a_network_or_is_of_another_server_is_refused() {
    let server = LoginServer::start();
    let user = User::of(&server);
    for inside in
        ["https://10.1.2.3", "https://169.254.169.254", "http://intranet.example", "https://box"]
    {
        server.state().resource.insert("authorization_servers".into(), json!([inside]));
        let why = user.logged_in().await.expect_err("a private address");
        assert!(why.contains("cannot be used"), "{inside}: {why}");
    }
    server.state().resource.clear();
    for endpoint in ["authorization_endpoint", "token_endpoint", "registration_endpoint"] {
        server.state().metadata.insert(endpoint.into(), json!("https://192.168.1.1/x"));
        assert!(user.logged_in().await.is_err(), "{endpoint}");
        server.state().metadata.clear();
    }
    server.state().challenge = Some("Bearer resource_metadata=\"https://10.0.0.1/x\"".into());
    assert!(user.logged_in().await.expect_err("a private address").contains("cannot be used"));
    server.state().challenge = None;
    for other in ["https://evil.example/mcp", "http://127.0.0.1:1/mcp", ""] {
        server.state().resource.insert("resource".into(), json!(other));
        let why = user.logged_in().await.expect_err("another server");
        assert!(why.contains("its description is of"), "{why}");
    }
    assert!(server.requests_to("/token").is_empty());
}

/// A name server of an attacker, by which every name is in the user's own network.
#[derive(Debug)]
struct EvilNames;

impl net::NameResolver for EvilNames {
    fn resolve(&self, _: &str) -> io::Result<Vec<IpAddr>> {
        Ok(vec![IpAddr::from([8, 8, 8, 8]), IpAddr::from([10, 1, 2, 3])])
    }
}

#[tokio::test]
async fn a_name_that_stands_for_a_private_address_is_refused_when_it_is_resolved() {
    let server = LoginServer::start();
    let mut user = User::of(&server);
    user.network.dialer = net::Dialer::new(Arc::new(EvilNames));
    server.state().resource.insert("authorization_servers".into(), json!(["https://auth.example"]));
    let why = user.logged_in().await.expect_err("a private address");
    assert!(why.contains("10.1.2.3 is an address of a private network"), "{why}");
    server.state().resource.clear();
    server.state().metadata.insert("token_endpoint".into(), json!("https://auth.example/token"));
    let why = user.logged_in().await.expect_err("a private address");
    assert!(why.contains("10.1.2.3 is an address of a private network"), "{why}");
}

#[tokio::test]
async fn what_is_for_this_machine_is_not_shown_to_a_proxy() {
    let (server, proxy) = (LoginServer::start(), LoginServer::start());
    let mut user = User::of(&server);
    user.network.http_proxy = Some(net::Upstream::new(&proxy.origin()));
    user.logged_in().await.expect("a login");
    assert_eq!(user.used().await.expect("tools"), 1);
    assert!(proxy.state().requests.is_empty());
}

#[tokio::test]
async fn no_redirect_leads_a_login_to_another_server() {
    let (server, other) = (LoginServer::start(), LoginServer::start());
    let user = User::of(&server);
    for path in [RESOURCE, METADATA, "/register", "/token"] {
        let to = format!("{}{path}", other.origin());
        for status in ["302 Found", "307 Temporary Redirect"] {
            let raw = format!(
                "HTTP/1.1 {status}\r\nlocation: {to}\r\ncontent-length: 0\r\nconnection: close\r\n\r\n"
            );
            server.state().raw.insert(path.into(), raw);
            let why = user.logged_in().await.expect_err("a redirect");
            assert!(why.contains("redirect"), "{path}: {why}");
        }
        server.state().raw.clear();
    }
    assert!(other.state().requests.is_empty(), "{:?}", other.state().requests);
    // Nor is a request with a token repeated elsewhere.
    user.logged_in().await.expect("a login");
    let raw = format!(
        "HTTP/1.1 307 Temporary Redirect\r\nlocation: {}\r\ncontent-length: 0\r\nconnection: close\r\n\r\n",
        other.url()
    );
    server.state().raw.insert("/mcp".into(), raw);
    assert!(user.used().await.is_err());
    assert!(other.state().requests.is_empty());
}

#[tokio::test]
async fn a_token_of_one_server_is_never_shown_to_another() {
    let (one, other) = (LoginServer::start(), LoginServer::start());
    let user = User::of(&one);
    user.logged_in().await.expect("a login");
    // The same name, and another address: the configuration was changed.
    let moved = User { url: other.url(), ..user.clone() };
    let error = moved.used().await.expect_err("no login there");
    assert!(error.message.contains("needs a login"), "{}", error.message);
    // The other one claims to be the first, or to trust the same issuer.
    other.state().resource.insert("resource".into(), json!(one.url()));
    assert!(moved.logged_in().await.is_err());
    other.state().resource.clear();
    other.state().issuer = Some(one.origin());
    assert!(moved.used().await.is_err());
    for (head, body) in &other.state().requests {
        assert!(!head.to_lowercase().contains("authorization:"), "{head}");
        assert!(!body.contains("secret"), "{body}");
    }
    // By the configured issuer, a login by another one is none.
    let mut bound = user.clone();
    bound.config.issuer = Some("https://auth.example".into());
    let error = bound.used().await.expect_err("another issuer");
    assert!(error.message.contains("needs a login"), "{}", error.message);
}

#[tokio::test]
async fn huge_endless_and_odd_documents_cost_a_login_and_nothing_else() {
    let server = LoginServer::start();
    let user = User::of(&server);
    let head = "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\n";
    let huge = format!("{head}content-length: 900000\r\n\r\n{}", " ".repeat(900_000));
    let endless = format!("{head}\r\n{{…");
    let deep = "[".repeat(100_000);
    let deep = format!("{head}content-length: {}\r\nconnection: close\r\n\r\n{deep}", deep.len());
    let began = Instant::now();
    for path in [RESOURCE, METADATA] {
        for raw in [&huge, &endless] {
            server.state().raw.insert(path.into(), raw.clone());
            let why = user.logged_in().await.expect_err("too much");
            assert!(why.contains("too large"), "{path}: {why}");
        }
        for body in
            [deep.as_str(), "HTTP/1.1 200 OK\r\ncontent-length: 4\r\n\r\nnull", "garbage\r\n\r\n"]
        {
            server.state().raw.insert(path.into(), body.to_owned());
            assert!(user.logged_in().await.is_err(), "{path}");
        }
        server.state().raw.clear();
    }
    assert!(began.elapsed() < Duration::from_secs(60), "{:?}", began.elapsed());
    let issuers: Vec<String> =
        (0..10_000).map(|number| format!("https://{number}.example")).collect();
    server.state().resource.insert("authorization_servers".into(), json!(issuers));
    server.state().resource.insert("scopes_supported".into(), json!(vec!["x".repeat(300); 5000]));
    assert!(user.logged_in().await.is_err());
}

#[tokio::test]
async fn there_is_no_login_over_a_line_that_others_can_read() {
    let user = User::of(&LoginServer::start());
    for url in ["http://mcp.example/mcp", "http://10.0.0.1/mcp"] {
        let parts = LoginParts {
            url: url.into(),
            config: Default::default(),
            client_secret: None,
            network: Default::default(),
            vault: user.vault.clone() as Arc<dyn Vault>,
            file: "t.json".into(),
        };
        let why = OAuthClient::new(parts).expect_err("not encrypted");
        assert!(why.contains("https"), "{why}");
    }
}
