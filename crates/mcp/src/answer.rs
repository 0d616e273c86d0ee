//! The result of a call as MCP sends it.

use protocol::{CallReport, ErrorCode, Image, ToolError};
use rmcp::ErrorData;
use rmcp::model::{CallToolResult, ContentBlock};
use serde_json::Value;

use crate::tool_list::MAX_RESULT_CHARS;

/// Where a result carries the whole error for programs.
const ERROR_META: &str = "toolkiln/error";
/// Where Claude Code looks for the size up to which it does not cut a result.
pub(crate) const MAX_RESULT_META: &str = "anthropic/maxResultSizeChars";

/// The answer to `tools/call`. Only a tool that does not exist is a fault of the protocol; every
/// other failure is a result that the model gets to read.
pub(crate) fn of(report: CallReport) -> Result<CallToolResult, ErrorData> {
    match report.result {
        Ok(value) => Ok(success(value, report.text, &report.images)),
        Err(error) if error.code == ErrorCode::UnknownTool => Err(unknown_tool(error)),
        Err(error) => Ok(failure(&error)),
    }
}

/// The value for programs, and the same as text for models; then the images.
fn success(value: Value, text: Option<String>, images: &[Image]) -> CallToolResult {
    let shown = images
        .iter()
        .filter_map(|image| Some(ContentBlock::image(image.base64()?, image.format.media_type())));
    let text = ContentBlock::text(text.unwrap_or_else(|| value.to_string()));
    let mut result = CallToolResult::success(std::iter::once(text).chain(shown).collect());
    // Before revision 2026-07-28 structured content has to be an object.
    result.structured_content = Some(value).filter(Value::is_object);
    let meta = &mut result.meta.get_or_insert_default().0;
    meta.insert(MAX_RESULT_META.into(), MAX_RESULT_CHARS.into());
    result
}

/// The error as text. There is no structured content, since some clients check it against the output
/// schema even here.
fn failure(error: &ToolError) -> CallToolResult {
    let mut result = CallToolResult::error(vec![ContentBlock::text(error.full_message())]);
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
