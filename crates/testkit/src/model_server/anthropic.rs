//! A reply as Anthropic's Messages stream it.

use serde_json::{Value, json};

use super::reply::{Part, Reply, Stop};
use super::wire::{WireEvent, halves, pieces};

pub(super) fn events(reply: &Reply, request: usize) -> Vec<WireEvent> {
    let usage = reply.usage.map(|usage| {
        json!({"input_tokens": usage.input, "output_tokens": 1, "cache_read_input_tokens": usage.cache_read, "cache_creation_input_tokens": 0})
    });
    let message = json!({
        "id": format!("msg_{request}"), "type": "message", "role": "assistant", "model": "scripted", "content": [],
        "stop_reason": null, "stop_sequence": null, "usage": usage.unwrap_or_else(|| json!({"input_tokens": 0, "output_tokens": 0})),
    });
    let mut events = vec![WireEvent::typed(json!({"type": "message_start", "message": message}))];
    for (at, part) in reply.numbered(request) {
        block(at, &part, &mut events);
    }
    let output = reply.usage.map_or(0, |usage| usage.output);
    events.push(WireEvent::typed(json!({
        "type": "message_delta", "delta": {"stop_reason": stop_reason(reply), "stop_sequence": null}, "usage": {"output_tokens": output},
    })));
    events.push(WireEvent::typed(json!({"type": "message_stop"})));
    events
}

fn block(at: usize, part: &Part, events: &mut Vec<WireEvent>) {
    let start = match part {
        Part::Text(_) | Part::Pieces(_) => json!({"type": "text", "text": ""}),
        Part::Thinking(_) => json!({"type": "thinking", "thinking": "", "signature": ""}),
        Part::Call { id, name, .. } => {
            json!({"type": "tool_use", "id": id, "name": name, "input": {}})
        }
    };
    events.push(WireEvent::typed(
        json!({"type": "content_block_start", "index": at, "content_block": start}),
    ));
    let delta = |delta: Value| {
        WireEvent::typed(json!({"type": "content_block_delta", "index": at, "delta": delta}))
    };
    match part {
        Part::Text(_) | Part::Pieces(_) => events.extend(
            part.pieces()
                .iter()
                .map(|piece| delta(json!({"type": "text_delta", "text": piece})).of_text()),
        ),
        Part::Thinking(text) => {
            events.extend(
                pieces(text)
                    .iter()
                    .map(|piece| delta(json!({"type": "thinking_delta", "thinking": piece}))),
            );
            events.push(delta(json!({"type": "signature_delta", "signature": "sealed"})));
        }
        Part::Call { arguments, .. } => events.extend(halves(arguments).iter().map(|piece| {
            delta(json!({"type": "input_json_delta", "partial_json": piece})).of_call()
        })),
    }
    events.push(WireEvent::typed(json!({"type": "content_block_stop", "index": at})));
}

fn stop_reason(reply: &Reply) -> &'static str {
    match reply.stop {
        Stop::Natural if reply.has_calls() => "tool_use",
        Stop::Natural => "end_turn",
        Stop::Limit => "max_tokens",
        Stop::Refusal => "refusal",
    }
}
