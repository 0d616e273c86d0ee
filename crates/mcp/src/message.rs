//! Reads a message from a line, and says what is wrong with a line that is not one.

use protocol::parse_strict_json;
use rmcp::ErrorData;
use rmcp::model::{ClientJsonRpcMessage, JsonRpcMessage, RequestId, ServerJsonRpcMessage};
use serde::de::IgnoredAny;
use serde_json::Value;

use crate::envelope::Envelope;

const BYTE_ORDER_MARK: &[u8] = b"\xEF\xBB\xBF";

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
        value => match serde_json::from_value(value) {
            Ok(message) => LineContent::Message(Box::new(message)),
            Err(error) => {
                refused(&Envelope::of(text), ErrorData::invalid_request(error.to_string(), None))
            }
        },
    }
}

/// Reads one message of a batch.
pub(crate) fn of_value(value: Value) -> LineContent {
    let text = value.to_string();
    match serde_json::from_value(value) {
        Ok(message) => LineContent::Message(Box::new(message)),
        Err(error) => refused(
            &Envelope::of(text.as_bytes()),
            ErrorData::invalid_request(error.to_string(), None),
        ),
    }
}

/// The answer to a request for which there is no room.
pub(crate) fn too_many(id: RequestId) -> ServerJsonRpcMessage {
    let message =
        "too many requests wait for an answer; send this one again after some are answered";
    JsonRpcMessage::error(ErrorData::internal_error(message, None), Some(id))
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
    fn json_that_is_no_message_is_an_invalid_request() {
        insta::assert_snapshot!(reply(br#"{"foo":"bar"}"#), @r#"{"jsonrpc":"2.0","error":{"code":-32600,"message":"unrecognized JSON-RPC message"}}"#);
        let deep = "[".repeat(100_000) + &"]".repeat(100_000);
        insta::assert_snapshot!(reply(deep.as_bytes()), @r#"{"jsonrpc":"2.0","error":{"code":-32600,"message":"nested deeper than 64 levels at line 1 column 65"}}"#);
    }
}
