//! Calls that other programs make of our tools over MCP, as parts of the traces that they name.

use protocol::TraceContext;

use crate::conventions::{bounded_name, key, method, operation};
use crate::span::{SpanId, SpanKind, SpanStatus, TraceId, TraceSpan};

/// A request `tools/call` that came with the span of its caller.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ServedCall {
    /// The caller's span.
    pub context: TraceContext,
    /// The tool, as the caller names it.
    pub tool: String,
    /// The id of the request, as the caller gave it.
    pub request: String,
    /// The revision of the protocol.
    pub version: String,
    /// Milliseconds since 1970.
    pub began_ms: u64,
    /// Milliseconds since 1970.
    pub ended_ms: u64,
    /// What it failed of.
    pub failure: Option<String>,
}

/// The span of such a call, on our side.
pub(crate) fn server_span(call: ServedCall) -> TraceSpan {
    let ServedCall { context, tool, request, version, began_ms, ended_ms, failure } = call;
    let TraceContext { trace, span: caller, state, .. } = context;
    let id = SpanId::of_request(SpanId(caller), &request, began_ms);
    let tool = bounded_name(&tool);
    let mut attributes = vec![
        (key::OPERATION, operation::EXECUTE_TOOL.into()),
        (key::MCP_METHOD, method::TOOLS_CALL.into()),
        (key::MCP_VERSION, version.into()),
        (key::REQUEST_ID, bounded_name(&request).into()),
        (key::TOOL_NAME, tool.as_str().into()),
    ];
    let status = match failure {
        None => SpanStatus::Unset,
        Some(why) => {
            attributes.push((key::ERROR_TYPE, why.into()));
            SpanStatus::Error
        }
    };
    TraceSpan {
        trace: TraceId(trace),
        id,
        parent: Some(SpanId(caller)),
        state,
        name: format!("{} {tool}", method::TOOLS_CALL),
        kind: SpanKind::Server,
        start_ms: began_ms,
        end_ms: ended_ms.max(began_ms),
        status,
        attributes,
    }
}
