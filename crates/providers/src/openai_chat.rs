//! OpenAI's Chat Completions, and the servers that imitate them.

mod details;
mod stream;
mod text_calls;

use context_manager::{ModelRequest, ToolSpec};
use protocol::Content;
use serde_json::{Map, Value, json};

use crate::cache_key::cache_key;
use crate::format::{self, Format};
use crate::quirks::{Quirks, effort_name};
use crate::turns::{CallAnswer, UserPart, WireTurn};
use crate::wire_names::tool_name;

pub use stream::{ChatAnswer, ChatStream};

/// The provider's name in [`Content::Opaque`].
pub const NAME: &str = "openai_chat";

/// The body of a request to `/v1/chat/completions`. What a server need not know is not sent, since
/// some refuse what they do not know.
pub fn request_body(request: &ModelRequest, quirks: &Quirks) -> Value {
    format::body(&Completions(quirks), request)
}

/// The format, as a certain server wants it.
pub(crate) struct Completions<'a>(pub(crate) &'a Quirks);

impl Format for Completions<'_> {
    const NAME: &'static str = NAME;
    const LIST: &'static str = "messages";

    fn frame(&self, request: &ModelRequest) -> Map<String, Value> {
        frame(request, self.0)
    }

    fn tools(&self, request: &ModelRequest) -> Vec<Value> {
        request.tools.iter().filter(|_| self.0.tools).map(tool).collect()
    }

    fn lead(&self, request: &ModelRequest) -> Option<Value> {
        let has_system = !request.system.trim().is_empty();
        has_system.then(|| json!({"role": self.0.system_role, "content": request.system}))
    }

    fn items(&self, turn: &WireTurn<'_>) -> Vec<Value> {
        messages(turn, self.0)
    }
}

fn frame(request: &ModelRequest, quirks: &Quirks) -> Map<String, Value> {
    let mut body = Map::new();
    body.insert("model".into(), request.model.as_str().into());
    body.insert(quirks.max_tokens_field.clone(), request.max_tokens.into());
    body.insert("stream".into(), true.into());
    if quirks.usage_on_request {
        body.insert("stream_options".into(), json!({"include_usage": true}));
    }
    if let Some(effort) = request.effort.filter(|_| quirks.reasoning_effort) {
        body.insert("reasoning_effort".into(), effort_name(effort).into());
    }
    if let Some(key) = cache_key(request).filter(|_| quirks.prompt_cache_key) {
        body.insert("prompt_cache_key".into(), key.into());
    }
    body
}

pub(crate) fn tool(tool: &ToolSpec) -> Value {
    let function = json!({
        "name": tool.name,
        "description": tool.description,
        "parameters": tool.parameters,
    });
    json!({"type": "function", "function": function})
}

fn messages(turn: &WireTurn<'_>, quirks: &Quirks) -> Vec<Value> {
    match turn {
        WireTurn::User { results, said } => {
            let answers = results.iter().map(|answered| {
                let id = quirks.id_rule().write(answered.id);
                json!({"role": "tool", "tool_call_id": id, "content": answered.text()})
            });
            answers.chain(user_message(results, said)).collect()
        }
        WireTurn::Assistant(parts) => assistant(parts, quirks).into_iter().collect(),
    }
}

/// What the user says; none if that is nothing. Images of results come first: a result itself holds
/// text alone here.
fn user_message(results: &[CallAnswer<'_>], said: &[UserPart<'_>]) -> Option<Value> {
    let shown = results.iter().flat_map(CallAnswer::shown);
    let parts: Vec<&UserPart<'_>> = shown.chain(said).collect();
    if parts.is_empty() {
        return None;
    }
    let of_results = parts.len() - said.len();
    let content = if parts.iter().any(|part| part.is_image()) {
        let parts = parts.iter().enumerate();
        parts.flat_map(|(at, part)| content_parts(part, at < of_results)).collect()
    } else {
        // One text, which every server understands.
        let texts: Vec<&str> = parts.iter().filter_map(|part| text_of(part)).collect();
        Value::from(texts.join("\n\n"))
    };
    Some(json!({"role": "user", "content": content}))
}

fn text_of<'a>(part: &'a UserPart<'_>) -> Option<&'a str> {
    match part {
        UserPart::Text(text) => Some(text),
        UserPart::Image(_) => None,
    }
}

/// A part of a message with images; an image of a result comes after words that say so.
fn content_parts(part: &UserPart<'_>, of_result: bool) -> Vec<Value> {
    let text = |text: &str| json!({"type": "text", "text": text});
    match part {
        UserPart::Text(words) => vec![text(words)],
        UserPart::Image(image) => {
            let whose = of_result.then(|| text(&format!("[image of a result above: {image}]")));
            let shown = json!({"type": "image_url", "image_url": {"url": image.data_url()}});
            whose.into_iter().chain([shown]).collect()
        }
    }
}

/// A message of the model; none if it held nothing that can be said here.
fn assistant(parts: &[&Content], quirks: &Quirks) -> Option<Value> {
    let (mut texts, mut calls, mut fields) = (Vec::new(), Vec::new(), Map::new());
    for part in parts {
        match part {
            Content::Text { text } => texts.push(text.to_string()),
            Content::ToolUse(call) => {
                let arguments = Value::Object(call.arguments.clone()).to_string();
                let function = json!({"name": tool_name(&call.name), "arguments": arguments});
                let id = quirks.id_rule().write(&call.id);
                calls.push(json!({"id": id, "type": "function", "function": function}));
            }
            // Thoughts are fields of the message here, not parts of its content. They may come from
            // another server with this format, and this one need not understand them.
            Content::Opaque { block: Value::Object(block), .. } => {
                let known = block.iter().filter(|(key, _)| quirks.returns(key));
                fields.extend(known.map(|(key, value)| (key.clone(), value.clone())));
            }
            Content::Opaque { .. }
            | Content::ToolResult { .. }
            | Content::Image(_)
            | Content::Attached { .. } => {}
        }
    }
    if texts.is_empty() && calls.is_empty() {
        return None;
    }
    fields.insert("role".into(), "assistant".into());
    // Pieces of one answer were parted by calls, not by paragraphs.
    let content = if texts.is_empty() { Value::Null } else { texts.concat().into() };
    fields.insert("content".into(), content);
    if !calls.is_empty() {
        fields.insert("tool_calls".into(), calls.into());
    }
    Some(fields.into())
}

#[cfg(test)]
mod tests;
