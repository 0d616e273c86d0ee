//! What the suite's tools ask a client for.

use rmcp::model::{ElicitRequestParams, InputRequiredResult};
use serde_json::{Value, json};

/// A form with one text or one yes or no.
fn form(message: &str, field: &str) -> Value {
    let schema =
        json!({"type": "object", "properties": {field: {"type": "string"}}, "required": [field]});
    json!({"method": "elicitation/create", "params": {"mode": "form", "message": message, "requestedSchema": schema}})
}

fn sampling(text: &str) -> Value {
    let content = json!({"type": "text", "text": text});
    let messages = json!([{"role": "user", "content": content}]);
    json!({"method": "sampling/createMessage", "params": {"messages": messages, "maxTokens": 100}})
}

fn roots() -> Value {
    json!({"method": "roots/list", "params": {}})
}

/// What a stateless tool or prompt asks for in a round, by the name of each input; none where it asks for nothing.
pub(crate) fn inputs(name: &str, round: usize) -> Option<Value> {
    Some(match (name, round) {
        ("test_input_required_result_elicitation", 0) => {
            json!({"user_name": form("What is your name?", "name")})
        }
        ("test_input_required_result_sampling", 0) => {
            json!({"capital_question": sampling("What is the capital of France?")})
        }
        ("test_input_required_result_list_roots", 0) => json!({"client_roots": roots()}),
        ("test_input_required_result_multiple_inputs", 0) => json!({
            "user_name": form("What is your name?", "name"),
            "greeting": sampling("Greet."),
            "client_roots": roots(),
        }),
        ("test_input_required_result_multi_round", 0) => json!({"step1": form("Who?", "name")}),
        ("test_input_required_result_multi_round", 1) => json!({"step2": form("Which?", "color")}),
        ("test_input_required_result_capabilities", 0) => json!({
            "by_form": form("What is your name?", "name"),
            "by_model": sampling("Greet."),
        }),
        ("test_input_required_result_prompt", 0) => {
            json!({"user_context": form("Which context?", "context")})
        }
        _ => return None,
    })
}

/// The result that asks for inputs; the state says which round it is, and is good for this tool only.
pub(crate) fn asking(name: &str, round: usize, inputs: Value) -> Option<InputRequiredResult> {
    let state = format!("{name}/{round}");
    let result =
        json!({"resultType": "input_required", "inputRequests": inputs, "requestState": state});
    serde_json::from_value(result).ok()
}

/// The round that a state was given out for; none if it was not.
pub(crate) fn round_of(name: &str, state: &str) -> Option<usize> {
    let (of, round) = state.rsplit_once('/')?;
    round.parse().ok().filter(|_| of == name)
}

/// The form that a tool of the handshake era shows while its call is open.
pub(crate) fn open_form(tool: &str) -> Option<ElicitRequestParams> {
    let choice = |values: &[&str]| json!({"type": "string", "enum": values});
    let titled = |values: &[(&str, &str)]| {
        let all = values.iter().map(|(value, title)| json!({"const": value, "title": title}));
        all.collect::<Value>()
    };
    let options = ["option1", "option2", "option3"];
    let values = [("value1", "First"), ("value2", "Second"), ("value3", "Third")];
    let properties = match tool {
        "test_elicitation_sep1034_defaults" => json!({
            "name": {"type": "string", "default": "John Doe"},
            "age": {"type": "integer", "default": 30},
            "score": {"type": "number", "default": 95.5},
            "status": {"type": "string", "enum": ["active", "inactive", "pending"], "default": "active"},
            "verified": {"type": "boolean", "default": true},
        }),
        "test_elicitation_sep1330_enums" => json!({
            "untitledSingle": choice(&options),
            "titledSingle": {"type": "string", "oneOf": titled(&values)},
            "legacyEnum": {"type": "string", "enum": ["opt1", "opt2", "opt3"], "enumNames": ["One", "Two", "Three"]},
            "untitledMulti": {"type": "array", "items": choice(&options)},
            "titledMulti": {"type": "array", "items": {"anyOf": titled(&values)}},
        }),
        _ => return None,
    };
    let schema = json!({"type": "object", "properties": properties});
    serde_json::from_value(json!({"mode": "form", "message": "Fill in", "requestedSchema": schema}))
        .ok()
}
