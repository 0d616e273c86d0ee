//! A tool as `tools/list` shows it.
//!
//! Some hosts put the whole list into every prompt, so an entry says what a model or a program can
//! use and no more; a test holds the list to its size.

use protocol::{PermissionSet, ToolPermission};
use serde_json::{Map, Value, json};
use tool_system::{Category, ListedTool};

use crate::answer::MAX_RESULT_META;

/// The most characters for which Claude Code lets a tool ask. Our own pages are far smaller; the host
/// must only not cut them, since it would cut off the note that says how to read on.
pub(crate) const MAX_RESULT_CHARS: u64 = 500_000;

/// One entry of `tools/list`.
///
/// The turn belongs to the host, so the flag by which a model ends it is not offered. Bounds of
/// numbers and the like are left out of the schema: a call is checked against them anyway.
pub fn listed_tool(tool: &ListedTool) -> Value {
    let permissions = tool.definition().required_permissions;
    let title = tool.title();
    let mut entry = json!({
        "name": tool.name(),
        "title": title,
        "description": tool.description(),
        "inputSchema": tool.brief_schema(),
        "outputSchema": brief_output(&tool.output_schema()),
        "annotations": annotations(permissions),
    });
    if shows_much(tool) {
        entry["_meta"] = json!({MAX_RESULT_META: MAX_RESULT_CHARS});
    }
    entry
}

/// Whether results can come near the size at which hosts cut them: the text of files and what
/// commands print.
fn shows_much(tool: &ListedTool) -> bool {
    let category = tool.definition().category;
    matches!(category, Category::Reading | Category::Execution | Category::VersionControl)
}

/// What a result always has, with the type of everything that is not text.
fn brief_output(schema: &Value) -> Value {
    let mut brief = json!({"type": "object"});
    let Some(required) = schema["required"].as_array() else { return brief };
    let types = required.iter().filter_map(|name| {
        let name = name.as_str()?;
        let kind = schema["properties"][name].get("type").filter(|kind| *kind != "string")?;
        Some((name.to_owned(), json!({"type": kind})))
    });
    let types: Map<String, Value> = types.collect();
    if !types.is_empty() {
        brief["properties"] = Value::Object(types);
    }
    brief["required"] = required.as_slice().into();
    brief
}

/// MCP's hints. Only those that carry meaning are sent: destructive and idempotent say nothing
/// about a tool that only looks, and a tool is not idempotent unless it says so.
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
    }
    if deletes && !writes {
        hints.insert("idempotentHint".into(), true.into());
    }
    hints.insert("openWorldHint".into(), has(ToolPermission::NetworkAccess).into());
    Value::Object(hints)
}

#[cfg(test)]
mod tests {
    use tool_system::{ToolRegistry, Vocabulary};

    use super::*;

    /// What the list of tools may take.
    const MOST_LIST_BYTES: usize = 20 * 1024;
    /// What the web tools add to it, for users who allow the network.
    const WEB_BYTES: usize = 1024;

    #[test]
    fn the_list_is_short() {
        let mut tools = ToolRegistry::builtin().list(Vocabulary::Standard);
        // These need a conversation of ours and are not offered here.
        tools.retain(|tool| tool.definition().category != Category::Agent);
        for most in [MOST_LIST_BYTES + WEB_BYTES, MOST_LIST_BYTES] {
            let list = json!(tools.iter().map(|tool| listed_tool(tool)).collect::<Vec<_>>());
            let bytes = list.to_string().len();
            assert!(bytes < most, "{bytes} bytes for {} tools", tools.len());
            tools.retain(|tool| tool.definition().category != Category::Web);
        }
    }

    #[test]
    fn an_entry_has_words_schemas_and_hints() {
        let registry = ToolRegistry::builtin();
        let entry = |vocabulary, name| listed_tool(&registry.get(vocabulary, name).unwrap());
        insta::assert_snapshot!(entry(Vocabulary::Standard, "git_status"), @r#"{"name":"git_status","title":"Git status","description":"Show the branch and changed files.","inputSchema":{"type":"object","properties":{}},"outputSchema":{"type":"object","properties":{"ahead":{"type":"integer"},"behind":{"type":"integer"},"clean":{"type":"boolean"}},"required":["ahead","behind","clean"]},"annotations":{"readOnlyHint":true,"openWorldHint":false},"_meta":{"anthropic/maxResultSizeChars":500000}}"#);
        insta::assert_snapshot!(entry(Vocabulary::Ally, "read"), @r#"{"name":"read","title":"Read files","description":"Read several files at once, as much as fits.","inputSchema":{"type":"object","properties":{"file_paths":{"type":"array","items":{"type":"string"}},"limit":{"type":"integer","description":"Lines per file, 0 for all"},"offset":{"type":"integer"}},"required":["file_paths"]},"outputSchema":{"type":"object","properties":{"files_read":{"type":"integer"},"estimated_tokens":{"type":"integer"}},"required":["content","files_read","estimated_tokens"]},"annotations":{"readOnlyHint":true,"openWorldHint":false},"_meta":{"anthropic/maxResultSizeChars":500000}}"#);
    }

    /// What keeps OpenAI's Agents SDK from making a schema strict: an object that is open, by a schema for
    /// further properties or because it names none.
    fn is_open(schema: &Value) -> bool {
        let itself = match schema.get("additionalProperties") {
            Some(more) => *more != Value::Bool(false),
            None => {
                let named = schema["properties"].as_object();
                schema["type"] == "object" && named.is_none_or(Map::is_empty)
            }
        };
        let parts = ["items", "anyOf", "oneOf", "allOf"].into_iter().filter_map(|key| {
            let part = schema.get(key)?;
            Some(part.as_array().map_or_else(|| vec![part], |parts| parts.iter().collect()))
        });
        let properties = schema["properties"].as_object().into_iter().flat_map(Map::values);
        itself || parts.flatten().chain(properties).any(is_open)
    }

    #[test]
    fn hosts_can_make_every_schema_strict_but_those_with_free_names_or_none() {
        let mut tools = ToolRegistry::builtin().list(Vocabulary::Standard);
        tools.retain(|tool| tool.definition().category != Category::Agent);
        let open = tools.iter().filter(|tool| is_open(&listed_tool(tool)["inputSchema"]));
        // Variables and headers have names that only the caller knows, which strict schemas cannot say.
        // One without arguments would have to say that it is closed, and other hosts cannot read that.
        let open: Vec<&str> = open.map(|tool| tool.name()).collect();
        assert_eq!(open, ["run_code", "git_status", "web_fetch"]);
        let list = json!(tools.iter().map(|tool| listed_tool(tool)).collect::<Vec<_>>());
        let text = list.to_string();
        assert!(["false", "true"].iter().all(|it| !text.contains(&format!("Properties\":{it}"))));
    }

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
            r#"{"readOnlyHint":false,"destructiveHint":true,"openWorldHint":false}"#
        );
        assert_eq!(
            hints(&[CreateFiles]),
            r#"{"readOnlyHint":false,"destructiveHint":false,"openWorldHint":false}"#
        );
        assert_eq!(
            hints(&[DeleteFiles]),
            r#"{"readOnlyHint":false,"destructiveHint":true,"idempotentHint":true,"openWorldHint":false}"#
        );
    }
}
