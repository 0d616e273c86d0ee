use insta::assert_snapshot;
use protocol::{
    AgentRole, ApprovalRequest, ApprovalResponse, BrokenCall, ChangeSet, Compaction, ContentHash,
    Instructions, LogEntry, ModelErrorKind, Opened, Proposal, Settings, StopReason, TurnEnd, Usage,
};
use serde_json::Map;

use super::*;

fn call(id: &str) -> ToolCall {
    ToolCall::new(id, "grep", Map::new())
}

fn open(id: &str, progress: CallProgress) -> OpenCall {
    OpenCall { call: call(id), broken: None, progress }
}

fn answer(calls: &[&str]) -> SessionEvent {
    SessionEvent::ModelAnswered(ModelAnswer {
        content: calls.iter().map(|id| Content::ToolUse(call(id))).collect(),
        broken: vec![BrokenCall { id: "b".into(), arguments: "{".into(), reason: "cut".into() }],
        stop: StopReason::ToolUse,
        usage: Usage::default(),
        cost_usd: None,
        duration_ms: 0,
    })
}

fn states() -> Vec<(&'static str, ContextState)> {
    let partial = PartialAnswer { text: "so".into(), thinking: "hm".into() };
    vec![
        ("idle", ContextState::Idle),
        ("ready", ContextState::Ready),
        ("awaiting", ContextState::AwaitingModel(partial)),
        ("one", ContextState::RunningTools(vec![open("a", CallProgress::Announced)])),
        (
            "two",
            ContextState::RunningTools(vec![
                open("a", CallProgress::Started),
                open("b", CallProgress::AwaitingApproval),
            ]),
        ),
        ("paused", ContextState::Paused(PauseReason::TurnLimit { turns: 10 })),
    ]
}

fn instructions() -> Instructions {
    let version = ContentHash::of(b"");
    Instructions { path: "AGENTS.md".into(), version, remark: None, text: "Be kind.".into() }
}

fn approval(id: &str) -> SessionEvent {
    let proposal = Proposal::Changes(ChangeSet::default());
    SessionEvent::ApprovalAsked(Box::new(ApprovalRequest {
        step_id: id.into(),
        tool: "edit".into(),
        args: Map::new(),
        reason: String::new(),
        is_routine: false,
        proposal_hash: proposal.hash(),
        proposal,
        diffs: Vec::new(),
        remembers: None,
        expires_in_ms: 1,
    }))
}

fn events() -> Vec<(&'static str, SessionEvent)> {
    use SessionEvent as E;
    let settings = Settings { provider: "p".into(), model: "m".into(), role: AgentRole::Actor };
    let opened = Opened { root: "/".into(), settings: settings.clone(), forked_from: None };
    let nested = Box::new(LogEntry { sequence: 1, at: 0, event: E::Continued });
    let ended = |id: &str| E::CallEnded {
        call_id: id.into(),
        result: Ok("x".into()),
        text: None,
        images: Vec::new(),
        title: None,
        found_tools: Vec::new(),
        duration_ms: 1,
    };
    let text = || "x".to_owned();
    vec![
        ("opened", E::Opened(opened)),
        ("renamed", E::Renamed { title: text() }),
        ("settings", E::SettingsChanged(settings)),
        ("user", E::UserMessage { content: Vec::new() }),
        ("asked", E::ModelAsked { estimated_tokens: 1 }),
        ("text", E::TextDelta { text: text().into() }),
        ("thinking", E::ThinkingDelta { text: text() }),
        ("answer", answer(&[])),
        ("calls", answer(&["a", "b"])),
        (
            "failed",
            E::ModelFailed {
                kind: ModelErrorKind::Cut,
                message: text(),
                retry_in_ms: None,
                usage: Usage::default(),
                cost_usd: None,
            },
        ),
        ("start a", E::CallStarted { call_id: "a".into(), title: None }),
        ("start ?", E::CallStarted { call_id: "?".into(), title: None }),
        ("approve a", approval("a")),
        (
            "approved b",
            E::ApprovalAnswered { call_id: "b".into(), response: ApprovalResponse::no(None) },
        ),
        ("end a", ended("a")),
        ("end ?", ended("?")),
        ("nudged", E::Nudged { text: text() }),
        ("instructed", E::Instructed(instructions())),
        ("plan", E::PlanChanged { steps: Vec::new() }),
        ("paused", E::Paused(PauseReason::TurnLimit { turns: 3 })),
        ("continued", E::Continued),
        ("ended", E::TurnEnded(TurnEnd::Done)),
        ("compacted", E::Compacted(Compaction::default())),
        ("nested", E::Nested { call_id: "a".into(), entry: nested }),
        ("repaired", E::Repaired { notes: Vec::new() }),
    ]
}

/// A state in a few letters.
fn short(state: &ContextState) -> String {
    match state {
        ContextState::Idle => "idle".into(),
        ContextState::Ready => "ready".into(),
        ContextState::AwaitingModel(partial) => {
            format!("'{}' ({})", partial.text, partial.thinking)
        }
        ContextState::RunningTools(open) => {
            let calls = open.iter().map(|open| {
                let progress = match open.progress {
                    CallProgress::Announced => "",
                    CallProgress::Started => "+",
                    CallProgress::AwaitingApproval => "?",
                };
                format!("{}{progress}{}", open.call.id, open.broken.as_deref().unwrap_or(""))
            });
            calls.collect::<Vec<_>>().join(" ")
        }
        ContextState::Paused(PauseReason::TurnLimit { turns }) => format!("paused {turns}"),
        ContextState::Paused(other) => format!("{other:?}"),
    }
}

/// `-` stands for an event that does not belong, `=` for one that leaves the state as it is.
#[test]
fn every_state_has_an_answer_to_every_event() {
    let mut table = format!("{:<12}", "");
    for (_, state) in states() {
        table += &format!("| {:<12}", short(&state));
    }
    for (name, event) in events() {
        table += &format!("\n{name:<12}");
        for (_, state) in states() {
            let step = next(state.clone(), &event);
            let shown = match (step.taken, step.state == state) {
                (false, true) => "-".to_owned(),
                (true, true) => "=".to_owned(),
                (true, false) => short(&step.state),
                (false, false) => panic!("{name} does not belong and changes {state:?}"),
            };
            table += &format!("| {shown:<12}");
        }
    }
    let table: Vec<&str> = table.lines().map(str::trim_end).collect();
    assert_snapshot!(table.join("\n"), @r"
                | idle        | ready       | 'so' (hm)   | a           | a+ b?       | paused 10
    opened      | =           | =           | =           | =           | =           | =
    renamed     | =           | =           | =           | =           | =           | =
    settings    | =           | =           | =           | =           | =           | =
    user        | ready       | =           | ready       | ready       | ready       | ready
    asked       | -           | '' ()       | '' ()       | -           | -           | -
    text        | -           | -           | 'sox' (hm)  | -           | -           | -
    thinking    | -           | -           | 'so' (hmx)  | -           | -           | -
    answer      | -           | -           | ready       | -           | -           | -
    calls       | -           | -           | a bcut      | -           | -           | -
    failed      | =           | =           | ready       | -           | -           | =
    start a     | -           | -           | -           | a+          | -           | -
    start ?     | -           | -           | -           | -           | -           | -
    approve a   | -           | -           | -           | -           | a? b?       | -
    approved b  | -           | -           | -           | -           | a+ b+       | -
    end a       | -           | -           | -           | ready       | b?          | -
    end ?       | -           | -           | -           | -           | -           | -
    nudged      | =           | =           | -           | -           | -           | =
    instructed  | =           | =           | -           | -           | -           | =
    plan        | =           | =           | =           | =           | =           | =
    paused      | -           | paused 3    | -           | -           | -           | -
    continued   | -           | -           | -           | -           | -           | ready
    ended       | -           | idle        | idle        | idle        | idle        | idle
    compacted   | =           | =           | -           | -           | -           | =
    nested      | =           | =           | =           | =           | =           | =
    repaired    | =           | =           | =           | =           | =           | =
    ");
}

#[test]
fn an_interrupted_call_says_whether_it_may_have_had_an_effect() {
    let text = |progress| open("a", progress).interrupted().full_message();
    assert_snapshot!(text(CallProgress::Announced), @r"
    The session ended before this call was run; it had no effect.
    Call it again.
    ");
    assert_snapshot!(text(CallProgress::Started), @r"
    The session ended while this call was running; it may have had an effect.
    Check the current state before you call it again.
    ");
    assert_snapshot!(text(CallProgress::AwaitingApproval), @r"
    The session ended while the user was asked about this call; it was not performed.
    Call it again if it is still wanted.
    ");
}
