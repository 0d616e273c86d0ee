mod seed_tests;
mod talks;

use insta::assert_snapshot;
use proptest::prelude::*;
use tool_system::Vocabulary;

use super::testing::{Talk, answered, called, read_answer, request, said, tools_of};
use super::*;
use protocol::{Content, ErrorCode, ToolError, ToolResult};
use serde_json::{Map, Value, json};

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
    Talk::new(vocabulary, PROJECT, None)
}

#[test]
fn what_is_not_understood_is_said_so() {
    let tools = tools_of(Vocabulary::Standard);
    let tell = |text| read_answer(&answer(&request(&tools, vec![said(text)]))).0;
    assert_snapshot!(tell("Write me a poem about kilns"), @r##"
    (No model is at work: this is Toolkiln's built-in guide, which follows fixed rules. To get a model: toolkiln setup)

    I did not understand that.
    The nearest that I know: Find all TODO comments in this project · List todos · Search for "connect(" in src/db
    `help` lists the rest. A model understands more: run `toolkiln setup`.
    "##);
    assert_snapshot!(tell("help find_definition"), @"
    (No model is at work: this is Toolkiln's built-in guide, which follows fixed rules. To get a model: toolkiln setup)

    find_definition: Find where a symbol is defined. Takes Type::method, pkg.Func.

    Usage: `/find_definition symbol=string [type=function|class|variable|import] [path=string] [context=integer] [max_results=integer]`
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
    message.content.push(Content::attached("src/main.rs", "grep x"));
    let messages = vec![message, said("[Automatic note] The user took back change 1.")];
    let (_, call) = read_answer(&answer(&request(&tools, messages)));
    let call = call.unwrap();
    assert_eq!(call.name, "read_file");
    assert_eq!(call.arguments["path"], "src/main.rs");
}

#[test]
fn an_answer_of_nothing_is_said_in_words() {
    let tools = tools_of(Vocabulary::Standard);
    let question = said("Find all references to main");
    let (_, call) = read_answer(&answer(&request(&tools, vec![question.clone()])));
    let result = answered("offline_1", Ok("".into()));
    let messages = vec![question, called(help::NOTICE, call.unwrap()), result];
    let (text, call) = read_answer(&answer(&request(&tools, messages)));
    assert_eq!((text.trim(), call), (NOTHING, None));
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

#[test]
fn the_documentation_lists_what_is_understood() {
    let document = include_str!("../../../docs/guide.md");
    for (request, effect) in examples() {
        let row = format!("| `{request}` | {effect} |");
        assert!(document.contains(&row), "docs/guide.md lacks {row}");
    }
}
