//! A client that sends more than can be worked on.

use std::time::Duration;

use serde_json::{Value, json};

use crate::client::{Client, Era, Setup};
use crate::scripted_tools::Wait;

/// Calls that run at once; see `backlog.rs`.
const RUNNING: i64 = 32;
/// Calls that wait to be run.
const WAITING: i64 = 256;

async fn cancel(client: &mut Client, id: i64) {
    let params = json!({"requestId": id});
    client
        .send(&json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": params}))
        .await;
}

#[tokio::test]
async fn calls_beyond_the_limit_wait_for_room() {
    for era in Era::BOTH {
        let (wait, mut reports) = Wait::new();
        let mut client = Client::with_tools(era, [wait as _]).await;
        let mut ids = Vec::new();
        for _ in 0..RUNNING + 3 {
            ids.push(client.send_request("tools/call", json!({"name": "wait"})).await);
        }
        for _ in 0..RUNNING {
            assert_eq!(reports.recv().await, Some("begun"));
        }
        assert!(reports.try_recv().is_err(), "no more than {RUNNING} run");
        // A call that waits can be withdrawn; it is never begun.
        cancel(&mut client, ids[RUNNING as usize]).await;
        cancel(&mut client, ids[0]).await;
        assert_eq!(reports.recv().await, Some("given up"));
        assert_eq!(reports.recv().await, Some("begun"));
        cancel(&mut client, ids[1]).await;
        assert_eq!(reports.recv().await, Some("given up"));
        assert_eq!(reports.recv().await, Some("begun"));
        cancel(&mut client, ids[2]).await;
        client.assert_alive().await;
        assert_eq!(reports.recv().await, Some("given up"));
        assert!(reports.try_recv().is_err());
    }
}

/// The clock is stopped and jumps ahead whenever nothing else is left to do.
#[tokio::test(start_paused = true)]
async fn nothing_is_read_while_enough_waits() {
    let (wait, _reports) = Wait::new();
    let mut client = Client::with_tools(Era::Handshake, [wait as _]).await;
    // A pipe's worth of lines more than is taken in.
    let filler = "x".repeat(4096);
    let mut sent = 0;
    let more = json!({"name": "wait", "arguments": {"filler": filler}});
    let stuck = loop {
        let sending = client.send_request("tools/call", more.clone());
        match tokio::time::timeout(Duration::from_secs(5), sending).await {
            Ok(_) => sent += 1,
            Err(_) => break true,
        }
        if sent > 2 * (RUNNING + WAITING) {
            break false;
        }
    };
    assert!(stuck, "{sent} calls were read");
    assert!(sent >= RUNNING + WAITING, "{sent}");
}

#[tokio::test]
async fn an_answer_of_the_user_is_read_however_much_waits() {
    let (wait, mut reports) = Wait::new();
    let setup = Setup {
        capabilities: json!({"elicitation": {}}),
        tools: vec![wait as _],
        ..Setup::new(Era::Handshake)
    };
    let mut client = Client::open(setup).await;
    let write =
        json!({"name": "append_file", "arguments": {"path": "README.md", "content": "x\n"}});
    let asking = client.send_request("tools/call", write).await;
    let question = client.next().await.expect("a question");
    assert_eq!(question["method"], "elicitation/create");
    for _ in 0..RUNNING + WAITING {
        client.send_request("tools/call", json!({"name": "wait"})).await;
    }
    for _ in 0..RUNNING {
        assert_eq!(reports.recv().await, Some("begun"));
    }
    let refused = client.request("tools/call", json!({"name": "wait"})).await;
    insta::assert_json_snapshot!(refused["error"], @r#"
    {
      "code": -32603,
      "message": "too many requests wait for an answer; send this one again after some are answered"
    }
    "#);
    let yes = json!({"action": "accept", "content": {"decision": "once"}});
    client.send(&json!({"jsonrpc": "2.0", "id": question["id"], "result": yes})).await;
    let done = client.answer(asking).await;
    assert_eq!(done["result"]["isError"], false, "{done}");
    assert_eq!(client.project.read("README.md"), "hello\nx\n");
}

#[tokio::test]
async fn a_thousand_calls_are_all_answered() {
    let mut client = Client::new(Era::Handshake).await;
    let call = json!({"name": "read_file", "arguments": {"path": "README.md"}});
    let mut answered = 0;
    // The client reads while it writes, as real ones do.
    for _ in 0..20 {
        for _ in 0..50 {
            client.send_request("tools/call", call.clone()).await;
        }
        for _ in 0..50 {
            let answer = client.next().await.expect("an answer");
            assert_eq!(answer["result"]["structuredContent"]["size"], 6);
            answered += 1;
        }
    }
    assert_eq!(answered, 1000);
    assert_eq!(client.finish().await, Vec::<Value>::new());
}
