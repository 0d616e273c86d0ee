//! Hosts that answer a question in every way but a clear yes: nothing is written.

use serde_json::{Value, json};

use crate::client::{Client, Era, Setup};
use crate::questions::{Question, accept, asked_client, assert_done, failure};

const BEFORE: &str = "hello\n";

async fn asked(client: &mut Client) -> Question {
    let arguments = json!({"path": "README.md", "content": "more\n"});
    Question::about(client, "append_file", arguments).await
}

/// Answers that come near a yes.
fn near_yes() -> Vec<Value> {
    let decided = |decision: Value| json!({"action": "accept", "content": {"decision": decision}});
    let mut answers = vec![
        json!(null),
        json!("accept"),
        json!(["accept"]),
        json!({"action": "ACCEPT", "content": {"decision": "once"}}),
        json!({"action": " accept", "content": {"decision": "once"}}),
        json!({"action": ["accept"], "content": {"decision": "once"}}),
        json!({"action": true, "content": {"decision": "once"}}),
        json!({"content": {"decision": "once"}}),
        json!({"action": "decline", "content": {"decision": "once"}}),
        json!({"action": "cancel", "content": {"decision": "always"}}),
        json!({"action": "accept", "decision": "once"}),
        json!({"action": "accept", "content": "once"}),
        json!({"action": "accept", "content": ["once"]}),
        json!({"action": "accept", "content": [{"decision": "once"}]}),
        json!({"action": "accept", "content": "{\"decision\": \"once\"}"}),
        json!({"action": "accept", "content": {"Decision": "once"}}),
        json!({"action": "accept", "content": {"note": "once"}}),
        json!({"action": "accept", "_meta": {"decision": "once"}}),
    ];
    let values =
        [json!("ONCE"), json!(" once"), json!("once\u{0}"), json!("Apply it"), json!("yes")];
    answers.extend(values.map(decided));
    let values = [json!(["once"]), json!({"const": "once"}), json!(0), json!(true), json!(null)];
    answers.extend(values.map(decided));
    answers
}

#[tokio::test]
async fn an_answer_that_is_nearly_a_yes_is_none() {
    for era in Era::BOTH {
        for reply in near_yes() {
            let mut client = asked_client(era).await;
            let question = asked(&mut client).await;
            let call = question.reply(&mut client, &reply).await;
            if era == Era::Handshake {
                // Whatever was not taken for an answer leaves the question open.
                question.reply(&mut client, &accept("deny")).await;
            }
            let answer = client.answer(call).await;
            let is_asked_again = answer["result"]["resultType"] == "input_required";
            let is_refused = answer["result"]["isError"] == true || answer.get("error").is_some();
            assert!(is_asked_again || is_refused, "{era:?} {reply}: {answer}");
            assert_eq!(client.project.read("README.md"), BEFORE, "{era:?} {reply}");
        }
    }
}

/// Lines that no two readers need understand in the same way, with `ID` for that of the question.
#[tokio::test]
async fn an_answer_that_contradicts_itself_is_none() {
    let yes = r#"{"action":"accept","content":{"decision":"once"}}"#;
    let error = r#"{"code":-32000,"message":"the user closed the window"}"#;
    let lines = [
        format!(r#"{{"jsonrpc":"2.0","id":ID,"result":{yes},"error":{error}}}"#),
        format!(r#"{{"jsonrpc":"2.0","id":ID,"error":{error},"result":{yes}}}"#),
        format!(r#"{{"jsonrpc":"2.0","id":ID,"result":{{"action":"decline"}},"result":{yes}}}"#),
        r#"{"jsonrpc":"2.0","id":ID,"result":{"action":"decline","action":"accept","content":{"decision":"once"}}}"#.to_owned(),
        r#"{"jsonrpc":"2.0","id":ID,"result":{"action":"accept","content":{"decision":"deny","decision":"once"}}}"#.to_owned(),
        format!(r#"{{"jsonrpc":"2.0","id":[ID],"result":{yes}}}"#),
        format!(r#"{{"jsonrpc":"2.0","result":{yes}}}"#),
        format!(r#"{{"jsonrpc":"2.0","id":ID,"method":"elicitation/create","params":{yes}}}"#),
        format!(r#"{{"jsonrpc":"2.0","id":ID,"method":"ping","params":7,"result":{yes}}}"#),
        format!(r#"{{"jsonrpc":"2.0","id":ID,"method":7,"result":{yes}}}"#),
        format!(r#"{{"jsonrpc":"2.0","method":"notifications/elicitation/complete","params":{yes}}}"#),
        format!(r#"{{"jsonrpc":"2.0","id":ID,"result":{yes}"#),
    ];
    for line in lines {
        let mut client = asked_client(Era::Handshake).await;
        let question = asked(&mut client).await;
        let sent = line.replace("ID", &question.open_question().to_string());
        client.send_line(sent.as_bytes()).await;
        question.reply(&mut client, &accept("deny")).await;
        let answer = loop {
            let message = client.next().await.expect("an answer to the call");
            // The request that pretends to be one of the server's own has the same id.
            if message["id"] == question.open_call() && message["result"]["content"].is_array() {
                break message;
            }
        };
        assert_eq!(answer["result"]["isError"], true, "{line}");
        assert!(matches!(failure(&answer).0, "REJECTED" | "APPROVAL_REQUIRED"), "{line}: {answer}");
        assert_eq!(client.project.read("README.md"), BEFORE, "{line}");
    }
}

/// The part of an answer that does not apply is null with some clients.
#[tokio::test]
async fn an_answer_with_an_error_that_is_null_is_an_answer() {
    let mut client = asked_client(Era::Handshake).await;
    let question = asked(&mut client).await;
    let id = question.open_question();
    client
        .send(&json!({"jsonrpc": "2.0", "id": id, "result": accept("once"), "error": null}))
        .await;
    assert_done(&client.answer(question.open_call()).await);
    assert_eq!(client.project.read("README.md"), "hello\nmore\n");
}

#[tokio::test]
async fn the_first_answer_counts() {
    let mut client = asked_client(Era::Handshake).await;
    let question = asked(&mut client).await;
    for reply in [accept("deny"), accept("once"), accept("always")] {
        question.reply(&mut client, &reply).await;
    }
    assert_eq!(failure(&client.answer(question.open_call()).await).0, "REJECTED");
    client.assert_alive().await;
    assert_eq!(client.project.read("README.md"), BEFORE);
    // What came too late is not kept for the next question either, which has another id.
    let next = asked(&mut client).await;
    assert_ne!(next.open_question(), question.open_question());
    question.reply(&mut client, &accept("once")).await;
    next.reply(&mut client, &accept("deny")).await;
    assert_eq!(failure(&client.answer(next.open_call()).await).0, "REJECTED");
    assert_eq!(client.project.read("README.md"), BEFORE);
}

/// Answers to questions that have not been asked yet.
#[tokio::test]
async fn an_answer_before_the_question_is_none() {
    let mut client = asked_client(Era::Handshake).await;
    for id in 0..20 {
        client.send(&json!({"jsonrpc": "2.0", "id": id, "result": accept("once")})).await;
    }
    let question = asked(&mut client).await;
    client.assert_alive().await;
    assert_eq!(client.project.read("README.md"), BEFORE);
    question.reply(&mut client, &accept("deny")).await;
    assert_eq!(failure(&client.answer(question.open_call()).await).0, "REJECTED");
}

/// The clock is stopped and jumps ahead whenever nothing else is left to do.
#[tokio::test(start_paused = true)]
async fn a_host_that_leaves_in_the_middle_of_a_form_has_not_agreed() {
    for era in Era::BOTH {
        for part in [
            "",
            r#"{"jsonrpc":"2.0","id":0,"result":{"action":"accept","content":{"decision":"once"}"#,
        ] {
            let mut client = asked_client(era).await;
            asked(&mut client).await;
            client.send_bytes(part.as_bytes()).await;
            let (_, project) = client.leave().await;
            assert_eq!(project.read("README.md"), BEFORE, "{era:?} {part}");
        }
    }
}

/// A yes that comes with the end of the call is too late, in whichever order they are sent after that.
#[tokio::test]
async fn a_yes_after_the_call_was_cancelled_is_none() {
    for version in ["2025-06-18", "2025-11-25"] {
        let capabilities = json!({"elicitation": {}});
        let setup = Setup { version, capabilities, ..Setup::new(Era::Handshake) };
        let mut client = Client::open(setup).await;
        let question = asked(&mut client).await;
        let params = json!({"requestId": question.open_call()});
        let cancel =
            json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": params});
        let yes =
            json!({"jsonrpc": "2.0", "id": question.open_question(), "result": accept("once")});
        // Both are there before the server reads either.
        client.send_bytes(format!("{cancel}\n{yes}\n{yes}\n").as_bytes()).await;
        client.assert_alive().await;
        let (_, project) = client.leave().await;
        assert_eq!(project.read("README.md"), BEFORE, "{version}");
    }
}
