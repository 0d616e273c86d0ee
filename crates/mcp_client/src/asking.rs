//! What a server wants to know from the user, and what it is answered.

use protocol::ForeignCall;
use serde_json::{Map, Value, json};
use tool_system::{Asker, misfit};

use crate::foreign_schema::written_out;

/// Fields of a form. More are not a question to a user.
const MAX_FIELDS: usize = 20;
/// Characters of a question.
const MAX_MESSAGE: usize = 4000;
/// Bytes of all that a server sends with a question: it is shown whole, and kept in the log.
const MAX_BYTES: usize = 64 * 1024;

/// Shows a question of the server that `call` was sent to. Without a yes, or a way to ask, it is
/// declined.
pub(crate) async fn answer(params: &Value, call: &ForeignCall, asker: &Asker<'_>) -> Value {
    let declined = json!({"action": "decline"});
    let Some((asks, arguments, schema)) = question(params) else { return declined };
    let question = ForeignCall {
        arguments,
        asks: Some(asks),
        unapproved: None,
        destructive: false,
        ..call.clone()
    };
    match (asker.ask(question).await, schema) {
        (Ok(_), None) => json!({"action": "accept"}),
        (Ok(content), Some(schema)) => {
            let content = Value::Object(content);
            match misfit(&schema, &content) {
                None => json!({"action": "accept", "content": content}),
                Some(_) => declined,
            }
        }
        (Err(_), _) => declined,
    }
}

/// Whether a question is small enough to be asked.
pub(crate) fn fits(params: &Value) -> bool {
    params.to_string().len() <= MAX_BYTES
}

/// The question in words, the answer that a yes sends, and what that has to fit; none if it cannot be
/// asked.
fn question(params: &Value) -> Option<(String, Map<String, Value>, Option<Value>)> {
    if !fits(params) {
        return None;
    }
    let mut message: String = params["message"].as_str()?.chars().take(MAX_MESSAGE).collect();
    if params["mode"] == "url" {
        let url = params["url"].as_str()?;
        message.push_str(&format!("\nIt wants you to open this address yourself: {url}"));
        return Some((message, Map::new(), None));
    }
    let schema = written_out(&params["requestedSchema"]).ok()?;
    let fields = schema["properties"].as_object()?;
    if fields.len() > MAX_FIELDS {
        return None;
    }
    let mut content = Map::new();
    for (name, field) in fields {
        let value = field.get("default").cloned();
        // A yes to a question for yes or no is a yes.
        let value = value.or_else(|| (field["type"] == "boolean").then_some(true.into()));
        content.extend(value.map(|value| (name.clone(), value)));
        let title = field["title"].as_str().or(field["description"].as_str()).unwrap_or_default();
        let options = options(field);
        message.push_str(&format!("\n- {name}: {title}{options}"));
    }
    let required = schema["required"].as_array().into_iter().flatten().filter_map(Value::as_str);
    let missing: Vec<&str> = required.filter(|name| !content.contains_key(*name)).collect();
    if !missing.is_empty() {
        let missing = missing.join(", ");
        message.push_str(&format!(
            "\nWithout a value for {missing} a yes declines; values are given by editing the arguments."
        ));
    }
    Some((message, content, Some(schema)))
}

/// ` (one of a, b)` for a field with a fixed choice.
fn options(field: &Value) -> String {
    let listed = field["enum"].as_array().map(|all| all.iter().collect::<Vec<_>>());
    let titled =
        || field["oneOf"].as_array().map(|all| all.iter().map(|one| &one["const"]).collect());
    let all: Vec<String> = listed
        .or_else(titled)
        .unwrap_or_default()
        .into_iter()
        .map(|value| value.as_str().map_or_else(|| value.to_string(), str::to_owned))
        .collect();
    if all.is_empty() { String::new() } else { format!(" (one of {})", all.join(", ")) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told(params: Value) -> String {
        match question(&params) {
            None => "not asked".to_owned(),
            Some((asks, content, _)) => format!("{asks}\n=> {}", Value::Object(content)),
        }
    }

    #[test]
    fn a_form_is_told_in_words_with_the_answer_that_a_yes_sends() {
        let form = json!({
            "message": "Delete the branch?",
            "requestedSchema": {"type": "object", "properties": {
                "sure": {"type": "boolean", "title": "Are you sure"},
                "mode": {"type": "string", "enum": ["soft", "hard"], "default": "soft"},
                "name": {"type": "string", "description": "Your name"},
            }, "required": ["sure", "name"]},
        });
        insta::assert_snapshot!(told(form), @r#"
        Delete the branch?
        - sure: Are you sure
        - mode:  (one of soft, hard)
        - name: Your name
        Without a value for name a yes declines; values are given by editing the arguments.
        => {"sure":true,"mode":"soft"}
        "#);
        let url = json!({"mode": "url", "message": "Sign in", "url": "https://example.org/login"});
        insta::assert_snapshot!(told(url), @"
        Sign in
        It wants you to open this address yourself: https://example.org/login
        => {}
        ");
    }

    #[test]
    fn what_cannot_be_shown_is_not_asked() {
        let many: Map<String, Value> =
            (0..30).map(|at| (format!("f{at}"), json!({"type": "string"}))).collect();
        let long = "x".repeat(MAX_BYTES);
        let form =
            |field: Value| json!({"message": "x", "requestedSchema": {"properties": {"a": field}}});
        assert_eq!(
            told(form(json!({"title": "b", "default": "c"}))),
            "x\n- a: b\n=> {\"a\":\"c\"}"
        );
        for params in [
            json!({"mode": "url", "message": "x", "url": format!("https://example.org/{long}")}),
            form(json!({"title": long})),
            form(json!({"default": long})),
            form(json!({"enum": [long]})),
            json!({}),
            json!({"message": "x"}),
            json!({"message": "x", "requestedSchema": {"$ref": "https://example.org"}}),
            json!({"message": "x", "requestedSchema": {"properties": many}}),
            json!({"mode": "url", "message": "x"}),
        ] {
            assert_eq!(told(params.clone()), "not asked", "{params}");
        }
    }
}
