use serde_json::{Map, Value, json};

use super::*;
use crate::{ErrorCode, ImageFormat, ToolCall, ToolError};

fn survives(event: SessionEvent) -> Value {
    let entry = LogEntry { sequence: 3, at: 1_700_000_000_000, event };
    let json = serde_json::to_value(&entry).unwrap();
    assert_eq!(serde_json::from_value::<LogEntry>(json.clone()).unwrap(), entry);
    json
}

#[test]
fn an_entry_in_json_has_position_time_type_and_data() {
    let event = SessionEvent::UserMessage { content: vec![Content::Text { text: "hi".into() }] };
    assert_eq!(
        survives(event).to_string(),
        r#"{"sequence":3,"at":1700000000000,"type":"user_message","data":{"content":[{"type":"text","text":"hi"}]}}"#
    );
    assert_eq!(survives(SessionEvent::Continued)["type"], "continued");
}

#[test]
fn a_failure_tells_what_it_used_and_older_logs_say_nothing_of_it() {
    let old = r#"{"type":"model_failed","data":{"kind":"cut","message":"x"}}"#;
    let event: SessionEvent = serde_json::from_str(old).unwrap();
    assert_eq!(event.spent(), Some((Usage::default(), None)));
    assert_eq!(serde_json::to_string(&event).unwrap(), old);

    let usage = Usage { input: 7, output: 2, ..Usage::default() };
    let failed = SessionEvent::ModelFailed {
        kind: ModelErrorKind::Cut,
        message: "x".into(),
        retry_in_ms: None,
        usage,
        cost_usd: Some(0.5),
    };
    survives(failed.clone());
    let entry = Box::new(LogEntry { sequence: 1, at: 0, event: failed });
    let nested = SessionEvent::Nested { call_id: "d".into(), entry };
    assert_eq!(nested.spent(), Some((usage, Some(0.5))));
    assert_eq!(SessionEvent::Continued.spent(), None);
}

#[test]
fn results_errors_pauses_and_nested_entries_survive_json() {
    let error = Err(ToolError::new(ErrorCode::Timeout, "slow"));
    let ended = SessionEvent::CallEnded {
        call_id: "c".into(),
        result: error,
        text: None,
        images: Vec::new(),
        title: None,
        found_tools: Vec::new(),
        duration_ms: 5,
    };
    assert!(survives(ended.clone())["data"].get("images").is_none());
    let nested = LogEntry { sequence: 1, at: 0, event: ended };
    survives(SessionEvent::Nested { call_id: "d".into(), entry: Box::new(nested) });
    let pause = survives(SessionEvent::Paused(PauseReason::TurnLimit { turns: 10 }));
    assert_eq!(pause["data"], json!({"reason": "turn_limit", "turns": 10}));
    survives(SessionEvent::TurnEnded(TurnEnd::Done));
    survives(SessionEvent::Instructed(Instructions {
        path: "a/AGENTS.md".into(),
        version: ContentHash::of(b"x"),
        remark: None,
        text: "x".into(),
    }));
    let answer = ModelAnswer {
        content: vec![Content::ToolUse(ToolCall::new("c", "grep", Map::new()))],
        broken: Vec::new(),
        stop: StopReason::ToolUse,
        usage: Usage { input: 1, output: 2, cache_read: 3, cache_write: 4 },
        cost_usd: Some(0.25),
        duration_ms: 9,
    };
    survives(SessionEvent::ModelAnswered(answer));
    survives(SessionEvent::ImagesRefused { message: "no images".into() });
}

#[test]
fn the_images_of_an_event_are_found_wherever_they_are() {
    let image = Image::new("a.png", ImageFormat::Png, (2, 1), b"png");
    let said = SessionEvent::UserMessage {
        content: vec![Content::Text { text: "see".into() }, Content::Image(image.clone())],
    };
    let ended = SessionEvent::CallEnded {
        call_id: "c".into(),
        result: Ok(Value::Null),
        text: None,
        images: vec![image.clone(), image],
        title: None,
        found_tools: Vec::new(),
        duration_ms: 1,
    };
    let entry = Box::new(LogEntry { sequence: 1, at: 0, event: ended.clone() });
    let nested = SessionEvent::Nested { call_id: "d".into(), entry };
    for (event, count) in [(said, 1), (ended, 2), (nested, 2), (SessionEvent::Continued, 0)] {
        let json = survives(event.clone());
        let mut bare = event;
        let images = bare.images_mut();
        assert_eq!(images.len(), count);
        images.into_iter().for_each(|image| *image = image.without_data());
        let json_of_bare = survives(bare);
        assert_eq!(json.to_string().matches("\"data\":\"cG5n\"").count(), count);
        assert_eq!(json_of_bare.to_string().matches("cG5n").count(), 0);
    }
}
