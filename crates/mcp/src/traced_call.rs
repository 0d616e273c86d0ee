//! Calls that name a span of their caller's: whoever traces this process is told of them.

use std::time::SystemTime;

use protocol::TraceContext;
use rmcp::model::{CallToolResponse, ProtocolVersion};
use rmcp::service::RequestContext;
use rmcp::{ErrorData, RoleServer};

/// What a call failed of whose result says so, as the conventions of OpenTelemetry call it.
const TOOL_ERROR: &str = "tool_error";

/// Is told of calls that are parts of other programs' traces.
pub trait CallTracer: Send + Sync {
    /// A request has been answered. Must not wait for anything.
    fn ended(&self, call: TracedCall);
}

/// A request `tools/call` that came with the span of its caller. One that is answered with a question, and its
/// repetition with the answer, are two.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TracedCall {
    /// The caller's span.
    pub context: TraceContext,
    /// The tool, as the caller names it.
    pub tool: String,
    /// The id of the request.
    pub request: String,
    /// The revision of the protocol.
    pub version: String,
    /// When the request was taken up.
    pub began: SystemTime,
    /// When it was answered.
    pub ended: SystemTime,
    /// What it failed of.
    pub failure: Option<String>,
}

impl TracedCall {
    /// A call that begins now, if it names a span.
    pub(crate) fn begin(tool: &str, context: &RequestContext<RoleServer>) -> Option<Self> {
        let version = context.protocol_version();
        let (began, version) =
            (SystemTime::now(), version.unwrap_or(ProtocolVersion::LATEST_WITH_INITIALIZE));
        Some(Self {
            context: TraceContext::in_meta(&context.meta)?,
            tool: tool.to_owned(),
            request: context.id.to_string(),
            version: version.to_string(),
            began,
            ended: began,
            failure: None,
        })
    }

    /// The same, answered now.
    pub(crate) fn answered(self, answer: &Result<CallToolResponse, ErrorData>) -> Self {
        let failure = match answer {
            Ok(CallToolResponse::Complete(result)) if result.is_error == Some(true) => {
                Some(TOOL_ERROR.to_owned())
            }
            Ok(_) => None,
            Err(error) => Some(error.code.0.to_string()),
        };
        Self { ended: SystemTime::now(), failure, ..self }
    }
}
