//! A tool as JSON: its whole definition, and the schema that a model is told.

use serde_json::{Value, json};

use crate::ListedTool;

/// The name of the flag by which a model ends its turn with a call.
pub const TERMINATE: &str = "terminate";

/// Every field of a definition.
pub(crate) fn definition(tool: &ListedTool) -> Value {
    let own = tool.definition();
    json!({
        "name": tool.name(),
        "vocabulary": tool.vocabulary(),
        "tool": own.name,
        "description": tool.description(),
        "category": own.category,
        "parameters": tool.input_schema(),
        "output_schema": tool.output_schema(),
        "required_permissions": own.required_permissions,
        "approval": own.approval,
        "tool_type": own.tool_type,
        "termination_behavior_doc": own.termination_behavior_doc,
        "custom_prompt": own.custom_prompt,
        "example": tool.example(),
    })
}

/// The schema as a model in a conversation is told it, with the flag that ends its turn. It is sent
/// with every request: bounds and closed lists of names, which a call is checked against anyway and
/// whose errors explain themselves, are left out.
pub(crate) fn for_models(schema: &Value) -> Value {
    let mut schema = schema.clone();
    leave_out_checks(&mut schema);
    // What it means is said once, in the instructions.
    schema["properties"][TERMINATE] = json!({"type": "boolean"});
    schema
}

/// The schema without bounds and closed lists of names, also where there are no names at all: OpenAI's SDK makes such a
/// schema strict only if it says that it is closed, and does without otherwise, but Google's SDK takes what stands there for a
/// schema and then fails for all tools.
pub(crate) fn without_checks(schema: &Value) -> Value {
    let mut schema = schema.clone();
    leave_out_checks(&mut schema);
    schema
}

fn leave_out_checks(schema: &mut Value) {
    match schema {
        Value::Object(fields) => {
            fields.retain(|key, value| match key.as_str() {
                "additionalProperties" => !value.is_boolean(),
                "minimum" | "minItems" | "minLength" => !value.is_number(),
                _ => true,
            });
            fields.values_mut().for_each(leave_out_checks);
        }
        Value::Array(items) => items.iter_mut().for_each(leave_out_checks),
        _ => {}
    }
}
