//! What a server sends is bounded, and nothing but its list of tools says how they are called.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use protocol::ErrorCode;
use serde_json::{Value, json};
use tokio::sync::mpsc::unbounded_channel;

use crate::http_server::{Answer, AnswerKind, HttpServer, Seen, echoed, modern};
use crate::tools::Tools;

/// Requests that our side has under way at once at most.
const AT_ONCE: usize = 64;

#[tokio::test]
async fn a_message_with_too_many_values_is_not_taken_apart() {
    for kind in AnswerKind::BOTH {
        let is_flooded = Arc::new(AtomicBool::new(true));
        let floods = Arc::clone(&is_flooded);
        let server = HttpServer::start(move |seen| {
            modern(kind, seen).unwrap_or_else(|| {
                let mut result = echoed(seen);
                if floods.load(Ordering::SeqCst) {
                    result["result"]["more"] = vec![Value::from(0); 500_000].into();
                }
                Answer::message(kind, &result)
            })
        });
        let tools = Tools::of(&server).await;
        let error = tools.echo("hello").await.unwrap_err();
        assert_eq!(error.code, ErrorCode::ExecutionError, "{kind:?}");
        assert!(error.message.contains("too large to be read"), "{kind:?}: {error:?}");
        is_flooded.store(false, Ordering::SeqCst);
        assert_eq!(tools.echo("again").await.unwrap(), "again", "{kind:?}");
    }
}

/// A tool that wants its argument in a header.
fn wanting(header: &str) -> Value {
    let word = json!({"type": "string", "x-mcp-header": header});
    json!({"name": "echo", "inputSchema": {"type": "object", "properties": {"word": word}}})
}

fn sent_headers(seen: &Seen) -> Vec<(&str, &str)> {
    let all = seen.headers.iter().map(|(name, value)| (name.as_str(), value.as_str()));
    all.filter(|(name, _)| name.starts_with("mcp-param-")).collect()
}

#[tokio::test]
async fn only_the_list_of_tools_says_which_arguments_travel_in_headers() {
    let server = HttpServer::start(|seen| {
        if seen.what() == "tools/list" {
            let list = json!({"resultType": "complete", "tools": [wanting("Told")]});
            return Answer::json(&seen.result(list));
        }
        modern(AnswerKind::Json, seen).unwrap_or_else(|| {
            let mut result = echoed(seen);
            result["result"]["tools"] = json!([wanting("Untold")]);
            Answer::json(&result)
        })
    });
    let tools = Tools::of(&server).await;
    for word in ["one", "two"] {
        assert_eq!(tools.echo(word).await.unwrap(), word);
        let calls = server.asked("tools/call");
        assert_eq!(sent_headers(calls.last().unwrap()), [("mcp-param-told", word)]);
    }
}

#[tokio::test]
async fn a_server_that_never_takes_a_withdrawal_can_be_called_again() {
    let (arrived, mut arrivals) = unbounded_channel();
    let server = HttpServer::start(move |seen| {
        let is_slow = seen.message["params"]["arguments"]["word"] == "slow";
        if is_slow || seen.what() == "notifications/cancelled" {
            arrived.send(seen.what().to_owned()).unwrap();
            // For as long as the test runs.
            std::thread::park();
        }
        modern(AnswerKind::Json, seen).unwrap_or_else(|| Answer::json(&echoed(seen)))
    });
    let tools = Tools::of(&server).await;
    for _ in 0..AT_ONCE {
        let withdrawn = async { assert_eq!(arrivals.recv().await.as_deref(), Some("tools/call")) };
        let error = tools.withdrawn("slow", withdrawn).await.unwrap_err();
        assert_eq!(error.code, ErrorCode::Cancelled);
        assert_eq!(arrivals.recv().await.as_deref(), Some("notifications/cancelled"));
    }
    assert!(tools.echo("busy").await.unwrap_err().message.contains("too many requests"));
    tokio::time::pause();
    tokio::time::advance(Duration::from_secs(31)).await;
    for _ in 0..AT_ONCE {
        tokio::task::yield_now().await;
    }
    tokio::time::resume();
    assert_eq!(tools.echo("hello").await.unwrap(), "hello");
}
