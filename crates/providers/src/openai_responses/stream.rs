//! The stream of a Responses answer: items that are shown as they grow and count when they are done.

use std::collections::{BTreeMap, BTreeSet};

use context_manager::{ModelError, ModelEvent, StopReason, Usage};
use protocol::Content;
use serde_json::Value;

use super::NAME;
use crate::SseEvent;
use crate::calls::{CUT_SHORT, OpenCall, shown_reason, stops_anywhere};
use crate::error::error_in_stream;
use crate::reader::{AnswerReader, Dialect, cut, json_of, number, text};

/// Reads the answer to a request to `/v1/responses`.
pub type ResponsesStream = AnswerReader<ResponsesAnswer>;

impl ResponsesStream {
    /// A reader at the beginning of an answer.
    pub fn new() -> Self {
        Self::of(ResponsesAnswer::default())
    }

    /// A reader that takes searches for tools as calls of the tool with this name.
    pub fn with_finder(finder: Option<String>) -> Self {
        Self::of(ResponsesAnswer { finder, ..ResponsesAnswer::default() })
    }
}

/// How far an answer in the format of the Responses API has come.
#[derive(Clone, Debug, Default)]
pub struct ResponsesAnswer {
    has_calls: bool,
    /// The calls that have begun and are not done, by their place in the output.
    open: BTreeMap<u64, OpenCall>,
    /// The messages of which text has been shown.
    shown: BTreeSet<u64>,
    refused: bool,
    /// The tool by which the model asks for others.
    finder: Option<String>,
}

impl Dialect for ResponsesAnswer {
    fn read(&mut self, event: &SseEvent, out: &mut Vec<ModelEvent>) -> Result<(), ModelError> {
        let Some(data) = json_of(event)? else { return Ok(()) };
        let delta = text(&data, "delta");
        match data.get("type").and_then(Value::as_str).unwrap_or(&event.event) {
            "response.output_item.added" => self.begin(&data, out),
            "response.output_item.done" => self.end(&data, out),
            "response.output_text.delta" => self.show(&data, delta, out),
            "response.refusal.delta" => {
                self.refused = true;
                self.show(&data, delta, out);
            }
            "response.reasoning_summary_text.delta" | "response.reasoning_text.delta"
                if !delta.is_empty() =>
            {
                out.push(ModelEvent::Thinking(delta.to_owned()));
            }
            "response.completed" => {
                let stop = if self.refused { StopReason::Refusal } else { StopReason::EndOfTurn };
                return self.complete(&data["response"], stop, out);
            }
            "response.incomplete" => {
                let stop = incomplete(text(&data["response"]["incomplete_details"], "reason"));
                return self.complete(&data["response"], stop, out);
            }
            "response.failed" => return Err(error_in_stream(&data["response"])),
            "error" => return Err(error_in_stream(&data)),
            _ => {}
        }
        Ok(())
    }
}

impl ResponsesAnswer {
    fn begin(&mut self, data: &Value, out: &mut Vec<ModelEvent>) {
        let item = &data["item"];
        if text(item, "type") == "function_call" {
            let call = self.call(item);
            out.push(call.started());
            if let Some(lost) = self.open.insert(place(data), call) {
                out.push(lost.broken(CUT_SHORT));
            }
        }
    }

    fn call(&mut self, item: &Value) -> OpenCall {
        self.has_calls = true;
        OpenCall {
            id: text(item, "call_id").to_owned(),
            name: text(item, "name").to_owned(),
            arguments: String::new(),
        }
    }

    /// Only what is done counts: the pieces before are for showing.
    fn end(&mut self, data: &Value, out: &mut Vec<ModelEvent>) {
        let item = &data["item"];
        match text(item, "type") {
            "function_call" => {
                let open = self.open.remove(&place(data));
                let mut call = open.unwrap_or_else(|| {
                    let call = self.call(item);
                    out.push(call.started());
                    call
                });
                call.arguments = text(item, "arguments").to_owned();
                let done = matches!(text(item, "status"), "" | "completed");
                out.push(if done { call.complete() } else { call.broken(CUT_SHORT) });
            }
            "tool_search_call" if self.finder.is_some() && text(item, "execution") != "server" => {
                self.search(item, out);
            }
            "message" if self.shown.contains(&place(data)) => {}
            // Some servers send a message whole.
            "message" => {
                for part in item["content"].as_array().map(Vec::as_slice).unwrap_or_default() {
                    let refusal = text(part, "refusal");
                    self.refused |= !refusal.is_empty();
                    self.show(data, text(part, "text"), out);
                    self.show(data, refusal, out);
                }
            }
            "" => {}
            _ => {
                let block = item.clone();
                out.push(ModelEvent::Kept(Content::Opaque { provider: NAME.into(), block }));
            }
        }
    }

    /// A search for tools comes whole, with arguments that are an object.
    fn search(&mut self, item: &Value, out: &mut Vec<ModelEvent>) {
        self.has_calls = true;
        let id = [text(item, "call_id"), text(item, "id")].into_iter().find(|id| !id.is_empty());
        let arguments = match &item["arguments"] {
            Value::String(text) => text.clone(),
            arguments => arguments.to_string(),
        };
        let call = OpenCall {
            id: id.unwrap_or_default().to_owned(),
            name: self.finder.clone().unwrap_or_default(),
            arguments,
        };
        out.push(call.started());
        out.push(call.complete());
    }

    fn show(&mut self, data: &Value, said: &str, out: &mut Vec<ModelEvent>) {
        if !said.is_empty() {
            self.shown.insert(place(data));
            out.push(ModelEvent::Text(said.to_owned()));
        }
    }

    /// A call that is open at the end was cut by the limit, or else the stream is not whole.
    fn complete(
        &mut self,
        response: &Value,
        stop: StopReason,
        out: &mut Vec<ModelEvent>,
    ) -> Result<(), ModelError> {
        out.extend(usage(&response["usage"]).map(ModelEvent::Usage));
        for call in std::mem::take(&mut self.open).into_values() {
            if !stops_anywhere(&stop) {
                return Err(cut());
            }
            out.push(call.broken(CUT_SHORT));
        }
        out.push(ModelEvent::Done(shown_reason(stop, self.has_calls)));
        Ok(())
    }
}

fn place(data: &Value) -> u64 {
    number(data, "/output_index").unwrap_or_default()
}

/// Input tokens include those of the cache here; ours are counted apart.
fn usage(usage: &Value) -> Option<Usage> {
    let prompt = number(usage, "/input_tokens")?;
    let cache_read = number(usage, "/input_tokens_details/cached_tokens").unwrap_or(0);
    let cache_write = number(usage, "/input_tokens_details/cache_write_tokens").unwrap_or(0);
    let input = prompt.saturating_sub(cache_read).saturating_sub(cache_write);
    let output = number(usage, "/output_tokens").unwrap_or(0);
    Some(Usage { input, output, cache_read, cache_write })
}

fn incomplete(reason: &str) -> StopReason {
    match reason {
        "max_output_tokens" => StopReason::MaxTokens,
        "content_filter" => StopReason::Refusal,
        other => StopReason::Other(other.to_owned()),
    }
}
