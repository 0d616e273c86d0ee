//! Logs to make timelines of.

use protocol::{
    ApprovalRequest, Base, Change, ChangeSet, CommandSpec, Content, FileBytes, FileDiff, Image,
    LogEntry, ModelAnswer, Proposal, SessionEvent, StopReason, ToolCall, ToolResult, Usage,
};
use serde_json::{Map, Value};

/// Entries half a second apart.
pub(crate) fn log(events: impl IntoIterator<Item = SessionEvent>) -> Vec<LogEntry> {
    let numbered = (1..).zip(events);
    numbered
        .map(|(sequence, event)| LogEntry { sequence, at: sequence as i64 * 500, event })
        .collect()
}

pub(crate) fn says(text: &str) -> SessionEvent {
    SessionEvent::UserMessage { content: vec![Content::Text { text: text.into() }] }
}

pub(crate) fn shows(text: &str, image: Image) -> SessionEvent {
    let text = Content::Text { text: text.into() };
    SessionEvent::UserMessage { content: vec![text, Content::Image(image)] }
}

pub(crate) fn piece(text: &str) -> SessionEvent {
    SessionEvent::TextDelta { text: text.into() }
}

pub(crate) fn call(id: &str, name: &str, arguments: Value) -> ToolCall {
    let Value::Object(arguments) = arguments else { panic!("arguments are an object") };
    ToolCall::new(id, name, arguments)
}

pub(crate) fn answers(text: &str, calls: Vec<ToolCall>) -> SessionEvent {
    let text = Content::Text { text: text.into() };
    SessionEvent::ModelAnswered(ModelAnswer {
        content: std::iter::once(text).chain(calls.into_iter().map(Content::ToolUse)).collect(),
        broken: Vec::new(),
        stop: StopReason::ToolUse,
        usage: Usage { input: 1_000, output: 200, cache_read: 0, cache_write: 0 },
        cost_usd: Some(0.25),
        duration_ms: 900,
    })
}

pub(crate) fn starts(id: &str, title: Option<&str>) -> SessionEvent {
    SessionEvent::CallStarted { call_id: id.into(), title: title.map(str::to_owned) }
}

pub(crate) fn ends(id: &str, result: ToolResult, title: Option<&str>) -> SessionEvent {
    SessionEvent::CallEnded {
        call_id: id.into(),
        result,
        text: None,
        images: Vec::new(),
        found_tools: Vec::new(),
        title: title.map(str::to_owned),
        duration_ms: 5_000,
    }
}

pub(crate) fn nested(id: &str, event: SessionEvent) -> SessionEvent {
    let entry = Box::new(LogEntry { sequence: 1, at: 0, event });
    SessionEvent::Nested { call_id: id.into(), entry }
}

pub(crate) fn request(id: &str, proposal: Proposal) -> ApprovalRequest {
    let diffs = match &proposal {
        Proposal::Changes(set) => {
            set.changes.iter().map(|change| FileDiff::of(change, None)).collect()
        }
        _ => Vec::new(),
    };
    ApprovalRequest {
        step_id: id.into(),
        tool: "write_file".into(),
        args: Map::new(),
        reason: "needs approval: no rule allows it".into(),
        is_routine: false,
        proposal_hash: proposal.hash(),
        proposal,
        diffs,
        remembers: None,
        expires_in_ms: 600_000,
    }
}

pub(crate) fn writes(path: &str, content: &str) -> Proposal {
    let change = Change::Write {
        path: path.into(),
        base: Base::Absent,
        content: FileBytes(content.into()),
        mode: None,
    };
    Proposal::Changes(ChangeSet { changes: vec![change] })
}

pub(crate) fn runs(command: &str) -> Proposal {
    let argv = ["bash", "-c", command].map(str::to_owned).to_vec();
    Proposal::Command(CommandSpec { argv, ..CommandSpec::default() })
}
