//! Spans that other programs are told of, and spans that they tell of.

use net::Network;
use protocol::TraceContext;
use serde_json::json;
use telemetry::{
    ContentCapture, ExportSettings, Exporter, Recorder, ServedCall, TraceSpan, spans_of,
};

use crate::exporting::{Collector, PATIENCE, settings};
use crate::story::{SESSION, answers, asks, call, ends, log, nested, opened, says, starts};

fn recorder(settings: ExportSettings) -> Recorder {
    let exporter = Exporter::start(settings, &Network::default()).unwrap();
    Recorder::new(exporter, ContentCapture::LeftOut)
}

/// The span with this name, as others are told of it.
fn told(spans: &[TraceSpan], name: &str) -> TraceContext {
    let span = spans.iter().find(|span| span.name == name).expect(name);
    TraceContext { trace: span.trace.0, span: span.id.0, is_sampled: true, state: None }
}

#[tokio::test]
async fn the_span_that_others_are_told_of_is_the_one_that_is_sent_later() {
    let collector = Collector::start(&[200], None).await;
    let recorder = recorder(settings(&collector.address));
    let outer = vec![call("c1", "delegate", json!({}))];
    // The ids of calls of a sub-agent may be those of its caller.
    let inner = vec![call("c1", "notes__add", json!({}))];
    let running = [
        opened(),
        says("go"),
        asks(),
        answers("", outer),
        starts("c1"),
        nested("c1", 3_000, says("do it")),
        nested("c1", 3_000, asks()),
        nested("c1", 3_500, answers("", inner)),
        nested("c1", 3_500, starts("c1")),
    ];
    recorder.written(SESSION, &log(running.clone()));
    let path = ["c1".to_owned()];
    let [ours, theirs] =
        [&[][..], &path].map(|path| recorder.trace_context(SESSION, path, "c1").unwrap());
    let ended = [nested("c1", 4_500, ends("c1", Ok(json!(1)))), ends("c1", Ok(json!(1)))];
    let whole = log(running.into_iter().chain(ended));
    let spans = spans_of(SESSION, &whole, ContentCapture::LeftOut);
    assert_eq!(ours, told(&spans, "execute_tool delegate"));
    assert_eq!(theirs, told(&spans, "execute_tool notes__add"));
    // What does not run has no span to be told of.
    recorder.written(SESSION, &whole[9..]);
    assert_eq!(recorder.trace_context(SESSION, &[], "c1"), None);
    assert_eq!(recorder.trace_context("another", &[], "c1"), None);
}

#[tokio::test]
async fn nothing_is_told_where_only_metrics_are_sent() {
    let collector = Collector::start(&[200], None).await;
    let recorder = recorder(ExportSettings { traces: None, ..settings(&collector.address) });
    let running = [opened(), says("go"), asks(), answers("", vec![call("c1", "x", json!({}))])];
    recorder.written(SESSION, &log(running.into_iter().chain([starts("c1")])));
    assert_eq!(recorder.trace_context(SESSION, &[], "c1"), None);
}

fn served(is_sampled: bool) -> ServedCall {
    let state = Some("vendor=1".to_owned());
    ServedCall {
        context: TraceContext { trace: [0xab; 16], span: [0xcd; 8], is_sampled, state },
        tool: "read_file".into(),
        request: "7".into(),
        version: "2026-07-28".into(),
        began_ms: 1_000,
        ended_ms: 1_250,
        failure: Some("tool_error".into()),
    }
}

#[tokio::test]
async fn a_call_of_another_program_becomes_a_part_of_its_trace_if_that_is_recorded() {
    let mut collector = Collector::start(&[200], None).await;
    let recorder = recorder(settings(&collector.address));
    recorder.served(served(false));
    recorder.served(served(true));
    recorder.shutdown(PATIENCE).await;
    assert_eq!(recorder.status().sent, 1);
    let body = collector.next().await.body;
    let holds = |part: &[u8]| body.windows(part.len()).any(|it| it == part);
    for text in ["tools/call read_file", "mcp.method.name", "tool_error", "vendor=1", "2026-07-28"]
    {
        assert!(holds(text.as_bytes()), "{text}");
    }
    assert!(holds(&[0xab; 16]) && holds(&[0xcd; 8]));
}
