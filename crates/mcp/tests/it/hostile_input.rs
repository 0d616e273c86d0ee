//! Lines that no well-behaved client sends; none of them ends the server.

use std::sync::Arc;

use serde_json::{Value, json};

use crate::client::{Client, Era};
use crate::scripted_tools::{Measure, Talk};

const MEBIBYTE: usize = 1024 * 1024;

#[tokio::test]
async fn noise_is_passed_over_at_any_time() {
    for era in Era::BOTH {
        let mut client = Client::silent(era, []);
        for _ in 0..2 {
            for noise in [&b"garbage"[..], b"", b"\r", b"\xFF\xFE\x00", b"{\"jsonrpc\":", b"\"\\"] {
                client.send_line(noise).await;
            }
            if era == Era::Handshake {
                client.initialize("2025-11-25").await;
            }
            client.assert_alive().await;
        }
        assert_eq!(client.finish().await, Vec::<Value>::new());
    }
}

#[tokio::test]
async fn messages_out_of_turn_are_passed_over() {
    for era in Era::BOTH {
        let mut client = Client::silent(era, []);
        for early in [
            json!({"jsonrpc": "2.0", "method": "notifications/initialized"}),
            json!({"jsonrpc": "2.0", "method": "notifications/unheard_of", "params": {"a": 1}}),
            json!({"jsonrpc": "2.0", "id": 50, "result": {}}),
            json!({"jsonrpc": "2.0", "id": 51, "error": {"code": 1, "message": "no"}}),
        ] {
            client.send(&early).await;
        }
        if era == Era::Handshake {
            client.initialize("2025-11-25").await;
        }
        client.assert_alive().await;
        assert_eq!(client.finish().await, Vec::<Value>::new());
    }
}

#[tokio::test]
async fn json_that_is_no_message_is_an_invalid_request() {
    let mut client = Client::new(Era::Handshake).await;
    for line in ["{}", "[]", "7", r#"{"foo":"bar"}"#, r#"[{"jsonrpc":"2.0","id":1}]"#] {
        client.send_line(line.as_bytes()).await;
        let answer = client.next().await.expect("an answer");
        assert_eq!(answer["error"]["code"], -32600, "{line}: {answer}");
        assert_eq!(answer.get("id"), None);
    }
    client.assert_alive().await;
}

#[tokio::test]
async fn a_key_that_occurs_twice_is_refused() {
    let mut client = Client::new(Era::Handshake).await;
    let line = br#"{"jsonrpc":"2.0","id":9,"method":"tools/call","params":{"name":"read_file","arguments":{"path":"README.md","path":"src/lib.rs"}}}"#;
    client.send_line(line).await;
    let answer = client.answer(9).await;
    assert_eq!(answer["error"]["code"], -32600);
    assert!(answer["error"]["message"].as_str().is_some_and(|text| text.contains("`path`")));
    client.assert_alive().await;
}

#[tokio::test]
async fn deep_nesting_is_refused_under_the_id_of_the_request() {
    let mut client = Client::new(Era::Handshake).await;
    let deep = format!("{}{}", "[".repeat(100_000), "]".repeat(100_000));
    client.send_line(deep.as_bytes()).await;
    assert_eq!(client.next().await.expect("an answer")["error"]["code"], -32600);
    let request = format!(r#"{{"jsonrpc":"2.0","method":"ping","params":{{"a":{deep}}},"id":77}}"#);
    client.send_line(request.as_bytes()).await;
    assert_eq!(client.answer(77).await["error"]["code"], -32600);
    client.assert_alive().await;
}

#[tokio::test]
async fn a_request_of_twenty_megabytes_is_served() {
    let mut client = Client::with_tools(Era::Stateless, [Arc::new(Measure) as _]).await;
    let text = "x".repeat(20 * MEBIBYTE);
    let answer = client.call("measure", json!({"text": text})).await;
    assert_eq!(answer["result"]["structuredContent"], json!({"length": 20 * MEBIBYTE}));
    client.assert_alive().await;
}

#[tokio::test]
async fn a_request_above_the_limit_is_refused_under_its_id() {
    let mut client = Client::with_tools(Era::Handshake, [Arc::new(Measure) as _]).await;
    let mebibyte = vec![b'x'; MEBIBYTE];
    // Some clients write the id first and some write it last.
    for (head, tail) in [
        (&br#"{"jsonrpc":"2.0","id":88,"method":"tools/call","params":{"x":""#[..], &br#""}}"#[..]),
        (br#"{"method":"tools/call","params":{"x":""#, br#""},"jsonrpc":"2.0","id":88}"#),
    ] {
        client.send_bytes(head).await;
        for _ in 0..70 {
            client.send_bytes(&mebibyte).await;
        }
        client.send_line(tail).await;
        let answer = client.answer(88).await;
        insta::allow_duplicates! {
            insta::assert_json_snapshot!(answer["error"], @r#"
            {
              "code": -32600,
              "message": "the message is longer than 67108864 bytes"
            }
            "#);
        }
        client.assert_alive().await;
    }
}

#[tokio::test]
async fn a_last_line_without_its_break_counts() {
    let mut client = Client::new(Era::Handshake).await;
    client.send_bytes(br#"{"jsonrpc":"2.0","id":5,"method":"ping"}"#).await;
    assert_eq!(client.finish().await, [json!({"jsonrpc": "2.0", "id": 5, "result": {}})]);
}

#[tokio::test]
async fn a_request_under_an_id_that_no_answer_can_carry_is_answered() {
    let mut client = Client::new(Era::Handshake).await;
    for id in ["1.5", "null", "true", "18446744073709551615"] {
        let line = format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"ping"}}"#);
        client.send_line(line.as_bytes()).await;
        let answer = client.next().await.expect("an answer");
        assert_eq!((answer.get("id"), &answer["error"]["code"]), (None, &json!(-32600)), "{id}");
    }
    client.assert_alive().await;
}

#[tokio::test]
async fn an_id_that_is_in_use_is_refused_and_the_first_request_is_answered() {
    let talk = Arc::new(Talk::default());
    let mut client = Client::with_tools(Era::Handshake, [Arc::clone(&talk) as _]).await;
    let id = client.send_request("tools/call", json!({"name": "talk"})).await;
    client.send(&json!({"jsonrpc": "2.0", "id": id, "method": "ping"})).await;
    let refusal = client.answer(id).await;
    assert_eq!(refusal["error"]["code"], -32600, "{refusal}");
    talk.go_on.notify_one();
    assert_eq!(client.answer(id).await["result"]["structuredContent"], json!({"said": 4}));
    // An answered id is free again.
    client.send(&json!({"jsonrpc": "2.0", "id": id, "method": "ping"})).await;
    assert_eq!(client.answer(id).await["result"], json!({}));
}
