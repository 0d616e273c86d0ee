//! A reply as OpenAI's Chat Completions stream it.

use serde_json::{Value, json};

use super::reply::{Part, Reply, Stop};
use super::wire::{WireEvent, halves, pieces};

pub(super) fn events(reply: &Reply, request: usize) -> Vec<WireEvent> {
    let chunk = |choices: Value, usage: Value| {
        WireEvent::nameless(json!({
            "id": format!("chatcmpl-{request}"), "object": "chat.completion.chunk", "created": 1, "model": "scripted",
            "choices": choices, "usage": usage,
        }))
    };
    let delta = |delta: Value| {
        chunk(json!([{"index": 0, "delta": delta, "finish_reason": null}]), Value::Null)
    };
    let mut events = vec![delta(json!({"role": "assistant", "content": ""}))];
    let mut calls = 0;
    for (_, part) in reply.numbered(request) {
        match part {
            Part::Text(_) | Part::Pieces(_) => events.extend(
                part.pieces().iter().map(|piece| delta(json!({"content": piece})).of_text()),
            ),
            Part::Thinking(text) => events.extend(
                pieces(&text).iter().map(|piece| delta(json!({"reasoning_content": piece}))),
            ),
            Part::Call { id, name, arguments } => {
                let call = |call: Value| delta(json!({"tool_calls": [call]}));
                let function = json!({"name": name, "arguments": ""});
                let head =
                    json!({"index": calls, "id": id, "type": "function", "function": function});
                events.push(call(head));
                events.extend(halves(&arguments).iter().map(|piece| {
                    call(json!({"index": calls, "function": {"arguments": piece}})).of_call()
                }));
                calls += 1;
            }
        }
    }
    let end = json!([{"index": 0, "delta": {}, "finish_reason": finish_reason(reply)}]);
    events.push(chunk(end, Value::Null));
    events.extend(reply.usage.map(|usage| {
        let prompt = usage.input + usage.cache_read;
        let usage = json!({
            "prompt_tokens": prompt, "completion_tokens": usage.output, "total_tokens": prompt + usage.output,
            "prompt_tokens_details": {"cached_tokens": usage.cache_read},
        });
        chunk(json!([]), usage)
    }));
    events.push(WireEvent::nameless("[DONE]".into()));
    events
}

fn finish_reason(reply: &Reply) -> &'static str {
    match reply.stop {
        Stop::Natural if reply.has_calls() => "tool_calls",
        Stop::Natural => "stop",
        Stop::Limit => "length",
        Stop::Refusal => "content_filter",
    }
}
