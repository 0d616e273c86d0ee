use proptest::prelude::*;
use serde_json::json;
use tool_system::{ToolRegistry, Vocabulary};

use super::*;
use crate::testing::tools_of;

/// What a line means in the standard vocabulary, in one line.
fn meaning(line: &str) -> String {
    meaning_in(line, &tools_of(Vocabulary::Standard))
}

fn meaning_in(line: &str, tools: &[ToolSpec]) -> String {
    match parse(line, Tools(tools)) {
        None => "English".into(),
        Some(Command::Run(tool, arguments)) => {
            format!("{} {}", tool.name, Value::Object(arguments))
        }
        Some(Command::Help(name)) => format!("help {}", name.unwrap_or_default()).trim().into(),
        Some(Command::Problem(problem)) => problem,
    }
}

#[test]
fn lines_that_are_commands() {
    let cases = [
        ("grep TODO", r#"grep {"pattern":"TODO"}"#),
        ("grep TODO src", r#"grep {"pattern":"TODO","path":"src"}"#),
        (
            r#"grep "async fn" crates context=0"#,
            r#"grep {"pattern":"async fn","path":"crates","context":0}"#,
        ),
        (r"grep \bfn\b", r#"grep {"pattern":"\\bfn\\b"}"#),
        ("glob **/*.rs", r#"glob {"pattern":"**/*.rs"}"#),
        ("read src/main.rs", r#"read {"file_paths":["src/main.rs"]}"#),
        ("read a.rs b.rs limit=5", r#"read {"file_paths":["a.rs","b.rs"],"limit":5}"#),
        ("outline src/lib.rs", r#"outline {"path":"src/lib.rs"}"#),
        ("undo", "undo {}"),
        ("undo 12", r#"undo {"change_id":"12"}"#),
        ("search user session", r#"search {"query":"user session"}"#),
        ("search user path=src session", r#"search {"query":"user session","path":"src"}"#),
        ("list_directory src", r#"list_directory {"path":"src"}"#),
        ("find_definition Kiln", r#"find_definition {"symbol":"Kiln"}"#),
        ("move_file a.rs b.rs", r#"move_file {"from":"a.rs","to":"b.rs"}"#),
        (r#"grep {"pattern": "a b"}"#, r#"grep {"pattern":"a b"}"#),
        ("/read_file path=src/main.rs", r#"read_file {"path":"src/main.rs"}"#),
        ("/read_file src/main.rs limit=20", r#"read_file {"path":"src/main.rs","limit":20}"#),
        (
            "/grep pattern=TODO hidden=true case_sensitive=no",
            r#"grep {"pattern":"TODO","hidden":true,"case_sensitive":false}"#,
        ),
        ("grep TODO --path src", r#"grep {"pattern":"TODO","path":"src"}"#),
        (
            r#"grep --pattern="a b" --hidden --case-sensitive no src"#,
            r#"grep {"pattern":"a b","hidden":true,"case_sensitive":false,"path":"src"}"#,
        ),
        ("grep --hidden TODO", r#"grep {"hidden":true,"pattern":"TODO"}"#),
        ("grep --verbose", r#"grep {"pattern":"--verbose"}"#),
        ("search users paths=src", r#"search {"query":"users paths=src"}"#),
        ("grep '--path'", r#"grep {"pattern":"--path"}"#),
        ("/grep TODO context=many", r#"grep {"pattern":"TODO","context":"many"}"#),
        ("/grep foo=bar", r#"grep {"pattern":"foo=bar"}"#),
        ("/search_files TODO", r#"grep {"pattern":"TODO"}"#),
        (
            "/grep TODO exclude=a,b exclude=*.{c,d}",
            r#"grep {"pattern":"TODO","exclude":["a","b","*.{c,d}"]}"#,
        ),
        (r#"/grep TODO exclude='["a"]'"#, r#"grep {"pattern":"TODO","exclude":["a"]}"#),
        (
            r#"/create_file path=a.md content="one\ntwo\n""#,
            r#"create_file {"path":"a.md","content":"one\ntwo\n"}"#,
        ),
        ("/create_file a.md some words", r#"create_file {"path":"a.md","content":"some words"}"#),
        (
            r#"/apply_changes changes='[{"path": "a", "delete": true}]'"#,
            r#"apply_changes {"changes":[{"path":"a","delete":true}]}"#,
        ),
        ("/help", "help"),
        ("help", "help"),
        ("help grep", "help grep"),
        ("/help grep", "help grep"),
    ];
    for (line, expected) in cases {
        assert_eq!(meaning(line), expected, "{line}");
    }
}

#[test]
fn lines_that_are_english() {
    let lines = [
        "read package.json and tell me the project name",
        "read the file src/main.rs",
        "search for x",
        "search the project for TODO",
        "undo the last change",
        "undo everything",
        "undo please",
        "outline the module",
        "grep is broken",
        "impact analysis?",
        "Read src/main.rs",
        "help me",
        "help me find the bug",
        "grep don't",
        "find all TODO comments",
        "",
        "hello",
    ];
    for line in lines {
        assert_eq!(meaning(line), "English", "{line}");
    }
}

#[test]
fn problems_say_what_to_do() {
    let problems = [
        "grep",
        "/edit_lines path=a.rs",
        "/read_file a 1 b",
        "/gerp TODO",
        "/no_such_thing_at_all",
        "/help nothing",
        "/outline --path",
        "/outline --pth src",
        "/outline pth=src",
    ];
    let told: Vec<String> =
        problems.iter().map(|line| format!("{line}\n  {}", meaning(line))).collect();
    insta::assert_snapshot!(told.join("\n"), @"
    grep
      grep needs `pattern`. Usage: `/grep pattern=string [path=string] [case_sensitive=boolean] [file_type=string] [include=string] [exclude=array] [context=integer] [mode=lines|files|count] [multiline=boolean] [hidden=boolean] [max_results=integer] [cursor=string]`
    /edit_lines path=a.rs
      edit_lines needs `operation` and `start_line`. Usage: `/edit_lines path=string operation=insert|delete|replace start_line=integer [end_line=integer] [content=string] [expected=string]`
    /read_file a 1 b
      `b` is one word too many. Usage: `/read_file path=string [offset=integer] [limit=integer] [encoding=utf-8|base64] [line_numbers=boolean]`
    /gerp TODO
      `gerp` is not a tool of this session; did you mean `grep`? `help` lists the tools.
    /no_such_thing_at_all
      `no_such_thing_at_all` is not a tool of this session. `help` lists the tools.
    /help nothing
      `nothing` is not a tool of this session. `help` lists the tools.
    /outline --path
      `--path` needs a value after it.
    /outline --pth src
      outline has no `pth`; did you mean `path`? Usage: `/outline [path=string] [max_tokens=integer] [depth=integer]`
    /outline pth=src
      outline has no `pth`; did you mean `path`? Usage: `/outline [path=string] [max_tokens=integer] [depth=integer]`
    ");
}

#[test]
fn a_name_from_another_vocabulary_leads_to_the_tool_that_is_here() {
    let tools = tools_of(Vocabulary::Explorer);
    assert_eq!(meaning_in("grep TODO", &tools), r#"search_files {"pattern":"TODO"}"#);
    assert_eq!(meaning_in("grep is broken", &tools), "English");
    assert_eq!(meaning_in("nothing like it", &tools), "English");
}

#[test]
fn parameters_that_take_the_rest_of_the_line_do() {
    let parameters = json!({
        "type": "object",
        "properties": {"command": {"type": "string"}, "timeout": {"type": "integer"}},
        "required": ["command"],
    });
    let tools = [ToolSpec {
        name: "bash".into(),
        description: String::new(),
        parameters,
        listing: Default::default(),
    }];
    let cases = [
        ("bash cargo test -p x", r#"bash {"command":"cargo test -p x"}"#),
        ("/bash A=1 echo 'a  b' | cat", r#"bash {"command":"A=1 echo 'a  b' | cat"}"#),
        ("/bash TIMEOUT=5 ./run", r#"bash {"command":"TIMEOUT=5 ./run"}"#),
        ("/bash timeout=5 ls -la", r#"bash {"timeout":5,"command":"ls -la"}"#),
        ("/bash --timeout 5 ls --all", r#"bash {"timeout":5,"command":"ls --all"}"#),
        ("/bash 'ls -la' timeout=5", r#"bash {"command":"ls -la","timeout":5}"#),
        ("bash is a shell", "English"),
    ];
    for (line, expected) in cases {
        assert_eq!(meaning_in(line, &tools), expected, "{line}");
    }
}

/// A value as a user would type it.
fn typed(value: &Value) -> String {
    let text = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
    Value::String(text).to_string()
}

#[test]
fn every_tool_can_be_called_by_its_own_example() {
    for vocabulary in
        [Vocabulary::Standard, Vocabulary::Explorer, Vocabulary::Workspace, Vocabulary::Ally]
    {
        let tools = tools_of(vocabulary);
        let toolbox = Tools(&tools);
        for listed in ToolRegistry::builtin().list(vocabulary) {
            let (name, example) = (listed.name(), listed.example());
            let expected = Command::Run(toolbox.named(name).unwrap(), example.clone());
            let named = example.iter().map(|(key, value)| format!(" {key}={}", typed(value)));
            let lines = [
                format!("/{name}{}", named.clone().collect::<String>()),
                format!("{name}{}", named.collect::<String>()),
                format!("/{name} {}", Value::Object(example.clone())),
                format!("{name} {}", Value::Object(example.clone())),
            ];
            for line in lines {
                assert_eq!(parse(&line, toolbox).as_ref(), Some(&expected), "{line}");
            }
        }
    }
}

#[test]
fn a_misspelled_tool_is_corrected_where_that_makes_a_command() {
    let tools = tools_of(Vocabulary::Standard);
    let meant = |line| corrected(line, Tools(&tools));
    assert_eq!(meant("gerp TODO src").as_deref(), Some("grep TODO src"));
    assert_eq!(meant("gerp is broken"), None);
    assert_eq!(meant("nothing like it"), None);
}

proptest! {
    #[test]
    fn a_command_has_what_its_tool_needs_and_nothing_else(
        line in "/?(grep|read|undo|edit_lines|x) ?(\\PC*|[ a='\"{}\\[\\],-]{0,20})"
    ) {
        let tools = tools_of(Vocabulary::Standard);
        match parse(&line, Tools(&tools)) {
            None => prop_assert!(!line.starts_with('/')),
            Some(Command::Run(tool, arguments)) if !line.contains('{') => {
                for one in parameters(tool) {
                    prop_assert!(!one.required || arguments.contains_key(one.name), "{}", one.name);
                }
                let known = parameters(tool);
                let is_known = |name: &String| known.iter().any(|one| one.name == name);
                prop_assert!(arguments.keys().all(is_known), "{arguments:?}");
            }
            Some(Command::Problem(problem)) => prop_assert!(problem.ends_with(['.', '`', '?'])),
            Some(_) => {}
        }
    }
}
