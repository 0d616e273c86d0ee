use insta::assert_snapshot;
use proptest::prelude::*;

use super::*;
use crate::testing::{
    any_of, check, empty_request, full_request, lines, meaning, request_with_found_tools,
    request_with_images, stream_of,
};

#[test]
fn a_request_with_every_kind_of_content() {
    let reasoning =
        json!({"type": "reasoning", "id": "rs_1", "summary": [], "encrypted_content": "e"});
    assert_snapshot!(lines(&request_body(&full_request(NAME, reasoning))), @r#"
    model: "m"
    max_output_tokens: 100
    stream: true
    store: false
    include: ["reasoning.encrypted_content"]
    reasoning: {"effort":"high","summary":"auto"}
    prompt_cache_key: "1c3c6083dc7139c525037a93ed13267d"
    instructions: "Be brief."
    tools: [{"type":"function","name":"grep","description":"Finds text.","parameters":{"type":"object"},"strict":false}]
    input:
      {"type":"message","role":"user","content":[{"type":"input_text","text":"find x"},{"type":"input_text","text":"mode: reading"}]}
      {"type":"reasoning","id":"rs_1","summary":[],"encrypted_content":"e"}
      {"type":"message","role":"assistant","content":"I look."}
      {"type":"function_call","call_id":"1","name":"grep","arguments":"{\"pattern\":\"x\"}"}
      {"type":"function_call","call_id":"2","name":"grep","arguments":"{}"}
      {"type":"function_call_output","call_id":"1","output":"{\"found\":0}"}
      {"type":"function_call_output","call_id":"2","output":"Error: too slow\nnarrow it"}
      {"type":"message","role":"user","content":[{"type":"input_text","text":"hurry"}]}
    "#);
}

#[test]
fn an_empty_request_has_nothing_optional() {
    assert_snapshot!(request_body(&empty_request()), @r#"{"model":"m","max_output_tokens":100,"stream":true,"store":false,"input":[]}"#);
}

#[test]
fn tools_that_were_found_come_where_they_were_found() {
    assert_snapshot!(lines(&request_body(&request_with_found_tools())), @r#"
    model: "m"
    max_output_tokens: 100
    stream: true
    store: false
    prompt_cache_key: "293d09c0b6a57e25f13cb1f8e7834d37"
    tools:
      {"type":"function","name":"read","description":"Does read.","parameters":{"type":"object"},"strict":false}
      {"type":"tool_search","execution":"client","description":"Does find_tools.","parameters":{"type":"object"}}
    input:
      {"type":"message","role":"user","content":[{"type":"input_text","text":"undo"}]}
      {"type":"tool_search_call","call_id":"1","execution":"client","status":"completed","arguments":{}}
      {"type":"tool_search_call","call_id":"2","execution":"client","status":"completed","arguments":{}}
      {"type":"tool_search_output","call_id":"1","execution":"client","status":"completed","tools":[{"type":"function","name":"undo","description":"Does undo.","parameters":{"type":"object"},"strict":false,"defer_loading":true}]}
      {"type":"tool_search_output","call_id":"2","execution":"client","status":"completed","tools":[]}
    "#);
}

#[test]
fn a_search_for_tools_is_a_call_of_the_finder() {
    let search = |execution: &str, arguments: Value| {
        let item = json!({"type": "tool_search_call", "id": "ts_1", "call_id": "a", "execution": execution, "arguments": arguments});
        let data = [self::item("added", 0, item.clone()), self::item("done", 0, item), completed()];
        let reader = || ResponsesStream::with_finder(Some("find_tools".into()));
        meaning(reader, &stream_of(&data))
    };
    assert_snapshot!(search("client", json!({"query": "undo"})), @r#"
    started a find_tools
    call a find_tools {"query":"undo"}
    usage 3 4 5 2
    done ToolUse
    "#);
    assert_snapshot!(search("client", json!([])), @r#"
    started a find_tools
    broken a find_tools "[]": the arguments are not a JSON object
    usage 3 4 5 2
    done ToolUse
    "#);
    assert_snapshot!(search("server", json!({})), @r#"
    kept openai_responses {"type":"tool_search_call","id":"ts_1","call_id":"a","execution":"server","arguments":{}}
    usage 3 4 5 2
    done EndOfTurn
    "#);
}

fn item(done: &str, index: u64, item: Value) -> Value {
    json!({"type": format!("response.output_item.{done}"), "output_index": index, "item": item})
}

fn call(arguments: &str, status: &str) -> Value {
    json!({"type": "function_call", "id": "fc_1", "call_id": "a", "name": "grep", "arguments": arguments, "status": status})
}

fn delta(kind: &str, index: u64, delta: &str) -> Value {
    json!({"type": format!("response.{kind}.delta"), "output_index": index, "delta": delta})
}

fn completed() -> Value {
    let details = json!({"cached_tokens": 5, "cache_write_tokens": 2});
    let usage = json!({"input_tokens": 10, "output_tokens": 4, "input_tokens_details": details});
    json!({"type": "response.completed", "response": {"status": "completed", "usage": usage}})
}

fn incomplete(reason: &str) -> Value {
    json!({"type": "response.incomplete", "response": {"incomplete_details": {"reason": reason}}})
}

fn read(data: &[Value]) -> String {
    meaning(ResponsesStream::new, &stream_of(data))
}

#[test]
fn an_answer_with_reasoning_text_and_parallel_calls() {
    let reasoning =
        json!({"type": "reasoning", "id": "rs_1", "summary": [], "encrypted_content": "e"});
    let message =
        json!({"type": "message", "content": [{"type": "output_text", "text": "I look 🦀"}]});
    assert_snapshot!(read(&[
        json!({"type": "response.created", "response": {}}),
        item("added", 0, json!({"type": "reasoning", "id": "rs_1"})),
        delta("reasoning_summary_text", 0, "hm"),
        item("done", 0, reasoning),
        item("added", 1, json!({"type": "message"})),
        delta("output_text", 1, "I look "),
        delta("output_text", 1, "🦀"),
        item("done", 1, message.clone()),
        item("done", 2, message),
        item("added", 3, call("", "in_progress")),
        delta("function_call_arguments", 3, "{\"pat"),
        item("done", 3, call("{\"pattern\":\"x\"}", "completed")),
        item("done", 4, call("", "completed")),
        item("done", 5, json!({"type": "invented_later", "x": 1})),
        completed(),
        item("done", 6, call("{}", "completed")),
    ]), @r#"
    thinking "hm"
    kept openai_responses {"type":"reasoning","id":"rs_1","summary":[],"encrypted_content":"e"}
    text "I look "
    text "🦀"
    text "I look 🦀"
    started a grep
    call a grep {"pattern":"x"}
    started a grep
    call a grep {}
    kept openai_responses {"type":"invented_later","x":1}
    usage 3 4 5 2
    done ToolUse
    "#);
}

#[test]
fn a_call_counts_only_when_it_is_done() {
    let added = item("added", 0, call("{}", "in_progress"));
    let growing = delta("function_call_arguments", 0, "{}");
    let incomplete_call = item("done", 0, call("{}", "incomplete"));
    let cases: Vec<(&str, Vec<Value>)> = vec![
        ("cut", vec![added.clone(), growing.clone()]),
        ("never done", vec![added.clone(), growing.clone(), completed()]),
        ("limit", vec![added.clone(), growing, incomplete("max_output_tokens")]),
        ("incomplete", vec![added, incomplete_call, incomplete("max_output_tokens")]),
        ("broken", vec![item("done", 0, call("{\"a", "completed")), completed()]),
        ("no final event", vec![item("done", 0, call("{}", "completed"))]),
    ];
    let shown = cases.iter().map(|(name, data)| format!("# {name}\n{}\n", read(data)));
    assert_snapshot!(shown.collect::<String>(), @r#"
    # cut
    started a grep
    error Cut: the answer ended before it was complete
    # never done
    started a grep
    usage 3 4 5 2
    error Cut: the answer ended before it was complete
    # limit
    started a grep
    broken a grep "": the answer was cut off in the middle of this call
    done MaxTokens
    # incomplete
    started a grep
    broken a grep "{}": the answer was cut off in the middle of this call
    done MaxTokens
    # broken
    started a grep
    broken a grep "{\"a": the arguments are not valid JSON: EOF while parsing a string at line 1 column 3
    usage 3 4 5 2
    done ToolUse
    # no final event
    started a grep
    call a grep {}
    error Cut: the answer ended before it was complete
    "#);
}

#[test]
fn the_end_has_a_reason() {
    let refusal = json!({"type": "message", "content": [{"type": "refusal", "refusal": "No."}]});
    let cases = [
        vec![completed()],
        vec![delta("refusal", 0, "No."), completed()],
        vec![item("done", 0, refusal), completed()],
        vec![incomplete("content_filter")],
        vec![incomplete("steered")],
        vec![
            json!({"type": "response.failed", "response": {"error": {"code": "rate_limit_exceeded", "message": "slow down"}}}),
        ],
        vec![json!({"type": "error", "code": "server_error", "message": "oops", "param": null})],
        vec![],
    ];
    let shown = cases.map(|data| read(&data).replace('\n', ", "));
    assert_snapshot!(shown.join("\n"), @r#"
    usage 3 4 5 2, done EndOfTurn
    text "No.", usage 3 4 5 2, done Refusal
    text "No.", usage 3 4 5 2, done Refusal
    done Refusal
    done Other("steered")
    error RateLimited: the provider broke off: slow down
    error Overloaded: the provider broke off: oops
    error Cut: the answer ended before it was complete
    "#);
}

proptest! {
    #[test]
    fn no_sequence_of_events_completes_a_call_that_is_not_done(events in any_of(vec![
        item("added", 0, call("", "in_progress")), item("added", 1, call("{}", "in_progress")),
        item("done", 0, call("{}", "completed")), item("done", 1, call("{", "completed")),
        item("done", 1, call("{}", "incomplete")), item("done", 0, json!(1)),
        delta("function_call_arguments", 0, "{}"), delta("output_text", 0, "t"), delta("refusal", 1, "t"),
        item("done", 0, json!({"type": "message", "content": 1})), completed(), incomplete("max_output_tokens"),
        json!({"type": "response.completed"}), json!({"type": "response.failed"}), json!(null), json!([]),
    ])) {
        check(ResponsesStream::new(), &events, |at| {
            events[at].contains("output_item.done") && events[at].contains("\"completed\"")
        })?;
    }
}

#[test]
fn images_are_parts_of_messages_and_of_outputs() {
    assert_snapshot!(lines(&request_body(&request_with_images(true))), @r#"
    model: "m"
    max_output_tokens: 100
    stream: true
    store: false
    input:
      {"type":"message","role":"user","content":[{"type":"input_text","text":"look"},{"type":"input_image","image_url":"data:image/png;base64,YQ==","detail":"auto"}]}
      {"type":"function_call","call_id":"c","name":"read_file","arguments":"{}"}
      {"type":"function_call","call_id":"d","name":"read_file","arguments":"{}"}
      {"type":"function_call_output","call_id":"c","output":[{"type":"input_text","text":"{\"size\":1}"},{"type":"input_image","image_url":"data:image/png;base64,Yg==","detail":"auto"}]}
      {"type":"function_call_output","call_id":"d","output":"{\"size\":1}"}
      {"type":"message","role":"user","content":[{"type":"input_text","text":"[image, not shown: gone (PNG image, 2x1 pixels, 4 bytes)]"}]}
    "#);
    let described = request_body(&request_with_images(false));
    assert_snapshot!(described["input"][3], @r#"{"type":"function_call_output","call_id":"c","output":"{\"size\":1}\n[image, not shown: b (PNG image, 2x1 pixels, 1 bytes)]"}"#);
}
