//! OpenAI's Responses API, without anything kept on the server.

mod stream;

use context_manager::{ModelRequest, ToolListing, ToolSpec};
use protocol::Content;
use serde_json::{Map, Value, json};

use crate::cache_key::cache_key;
use crate::format::{self, Format};
use crate::quirks::effort_name;
use crate::turns::{CallAnswer, UserPart, WireTurn};
use crate::wire_names::{IdRule, tool_name};

pub use stream::{ResponsesAnswer, ResponsesStream};

/// The provider's name in [`Content::Opaque`].
pub const NAME: &str = "openai_responses";

/// The body of a request to `/v1/responses`. Since the server keeps nothing, thoughts are asked for
/// in their sealed form and sent back with the conversation.
pub fn request_body(request: &ModelRequest) -> Value {
    format::body(&Responses::of(request), request)
}

/// The format.
pub(crate) struct Responses {
    /// The tool by which the model asks for others, where the server knows such tools.
    finder: Option<String>,
}

impl Responses {
    pub(crate) fn of(request: &ModelRequest) -> Self {
        let finder = request.tools.iter().find(|tool| tool.listing == ToolListing::Finder);
        Self { finder: finder.map(|tool| tool.name.clone()) }
    }
}

impl Format for Responses {
    const NAME: &'static str = NAME;
    const LIST: &'static str = "input";

    fn frame(&self, request: &ModelRequest) -> Map<String, Value> {
        frame(request)
    }

    fn tools(&self, request: &ModelRequest) -> Vec<Value> {
        let listed = request.tools.iter().filter(|tool| tool.listing != ToolListing::OnDemand);
        listed.map(tool).collect()
    }

    fn items(&self, turn: &WireTurn<'_>) -> Vec<Value> {
        items(turn, self.finder.as_deref())
    }
}

fn frame(request: &ModelRequest) -> Map<String, Value> {
    let mut body = Map::new();
    body.insert("model".into(), request.model.as_str().into());
    body.insert("max_output_tokens".into(), request.max_tokens.into());
    body.insert("stream".into(), true.into());
    body.insert("store".into(), false.into());
    if let Some(effort) = request.effort {
        body.insert("include".into(), json!(["reasoning.encrypted_content"]));
        let reasoning = json!({"effort": effort_name(effort), "summary": "auto"});
        body.insert("reasoning".into(), reasoning);
    }
    if let Some(key) = cache_key(request) {
        body.insert("prompt_cache_key".into(), key.into());
    }
    if !request.system.trim().is_empty() {
        body.insert("instructions".into(), request.system.as_str().into());
    }
    body
}

pub(crate) fn tool(tool: &ToolSpec) -> Value {
    if tool.listing == ToolListing::Finder {
        return json!({
            "type": "tool_search",
            "execution": "client",
            "description": tool.description,
            "parameters": tool.parameters,
        });
    }
    function(tool)
}

fn function(tool: &ToolSpec) -> Value {
    json!({
        "type": "function",
        "name": tool.name,
        "description": tool.description,
        "parameters": tool.parameters,
        // Required here, and true would refuse most schemas.
        "strict": false,
    })
}

fn items(turn: &WireTurn<'_>, finder: Option<&str>) -> Vec<Value> {
    match turn {
        WireTurn::User { results, said } => {
            let outputs = results.iter().map(|answered| {
                let id = IdRule::RESPONSES.write(answered.id);
                if answered.is_search {
                    return search_output(&id, answered);
                }
                json!({"type": "function_call_output", "call_id": id, "output": output(answered)})
            });
            let parts: Vec<_> = said.iter().map(part).collect();
            let said = (!parts.is_empty())
                .then(|| json!({"type": "message", "role": "user", "content": parts}));
            outputs.chain(said).collect()
        }
        WireTurn::Assistant(parts) => parts.iter().filter_map(|part| item(part, finder)).collect(),
    }
}

/// What a search for tools has found. It has no place for words: a search that failed found nothing.
fn search_output(id: &str, answered: &CallAnswer<'_>) -> Value {
    let tools = answered.found.iter().map(|tool| {
        let mut tool = function(tool);
        tool["defer_loading"] = true.into();
        tool
    });
    json!({
        "type": "tool_search_output",
        "call_id": id,
        "execution": "client",
        "status": "completed",
        "tools": tools.collect::<Vec<_>>(),
    })
}

/// A result: text, or a list if images belong to it.
fn output(answered: &CallAnswer<'_>) -> Value {
    let text = answered.text();
    if answered.shown().next().is_none() {
        return text.into();
    }
    std::iter::once(&UserPart::Text(text.into())).chain(answered.shown()).map(part).collect()
}

fn part(part: &UserPart<'_>) -> Value {
    match part {
        UserPart::Text(text) => json!({"type": "input_text", "text": text}),
        UserPart::Image(image) => {
            json!({"type": "input_image", "image_url": image.data_url(), "detail": "auto"})
        }
    }
}

fn item(part: &Content, finder: Option<&str>) -> Option<Value> {
    match part {
        // As plain text: a list of output parts would need the id that the server once gave it.
        Content::Text { text } => {
            Some(json!({"type": "message", "role": "assistant", "content": text}))
        }
        Content::ToolUse(call) if finder == Some(&call.name) => Some(json!({
            "type": "tool_search_call",
            "call_id": IdRule::RESPONSES.write(&call.id),
            "execution": "client",
            "status": "completed",
            "arguments": call.arguments,
        })),
        Content::ToolUse(call) => Some(json!({
            "type": "function_call",
            "call_id": IdRule::RESPONSES.write(&call.id),
            "name": tool_name(&call.name),
            "arguments": Value::Object(call.arguments.clone()).to_string(),
        })),
        Content::Opaque { block, .. } => Some(block.clone()),
        Content::ToolResult { .. } | Content::Image(_) | Content::Attached { .. } => None,
    }
}

#[cfg(test)]
mod tests;
