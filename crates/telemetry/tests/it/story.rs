//! Logs to make spans of.

use protocol::{
    AgentRole, ApprovalRequest, CommandSpec, Content, LogEntry, ModelAnswer, Opened, Proposal,
    SessionEvent, Settings, StopReason, ToolCall, ToolResult, Usage,
};
use serde_json::{Map, Value};
use telemetry::TraceSpan;

/// The id of the session.
pub(crate) const SESSION: &str = "01h455vb4pex5vsknk08";

/// Entries half a second apart.
pub(crate) fn log(events: impl IntoIterator<Item = SessionEvent>) -> Vec<LogEntry> {
    let numbered = (1..).zip(events);
    numbered
        .map(|(sequence, event)| LogEntry { sequence, at: sequence as i64 * 500, event })
        .collect()
}

pub(crate) fn opened() -> SessionEvent {
    let settings =
        Settings { provider: "openai-chat".into(), model: "m-1".into(), role: AgentRole::Actor };
    SessionEvent::Opened(Opened { root: "/secret/root".into(), settings, forked_from: None })
}

pub(crate) fn says(text: &str) -> SessionEvent {
    SessionEvent::UserMessage { content: vec![Content::Text { text: text.into() }] }
}

pub(crate) fn asks() -> SessionEvent {
    SessionEvent::ModelAsked { estimated_tokens: 10 }
}

pub(crate) fn call(id: &str, name: &str, arguments: Value) -> ToolCall {
    let Value::Object(arguments) = arguments else { panic!("arguments are an object") };
    ToolCall::new(id, name, arguments)
}

pub(crate) fn answers(text: &str, calls: Vec<ToolCall>) -> SessionEvent {
    let stop = if calls.is_empty() { StopReason::EndOfTurn } else { StopReason::ToolUse };
    let text = Content::Text { text: text.into() };
    SessionEvent::ModelAnswered(ModelAnswer {
        content: std::iter::once(text).chain(calls.into_iter().map(Content::ToolUse)).collect(),
        broken: Vec::new(),
        stop,
        usage: Usage { input: 1_000, output: 200, cache_read: 50, cache_write: 0 },
        cost_usd: Some(0.25),
        duration_ms: 400,
    })
}

pub(crate) fn starts(id: &str) -> SessionEvent {
    SessionEvent::CallStarted {
        call_id: id.into(),
        title: Some("a title that may say much".into()),
    }
}

pub(crate) fn ends(id: &str, result: ToolResult) -> SessionEvent {
    SessionEvent::CallEnded {
        call_id: id.into(),
        result,
        text: None,
        images: Vec::new(),
        found_tools: Vec::new(),
        title: None,
        duration_ms: 300,
    }
}

pub(crate) fn nested(id: &str, at: i64, event: SessionEvent) -> SessionEvent {
    SessionEvent::Nested {
        call_id: id.into(),
        entry: Box::new(LogEntry { sequence: 1, at, event }),
    }
}

pub(crate) fn question(id: &str) -> ApprovalRequest {
    let argv = ["bash", "-c", "secret command"].map(str::to_owned).to_vec();
    let proposal = Proposal::Command(CommandSpec { argv, ..CommandSpec::default() });
    ApprovalRequest {
        step_id: id.into(),
        tool: "bash".into(),
        args: Map::new(),
        reason: "needs approval: no rule allows it".into(),
        is_routine: false,
        proposal_hash: proposal.hash(),
        proposal,
        diffs: Vec::new(),
        remembers: None,
        expires_in_ms: 600_000,
    }
}

/// Spans as a tree, each with its times, what went wrong, and its attributes.
pub(crate) fn tree(spans: &[TraceSpan]) -> String {
    let mut text = String::new();
    let mut traces: Vec<_> = spans.iter().filter(|span| span.parent.is_none()).collect();
    traces.sort_by_key(|span| span.start_ms);
    traces.iter().for_each(|root| branch(spans, root, 0, &mut text));
    text
}

fn branch(spans: &[TraceSpan], span: &TraceSpan, depth: usize, text: &mut String) {
    let TraceSpan { name, start_ms, end_ms, status, attributes, .. } = span;
    let indent = "  ".repeat(depth);
    let line = format!("{indent}{name} [{start_ms}..{end_ms}] {status:?}");
    text.push_str(&line);
    for (key, value) in attributes {
        let is_same = ["gen_ai.operation.name", "gen_ai.conversation.id", "gen_ai.tool.type"];
        if !is_same.contains(key) {
            text.push_str(&format!("\n{indent}    {key} = {value:?}"));
        }
    }
    text.push('\n');
    let mut parts: Vec<_> = spans.iter().filter(|part| part.parent == Some(span.id)).collect();
    parts.sort_by_key(|part| part.start_ms);
    parts.iter().for_each(|part| branch(spans, part, depth + 1, text));
}
