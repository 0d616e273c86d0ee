//! A conversation as every provider wants it: speakers take turns, answers to calls come first,
//! nothing is empty, and nobody gets to see another provider's blocks.

use context_manager::ModelRequest;
use protocol::{Content, Message, Speaker, ToolResult};
use serde_json::Value;

/// What one side says until the other side speaks.
#[derive(Debug, PartialEq)]
pub(crate) enum Turn<'a> {
    /// The person, and tools on their machine.
    User {
        /// Answers to the calls of the turn before, by id.
        results: Vec<(&'a str, &'a ToolResult)>,
        texts: Vec<&'a str>,
    },
    /// The model.
    Assistant(Vec<&'a Content>),
}

/// The turns of a request to `provider`.
pub(crate) fn turns<'a>(request: &'a ModelRequest, provider: &str) -> Vec<Turn<'a>> {
    let mut turns = Vec::new();
    for message in &request.messages {
        for content in &message.content {
            add(&mut turns, message, content, provider);
        }
    }
    turns
}

/// Calls are the model's and answers are the user's, whatever message they were found in.
fn add<'a>(turns: &mut Vec<Turn<'a>>, message: &Message, content: &'a Content, provider: &str) {
    match content {
        Content::Text { text } if text.trim().is_empty() => {}
        Content::Text { text } if message.role != Speaker::Assistant => {
            user(turns, |_, texts| texts.push(text));
        }
        Content::ToolResult { tool_use_id, result } => {
            user(turns, |results, _| results.push((tool_use_id, result)));
        }
        Content::Opaque { provider: owner, .. } if owner != provider => {}
        Content::Text { .. } | Content::ToolUse(_) | Content::Opaque { .. } => {
            if !matches!(turns.last(), Some(Turn::Assistant(_))) {
                turns.push(Turn::Assistant(Vec::new()));
            }
            if let Some(Turn::Assistant(parts)) = turns.last_mut() {
                parts.push(content);
            }
        }
    }
}

/// Adds to the user's turn at the end, begun if need be.
fn user<'a>(
    turns: &mut Vec<Turn<'a>>,
    add: impl FnOnce(&mut Vec<(&'a str, &'a ToolResult)>, &mut Vec<&'a str>),
) {
    if !matches!(turns.last(), Some(Turn::User { .. })) {
        turns.push(Turn::User { results: Vec::new(), texts: Vec::new() });
    }
    if let Some(Turn::User { results, texts }) = turns.last_mut() {
        add(results, texts);
    }
}

/// A result as one text, for providers that cannot mark an error.
pub(crate) fn result_text(result: &ToolResult) -> String {
    match result {
        Ok(Value::String(text)) => text.clone(),
        Ok(value) => value.to_string(),
        Err(error) => format!("Error: {}", error.full_message()),
    }
}
