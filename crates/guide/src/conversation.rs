//! What a request says about where the conversation stands.

use context_manager::ModelRequest;
use protocol::{Content, Speaker, ToolCall, ToolResult};

use crate::help::NOTICE;
use crate::script::Step;

/// What the ids of calls begin with.
const ID_PREFIX: &str = "offline_";
/// What texts begin with that a conversation tells a model of its own accord.
const AUTOMATIC: &str = "[Automatic note]";

#[derive(Default)]
pub(crate) struct Conversation<'a> {
    /// What the user said last.
    pub(crate) said: &'a str,
    /// The calls since.
    pub(crate) steps: Vec<Step<'a>>,
    /// Whether the guide has said what it is.
    pub(crate) introduced: bool,
    /// The highest number of a call so far.
    calls: usize,
}

impl<'a> Conversation<'a> {
    pub(crate) fn of(request: &'a ModelRequest) -> Self {
        let mut all = Self::default();
        for message in &request.messages {
            let mut is_heard = false;
            for content in &message.content {
                match content {
                    Content::Text { text } if message.role == Speaker::User => {
                        // Further texts of a message are files that came with it.
                        is_heard = is_heard || all.hear(text);
                    }
                    Content::Text { text } if message.role == Speaker::Assistant => {
                        all.introduced |= text.starts_with(NOTICE);
                    }
                    Content::ToolUse(call) => all.note_call(call),
                    Content::ToolResult { tool_use_id, result, .. } => {
                        all.note_result(tool_use_id, result);
                    }
                    _ => {}
                }
            }
        }
        all
    }

    /// Takes a text in the user's place. Answers whether it was a request.
    fn hear(&mut self, text: &'a str) -> bool {
        let is_request = !text.trim().is_empty() && !text.starts_with(AUTOMATIC);
        if is_request {
            self.said = text;
            self.steps.clear();
        }
        is_request
    }

    fn note_call(&mut self, call: &'a ToolCall) {
        let number = call.id.strip_prefix(ID_PREFIX).and_then(|number| number.parse().ok());
        self.calls = self.calls.saturating_add(1).max(number.unwrap_or(0));
        self.steps.push(Step { call, result: None });
    }

    fn note_result(&mut self, id: &str, result: &'a ToolResult) {
        if let Some(step) = self.steps.iter_mut().rev().find(|step| step.call.id == id) {
            step.result = Some(result);
        }
    }

    pub(crate) fn next_id(&self) -> String {
        format!("{ID_PREFIX}{}", self.calls.saturating_add(1))
    }
}
