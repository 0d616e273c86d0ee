//! Looking for servers on this machine, and for the models that they have.

use std::time::Duration;

use providers::catalogue::{COMPATIBLE, Endpoint, endpoint};
use providers::{NoModelList, offered_models, probe_models, probe_ollama};
use testkit::{Fault, ModelServer, Reply};

/// Long enough for a machine that does much else.
const PATIENCE: Duration = Duration::from_secs(10);

#[tokio::test]
async fn its_models_are_named() {
    let server = ModelServer::start([]).with_models(&["qwen3:8b", "llama3:latest"]);
    let expected = Some(vec!["qwen3:8b".to_owned(), "llama3:latest".to_owned()]);
    assert_eq!(probe_ollama(&server.base_url(), PATIENCE).await, expected);
    assert_eq!(probe_ollama(&format!("http://{}/", server.address()), PATIENCE).await, expected);
}

#[tokio::test]
async fn a_server_like_openais_names_its_models() {
    let server = ModelServer::start([]).with_models(&["qwen3-coder"]);
    let named = probe_models(&server.base_url(), PATIENCE).await;
    assert_eq!(named, Some(vec!["qwen3-coder".to_owned()]));
    let elsewhere = format!("http://{}/elsewhere", server.address());
    assert_eq!(probe_models(&elsewhere, PATIENCE).await, None);
    assert_eq!(probe_models("no address", PATIENCE).await, None);
}

#[tokio::test]
async fn no_server_and_another_one_are_none() {
    let free = std::net::TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = free.local_addr().expect("a bound port has a number");
    // It listens, and never answers.
    assert_eq!(probe_ollama(&format!("http://{address}"), Duration::from_millis(50)).await, None);
    drop(free);
    assert_eq!(probe_ollama(&format!("http://{address}"), PATIENCE).await, None);
    assert_eq!(probe_ollama("no address", PATIENCE).await, None);
    let other = ModelServer::start([Reply::fault(Fault::HangBefore)]);
    assert_eq!(
        probe_ollama(&format!("http://{}/elsewhere", other.address()), PATIENCE).await,
        None
    );
}

#[tokio::test]
async fn a_provider_lists_what_it_offers_or_says_why_not() {
    let server = ModelServer::start([]).with_models(&["one", "two"]);
    let asked = async |provider: &Endpoint, address: &str| {
        offered_models(&provider.config(Some(address), None), PATIENCE).await
    };
    let anthropic = endpoint("anthropic").expect("it is known");
    let ollama = endpoint("ollama").expect("it is known");
    let expected = Ok(vec!["one".to_owned(), "two".to_owned()]);
    assert_eq!(asked(ollama, &server.base_url()).await, expected);
    assert_eq!(asked(&COMPATIBLE, &server.base_url()).await, expected);
    let elsewhere = format!("http://{}/elsewhere", server.address());
    let refused = asked(anthropic, &elsewhere).await;
    assert_eq!(refused, Err(NoModelList::NoList("anthropic".into())));
    let free = std::net::TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = format!("http://{}", free.local_addr().expect("a bound port has a number"));
    // It listens, and never answers.
    let silent = ollama.config(Some(&address), None);
    let silent = offered_models(&silent, Duration::from_millis(50)).await;
    let told = silent.expect_err("nothing answers").to_string();
    assert_eq!(told, "ollama does not answer within 50 ms");
    drop(free);
    let gone = asked(ollama, &address).await.expect_err("nothing listens").to_string();
    assert!(gone.starts_with("cannot connect to http://127.0.0.1:"), "{gone}");
}
