//! Calls and their answers.

use std::collections::BTreeSet;
use std::sync::Arc;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use mcp::ApproverChoice;
use serde_json::{Value, json};
use tool_system::{ToolRegistry, Vocabulary};

use crate::client::{Client, Era, Setup};
use crate::scripted_tools::{Panic, Wait};

#[tokio::test]
async fn an_answer_is_structured_for_programs_and_a_text_for_models() {
    let mut client = Client::new(Era::Stateless).await;
    let answer = client.call("glob", json!({"pattern": "*.rs"})).await;
    insta::assert_json_snapshot!(answer, @r#"
    {
      "jsonrpc": "2.0",
      "id": 1,
      "result": {
        "resultType": "complete",
        "content": [
          {
            "type": "text",
            "text": "src/: lib.rs main.rs"
          }
        ],
        "structuredContent": {
          "files": [
            "src/lib.rs",
            "src/main.rs"
          ],
          "total": 2,
          "message": "Found 2 files."
        },
        "isError": false,
        "_meta": {
          "anthropic/maxResultSizeChars": 500000
        }
      }
    }
    "#);
    let mut client = Client::new(Era::Handshake).await;
    let legacy = client.call("glob", json!({"pattern": "*.rs"})).await;
    assert_eq!(legacy["result"].get("resultType"), None);
    assert_eq!(legacy["result"]["structuredContent"], answer["result"]["structuredContent"]);
    assert_eq!(legacy["result"]["content"], answer["result"]["content"]);
}

/// Tools that run programs are called through the whole binary, which alone can confine them.
const RUN_PROGRAMS: [&str; 11] = [
    "bash",
    "format_code",
    "git_commit",
    "git_diff",
    "git_log",
    "git_push",
    "git_status",
    "install_package",
    "job",
    "run_code",
    "run_tests",
];

/// Calls that work one after the other. A tool that is not among them is called by its own example.
fn sensible_calls() -> Vec<(&'static str, Value)> {
    let patch = "*** Begin Patch\n*** Update File: b.txt\n@@\n-zwei\n+2\n*** End Patch";
    vec![
        ("glob", json!({"pattern": "**/*"})),
        ("grep", json!({"pattern": "fn", "context": 2})),
        ("search", json!({"query": "main function"})),
        ("find_definition", json!({"symbol": "main"})),
        ("find_references", json!({"symbol": "main"})),
        ("outline", json!({"path": "src"})),
        ("find_importers", json!({"target": "src/lib.rs"})),
        ("impact", json!({"target": "src/lib.rs"})),
        ("list_directory", json!({"recursive": true})),
        ("read", json!({"file_paths": ["src/main.rs", "missing.rs"]})),
        ("read_file", json!({"path": "src/main.rs", "limit": 1})),
        ("create_file", json!({"path": "new/a.txt", "content": "one\n", "description": "a list"})),
        ("append_file", json!({"path": "new/a.txt", "content": "two\nthree\n"})),
        ("replace_in_file", json!({"path": "new/a.txt", "find": "two", "replace": "zwei"})),
        ("replace_in_file", json!({"path": "new/a.txt", "find": "zwie", "replace": "2"})),
        (
            "replace_in_file",
            json!({"path": "new/a.txt", "find": "o", "replace": "0", "preview_only": true}),
        ),
        ("edit_lines", json!({"path": "new/a.txt", "operation": "delete", "start_line": 1})),
        ("move_file", json!({"from": "new/a.txt", "to": "b.txt"})),
        (
            "apply_changes",
            json!({"changes": [
                {"path": "b.txt", "search": "three", "replace": "drei"},
                {"path": "c.txt", "content": "new\n"},
                {"path": "src/lib.rs", "delete": true},
            ]}),
        ),
        ("apply_changes", json!({"patch": patch})),
        ("undo", json!({})),
        ("redo", json!({})),
        ("update_file", json!({"path": "b.txt", "content": "all of it\n"})),
        ("update_file", json!({"path": "b.txt", "content": "all of it\n"})),
        ("write_file", json!({"path": "dot.bin", "content": "AAEC/w==", "encoding": "base64"})),
        ("write_file", json!({"path": "b.txt", "content": "again\n"})),
        ("delete_file", json!({"path": "src", "recursive": true})),
        ("undo", json!({"session": true})),
        ("rename_symbol", json!({"symbol": "main", "new_name": "start"})),
        ("undo", json!({})),
    ]
}

fn fits_schema(tools: &[Value], name: &str, answer: &Value) {
    let tool = tools.iter().find(|tool| tool["name"] == name).expect(name);
    let validator = jsonschema::validator_for(&tool["outputSchema"]).expect("a valid schema");
    let content = &answer["result"]["structuredContent"];
    validator.validate(content).unwrap_or_else(|error| panic!("{name}: {error}: {answer}"));
}

#[tokio::test]
async fn structured_content_fits_the_output_schema() {
    let registry = ToolRegistry::builtin();
    let setup = Setup { approver: ApproverChoice::Configured, ..Setup::new(Era::Stateless) };
    let mut client = Client::open(setup).await;
    let list = client.request("tools/list", json!({})).await;
    let tools = list["result"]["tools"].as_array().expect("a list");
    let mut unseen: BTreeSet<&str> =
        tools.iter().filter_map(|tool| tool["name"].as_str()).collect();
    for (name, arguments) in sensible_calls() {
        let answer = client.call(name, arguments).await;
        assert_eq!(answer["result"]["isError"], false, "{name}: {answer}");
        fits_schema(tools, name, &answer);
        unseen.remove(name);
    }
    assert_eq!(client.project.read("src/main.rs"), "fn main() {}\n", "all of it was undone");
    unseen.retain(|name| !RUN_PROGRAMS.contains(name));
    for name in unseen {
        let tool = registry.get(Vocabulary::Standard, name).expect(name);
        let answer = client.call(name, Value::Object(tool.example())).await;
        assert_eq!(
            answer["result"]["isError"], false,
            "{name}: its example does not work in this project; put a call that does into \
             `sensible_calls`, or the name into `RUN_PROGRAMS`: {answer}"
        );
        fits_schema(tools, name, &answer);
    }
}

#[tokio::test]
async fn a_failed_call_is_a_result_with_code_and_suggestion() {
    for era in Era::BOTH {
        let mut client = Client::new(era).await;
        let mut answer = client.call("read_file", json!({"path": "src/man.rs"})).await;
        answer["result"].as_object_mut().expect("a result").shift_remove("resultType");
        insta::allow_duplicates! {
            insta::assert_json_snapshot!(answer["result"], @r#"
            {
              "content": [
                {
                  "type": "text",
                  "text": "src/man.rs does not exist\nDid you mean main.rs?"
                }
              ],
              "isError": true,
              "_meta": {
                "toolkiln/error": {
                  "code": "FILE_NOT_FOUND",
                  "message": "src/man.rs does not exist",
                  "suggestion": "Did you mean main.rs?",
                  "details": {
                    "path": "src/man.rs",
                    "similar": [
                      "src/main.rs"
                    ]
                  }
                }
              }
            }
            "#);
        }
    }
}

#[tokio::test]
async fn wrong_arguments_are_for_the_model_to_read() {
    let mut client = Client::new(Era::Handshake).await;
    let answer = client.call("read_file", json!({"file": "x"})).await;
    assert_eq!(answer["result"]["isError"], true);
    assert_eq!(answer["result"].get("structuredContent"), None);
    assert_eq!(answer["result"]["_meta"]["toolkiln/error"]["code"], "INVALID_ARGUMENTS");
    let text = answer["result"]["content"][0]["text"].as_str().expect("a text");
    assert!(!text.contains("INVALID_ARGUMENTS"), "{text}");
    let escape = client.call("read_file", json!({"path": "../x"})).await;
    assert_eq!(escape["result"]["_meta"]["toolkiln/error"]["code"], "INVALID_PATH");
}

#[tokio::test]
async fn an_unknown_tool_is_a_protocol_error_that_names_the_nearest() {
    for era in Era::BOTH {
        let mut client = Client::new(era).await;
        let answer = client.call("read_fiel", json!({})).await;
        assert_eq!(answer["error"]["code"], -32602);
        assert_eq!(
            answer["error"]["message"],
            "unknown tool `read_fiel`. Did you mean `read_file`?"
        );
        let tools = answer["error"]["data"]["tools"].as_array().expect("the names");
        assert!(tools.contains(&"grep".into()));
    }
}

#[tokio::test]
async fn parameters_that_do_not_fit_are_a_protocol_error() {
    for era in Era::BOTH {
        let mut client = Client::new(era).await;
        for params in [
            json!({"name": "read_file", "arguments": "README.md"}),
            json!({"arguments": {}}),
            json!({"name": 7}),
        ] {
            let answer = client.request("tools/call", params).await;
            assert_eq!(answer["error"]["code"], -32602, "{answer}");
        }
        client.assert_alive().await;
    }
}

#[tokio::test]
async fn names_of_other_vocabularies_are_understood() {
    let mut client = Client::new(Era::Stateless).await;
    let answer = client.call("find_files", json!({"pattern": "*.md"})).await;
    assert_eq!(answer["result"]["isError"], false, "{answer}");
}

#[tokio::test]
async fn a_tool_that_panics_fails_alone() {
    for era in Era::BOTH {
        let mut client = Client::with_tools(era, [Arc::new(Panic) as _]).await;
        let answer = client.call("panic", json!({})).await;
        assert_eq!(answer["result"]["isError"], true);
        let text = answer["result"]["content"][0]["text"].as_str().expect("a text");
        assert!(text.contains("out of cheese"), "{text}");
        client.assert_alive().await;
    }
}

#[tokio::test]
async fn a_slow_call_holds_up_no_other() {
    for era in Era::BOTH {
        let (wait, mut reports) = Wait::new();
        let mut client = Client::with_tools(era, [wait as _]).await;
        client.send_request("tools/call", json!({"name": "wait"})).await;
        assert_eq!(reports.recv().await, Some("begun"));
        client.assert_alive().await;
    }
}

#[tokio::test]
async fn many_calls_at_once_are_all_answered_once() {
    let mut client = Client::new(Era::Stateless).await;
    let mut ids = Vec::new();
    for _ in 0..200 {
        let call = json!({"name": "read_file", "arguments": {"path": "README.md"}});
        ids.push(client.send_request("tools/call", call).await);
    }
    let mut answered: Vec<i64> = Vec::new();
    for _ in &ids {
        let answer = client.next().await.expect("an answer");
        assert_eq!(answer["result"]["structuredContent"]["size"], 6);
        answered.extend(answer["id"].as_i64());
    }
    answered.sort_unstable();
    assert_eq!(answered, ids);
    assert_eq!(client.finish().await, Vec::<Value>::new());
}

#[tokio::test]
async fn an_image_is_a_block_of_its_own() {
    let pixel = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNkYPhfDwAChwGA60e6kgAAAABJRU5ErkJggg==";
    for era in Era::BOTH {
        let mut client = Client::new(era).await;
        client.project.write("shot.png", STANDARD.decode(pixel).unwrap());
        let answer = client.call("read_file", json!({"path": "shot.png"})).await;
        let content = answer["result"]["content"].as_array().unwrap();
        assert_eq!(content.len(), 2, "{answer}");
        assert!(content[0]["text"].as_str().unwrap().contains("1x1 pixels"));
        let block = json!({"type": "image", "data": pixel, "mimeType": "image/png"});
        assert_eq!(content[1], block);
        assert!(!answer["result"]["structuredContent"].to_string().contains(pixel));
    }
}
