//! The tool list as the different callers of a model want it.

use protocol::UnknownName;
use serde_json::{Value, json};
use strum::VariantArray as _;

use crate::ListedTool;

/// The name of the flag by which a model ends its turn with a call.
pub(crate) const TERMINATE: &str = "terminate";

/// A format for a list of tools.
#[derive(
    Clone,
    Copy,
    Debug,
    PartialEq,
    Eq,
    strum::Display,
    strum::EnumString,
    strum::IntoStaticStr,
    strum::VariantArray,
)]
#[strum(
    serialize_all = "lowercase",
    parse_err_ty = UnknownName,
    parse_err_fn = Rendering::unknown
)]
pub enum Rendering {
    /// Every field of every definition.
    Json,
    /// The `tools` array of Anthropic's Messages API.
    Anthropic,
    /// The `tools` array of OpenAI's chat completions.
    OpenAi,
}

impl Rendering {
    /// All formats.
    pub const ALL: &[Rendering] = Rendering::VARIANTS;

    /// The lower-case name.
    pub fn as_str(self) -> &'static str {
        self.into()
    }

    fn unknown(text: &str) -> UnknownName {
        UnknownName::among("format", text, Self::ALL)
    }

    /// One tool in this format.
    pub fn render(self, tool: &ListedTool) -> Value {
        match self {
            Rendering::Json => definition(tool),
            Rendering::Anthropic => json!({
                "name": tool.name(),
                "description": tool.description(),
                "input_schema": tool.schema_for_models(),
            }),
            Rendering::OpenAi => json!({
                "type": "function",
                "function": {
                    "name": tool.name(),
                    "description": tool.description(),
                    "parameters": tool.schema_for_models(),
                },
            }),
        }
    }
}

fn definition(tool: &ListedTool) -> Value {
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
    let mut schema = without_checks(schema);
    // What it means is said once, in the instructions.
    schema["properties"][TERMINATE] = json!({"type": "boolean"});
    schema
}

/// The schema without bounds and closed lists of names.
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
