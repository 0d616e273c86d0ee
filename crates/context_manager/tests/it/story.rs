//! Logs and messages as short texts, and what must hold for all of them.

use std::collections::HashSet;
use std::sync::Arc;

use protocol::{Content, LogEntry, Message, SessionEvent, Speaker, ToolResult};

/// What the user says, as a message holds it.
pub(crate) fn said(words: &str) -> Vec<Content> {
    vec![Content::Text { text: words.into() }]
}

/// A log, a line for each event.
pub(crate) fn of_log(entries: &[LogEntry]) -> String {
    entries.iter().map(|entry| of_event(&entry.event)).collect::<Vec<_>>().join("\n")
}

fn of_event(event: &SessionEvent) -> String {
    match event {
        SessionEvent::UserMessage { content } => format!("user: {}", of_contents(content)),
        SessionEvent::UserAdded { content } => format!("user adds: {}", of_contents(content)),
        SessionEvent::ModelAsked { .. } => "asked".into(),
        SessionEvent::TextDelta { text } => format!("text: {text}"),
        SessionEvent::ThinkingDelta { text } => format!("thinking: {text}"),
        SessionEvent::ModelAnswered(answer) => {
            format!("answer {:?}: {}", answer.stop, of_contents(&answer.content))
        }
        SessionEvent::ModelFailed { message, retry_in_ms, .. } => match retry_in_ms {
            Some(ms) => format!("failed: {message}, again in {ms} ms"),
            None => format!("failed: {message}"),
        },
        SessionEvent::CallStarted { call_id, .. } => format!("start {call_id}"),
        SessionEvent::CallEnded { call_id, result, .. } => {
            format!("end {call_id}: {}", of_result(result))
        }
        SessionEvent::Nudged { text } => format!("nudged: {text}"),
        SessionEvent::Paused(reason) => format!("paused: {reason:?}"),
        SessionEvent::TurnEnded(end) => format!("turn ended: {end:?}"),
        other => format!("{other:?}"),
    }
}

/// Messages, a line for each.
pub(crate) fn of_messages(messages: &[Arc<Message>]) -> String {
    let lines = messages.iter().map(|message| {
        let who = if message.role == Speaker::Assistant { "model" } else { "user" };
        format!("{who}: {}", of_contents(&message.content))
    });
    lines.collect::<Vec<_>>().join("\n")
}

fn of_contents(contents: &[Content]) -> String {
    let parts = contents.iter().map(|content| match content {
        Content::Text { text } | Content::Attached { text, .. } => text.to_string(),
        Content::ToolUse(call) => format!("<{} {}>", call.id, protocol::describe_call(call)),
        Content::Image(image) => format!("[{image}]"),
        Content::ToolResult { tool_use_id, result, .. } => {
            format!("<{tool_use_id} = {}>", of_result(result))
        }
        Content::Opaque { block, .. } => format!("<{block}>"),
    });
    parts.collect::<Vec<_>>().join(" ")
}

fn of_result(result: &ToolResult) -> String {
    match result {
        Ok(value) => {
            let text = value.to_string();
            if text.len() > 80 { format!("{} characters", text.len()) } else { text }
        }
        Err(error) => format!("{} {}", error.code, error.message),
    }
}

/// What every provider insists on: the user begins, calls are unique, and directly after a message
/// with calls comes one with exactly their results.
pub(crate) fn assert_valid(messages: &[Arc<Message>]) {
    let mut seen = HashSet::new();
    if let Some(first) = messages.first() {
        assert_eq!(first.role, Speaker::User, "the user begins");
    }
    let mut expected: Vec<&str> = Vec::new();
    for message in messages {
        assert!(!message.content.is_empty(), "no message is empty");
        let results: Vec<&str> = message
            .content
            .iter()
            .filter_map(|content| match content {
                Content::ToolResult { tool_use_id, .. } => Some(tool_use_id.as_str()),
                _ => None,
            })
            .collect();
        assert_eq!(results, expected, "results follow their calls, in order");
        expected.clear();
        for content in &message.content {
            if let Content::ToolUse(call) = content {
                assert_eq!(message.role, Speaker::Assistant);
                assert!(seen.insert(call.id.as_str()), "{} is called twice", call.id);
                expected.push(&call.id);
            }
        }
        assert!(results.is_empty() || message.role == Speaker::User);
    }
    assert!(expected.is_empty(), "no call is without a result");
}
