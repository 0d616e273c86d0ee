//! The result of a call in MCP's words.

use protocol::{ErrorCode, ToolError, ToolResult};
use rmcp::ErrorData;
use rmcp::model::{CallToolResult, ContentBlock};
use serde_json::Value;

/// Where a result carries the whole error for programs.
const ERROR_META: &str = "toolkiln/error";

/// The answer to `tools/call`. Only a tool that does not exist is a fault of the protocol; every
/// other failure is a result that the model gets to read.
pub(crate) fn of(result: ToolResult) -> Result<CallToolResult, ErrorData> {
    match result {
        Ok(value) => Ok(success(value)),
        Err(error) if error.code == ErrorCode::UnknownTool => Err(unknown_tool(error)),
        Err(error) => Ok(failure(&error)),
    }
}

/// The value for programs, and the same as text for hosts that show only text.
fn success(value: Value) -> CallToolResult {
    let mut result = CallToolResult::success(vec![ContentBlock::text(value.to_string())]);
    // Before revision 2026-07-28 structured content has to be an object.
    result.structured_content = Some(value).filter(Value::is_object);
    result
}

/// The error as text. There is no structured content, since some clients hold it against the output
/// schema even here.
fn failure(error: &ToolError) -> CallToolResult {
    let mut result = CallToolResult::error(vec![ContentBlock::text(described(error))]);
    if let Ok(whole) = serde_json::to_value(error) {
        result.meta.get_or_insert_default().0.insert(ERROR_META.into(), whole);
    }
    result
}

fn unknown_tool(error: ToolError) -> ErrorData {
    let message = match error.suggestion {
        Some(suggestion) => format!("{}. {suggestion}", error.message),
        None => error.message,
    };
    ErrorData::invalid_params(message, Some(Value::Object(*error.details)))
}

fn described(error: &ToolError) -> String {
    match &error.suggestion {
        Some(suggestion) => format!("{}: {}\n{suggestion}", error.code, error.message),
        None => format!("{}: {}", error.code, error.message),
    }
}
