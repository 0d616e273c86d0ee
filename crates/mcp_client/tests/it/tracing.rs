//! What servers are told of the trace in which they are called.

use std::sync::Arc;

use async_trait::async_trait;
use protocol::{ErrorCode, MessageHandle, PlanStep, ToolError, ToolResult, TraceContext};
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;
use tool_system::{AgentHost, Delegation, ListedTool, Recalled, TextSearch};

use crate::http_server::{Answer, AnswerKind, HttpServer, echoed, legacy, modern};
use crate::tools::Tools;

/// A conversation that is traced.
struct Traced(TraceContext);

fn not_here() -> ToolError {
    ToolError::new(ErrorCode::PermissionDenied, "not in this test")
}

#[async_trait]
impl AgentHost for Traced {
    async fn plan_changed(&self, _: Vec<PlanStep>) -> Result<(), ToolError> {
        Err(not_here())
    }

    async fn delegate(&self, _: Delegation, _: &CancellationToken) -> ToolResult {
        Err(not_here())
    }

    fn tools_on_demand(&self) -> Vec<Arc<ListedTool>> {
        Vec::new()
    }

    async fn recall(&self, _: MessageHandle) -> Result<Recalled, ToolError> {
        Err(not_here())
    }

    async fn was_told(&self, _: TextSearch) -> bool {
        true
    }

    fn trace_context(&self, call_id: &str) -> Option<TraceContext> {
        (call_id == "c1").then(|| self.0.clone())
    }
}

fn server(is_modern: bool) -> HttpServer {
    let kind = AnswerKind::Json;
    HttpServer::start(move |seen| {
        let greeting = if is_modern { modern(kind, seen) } else { legacy(kind, "s1", seen) };
        greeting.unwrap_or_else(|| Answer::message(kind, &echoed(seen)))
    })
}

/// The metadata of the only call, but for what every request has.
fn meta(server: &HttpServer) -> Value {
    let mut calls = server.asked("tools/call");
    assert_eq!(calls.len(), 1);
    let mut meta = calls.remove(0).message["params"]["_meta"].take();
    let fields = meta.as_object_mut().expect("every call has metadata");
    assert!(fields.remove("progressToken").is_some());
    fields.retain(|key, _| !key.starts_with("io.modelcontextprotocol/"));
    meta
}

#[tokio::test]
async fn a_call_of_a_traced_conversation_names_the_span_in_both_eras() {
    for is_modern in [true, false] {
        for state in [None, Some("vendor=1".to_owned())] {
            let server = server(is_modern);
            let context = TraceContext {
                trace: [1; 16],
                span: [2; 8],
                is_sampled: true,
                state: state.clone(),
            };
            let tools = Tools::of_conversation(&server, Some(Arc::new(Traced(context)))).await;
            assert_eq!(tools.echo("hello").await.unwrap(), "hello");
            let parent = format!("00-{}-{}-01", "01".repeat(16), "02".repeat(8));
            let expected = match state {
                None => json!({"traceparent": parent}),
                Some(state) => json!({"traceparent": parent, "tracestate": state}),
            };
            assert_eq!(meta(&server), expected);
            // What is asked beside the call does not belong to it.
            let listed = &server.asked("tools/list")[0].message;
            assert_eq!(listed["params"]["_meta"].get("traceparent"), None);
        }
    }
}

#[tokio::test]
async fn a_call_that_is_not_traced_names_nothing() {
    let server = server(true);
    let tools = Tools::of(&server).await;
    assert_eq!(tools.echo("hello").await.unwrap(), "hello");
    assert_eq!(meta(&server), json!({}));
}
