//! What a line from the editor is: JSON-RPC 2.0, one message a line.

use agent_client_protocol_schema::v1::{Error, RequestId};
use serde_json::{Map, Value, json};

/// Characters of a line that is not JSON which the editor is told again.
const SHOWN_CHARS: usize = 200;

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
    /// A malformed answer. Answering an answer could go on for ever.
    Nothing,
}

impl IncomingMessage {
    pub(crate) fn read(line: &str) -> Self {
        let fields = match serde_json::from_str(line) {
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
        let is_answer = !has("method") && (has("result") || has("error"));
        match Self::of(fields) {
            Some(message) => message,
            None if is_answer => Self::Nothing,
            None => Self::Invalid(Error::invalid_request()),
        }
    }

    /// The message, if it is well formed. Fields that the specification does not name are passed over.
    fn of(mut fields: Map<String, Value>) -> Option<Self> {
        if fields.get("jsonrpc")? != "2.0" {
            return None;
        }
        let id = match fields.remove("id") {
            Some(id) => Some(serde_json::from_value::<RequestId>(id).ok()?),
            None => None,
        };
        let mut part = |name| fields.remove(name);
        match (part("method"), part("result"), part("error"), id) {
            (Some(Value::String(method)), None, None, id) => {
                let params = part("params").unwrap_or_default();
                if !(params.is_null() || params.is_array() || params.is_object()) {
                    return None;
                }
                Some(match id {
                    Some(id) => Self::Request { id, method, params },
                    None => Self::Notification { method, params },
                })
            }
            (None, Some(result), None, Some(id)) => Some(Self::Answer { id, result: Ok(result) }),
            (None, None, Some(error), Some(id)) => {
                let error = serde_json::from_value(error).ok()?;
                Some(Self::Answer { id, result: Err(error) })
            }
            _ => None,
        }
    }
}
