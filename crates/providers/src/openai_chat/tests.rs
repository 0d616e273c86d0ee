use insta::assert_snapshot;
use proptest::prelude::*;

use super::*;
use crate::testing::{any_of, check, full_request, lines, meaning, request_with_images, stream_of};

#[test]
fn a_request_with_every_kind_of_content() {
    let thoughts = json!({"reasoning_content": "hm", "reasoning_details": [{"text": "hm"}]});
    let request = full_request(NAME, thoughts);
    let quirks =
        Quirks { returned_reasoning: Some("reasoning_content".into()), ..Quirks::openai() };
    assert_snapshot!(lines(&request_body(&request, &quirks)), @r#"
    model: "m"
    max_completion_tokens: 100
    stream: true
    stream_options: {"include_usage":true}
    reasoning_effort: "high"
    prompt_cache_key: "1c3c6083dc7139c525037a93ed13267d"
    tools: [{"type":"function","function":{"name":"grep","description":"Finds text.","parameters":{"type":"object"}}}]
    messages:
      {"role":"system","content":"Be brief."}
      {"role":"user","content":"find x\n\nmode: reading"}
      {"reasoning_content":"hm","role":"assistant","content":"I look.","tool_calls":[{"id":"1","type":"function","function":{"name":"grep","arguments":"{\"pattern\":\"x\"}"}},{"id":"2","type":"function","function":{"name":"grep","arguments":"{}"}}]}
      {"role":"tool","tool_call_id":"1","content":"{\"found\":0}"}
      {"role":"tool","tool_call_id":"2","content":"Error: too slow\nnarrow it"}
      {"role":"user","content":"hurry"}
    "#);
}

#[test]
fn thoughts_go_back_only_to_servers_that_want_them() {
    let details = json!([{"type": "reasoning.text", "text": "hm"}]);
    let request = full_request(NAME, json!({"reasoning": "hm", "reasoning_details": details}));
    let sent = |quirks| request_body(&request, &quirks)["messages"][2].clone();
    let plain = sent(Quirks::compatible());
    assert_eq!((plain.get("reasoning"), plain.get("reasoning_details")), (None, None));
    let router = sent(Quirks { reasoning_details: true, ..Quirks::compatible() });
    assert_eq!((router.get("reasoning"), &router["reasoning_details"]), (None, &details));
}

#[test]
fn signed_thoughts_are_kept_as_one_list() {
    let quirks = Quirks { reasoning_details: true, ..Quirks::compatible() };
    let piece = |text: &str| json!([{"type": "reasoning.text", "text": text, "index": 0}]);
    let data = [
        chunk(json!({"reasoning": "h", "reasoning_details": piece("h")})),
        chunk(json!({"reasoning": "m", "reasoning_details": piece("m")})),
        chunk(json!({"content": "yes"})),
        finish("stop"),
    ];
    assert_snapshot!(read_with(&quirks, &data, "data: [DONE]\n\n"), @r#"
    thinking "h"
    thinking "m"
    text "yes"
    kept openai_chat {"reasoning_details":[{"type":"reasoning.text","text":"hm","index":0}]}
    done EndOfTurn
    "#);
}

#[test]
fn an_unknown_server_gets_the_smallest_body() {
    let mut request = full_request("other", json!({}));
    request.messages.truncate(1);
    assert_snapshot!(lines(&request_body(&request, &Quirks::compatible())), @r#"
    model: "m"
    max_tokens: 100
    stream: true
    tools: [{"type":"function","function":{"name":"grep","description":"Finds text.","parameters":{"type":"object"}}}]
    messages:
      {"role":"system","content":"Be brief."}
      {"role":"user","content":"find x"}
    "#);
    let no_tools = Quirks { tools: false, system_role: "developer".into(), ..Quirks::compatible() };
    let body = request_body(&request, &no_tools);
    assert!(body.get("tools").is_none() && body["messages"][0]["role"] == "developer");
}

fn chunk(delta: Value) -> Value {
    json!({"choices": [{"index": 0, "delta": delta, "finish_reason": null}], "usage": null})
}

fn call(call: Value) -> Value {
    chunk(json!({"tool_calls": [call]}))
}

fn finish(reason: &str) -> Value {
    json!({"choices": [{"index": 0, "delta": {}, "finish_reason": reason}]})
}

fn read_with(quirks: &Quirks, data: &[Value], after: &str) -> String {
    let new = || ChatStream::new(quirks.clone());
    meaning(new, &format!("{}{after}", stream_of(data)))
}

const DONE: &str = "data: [DONE]\n\n";

fn read(data: &[Value]) -> String {
    read_with(&Quirks::compatible(), data, DONE)
}

#[test]
fn an_answer_with_thoughts_text_parallel_calls_and_usage() {
    let quirks =
        Quirks { returned_reasoning: Some("reasoning_content".into()), ..Quirks::openai() };
    let details = json!({"cached_tokens": 5, "cache_write_tokens": 2});
    let usage =
        json!({"prompt_tokens": 10, "completion_tokens": 4, "prompt_tokens_details": details});
    let data = [
        chunk(json!({"role": "assistant", "content": ""})),
        chunk(json!({"reasoning_content": "h"})),
        chunk(json!({"reasoning": "m"})),
        chunk(json!({"content": "I look 🦀", "refusal": null})),
        call(
            json!({"index": 0, "id": "a", "type": "function", "function": {"name": "grep", "arguments": ""}}),
        ),
        call(json!({"index": 0, "function": {"arguments": "{\"pat"}})),
        call(json!({"index": 1, "id": "b", "function": {"name": "list"}})),
        call(json!({"index": 0, "function": {"arguments": "tern\":\"x\"}"}})),
        finish("tool_calls"),
        json!({"choices": [], "usage": usage}),
    ];
    assert_snapshot!(read_with(&quirks, &data, DONE), @r#"
    thinking "h"
    thinking "m"
    text "I look 🦀"
    started a grep
    kept openai_chat {"reasoning_content":"hm"}
    call a grep {"pattern":"x"}
    started b list
    call b list {}
    usage 3 4 5 2
    done ToolUse
    "#);
    assert_eq!(
        read_with(&quirks, &data, ""),
        read_with(&quirks, &data, DONE),
        "no [DONE] is needed"
    );
}

#[test]
fn calls_of_servers_with_quirks_are_understood() {
    let whole = |index: Value, id: Value, name: &str| {
        call(
            json!({"index": index, "id": id, "function": {"name": name, "arguments": "{\"a\":1}"}}),
        )
    };
    let object = json!({"function": {"name": "ls", "arguments": {"a": 1}}});
    let split = |name: &str, arguments: &str| {
        call(json!({"index": 0, "function": {"name": name, "arguments": arguments}}))
    };
    let null = Value::Null;
    let cases: Vec<(&str, Vec<Value>)> = vec![
        ("no ids", vec![whole(json!(0), null.clone(), "x"), whole(json!(1), json!(""), "y")]),
        ("the same id", vec![whole(json!(0), json!("i"), "x"), whole(json!(1), json!("i"), "y")]),
        (
            "the same index",
            vec![whole(json!(0), json!("i"), "x"), whole(json!(0), json!("j"), "y")],
        ),
        (
            "no index, no id",
            vec![whole(null.clone(), null.clone(), "x"), whole(null, json!(""), "x")],
        ),
        ("an object", vec![call(object)]),
        ("name in pieces", vec![split("gr", ""), split("ep", ""), split("", "{}")]),
        ("name repeated", vec![split("grep", "{"), split("grep", "}")]),
        ("no name", vec![split("", "{}")]),
        ("broken", vec![split("grep", "{\"a\"")]),
    ];
    let shown = cases.into_iter().map(|(name, mut data)| {
        data.push(finish("stop"));
        format!("# {name}\n{}\n", read(&data))
    });
    assert_snapshot!(shown.collect::<String>(), @r#"
    # no ids
    started  x
    started  y
    call  x {"a":1}
    call  y {"a":1}
    done ToolUse
    # the same id
    started i x
    started i y
    call i x {"a":1}
    call i y {"a":1}
    done ToolUse
    # the same index
    started i x
    started j y
    call i x {"a":1}
    call j y {"a":1}
    done ToolUse
    # no index, no id
    started  x
    started  x
    call  x {"a":1}
    call  x {"a":1}
    done ToolUse
    # an object
    started  ls
    call  ls {"a":1}
    done ToolUse
    # name in pieces
    started  grep
    call  grep {}
    done ToolUse
    # name repeated
    started  grep
    call  grep {}
    done ToolUse
    # no name
    started  
    broken   "{}": the call names no tool
    done ToolUse
    # broken
    started  grep
    broken  grep "{\"a\"": the arguments are not valid JSON: EOF while parsing an object at line 1 column 4
    done ToolUse
    "#);
}

#[test]
fn a_call_counts_only_in_an_answer_that_ended_well() {
    let first = call(json!({"index": 0, "id": "a", "function": {"name": "x", "arguments": "{}"}}));
    let second = call(json!({"index": 1, "id": "b", "function": {"name": "y", "arguments": ""}}));
    let both = |reason: &str| read(&[first.clone(), second.clone(), finish(reason)]);
    let late = read(&[finish("stop"), first.clone()]);
    let lenient = Quirks { finish_reason_missing: true, ..Quirks::compatible() };
    let cases = [
        ("no reason", read(std::slice::from_ref(&first))),
        ("no reason, as usual there", read_with(&lenient, std::slice::from_ref(&first), DONE)),
        ("no reason, no [DONE]", read_with(&lenient, std::slice::from_ref(&first), "")),
        ("limit", both("length")),
        ("full", both("model_context_window_exceeded")),
        ("something else", both("error")),
        ("after the end", late),
        ("reason without a call", read(&[finish("tool_calls")])),
    ];
    let shown = cases.map(|(name, shown)| format!("# {name}\n{shown}\n"));
    assert_snapshot!(shown.concat(), @r#"
    # no reason
    started a x
    error Cut: the answer ended before it was complete
    # no reason, as usual there
    started a x
    call a x {}
    done ToolUse
    # no reason, no [DONE]
    started a x
    error Cut: the answer ended before it was complete
    # limit
    started a x
    call a x {}
    started b y
    broken b y "": the answer was cut off in the middle of this call
    done MaxTokens
    # full
    started a x
    call a x {}
    started b y
    broken b y "": the answer was cut off in the middle of this call
    done ContextFull
    # something else
    started a x
    call a x {}
    started b y
    broken b y "": the answer was cut off in the middle of this call
    done Other("error")
    # after the end
    done EndOfTurn
    # reason without a call
    done EndOfTurn
    "#);
}

#[test]
fn calls_in_the_text_count_only_where_the_server_is_known_for_them() {
    let data = [
        chunk(json!({"content": "Look: <tool_"})),
        chunk(json!({"content": "call>{\"name\": \"ls\", \"arguments\": {\"a\": 1}}</tool"})),
        chunk(json!({"content": "_call> and <tool_call>{\"name\": \"half\""})),
        finish("stop"),
    ];
    assert!(read(&data).ends_with("done EndOfTurn"));
    let quirks = Quirks { calls_as_text: true, ..Quirks::compatible() };
    assert_snapshot!(read_with(&quirks, &data, DONE), @r#"
    text "Look: "
    started  ls
    call  ls {"a":1}
    text " and "
    text "<tool_call>{\"name\": \"half\""
    done ToolUse
    "#);
}

#[test]
fn errors_end_the_answer() {
    let error = json!({"error": {"code": 502, "message": "Provider disconnected"}, "choices": []});
    assert_snapshot!(read(&[chunk(json!({"content": "a"})), error, finish("stop")]), @r#"
    text "a"
    error Overloaded: the provider broke off: Provider disconnected
    "#);
    let new = || ChatStream::new(Quirks::openai());
    assert_snapshot!(meaning(new, ": PROCESSING\n\ndata: {\"choices\":[{]}\n\n"), @"error Malformed: a piece of the answer is not valid JSON: key must be a string at line 1 column 14");
}

#[test]
fn a_server_that_never_stops_calling_is_stopped() {
    let calls: Vec<_> = (0..5000).map(|index| json!({"index": index, "id": "same"})).collect();
    let mut stream = ChatStream::new(Quirks::compatible());
    let data = chunk(json!({"tool_calls": calls})).to_string();
    let found = stream.push(crate::SseEvent { event: String::new(), data });
    let error = found.last().unwrap().as_ref().unwrap_err();
    assert_eq!(error.message, "the answer holds more than 4096 tool calls");
}

proptest! {
    #[test]
    fn no_sequence_of_events_completes_a_call_before_the_end(
        events in any_of(vec![
            call(json!({"index": 0, "id": "a", "function": {"name": "x", "arguments": ""}})),
            call(json!({"index": 0, "function": {"arguments": "{\"p\":"}})),
            call(json!({"index": 0, "function": {"arguments": "1}"}})),
            call(json!({"index": 1, "id": "a", "function": {"name": "y", "arguments": {}}})),
            call(json!({"function": {"name": "y", "arguments": "{}"}})),
            call(json!(3)), chunk(json!({"content": "<tool_call>{\"name\":\"z\"}"})), chunk(json!(null)),
            chunk(json!({"reasoning": "r"})), finish("stop"), finish("length"), json!({"choices": 1}),
            json!({"choices": [], "usage": {"prompt_tokens": 1}}), json!(null), json!({"error": null}),
        ]),
        calls_as_text: bool,
        finish_reason_missing: bool,
    ) {
        let quirks = Quirks { calls_as_text, finish_reason_missing, ..Quirks::openai() };
        check(ChatStream::new(quirks), &events, |at| {
            events[at].contains("\"finish_reason\":\"") || events[at] == "[DONE]"
        })?;
    }
}

#[test]
fn where_ids_are_nine_characters_a_call_and_its_result_share_one() {
    let quirks = Quirks { nine_character_ids: true, ..Quirks::compatible() };
    let body = request_body(&full_request(NAME, json!({})), &quirks);
    let messages = body["messages"].as_array().unwrap();
    let calls = messages.iter().flat_map(|message| message["tool_calls"].as_array()).flatten();
    let made: Vec<_> = calls.map(|call| call["id"].as_str().unwrap()).collect();
    let answered: Vec<_> =
        messages.iter().filter_map(|message| message["tool_call_id"].as_str()).collect();
    assert_eq!(made, answered);
    assert!(made.len() == 2 && made[0] != made[1] && made.iter().all(|id| id.len() == 9));
}

#[test]
fn images_are_parts_of_the_users_messages_those_of_results_too() {
    let body = |shows| request_body(&request_with_images(shows), &Quirks::compatible());
    assert_snapshot!(lines(&body(true)), @r#"
    model: "m"
    max_tokens: 100
    stream: true
    messages:
      {"role":"user","content":[{"type":"text","text":"look"},{"type":"image_url","image_url":{"url":"data:image/png;base64,YQ=="}}]}
      {"role":"assistant","content":null,"tool_calls":[{"id":"c","type":"function","function":{"name":"read_file","arguments":"{}"}},{"id":"d","type":"function","function":{"name":"read_file","arguments":"{}"}}]}
      {"role":"tool","tool_call_id":"c","content":"{\"size\":1}"}
      {"role":"tool","tool_call_id":"d","content":"{\"size\":1}"}
      {"role":"user","content":[{"type":"text","text":"[image of a result above: b (PNG image, 2x1 pixels, 1 bytes)]"},{"type":"image_url","image_url":{"url":"data:image/png;base64,Yg=="}},{"type":"text","text":"[image, not shown: gone (PNG image, 2x1 pixels, 4 bytes)]"}]}
    "#);
    assert_snapshot!(lines(&body(false)), @r#"
    model: "m"
    max_tokens: 100
    stream: true
    messages:
      {"role":"user","content":"look\n\n[image, not shown: a (PNG image, 2x1 pixels, 1 bytes)]"}
      {"role":"assistant","content":null,"tool_calls":[{"id":"c","type":"function","function":{"name":"read_file","arguments":"{}"}},{"id":"d","type":"function","function":{"name":"read_file","arguments":"{}"}}]}
      {"role":"tool","tool_call_id":"c","content":"{\"size\":1}\n[image, not shown: b (PNG image, 2x1 pixels, 1 bytes)]"}
      {"role":"tool","tool_call_id":"d","content":"{\"size\":1}"}
      {"role":"user","content":"[image, not shown: gone (PNG image, 2x1 pixels, 4 bytes)]"}
    "#);
}
