//! The five tests that the specification of the explorer describes, each against a scripted model in
//! every form over HTTP, and with the provider that needs no model.

use insta::{allow_duplicates, assert_snapshot};
use serde_json::{Value, json};
use testkit::model_server::{ModelCall, WireFormat};
use testkit::{ModelServer, Reply};

use super::bench::{Bench, Model, answer_to};
use super::validity;
use crate::run::Ran;

const PROJECT: &str = r#"
//- /package.json
{
  "name": "context-kiln",
  "version": "1.2.0",
  "main": "src/main.js"
}
//- /src/main.js
import { ToolExecutionService } from './services/ToolExecutionService.js';

export function main() {
  // TODO: read the configuration
  return new ToolExecutionService().run();
}
//- /src/services/DatabaseService.js
// Keeps what has to outlive the process.
export class DatabaseService {
  connect() {} // TODO: pool connections
}
//- /src/services/ToolExecutionService.js
import { DatabaseService } from './DatabaseService.js';

export class ToolExecutionService {
  run() {
    return new DatabaseService().connect();
  }
}
//- /src/ui/panel.js
import { ToolExecutionService } from '../services/ToolExecutionService.js';

export const panel = new ToolExecutionService();
"#;

const EXPLORER: [&str; 8] = [
    "find_files",
    "list_files",
    "search_files",
    "find_definition",
    "find_importers",
    "read_file",
    "create_file",
    "edit_file",
];

/// What came of playing a script, in one form.
struct Played {
    bench: Bench,
    ran: Ran,
    requests: Vec<ModelCall>,
}

/// Plays a script in every form and has `check` look at what came of it. What holds for all of them
/// is checked here: the whole script was played, and every request was one that its provider takes,
/// with the same tools.
fn in_every_form(message: &str, more: &[&str], script: &[Reply], check: impl Fn(&Played)) {
    for format in WireFormat::ALL {
        let bench = Bench::new(PROJECT);
        let server = ModelServer::start(script.iter().cloned());
        let more = [&["--vocabulary", "explorer"], more].concat();
        let ran = bench.ask(Model { format, server: &server }, message, &more);
        assert_eq!(server.unused(), 0, "{format:?}: {}", ran.stderr);
        let requests = server.calls();
        for request in &requests {
            assert_eq!(request.format, format);
            assert_eq!(request.tools(), EXPLORER);
            assert_eq!(request.user_texts(), [message]);
            validity::check(request);
        }
        allow_duplicates!(check(&Played { bench, ran, requests }));
    }
}

impl Played {
    /// The result of a call as JSON, from the request that carried it first.
    fn result(&self, request: usize, id: &str) -> Value {
        let answer = answer_to(&self.requests[request], id);
        assert!(!answer.is_error, "{answer:?}");
        serde_json::from_str(&answer.text).unwrap()
    }
}

/// The paths and lines of a list.
fn places(list: &Value) -> Vec<String> {
    let place = |item: &Value| format!("{}:{}", item["path"].as_str().unwrap(), item["line"]);
    list.as_array().unwrap().iter().map(place).collect()
}

#[test]
fn test_1_basic_file_reading() {
    const MESSAGE: &str = "Read package.json and tell me the project name";
    let script = [
        Reply::call("read_file", json!({"path": "package.json"})),
        Reply::text("The project is called **context-kiln**."),
    ];
    in_every_form(MESSAGE, &[], &script, |played| {
        let file = played.result(1, "call_0_0");
        assert_snapshot!(file["content"].as_str().unwrap(), @r#"
             1	{
             2	  "name": "context-kiln",
             3	  "version": "1.2.0",
             4	  "main": "src/main.js"
             5	}
        "#);
        assert_eq!(played.ran.stdout, "The project is called **context-kiln**.\n");
        assert_eq!(played.ran.code, 0);
    });
    let offline = Bench::new(PROJECT).ask_offline(MESSAGE, &["--vocabulary", "explorer"]);
    assert_snapshot!(offline.stdout, @"
    (No model is at work: this is Toolkiln's built-in guide, which follows fixed rules. To get a model: toolkiln setup)

    Reading package.json.
    The project's name is **context-kiln**, says package.json.
    ");
    assert_eq!(offline.code, 0);
}

#[test]
fn test_2_symbol_lookup() {
    const MESSAGE: &str = "Find where DatabaseService is defined";
    let path = "src/services/DatabaseService.js";
    let script = [
        Reply::text("I look it up.")
            .and_call("find_definition", json!({"symbol": "DatabaseService"})),
        Reply::call("read_file", json!({"path": path, "offset": 2, "limit": 3})),
        Reply::text("It is a class in src/services/DatabaseService.js, line 2."),
    ];
    in_every_form(MESSAGE, &[], &script, |played| {
        let found = played.result(1, "call_0_1");
        assert_eq!(places(&found["definitions"])[0], format!("{path}:2"));
        assert_eq!(found["definitions"][0]["kind"], "class");
        let context = played.result(2, "call_1_0");
        assert!(context["content"].as_str().unwrap().contains("export class DatabaseService {"));
        // The model goes on from what it said and found before.
        assert_eq!(played.result(2, "call_0_1"), found);
        assert_snapshot!(played.ran.stdout, @"
        I look it up.
        It is a class in src/services/DatabaseService.js, line 2.
        ");
        assert_eq!(played.ran.code, 0);
    });
    let offline = Bench::new(PROJECT).ask_offline(MESSAGE, &["--vocabulary", "explorer"]);
    assert_snapshot!(offline.stdout, @"
    (No model is at work: this is Toolkiln's built-in guide, which follows fixed rules. To get a model: toolkiln setup)

    Looking up where `DatabaseService` is defined.
    Reading src/services/DatabaseService.js around line 2.
    `DatabaseService` is defined in src/services/DatabaseService.js:2:

             1	// Keeps what has to outlive the process.
             2	export class DatabaseService {
             3	  connect() {} // TODO: pool connections
             4	}
    ");
    assert_eq!(offline.code, 0);
}

const COMMENT: &str = "Add a comment to the top of main.js explaining what it does";

/// The file with its comment, and the script that leads there.
fn commented() -> (String, [Reply; 3]) {
    let before = Bench::new(PROJECT).project.read("src/main.js");
    let after = format!("// Starts the tools.\n{before}");
    let edit = json!({"path": "src/main.js", "content": after, "description": "Say what it does"});
    let script = [
        Reply::call("read_file", json!({"path": "src/main.js"})),
        Reply::text("I add it.").and_call("edit_file", edit),
        Reply::text("That was the edit."),
    ];
    (after, script)
}

#[test]
fn test_3_file_edit_with_approval() {
    let (after, script) = commented();
    in_every_form(COMMENT, &["--yes"], &script, |played| {
        assert_eq!(played.ran.code, 0, "{}", played.ran.stderr);
        assert_eq!(played.bench.project.read("src/main.js"), after);
        assert_eq!(played.result(2, "call_1_1")["path"], "src/main.js");
        assert_eq!(played.ran.stdout, "I add it.\nThat was the edit.\n");
        let stderr = &played.ran.stderr;
        let card = stderr.lines().find(|line| line.contains("Rewrote   src/main.js"));
        assert!(card.is_some_and(|line| line.ends_with(" +1 −0")), "{stderr}");
    });
    let bench = Bench::new(PROJECT);
    let offline = bench.ask_offline(COMMENT, &["--yes", "--vocabulary", "explorer"]);
    assert_snapshot!(offline.stdout, @"
    (No model is at work: this is Toolkiln's built-in guide, which follows fixed rules. To get a model: toolkiln setup)

    Looking for main.js.
    It is at src/main.js; reading it.
    Proposing this comment for src/main.js:

        // main.js: defines main.
    Done: the comment is at the top of src/main.js.

        diff --git a/src/main.js b/src/main.js
        --- a/src/main.js
        +++ b/src/main.js
        @@ -1,3 +1,4 @@
        +// main.js: defines main.
         import { ToolExecutionService } from './services/ToolExecutionService.js';
         
         export function main() {
    ");
    assert_eq!(offline.code, 0);
    assert_snapshot!(bench.project.read("src/main.js").lines().next().unwrap(), @"// main.js: defines main.");
}

#[test]
fn test_3_file_edit_without_an_approval() {
    let before = Bench::new(PROJECT).project.read("src/main.js");
    let (_, script) = commented();
    in_every_form(COMMENT, &[], &script, |played| {
        assert_eq!(played.ran.code, 3);
        assert_eq!(played.bench.project.read("src/main.js"), before);
        let told = answer_to(&played.requests[2], "call_1_1").text;
        assert!(told.contains("The user cannot be asked in this run."), "{told}");
        assert_eq!(played.ran.stdout, "I add it.\nThat was the edit.\n");
    });
    let bench = Bench::new(PROJECT);
    let offline = bench.ask_offline(COMMENT, &["--vocabulary", "explorer"]);
    assert_eq!((offline.code, bench.project.read("src/main.js")), (3, before));
}

#[test]
fn test_4_multi_file_search() {
    const MESSAGE: &str = "Find all TODO comments in the project";
    let script = [
        Reply::call("search_files", json!({"pattern": "TODO"})),
        Reply::text("There are two: one in main.js, one in DatabaseService.js."),
    ];
    in_every_form(MESSAGE, &[], &script, |played| {
        let found = played.result(1, "call_0_0");
        assert_eq!(
            places(&found["matches"]),
            ["src/main.js:4", "src/services/DatabaseService.js:3"]
        );
        let summary = "There are two: one in main.js, one in DatabaseService.js.\n";
        assert_eq!((played.ran.code, played.ran.stdout.as_str()), (0, summary));
    });
    let offline = Bench::new(PROJECT).ask_offline(MESSAGE, &["--vocabulary", "explorer"]);
    assert_snapshot!(offline.stdout, @"
    (No model is at work: this is Toolkiln's built-in guide, which follows fixed rules. To get a model: toolkiln setup)

    Searching the project for `TODO`.
        src/main.js (1)
          4: // TODO: read the configuration
        src/services/DatabaseService.js (1)
          3: connect() {} // TODO: pool connections
    ");
    assert_eq!(offline.code, 0);
}

#[test]
fn test_5_impact_analysis() {
    const MESSAGE: &str = "What files use ToolExecutionService?";
    let module = json!({"modulePath": "src/services/ToolExecutionService.js"});
    let script = [
        Reply::call("find_importers", module),
        // Those who read run side by side, and their results come back in the order of the calls.
        Reply::call("read_file", json!({"path": "src/main.js"}))
            .and_call("read_file", json!({"path": "src/ui/panel.js"})),
        Reply::text("main.js runs it, panel.js shows it."),
    ];
    in_every_form(MESSAGE, &[], &script, |played| {
        let found = played.result(1, "call_0_0");
        assert_eq!(places(&found["importers"]), ["src/main.js:1", "src/ui/panel.js:1"]);
        let ids: Vec<_> = played.requests[2].tool_answers().into_iter().map(|a| a.id).collect();
        assert_eq!(ids, ["call_0_0", "call_1_0", "call_1_1"]);
        let panel = played.result(2, "call_1_1");
        assert!(panel["content"].as_str().unwrap().contains("export const panel"));
        let summary = "main.js runs it, panel.js shows it.\n";
        assert_eq!((played.ran.code, played.ran.stdout.as_str()), (0, summary));
    });
    let offline = Bench::new(PROJECT).ask_offline(MESSAGE, &["--vocabulary", "explorer"]);
    assert_snapshot!(offline.stdout, @"
    (No model is at work: this is Toolkiln's built-in guide, which follows fixed rules. To get a model: toolkiln setup)

    Looking up where `ToolExecutionService` is defined.
    Looking for the files that import src/services/ToolExecutionService.js.
    Files that import `ToolExecutionService` (src/services/ToolExecutionService.js):

        src/main.js (1)
          1: import { ToolExecutionService } from './services/ToolExecutionService.js';
        src/ui/panel.js (1)
          1: import { ToolExecutionService } from '../services/ToolExecutionService.js';
    ");
    assert_eq!(offline.code, 0);
}
