//! Progress while a call runs, and ending it before its time.

use std::sync::Arc;

use serde_json::{Value, json};

use crate::client::{Client, Era};
use crate::scripted_tools::{Talk, Wait};

#[tokio::test]
async fn a_cancelled_call_stops_and_is_never_heard_of_again() {
    for era in Era::BOTH {
        let (wait, mut reports) = Wait::new();
        let mut client = Client::with_tools(era, [wait as _]).await;
        let call = json!({"name": "wait", "_meta": {"progressToken": "p"}});
        let id = client.send_request("tools/call", call).await;
        assert_eq!(reports.recv().await, Some("begun"));
        assert_eq!(client.next().await.expect("progress")["params"]["message"], "waiting");

        let params = json!({"requestId": id, "reason": "changed my mind"});
        let cancel =
            json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": params});
        client.send(&cancel).await;
        assert_eq!(reports.recv().await, Some("given up"));

        client.assert_alive().await;
        assert_eq!(client.finish().await, Vec::<Value>::new());
    }
}

#[tokio::test]
async fn cancelling_what_is_not_there_changes_nothing() {
    let mut client = Client::new(Era::Handshake).await;
    for params in [json!({"requestId": 99}), json!({"requestId": "x"}), json!({}), json!(null)] {
        let cancel =
            json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": params});
        client.send(&cancel).await;
    }
    client.assert_alive().await;
    assert_eq!(client.finish().await, Vec::<Value>::new());
}

#[tokio::test]
async fn output_comes_as_growing_progress_and_none_after_the_result() {
    for era in Era::BOTH {
        let talk = Arc::new(Talk::default());
        let mut client = Client::with_tools(era, [Arc::clone(&talk) as _]).await;
        let call = json!({"name": "talk", "_meta": {"progressToken": 7}});
        let id = client.send_request("tools/call", call).await;
        let first = client.next().await.expect("progress");
        insta::allow_duplicates! {
            insta::assert_json_snapshot!(first, @r#"
            {
              "jsonrpc": "2.0",
              "method": "notifications/progress",
              "params": {
                "progressToken": 7,
                "progress": 1.0,
                "message": "1"
              }
            }
            "#);
        }
        talk.go_on.notify_one();
        let second = client.next().await.expect("progress");
        assert_eq!(second["params"]["progress"], 4.0);
        assert_eq!(second["params"]["message"], "234", "what waits together comes together");
        let result = client.next().await.expect("a result");
        assert_eq!((&result["id"], &result["result"]["isError"]), (&json!(id), &json!(false)));
        assert_eq!(client.finish().await, Vec::<Value>::new());
    }
}

#[tokio::test]
async fn without_a_token_there_is_no_progress() {
    let talk = Arc::new(Talk::default());
    let mut client = Client::with_tools(Era::Stateless, [Arc::clone(&talk) as _]).await;
    talk.go_on.notify_one();
    let answer = client.call("talk", json!({})).await;
    assert_eq!(answer["result"]["structuredContent"], json!({"said": 4}));
    assert_eq!(client.finish().await, Vec::<Value>::new());
}

/// The clock is stopped and jumps ahead whenever nothing else is left to do.
#[tokio::test(start_paused = true)]
async fn a_silent_call_tells_that_it_still_runs() {
    let talk = Arc::new(Talk::default());
    let mut client = Client::with_tools(Era::Handshake, [Arc::clone(&talk) as _]).await;
    let call = json!({"name": "talk", "_meta": {"progressToken": "t"}});
    client.send_request("tools/call", call).await;
    let mut told = Vec::new();
    for _ in 0..3 {
        let params = client.next().await.expect("progress")["params"].take();
        told.push(format!("{} {}", params["progress"], params["message"]));
    }
    talk.go_on.notify_one();
    let params = client.next().await.expect("progress")["params"].take();
    told.push(format!("{} {}", params["progress"], params["message"]));
    assert_eq!(
        told,
        [
            r#"1.0 "1""#,
            r#"2.0 "still running after 10 s""#,
            r#"3.0 "still running after 20 s""#,
            r#"6.0 "234""#,
        ]
    );
}

#[tokio::test]
async fn each_call_shows_its_own_output_only() {
    let talk = Arc::new(Talk::default());
    let (wait, mut reports) = Wait::new();
    let mut client = Client::with_tools(Era::Handshake, [Arc::clone(&talk) as _, wait as _]).await;
    let call = json!({"name": "talk", "_meta": {"progressToken": "t"}});
    client.send_request("tools/call", call).await;
    assert_eq!(client.next().await.expect("progress")["params"]["message"], "1");
    client.send_request("tools/call", json!({"name": "wait"})).await;
    assert_eq!(reports.recv().await, Some("begun"));
    talk.go_on.notify_one();
    assert_eq!(client.next().await.expect("progress")["params"]["message"], "234");
}

#[tokio::test]
async fn calls_that_were_sent_before_the_end_are_answered() {
    for era in Era::BOTH {
        let mut client = Client::new(era).await;
        let call = json!({"name": "read_file", "arguments": {"path": "README.md"}});
        let id = client.send_request("tools/call", call).await;
        let rest = client.finish().await;
        assert_eq!(rest.len(), 1);
        assert_eq!(rest[0]["id"], id);
    }
}

/// The clock is stopped and jumps ahead whenever nothing else is left to do.
#[tokio::test(start_paused = true)]
async fn a_call_that_would_outlive_the_client_is_cancelled() {
    let (wait, mut reports) = Wait::new();
    let mut client = Client::with_tools(Era::Handshake, [wait as _]).await;
    client.send_request("tools/call", json!({"name": "wait"})).await;
    assert_eq!(reports.recv().await, Some("begun"));
    let before = tokio::time::Instant::now();
    client.finish().await;
    assert_eq!(reports.recv().await, Some("given up"));
    assert!(before.elapsed().as_secs() < 2, "clients kill after two seconds");
}

#[tokio::test]
async fn a_client_that_says_nothing_can_leave() {
    assert_eq!(Client::silent(Era::Handshake, []).finish().await, Vec::<Value>::new());
}
