//! The stream of a Messages answer: blocks that begin, grow and end.

use std::collections::BTreeMap;

use context_manager::{ModelError, ModelEvent, StopReason, Usage};
use protocol::{Content, parse_strict_json};
use serde_json::Value;

use super::NAME;
use crate::SseEvent;
use crate::calls::{CUT_SHORT, OpenCall, shown_reason, stops_anywhere};
use crate::error::error_in_stream;
use crate::reader::{AnswerReader, Dialect, cut, json_of, number, text};

/// Reads the answer to a request to `/v1/messages`.
pub type AnthropicStream = AnswerReader<AnthropicAnswer>;

impl AnthropicStream {
    /// A reader at the beginning of an answer.
    pub fn new() -> Self {
        Self::of(AnthropicAnswer::default())
    }
}

/// How far an answer in the format of the Messages API has come.
#[derive(Clone, Debug, Default)]
pub struct AnthropicAnswer {
    has_calls: bool,
    /// The blocks that have begun and not ended, by index.
    open: BTreeMap<u64, OpenBlock>,
    /// A call that ended without any arguments. If the answer turns out to have reached its token
    /// limit right there, the arguments are missing rather than empty.
    doubtful: Option<OpenCall>,
    usage: Usage,
    stop: Option<StopReason>,
}

#[derive(Clone, Debug)]
enum OpenBlock {
    Text,
    Call(OpenCall),
    /// Thinking and whatever else is sent back as it came, with the text of its input.
    Kept {
        block: Value,
        input: String,
    },
}

impl Dialect for AnthropicAnswer {
    fn read(&mut self, event: &SseEvent, out: &mut Vec<ModelEvent>) -> Result<(), ModelError> {
        let Some(data) = json_of(event)? else { return Ok(()) };
        match data.get("type").and_then(Value::as_str).unwrap_or(&event.event) {
            "message_start" => self.count(&data["message"]["usage"], out),
            "content_block_start" => self.begin(&data, out),
            "content_block_delta" => self.grow(index(&data), &data["delta"], out),
            "content_block_stop" => self.end(index(&data), out),
            "message_delta" => {
                self.count(&data["usage"], out);
                if let Some(reason) = data.pointer("/delta/stop_reason").and_then(Value::as_str) {
                    let reason = stop_reason(reason);
                    self.settle(stops_anywhere(&reason), out);
                    self.stop = Some(reason);
                }
            }
            "message_stop" => return self.complete(out),
            "error" => return Err(error_in_stream(&data)),
            // `ping`, and whatever is invented later.
            _ => {}
        }
        Ok(())
    }
}

impl AnthropicAnswer {
    fn begin(&mut self, data: &Value, out: &mut Vec<ModelEvent>) {
        self.settle(false, out);
        let block = &data["content_block"];
        let block = match text(block, "type") {
            "text" => {
                push_text(text(block, "text"), ModelEvent::Text, out);
                OpenBlock::Text
            }
            "tool_use" => {
                self.has_calls = true;
                let input = block["input"].as_object().filter(|input| !input.is_empty());
                let call = OpenCall {
                    id: text(block, "id").to_owned(),
                    name: text(block, "name").to_owned(),
                    arguments: input.map(|_| block["input"].to_string()).unwrap_or_default(),
                };
                out.push(call.started());
                OpenBlock::Call(call)
            }
            _ => {
                push_text(text(block, "thinking"), ModelEvent::Thinking, out);
                OpenBlock::Kept { block: block.clone(), input: String::new() }
            }
        };
        if let Some(OpenBlock::Call(lost)) = self.open.insert(index(data), block) {
            out.push(lost.broken(CUT_SHORT));
        }
    }

    fn grow(&mut self, index: u64, delta: &Value, out: &mut Vec<ModelEvent>) {
        match (self.open.get_mut(&index), text(delta, "type")) {
            (Some(OpenBlock::Text), "text_delta") => {
                push_text(text(delta, "text"), ModelEvent::Text, out);
            }
            (Some(OpenBlock::Call(call)), "input_json_delta") => {
                call.arguments.push_str(text(delta, "partial_json"));
            }
            (Some(OpenBlock::Kept { input, .. }), "input_json_delta") => {
                input.push_str(text(delta, "partial_json"));
            }
            (Some(OpenBlock::Kept { block, .. }), "thinking_delta") => {
                let more = text(delta, "thinking");
                if let Some(Value::String(thinking)) = block.get_mut("thinking") {
                    thinking.push_str(more);
                } else if let Some(block) = block.as_object_mut() {
                    block.insert("thinking".into(), more.into());
                }
                push_text(more, ModelEvent::Thinking, out);
            }
            (Some(OpenBlock::Kept { block: Value::Object(block), .. }), "signature_delta") => {
                block.insert("signature".into(), delta["signature"].clone());
            }
            _ => {}
        }
    }

    fn end(&mut self, index: u64, out: &mut Vec<ModelEvent>) {
        self.settle(false, out);
        match self.open.remove(&index) {
            Some(OpenBlock::Call(call)) if call.arguments.is_empty() => self.doubtful = Some(call),
            Some(OpenBlock::Call(call)) => out.push(call.complete()),
            Some(OpenBlock::Kept { mut block, input }) => {
                if let (Some(slot), Ok(input)) = (block.get_mut("input"), parse_strict_json(&input))
                {
                    *slot = input;
                }
                if block.is_object() {
                    out.push(ModelEvent::Kept(Content::Opaque { provider: NAME.into(), block }));
                }
            }
            Some(OpenBlock::Text) | None => {}
        }
    }

    /// What follows a call without arguments tells whether it was cut.
    fn settle(&mut self, cut: bool, out: &mut Vec<ModelEvent>) {
        if let Some(call) = self.doubtful.take() {
            out.push(if cut { call.broken(CUT_SHORT) } else { call.complete() });
        }
    }

    /// Reports are of the whole answer so far; what a later one leaves out has not changed.
    fn count(&mut self, usage: &Value, out: &mut Vec<ModelEvent>) {
        let fields = [
            (&mut self.usage.input, "/input_tokens"),
            (&mut self.usage.output, "/output_tokens"),
            (&mut self.usage.cache_read, "/cache_read_input_tokens"),
            (&mut self.usage.cache_write, "/cache_creation_input_tokens"),
        ];
        for (field, pointer) in fields {
            *field = number(usage, pointer).unwrap_or(*field);
        }
        if usage.is_object() {
            out.push(ModelEvent::Usage(self.usage));
        }
    }

    fn complete(&mut self, out: &mut Vec<ModelEvent>) -> Result<(), ModelError> {
        let stop = self.stop.take().ok_or_else(cut)?;
        self.settle(stops_anywhere(&stop), out);
        for block in std::mem::take(&mut self.open).into_values() {
            match block {
                OpenBlock::Call(call) if stops_anywhere(&stop) => out.push(call.broken(CUT_SHORT)),
                OpenBlock::Call(_) => return Err(cut()),
                OpenBlock::Text | OpenBlock::Kept { .. } => {}
            }
        }
        out.push(ModelEvent::Done(shown_reason(stop, self.has_calls)));
        Ok(())
    }
}

fn index(data: &Value) -> u64 {
    number(data, "/index").unwrap_or_default()
}

fn push_text(text: &str, event: impl FnOnce(String) -> ModelEvent, out: &mut Vec<ModelEvent>) {
    if !text.is_empty() {
        out.push(event(text.to_owned()));
    }
}

fn stop_reason(name: &str) -> StopReason {
    match name {
        "end_turn" | "stop_sequence" => StopReason::EndOfTurn,
        "tool_use" => StopReason::ToolUse,
        "max_tokens" => StopReason::MaxTokens,
        "model_context_window_exceeded" => StopReason::ContextFull,
        "refusal" => StopReason::Refusal,
        "pause_turn" => StopReason::Pause,
        other => StopReason::Other(other.to_owned()),
    }
}
