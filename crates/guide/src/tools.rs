//! The tools a session offers, and which of them does what.
//!
//! The same operation has a different name and different argument names in each vocabulary. Plans
//! speak of an [`ToolNames`] with arguments as the standard vocabulary spells them; here they become
//! a call of whatever tool is offered.

use context_manager::ToolSpec;
use serde_json::{Map, Value, json};

/// Something a plan wants to be done: the tools for it, the better one first.
pub(crate) type ToolNames = &'static [&'static str];

pub(crate) const READ: ToolNames = &["read_file", "read"];
pub(crate) const LIST: ToolNames = &["list_directory", "list_files"];
pub(crate) const FIND_FILES: ToolNames = &["glob", "find_files"];
pub(crate) const SEARCH: ToolNames = &["grep", "search_files", "search", "search_code"];
pub(crate) const DEFINITION: ToolNames = &["find_definition"];
pub(crate) const IMPORTERS: ToolNames = &["find_importers"];
pub(crate) const REFERENCES: ToolNames = &["find_references"];
pub(crate) const IMPACT: ToolNames = &["impact"];
pub(crate) const OUTLINE: ToolNames = &["outline"];
pub(crate) const EDIT_LINES: ToolNames = &["edit_lines"];
pub(crate) const REPLACE: ToolNames = &["replace_in_file", "edit"];
pub(crate) const REWRITE: ToolNames = &["update_file", "edit_file", "write_file", "write"];
pub(crate) const CREATE: ToolNames = &["create_file", "write_file", "write"];
pub(crate) const APPEND: ToolNames = &["append_file"];
pub(crate) const DELETE: ToolNames = &["delete_file"];
pub(crate) const MOVE: ToolNames = &["move_file"];
pub(crate) const RENAME: ToolNames = &["rename_symbol"];
pub(crate) const UNDO: ToolNames = &["undo"];
pub(crate) const REDO: ToolNames = &["redo"];
pub(crate) const GIT_STATUS: ToolNames = &["git_status"];
pub(crate) const GIT_DIFF: ToolNames = &["git_diff"];
pub(crate) const GIT_LOG: ToolNames = &["git_log"];
pub(crate) const RUN_TESTS: ToolNames = &["run_tests"];

/// The actions that vocabularies have different names for.
const RENAMED: [ToolNames; 7] = [READ, LIST, FIND_FILES, SEARCH, REPLACE, REWRITE, CREATE];

/// Other spellings of an argument.
const SPELLINGS: [(&str, &[&str]); 5] = [
    ("path", &["file_path", "filePath", "file_paths"]),
    ("pattern", &["query"]),
    ("target", &["modulePath"]),
    ("include", &["filePattern"]),
    ("create_dirs", &["createDirs"]),
];

#[derive(Clone, Copy)]
pub(crate) struct Tools<'a>(pub(crate) &'a [ToolSpec]);

impl<'a> Tools<'a> {
    pub(crate) fn named(self, name: &str) -> Option<&'a ToolSpec> {
        self.0.iter().find(|tool| tool.name == name)
    }

    pub(crate) fn tool_for(self, action: ToolNames) -> Option<&'a ToolSpec> {
        action.iter().find_map(|name| self.named(name))
    }

    pub(crate) fn can(self, action: ToolNames) -> bool {
        self.tool_for(action).is_some()
    }

    /// Whether the tool that searches takes a regular expression, not words.
    pub(crate) fn takes_regex(self) -> bool {
        let search = self.tool_for(SEARCH);
        search.is_some_and(|tool| tool.parameters["properties"].get("pattern").is_some())
    }

    /// The tool that does here what a tool called `name` does in another vocabulary.
    pub(crate) fn counterpart(self, name: &str) -> Option<&'a ToolSpec> {
        let actions = RENAMED.iter().filter(|action| action.contains(&name));
        actions.map(|action| self.tool_for(action)).find(Option::is_some)?
    }
}

/// The arguments as the tool spells them. Those it does not know and those that are null are left
/// out; plans only depend on what every tool for an action has.
pub(crate) fn arguments_for(tool: &ToolSpec, wanted: Value) -> Map<String, Value> {
    let known = &tool.parameters["properties"];
    let Value::Object(wanted) = wanted else { return Map::new() };
    let wanted = wanted.into_iter().filter(|(_, value)| !value.is_null());
    let spelled = wanted.filter_map(|(name, value)| {
        let others = SPELLINGS.iter().find(|(usual, _)| *usual == name);
        let others = others.into_iter().flat_map(|(_, others)| others.iter().copied());
        let mut spellings = std::iter::once(name.as_str()).chain(others);
        let spelling = spellings.find(|spelling| known.get(spelling).is_some())?;
        let is_list = known[spelling]["type"] == "array" && !value.is_array();
        let value = if is_list { json!([value]) } else { value };
        Some((spelling.to_owned(), value))
    });
    spelled.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tool(name: &str, parameters: &[(&str, &str)]) -> ToolSpec {
        let typed = parameters.iter().map(|(name, kind)| ((*name).into(), json!({"type": kind})));
        let properties: Map<String, Value> = typed.collect();
        let parameters = json!({"type": "object", "properties": properties});
        ToolSpec {
            name: name.into(),
            description: String::new(),
            parameters,
            listing: Default::default(),
        }
    }

    #[test]
    fn arguments_are_spelled_as_the_tool_wants_them() {
        let wanted = json!({"path": "a.rs", "limit": 5, "hidden": null});
        let cases = [
            (&[("path", "string"), ("limit", "integer")][..], r#"{"path":"a.rs","limit":5}"#),
            (&[("path", "string"), ("hidden", "boolean")], r#"{"path":"a.rs"}"#),
            (&[("file_path", "string")], r#"{"file_path":"a.rs"}"#),
            (&[("file_paths", "array")], r#"{"file_paths":["a.rs"]}"#),
            (&[], "{}"),
        ];
        for (parameters, expected) in cases {
            let arguments = arguments_for(&tool("t", parameters), wanted.clone());
            assert_eq!(Value::Object(arguments).to_string(), expected);
        }
    }

    #[test]
    fn a_name_of_another_vocabulary_leads_to_the_tool_that_is_here() {
        let tools = [tool("search_files", &[]), tool("write", &[])];
        let counterpart = |name| Tools(&tools).counterpart(name).map(|tool| tool.name.as_str());
        assert_eq!(counterpart("grep"), Some("search_files"));
        assert_eq!(counterpart("create_file"), Some("write"));
        assert_eq!(counterpart("undo"), None);
        assert_eq!(counterpart("no_such_tool"), None);
    }
}
