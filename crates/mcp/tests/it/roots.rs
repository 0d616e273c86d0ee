//! Hosts that name the directories they work in.

use serde_json::{Value, json};

use crate::client::{Client, Era, Setup};

async fn client(project_is_assumed: bool) -> Client {
    let capabilities = json!({"roots": {"listChanged": true}});
    let assumed_root = project_is_assumed.then(|| "/home/u/project".into());
    Client::open(Setup { capabilities, assumed_root, ..Setup::new(Era::Handshake) }).await
}

/// Answers the question for roots, which must come.
async fn name_roots(client: &mut Client, roots: &[&str]) {
    let asked = client.next().await.expect("a question");
    assert_eq!(asked["method"], "roots/list", "{asked}");
    let roots: Vec<Value> = roots.iter().map(|uri| json!({"uri": uri})).collect();
    client.send(&json!({"jsonrpc": "2.0", "id": asked["id"], "result": {"roots": roots}})).await;
}

/// The result of calls once they are refused, or once they are not. What was said about roots is taken in beside the
/// calls that follow it.
async fn called_until(client: &mut Client, is_refused: bool) -> Value {
    let wanted = if is_refused { "a call that is refused" } else { "a call that is done" };
    for _ in testkit::in_time(wanted) {
        let mut answer = client.call("read_file", json!({"path": "README.md"})).await;
        if answer["result"]["isError"] == is_refused {
            return answer["result"].take();
        }
    }
    unreachable!("the loop ends by an answer or fails")
}

#[tokio::test]
async fn calls_are_refused_while_the_host_works_elsewhere() {
    let mut client = client(true).await;
    name_roots(&mut client, &["file:///home/u/other"]).await;
    let refused = called_until(&mut client, true).await;
    insta::assert_snapshot!(refused["content"][0]["text"].as_str().unwrap(), @r"
    the host works in file:///home/u/other, and this server serves /home/u/project, which is not a part of it
    The user can start `toolkiln mcp` with --root and the directory that is meant.
    ");
    client.send(&json!({"jsonrpc": "2.0", "method": "notifications/roots/list_changed"})).await;
    name_roots(&mut client, &["file:///home/u/other", "file:///home/u/project/src"]).await;
    called_until(&mut client, false).await;
    assert_eq!(client.finish().await, [Value::Null; 0]);
}

#[tokio::test]
async fn a_project_that_the_user_has_named_is_not_compared_with_roots() {
    let mut client = client(false).await;
    client.assert_alive().await;
    assert_eq!(client.finish().await, [Value::Null; 0]);
}
