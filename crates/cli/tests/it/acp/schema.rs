//! The messages of the agent against the schema of the protocol.

use std::collections::HashMap;
use std::sync::LazyLock;

use jsonschema::Validator;
use serde_json::{Value, json};

/// The definitions by kind of message and method.
static SCHEMAS: LazyLock<HashMap<(Kind, String), Validator>> = LazyLock::new(|| {
    let schema: Value =
        serde_json::from_str(include_str!("protocol.schema.json")).expect("a schema");
    let mut validators = HashMap::new();
    for (name, definition) in schema["$defs"].as_object().expect("definitions") {
        let Some(method) = definition["x-method"].as_str() else { continue };
        let is_for_editor = definition["x-side"] != "agent";
        let kind = match (is_for_editor, name) {
            (true, name) if name.ends_with("Request") => Kind::Request,
            (true, name) if name.ends_with("Notification") => Kind::Notification,
            (false, name) if name.ends_with("Response") => Kind::Answer,
            _ => continue,
        };
        let whole = json!({"$ref": format!("#/$defs/{name}"), "$defs": schema["$defs"]});
        let validator = jsonschema::validator_for(&whole).expect("a valid schema");
        validators.insert((kind, method.to_owned()), validator);
    }
    validators
});

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Kind {
    Request,
    Notification,
    Answer,
}

/// Fails unless a message of the agent is one that the protocol knows. `asked` is the method that is answered.
#[track_caller]
pub(super) fn check(message: &Value, asked: Option<&str>) {
    assert_eq!(message["jsonrpc"], "2.0", "{message}");
    let method = message["method"].as_str();
    let (kind, method, part) = match (method, message.get("id")) {
        (Some(method), Some(_)) => (Kind::Request, method, &message["params"]),
        (Some(method), None) => (Kind::Notification, method, &message["params"]),
        (None, _) if message.get("error").is_some() => {
            let error = &message["error"];
            assert!(error["code"].is_i64() && error["message"].is_string(), "{message}");
            return;
        }
        (None, _) => (Kind::Answer, asked.unwrap_or("nothing"), &message["result"]),
    };
    let validator = SCHEMAS.get(&(kind, method.to_owned()));
    let validator = validator.unwrap_or_else(|| panic!("not of the protocol: {message}"));
    if let Err(error) = validator.validate(part) {
        panic!("{error} at {}: {message}", error.instance_path());
    }
}
