//! What a line from the editor is: JSON-RPC 2.0, one message a line.

use agent_client_protocol_schema::v1::{Error, RequestId};
use serde_json::{Map, Value, json};

use crate::wire::failed;

/// Characters of a line that is not JSON which the editor is told again.
const SHOWN_CHARS: usize = 200;

/// Values in a message, nested ones included. A line of nothing but zeros would become fifty times as large once it is
/// parsed; what the protocol needs are a few hundred.
pub(crate) const MAX_VALUES: usize = 100_000;
/// Bytes that a value takes besides its text, with a place in an object that grows.
const VALUE_BYTES: usize = 512;

/// A message from the editor.
#[derive(Debug, PartialEq)]
pub(crate) enum IncomingMessage {
    Request {
        id: RequestId,
        method: String,
        params: Value,
    },
    Notification {
        method: String,
        params: Value,
    },
    /// What became of a request of ours.
    Answer {
        id: RequestId,
        result: Result<Value, Error>,
    },
    /// Not a message. The error is the answer, without an id, because none can be relied upon.
    Invalid(Error),
    /// An answer without a usable id. Answering an answer could go on for ever.
    Nothing,
}

impl IncomingMessage {
    pub(crate) fn read(line: &str) -> Self {
        if values(line) > MAX_VALUES {
            let why = format!("a message holds at most {MAX_VALUES} values");
            return Self::Invalid(Error::invalid_request().data(json!(why)));
        }
        let mut fields = match serde_json::from_str(line) {
            Ok(Value::Object(fields)) => fields,
            Ok(Value::Array(_)) => {
                let why = "JSON-RPC batches are not supported; send each message individually";
                return Self::Invalid(Error::invalid_request().data(json!(why)));
            }
            Ok(_) => return Self::Invalid(Error::invalid_request()),
            Err(_) => {
                let shown: String = line.chars().take(SHOWN_CHARS).collect();
                return Self::Invalid(Error::parse_error().data(json!({"line": shown})));
            }
        };
        let has = |name| fields.contains_key(name);
        if has("method") || !(has("result") || has("error")) {
            return Self::call(fields).unwrap_or(Self::Invalid(Error::invalid_request()));
        }
        let id = fields.remove("id").map(serde_json::from_value);
        let Some(Ok(id)) = id else { return Self::Nothing };
        // Who has asked would wait for ever for a better one.
        let malformed = || Err(failed("its answer is not a JSON-RPC answer"));
        Self::Answer { id, result: answer(fields).unwrap_or_else(malformed) }
    }

    /// A request or notification, if it is well formed. Fields that the specification does not name are passed over.
    fn call(mut fields: Map<String, Value>) -> Option<Self> {
        if fields.get("jsonrpc")? != "2.0" || fields.contains_key("result") {
            return None;
        }
        let id = match fields.remove("id") {
            Some(id) => Some(serde_json::from_value::<RequestId>(id).ok()?),
            None => None,
        };
        let params = fields.remove("params").unwrap_or_default();
        let (Some(Value::String(method)), None) = (fields.remove("method"), fields.remove("error"))
        else {
            return None;
        };
        if !(params.is_null() || params.is_array() || params.is_object()) {
            return None;
        }
        Some(match id {
            Some(id) => Self::Request { id, method, params },
            None => Self::Notification { method, params },
        })
    }
}

/// What an answer says, if it is well formed. Some libraries write both fields, and null into the one that is not meant.
fn answer(mut fields: Map<String, Value>) -> Option<Result<Value, Error>> {
    if fields.get("jsonrpc")? != "2.0" {
        return None;
    }
    let error = fields.remove("error").filter(|error| !error.is_null());
    match (fields.remove("result"), error) {
        (Some(result), None) => Some(Ok(result)),
        (None | Some(Value::Null), Some(error)) => Some(Err(serde_json::from_value(error).ok()?)),
        _ => None,
    }
}

/// Bytes that a line takes at most once it is parsed.
pub(crate) fn parsed_bytes(line: &str) -> usize {
    line.len() + values(line) * VALUE_BYTES
}

/// The values that are made of a line before it is known whether it is JSON, or more: each but the first follows a comma or
/// a bracket.
fn values(line: &str) -> usize {
    let (mut values, mut is_text, mut is_escaped) = (1, false, false);
    for byte in line.bytes() {
        match byte {
            _ if is_escaped => is_escaped = false,
            b'\\' => is_escaped = is_text,
            b'"' => is_text = !is_text,
            b',' | b'[' | b'{' if !is_text => values += 1,
            _ => {}
        }
    }
    values
}
