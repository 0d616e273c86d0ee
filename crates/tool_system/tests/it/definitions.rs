//! What the tools say of themselves.

use std::collections::BTreeSet;
use std::sync::Arc;

use protocol::{AgentRole, PermissionSet, ToolPermission};
use serde_json::{Value, json};
use tool_system::{Approval, Category, ListedTool, ToolRegistry, Vocabulary};

fn names(vocabulary: Vocabulary) -> Vec<&'static str> {
    ToolRegistry::builtin().list(vocabulary).iter().map(|tool| tool.name()).collect()
}

#[test]
fn every_vocabulary_has_its_names_in_a_stable_order() {
    // Sorted by category and name, so that a new tool moves no other and is listed here nowhere.
    let tools = ToolRegistry::builtin().list(Vocabulary::Standard);
    assert!(tools.is_sorted_by_key(|tool| (tool.definition().category, tool.name())));
    let explorer = "find_files list_files search_files find_definition find_importers read_file create_file edit_file";
    assert_eq!(names(Vocabulary::Explorer).join(" "), explorer);
    let workspace = "list_directory search_code read_file write_file delete_file move_file run_code web_fetch web_search";
    assert_eq!(names(Vocabulary::Workspace).join(" "), workspace);
    assert_eq!(names(Vocabulary::Ally).join(" "), "glob grep read edit write bash agent");
}

#[test]
fn every_file_under_extensions_is_a_registered_tool() {
    let root = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("src/extensions");
    let mut files = BTreeSet::new();
    for category in std::fs::read_dir(root).unwrap() {
        for file in std::fs::read_dir(category.unwrap().path()).unwrap() {
            let path = file.unwrap().path();
            files.insert(path.file_stem().unwrap().to_str().unwrap().to_owned());
        }
    }
    let tools: BTreeSet<_> = names(Vocabulary::Standard).into_iter().map(str::to_owned).collect();
    assert_eq!(files, tools);
}

fn of_category(registry: &ToolRegistry, category: Category) -> Vec<Arc<ListedTool>> {
    let mut tools = registry.list(Vocabulary::Standard);
    tools.retain(|tool| tool.definition().category == category);
    tools
}

#[test]
fn search_and_discovery_category() {
    let registry = ToolRegistry::builtin();
    let tools = of_category(&registry, Category::Search);
    let names: Vec<_> = tools.iter().map(|tool| tool.name()).collect();
    for name in ["glob", "grep", "list_directory", "search"] {
        assert!(names.contains(&name), "{name}");
    }
    assert_eq!(Category::Search.title(), "Search & Discovery");
    assert!(Category::Search.description().contains("Find files by name and text by pattern"));
}

#[test]
fn file_reading_category() {
    let registry = ToolRegistry::builtin();
    let tools = of_category(&registry, Category::Reading);
    assert!(tools.iter().any(|tool| tool.name() == "read_file"));
    assert_eq!(Category::Reading.title(), "File Reading");
    assert!(Category::Reading.description().contains("Read-only access"));
}

#[test]
fn file_writing_category() {
    let registry = ToolRegistry::builtin();
    let tools = of_category(&registry, Category::Writing);
    let names: Vec<_> = tools.iter().map(|tool| tool.name()).collect();
    for name in ["create_file", "update_file", "append_file", "replace_in_file", "edit_lines"] {
        assert!(names.contains(&name), "{name}");
    }
    assert_eq!(Category::Writing.title(), "File Writing");
    assert!(Category::Writing.description().contains("requires approval"));
}

#[test]
fn file_management_category() {
    let registry = ToolRegistry::builtin();
    let tools = of_category(&registry, Category::Management);
    assert!(tools.iter().any(|tool| tool.name() == "delete_file"));
    assert_eq!(Category::Management.title(), "File Management");
    assert!(Category::Management.description().contains("destructive operations"));
}

#[test]
fn version_control_category() {
    let registry = ToolRegistry::builtin();
    let tools = of_category(&registry, Category::VersionControl);
    for tool in &tools {
        let asks = tool.definition().approval == Approval::Always;
        assert_eq!(tool.definition().is_read_only(), !asks, "{}", tool.name());
    }
    for (name, changes) in [("git_commit", true), ("git_push", true), ("git_status", false)] {
        let tool = tools.iter().find(|tool| tool.name() == name).unwrap();
        assert_eq!(tool.definition().is_read_only(), !changes, "{name}");
    }
    assert_eq!(Category::VersionControl.title(), "Version Control");
}

fn permissions(name: &str) -> (PermissionSet, Approval) {
    let registry = ToolRegistry::builtin();
    let tool = registry.get(Vocabulary::Standard, name).unwrap();
    (tool.definition().required_permissions, tool.definition().approval)
}

#[test]
fn write_access_editing_tools() {
    for name in ["replace_in_file", "edit_lines"] {
        let (permissions, approval) = permissions(name);
        assert!(permissions.contains(ToolPermission::ReadFiles), "{name}");
        assert!(permissions.contains(ToolPermission::WriteFiles), "{name}");
        assert_eq!(approval, Approval::Always, "{name}");
    }
}

#[test]
fn create_delete_operations() {
    let (create, asks) = permissions("create_file");
    assert!(create.contains(ToolPermission::CreateFiles) && asks == Approval::Always);
    let (delete, asks) = permissions("delete_file");
    assert!(delete.contains(ToolPermission::DeleteFiles) && asks == Approval::Always);
}

#[test]
fn edit_tool_guidance() {
    let registry = ToolRegistry::builtin();
    for name in ["replace_in_file", "edit_lines"] {
        let tool = registry.get(Vocabulary::Standard, name).unwrap();
        let text = tool.definition().termination_behavior_doc;
        assert!(text.contains("preview mode"), "{name}");
        assert!(text.contains("terminate=true after a successful edit"), "{name}");
        assert!(text.contains("terminate=false if verification is needed"), "{name}");
    }
}

#[test]
fn a_planner_sees_no_tool_that_changes_anything() {
    let registry = ToolRegistry::builtin();
    let planner = registry.list_for(Vocabulary::Standard, &AgentRole::Planner);
    assert!(planner.iter().all(|tool| tool.definition().is_read_only()));
    assert!(planner.iter().any(|tool| tool.name() == "read_file"));
    assert!(!planner.iter().any(|tool| tool.name() == "write_file"));
}

#[test]
fn read_only_search_tools() {
    let registry = ToolRegistry::builtin();
    for name in ["grep", "glob", "search", "list_directory", "read_file"] {
        let tool = registry.get(Vocabulary::Standard, name).unwrap();
        let read: PermissionSet = [ToolPermission::ReadFiles].into_iter().collect();
        assert_eq!(tool.definition().required_permissions, read, "{name}");
        assert_eq!(tool.definition().approval, Approval::Never, "{name}");
    }
}

#[test]
fn search_tool_guidance() {
    let registry = ToolRegistry::builtin();
    for name in ["grep", "glob", "search"] {
        let tool = registry.get(Vocabulary::Standard, name).unwrap();
        let text = tool.definition().termination_behavior_doc;
        assert!(text.contains("terminate=false if the results need further processing"), "{name}");
        assert!(text.contains("terminate=true when presenting the results to the user"), "{name}");
    }
}

/// The JSON objects that stand in a prompt, outermost only.
fn json_objects(prompt: &str) -> Vec<Value> {
    let mut found = Vec::new();
    let mut rest = prompt;
    while let Some(at) = rest.find('{') {
        rest = &rest[at..];
        let mut values = serde_json::Deserializer::from_str(rest).into_iter::<Value>();
        let parsed = values.next().and_then(Result::ok);
        let length = if parsed.is_some() { values.byte_offset() } else { 1 };
        found.extend(parsed);
        rest = &rest[length..];
    }
    found
}

#[test]
fn parameter_examples() {
    for tool in ToolRegistry::builtin().list(Vocabulary::Standard) {
        let prompt = tool.definition().custom_prompt.expect("every tool has a prompt");
        let examples = json_objects(prompt);
        assert!(!examples.is_empty(), "{}", tool.name());
        for example in examples {
            let arguments = example.as_object().unwrap().clone();
            tool.validator().unwrap().validate(arguments).unwrap_or_else(|error| {
                panic!("{}: the example {example} is wrong: {error}", tool.name())
            });
        }
    }
}

#[test]
fn every_tool_is_described_and_its_example_is_a_right_call_in_every_vocabulary() {
    let registry = ToolRegistry::builtin();
    for vocabulary in Vocabulary::ALL {
        for tool in registry.list(*vocabulary) {
            assert!(tool.description().len() > 20, "{vocabulary} {}", tool.name());
            assert!(!tool.definition().termination_behavior_doc.is_empty());
            tool.validator().unwrap().validate(tool.example()).unwrap();
            let flag = &tool.schema_for_models()["properties"]["terminate"];
            assert_eq!(flag["type"], "boolean", "{vocabulary} {}", tool.name());
        }
    }
}

#[test]
fn a_role_sees_only_what_it_may_use() {
    let registry = ToolRegistry::builtin();
    let powerless =
        AgentRole::Custom { name: "powerless".into(), permissions: PermissionSet::NONE };
    assert!(registry.list_for(Vocabulary::Standard, &powerless).is_empty());
    let planner = registry.list_for(Vocabulary::Standard, &AgentRole::Planner);
    assert!(planner.iter().any(|tool| tool.name() == "grep"));
}

#[test]
fn the_explorer_has_the_specified_arguments() {
    let registry = ToolRegistry::builtin();
    let table = [
        ("read_file", vec!["path"], vec!["path"]),
        ("list_files", vec!["path", "recursive"], vec!["path"]),
        ("search_files", vec!["pattern", "path", "filePattern"], vec!["pattern"]),
        ("find_files", vec!["pattern", "path"], vec!["pattern"]),
        ("find_definition", vec!["symbol", "type"], vec!["symbol"]),
        ("find_importers", vec!["modulePath"], vec!["modulePath"]),
        ("edit_file", vec![], vec!["path", "content", "description"]),
        ("create_file", vec![], vec!["path", "content", "description"]),
    ];
    for (name, properties, required) in table {
        let tool = registry.get(Vocabulary::Explorer, name).unwrap();
        let schema = tool.input_schema();
        for property in properties {
            assert!(schema["properties"].get(property).is_some(), "{name}.{property}");
        }
        assert_eq!(schema["required"], json!(required), "{name}");
    }
}

#[test]
fn a_tool_is_told_to_models_in_short_and_to_programs_whole() {
    let registry = ToolRegistry::builtin();
    let tool = registry.get(Vocabulary::Ally, "read").unwrap();
    let for_models = tool.schema_for_models();
    assert_eq!(for_models["properties"]["terminate"]["type"], "boolean");
    assert_eq!(for_models["required"], json!(["file_paths"]));
    assert!(!for_models.to_string().contains("additionalProperties"), "{for_models}");
    let whole = tool.to_json();
    assert_eq!(whole["name"], "read");
    assert_eq!(whole["category"], "File Reading");
    assert_eq!(whole["tool_type"], "AIParameterParsing");
}

#[test]
fn every_input_schema_is_an_object_with_properties() {
    let registry = ToolRegistry::builtin();
    for tool in Vocabulary::ALL.iter().flat_map(|vocabulary| registry.list(*vocabulary)) {
        let (name, schema) = (tool.name(), tool.input_schema());
        assert_eq!(schema["type"], "object", "{name}");
        assert!(schema["properties"].is_object(), "{name}");
    }
}

#[test]
fn titles_are_words() {
    let tools = ToolRegistry::builtin().list(Vocabulary::Standard);
    for tool in &tools {
        let title = tool.title();
        let is_text = title.chars().all(|char| char.is_ascii_alphabetic() || char == ' ');
        let begins_sentence = title.starts_with(|char: char| char.is_ascii_uppercase());
        assert!(is_text && begins_sentence, "{}: {title}", tool.name());
    }
    let title = |name| tools.iter().find(|tool| tool.name() == name).unwrap().title();
    assert_eq!((title("edit_lines"), title("glob")), ("Edit lines".into(), "Find files".into()));
}

#[test]
fn a_disabled_tool_is_not_listed_and_not_callable_under_any_name() {
    let mut registry = ToolRegistry::builtin();
    assert!(registry.disable("search_files"));
    assert!(!registry.disable("no_such_tool"));
    assert!(!registry.list(Vocabulary::Standard).iter().any(|tool| tool.name() == "grep"));
    for name in ["grep", "search_files"] {
        let error = registry.get(Vocabulary::Standard, name).map(|_| ()).unwrap_err();
        assert_eq!(error.code, protocol::ErrorCode::ToolDisabled);
    }
}

#[test]
fn what_explores_and_edits_is_always_listed() {
    let registry = ToolRegistry::builtin();
    let explores = "glob grep list_directory search read read_file outline impact \
                    find_definition find_importers find_references";
    let edits = "apply_changes edit_lines replace_in_file rename_symbol write_file";
    for name in explores.split(' ').chain(edits.split(' ')) {
        let tool = registry.get(Vocabulary::Standard, name).unwrap();
        assert!(!tool.definition().on_demand, "{name}");
    }
}
