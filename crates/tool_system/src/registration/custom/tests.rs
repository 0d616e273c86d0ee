//! Files of custom tools, right and wrong.

use protocol::ToolPermission;
use serde_json::json;

use super::*;
use crate::Category;

const WHOLE: &str = r#"
name = "check_links"
description = "Check the links in the documentation."
command = ["lychee", "--max={most}", "--", "{directory}"]
permissions = ["WriteFiles"]
approval = "never"
category = "Search & Discovery"
timeout = 120
network = true
working_dir = "docs"

[parameters.directory]
type = "string"
description = "Where to look"

[parameters.most]
type = "integer"
required = false
enum = [1, 2]
"#;

fn mistakes(text: &str) -> String {
    let found = CustomTool::read(text).err().unwrap_or_default();
    found.iter().map(Mistake::to_string).collect::<Vec<_>>().join("\n")
}

#[test]
fn a_file_becomes_a_tool() {
    let tool = CustomTool::read(WHOLE).unwrap_or_else(|found| panic!("{found:?}"));
    let definition = tool.definition();
    assert_eq!((definition.name, definition.category), ("check_links", Category::Search));
    assert_eq!(definition.description(), "Check the links in the documentation.");
    let needs = definition.required_permissions;
    for needed in
        [ToolPermission::WriteFiles, ToolPermission::ExecuteCommands, ToolPermission::NetworkAccess]
    {
        assert!(needs.contains(needed), "{needed}");
    }
    assert!(tool.needs_no_approval() && tool.reaches_network());
    assert_eq!(definition.parameters()["required"], json!(["directory"]));
    assert_eq!(
        definition.parameters()["properties"]["most"],
        json!({"type": "integer", "enum": [1, 2]})
    );
    let arguments = json!({"directory": "-a b", "most": 2});
    let command =
        tool.command(&ToolArguments::new(arguments.as_object().unwrap().clone())).unwrap();
    assert_eq!(command.argv, ["lychee", "--max=2", "--", "-a b"]);
    assert_eq!((command.timeout_ms, command.network), (120_000, true));
    assert_eq!(command.working_dir, "docs");
}

#[test]
fn the_least_that_a_tool_needs_is_a_name_a_description_and_a_command() {
    let tool = CustomTool::read("name = 'now'\ndescription = 'Tell the time.'\nshell = 'date'\n");
    let tool = tool.unwrap_or_else(|found| panic!("{found:?}"));
    let definition = tool.definition();
    assert_eq!(definition.approval, Approval::Always);
    assert_eq!(definition.category, Category::Execution);
    assert_eq!(tool.shown_command(), "bash -c \"date\"");
    let command = tool.command(&ToolArguments::new(serde_json::Map::new())).unwrap();
    assert_eq!((command.argv.len(), command.timeout_ms, command.network), (3, 60_000, false));
}

#[test]
fn mistakes_are_told_with_their_place() {
    insta::assert_snapshot!(mistakes("name = \"x\"\ndescription = 5\n"), @r#"line 2, column 15: invalid type: integer `5`, expected a string"#);
    insta::assert_snapshot!(mistakes("name = \"x\ndescription"), @r#"
    line 1, column 10: invalid basic string, expected `"`
    line 2, column 12: key with no value, expected `=`
    "#);
    insta::assert_snapshot!(mistakes("name = 'Bad Name'\ndescription = ''\ncommand = ['{x}', '{y}', '{z']\ntimeout = 0\ncategory = 'none'\nworking_dir = '../up'\n"), @"
    line 1, column 8: `Bad Name` is not a tool name; one is made of a-z, 0-9 and _, begins with a letter, and has at most 64 characters
    line 2, column 15: the description is what the model chooses the tool by; it cannot be empty
    line 3, column 12: the program itself cannot be an argument
    line 3, column 19: there is no parameter `y`; describe it under [parameters.y]
    line 3, column 26: a { without its }; write {{ for a brace
    line 4, column 11: the timeout is 1 to 600 seconds
    line 5, column 12: there is no such category; there are Search & Discovery, Code Intelligence, File Reading, File Writing, File Management, Code Execution, Version Control, Web, Agent
    line 6, column 15: working_dir is a directory of the project, given from its root
    ");
    assert!(mistakes("name = 'x'\ndescription = 'y'\n").contains("nothing to run"));
    assert!(
        mistakes("name = 'x'\ndescription = 'y'\nshell = 'a'\ncommand = ['b']\n")
            .contains("a command already")
    );
    assert!(
        mistakes("name = 'x'\ndescription = 'y'\nshell = 'a'\ncolour = 1\n")
            .starts_with("line 4, column 1: unknown field `colour`")
    );
}

#[test]
fn the_report_is_what_the_program_said() {
    let tool = CustomTool::read("name = 'now'\ndescription = 'Tell the time.'\nshell = 'date'\n")
        .ok()
        .unwrap();
    let arguments = ToolArguments::new(serde_json::Map::new());
    let ran =
        json!({"stdout": "a\n", "stderr": "", "exit_code": 0, "timed_out": false, "sandbox": "x"});
    assert_eq!(
        tool.report(&arguments, ran).unwrap(),
        json!({"ok": true, "stdout": "a\n", "exit_code": 0})
    );
    let ran = json!({"stdout": "", "stderr": "b", "exit_code": null, "timed_out": true});
    let answer = tool.report(&arguments, ran).unwrap();
    assert_eq!(
        answer,
        json!({"ok": false, "stdout": "", "exit_code": null, "stderr": "b", "timed_out": true})
    );
}
