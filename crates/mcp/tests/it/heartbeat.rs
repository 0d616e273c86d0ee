//! Signs of life during silence: for clients that asked for them, and while the call runs.
//!
//! The clock is stopped. It moves when it is told to, and jumps ahead when nothing is left to do.

use std::sync::Arc;
use std::time::Duration;

use serde_json::{Value, json};

use crate::client::{Client, Era};
use crate::questions::{Question, accept, asked_client, assert_done};
use crate::scripted_tools::{Talk, Wait};

/// Longer than the silence after which a sign of life is sent.
const STEP: Duration = Duration::from_secs(11);

/// Lets so many signs of life become due, one after the other.
async fn pass(steps: usize) {
    for _ in 0..steps {
        tokio::time::advance(STEP).await;
        // Whatever is due passes several tasks on its way to the client.
        for _ in 0..20 {
            tokio::task::yield_now().await;
        }
    }
}

fn with_token(name: &str) -> Value {
    json!({"name": name, "_meta": {"progressToken": "p"}})
}

fn is_heartbeat(message: &Value) -> bool {
    let text = message["params"]["message"].as_str();
    message["method"] == "notifications/progress"
        && text.is_some_and(|text| text.starts_with("still running after "))
}

#[tokio::test(start_paused = true)]
async fn without_a_token_silence_stays_silent() {
    for era in Era::BOTH {
        let talk = Arc::new(Talk::default());
        let mut client = Client::with_tools(era, [Arc::clone(&talk) as _]).await;
        let id = client.send_request("tools/call", json!({"name": "talk"})).await;
        pass(10).await;
        talk.go_on.notify_one();
        assert_eq!(client.next().await.expect("the result")["id"], id);
        assert_eq!(client.finish().await, Vec::<Value>::new());
    }
}

#[tokio::test(start_paused = true)]
async fn none_is_sent_after_the_result() {
    for era in Era::BOTH {
        let talk = Arc::new(Talk::default());
        let mut client = Client::with_tools(era, [Arc::clone(&talk) as _]).await;
        let id = client.send_request("tools/call", with_token("talk")).await;
        assert_eq!(client.next().await.expect("progress")["params"]["message"], "1");
        assert!(is_heartbeat(&client.next().await.expect("a sign of life")));
        talk.go_on.notify_one();
        let result = client.answer(id).await;
        assert_eq!(result["result"]["structuredContent"], json!({"said": 4}));
        // What came before the result.
        assert_eq!(client.next().await.expect("progress")["params"]["message"], "234");
        pass(10).await;
        client.assert_alive().await;
        assert_eq!(client.finish().await, Vec::<Value>::new());
    }
}

#[tokio::test(start_paused = true)]
async fn none_is_sent_after_a_cancel() {
    for era in Era::BOTH {
        let (wait, mut reports) = Wait::new();
        let mut client = Client::with_tools(era, [wait as _]).await;
        let id = client.send_request("tools/call", with_token("wait")).await;
        assert_eq!(client.next().await.expect("progress")["params"]["message"], "waiting");
        assert!(is_heartbeat(&client.next().await.expect("a sign of life")));
        let cancel = json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": id}});
        client.send(&cancel).await;
        assert_eq!((reports.recv().await, reports.recv().await), (Some("begun"), Some("given up")));
        pass(10).await;
        client.assert_alive().await;
        assert_eq!(client.finish().await, Vec::<Value>::new());
    }
}

/// A client that does not read for a day: the call goes on, and what it is told later is bounded.
#[tokio::test(start_paused = true)]
async fn a_client_that_does_not_read_is_not_buried() {
    for era in Era::BOTH {
        let talk = Arc::new(Talk::default());
        let mut client = Client::with_tools(era, [Arc::clone(&talk) as _]).await;
        let id = client.send_request("tools/call", with_token("talk")).await;
        pass(8_000).await;
        talk.go_on.notify_one();
        pass(1).await;
        let (mut signs, mut last) = (0, 0.0);
        let result = loop {
            let message = client.next().await.expect("the result comes");
            if message["id"] == id {
                break message;
            }
            let progress = message["params"]["progress"].as_f64().expect("progress");
            assert!(progress > last, "{message}");
            last = progress;
            signs += usize::from(is_heartbeat(&message));
        };
        assert_eq!(result["result"]["isError"], false, "{result}");
        // As many as a pipe holds, and not one for each of the 8,000 silences.
        assert!((100..1_500).contains(&signs), "{era:?}: {signs}");
        pass(3).await;
        client.assert_alive().await;
        assert_eq!(client.finish().await, Vec::<Value>::new());
    }
}

/// The request has ended with the question, and its token with it.
#[tokio::test(start_paused = true)]
async fn none_is_sent_while_a_question_waits_between_two_requests() {
    let mut client = asked_client(Era::Stateless).await;
    let arguments = json!({"path": "README.md", "content": "more\n"});
    let mut call = with_token("append_file");
    call["arguments"] = arguments;
    let answer = client.request("tools/call", call.clone()).await;
    let question = Question::in_answer(call, &answer);
    pass(10).await;
    client.assert_alive().await;
    assert_done(&question.answer(&mut client, accept("once")).await);
    assert_eq!(client.project.read("README.md"), "hello\nmore\n");
    assert_eq!(client.finish().await, Vec::<Value>::new());
}

/// A form that is open for minutes is no reason for the client to give the call up.
#[tokio::test(start_paused = true)]
async fn they_are_sent_while_the_user_thinks() {
    let mut client = asked_client(Era::Handshake).await;
    let mut call = with_token("append_file");
    call["arguments"] = json!({"path": "README.md", "content": "more\n"});
    let id = client.send_request("tools/call", call).await;
    let asked = client.next().await.expect("a question");
    assert_eq!(asked["method"], "elicitation/create", "{asked}");
    for _ in 0..3 {
        assert!(is_heartbeat(&client.next().await.expect("a sign of life")));
    }
    client.send(&json!({"jsonrpc": "2.0", "id": asked["id"], "result": accept("once")})).await;
    assert_done(&client.answer(id).await);
    assert_eq!(client.project.read("README.md"), "hello\nmore\n");
}
