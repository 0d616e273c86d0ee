//! One result, four shapes: how each family of callers expects to see a tool's answer.

use std::fmt::Write;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use crate::{ToolCall, ToolError, ToolResult, UnknownName};

/// Longest rendering of a single argument in the text that prefixes a flat error.
const MAX_SHOWN_ARGUMENT: usize = 60;
/// Longest rendering of all arguments together in that text.
const MAX_SHOWN_CALL: usize = 240;

/// The shape in which a result is shown. Every view is a total function of call and result.
#[derive(
    Clone,
    Copy,
    Debug,
    PartialEq,
    Eq,
    Hash,
    Serialize,
    Deserialize,
    strum::Display,
    strum::EnumString,
    strum::IntoStaticStr,
    strum::VariantArray,
)]
#[serde(rename_all = "snake_case")]
#[strum(serialize_all = "snake_case", parse_err_ty = UnknownName, parse_err_fn = View::unknown)]
pub enum View {
    /// `{success, error, error_type?, suggestion?, …fields}`.
    Flat,
    /// `{ok, value}` or `{ok, error: {code, message, details?}}`.
    Tagged,
    /// An Anthropic `tool_result` block.
    Block,
    /// The value itself, or the error itself.
    Bare,
}

crate::names_of!(View, "view");

impl View {
    /// Shows the result of `call` in this view.
    pub fn render(self, call: &ToolCall, result: &ToolResult) -> Value {
        match (self, result) {
            (View::Flat, Ok(value)) => flat_success(value),
            (View::Flat, Err(error)) => flat_error(call, error),
            (View::Tagged, Ok(value)) => json!({"ok": true, "value": value}),
            (View::Tagged, Err(error)) => tagged_error(error),
            (View::Block, Ok(value)) => json!({
                "type": "tool_result",
                "tool_use_id": call.id,
                "content": text_of(value),
            }),
            (View::Block, Err(error)) => json!({
                "type": "tool_result",
                "tool_use_id": call.id,
                "content": json!({"error": true, "message": error.full_message()}).to_string(),
                "is_error": true,
            }),
            (View::Bare, Ok(value)) => value.clone(),
            (View::Bare, Err(error)) => json!(error),
        }
    }
}

/// A string is shown as it is, anything else as JSON.
fn text_of(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        other => other.to_string(),
    }
}

/// The value's own fields join the envelope. A field called `error` replaces the empty text, as the
/// shell tool's error stream does; `success` always tells whether the tool succeeded.
fn flat_success(value: &Value) -> Value {
    let mut flat = Map::new();
    flat.insert("success".into(), true.into());
    flat.insert("error".into(), "".into());
    match value {
        Value::Object(fields) => {
            let own = fields.iter().filter(|(key, _)| *key != "success");
            flat.extend(own.map(|(key, value)| (key.clone(), value.clone())));
        }
        other => {
            flat.insert("result".into(), other.clone());
        }
    }
    Value::Object(flat)
}

/// Details keep their names unless they would hide a field of the envelope.
fn flat_error(call: &ToolCall, error: &ToolError) -> Value {
    let mut flat = Map::new();
    flat.insert("success".into(), false.into());
    flat.insert("error".into(), format!("{}: {}", describe_call(call), error.message).into());
    flat.insert("error_type".into(), error.code.error_type().as_str().into());
    if let Some(suggestion) = &error.suggestion {
        flat.insert("suggestion".into(), suggestion.clone().into());
    }
    for (key, value) in error.details.iter() {
        flat.entry(key.clone()).or_insert_with(|| value.clone());
    }
    Value::Object(flat)
}

fn tagged_error(error: &ToolError) -> Value {
    let mut details = (*error.details).clone();
    if let Some(suggestion) = &error.suggestion {
        details.insert("suggestion".into(), suggestion.clone().into());
    }
    let mut inner = Map::new();
    inner.insert("code".into(), error.code.as_str().into());
    inner.insert("message".into(), error.message.clone().into());
    if !details.is_empty() {
        inner.insert("details".into(), Value::Object(details));
    }
    json!({"ok": false, "error": inner})
}

/// The call as one would write it in code: `read(path="x", limit=5)`. Long arguments are cut.
pub fn describe_call(call: &ToolCall) -> String {
    let mut text = format!("{}(", call.name);
    for (index, (key, value)) in call.arguments.iter().enumerate() {
        if index > 0 {
            text.push_str(", ");
        }
        if text.len() > MAX_SHOWN_CALL {
            text.push('…');
            break;
        }
        // Writing to a string cannot fail.
        let _ = write!(text, "{key}={}", shortened(&value.to_string()));
    }
    text.push(')');
    text
}

fn shortened(text: &str) -> String {
    match text.char_indices().nth(MAX_SHOWN_ARGUMENT) {
        None => text.to_owned(),
        Some((cut, _)) => format!("{}…", &text[..cut]),
    }
}

#[cfg(test)]
mod tests {
    use insta::assert_json_snapshot;
    use proptest::prelude::*;

    use super::*;
    use crate::ErrorCode;

    fn call(arguments: Value) -> ToolCall {
        let Value::Object(arguments) = arguments else { panic!("arguments are an object") };
        ToolCall::new("toolu_1", "my_tool", arguments)
    }

    fn not_found() -> ToolResult {
        Err(ToolError::new(ErrorCode::FileNotFound, "File not found")
            .suggest("Check the file path and try again"))
    }

    #[test]
    fn the_flat_view_of_a_success_is_the_envelope_plus_the_fields() {
        let value = json!({"result": "operation completed", "count": 42});
        assert_json_snapshot!(View::Flat.render(&call(json!({})), &Ok(value)), @r#"
        {
          "success": true,
          "error": "",
          "result": "operation completed",
          "count": 42
        }
        "#);
    }

    #[test]
    fn the_flat_view_of_an_error_is_prefixed_by_the_call() {
        let call = call(json!({"param1": "value"}));
        assert_json_snapshot!(View::Flat.render(&call, &not_found()), @r#"
        {
          "success": false,
          "error": "my_tool(param1=\"value\"): File not found",
          "error_type": "user_error",
          "suggestion": "Check the file path and try again"
        }
        "#);
    }

    #[test]
    fn the_flat_view_lets_a_shell_result_keep_its_error_stream() {
        let value = json!({"output": "a\n", "error": "warning\n", "return_code": 0});
        let flat = View::Flat.render(&call(json!({})), &Ok(value));
        assert_eq!(
            flat,
            json!({"success": true, "error": "warning\n", "output": "a\n", "return_code": 0})
        );
    }

    #[test]
    fn the_tagged_view_has_ok_and_a_coded_error() {
        let call = call(json!({"path": "x"}));
        assert_eq!(
            View::Tagged.render(&call, &Ok(json!({"size": 1}))),
            json!({"ok": true, "value": {"size": 1}})
        );
        assert_json_snapshot!(View::Tagged.render(&call, &not_found()), @r#"
        {
          "ok": false,
          "error": {
            "code": "FILE_NOT_FOUND",
            "message": "File not found",
            "details": {
              "suggestion": "Check the file path and try again"
            }
          }
        }
        "#);
    }

    #[test]
    fn the_block_view_is_a_tool_result_with_is_error() {
        let call = call(json!({}));
        assert_eq!(
            View::Block.render(&call, &Ok(json!("plain"))),
            json!({"type": "tool_result", "tool_use_id": "toolu_1", "content": "plain"})
        );
        assert_eq!(View::Block.render(&call, &Ok(json!({"a": 1})))["content"], json!("{\"a\":1}"));
        let rejected = Err(ToolError::new(ErrorCode::Rejected, "User rejected changes"));
        assert_eq!(
            View::Block.render(&call, &rejected),
            json!({
                "type": "tool_result",
                "tool_use_id": "toolu_1",
                "content": r#"{"error":true,"message":"User rejected changes"}"#,
                "is_error": true,
            })
        );
    }

    #[test]
    fn a_call_is_described_with_long_arguments_cut() {
        let long = "x".repeat(500);
        let described = describe_call(&call(json!({"a": long, "b": [1, 2], "c": true})));
        assert_eq!(described, format!("my_tool(a=\"{}…, b=[1,2], c=true)", "x".repeat(59)));
    }

    fn any_json() -> impl Strategy<Value = Value> {
        let leaf = prop_oneof![
            Just(Value::Null),
            any::<bool>().prop_map(Value::from),
            any::<i64>().prop_map(Value::from),
            ".*".prop_map(Value::from),
        ];
        leaf.prop_recursive(3, 24, 5, |inner| {
            let key = prop_oneof![Just("success".to_owned()), Just("error".to_owned()), ".{0,6}"];
            prop_oneof![
                prop::collection::vec(inner.clone(), 0..5).prop_map(Value::from),
                prop::collection::vec((key, inner), 0..5)
                    .prop_map(|fields| Value::Object(fields.into_iter().collect())),
            ]
        })
    }

    fn any_result() -> impl Strategy<Value = ToolResult> {
        let code = prop::sample::select(ErrorCode::ALL);
        let error = (code, ".*", prop::option::of(".*"), any_json()).prop_map(
            |(code, message, suggestion, detail)| {
                let mut error = ToolError::new(code, message).detail("error", detail);
                error.suggestion = suggestion;
                error
            },
        );
        prop_oneof![any_json().prop_map(Ok), error.prop_map(Err)]
    }

    proptest! {
        #[test]
        fn views_are_total_and_always_tell_success_from_failure(
            result in any_result(),
            arguments in any_json(),
        ) {
            let arguments = arguments.as_object().cloned().unwrap_or_default();
            let call = ToolCall::new("id", "t", arguments);
            let ok = result.is_ok();
            prop_assert_eq!(View::Flat.render(&call, &result)["success"].as_bool(), Some(ok));
            prop_assert_eq!(View::Tagged.render(&call, &result)["ok"].as_bool(), Some(ok));
            let block = View::Block.render(&call, &result);
            prop_assert_eq!(block.get("is_error").is_some(), !ok);
            prop_assert!(block["content"].is_string());
            let bare = View::Bare.render(&call, &result);
            match result {
                Ok(value) => prop_assert_eq!(bare, value),
                Err(error) => prop_assert_eq!(serde_json::from_value::<ToolError>(bare).unwrap(), error),
            }
        }
    }
}
