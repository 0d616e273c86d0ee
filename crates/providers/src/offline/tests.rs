use insta::assert_snapshot;
use proptest::prelude::*;
use protocol::{ApprovalResponse, ToolError};
use serde_json::json;
use tool_system::Vocabulary;

use super::testing::{Talk, answered, called, read_answer, request, said, tools_of};
use super::*;

const PROJECT: &str = r#"
//- /package.json
{
  "name": "context-kiln",
  "version": "1.2.0",
  "dependencies": { "name": "no" }
}
//- /README.md
# Context Kiln

Holds contexts.
//- /src/main.js
#!/usr/bin/env node
import { ToolExecutionService } from './services/ToolExecutionService';

export function main() {
  return new ToolExecutionService();
}

function stop() {}
//- /src/services/DatabaseService.js
// TODO: pool connections
export class DatabaseService {
  connect() {}
}
//- /src/services/ToolExecutionService.js
import { DatabaseService } from './DatabaseService';
export class ToolExecutionService {
  constructor() { this.db = new DatabaseService(); } // TODO inject
}
"#;

const ALL: [Vocabulary; 4] =
    [Vocabulary::Standard, Vocabulary::Explorer, Vocabulary::Workspace, Vocabulary::Ally];

fn talk(vocabulary: Vocabulary) -> Talk {
    Talk::new(vocabulary, PROJECT, ApprovalResponse::yes())
}

#[tokio::test]
async fn test_1_basic_file_reading() {
    let told =
        talk(Vocabulary::Standard).say("Read package.json and tell me the project name").await;
    assert_snapshot!(told, @r#"
    > Read package.json and tell me the project name
    (No model is at work: this is Toolkiln's built-in guide, which follows fixed rules.)

    Reading package.json.
    [offline_1 read_file {"path":"package.json"}]
    The project's name is **context-kiln**, says package.json.
    "#);
    for vocabulary in ALL {
        let told = talk(vocabulary).say("Read package.json and tell me the project name").await;
        assert!(
            told.ends_with("The project's name is **context-kiln**, says package.json.\n"),
            "{told}"
        );
        let told = talk(vocabulary).say("What is the project's version?").await;
        assert!(
            told.ends_with("The project's version is **1.2.0**, says package.json.\n"),
            "{told}"
        );
    }
}

#[tokio::test]
async fn test_2_symbol_lookup() {
    let told = talk(Vocabulary::Standard).say("Find where DatabaseService is defined").await;
    assert_snapshot!(told, @r#"
    > Find where DatabaseService is defined
    (No model is at work: this is Toolkiln's built-in guide, which follows fixed rules.)

    Looking up where `DatabaseService` is defined.
    [offline_1 find_definition {"symbol":"DatabaseService"}]
    Reading src/services/DatabaseService.js around line 2.
    [offline_2 read_file {"path":"src/services/DatabaseService.js","offset":1,"limit":14}]
    `DatabaseService` is defined as a class in src/services/DatabaseService.js:2:

             1	// TODO: pool connections
             2	export class DatabaseService {
             3	  connect() {}
             4	}

    Also found: src/services/ToolExecutionService.js:1.
    "#);
    for vocabulary in ALL {
        let told = talk(vocabulary).say("Find where DatabaseService is defined").await;
        assert!(told.contains("src/services/DatabaseService.js:"), "{told}");
        assert!(told.contains("export class DatabaseService {\n"), "{told}");
    }
}

#[tokio::test]
async fn test_3_file_edit_with_approval() {
    const REQUEST: &str = "Add a comment to the top of main.js explaining what it does";
    let mut standard = talk(Vocabulary::Standard);
    assert_snapshot!(standard.say(REQUEST).await, @r#"
    > Add a comment to the top of main.js explaining what it does
    (No model is at work: this is Toolkiln's built-in guide, which follows fixed rules.)

    Looking for main.js.
    [offline_1 glob {"pattern":"**/main.js"}]
    It is at src/main.js; reading it.
    [offline_2 read_file {"path":"src/main.js"}]
    Asking for the outline of src/main.js.
    [offline_3 outline {"path":"src/main.js"}]
    Proposing this comment for src/main.js:

        // main.js: defines main and stop.
    [offline_4 edit_lines {"path":"src/main.js","operation":"insert","start_line":1,"content":"// main.js: defines main and stop."}]
    Done: the comment is at the top of src/main.js.

        diff --git a/src/main.js b/src/main.js
        --- a/src/main.js
        +++ b/src/main.js
        @@ -1,4 +1,5 @@
         #!/usr/bin/env node
        +// main.js: defines main and stop.
         import { ToolExecutionService } from './services/ToolExecutionService';
         
         export function main() {
    "#);
    assert_snapshot!(standard.say("undo that").await, @"
    > undo that
    Taking back the last change.
    [offline_5 undo {}]
    Done, as change 2.

        src/main.js
    ");
    assert!(standard.project.read("src/main.js").starts_with("#!/usr/bin/env node\nimport"));
    assert_snapshot!(talk(Vocabulary::Explorer).say(REQUEST).await, @r##"
    > Add a comment to the top of main.js explaining what it does
    (No model is at work: this is Toolkiln's built-in guide, which follows fixed rules.)

    Looking for main.js.
    [offline_1 find_files {"pattern":"**/main.js"}]
    It is at src/main.js; reading it.
    [offline_2 read_file {"path":"src/main.js"}]
    Proposing this comment for src/main.js:

        // main.js: defines main and stop.
    [offline_3 edit_file {"path":"src/main.js","content":"#!/usr/bin/env node\n// main.js: defines main and stop.\nimport { ToolExecutionService } from './services/ToolExecutionService';\n\nexport function main() {\n  return new ToolExecutionService();\n}\n\nfunction stop() {}\n","description":"Adds: // main.js: defines main and stop."}]
    Done: the comment is at the top of src/main.js.

        diff --git a/src/main.js b/src/main.js
        --- a/src/main.js
        +++ b/src/main.js
        @@ -1,4 +1,5 @@
         #!/usr/bin/env node
        +// main.js: defines main and stop.
         import { ToolExecutionService } from './services/ToolExecutionService';
         
         export function main() {
    "##);
    for vocabulary in ALL {
        let mut talk = talk(vocabulary);
        let before = talk.project.read("src/main.js");
        // Not every vocabulary can look for a file by its name.
        let told = talk.say(&REQUEST.replace("main.js", "src/main.js")).await;
        let after = talk.project.read("src/main.js");
        let comment = "#!/usr/bin/env node\n// main.js: defines main and stop.\n";
        assert_eq!(after, before.replace("#!/usr/bin/env node\n", comment), "{told}");
    }
}

#[tokio::test]
async fn test_3_the_person_may_decline() {
    let no = ApprovalResponse::no(Some("too vague".into()));
    let mut talk = Talk::new(Vocabulary::Standard, PROJECT, no);
    let told = talk.say("Add a comment to the top of src/main.js explaining what it does").await;
    assert_snapshot!(told.lines().last().unwrap_or_default(), @"You declined this: too vague. Nothing was changed. Tell me what should be different, or do it with a command; `help` shows them.");
    assert!(!talk.project.read("src/main.js").contains("defines"));
}

#[tokio::test]
async fn test_4_multi_file_search() {
    let told = talk(Vocabulary::Standard).say("Find all TODO comments in the project").await;
    assert_snapshot!(told, @r#"
    > Find all TODO comments in the project
    (No model is at work: this is Toolkiln's built-in guide, which follows fixed rules.)

    Searching the project for `TODO`.
    [offline_1 grep {"pattern":"TODO","case_sensitive":true}]
    Found 2 matches in 2 files.

        src/services/DatabaseService.js (1)
          1: // TODO: pool connections
        src/services/ToolExecutionService.js (1)
          3: constructor() { this.db = new DatabaseService(); } // TODO inject
    "#);
    for vocabulary in ALL {
        let told = talk(vocabulary).say("Find all TODO comments in the project").await;
        assert!(
            told.contains("src/services/DatabaseService.js (1)\n      1: // TODO: pool"),
            "{told}"
        );
        assert!(told.contains("src/services/ToolExecutionService.js (1)\n"), "{told}");
    }
}

#[tokio::test]
async fn test_5_impact_analysis() {
    let mut standard = talk(Vocabulary::Standard);
    assert_snapshot!(standard.say("What files use ToolExecutionService?").await, @r#"
    > What files use ToolExecutionService?
    (No model is at work: this is Toolkiln's built-in guide, which follows fixed rules.)

    Looking up where `ToolExecutionService` is defined.
    [offline_1 find_definition {"symbol":"ToolExecutionService"}]
    Looking for the files that import src/services/ToolExecutionService.js.
    [offline_2 find_importers {"target":"src/services/ToolExecutionService.js"}]
    1 file imports `ToolExecutionService` (src/services/ToolExecutionService.js):

        src/main.js (1)
          2: import { ToolExecutionService } from './services/ToolExecutionService';
    "#);
    assert_snapshot!(standard.say("What breaks if I change src/services/DatabaseService.js?").await, @r#"
    > What breaks if I change src/services/DatabaseService.js?
    Working out what depends on `src/services/DatabaseService.js`.
    [offline_3 impact {"target":"src/services/DatabaseService.js"}]
    2 files are affected, 1 of them directly, 0 tests among them.

        src/services/DatabaseService.js (1)
          src/services/ToolExecutionService.js (1)
            src/main.js
    "#);
    for vocabulary in ALL {
        let told = talk(vocabulary).say("What files use ToolExecutionService?").await;
        assert!(told.contains("src/main.js"), "{told}");
    }
}

#[tokio::test]
async fn other_requests_go_through_the_same_loop() {
    let mut talk = talk(Vocabulary::Standard);
    let mut told = String::new();
    for request in [
        "hello",
        "What is this project?",
        "list the files in src",
        "find all js files",
        "find all references to DatabaseService",
        "what does src/main.js do?",
        "where is Nowhere defined?",
        "create file notes.md containing \"# Notes\"",
        "add the line \"One.\" to notes.md",
        "replace \"One\" with \"Two\" in notes.md",
        "move notes.md to docs/notes.md",
        "rename stop to halt",
        "delete docs/notes.md",
        "undo",
        "read nope.js",
        "thanks",
    ] {
        told += &talk.say(request).await;
        told += "\n";
    }
    assert_snapshot!(told, @r##"
    > hello
    (No model is at work: this is Toolkiln's built-in guide, which follows fixed rules.)

    Hello. Ask for something like "Find all TODO comments in this project", or run a tool as a command, such as `grep TODO`. `help` shows what I understand.

    > What is this project?
    Looking at what there is.
    [offline_1 list_directory {"path":"."}]
    Reading README.md.
    [offline_2 read_file {"path":"README.md"}]
    The project holds:

        README.md
        package.json
        src/

    Its README.md begins:

    > # Context Kiln
    >
    > Holds contexts.

    > list the files in src
    Listing src.
    [offline_3 list_directory {"path":"src"}]
    src holds:

        main.js
        services/

    > find all js files
    Looking for files like `*.js,*.mjs,*.cjs,*.jsx`.
    [offline_4 glob {"pattern":"*.js,*.mjs,*.cjs,*.jsx"}]
    Found 3 files.

        src/main.js
        src/services/DatabaseService.js
        src/services/ToolExecutionService.js

    > find all references to DatabaseService
    Looking for the uses of `DatabaseService`.
    [offline_5 find_references {"symbol":"DatabaseService"}]
    Found 3 references to `DatabaseService` in 2 files.

        src/services/DatabaseService.js (1)
          2: export class DatabaseService {
        src/services/ToolExecutionService.js (2)
          1: import { DatabaseService } from './DatabaseService';
          3: constructor() { this.db = new DatabaseService(); } // TODO inject

    > what does src/main.js do?
    Reading src/main.js.
    [offline_6 read_file {"path":"src/main.js"}]
    Asking for the outline of src/main.js.
    [offline_7 outline {"path":"src/main.js"}]
    I cannot say what code means, but this is what src/main.js defines:

        4: export function main()
        8: function stop()

    > where is Nowhere defined?
    Looking up where `Nowhere` is defined.
    [offline_8 find_definition {"symbol":"Nowhere"}]
    No definition of `Nowhere` found; 5 files looked at. It may come from a library; grep finds where it is used.

    Searching for the word.
    [offline_9 grep {"pattern":"Nowhere","case_sensitive":true}]
    `Nowhere` is not defined in this project, as far as I can tell. No matches for `Nowhere` among 5 files.

    > create file notes.md containing "# Notes"
    Proposing to create notes.md.
    [offline_10 create_file {"path":"notes.md","content":"# Notes\n","description":"As asked for"}]
    Done: notes.md is there. "undo" takes it back.

    > add the line "One." to notes.md
    Looking for notes.md.
    [offline_11 glob {"pattern":"**/notes.md"}]
    It is at notes.md; reading it.
    [offline_12 read_file {"path":"notes.md"}]
    Proposing to add the line to notes.md.
    [offline_13 append_file {"path":"notes.md","content":"One.\n"}]
    Done: the line is in notes.md.

        diff --git a/notes.md b/notes.md
        --- a/notes.md
        +++ b/notes.md
        @@ -1 +1,2 @@
         # Notes
        +One.

    > replace "One" with "Two" in notes.md
    Looking for notes.md.
    [offline_14 glob {"pattern":"**/notes.md"}]
    It is at notes.md; reading it.
    [offline_15 read_file {"path":"notes.md"}]
    Proposing to replace `One` with `Two` in notes.md.
    [offline_16 replace_in_file {"path":"notes.md","find":"One","replace":"Two"}]
    1 replacement in notes.md.

        diff --git a/notes.md b/notes.md
        --- a/notes.md
        +++ b/notes.md
        @@ -1,2 +1,2 @@
         # Notes
        -One.
        +Two.

    > move notes.md to docs/notes.md
    Proposing to move notes.md to docs/notes.md.
    [offline_17 move_file {"from":"notes.md","to":"docs/notes.md"}]
    Done: notes.md is docs/notes.md from here on. "undo" takes it back.

    > rename stop to halt
    Proposing to rename `stop` to `halt` wherever it is used.
    [offline_18 rename_symbol {"symbol":"stop","new_name":"halt"}]
    Renamed `stop` to `halt` in 1 place, by name.

        diff --git a/src/main.js b/src/main.js
        --- a/src/main.js
        +++ b/src/main.js
        @@ -5,4 +5,4 @@
           return new ToolExecutionService();
         }
         
        -function stop() {}
        +function halt() {}

    > delete docs/notes.md
    Proposing to delete docs/notes.md.
    [offline_19 delete_file {"path":"docs/notes.md"}]
    Done: docs/notes.md is gone. "undo" brings it back.

    > undo

    [offline_20 undo {}]
    Done, as change 7.

        docs/notes.md

    > read nope.js

    [offline_21 read {"file_paths":["nope.js"]}]
    That did not work: nope.js does not exist
    List the directory or search by name to find the right path.

    > thanks
    You are welcome.
    "##);
}

#[tokio::test]
async fn commands_go_through_the_same_loop() {
    let mut talk = talk(Vocabulary::Standard);
    let mut told = String::new();
    for request in [
        "grep TODO",
        "/read_file path=src/main.js limit=2",
        "/replace_in_file src/main.js stop halt",
        "glob **/*.js",
        "redo",
    ] {
        told += &talk.say(request).await;
        told += "\n";
    }
    assert_snapshot!(told, @r#"
    > grep TODO
    (No model is at work: this is Toolkiln's built-in guide, which follows fixed rules.)
    [offline_1 grep {"pattern":"TODO"}]
    Found 2 matches in 2 files.

        src/services/DatabaseService.js (1)
          1: // TODO: pool connections
        src/services/ToolExecutionService.js (1)
          3: constructor() { this.db = new DatabaseService(); } // TODO inject

    > /read_file path=src/main.js limit=2

    [offline_2 read_file {"path":"src/main.js","limit":2}]
    Lines 1-2 of 8. Continue with offset=3.

             1	#!/usr/bin/env node
             2	import { ToolExecutionService } from './services/ToolExecutionService';

    > /replace_in_file src/main.js stop halt

    [offline_3 replace_in_file {"path":"src/main.js","find":"stop","replace":"halt"}]
    1 replacement in src/main.js.

        diff --git a/src/main.js b/src/main.js
        --- a/src/main.js
        +++ b/src/main.js
        @@ -5,4 +5,4 @@
           return new ToolExecutionService();
         }
         
        -function stop() {}
        +function halt() {}

    > glob **/*.js

    [offline_4 glob {"pattern":"**/*.js"}]
    Found 3 files.

        src/main.js
        src/services/DatabaseService.js
        src/services/ToolExecutionService.js

    > redo

    [offline_5 redo {}]
    That did not work: there is nothing to redo
    Only changes made through Toolkiln can be undone; `toolkiln history` lists them.
    "#);
}

#[test]
fn what_is_not_understood_is_said_so() {
    let tools = tools_of(Vocabulary::Standard);
    let tell = |text| read_answer(&answer(&request(&tools, vec![said(text)]))).0;
    assert_snapshot!(tell("Write me a poem about kilns"), @r##"
    (No model is at work: this is Toolkiln's built-in guide, which follows fixed rules.)

    I did not understand that. I am not a language model: I only know the requests below, and every tool as a command. For anything else, configure a model: set `ANTHROPIC_API_KEY` or `OPENAI_API_KEY`, point `--base-url` at a compatible server, or start Ollama on this machine.

    - Find all TODO comments in this project (searches, and counts by file)
    - Search for "connect(" in src/db (searches a text in one place)
    - Read package.json and tell me the project name (reads a manifest and answers from it)
    - What is the project's version? (finds the manifest first)
    - Find where DatabaseService is defined (looks up a definition and shows it)
    - What files use ToolExecutionService? (finds the module and the files that import it)
    - Find all references to main (finds the uses of a name)
    - What breaks if I change src/db.ts? (follows imports to everything affected)
    - List the files in src (lists a directory)
    - Find all rust files (finds files by language or name)
    - Show me src/main.rs (reads a file)
    - What does src/main.rs do? (outlines a file)
    - Explain the structure of this project (lists the project and quotes its README)
    - Add a comment to the top of main.js explaining what it does (proposes a comment that names what the file defines)
    - Add the line "target/" to .gitignore (proposes a new last line)
    - Replace "http:" with "https:" in src/api.ts (proposes a replacement)
    - Rename fire_kiln to light_kiln (proposes to rename a symbol everywhere)
    - Create file notes.md containing "# Notes" (proposes a new file)
    - Move notes.md to docs/notes.md (proposes to move a file)
    - Delete docs/notes.md (proposes to delete a file)
    - Undo the last change (proposes to take it back)
    - grep TODO src (runs a tool as a command)
    - /read_file path=src/main.rs limit=20 (runs a tool with named arguments)
    - help (lists all of this; `help grep` explains one tool)
    "##);
    assert_snapshot!(tell("help find_definition"), @"
    (No model is at work: this is Toolkiln's built-in guide, which follows fixed rules.)

    find_definition: Find where a symbol is defined, best first. Takes Type::method, pkg.Func.

    Usage: `/find_definition symbol=TEXT [type=function|class|variable|import] [path=TEXT] [context=NUMBER] [max_results=NUMBER]`

    - context: Default 2
    ");
    assert!(tell("/help").contains("- edit_lines: path, operation, start_line\n"));
}

#[test]
fn every_example_is_understood() {
    let tools = tools_of(Vocabulary::Standard);
    for (request_text, _) in examples() {
        let (text, call) = read_answer(&answer(&request(&tools, vec![said(request_text)])));
        assert!(call.is_some() || *request_text == "help", "{request_text}: {text}");
    }
}

#[test]
fn the_notice_comes_once_and_ids_count_on() {
    let tools = tools_of(Vocabulary::Standard);
    let mut messages = vec![said("grep TODO")];
    let (text, call) = read_answer(&answer(&request(&tools, messages.clone())));
    assert_eq!(text.trim(), help::NOTICE);
    let call = call.unwrap();
    assert_eq!(call.id, "offline_1");
    messages.push(called(&text, call));
    messages.push(answered("offline_1", Ok(json!({"matches": []}))));
    messages.push(said("grep FIXME"));
    let (text, call) = read_answer(&answer(&request(&tools, messages)));
    assert_eq!(text, "");
    assert_eq!(call.unwrap().id, "offline_2");
}

#[test]
fn what_was_asked_last_counts_even_if_a_turn_was_broken_off() {
    let tools = tools_of(Vocabulary::Standard);
    let call = ToolCall::new("offline_7", "grep", Map::new());
    let cancelled = ToolError::new(ErrorCode::Cancelled, "stopped");
    let mut result = answered("offline_7", Err(cancelled));
    result.content.push(Content::Text { text: "glob *.rs".into() });
    let messages = vec![said("grep TODO"), called(help::NOTICE, call), result];
    let (_, call) = read_answer(&answer(&request(&tools, messages)));
    let call = call.unwrap();
    assert_eq!((call.id.as_str(), call.name.as_str()), ("offline_8", "glob"));
}

#[test]
fn attached_files_and_automatic_notes_are_not_requests() {
    let tools = tools_of(Vocabulary::Standard);
    let mut message = said("explain @src/main.rs");
    message.content.push(Content::Text { text: "The user attached src/main.rs:\ngrep x".into() });
    let messages = vec![message, said("[Automatic note] The user took back change 1.")];
    let (_, call) = read_answer(&answer(&request(&tools, messages)));
    let call = call.unwrap();
    assert_eq!(call.name, "read_file");
    assert_eq!(call.arguments["path"], "src/main.rs");
}

/// Anything a tool might answer.
fn any_value() -> impl Strategy<Value = Value> {
    let keys = "matches|files|entries|content|definitions|importers|path|line|text|total|message|\
                outline|results|truncation|name|type|diff|lines|total_lines|size";
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<u64>().prop_map(Value::from),
        "\\PC{0,12}|     1\tx\n     2\t.{0,5}|=== a ===\nx".prop_map(Value::from),
    ];
    leaf.prop_recursive(4, 24, 4, move |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            prop::collection::vec((keys, inner), 0..4)
                .prop_map(|pairs| Value::Object(pairs.into_iter().collect())),
        ]
    })
}

fn any_result() -> impl Strategy<Value = ToolResult> {
    let codes = prop::sample::select(ErrorCode::ALL.to_vec());
    prop_oneof![
        3 => any_value().prop_map(Ok),
        1 => (codes, "\\PC{0,12}").prop_map(|(code, text)| Err(ToolError::new(code, text))),
    ]
}

proptest! {
    #[test]
    fn whatever_is_said_and_answered_the_turn_ends(
        text in prop_oneof![
            "\\PC{0,40}",
            prop::sample::select(examples()).prop_map(|(request, _)| request.to_owned()),
        ],
        results in prop::collection::vec(any_result(), 12),
        vocabulary in prop::sample::select(ALL.to_vec()),
    ) {
        let tools = tools_of(vocabulary);
        let mut messages = vec![said(&text)];
        let mut ended = false;
        for result in results {
            let (text, call) = read_answer(&answer(&request(&tools, messages.clone())));
            let Some(call) = call else {
                prop_assert!(!text.is_empty());
                ended = true;
                break;
            };
            prop_assert!(tools.iter().any(|tool| tool.name == call.name));
            messages.push(called(&text, call.clone()));
            messages.push(answered(&call.id, result));
        }
        prop_assert!(ended);
    }
}
