//! What holds for the spans of every log.

use std::collections::BTreeSet;

use proptest::prelude::*;
use protocol::{
    ApprovalResponse, ErrorCode, LogEntry, ModelErrorKind, PauseReason, Rewind, SessionEvent,
    ToolError, TurnEnd, Usage,
};
use serde_json::json;
use telemetry::{
    ContentCapture, Measures, Resource, SpanFold, TraceSpan, metrics_request, spans_of,
    traces_request,
};

use crate::story::{SESSION, answers, asks, call, ends, nested, opened, question, says, starts};

fn id() -> impl Strategy<Value = String> {
    "[a-c]"
}

fn flat_event() -> impl Strategy<Value = SessionEvent> {
    prop_oneof![
        Just(opened()),
        "\\PC{0,8}".prop_map(|text| says(&text)),
        Just(asks()),
        (id(), "\\PC{0,90}").prop_map(|(id, name)| answers("", vec![call(&id, &name, json!({}))])),
        Just(answers("done", Vec::new())),
        Just(SessionEvent::ModelFailed {
            kind: ModelErrorKind::Cut,
            message: String::new(),
            retry_in_ms: None,
            usage: Usage { input: u64::MAX, output: 1, cache_read: 0, cache_write: 0 },
            cost_usd: None,
        }),
        id().prop_map(|id| starts(&id)),
        id().prop_map(|id| SessionEvent::ApprovalAsked(Box::new(question(&id)))),
        id().prop_map(|call_id| SessionEvent::ApprovalAnswered {
            call_id,
            response: ApprovalResponse::no(None),
        }),
        id().prop_map(|id| ends(&id, Ok(json!(null)))),
        id().prop_map(|id| ends(&id, Err(ToolError::new(ErrorCode::Timeout, "slow")))),
        Just(SessionEvent::Paused(PauseReason::TurnLimit { turns: 1 })),
        Just(SessionEvent::Continued),
        Just(SessionEvent::TurnEnded(TurnEnd::Done)),
        Just(SessionEvent::TurnEnded(TurnEnd::Failed)),
        Just(SessionEvent::Rewound(Rewind { to: 1, restored: Vec::new(), kept: Vec::new() })),
    ]
}

/// Entries in any order, at any time, at any depth.
fn entries() -> impl Strategy<Value = Vec<LogEntry>> {
    let at = prop_oneof![0..5_000_i64, any::<i64>()];
    let event = (flat_event(), prop::collection::vec(id(), 0..3), any::<i64>());
    let event = event
        .prop_map(|(event, path, at)| path.iter().fold(event, |event, id| nested(id, at, event)));
    prop::collection::vec((at, event), 0..60).prop_map(|all| {
        let numbered = (1..).zip(all);
        numbered.map(|(sequence, (at, event))| LogEntry { sequence, at, event }).collect()
    })
}

fn parent<'a>(spans: &'a [TraceSpan], span: &TraceSpan) -> Option<&'a TraceSpan> {
    spans.iter().find(|other| Some(other.id) == span.parent)
}

proptest! {
    #[test]
    fn spans_nest_and_none_is_left_open(entries in entries()) {
        let spans = spans_of(SESSION, &entries, ContentCapture::LeftOut);
        let ids: BTreeSet<_> = spans.iter().map(|span| span.id).collect();
        prop_assert_eq!(ids.len(), spans.len());
        for (index, span) in spans.iter().enumerate() {
            prop_assert!(span.start_ms <= span.end_ms);
            let Some(whole) = parent(&spans, span) else {
                prop_assert!(span.parent.is_none() && span.name == "invoke_agent toolkiln");
                continue;
            };
            prop_assert_eq!(whole.trace, span.trace);
            prop_assert!(whole.start_ms <= span.start_ms && span.end_ms <= whole.end_ms);
            let place = spans.iter().position(|other| other.id == whole.id);
            prop_assert!(place > Some(index), "a part ends before the whole");
        }
    }

    #[test]
    fn everything_that_begins_in_a_turn_has_a_span(entries in entries()) {
        let mut fold = SpanFold::new(SESSION, ContentCapture::LeftOut);
        let mut ended: Vec<TraceSpan> = entries.iter().flat_map(|it| fold.apply(it).spans).collect();
        let was_open = fold.is_open();
        let rest = fold.interrupt();
        prop_assert_eq!(was_open, !rest.is_empty());
        prop_assert!(!fold.is_open());
        ended.extend(rest);
        let turns = entries.iter().filter(|it| matches!(it.event, SessionEvent::UserMessage { .. }));
        prop_assert_eq!(ended.iter().filter(|it| it.parent.is_none()).count(), turns.count());
    }

    #[test]
    fn every_log_can_be_written_as_otlp(entries in entries()) {
        let resource = Resource {
            service: "s".into(),
            version: "1".into(),
            instance: None,
            attributes: Vec::new(),
        };
        let spans = spans_of(SESSION, &entries, ContentCapture::Recorded);
        prop_assert!(!traces_request(&resource, &spans).is_empty());
        let mut measures = Measures::default();
        let mut fold = SpanFold::new(SESSION, ContentCapture::Recorded);
        entries.iter().for_each(|entry| measures.count(&fold.apply(entry)));
        prop_assert!(!metrics_request(&resource, &measures, (0, u64::MAX)).is_empty());
    }
}
