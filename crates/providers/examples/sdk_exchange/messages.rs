//! What a stream means, in the form in which both sides write it down.

use context_manager::{ModelError, ModelEvent};
use protocol::Content;
use providers::{Api, Quirks, SseDecoder};
use serde_json::{Value, json};

type Events = Vec<Result<ModelEvent, ModelError>>;

/// Reads the stream of a task whole, byte by byte and, if asked, parted at every single border; says
/// so if that makes a difference.
pub(crate) fn read(task: &Value) -> Value {
    let api = match task["api"].as_str() {
        Some("anthropic") => Api::Anthropic,
        Some("chat") => Api::OpenAiChat,
        _ => Api::OpenAiResponses,
    };
    let stream = task["stream"].as_str().unwrap_or_default().as_bytes();
    let whole = events(api, &[stream]);
    let bytes: Vec<&[u8]> = stream.chunks(1).collect();
    if events(api, &bytes) != whole {
        return json!({"differs": "byte by byte"});
    }
    let borders = if task["every_border"] == true { stream.len() } else { 0 };
    for border in 0..borders {
        let (first, second) = stream.split_at(border);
        if events(api, &[first, second]) != whole {
            return json!({"differs": format!("parted at {border}")});
        }
    }
    message(&whole)
}

fn events(api: Api, chunks: &[&[u8]]) -> Events {
    let mut reader = api.reader(&Quirks::openai(), &[]);
    let mut decoder = SseDecoder::new();
    let mut events = Vec::new();
    for chunk in chunks {
        for event in decoder.push(chunk) {
            match event {
                Ok(event) => events.extend(reader.push(event)),
                Err(error) => events.push(Err(error)),
            }
        }
    }
    events.extend(reader.finish());
    events
}

/// Parts in their order, neighbouring texts joined; thoughts as they are kept.
fn message(events: &Events) -> Value {
    let (mut parts, mut stop, mut usage) = (Vec::<Value>::new(), Value::Null, Value::Null);
    for event in events {
        match event {
            Ok(ModelEvent::Text(text)) => match parts.last_mut() {
                Some(Value::Array(last)) if last[0] == "text" => {
                    let joined = format!("{}{text}", last[1].as_str().unwrap_or_default());
                    last[1] = joined.into();
                }
                _ => parts.push(json!(["text", text])),
            },
            Ok(ModelEvent::ToolCall(call)) => {
                parts.push(json!(["call", call.id, call.name, call.arguments]));
            }
            Ok(ModelEvent::Kept(Content::Opaque { block, .. })) => {
                parts.push(json!(["kept", block]));
            }
            Ok(ModelEvent::Usage(told)) => {
                usage = json!([told.input, told.output, told.cache_read, told.cache_write]);
            }
            Ok(ModelEvent::Done(reason)) => stop = format!("{reason:?}").into(),
            Ok(ModelEvent::BrokenToolCall { reason, .. }) => return json!({"error": reason}),
            Err(error) => return json!({"error": error.message}),
            Ok(_) => {}
        }
    }
    json!({"parts": parts, "stop": stop, "usage": usage})
}
