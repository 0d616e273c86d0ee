//! The tool list as the different callers of a model want it.

use std::fmt;
use std::str::FromStr;

use serde_json::{Value, json};

use crate::ListedTool;

/// The name of the flag by which a model ends its turn with a call.
pub(crate) const TERMINATE: &str = "terminate";

/// A format for a list of tools.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
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
    pub const ALL: [Rendering; 3] = [Rendering::Json, Rendering::Anthropic, Rendering::OpenAi];

    /// The lower-case name.
    pub fn as_str(self) -> &'static str {
        match self {
            Rendering::Json => "json",
            Rendering::Anthropic => "anthropic",
            Rendering::OpenAi => "openai",
        }
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

impl fmt::Display for Rendering {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// The text is not the name of a format.
#[derive(Debug, thiserror::Error)]
#[error("unknown format `{0}`; there are json, anthropic and openai")]
pub struct UnknownRendering(String);

impl FromStr for Rendering {
    type Err = UnknownRendering;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let found = Self::ALL.into_iter().find(|rendering| rendering.as_str() == text);
        found.ok_or_else(|| UnknownRendering(text.to_owned()))
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
