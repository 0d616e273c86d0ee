//! Calls that name a span of their caller's.

use std::sync::{Arc, Mutex};

use mcp::{CallTracer, TracedCall};
use serde_json::{Value, json};

use crate::client::{Client, Era, Setup};

const PARENT: &str = "00-0af7651916cd43dd8448eb211c80319c-00f067aa0ba902b7-01";

/// What was told.
#[derive(Default)]
struct Calls(Mutex<Vec<TracedCall>>);

impl CallTracer for Calls {
    fn ended(&self, call: TracedCall) {
        self.0.lock().unwrap().push(call);
    }
}

async fn called(client: &mut Client, path: &str, meta: Value) -> i64 {
    let params = json!({"name": "read_file", "arguments": {"path": path}, "_meta": meta});
    let id = client.send_request("tools/call", params).await;
    client.answer(id).await;
    id
}

#[tokio::test]
async fn a_call_that_names_a_span_is_told_of_with_how_it_ended() {
    for era in Era::BOTH {
        let calls = Arc::<Calls>::default();
        let tracer: Arc<dyn CallTracer> = calls.clone();
        let mut client = Client::open(Setup { tracer: Some(tracer), ..Setup::new(era) }).await;
        let traced = json!({"traceparent": PARENT, "tracestate": "vendor=1"});
        let ids = [
            called(&mut client, "README.md", traced.clone()).await,
            called(&mut client, "nowhere.md", traced).await,
        ];
        // Whatever is no span changes nothing.
        for meta in [json!({}), json!({"traceparent": "00-nonsense"}), json!({"traceparent": 7})] {
            called(&mut client, "README.md", meta).await;
        }
        client.assert_alive().await;
        let told = std::mem::take(&mut *calls.0.lock().unwrap());
        let failures: Vec<_> = told.iter().map(|call| call.failure.as_deref()).collect();
        assert_eq!(failures, [None, Some("tool_error")], "{era:?}");
        let version = if era == Era::Stateless { "2026-07-28" } else { "2025-11-25" };
        for (call, id) in told.iter().zip(ids) {
            assert_eq!(call.context.traceparent(), PARENT);
            assert_eq!(call.context.state.as_deref(), Some("vendor=1"));
            assert_eq!((call.tool.as_str(), call.version.as_str()), ("read_file", version));
            assert_eq!(call.request, id.to_string());
            assert!(call.began <= call.ended);
        }
    }
}

#[tokio::test]
async fn whatever_is_sent_as_a_span_the_call_is_answered_and_no_more_is_told_than_the_standard_allows()
 {
    for era in Era::BOTH {
        let calls = Arc::<Calls>::default();
        let tracer: Arc<dyn CallTracer> = calls.clone();
        let mut client = Client::open(Setup { tracer: Some(tracer), ..Setup::new(era) }).await;
        let huge = "0".repeat(2_000_000);
        let (no_trace, no_span) = ("0".repeat(32), "0".repeat(16));
        for parent in [
            json!(format!("00-{no_trace}-00f067aa0ba902b7-01")),
            json!(format!("00-0af7651916cd43dd8448eb211c80319c-{no_span}-01")),
            json!(format!("00-{huge}-00f067aa0ba902b7-01")),
            json!(format!("{PARENT}\r\nauthorization: x")),
            json!(format!("{PARENT}\u{0}")),
            json!(PARENT.to_uppercase()),
            json!([PARENT]),
            json!({"traceparent": PARENT}),
            json!(null),
        ] {
            called(&mut client, "README.md", json!({"traceparent": parent})).await;
        }
        assert_eq!(std::mem::take(&mut *calls.0.lock().unwrap()), []);
        for state in [
            json!(huge),
            json!("a=1\r\nx: y"),
            json!("a=\u{1b}]0;x\u{7}"),
            json!("\",\"x\":\""),
            json!(["a=1"]),
        ] {
            called(&mut client, "README.md", json!({"traceparent": PARENT, "tracestate": state}))
                .await;
            let told = calls.0.lock().unwrap().pop().expect("the span is good");
            assert_eq!((told.context.state, told.failure), (None, None));
        }
        client.assert_alive().await;
    }
}
