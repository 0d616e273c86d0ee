//! The tool list as the different callers of a model want it.

use std::fmt;
use std::str::FromStr;

use protocol::{PermissionSet, ToolPermission};
use serde_json::{Map, Value, json};

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
    /// The `tools` array of MCP's `tools/list`.
    Mcp,
}

impl Rendering {
    /// All formats.
    pub const ALL: [Rendering; 4] =
        [Rendering::Json, Rendering::Anthropic, Rendering::OpenAi, Rendering::Mcp];

    /// The lower-case name.
    pub fn as_str(self) -> &'static str {
        match self {
            Rendering::Json => "json",
            Rendering::Anthropic => "anthropic",
            Rendering::OpenAi => "openai",
            Rendering::Mcp => "mcp",
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
            // The turn belongs to the MCP host, so the flag that ends it is not offered there.
            Rendering::Mcp => json!({
                "name": tool.name(),
                "description": tool.description(),
                "inputSchema": tool.input_schema(),
                "outputSchema": brief(&tool.output_schema()),
                "annotations": annotations(tool.definition().required_permissions),
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
#[error("unknown format `{0}`; there are json, anthropic, openai and mcp")]
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
    let mut schema = schema.clone();
    leave_out_checks(&mut schema);
    // What it means is said once, in the instructions.
    schema["properties"][TERMINATE] = json!({"type": "boolean"});
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

/// What a result always has, by name. Hosts put the whole list into every prompt, so the schema
/// that is sent says enough to notice a wrong result by and no more; `Json` has all of it.
fn brief(schema: &Value) -> Value {
    let mut brief = json!({"type": "object"});
    if let Some(required) = schema.get("required") {
        brief["required"] = required.clone();
    }
    brief
}

/// MCP's hints. Only those that carry meaning are sent: destructive and idempotent say nothing
/// about a tool that only looks.
fn annotations(permissions: PermissionSet) -> Value {
    let has = |permission| permissions.contains(permission);
    let executes = has(ToolPermission::ExecuteCommands);
    let writes = has(ToolPermission::WriteFiles) || executes;
    let deletes = has(ToolPermission::DeleteFiles);
    let read_only = !writes && !deletes && !has(ToolPermission::CreateFiles);
    let mut hints = Map::new();
    hints.insert("readOnlyHint".into(), read_only.into());
    if !read_only {
        hints.insert("destructiveHint".into(), (writes || deletes).into());
        hints.insert("idempotentHint".into(), (deletes && !writes).into());
    }
    hints.insert("openWorldHint".into(), has(ToolPermission::NetworkAccess).into());
    Value::Object(hints)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn annotations_follow_the_permissions() {
        let hints = |permissions: &[ToolPermission]| {
            annotations(permissions.iter().copied().collect()).to_string()
        };
        use ToolPermission::{CreateFiles, DeleteFiles, NetworkAccess, ReadFiles, WriteFiles};
        assert_eq!(hints(&[ReadFiles]), r#"{"readOnlyHint":true,"openWorldHint":false}"#);
        assert_eq!(hints(&[NetworkAccess]), r#"{"readOnlyHint":true,"openWorldHint":true}"#);
        assert_eq!(
            hints(&[ReadFiles, WriteFiles]),
            r#"{"readOnlyHint":false,"destructiveHint":true,"idempotentHint":false,"openWorldHint":false}"#
        );
        assert_eq!(
            hints(&[CreateFiles]),
            r#"{"readOnlyHint":false,"destructiveHint":false,"idempotentHint":false,"openWorldHint":false}"#
        );
        assert_eq!(
            hints(&[DeleteFiles]),
            r#"{"readOnlyHint":false,"destructiveHint":true,"idempotentHint":true,"openWorldHint":false}"#
        );
    }
}
