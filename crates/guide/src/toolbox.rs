//! The tools a session offers, and which of them does what.
//!
//! The same operation has a different name and different argument names in each vocabulary. Plans
//! speak of an [`Action`] with arguments as the standard vocabulary spells them; here they become
//! a call of whatever tool is offered.

use context_manager::ToolSpec;
use serde_json::{Map, Value, json};

/// Something a plan wants to be done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Action {
    Read,
    List,
    FindFiles,
    Search,
    Definition,
    Importers,
    References,
    Impact,
    Outline,
    EditLines,
    Replace,
    Rewrite,
    Create,
    Append,
    Delete,
    Move,
    Rename,
    Undo,
    Redo,
    RunTests,
}

/// Who does what, the better tool first where there are several.
const TOOLS: [(Action, &[&str], &str); 20] = [
    (Action::Read, &["read_file", "read"], "read files"),
    (Action::List, &["list_directory", "list_files"], "list directories"),
    (Action::FindFiles, &["glob", "find_files"], "find files by name"),
    (Action::Search, &["grep", "search_files", "search", "search_code"], "search"),
    (Action::Definition, &["find_definition"], "find definitions"),
    (Action::Importers, &["find_importers"], "find importers"),
    (Action::References, &["find_references"], "find references"),
    (Action::Impact, &["impact"], "tell what a change affects"),
    (Action::Outline, &["outline"], "outline files"),
    (Action::EditLines, &["edit_lines"], "edit lines"),
    (Action::Replace, &["replace_in_file", "edit"], "replace text"),
    (Action::Rewrite, &["update_file", "edit_file", "write_file", "write"], "rewrite files"),
    (Action::Create, &["create_file", "write_file", "write"], "create files"),
    (Action::Append, &["append_file"], "append to files"),
    (Action::Delete, &["delete_file"], "delete files"),
    (Action::Move, &["move_file"], "move files"),
    (Action::Rename, &["rename_symbol"], "rename symbols"),
    (Action::Undo, &["undo"], "undo changes"),
    (Action::Redo, &["redo"], "redo changes"),
    (Action::RunTests, &["run_tests"], "run tests"),
];

/// Other spellings of an argument.
const SPELLINGS: [(&str, &[&str]); 5] = [
    ("path", &["file_path", "filePath", "file_paths"]),
    ("pattern", &["query"]),
    ("target", &["modulePath"]),
    ("include", &["filePattern"]),
    ("create_dirs", &["createDirs"]),
];

/// The flag that the loop understands and no tool does.
pub(super) const TERMINATE: &str = "terminate";

/// The tools on offer.
#[derive(Clone, Copy)]
pub(super) struct Toolbox<'a> {
    tools: &'a [ToolSpec],
}

impl<'a> Toolbox<'a> {
    pub(super) fn new(tools: &'a [ToolSpec]) -> Self {
        Self { tools }
    }

    pub(super) fn all(&self) -> &'a [ToolSpec] {
        self.tools
    }

    /// The tool of this very name.
    pub(super) fn named(&self, name: &str) -> Option<&'a ToolSpec> {
        self.tools.iter().find(|tool| tool.name == name)
    }

    /// The tool that does this.
    pub(super) fn tool_for(&self, action: Action) -> Option<&'a ToolSpec> {
        let (_, names, _) = TOOLS.iter().find(|(known, ..)| *known == action)?;
        names.iter().find_map(|name| self.named(name))
    }

    pub(super) fn can(&self, action: Action) -> bool {
        self.tool_for(action).is_some()
    }

    /// Whether the tool that searches takes a regular expression, not words.
    pub(super) fn takes_regex(&self) -> bool {
        let known = self.tool_for(Action::Search).and_then(properties);
        known.is_some_and(|known| known.contains_key("pattern"))
    }

    /// The tool that does here what a tool called `name` does in another vocabulary.
    pub(super) fn counterpart(&self, name: &str) -> Option<&'a ToolSpec> {
        let actions = TOOLS.iter().filter(|(_, names, _)| names.contains(&name));
        actions.map(|(action, ..)| self.tool_for(*action)).find(Option::is_some)?
    }

    /// The arguments as the tool spells them. Those it does not know and those that are null are
    /// left out; plans only depend on what every tool for an action has.
    pub(super) fn arguments(tool: &ToolSpec, wanted: &[(&str, Value)]) -> Map<String, Value> {
        let mut arguments = Map::new();
        for (name, value) in wanted.iter().filter(|(_, value)| !value.is_null()) {
            let Some(spelling) = spelled(tool, name) else { continue };
            let is_list = properties(tool).is_some_and(|all| all[spelling]["type"] == "array");
            let value = match value {
                Value::Array(_) => value.clone(),
                _ if is_list => json!([value]),
                _ => value.clone(),
            };
            arguments.insert(spelling.to_owned(), value);
        }
        arguments
    }
}

/// What cannot be done if no tool for `action` is offered, as in "cannot rename symbols".
pub(super) fn ability(action: Action) -> &'static str {
    TOOLS.iter().find(|(known, ..)| *known == action).map_or("do this", |(_, _, text)| text)
}

/// The parameters of a tool by name.
pub(super) fn properties(tool: &ToolSpec) -> Option<&Map<String, Value>> {
    tool.parameters.get("properties")?.as_object()
}

/// The parameters a tool cannot do without, in order.
pub(super) fn required(tool: &ToolSpec) -> impl Iterator<Item = &str> {
    let names = tool.parameters.get("required").and_then(Value::as_array);
    names.into_iter().flatten().filter_map(Value::as_str)
}

fn spelled<'n>(tool: &ToolSpec, argument: &'n str) -> Option<&'n str> {
    let known = properties(tool)?;
    let others = SPELLINGS.iter().find(|(name, _)| *name == argument);
    let others = others.into_iter().flat_map(|(_, others)| others.iter().copied());
    std::iter::once(argument).chain(others).find(|name| known.contains_key(*name))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tool(name: &str, parameters: &[(&str, &str)]) -> ToolSpec {
        let typed = parameters.iter().map(|(name, kind)| ((*name).into(), json!({"type": kind})));
        let properties: Map<String, Value> = typed.collect();
        let parameters = json!({"type": "object", "properties": properties});
        ToolSpec { name: name.into(), description: String::new(), parameters }
    }

    #[test]
    fn arguments_are_spelled_as_the_tool_wants_them() {
        let wanted = [("path", json!("a.rs")), ("limit", json!(5))];
        let cases = [
            (&[("path", "string"), ("limit", "integer")][..], r#"{"path":"a.rs","limit":5}"#),
            (&[("file_path", "string")], r#"{"file_path":"a.rs"}"#),
            (&[("file_paths", "array")], r#"{"file_paths":["a.rs"]}"#),
            (&[], "{}"),
        ];
        for (parameters, expected) in cases {
            let arguments = Toolbox::arguments(&tool("t", parameters), &wanted);
            assert_eq!(Value::Object(arguments).to_string(), expected);
        }
    }

    #[test]
    fn a_name_of_another_vocabulary_leads_to_the_tool_that_is_here() {
        let tools = [tool("search_files", &[]), tool("write", &[])];
        let toolbox = Toolbox::new(&tools);
        let counterpart = |name| toolbox.counterpart(name).map(|tool| tool.name.as_str());
        assert_eq!(counterpart("grep"), Some("search_files"));
        assert_eq!(counterpart("create_file"), Some("write"));
        assert_eq!(counterpart("undo"), None);
        assert_eq!(counterpart("no_such_tool"), None);
    }
}
