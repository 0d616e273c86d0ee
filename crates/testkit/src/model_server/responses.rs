//! A reply as OpenAI's Responses stream it.

use serde_json::{Value, json};

use super::reply::{Part, Reply, Stop};
use super::wire::{WireEvent, halves, pieces};

pub(super) fn events(reply: &Reply, request: usize) -> Vec<WireEvent> {
    let response = |status: &str, output: &[Value]| {
        json!({
            "id": format!("resp_{request}"), "object": "response", "created_at": 1, "status": status, "model": "scripted",
            "output": output, "parallel_tool_calls": true, "tool_choice": "auto", "tools": [],
        })
    };
    let mut events = vec![
        json!({"type": "response.created", "response": response("in_progress", &[])}),
        json!({"type": "response.in_progress", "response": response("in_progress", &[])}),
    ];
    let mut output = Vec::new();
    for (at, part) in reply.numbered(request) {
        let done = item(at, &part, "completed");
        add(at, &part, &done, &mut events);
        output.push(done);
    }
    let (kind, status, details) = match reply.stop {
        Stop::Natural => ("response.completed", "completed", Value::Null),
        Stop::Limit => {
            ("response.incomplete", "incomplete", json!({"reason": "max_output_tokens"}))
        }
        Stop::Refusal => ("response.incomplete", "incomplete", json!({"reason": "content_filter"})),
    };
    let mut last = response(status, &output);
    last["incomplete_details"] = details;
    last["usage"] = reply.usage.map_or(Value::Null, |usage| {
        let input = usage.input + usage.cache_read;
        json!({
            "input_tokens": input, "input_tokens_details": {"cached_tokens": usage.cache_read}, "output_tokens": usage.output,
            "output_tokens_details": {"reasoning_tokens": 0}, "total_tokens": input + usage.output,
        })
    });
    events.push(json!({"type": kind, "response": last}));
    let numbered = events.into_iter().enumerate().map(|(at, mut event)| {
        event["sequence_number"] = at.into();
        let kind = event["type"].as_str().unwrap_or_default().to_owned();
        let event = WireEvent::typed(event);
        match &*kind {
            "response.function_call_arguments.delta" => event.of_call(),
            "response.output_text.delta" => event.of_text(),
            _ => event,
        }
    });
    numbered.collect()
}

fn item(at: usize, part: &Part, status: &str) -> Value {
    match part {
        Part::Text(_) | Part::Pieces(_) => {
            let text = part.pieces().concat();
            let content =
                json!([{"type": "output_text", "text": text, "annotations": [], "logprobs": []}]);
            json!({"type": "message", "id": format!("msg_{at}"), "role": "assistant", "status": status, "content": content})
        }
        Part::Thinking(text) => {
            let summary = json!([{"type": "summary_text", "text": text}]);
            json!({"type": "reasoning", "id": format!("rs_{at}"), "summary": summary, "encrypted_content": "sealed"})
        }
        // A search for tools is a kind of its own, and has its arguments as an object.
        Part::Call { id, name, arguments } if name == "tool_search" => {
            let arguments: Value = serde_json::from_str(arguments).unwrap_or_default();
            json!({"type": "tool_search_call", "id": format!("ts_{at}"), "call_id": id, "execution": "client", "arguments": arguments, "status": status})
        }
        Part::Call { id, name, arguments } => {
            json!({"type": "function_call", "id": format!("fc_{at}"), "call_id": id, "name": name, "arguments": arguments, "status": status})
        }
    }
}

fn add(at: usize, part: &Part, done: &Value, events: &mut Vec<Value>) {
    let mut begun = done.clone();
    for key in ["content", "summary"] {
        if begun.get(key).is_some() {
            begun[key] = json!([]);
        }
    }
    let id = &done["id"];
    let place = |kind: &str, more: Value| {
        let mut event = json!({"type": kind, "item_id": id, "output_index": at});
        for (key, value) in more.as_object().into_iter().flatten() {
            event[key] = value.clone();
        }
        event
    };
    match part {
        Part::Text(_) | Part::Pieces(_) => {
            begun["status"] = "in_progress".into();
            events.push(place("response.output_item.added", json!({"item": begun})));
            let empty =
                json!({"type": "output_text", "text": "", "annotations": [], "logprobs": []});
            events.push(place(
                "response.content_part.added",
                json!({"content_index": 0, "part": empty}),
            ));
            events.extend(part.pieces().iter().map(|piece| {
                place(
                    "response.output_text.delta",
                    json!({"content_index": 0, "delta": piece, "logprobs": []}),
                )
            }));
            events.push(place(
                "response.output_text.done",
                json!({"content_index": 0, "text": part.pieces().concat(), "logprobs": []}),
            ));
            events.push(place(
                "response.content_part.done",
                json!({"content_index": 0, "part": done["content"][0]}),
            ));
        }
        Part::Thinking(text) => {
            events.push(place("response.output_item.added", json!({"item": begun})));
            let empty = json!({"type": "summary_text", "text": ""});
            events.push(place(
                "response.reasoning_summary_part.added",
                json!({"summary_index": 0, "part": empty}),
            ));
            events.extend(pieces(text).iter().map(|piece| {
                place(
                    "response.reasoning_summary_text.delta",
                    json!({"summary_index": 0, "delta": piece}),
                )
            }));
        }
        Part::Call { .. } if done["type"] == "tool_search_call" => {
            begun["status"] = "in_progress".into();
            events.push(place("response.output_item.added", json!({"item": begun})));
        }
        Part::Call { arguments, .. } => {
            begun["status"] = "in_progress".into();
            begun["arguments"] = "".into();
            events.push(place("response.output_item.added", json!({"item": begun})));
            events.extend(halves(arguments).iter().map(|piece| {
                place("response.function_call_arguments.delta", json!({"delta": piece}))
            }));
            events.push(place(
                "response.function_call_arguments.done",
                json!({"arguments": arguments, "name": done["name"]}),
            ));
        }
    }
    events.push(place("response.output_item.done", json!({"item": done})));
}
