//! `toolkiln tools`.

use serde_json::Value;
use testkit::Fixture;

use crate::run::run;

fn tools(more: &[&str]) -> crate::run::Ran {
    let mut arguments = vec!["tools"];
    arguments.extend(more);
    run(&Fixture::new(""), &arguments)
}

fn names(value: &Value, pointer: &str) -> Vec<String> {
    let tools = value.as_array().unwrap().iter();
    tools.map(|tool| tool.pointer(pointer).unwrap().as_str().unwrap().to_owned()).collect()
}

#[test]
fn the_table_groups_tools_under_their_categories() {
    // Of a vocabulary that does not grow with every tool.
    let table = tools(&["--role", "planner", "--vocabulary", "explorer"]).stdout;
    insta::assert_snapshot!(table, @r#"
    Search & Discovery
      find_files       Find files by globs: **/*.tsx, or *.js,!*.min.js at any depth. [ReadFiles]
      list_files       List a directory with sizes and times, 100 entries a page. [ReadFiles]
      search_files     Search file contents by regex (Rust syntax). [ReadFiles]

    Code Intelligence
      find_definition  Find where a symbol is defined. [ReadFiles]
      find_importers   Find the files that really import a module, package or symbol. [ReadFiles]

    File Reading
      read_file        Read a file with line numbers, 2000 lines by default. [ReadFiles]
    "#);
    let all = tools(&[]).stdout;
    for heading in ["File Writing", "File Management", "Code Execution"] {
        assert!(all.contains(heading), "{heading}");
    }
    assert!(
        all.contains(
            "delete_file      Delete a file, or with `recursive` a directory. Asks first."
        )
    );
}

#[test]
fn each_format_is_what_its_callers_send_on() {
    assert_eq!(names(&tools(&["--format", "anthropic"]).json(), "/name")[0], "glob");
    assert_eq!(names(&tools(&["--format", "openai"]).json(), "/function/name")[0], "glob");
    assert_eq!(names(&tools(&["--format", "mcp"]).json(), "/inputSchema/type")[0], "object");
    let whole = tools(&["--format", "json"]).json();
    assert_eq!(whole[0]["category"], "Search & Discovery");
    assert_eq!(whole[0]["required_permissions"], serde_json::json!(["ReadFiles"]));
}

#[test]
fn each_vocabulary_has_its_own_names() {
    let explorer = tools(&["--vocabulary", "explorer", "--format", "anthropic"]).json();
    let expected = [
        "find_files",
        "list_files",
        "search_files",
        "find_definition",
        "find_importers",
        "read_file",
        "create_file",
        "edit_file",
    ];
    assert_eq!(names(&explorer, "/name"), expected);
}

#[test]
fn a_planner_may_read() {
    let planner = tools(&["--role", "planner", "--format", "mcp"]).json();
    assert!(names(&planner, "/name").contains(&"grep".to_owned()));
}
