//! Reads a message from a line, and says what is wrong with a line that is not one.

use protocol::parse_strict_json;
use rmcp::ErrorData;
use rmcp::model::{ClientJsonRpcMessage, JsonRpcMessage, RequestId, ServerJsonRpcMessage};
use serde::de::IgnoredAny;
use serde_json::Value;

use crate::envelope::Envelope;

const BYTE_ORDER_MARK: &[u8] = b"\xEF\xBB\xBF";

/// What is wrong with a request that no answer could name.
const UNUSABLE_ID: &str = "the id of a request has to be a string or a whole number of 64 bits";

/// What a line holds.
pub(crate) enum LineContent {
    Message(Box<ClientJsonRpcMessage>),
    /// Several messages, or what should be some; [`of_value`] reads each.
    Batch(Vec<Value>),
    /// Something else, with the reply to its sender.
    Refused(Box<ServerJsonRpcMessage>),
    /// Something that must not be answered.
    Nothing,
}

/// Reads one line, refusing JSON that two readers could understand differently.
pub(crate) fn read(line: &[u8]) -> LineContent {
    let text = line.strip_prefix(BYTE_ORDER_MARK).unwrap_or(line).trim_ascii();
    if text.is_empty() {
        return LineContent::Nothing;
    }
    let Ok(json) = std::str::from_utf8(text) else {
        return unreadable(text, "the message is not UTF-8");
    };
    let value = match parse_strict_json(json) {
        Ok(value) => value,
        Err(error) if is_well_formed(json) => {
            return refused(
                &Envelope::of(text),
                ErrorData::invalid_request(error.to_string(), None),
            );
        }
        Err(error) => return unreadable(text, &error.to_string()),
    };
    match value {
        Value::Array(messages) => LineContent::Batch(messages),
        value => of_value(value),
    }
}

/// Reads one message, which may be one of a batch.
pub(crate) fn of_value(mut value: Value) -> LineContent {
    leave_out_contradictions(&mut value);
    let method = value.get("method").cloned();
    let id = value.get("id").map(|id| serde_json::from_value::<RequestId>(id.clone()).ok());
    let error = match serde_json::from_value(value) {
        Ok(message) => return LineContent::Message(Box::new(message)),
        Err(error) => error.to_string(),
    };
    let is_told = |method: &Value| method.as_str().is_some_and(|m| m.starts_with("notifications/"));
    let (id, error) = match (method, id) {
        // A notification must never be answered.
        (Some(_), None) => return LineContent::Nothing,
        (Some(method), Some(None)) if is_told(&method) => return LineContent::Nothing,
        // Without an answer the sender would wait for ever.
        (Some(_), Some(None)) => (None, UNUSABLE_ID.to_owned()),
        (Some(_), Some(id)) => (id, error),
        (None, _) => (None, error),
    };
    let error = ErrorData::invalid_request(error, None);
    LineContent::Refused(Box::new(JsonRpcMessage::error(error, id)))
}

/// Makes an answer that says both that a question failed and how it was answered a failure, and takes
/// answers out of what is a request. Otherwise such a message could be taken for a user's yes.
fn leave_out_contradictions(value: &mut Value) {
    let Value::Object(fields) = value else { return };
    // Some clients write the one that does not apply as null.
    let has = |key: &str| fields.get(key).is_some_and(|field| !field.is_null());
    let (is_request, has_failed) = (has("method"), has("error"));
    if is_request || has_failed {
        fields.shift_remove("result");
    }
    if is_request || !has_failed {
        fields.shift_remove("error");
    }
}

/// The answer to a request for which there is no room.
pub(crate) fn too_many(id: RequestId) -> ServerJsonRpcMessage {
    let message =
        "too many requests wait for an answer; send this one again after some are answered";
    JsonRpcMessage::error(ErrorData::internal_error(message, None), Some(id))
}

/// The answer to a request whose id another one has that is not answered yet. Their answers could not
/// be told apart.
pub(crate) fn id_in_use(id: RequestId) -> ServerJsonRpcMessage {
    let message = "a request with this id is not answered yet; each needs an id of its own";
    JsonRpcMessage::error(ErrorData::invalid_request(message, None), Some(id))
}

/// The answer to a line that was too long to be kept.
pub(crate) fn too_long(envelope: &Envelope, limit: usize) -> LineContent {
    let message = format!("the message is longer than {limit} bytes");
    refused(envelope, ErrorData::invalid_request(message, None))
}

/// What is not JSON is answered only if it was meant to be a request: a reply to mere noise could
/// make a peer that echoes talk to itself for ever.
fn unreadable(text: &[u8], why: &str) -> LineContent {
    match Envelope::of(text).request_id() {
        Some(id) => {
            let error = ErrorData::parse_error(why.to_owned(), None);
            LineContent::Refused(Box::new(JsonRpcMessage::error(error, Some(id))))
        }
        None => LineContent::Nothing,
    }
}

fn refused(envelope: &Envelope, error: ErrorData) -> LineContent {
    if envelope.is_notification() {
        return LineContent::Nothing;
    }
    LineContent::Refused(Box::new(JsonRpcMessage::error(error, envelope.request_id())))
}

/// Whether the text is JSON, however deep and ambiguous.
fn is_well_formed(json: &str) -> bool {
    serde_json::from_str::<IgnoredAny>(json).is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn reply(line: &[u8]) -> String {
        match read(line) {
            LineContent::Message(_) => "message".into(),
            LineContent::Nothing => "nothing".into(),
            LineContent::Batch(messages) => format!("batch of {}", messages.len()),
            LineContent::Refused(reply) => serde_json::to_string(&reply).unwrap(),
        }
    }

    #[test]
    fn a_message_may_have_a_byte_order_mark_and_a_carriage_return() {
        let line = b"\xEF\xBB\xBF{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"}\r";
        assert_eq!(reply(line), "message");
    }

    #[test]
    fn noise_is_passed_over() {
        for noise in [&b""[..], b"\r", b"hello", b"{\"id\":1,", b"\xFF\xFE", b"{\"method\":1}\xFF"]
        {
            assert_eq!(reply(noise), "nothing");
        }
        let notification = br#"{"jsonrpc":"1.0","method":"notifications/cancelled"}"#;
        assert_eq!(reply(notification), "nothing");
    }

    #[test]
    fn a_broken_request_is_answered_under_its_id() {
        insta::assert_snapshot!(
            reply(b"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\",\"params\":{\"a\":\"\xFF\"}}"),
            @r#"{"jsonrpc":"2.0","id":1,"error":{"code":-32700,"message":"the message is not UTF-8"}}"#
        );
        insta::assert_snapshot!(reply(br#"{"jsonrpc":"2.0","id":1,"method":"ping",}"#), @r#"{"jsonrpc":"2.0","id":1,"error":{"code":-32700,"message":"trailing comma at line 1 column 41"}}"#);
        insta::assert_snapshot!(
            reply(br#"{"jsonrpc":"2.0","id":"x","method":"ping","method":"tools/list"}"#),
            @r#"{"jsonrpc":"2.0","id":"x","error":{"code":-32600,"message":"the key `method` occurs twice at line 1 column 64"}}"#
        );
        insta::assert_snapshot!(reply(br#"{"id":1,"method":"ping"}"#), @r#"{"jsonrpc":"2.0","id":1,"error":{"code":-32600,"message":"unrecognized JSON-RPC message"}}"#);
    }

    #[test]
    fn a_request_under_an_id_that_no_answer_can_carry_is_refused() {
        for id in ["1.5", "null", "true", "[1]", "{}", "18446744073709551615", "1e30"] {
            let request = format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"ping"}}"#);
            insta::allow_duplicates! {
                insta::assert_snapshot!(reply(request.as_bytes()), @r#"{"jsonrpc":"2.0","error":{"code":-32600,"message":"the id of a request has to be a string or a whole number of 64 bits"}}"#);
            }
            let told = format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"notifications/x"}}"#);
            assert_eq!(reply(told.as_bytes()), "nothing", "{id}");
        }
        assert_eq!(reply(br#"{"jsonrpc":"2.0","id":1.0,"method":"ping"}"#), "message");
    }

    #[test]
    fn json_that_is_no_message_is_an_invalid_request() {
        insta::assert_snapshot!(reply(br#"{"foo":"bar"}"#), @r#"{"jsonrpc":"2.0","error":{"code":-32600,"message":"unrecognized JSON-RPC message"}}"#);
        let deep = "[".repeat(100_000) + &"]".repeat(100_000);
        insta::assert_snapshot!(reply(deep.as_bytes()), @r#"{"jsonrpc":"2.0","error":{"code":-32600,"message":"nested deeper than 64 levels at line 1 column 65"}}"#);
    }
}
