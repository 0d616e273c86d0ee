//! Whatever a log holds, it amounts to a conversation.

use context_manager::{ChatContext, ContextState, StopReason, Usage};
use proptest::prelude::*;
use protocol::{
    ApprovalResponse, BrokenCall, Compaction, Content, ErrorCode, LogEntry, ModelAnswer,
    ModelErrorKind, PauseReason, Rewind, SessionEvent, ShortenedMessage, ToolCall, ToolError,
    ToolResult, TurnEnd,
};
use serde_json::{Map, json};

use crate::stage::{Line, Reply, Stage, broken, call, done, picture, text};
use crate::story::assert_valid;

fn any_id() -> impl Strategy<Value = String> {
    prop::sample::select(vec!["a", "b", "c", "d", ""]).prop_map(str::to_owned)
}

fn any_text() -> impl Strategy<Value = String> {
    prop::sample::select(vec!["", " ", "x", "some words", "ü\n\"{}"]).prop_map(str::to_owned)
}

fn any_result() -> impl Strategy<Value = ToolResult> {
    prop_oneof![
        any_text().prop_map(|text| Ok(json!(text))),
        Just(Ok(json!("l".repeat(3000)))),
        Just(Err(ToolError::new(ErrorCode::Rejected, "no"))),
    ]
}

fn any_content() -> impl Strategy<Value = Content> {
    prop_oneof![
        3 => any_text().prop_map(|text| Content::Text { text: text.into() }),
        4 => any_id().prop_map(|id| {
            let arguments = json!({"path": "p"}).as_object().cloned().unwrap_or_default();
            Content::ToolUse(ToolCall::new(id, "t", arguments))
        }),
        1 => (any_id(), any_result())
            .prop_map(|(tool_use_id, result)| {
                let images = vec![picture(&tool_use_id, 100)];
                Content::ToolResult { tool_use_id, result, images, found_tools: Vec::new() }
            }),
        1 => any_id().prop_map(|name| Content::Image(picture(&name, 100).without_data())),
        1 => any_id().prop_map(|name| Content::Image(picture(&name, 100))),
        1 => Just(Content::Opaque { provider: "p".into(), block: json!({"x": 1}) }),
    ]
}

fn any_contents() -> impl Strategy<Value = Vec<Content>> {
    prop::collection::vec(any_content(), 0..4)
}

fn any_answer() -> impl Strategy<Value = ModelAnswer> {
    let stop = prop::sample::select(vec![
        StopReason::EndOfTurn,
        StopReason::ToolUse,
        StopReason::Pause,
        StopReason::Refusal,
    ]);
    (any_contents(), stop, any::<u64>(), any_id()).prop_map(|(content, stop, tokens, id)| {
        ModelAnswer {
            content,
            broken: vec![BrokenCall { id, arguments: "{".into(), reason: "cut".into() }],
            stop,
            usage: Usage { input: tokens, output: tokens, cache_read: tokens, cache_write: 0 },
            cost_usd: Some(0.1),
            duration_ms: 1,
        }
    })
}

fn any_event() -> impl Strategy<Value = SessionEvent> {
    use SessionEvent as E;
    let shortened = (0_u64..40, any_contents())
        .prop_map(|(sequence, content)| ShortenedMessage { sequence, content });
    let compaction = (
        (0_u64..40, any_text(), any::<u64>(), any::<bool>()),
        prop::collection::vec(any_id(), 0..3),
        prop::collection::vec(0_u64..40, 0..3),
        prop::collection::vec(shortened, 0..3),
    );
    prop_oneof![
        4 => any_contents().prop_map(|content| E::UserMessage { content }),
        2 => any_contents().prop_map(|content| E::UserAdded { content }),
        6 => any::<u64>().prop_map(|estimated_tokens| E::ModelAsked { estimated_tokens }),
        3 => any_text().prop_map(|text| E::TextDelta { text: text.into() }),
        1 => any_text().prop_map(|text| E::ThinkingDelta { text }),
        6 => any_answer().prop_map(E::ModelAnswered),
        1 => Just(E::ModelFailed {
            kind: ModelErrorKind::Cut, message: String::new(), retry_in_ms: None,
            usage: Usage { input: 3, ..Usage::default() }, cost_usd: None,
        }),
        1 => Just(E::ModelFailed {
            kind: ModelErrorKind::Cancelled, message: String::new(), retry_in_ms: None,
            usage: Usage { input: 3, ..Usage::default() }, cost_usd: None,
        }),
        3 => any_id().prop_map(|call_id| E::CallStarted { call_id, title: None }),
        6 => (any_id(), any_result()).prop_map(|(call_id, result)| {
            let images = vec![picture("same", 100)];
            E::CallEnded { call_id, result, text: None, images, title: None, found_tools: Vec::new(), duration_ms: 0 }
        }),
        1 => any_id().prop_map(|call_id| {
            E::ApprovalAnswered { call_id, response: ApprovalResponse::default() }
        }),
        1 => any_text().prop_map(|text| E::Nudged { text }),
        1 => any_text().prop_map(|message| E::ImagesRefused { message }),
        1 => Just(E::Paused(PauseReason::TokenBudget { used: u64::MAX, limit: 1 })),
        1 => Just(E::Continued),
        2 => Just(E::TurnEnded(TurnEnd::Cancelled)),
        2 => compaction.prop_map(|(told, elided, kept, shortened)| {
            let (through, summary, tokens_after, readable) = told;
            let told = Compaction { through, summary, tokens_after, readable, ..Default::default() };
            E::Compacted(Compaction { elided, kept, shortened, ..told })
        }),
        1 => any_answer().prop_map(|answer| E::Nested {
            call_id: "a".into(),
            entry: Box::new(LogEntry { sequence: 1, at: 0, event: E::ModelAnswered(answer) }),
        }),
    ]
}

fn numbered(events: Vec<SessionEvent>, from: u64) -> Vec<LogEntry> {
    (from..).zip(events).map(|(sequence, event)| LogEntry { sequence, at: 0, event }).collect()
}

proptest! {
    #[test]
    fn after_a_rewind_only_what_was_before_counts(
        events in prop::collection::vec(any_event(), 1..40),
        at in any::<prop::sample::Index>(),
    ) {
        let to = at.index(events.len()) as u64 + 1;
        let all = numbered(events, 1);
        let rewind = Rewind { to, restored: Vec::new(), kept: Vec::new() };
        let sequence = all.len() as u64 + 1;
        let rewound = LogEntry { sequence, at: 0, event: SessionEvent::Rewound(rewind) };
        let whole = all.iter().chain([&rewound]);
        let before = all.iter().take(to as usize - 1).chain([&rewound]);
        let (context, expected) = (ChatContext::replay(whole), ChatContext::replay(before));
        prop_assert_eq!(context.messages(), expected.messages());
        prop_assert_eq!(context.state(), &ContextState::Idle);
        prop_assert!(context.usage().output >= expected.usage().output);
        crate::story::assert_valid(&context.messages());
    }

    #[test]
    fn any_sequence_of_events_is_a_valid_conversation_and_can_be_closed_anywhere(
        events in prop::collection::vec(any_event(), 0..40)
    ) {
        let entries = numbered(events, 1);
        let mut context = ChatContext::default();
        for entry in &entries {
            context.apply(entry);
            assert_valid(&context.messages());
            let mut closed = context.clone();
            for entry in &numbered(context.unfinished(crate::stage::nothing_charged()), entry.sequence + 1) {
                closed.apply(entry);
            }
            prop_assert!(matches!(closed.state(), ContextState::Idle | ContextState::Paused(_)));
            prop_assert!(closed.unfinished(crate::stage::nothing_charged()).is_empty());
            // Closing says the same as the stand-ins did before.
            let (before, after) = (context.messages(), closed.messages());
            prop_assert!(after.starts_with(&before));
            assert_valid(&after);
        }
        prop_assert_eq!(ChatContext::replay(&entries).messages(), context.messages());
    }
}

fn any_line() -> impl Strategy<Value = Line> {
    let name = prop::sample::select(vec!["look", "write", "missing", "breaks", "big", "refused"]);
    prop_oneof![
        2 => any_text().prop_map(|words| text(&words)),
        4 => (any_id(), name, any::<bool>()).prop_map(|(id, name, terminate)| {
            call(&id, name, json!({"path": "p", "terminate": terminate && name == "look"}))
        }),
        1 => any_id().prop_map(|id| broken(&id, "look")),
    ]
}

fn any_reply() -> impl Strategy<Value = Reply> {
    use StopReason::{ContextFull, EndOfTurn, MaxTokens, Pause, Refusal, ToolUse};
    let ends = prop_oneof![
        6 => prop::sample::select(vec![ToolUse, ToolUse, EndOfTurn, MaxTokens, Pause, Refusal, ContextFull])
            .prop_map(done),
        1 => prop::sample::select(vec![
            ModelErrorKind::Cut, ModelErrorKind::Malformed, ModelErrorKind::ContextFull,
        ]).prop_map(Line::Fails),
        1 => Just(Line::Cancelled),
    ];
    (prop::collection::vec(any_line(), 0..4), ends).prop_map(|(mut lines, end)| {
        lines.push(end);
        lines
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(128))]
    #[test]
    fn whatever_a_model_does_every_call_gets_exactly_one_result(
        replies in prop::collection::vec(any_reply(), 1..12)
    ) {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_time()
            .start_paused(true)
            .build()
            .unwrap();
        let mut stage = Stage::new(replies);
        runtime.block_on(async {
            for _ in 0..3 {
                stage.send("go").await;
                stage.renew();
            }
        });
        let mut calls: Map<_, _> = Map::new();
        for entry in stage.entries() {
            match entry.event {
                SessionEvent::ModelAnswered(answer) => {
                    for content in answer.content {
                        if let Content::ToolUse(call) = content {
                            prop_assert!(calls.insert(call.id, json!(0)).is_none());
                        }
                    }
                }
                SessionEvent::CallEnded { call_id, .. } => {
                    prop_assert_eq!(calls.insert(call_id, json!(1)), Some(json!(0)));
                }
                _ => {}
            }
        }
        prop_assert!(calls.values().all(|ended| *ended == json!(1)));
    }
}
