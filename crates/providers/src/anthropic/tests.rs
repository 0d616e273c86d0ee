use std::sync::Arc;

use insta::assert_snapshot;
use proptest::prelude::*;

use super::*;
use crate::testing::{
    any_of, check, empty_request, full_request, lines, meaning, request_with_found_tools,
    request_with_images, stream_of,
};

#[test]
fn a_request_with_every_kind_of_content() {
    let thinking = json!({"type": "thinking", "thinking": "hm", "signature": "s"});
    assert_snapshot!(lines(&request_body(&full_request(NAME, thinking))), @r#"
    model: "m"
    max_tokens: 100
    stream: true
    system: [{"type":"text","text":"Be brief.","cache_control":{"type":"ephemeral"}}]
    thinking: {"type":"adaptive","display":"summarized"}
    output_config: {"effort":"high"}
    tools: [{"name":"grep","description":"Finds text.","input_schema":{"type":"object"}}]
    messages:
      {"role":"user","content":[{"type":"text","text":"find x"},{"type":"text","text":"mode: reading","cache_control":{"type":"ephemeral"}}]}
      {"role":"assistant","content":[{"type":"thinking","thinking":"hm","signature":"s"},{"type":"text","text":"I look."},{"type":"tool_use","id":"1","name":"grep","input":{"pattern":"x"}},{"type":"tool_use","id":"2","name":"grep","input":{}}]}
      {"role":"user","content":[{"type":"tool_result","tool_use_id":"1","content":"{\"found\":0}"},{"type":"tool_result","tool_use_id":"2","content":"{\"error\":true,\"message\":\"too slow\\nnarrow it\"}","is_error":true},{"type":"text","text":"hurry","cache_control":{"type":"ephemeral"}}]}
    "#);
}

#[test]
fn an_empty_request_has_nothing_optional() {
    assert_snapshot!(request_body(&empty_request()), @r#"{"model":"m","max_tokens":100,"stream":true,"messages":[]}"#);
}

#[test]
fn without_instructions_the_last_tool_is_marked_and_thinking_never() {
    let thinking = json!({"type": "thinking", "thinking": "hm", "signature": "s"});
    let mut request = full_request(NAME, thinking.clone());
    request.system.clear();
    request.messages.truncate(3);
    Arc::make_mut(&mut request.messages[2]).content.truncate(3);
    let body = request_body(&request);
    assert_eq!(body["tools"][0]["cache_control"], json!({"type": "ephemeral"}));
    assert_eq!(body["messages"][1]["content"][0], thinking);
    assert!(body.get("system").is_none());
}

fn read(data: &[Value]) -> String {
    meaning(AnthropicStream::new, &stream_of(data))
}

fn start(index: u64, block: Value) -> Value {
    json!({"type": "content_block_start", "index": index, "content_block": block})
}

fn tool(index: u64, id: &str) -> Value {
    start(index, json!({"type": "tool_use", "id": id, "name": "grep", "input": {}}))
}

fn delta(index: u64, kind: &str, key: &str, value: &str) -> Value {
    json!({"type": "content_block_delta", "index": index, "delta": {"type": kind, key: value}})
}

fn input(index: u64, json: &str) -> Value {
    delta(index, "input_json_delta", "partial_json", json)
}

fn stop(index: u64) -> Value {
    json!({"type": "content_block_stop", "index": index})
}

fn reason(reason: &str) -> Value {
    json!({"type": "message_delta", "delta": {"stop_reason": reason}, "usage": {"output_tokens": 9}})
}

fn end() -> Value {
    json!({"type": "message_stop"})
}

#[test]
fn an_answer_with_thinking_text_and_parallel_calls() {
    let usage = json!({"input_tokens": 5, "output_tokens": 1, "cache_read_input_tokens": 7, "cache_creation_input_tokens": 3});
    assert_snapshot!(read(&[
        json!({"type": "message_start", "message": {"usage": usage}}),
        start(0, json!({"type": "thinking", "thinking": "", "signature": ""})),
        json!({"type": "ping"}),
        delta(0, "thinking_delta", "thinking", "häß"),
        delta(0, "thinking_delta", "thinking", "lich"),
        delta(0, "signature_delta", "signature", "sig"),
        stop(0),
        start(1, json!({"type": "redacted_thinking", "data": "abc"})),
        stop(1),
        start(2, json!({"type": "text", "text": ""})),
        delta(2, "text_delta", "text", "I look 🦀"),
        delta(2, "new_delta", "text", "?"),
        stop(2),
        json!({"type": "invented_later", "index": 2}),
        tool(3, "a"),
        input(3, "{\"pat"),
        input(3, "tern\":\"x\"}"),
        stop(3),
        tool(4, "a"),
        stop(4),
        reason("tool_use"),
        end(),
        tool(5, "late"),
    ]), @r#"
    usage 5 1 7 3
    thinking "häß"
    thinking "lich"
    kept anthropic {"type":"thinking","thinking":"häßlich","signature":"sig"}
    kept anthropic {"type":"redacted_thinking","data":"abc"}
    text "I look 🦀"
    started a grep
    call a grep {"pattern":"x"}
    started a grep
    usage 5 9 7 3
    call a grep {}
    done ToolUse
    "#);
}

#[test]
fn a_call_counts_only_when_its_block_and_the_message_ended_well() {
    let cases: Vec<(&str, Vec<Value>)> = vec![
        ("no message_stop", vec![tool(0, "a"), input(0, "{}"), stop(0), reason("tool_use")]),
        ("cut inside the call", vec![tool(0, "a"), input(0, "{}")]),
        ("block never ended", vec![tool(0, "a"), input(0, "{}"), reason("tool_use"), end()]),
        ("no stop reason", vec![tool(0, "a"), stop(0), end()]),
        ("limit, block open", vec![tool(0, "a"), input(0, "{\"p"), reason("max_tokens"), end()]),
        (
            "limit, block ended",
            vec![tool(0, "a"), input(0, "{\"p"), stop(0), reason("max_tokens"), end()],
        ),
        ("limit before the arguments", vec![tool(0, "a"), stop(0), reason("max_tokens"), end()]),
        ("no object", vec![tool(0, "a"), input(0, "3"), stop(0), reason("tool_use"), end()]),
        ("stop of an unknown block", vec![input(3, "{}"), stop(3), reason("end_turn"), end()]),
        (
            "call without the reason",
            vec![tool(0, "a"), input(0, "{}"), stop(0), reason("end_turn"), end()],
        ),
        ("reason without a call", vec![reason("tool_use"), end()]),
    ];
    let shown = cases.iter().map(|(name, data)| format!("# {name}\n{}\n", read(data)));
    assert_snapshot!(shown.collect::<String>(), @r#"
    # no message_stop
    started a grep
    call a grep {}
    usage 0 9 0 0
    error Cut: the answer ended before it was complete
    # cut inside the call
    started a grep
    error Cut: the answer ended before it was complete
    # block never ended
    started a grep
    usage 0 9 0 0
    error Cut: the answer ended before it was complete
    # no stop reason
    started a grep
    error Cut: the answer ended before it was complete
    # limit, block open
    started a grep
    usage 0 9 0 0
    broken a grep "{\"p": the answer was cut off in the middle of this call
    done MaxTokens
    # limit, block ended
    started a grep
    broken a grep "{\"p": the arguments are not valid JSON: EOF while parsing a string at line 1 column 3
    usage 0 9 0 0
    done MaxTokens
    # limit before the arguments
    started a grep
    usage 0 9 0 0
    broken a grep "": the answer was cut off in the middle of this call
    done MaxTokens
    # no object
    started a grep
    broken a grep "3": the arguments are not a JSON object
    usage 0 9 0 0
    done ToolUse
    # stop of an unknown block
    usage 0 9 0 0
    done EndOfTurn
    # call without the reason
    started a grep
    call a grep {}
    usage 0 9 0 0
    done ToolUse
    # reason without a call
    usage 0 9 0 0
    done EndOfTurn
    "#);
}

#[test]
fn the_end_has_a_reason() {
    let names = [
        "end_turn",
        "stop_sequence",
        "max_tokens",
        "pause_turn",
        "refusal",
        "model_context_window_exceeded",
        "new",
    ];
    let shown = names.map(|name| read(&[reason(name), end()]).replace('\n', ", "));
    assert_snapshot!(shown.join("\n"), @r#"
    usage 0 9 0 0, done EndOfTurn
    usage 0 9 0 0, done EndOfTurn
    usage 0 9 0 0, done MaxTokens
    usage 0 9 0 0, done Pause
    usage 0 9 0 0, done Refusal
    usage 0 9 0 0, done ContextFull
    usage 0 9 0 0, done Other("new")
    "#);
}

#[test]
fn errors_end_the_answer() {
    let overloaded =
        json!({"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}});
    assert_snapshot!(read(&[tool(0, "a"), overloaded, stop(0), end()]), @"
    started a grep
    error Overloaded: the provider broke off: Overloaded
    ");
    let new = AnthropicStream::new;
    assert_snapshot!(meaning(new, "event: ping\ndata:\n\nevent: message_stop\ndata: {\"type\":\n\n"), @"error Malformed: a piece of the answer is not valid JSON: EOF while parsing a value at line 1 column 8");
}

proptest! {
    #[test]
    fn no_sequence_of_events_completes_a_call_whose_block_is_open(events in any_of(vec![
        tool(0, "a"), tool(1, "b"), input(0, "{\"p\":"), input(0, "1}"), input(1, "{}"), stop(0), stop(1),
        start(1, json!({"type": "text", "text": "t"})), start(0, json!({"type": "thinking"})),
        delta(0, "thinking_delta", "thinking", "t"), delta(0, "signature_delta", "signature", "s"),
        start(0, json!(7)), reason("tool_use"), reason("max_tokens"), end(),
        json!({"type": "error"}), json!({}), json!(null), json!([]), json!({"type": "message_start"}),
    ])) {
        let parsed: Vec<Value> = events.iter().map(|event| serde_json::from_str(event).unwrap_or_default()).collect();
        check(AnthropicStream::new(), &events, |at| {
            // The block ended with this event, or before it if its arguments were empty.
            parsed[..=at].iter().any(|event| event["type"] == "content_block_stop")
                && !matches!(parsed[at]["type"].as_str(), Some("content_block_delta" | "message_start"))
        })?;
    }
}

#[test]
fn images_are_blocks_of_messages_and_of_results() {
    assert_snapshot!(lines(&request_body(&request_with_images(true))), @r#"
    model: "m"
    max_tokens: 100
    stream: true
    messages:
      {"role":"user","content":[{"type":"text","text":"look"},{"type":"image","source":{"type":"base64","media_type":"image/png","data":"YQ=="}}]}
      {"role":"assistant","content":[{"type":"tool_use","id":"c","name":"read_file","input":{}},{"type":"tool_use","id":"d","name":"read_file","input":{}}]}
      {"role":"user","content":[{"type":"tool_result","tool_use_id":"c","content":[{"type":"text","text":"{\"size\":1}"},{"type":"image","source":{"type":"base64","media_type":"image/png","data":"Yg=="}}]},{"type":"tool_result","tool_use_id":"d","content":"{\"size\":1}"},{"type":"text","text":"[image, not shown: gone (PNG image, 2x1 pixels, 4 bytes)]"}]}
    "#);
    let described = request_body(&request_with_images(false));
    assert_snapshot!(described["messages"][2], @r#"{"role":"user","content":[{"type":"tool_result","tool_use_id":"c","content":[{"type":"text","text":"{\"size\":1}"},{"type":"text","text":"[image, not shown: b (PNG image, 2x1 pixels, 1 bytes)]"}]},{"type":"tool_result","tool_use_id":"d","content":"{\"size\":1}"},{"type":"text","text":"[image, not shown: gone (PNG image, 2x1 pixels, 4 bytes)]"}]}"#);
}

#[test]
fn tools_that_were_found_are_referred_to_and_carry_no_mark() {
    assert_snapshot!(lines(&request_body(&request_with_found_tools())), @r#"
    model: "m"
    max_tokens: 100
    stream: true
    tools:
      {"name":"read","description":"Does read.","input_schema":{"type":"object"}}
      {"name":"find_tools","description":"Does find_tools.","input_schema":{"type":"object"},"cache_control":{"type":"ephemeral"}}
      {"name":"undo","description":"Does undo.","input_schema":{"type":"object"},"defer_loading":true}
    messages:
      {"role":"user","content":[{"type":"text","text":"undo","cache_control":{"type":"ephemeral"}}]}
      {"role":"assistant","content":[{"type":"tool_use","id":"1","name":"find_tools","input":{}},{"type":"tool_use","id":"2","name":"find_tools","input":{}}]}
      {"role":"user","content":[{"type":"tool_result","tool_use_id":"1","content":[{"type":"tool_reference","tool_name":"undo"}]},{"type":"tool_result","tool_use_id":"2","content":"Found.","cache_control":{"type":"ephemeral"}}]}
    "#);
}
