//! Prompts in both eras.

use serde_json::json;

use crate::client::{Client, Era};

#[tokio::test]
async fn prompts_are_listed_and_filled_in() {
    for era in Era::BOTH {
        let mut client = Client::new(era).await;
        let listed = client.request("prompts/list", json!({})).await;
        let prompts = listed["result"]["prompts"].as_array().unwrap();
        let names: Vec<&str> = prompts.iter().map(|it| it["name"].as_str().unwrap()).collect();
        assert_eq!(names, ["explore", "review_changes", "fix_tests", "explain"]);
        for name in &names[..3] {
            let told = client.request("prompts/get", json!({"name": name})).await;
            let text = told["result"]["messages"][0]["content"]["text"].as_str().unwrap();
            assert!(!text.contains("\n\n"), "{text}");
        }
        let given = json!({"name": "fix_tests", "arguments": {"tests": "parser"}});
        let told = client.request("prompts/get", given).await;
        let text = told["result"]["messages"][0]["content"]["text"].as_str().unwrap();
        assert!(text.ends_with("\n\nRun only these tests: parser"), "{text}");
        for wrong in [
            json!({"name": "explain"}),
            json!({"name": "explain", "arguments": {"path": " "}}),
            json!({"name": "nothing"}),
            json!({}),
        ] {
            let refused = client.request("prompts/get", wrong).await;
            assert_eq!(refused["error"]["code"], -32602, "{era:?}: {refused}");
        }
        let refused = client.request("prompts/list", json!({"cursor": "x"})).await;
        assert_eq!(refused["error"]["code"], -32602);
    }
}
