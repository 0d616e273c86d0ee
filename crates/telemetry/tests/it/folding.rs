//! What spans a log has.

use insta::assert_snapshot;
use protocol::{
    ErrorCode, LogEntry, ModelErrorKind, PauseReason, SessionEvent, ToolError, TurnEnd, Usage,
};
use serde_json::json;
use telemetry::{ContentCapture, SpanFold, TraceSpan, spans_of};

use crate::story::{
    SESSION, answers, asks, call, ends, log, nested, opened, question, says, starts, tree,
};

fn whole() -> Vec<LogEntry> {
    let asked = question("1");
    let yes = SessionEvent::ApprovalAnswered { call_id: "1".into(), response: asked.approve() };
    log([
        opened(),
        says("secret wish"),
        asks(),
        SessionEvent::ModelFailed {
            kind: ModelErrorKind::RateLimited,
            message: "slow down, secret account".into(),
            retry_in_ms: Some(100),
            usage: Usage::default(),
            cost_usd: None,
        },
        asks(),
        answers("secret answer", vec![call("1", "bash", json!({"command": "secret command"}))]),
        starts("1"),
        SessionEvent::ApprovalAsked(Box::new(asked)),
        yes,
        ends("1", Ok(json!({"output": "secret output"}))),
        asks(),
        answers("", vec![call("d", "delegate", json!({"task": "secret task"}))]),
        starts("d"),
        nested("d", 6_800, says("secret task")),
        nested("d", 6_900, asks()),
        nested("d", 7_000, answers("", vec![call("1", "read_file", json!({"path": "secret"}))])),
        nested("d", 7_100, starts("1")),
        nested(
            "d",
            8_200,
            ends("1", Err(ToolError::new(ErrorCode::FileNotFound, "no secret file"))),
        ),
        nested("d", 9_000, SessionEvent::TurnEnded(TurnEnd::Done)),
        ends("d", Ok(json!({"report": "secret report"}))),
        SessionEvent::Paused(PauseReason::TurnLimit { turns: 2 }),
        SessionEvent::Continued,
        asks(),
        answers("secret end", Vec::new()),
        SessionEvent::TurnEnded(TurnEnd::Done),
    ])
}

#[test]
fn a_turn_has_a_span_for_each_request_call_and_wait() {
    assert_snapshot!(tree(&spans_of(SESSION, &whole(), ContentCapture::LeftOut)), @r#"
    invoke_agent toolkiln [1000..12500] Unset
        gen_ai.agent.name = Text("toolkiln")
        toolkiln.role = Text("actor")
        gen_ai.provider.name = Text("openai")
        gen_ai.request.model = Text("m-1")
        toolkiln.turn.end = Text("done")
        gen_ai.usage.input_tokens = Whole(4200)
        gen_ai.usage.output_tokens = Whole(800)
        gen_ai.usage.cache_read.input_tokens = Whole(200)
        toolkiln.cost_usd = Number(1.0)
      chat m-1 [1500..2000] Error
          gen_ai.provider.name = Text("openai")
          gen_ai.request.model = Text("m-1")
          error.type = Text("rate_limited")
      chat m-1 [2500..3000] Unset
          gen_ai.provider.name = Text("openai")
          gen_ai.request.model = Text("m-1")
          gen_ai.response.finish_reasons = Texts(["tool_call"])
          gen_ai.usage.input_tokens = Whole(1050)
          gen_ai.usage.output_tokens = Whole(200)
          gen_ai.usage.cache_read.input_tokens = Whole(50)
          toolkiln.cost_usd = Number(0.25)
      execute_tool bash [3500..5000] Unset
          gen_ai.tool.call.id = Text("1")
          gen_ai.tool.name = Text("bash")
        await_approval bash [4000..4500] Unset
            gen_ai.tool.call.id = Text("1")
            gen_ai.tool.name = Text("bash")
            toolkiln.approval.approved = Flag(true)
      chat m-1 [5500..6000] Unset
          gen_ai.provider.name = Text("openai")
          gen_ai.request.model = Text("m-1")
          gen_ai.response.finish_reasons = Texts(["tool_call"])
          gen_ai.usage.input_tokens = Whole(1050)
          gen_ai.usage.output_tokens = Whole(200)
          gen_ai.usage.cache_read.input_tokens = Whole(50)
          toolkiln.cost_usd = Number(0.25)
      execute_tool delegate [6500..10000] Unset
          gen_ai.tool.call.id = Text("d")
          gen_ai.tool.name = Text("delegate")
        invoke_agent toolkiln sub-agent [7000..9500] Unset
            gen_ai.agent.name = Text("toolkiln sub-agent")
            toolkiln.role = Text("actor")
            gen_ai.provider.name = Text("openai")
            gen_ai.request.model = Text("m-1")
            toolkiln.turn.end = Text("done")
            gen_ai.usage.input_tokens = Whole(1050)
            gen_ai.usage.output_tokens = Whole(200)
            gen_ai.usage.cache_read.input_tokens = Whole(50)
            toolkiln.cost_usd = Number(0.25)
          chat m-1 [7500..8000] Unset
              gen_ai.provider.name = Text("openai")
              gen_ai.request.model = Text("m-1")
              gen_ai.response.finish_reasons = Texts(["tool_call"])
              gen_ai.usage.input_tokens = Whole(1050)
              gen_ai.usage.output_tokens = Whole(200)
              gen_ai.usage.cache_read.input_tokens = Whole(50)
              toolkiln.cost_usd = Number(0.25)
          execute_tool read_file [8500..9000] Error
              gen_ai.tool.call.id = Text("1")
              gen_ai.tool.name = Text("read_file")
              error.type = Text("file_not_found")
      await_user [10500..11000] Unset
      chat m-1 [11500..12000] Unset
          gen_ai.provider.name = Text("openai")
          gen_ai.request.model = Text("m-1")
          gen_ai.response.finish_reasons = Texts(["stop"])
          gen_ai.usage.input_tokens = Whole(1050)
          gen_ai.usage.output_tokens = Whole(200)
          gen_ai.usage.cache_read.input_tokens = Whole(50)
          toolkiln.cost_usd = Number(0.25)
    "#);
}

#[test]
fn without_being_asked_for_no_content_is_in_a_span() {
    let told = |content| format!("{:?}", spans_of(SESSION, &whole(), content));
    assert!(!told(ContentCapture::LeftOut).contains("secret"));
    let recorded = told(ContentCapture::Recorded);
    for said in ["wish", "answer", "command", "output", "task", "report", "end"] {
        assert!(recorded.contains(&format!("secret {said}")), "{said}");
    }
}

#[test]
fn another_reader_that_takes_over_anywhere_names_the_same_spans() {
    let entries = whole();
    let known = spans_of(SESSION, &entries, ContentCapture::LeftOut);
    for cut in 0..entries.len() {
        let (before, after) = entries.split_at(cut);
        let mut first = SpanFold::new(SESSION, ContentCapture::LeftOut);
        let mut spans: Vec<TraceSpan> =
            before.iter().flat_map(|it| first.apply(it).spans).collect();
        // The second one reads everything, and tells only of what ends from here on.
        let mut second = SpanFold::new(SESSION, ContentCapture::LeftOut);
        before.iter().for_each(|entry| drop(second.apply(entry)));
        spans.extend(after.iter().flat_map(|it| second.apply(it).spans));
        assert_eq!(spans, known, "{cut}");
    }
    let other = spans_of("another", &entries, ContentCapture::LeftOut);
    assert!(other.iter().zip(&known).all(|(other, known)| other.id != known.id));
}

#[test]
fn what_a_log_leaves_open_is_interrupted() {
    let mut entries = whole();
    entries.truncate(16);
    let spans = spans_of(SESSION, &entries, ContentCapture::LeftOut);
    let open: Vec<String> = spans
        .iter()
        .filter(|span| span.text("error.type") == Some("interrupted"))
        .map(|span| span.name.clone())
        .collect();
    assert_eq!(
        open,
        ["invoke_agent toolkiln sub-agent", "execute_tool delegate", "invoke_agent toolkiln"]
    );
}

#[test]
fn a_session_that_is_taken_up_ends_what_was_open_when_its_process_died() {
    let interrupted = ToolError::new(ErrorCode::Interrupted, "the process ended");
    let entries = log([
        opened(),
        says("go"),
        asks(),
        answers("", vec![call("1", "bash", json!({}))]),
        starts("1"),
        ends("1", Err(interrupted)),
        SessionEvent::TurnEnded(TurnEnd::Interrupted),
    ]);
    assert_snapshot!(tree(&spans_of(SESSION, &entries, ContentCapture::LeftOut)), @r#"
    invoke_agent toolkiln [1000..3500] Error
        gen_ai.agent.name = Text("toolkiln")
        toolkiln.role = Text("actor")
        gen_ai.provider.name = Text("openai")
        gen_ai.request.model = Text("m-1")
        toolkiln.turn.end = Text("interrupted")
        gen_ai.usage.input_tokens = Whole(1050)
        gen_ai.usage.output_tokens = Whole(200)
        gen_ai.usage.cache_read.input_tokens = Whole(50)
        toolkiln.cost_usd = Number(0.25)
        error.type = Text("interrupted")
      chat m-1 [1500..2000] Unset
          gen_ai.provider.name = Text("openai")
          gen_ai.request.model = Text("m-1")
          gen_ai.response.finish_reasons = Texts(["tool_call"])
          gen_ai.usage.input_tokens = Whole(1050)
          gen_ai.usage.output_tokens = Whole(200)
          gen_ai.usage.cache_read.input_tokens = Whole(50)
          toolkiln.cost_usd = Number(0.25)
      execute_tool bash [2500..3000] Error
          gen_ai.tool.call.id = Text("1")
          gen_ai.tool.name = Text("bash")
          error.type = Text("interrupted")
    "#);
}

#[test]
fn what_happens_outside_of_a_turn_has_no_span() {
    let entries = log([
        opened(),
        starts("1"),
        ends("1", Ok(json!(1))),
        asks(),
        nested("x", 1, says("hm")),
        SessionEvent::TurnEnded(TurnEnd::Done),
    ]);
    assert_eq!(spans_of(SESSION, &entries, ContentCapture::LeftOut), []);
}
