//! What differs between the revisions of the protocol.

use serde_json::{Value, json};

use crate::client::{Client, Era, Setup};

async fn client_of(version: &'static str) -> Client {
    Client::open(Setup { version, ..Setup::new(Era::Handshake) }).await
}

fn ping(id: i64) -> Value {
    json!({"jsonrpc": "2.0", "id": id, "method": "ping"})
}

#[tokio::test]
async fn ping_is_answered_before_and_after_the_handshake() {
    let mut client = Client::silent(Era::Handshake, []);
    let id = client.send_plain_request("ping", json!({})).await;
    assert_eq!(client.answer(id).await["result"], json!({}));
    client.initialize("2025-06-18").await;
    let id = client.send_plain_request("ping", json!({})).await;
    assert_eq!(client.answer(id).await["result"], json!({}));
}

#[tokio::test]
async fn stateless_revisions_have_no_ping() {
    let mut client = Client::new(Era::Stateless).await;
    client.assert_alive().await;
    assert_eq!(client.request("ping", json!({})).await["error"]["code"], -32601);
}

#[tokio::test]
async fn a_second_handshake_is_answered_like_the_first() {
    let mut client = client_of("2025-06-18").await;
    let again = client.initialize("1999-01-01").await;
    assert_eq!(again["result"]["protocolVersion"], "2025-11-25");
    let again = client.initialize("2025-03-26").await;
    assert_eq!(again["result"]["protocolVersion"], "2025-03-26");
    client.send(&json!([ping(70)])).await;
    assert_eq!(client.next().await, Some(json!([{"jsonrpc": "2.0", "id": 70, "result": {}}])));
    client.assert_alive().await;
}

#[tokio::test]
async fn a_batch_is_answered_in_one_line_by_the_revision_that_has_batches() {
    let mut client = client_of("2025-03-26").await;
    let read = json!({"name": "read_file", "arguments": {"path": "README.md"}});
    client
        .send(&json!([
            ping(1001),
            {"jsonrpc": "2.0", "id": 1002, "method": "tools/call", "params": read},
            {"jsonrpc": "2.0", "method": "notifications/roots/list_changed"},
            {"foo": 1},
            {"jsonrpc": "2.0", "id": 1003, "method": "no/such"},
        ]))
        .await;
    let answers = client.next().await.expect("an answer");
    let mut told: Vec<String> = answers
        .as_array()
        .expect("a batch")
        .iter()
        .map(|answer| {
            let size = &answer["result"]["structuredContent"]["size"];
            format!("{} {} {size}", answer["id"], answer["error"]["code"])
        })
        .collect();
    told.sort();
    assert_eq!(told, ["1001 null null", "1002 null 6", "1003 -32601 null", "null -32600 null"]);
    client.assert_alive().await;
}

#[tokio::test]
async fn an_id_that_occurs_twice_in_a_batch_is_refused_once() {
    let mut client = client_of("2025-03-26").await;
    client.send(&json!([ping(70), ping(70)])).await;
    let answers = client.next().await.expect("an answer");
    let answers = answers.as_array().expect("a batch");
    let refused = answers.iter().filter(|answer| answer["error"]["code"] == -32600).count();
    assert_eq!((answers.len(), refused), (2, 1), "{answers:?}");
}

#[tokio::test]
async fn a_batch_without_requests_is_not_answered() {
    let mut client = client_of("2025-03-26").await;
    let told = json!({"jsonrpc": "2.0", "method": "notifications/roots/list_changed"});
    client.send(&json!([told, told])).await;
    client.assert_alive().await;
    assert_eq!(client.finish().await, Vec::<Value>::new());
}

#[tokio::test]
async fn a_batch_that_cannot_be_served_is_refused_with_a_reason() {
    let mut client = client_of("2025-03-26").await;
    client.send(&json!([])).await;
    let empty = client.next().await.expect("an answer");
    assert_eq!(empty["error"]["message"], "the batch is empty");
    client.send(&(0..101).map(ping).collect()).await;
    let large = client.next().await.expect("an answer");
    assert_eq!(large["error"]["message"], "the batch holds 101 messages; 100 are the most");
    for version in ["2024-11-05", "2025-06-18", "2025-11-25"] {
        let mut client = client_of(version).await;
        client.send(&json!([ping(7)])).await;
        let answer = client.next().await.expect("an answer");
        insta::allow_duplicates! {
            insta::assert_json_snapshot!(answer, @r#"
            {
              "jsonrpc": "2.0",
              "error": {
                "code": -32600,
                "message": "only revision 2025-03-26 has batches; send one message a line"
              }
            }
            "#);
        }
        client.assert_alive().await;
    }
}

#[tokio::test]
async fn a_request_before_the_handshake_says_what_is_missing() {
    let mut client = Client::silent(Era::Handshake, []);
    let id = client.send_plain_request("tools/list", json!({})).await;
    let answer = client.answer(id).await;
    assert_eq!(answer["error"]["code"], -32602);
    assert!(answer["error"]["message"].as_str().unwrap().contains("protocolVersion"), "{answer}");
    client.initialize("2025-11-25").await;
    client.assert_alive().await;
}
