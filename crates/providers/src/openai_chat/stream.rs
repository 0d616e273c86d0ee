//! The stream of a Chat Completions answer: calls grow side by side and end all at once.

use context_manager::{ModelError, ModelErrorKind, ModelEvent, StopReason, Usage};
use protocol::Content;
use serde_json::{Map, Value};

use super::NAME;
use super::details::Details;
use super::text_calls::{TextCalls, TextPiece};
use crate::SseEvent;
use crate::calls::{CUT_SHORT, OpenCall, shown_reason, stops_anywhere};
use crate::error::error_in_stream;
use crate::quirks::{Quirks, REASONING_DETAILS};
use crate::reader::{AnswerReader, DONE, Dialect, cut, json_of, number, text};

/// The most calls of one answer; beyond it a server is broken.
const MAX_CALLS: usize = 4096;
/// Where servers put what a model thinks.
const THOUGHTS: [&str; 2] = ["reasoning_content", "reasoning"];

/// Reads the answer to a request to `/v1/chat/completions`.
pub type ChatStream = AnswerReader<ChatAnswer>;

impl ChatStream {
    /// A reader at the beginning of an answer by a server with these quirks.
    pub fn new(quirks: Quirks) -> Self {
        Self::of(ChatAnswer {
            quirks,
            has_calls: false,
            calls: Vec::new(),
            text_calls: TextCalls::default(),
            thoughts: String::new(),
            details: Details::default(),
            stop: None,
        })
    }
}

/// How far an answer in the format of Chat Completions has come.
#[derive(Clone, Debug)]
pub struct ChatAnswer {
    quirks: Quirks,
    has_calls: bool,
    calls: Vec<Growing>,
    text_calls: TextCalls,
    thoughts: String,
    details: Details,
    stop: Option<StopReason>,
}

/// A call that is still growing: nothing but the end of the answer ends it.
#[derive(Clone, Debug)]
struct Growing {
    index: Option<u64>,
    call: OpenCall,
    announced: bool,
}

impl Dialect for ChatAnswer {
    fn read(&mut self, event: &SseEvent, out: &mut Vec<ModelEvent>) -> Result<(), ModelError> {
        if event.data.trim() == DONE {
            if self.stop.is_none() && self.quirks.finish_reason_missing {
                self.end("stop", out);
            }
            return self.close(out);
        }
        let Some(data) = json_of(event)? else { return Ok(()) };
        if data.get("error").is_some_and(|error| !error.is_null()) || event.event == "error" {
            return Err(error_in_stream(&data));
        }
        let choices = data.get("choices").and_then(Value::as_array).map(Vec::as_slice);
        // Only one answer is ever asked for, and what follows its end does not belong to it.
        if let Some(choice) = choices.unwrap_or_default().first()
            && self.stop.is_none()
        {
            self.grow(choice.get("delta").unwrap_or(&Value::Null), out)?;
            let reason = text(choice, "finish_reason");
            if !reason.is_empty() {
                self.end(reason, out);
            }
        }
        out.extend(data.get("usage").and_then(usage).map(ModelEvent::Usage));
        Ok(())
    }

    /// A server may forget `[DONE]`, but only an answer that gave a reason is complete.
    fn close(&mut self, out: &mut Vec<ModelEvent>) -> Result<(), ModelError> {
        let stop = self.stop.take().ok_or_else(cut)?;
        out.push(ModelEvent::Done(shown_reason(stop, self.has_calls)));
        Ok(())
    }
}

impl ChatAnswer {
    fn grow(&mut self, delta: &Value, out: &mut Vec<ModelEvent>) -> Result<(), ModelError> {
        if let Some(thought) = THOUGHTS.iter().map(|key| text(delta, key)).find(|t| !t.is_empty()) {
            self.thoughts.push_str(thought);
            out.push(ModelEvent::Thinking(thought.to_owned()));
        }
        if self.quirks.reasoning_details {
            self.details.push(&delta[REASONING_DETAILS]);
        }
        for said in [text(delta, "content"), text(delta, "refusal")] {
            if self.quirks.calls_as_text {
                for piece in self.text_calls.push(said) {
                    self.take(piece, out);
                }
            } else if !said.is_empty() {
                out.push(ModelEvent::Text(said.to_owned()));
            }
        }
        let calls = delta.get("tool_calls").and_then(Value::as_array).map(Vec::as_slice);
        for piece in calls.unwrap_or_default() {
            self.grow_call(piece, out)?;
        }
        Ok(())
    }

    fn take(&mut self, piece: TextPiece, out: &mut Vec<ModelEvent>) {
        match piece {
            TextPiece::Text(text) => out.push(ModelEvent::Text(text)),
            TextPiece::Call(name, arguments) => {
                self.has_calls = true;
                let call = OpenCall { id: String::new(), name, arguments };
                out.push(call.started());
                out.push(call.complete());
            }
        }
    }

    fn grow_call(&mut self, piece: &Value, out: &mut Vec<ModelEvent>) -> Result<(), ModelError> {
        let function = piece.get("function").unwrap_or(&Value::Null);
        let index = number(piece, "/index");
        let (id, name) = (text(piece, "id"), text(function, "name"));
        let arguments = match function.get("arguments") {
            None | Some(Value::Null) => String::new(),
            Some(Value::String(text)) => text.clone(),
            Some(whole) => whole.to_string(),
        };
        let at = match self.find(index, id, name, &arguments) {
            Some(at) => at,
            None if self.calls.len() == MAX_CALLS => {
                let message = format!("the answer holds more than {MAX_CALLS} tool calls");
                return Err(ModelError::new(ModelErrorKind::Malformed, message));
            }
            None => {
                self.has_calls = true;
                let (name, arguments) = (String::new(), String::new());
                let call = OpenCall { id: id.to_owned(), name, arguments };
                self.calls.push(Growing { index, call, announced: false });
                self.calls.len() - 1
            }
        };
        self.calls[at].grow(name, &arguments);
        self.calls[at].announce(out);
        Ok(())
    }

    /// The call that a piece continues; none if it begins one.
    fn find(&self, index: Option<u64>, id: &str, name: &str, arguments: &str) -> Option<usize> {
        let same = |call: &Growing| match index {
            Some(_) => call.index == index,
            None if id.is_empty() => true,
            None => call.call.id == id,
        };
        let at = self.calls.iter().rposition(same)?;
        let call = &self.calls[at];
        // Servers that number every call 0 tell them apart by id, or by nothing but whole calls
        // that follow each other.
        let other_id = !id.is_empty() && id != call.call.id;
        let next_whole = id.is_empty() && !name.is_empty() && !arguments.is_empty();
        let begins_another = other_id || next_whole && call.is_whole();
        (!begins_another).then_some(at)
    }

    /// The thoughts in the fields in which this server wants them back.
    fn kept(&mut self) -> Option<ModelEvent> {
        let mut fields = Map::new();
        if let Some(field) = &self.quirks.returned_reasoning
            && !self.thoughts.is_empty()
        {
            fields.insert(field.clone(), std::mem::take(&mut self.thoughts).into());
        }
        let details = self.details.take();
        if !details.is_empty() {
            fields.insert(REASONING_DETAILS.into(), details.into());
        }
        (!fields.is_empty()).then(|| {
            ModelEvent::Kept(Content::Opaque { provider: NAME.into(), block: fields.into() })
        })
    }

    /// Ends all calls. The last one lacks its end if the answer was stopped from outside.
    fn end(&mut self, reason: &str, out: &mut Vec<ModelEvent>) {
        if let Some(rest) = self.text_calls.finish() {
            self.take(rest, out);
        }
        out.extend(self.kept());
        let stop = stop_reason(reason);
        let stopped = stops_anywhere(&stop);
        let last = self.calls.len().saturating_sub(1);
        for (at, growing) in self.calls.drain(..).enumerate() {
            if !growing.announced {
                out.push(growing.call.started());
            }
            let cut = stopped && at == last;
            out.push(if cut { growing.call.broken(CUT_SHORT) } else { growing.call.complete() });
        }
        self.stop = Some(stop);
    }
}

impl Growing {
    /// Some servers repeat the name with each piece, a few send it in pieces before the arguments.
    fn grow(&mut self, name: &str, arguments: &str) {
        if self.call.arguments.is_empty() && name != self.call.name {
            self.call.name.push_str(name);
        }
        self.call.arguments.push_str(arguments);
    }

    /// The name is complete once arguments come.
    fn announce(&mut self, out: &mut Vec<ModelEvent>) {
        if !self.announced && !self.call.arguments.is_empty() && !self.call.name.is_empty() {
            self.announced = true;
            out.push(self.call.started());
        }
    }

    fn is_whole(&self) -> bool {
        let arguments = self.call.arguments.trim_end();
        arguments.ends_with('}') && serde_json::from_str::<Value>(arguments).is_ok()
    }
}

/// Prompt tokens include those of the cache here; ours are counted apart.
fn usage(usage: &Value) -> Option<Usage> {
    let prompt = number(usage, "/prompt_tokens")?;
    let cache_read = number(usage, "/prompt_tokens_details/cached_tokens").unwrap_or(0);
    let cache_write = number(usage, "/prompt_tokens_details/cache_write_tokens").unwrap_or(0);
    let input = prompt.saturating_sub(cache_read).saturating_sub(cache_write);
    let output = number(usage, "/completion_tokens").unwrap_or(0);
    Some(Usage { input, output, cache_read, cache_write })
}

fn stop_reason(name: &str) -> StopReason {
    match name {
        "stop" => StopReason::EndOfTurn,
        "tool_calls" | "function_call" => StopReason::ToolUse,
        "length" => StopReason::MaxTokens,
        "content_filter" => StopReason::Refusal,
        // Z.ai's.
        "model_context_window_exceeded" => StopReason::ContextFull,
        other => StopReason::Other(other.to_owned()),
    }
}
