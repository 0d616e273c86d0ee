//! Events to test with.

use protocol::{
    AgentRole, ApprovalRequest, ApprovalResponse, Base, Change, ChangeSet, Content, FileBytes,
    ModelAnswer, Opened, Proposal, SessionEvent, Settings, StopReason, ToolCall, ToolResult,
    TurnEnd, Usage,
};
use serde_json::{Map, Value, json};
use store::{SessionId, Store};

pub(crate) fn opened() -> Opened {
    let settings =
        Settings { provider: "offline".into(), model: "small".into(), role: AgentRole::Actor };
    Opened { root: "/project".into(), settings, forked_from: None }
}

pub(crate) fn says(text: &str) -> SessionEvent {
    SessionEvent::UserMessage { content: vec![Content::Text { text: text.into() }] }
}

pub(crate) fn asked() -> SessionEvent {
    SessionEvent::ModelAsked { estimated_tokens: 10 }
}

pub(crate) fn answers(calls: &[(&str, &str, Value)]) -> SessionEvent {
    let call = |(id, tool, arguments): &(&str, &str, Value)| {
        let arguments = arguments.as_object().cloned().unwrap_or_default();
        Content::ToolUse(ToolCall::new(*id, *tool, arguments))
    };
    SessionEvent::ModelAnswered(ModelAnswer {
        content: calls.iter().map(call).collect(),
        broken: Vec::new(),
        stop: if calls.is_empty() { StopReason::EndOfTurn } else { StopReason::ToolUse },
        usage: Usage { input: 100, output: 20, cache_read: 5, cache_write: 1 },
        cost_usd: Some(0.25),
        duration_ms: 900,
    })
}

pub(crate) fn ended(id: &str, result: ToolResult) -> SessionEvent {
    SessionEvent::CallEnded {
        call_id: id.into(),
        result,
        text: None,
        images: Vec::new(),
        title: None,
        found_tools: Vec::new(),
        duration_ms: 4,
    }
}

pub(crate) fn asks_to_write(id: &str, path: &str) -> SessionEvent {
    let change = Change::Write {
        path: path.into(),
        base: Base::Absent,
        content: FileBytes(b"text".to_vec()),
        mode: None,
    };
    let proposal = Proposal::Changes(ChangeSet { changes: vec![change] });
    SessionEvent::ApprovalAsked(Box::new(ApprovalRequest {
        step_id: id.into(),
        tool: "edit_lines".into(),
        args: Map::new(),
        reason: "changes a file".into(),
        is_routine: false,
        proposal_hash: proposal.hash(),
        proposal,
        diffs: Vec::new(),
        remembers: None,
        expires_in_ms: 1,
    }))
}

/// A yes to what [`asks_to_write`] asks.
pub(crate) fn yes() -> ApprovalResponse {
    match asks_to_write("", "a") {
        SessionEvent::ApprovalAsked(request) => request.approve(),
        other => panic!("{other:?}"),
    }
}

pub(crate) fn approval(id: &str, response: ApprovalResponse) -> SessionEvent {
    SessionEvent::ApprovalAnswered { call_id: id.into(), response }
}

pub(crate) fn done() -> SessionEvent {
    SessionEvent::TurnEnded(TurnEnd::Done)
}

/// A turn with one call.
pub(crate) fn turn(text: &str) -> Vec<SessionEvent> {
    vec![
        says(text),
        asked(),
        answers(&[("c", "grep", json!({"pattern": text}))]),
        SessionEvent::CallStarted { call_id: "c".into(), title: None },
        ended("c", Ok(json!({"matches": [text]}))),
        asked(),
        answers(&[]),
        done(),
    ]
}

/// A session with some turns, written turn by turn.
pub(crate) async fn session_with(store: &dyn Store, turns: usize) -> SessionId {
    let id = store.create(&opened()).await.unwrap();
    for number in 0..turns {
        store.append(&id, turn(&format!("question {number}"))).await.unwrap();
    }
    id
}
