//! What the tools say of themselves.

use std::collections::BTreeSet;

use protocol::{AgentRole, PermissionSet, ToolPermission};
use serde_json::{Value, json};
use tool_system::{Approval, Category, Rendering, ToolRegistry, Vocabulary};

/// What a tool may take in the list on average. The reading tools have the most options of all;
/// with the others the whole list must stay within 20 KB.
const BYTES_PER_TOOL: usize = 850;

fn names(vocabulary: Vocabulary) -> Vec<&'static str> {
    ToolRegistry::builtin().list(vocabulary).iter().map(|tool| tool.name()).collect()
}

#[test]
fn every_vocabulary_has_its_names_in_a_stable_order() {
    assert_eq!(
        names(Vocabulary::Standard),
        ["glob", "grep", "list_directory", "read", "read_file"]
    );
    assert_eq!(
        names(Vocabulary::Explorer),
        ["find_files", "list_files", "search_files", "read_file"]
    );
    assert_eq!(names(Vocabulary::Workspace), ["list_directory", "read_file"]);
    assert_eq!(names(Vocabulary::Ally), ["glob", "grep", "read"]);
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

#[test]
fn search_and_discovery_category() {
    let registry = ToolRegistry::builtin();
    let tools = registry.by_category(Vocabulary::Standard, Category::Search);
    let names: Vec<_> = tools.iter().map(|tool| tool.name()).collect();
    assert_eq!(names, ["glob", "grep", "list_directory"]);
    assert_eq!(Category::Search.title(), "Search & Discovery");
    assert!(Category::Search.description().contains("Find files by name and text by pattern"));
}

#[test]
fn file_reading_category() {
    let registry = ToolRegistry::builtin();
    let tools = registry.by_category(Vocabulary::Standard, Category::Reading);
    assert!(tools.iter().any(|tool| tool.name() == "read_file"));
    assert_eq!(Category::Reading.title(), "File Reading");
    assert!(Category::Reading.description().contains("Read-only access"));
}

#[test]
fn read_only_search_tools() {
    let registry = ToolRegistry::builtin();
    for name in ["grep", "glob", "list_directory", "read_file"] {
        let tool = registry.get(Vocabulary::Standard, name).unwrap();
        let read: PermissionSet = [ToolPermission::ReadFiles].into_iter().collect();
        assert_eq!(tool.definition().required_permissions, read, "{name}");
        assert_eq!(tool.definition().approval, Approval::Never, "{name}");
    }
}

#[test]
fn search_tool_guidance() {
    let registry = ToolRegistry::builtin();
    for name in ["grep", "glob"] {
        let tool = registry.get(Vocabulary::Standard, name).unwrap();
        let text = tool.definition().termination_behavior_doc;
        assert!(text.contains("terminate=false if the results need further processing"), "{name}");
        assert!(text.contains("terminate=true when presenting the results to the user"), "{name}");
    }
}

/// The JSON objects that stand in a prompt.
fn json_objects(prompt: &str) -> Vec<Value> {
    let starts = prompt.match_indices('{').map(|(at, _)| at);
    let parsed = starts.filter_map(|at| {
        let mut values = serde_json::Deserializer::from_str(&prompt[at..]).into_iter::<Value>();
        values.next()?.ok()
    });
    parsed.collect()
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
        for tool in registry.list(vocabulary) {
            assert!(tool.description().len() > 20, "{vocabulary} {}", tool.name());
            assert!(!tool.definition().termination_behavior_doc.is_empty());
            tool.validator().unwrap().validate(tool.example()).unwrap();
        }
    }
}

#[test]
fn a_role_sees_only_what_it_may_use() {
    let registry = ToolRegistry::builtin();
    let nobody = AgentRole::Custom { name: "nobody".into(), permissions: PermissionSet::NONE };
    assert!(registry.list_for(Vocabulary::Standard, &nobody).is_empty());
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
fn renderings_have_the_shape_of_each_caller() {
    let registry = ToolRegistry::builtin();
    let tool = registry.get(Vocabulary::Ally, "read").unwrap();
    let anthropic = Rendering::Anthropic.render(&tool);
    assert_eq!(anthropic["name"], "read");
    assert_eq!(anthropic["input_schema"]["properties"]["terminate"]["type"], "boolean");
    let openai = Rendering::OpenAi.render(&tool);
    assert_eq!(openai["type"], "function");
    assert_eq!(openai["function"]["parameters"]["required"], json!(["file_paths"]));
    let mcp = Rendering::Mcp.render(&tool);
    assert!(mcp["inputSchema"]["properties"].get("terminate").is_none());
    assert_eq!(mcp["outputSchema"]["type"], "object");
    assert_eq!(mcp["annotations"], json!({"readOnlyHint": true, "openWorldHint": false}));
    let whole = Rendering::Json.render(&tool);
    assert_eq!(whole["category"], "File Reading");
    assert_eq!(whole["tool_type"], "AIParameterParsing");
}

#[test]
fn the_list_is_short() {
    let tools = ToolRegistry::builtin().list(Vocabulary::Standard);
    let bytes = json!(tools.iter().map(|tool| Rendering::Mcp.render(tool)).collect::<Vec<_>>());
    let bytes = bytes.to_string().len();
    assert!(bytes < BYTES_PER_TOOL * tools.len(), "{bytes} bytes for {} tools", tools.len());
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
