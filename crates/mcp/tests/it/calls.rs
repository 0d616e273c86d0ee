//! Calls and their answers.

use std::sync::Arc;

use serde_json::{Value, json};

use crate::client::{Client, Era};
use crate::scripted_tools::{Panic, Wait};

#[tokio::test]
async fn an_answer_is_structured_and_the_same_as_text() {
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
            "text": "{\"files\":[\"src/lib.rs\",\"src/main.rs\"],\"total\":2,\"message\":\"Found 2 files.\"}"
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
        "isError": false
      }
    }
    "#);
    let mut client = Client::new(Era::Handshake).await;
    let legacy = client.call("glob", json!({"pattern": "*.rs"})).await;
    assert_eq!(legacy["result"].get("resultType"), None);
    assert_eq!(legacy["result"]["structuredContent"], answer["result"]["structuredContent"]);
    let text = legacy["result"]["content"][0]["text"].as_str().expect("a text");
    assert_eq!(text, legacy["result"]["structuredContent"].to_string());
}

#[tokio::test]
async fn structured_content_fits_the_output_schema() {
    let mut client = Client::new(Era::Stateless).await;
    let list = client.request("tools/list", json!({})).await;
    for (name, arguments) in [
        ("glob", json!({"pattern": "**/*"})),
        ("grep", json!({"pattern": "fn", "context": 2})),
        ("list_directory", json!({"recursive": true})),
        ("read", json!({"file_paths": ["src/main.rs", "missing.rs"]})),
        ("read_file", json!({"path": "src/main.rs", "limit": 1})),
    ] {
        let tools = list["result"]["tools"].as_array().expect("a list");
        let tool = tools.iter().find(|tool| tool["name"] == name).expect(name);
        let answer = client.call(name, arguments).await;
        let validator = jsonschema::validator_for(&tool["outputSchema"]).expect("a valid schema");
        let content = &answer["result"]["structuredContent"];
        validator.validate(content).unwrap_or_else(|error| panic!("{name}: {error}: {answer}"));
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
                  "text": "FILE_NOT_FOUND: src/man.rs does not exist\nDid you mean src/main.rs?"
                }
              ],
              "isError": true,
              "_meta": {
                "toolkiln/error": {
                  "code": "FILE_NOT_FOUND",
                  "message": "src/man.rs does not exist",
                  "suggestion": "Did you mean src/main.rs?",
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
    assert!(text.starts_with("INVALID_ARGUMENTS: "), "{text}");
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
            "there is no tool called `read_fiel`. Did you mean `read_file`?"
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
        assert!(text.starts_with("INTERNAL: ") && text.contains("out of cheese"), "{text}");
        client.assert_alive().await;
    }
}

#[tokio::test]
async fn a_slow_call_holds_up_nobody() {
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
