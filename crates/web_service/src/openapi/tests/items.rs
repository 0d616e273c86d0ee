//! Timelines as they are written, against what the description says of them.

use std::collections::BTreeSet;

use protocol::{
    ApprovalRequest, ApprovalResponse, Base, Change, ChangeSet, Content, ErrorCode, FileBytes,
    FileDiff, Image, ImageFormat, LogEntry, ModelAnswer, Opened, PlanStep, Proposal, SessionEvent,
    Settings, StepStatus, StopReason, ToolCall, ToolError, TurnEnd, Usage,
};
use serde_json::{Map, Value, json};
use timeline::Timeline;

use super::*;

/// What is described of a timeline, with nothing allowed that is not named.
fn strict(document: &Value) -> Value {
    let mut schemas = document["components"]["schemas"].clone();
    let kinds = kinds(document);
    for (name, schema) in schemas.as_object_mut().unwrap() {
        // The contents of an item are part of an object that is closed as a whole.
        if schema.get("properties").is_some() && !kinds.contents.contains(name) {
            schema["unevaluatedProperties"] = json!(false);
        }
    }
    json!({"$ref": "#/components/schemas/TimelineWindow", "components": {"schemas": schemas}})
}

struct DescribedKinds {
    names: BTreeSet<String>,
    /// The definitions that the kinds refer to.
    contents: BTreeSet<String>,
}

fn kinds(document: &Value) -> DescribedKinds {
    let variants = document["components"]["schemas"]["Item"]["oneOf"].as_array().unwrap();
    let name = |variant: &Value| Some(variant["properties"]["kind"]["const"].as_str()?.to_owned());
    let content = |variant: &Value| {
        Some(variant["$ref"].as_str()?.rsplit('/').next().unwrap_or_default().to_owned())
    };
    DescribedKinds {
        names: variants.iter().filter_map(name).collect(),
        contents: variants.iter().filter_map(content).collect(),
    }
}

fn change() -> Proposal {
    let change = Change::Write {
        path: "a.txt".into(),
        base: Base::Absent,
        content: FileBytes(b"one \nt\x1bwo".to_vec()),
        mode: Some(0o755),
    };
    Proposal::Changes(ChangeSet { changes: vec![change] })
}

fn question(call_id: &str) -> ApprovalRequest {
    let proposal = change();
    let Proposal::Changes(set) = &proposal else { panic!("{proposal:?}") };
    ApprovalRequest {
        step_id: call_id.into(),
        tool: "write_file".into(),
        args: Map::new(),
        reason: "needs approval: no rule allows it".into(),
        is_routine: false,
        diffs: set.changes.iter().map(|change| FileDiff::of(change, None)).collect(),
        proposal_hash: proposal.hash(),
        proposal,
        remembers: None,
        expires_in_ms: 1,
    }
}

fn ends(call_id: &str, result: Result<Value, ToolError>, images: Vec<Image>) -> SessionEvent {
    SessionEvent::CallEnded {
        call_id: call_id.into(),
        result,
        text: None,
        images,
        found_tools: Vec::new(),
        title: Some("Wrote a.txt".into()),
        duration_ms: 5,
    }
}

fn text(text: &str) -> Content {
    Content::Text { text: text.into() }
}

/// Something of everything that a session can show.
fn events() -> Vec<SessionEvent> {
    let settings =
        Settings { provider: "p".into(), model: "m".into(), role: protocol::AgentRole::Actor };
    let opened = Opened { root: "/p".into(), settings: settings.clone(), forked_from: None };
    let image = Image::new("a.png", ImageFormat::Png, (2, 1), b"bytes");
    let call = |id: &str| Content::ToolUse(ToolCall::new(id, "write_file", Map::new()));
    let answer = ModelAnswer {
        content: vec![text("I write."), call("a"), call("b"), call("c"), call("d")],
        broken: Vec::new(),
        stop: StopReason::ToolUse,
        usage: Usage { input: 3, output: 2, cache_read: 1, cache_write: 0 },
        cost_usd: Some(0.5),
        duration_ms: 9,
    };
    let starts = |id: &str| SessionEvent::CallStarted { call_id: id.into(), title: None };
    let asks = |id: &str| SessionEvent::ApprovalAsked(Box::new(question(id)));
    let says = |id: &str, response| SessionEvent::ApprovalAnswered { call_id: id.into(), response };
    let nested =
        LogEntry { sequence: 1, at: 0, event: SessionEvent::TextDelta { text: "x".into() } };
    let step = PlanStep { text: "look".into(), status: StepStatus::InProgress };
    vec![
        SessionEvent::Opened(opened),
        SessionEvent::UserMessage { content: vec![text("Write"), Content::Image(image.clone())] },
        SessionEvent::ThinkingDelta { text: "hm".into() },
        SessionEvent::TextDelta { text: "I wr".into() },
        SessionEvent::ModelAnswered(answer),
        SessionEvent::PlanChanged { steps: vec![step] },
        starts("a"),
        asks("a"),
        says("a", question("a").approve()),
        ends("a", Ok(json!({"exit_code": 1, "diff": "-a\n+b\n"})), vec![image]),
        starts("b"),
        asks("b"),
        says("b", ApprovalResponse::no(Some("no".into()))),
        ends(
            "b",
            Err(ToolError::new(ErrorCode::InvalidArguments, "no").suggest("yes")),
            Vec::new(),
        ),
        starts("c"),
        asks("c"),
        SessionEvent::Nested { call_id: "d".into(), entry: Box::new(nested) },
        SessionEvent::Renamed { title: "Writing".into() },
        SessionEvent::Repaired { notes: vec!["one".into()] },
        SessionEvent::SettingsChanged(settings),
        SessionEvent::TurnEnded(TurnEnd::Failed),
    ]
}

#[test]
fn timelines_with_every_kind_of_item_are_written_as_they_are_described() {
    let document = document(&crate::routes());
    let validator = jsonschema::validator_for(&strict(&document)).unwrap();
    let mut timeline = Timeline::default();
    let mut seen = BTreeSet::new();
    for (sequence, event) in (1..).zip(events()) {
        timeline.apply(&LogEntry { sequence, at: sequence as i64, event });
        timeline.output("a", "line\n");
        let (items, facts) = (timeline.items(), timeline.facts());
        let window =
            json!({"through": sequence, "total": items.len(), "items": items, "facts": facts});
        let errors: Vec<String> =
            validator.iter_errors(&window).map(|error| error.to_string()).collect();
        assert!(errors.is_empty(), "{errors:?} in {window:#}");
        let kinds = window["items"].as_array().unwrap().iter();
        seen.extend(kinds.map(|item| item["kind"].as_str().unwrap().to_owned()));
    }
    assert_eq!(
        seen,
        kinds(&document).names,
        "kinds that are written, and those that are described"
    );
}

#[test]
fn what_is_not_described_does_not_fit() {
    let document = document(&crate::routes());
    let validator = jsonschema::validator_for(&strict(&document)).unwrap();
    let item = json!({"id": 0, "depth": 0, "at": 1, "sequence": 1, "kind": "message", "text": "a"});
    let fits = |change: Value| {
        let mut item = item.clone();
        item.as_object_mut().unwrap().extend(change.as_object().unwrap().clone());
        let facts = Timeline::default();
        let facts = facts.facts();
        validator.is_valid(&json!({"through": 1, "total": 1, "items": [item], "facts": facts}))
    };
    assert!(fits(json!({})));
    let others = [
        json!({"kind": "unheard"}),
        json!({"kind": "notice"}),
        json!({"text": 1}),
        json!({"new": 1}),
    ];
    for other in others {
        assert!(!fits(other.clone()), "{other}");
    }
}
