//! What a request says about where the conversation stands.

use context_manager::ModelRequest;
use protocol::{Content, Speaker};

use crate::help::NOTICE;
use crate::plan_run::PastCall;

/// What the ids of calls begin with.
const ID_PREFIX: &str = "offline_";
/// What texts of a session itself begin with.
const AUTOMATIC: &str = "[Automatic note]";

#[derive(Default)]
pub(crate) struct Conversation<'a> {
    /// What the user said last.
    pub(crate) said: String,
    /// The calls since.
    pub(crate) steps: Vec<PastCall<'a>>,
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
                    // Further texts of a message are files that came with it.
                    Content::Text { text } if message.role == Speaker::User && !is_heard => {
                        let text = text.to_string();
                        is_heard = !text.trim().is_empty() && !text.starts_with(AUTOMATIC);
                        if is_heard {
                            all.said = text;
                            all.steps.clear();
                        }
                    }
                    Content::Text { text } if message.role == Speaker::Assistant => {
                        all.introduced |= text.copied(0..NOTICE.len()) == NOTICE;
                    }
                    Content::ToolUse(call) => {
                        let number = call.id.strip_prefix(ID_PREFIX).and_then(|id| id.parse().ok());
                        all.calls = all.calls.saturating_add(1).max(number.unwrap_or(0));
                        all.steps.push(PastCall { call, result: None });
                    }
                    Content::ToolResult { tool_use_id: id, result, .. } => {
                        if let Some(step) = all.steps.iter_mut().rfind(|step| step.call.id == *id) {
                            step.result = Some(result);
                        }
                    }
                    _ => {}
                }
            }
        }
        all
    }

    pub(crate) fn next_id(&self) -> String {
        format!("{ID_PREFIX}{}", self.calls.saturating_add(1))
    }
}
