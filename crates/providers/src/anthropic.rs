//! Anthropic's Messages API.

mod stream;

use context_manager::{CacheHint, ModelRequest, ToolListing, ToolSpec};
use protocol::{Content, Image, ToolCall, View};
use serde_json::{Map, Value, json};

use crate::format::{self, Format};
use crate::quirks::effort_name;
use crate::turns::{CallAnswer, UserPart, WireTurn};
use crate::wire_names::{IdRule, tool_name};

pub use stream::{AnthropicAnswer, AnthropicStream};

/// The provider's name in [`Content::Opaque`].
pub const NAME: &str = "anthropic";

/// The body of a request to `/v1/messages`.
///
/// Thinking is asked for together with an effort only: models that know no effort do not know the
/// adaptive kind of thinking either, and refuse both.
pub fn request_body(request: &ModelRequest) -> Value {
    format::body(&Messages, request)
}

/// Marks a tool that the model sees where a result refers to it, and not in the list of tools.
const DEFER: &str = "defer_loading";

/// The format.
pub(crate) struct Messages;

impl Format for Messages {
    const NAME: &'static str = NAME;
    const LIST: &'static str = "messages";

    fn frame(&self, request: &ModelRequest) -> Map<String, Value> {
        frame(request)
    }

    fn tools(&self, request: &ModelRequest) -> Vec<Value> {
        let mut tools: Vec<Value> = request.tools.iter().map(tool).collect();
        // They come before the instructions in the cache: a mark there covers both.
        if request.cache == CacheHint::Conversation && !has_system(request) {
            // A deferred tool is not in the cached part and may carry no mark.
            mark(tools.iter_mut().rfind(|tool| tool.get(DEFER).is_none()));
        }
        tools
    }

    fn items(&self, turn: &WireTurn<'_>) -> Vec<Value> {
        vec![message(turn)]
    }

    fn mark(&self, request: &ModelRequest, items: &mut [Value]) {
        if request.cache == CacheHint::Conversation {
            mark_conversation(items);
        }
    }
}

fn has_system(request: &ModelRequest) -> bool {
    !request.system.trim().is_empty()
}

pub(crate) fn tool(tool: &ToolSpec) -> Value {
    let mut block = json!({"name": tool.name, "description": tool.description, "input_schema": tool.parameters});
    if tool.listing == ToolListing::OnDemand {
        block[DEFER] = true.into();
    }
    block
}

fn frame(request: &ModelRequest) -> Map<String, Value> {
    let mut body = Map::new();
    body.insert("model".into(), request.model.as_str().into());
    body.insert("max_tokens".into(), request.max_tokens.into());
    body.insert("stream".into(), true.into());
    if has_system(request) {
        let mut system = text_block(&request.system);
        if request.cache == CacheHint::Conversation {
            mark(Some(&mut system));
        }
        body.insert("system".into(), json!([system]));
    }
    if let Some(effort) = request.effort {
        body.insert("thinking".into(), json!({"type": "adaptive", "display": "summarized"}));
        body.insert("output_config".into(), json!({"effort": effort_name(effort)}));
    }
    body
}

fn message(turn: &WireTurn<'_>) -> Value {
    match turn {
        WireTurn::User { results, said } => {
            let blocks = results.iter().map(result_block).chain(said.iter().map(part_block));
            json!({"role": "user", "content": blocks.collect::<Vec<_>>()})
        }
        WireTurn::Assistant(parts) => {
            let blocks: Vec<_> = parts.iter().filter_map(|part| assistant_block(part)).collect();
            json!({"role": "assistant", "content": blocks})
        }
    }
}

fn assistant_block(part: &Content) -> Option<Value> {
    match part {
        Content::Text { text } => Some(json!({"type": "text", "text": text})),
        Content::ToolUse(ToolCall { id, name, arguments }) => {
            let (id, name) = (IdRule::ANTHROPIC.write(id), tool_name(name));
            Some(json!({"type": "tool_use", "id": id, "name": name, "input": arguments}))
        }
        Content::Opaque { block, .. } => Some(block.clone()),
        Content::ToolResult { .. } | Content::Image(_) | Content::Attached { .. } => None,
    }
}

fn text_block(text: &str) -> Value {
    json!({"type": "text", "text": text})
}

fn image_block(image: &Image) -> Value {
    let source =
        json!({"type": "base64", "media_type": image.format.media_type(), "data": image.base64()});
    json!({"type": "image", "source": source})
}

fn part_block(part: &UserPart<'_>) -> Value {
    match part {
        UserPart::Text(text) => text_block(text),
        UserPart::Image(image) => image_block(image),
    }
}

/// The block needs nothing of the call but its id. With images, its content is a list.
fn result_block(answered: &CallAnswer<'_>) -> Value {
    let call = ToolCall::new(IdRule::ANTHROPIC.write(answered.id), "", Map::new());
    let mut block = View::Block.render(&call, answered.result);
    if !answered.found.is_empty() {
        let reference =
            |tool: &&ToolSpec| json!({"type": "tool_reference", "tool_name": tool.name});
        block["content"] = answered.found.iter().map(reference).collect();
        return block;
    }
    if !answered.images.is_empty() {
        let text = block["content"].as_str().filter(|text| !text.is_empty()).map(text_block);
        let images = answered.images.iter().map(part_block);
        block["content"] = text.into_iter().chain(images).collect();
    }
    block
}

/// Marks the end, where the next request will go on, and the message that was the end of the request
/// before: what was kept there is found again however many blocks have come since.
fn mark_conversation(messages: &mut [Value]) {
    let Some((last, earlier)) = messages.split_last_mut() else { return };
    let before = earlier.iter_mut().rev().find(|message| message["role"] == "user");
    mark(before.and_then(last_markable));
    mark(last_markable(last));
}

/// The last block of a message that may carry a mark. Thinking may not be changed at all.
fn last_markable(message: &mut Value) -> Option<&mut Value> {
    let blocks = message.get_mut("content")?.as_array_mut()?;
    blocks.iter_mut().rev().find(|block| {
        let kind = block.get("type").and_then(Value::as_str);
        matches!(kind, Some("text" | "image" | "tool_use" | "tool_result"))
    })
}

fn mark(block: Option<&mut Value>) {
    if let Some(Value::Object(block)) = block {
        block.insert("cache_control".into(), json!({"type": "ephemeral"}));
    }
}

#[cfg(test)]
mod tests;
