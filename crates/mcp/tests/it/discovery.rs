//! What a client learns before it calls anything.

use serde_json::{Value, json};

use crate::client::{Client, Era};

#[tokio::test]
async fn initialize_negotiates_the_version_and_says_who_we_are() {
    let mut client = Client::silent(Era::Handshake, []);
    let answer = client.initialize("2025-11-25").await;
    insta::assert_json_snapshot!(answer["result"], @r#"
    {
      "protocolVersion": "2025-11-25",
      "capabilities": {
        "prompts": {},
        "tools": {}
      },
      "serverInfo": {
        "name": "toolkiln",
        "version": "0.1.0"
      },
      "instructions": "Tools for one project directory. Use them to explore code (find files, search text and symbols, list directories, read files and images), to edit files (replace text, edit lines, patch several files at once, rename symbols, move, delete), to run commands, tests and formatters in a sandbox, to look at and commit to git, and to undo and redo changes. Paths are relative to the project's root, and nothing outside can be reached. A result that was cut says how to get the rest; an error says what to do next."
    }
    "#);
    assert_eq!(client.request("ping", json!({})).await["result"], json!({}));
    assert!(client.finish().await.is_empty());
}

#[tokio::test]
async fn older_clients_get_their_version_and_unknown_ones_a_version_we_have() {
    for (asked, given) in [
        ("2025-06-18", "2025-06-18"),
        ("2024-11-05", "2024-11-05"),
        ("2026-07-28", "2025-11-25"),
        ("1999-01-01", "2025-11-25"),
    ] {
        let mut client = Client::silent(Era::Handshake, []);
        assert_eq!(client.initialize(asked).await["result"]["protocolVersion"], given);
    }
}

#[tokio::test]
async fn server_discover_tells_versions_and_capabilities() {
    let mut client = Client::new(Era::Stateless).await;
    let answer = client.request("server/discover", json!({})).await;
    insta::assert_json_snapshot!(answer["result"], @r#"
    {
      "resultType": "complete",
      "supportedVersions": [
        "2024-11-05",
        "2025-03-26",
        "2025-06-18",
        "2025-11-25",
        "2026-07-28"
      ],
      "capabilities": {
        "prompts": {},
        "tools": {}
      },
      "instructions": "Tools for one project directory. Use them to explore code (find files, search text and symbols, list directories, read files and images), to edit files (replace text, edit lines, patch several files at once, rename symbols, move, delete), to run commands, tests and formatters in a sandbox, to look at and commit to git, and to undo and redo changes. Paths are relative to the project's root, and nothing outside can be reached. A result that was cut says how to get the rest; an error says what to do next.",
      "ttlMs": 3600000,
      "cacheScope": "private",
      "_meta": {
        "io.modelcontextprotocol/serverInfo": {
          "name": "toolkiln",
          "version": "0.1.0"
        }
      }
    }
    "#);
}

#[tokio::test]
async fn after_discover_a_client_may_still_choose_the_handshake() {
    let mut client = Client::silent(Era::Stateless, []);
    client.request("server/discover", json!({})).await;
    assert_eq!(client.initialize("2025-11-25").await["result"]["serverInfo"]["name"], "toolkiln");
    let id = client.send_plain_request("tools/list", json!({})).await;
    assert!(client.answer(id).await["result"]["tools"].is_array());
}

#[tokio::test]
async fn a_stateless_request_has_to_say_its_version() {
    let mut client = Client::new(Era::Stateless).await;
    let id = client.send_plain_request("tools/list", json!({})).await;
    assert_eq!(client.answer(id).await["error"]["code"], -32602);
    let meta = json!({"_meta": {
        "io.modelcontextprotocol/protocolVersion": "2031-01-01",
        "io.modelcontextprotocol/clientCapabilities": {},
    }});
    let id = client.send_plain_request("tools/list", meta).await;
    let answer = client.answer(id).await;
    assert_eq!(answer["error"]["code"], -32022);
    assert_eq!(answer["error"]["data"]["requested"], "2031-01-01");
    client.assert_alive().await;
}

#[tokio::test]
async fn what_is_not_declared_does_not_exist() {
    for era in Era::BOTH {
        let mut client = Client::new(era).await;
        for (method, params) in [
            ("resources/list", json!({})),
            ("resources/templates/list", json!({})),
            ("resources/read", json!({"uri": "file:///x"})),
            ("resources/subscribe", json!({"uri": "file:///x"})),
            (
                "completion/complete",
                json!({"ref": {"type": "ref/prompt", "name": "x"}, "argument": {"name": "a", "value": ""}}),
            ),
            ("logging/setLevel", json!({"level": "info"})),
            ("subscriptions/listen", json!({"notifications": {"toolsListChanged": true}})),
            ("tasks/get", json!({"taskId": "x"})),
            ("no/such/method", json!({})),
        ] {
            let answer = client.request(method, params).await;
            assert_eq!(answer["error"]["code"], -32601, "{era:?} {method}: {answer}");
        }
        client.assert_alive().await;
    }
}

#[tokio::test]
async fn the_tool_list_is_the_same_every_time_and_for_every_client() {
    let mut lists = Vec::new();
    for era in Era::BOTH {
        let mut client = Client::new(era).await;
        for _ in 0..2 {
            let mut answer = client.request("tools/list", json!({})).await;
            assert_eq!(answer["result"]["ttlMs"], 3_600_000);
            assert_eq!(answer["result"]["cacheScope"], "private");
            assert_eq!(answer["result"].get("nextCursor"), None);
            lists.push(answer["result"]["tools"].take().to_string());
        }
    }
    assert!(lists.iter().all(|list| *list == lists[0]), "{lists:#?}");
}

#[tokio::test]
async fn every_tool_comes_with_hints_and_schemas() {
    let mut client = Client::new(Era::Stateless).await;
    let answer = client.request("tools/list", json!({})).await;
    let tools = answer["result"]["tools"].as_array().expect("a list");
    let names: Vec<&str> = tools.iter().filter_map(|tool| tool["name"].as_str()).collect();
    assert!(["grep", "glob", "read_file"].iter().all(|name| names.contains(name)), "{names:?}");
    for tool in tools {
        let name = &tool["name"];
        assert!(tool["description"].as_str().is_some_and(|text| text.len() > 20), "{name}");
        assert_eq!(tool["inputSchema"]["type"], "object", "{name}");
        assert!(tool["inputSchema"]["properties"].is_object(), "{name}");
        assert!(tool["title"].as_str().is_some_and(|title| !title.contains('_')), "{name}");
        assert!(tool["title"].is_string(), "{name}");
        assert_eq!(tool["outputSchema"]["type"], "object", "{name}");
        jsonschema::meta::validate(&tool["inputSchema"]).expect("a valid schema");
        jsonschema::meta::validate(&tool["outputSchema"]).expect("a valid schema");
        assert!(tool["annotations"]["readOnlyHint"].is_boolean(), "{name}");
        assert!(tool["annotations"]["openWorldHint"].is_boolean(), "{name}");
    }
    let grep = tools.iter().find(|tool| tool["name"] == "grep").expect("grep is there");
    assert_eq!(grep["annotations"], json!({"readOnlyHint": true, "openWorldHint": false}));
}

#[tokio::test]
async fn a_cursor_that_was_not_given_out_is_refused() {
    let mut client = Client::new(Era::Handshake).await;
    let answer = client.request("tools/list", json!({"cursor": "2"})).await;
    assert_eq!(answer["error"]["code"], -32602);
    assert_eq!(client.request("tools/list", Value::Null).await["error"], Value::Null);
}

#[test]
fn the_manifest_for_the_registry_is_valid_and_up_to_date() {
    let manifest: Value = serde_json::from_str(include_str!("../../../../server.json")).unwrap();
    let text = |key: &str| manifest[key].as_str().expect("a text");
    assert_eq!(text("version"), env!("CARGO_PKG_VERSION"));
    assert!(text("description").len() <= 100, "the registry takes no more");
    let (namespace, name) = text("name").split_once('/').expect("one slash");
    assert!(namespace.contains('.') && name == "toolkiln", "{}", text("name"));
}
