//! Calls that are repeated with an answer: it counts once, for a while, for what was shown.

use std::sync::Arc;
use std::time::Duration;

use serde_json::{Value, json};
use tool_system::Tool;

use crate::client::{Client, Era, Setup};
use crate::questions::{Question, accept, asked_client, assert_done, failure};
use crate::scripted_tools::Counter;

async fn asked(client: &mut Client) -> Question {
    let arguments = json!({"path": "README.md", "content": "more\n"});
    Question::about(client, "append_file", arguments).await
}

/// Sends an answer that belongs to no question: nothing is run or asked for it.
async fn is_refused(client: &mut Client, call: Value) {
    let answer = client.request("tools/call", call).await;
    assert_eq!(answer["error"]["code"], -32602, "{answer}");
    assert_eq!(answer["error"]["data"]["code"], "APPROVAL_REQUIRED", "{answer}");
    let message = answer["error"]["message"].as_str().unwrap();
    assert!(message.starts_with("this answer belongs to no open question"), "{message}");
}

#[tokio::test]
async fn an_answer_counts_once() {
    let mut client = asked_client(Era::Stateless).await;
    let question = asked(&mut client).await;
    assert_done(&question.answer(&mut client, accept("once")).await);
    is_refused(&mut client, question.repeated(&accept("once"))).await;
    assert_eq!(client.project.read("README.md"), "hello\nmore\n");
    // It does not count again for the former state of the file either, once that is known.
    client.project.write("README.md", "hello\n");
    client.assert_alive().await;
    is_refused(&mut client, question.repeated(&accept("once"))).await;
    assert_eq!(client.project.read("README.md"), "hello\n");
}

#[tokio::test]
async fn what_was_run_is_never_run_again_for_an_answer() {
    let counter = Counter::new("n.txt");
    let capabilities = json!({"elicitation": {}});
    let tools: Vec<Arc<dyn Tool>> = vec![counter.clone()];
    let setup = Setup { capabilities, tools, ..Setup::new(Era::Stateless) };
    let mut client = Client::open(setup).await;
    let question = Question::about(&mut client, "counter", json!({})).await;
    assert!(question.form["message"].as_str().unwrap().contains("\n+run 1\n"));
    assert_done(&question.answer(&mut client, accept("once")).await);
    assert_eq!(client.project.read("n.txt"), "run 1\n");
    assert_eq!(counter.runs(), 1);
}

#[tokio::test]
async fn of_two_repetitions_at_once_one_counts() {
    let mut client = asked_client(Era::Stateless).await;
    let question = asked(&mut client).await;
    let first = question.reply(&mut client, &accept("once")).await;
    let second = question.reply(&mut client, &accept("once")).await;
    let answers = [client.answer(first).await, client.answer(second).await];
    let done = answers.iter().filter(|answer| answer["result"]["isError"] == false).count();
    assert_eq!(done, 1, "{answers:?}");
    assert_eq!(client.project.read("README.md"), "hello\nmore\n");
}

#[tokio::test]
async fn a_state_that_was_not_given_out_answers_nothing() {
    let mut client = asked_client(Era::Stateless).await;
    let question = asked(&mut client).await;
    for state in [json!("0123456789abcdef0123456789abcdef"), json!(""), Value::Null] {
        let mut call = question.repeated(&accept("once"));
        call["requestState"] = state;
        is_refused(&mut client, call).await;
    }
    assert_eq!(client.project.read("README.md"), "hello\n");
    // The question itself still stands.
    assert_done(&question.answer(&mut client, accept("once")).await);
}

#[tokio::test]
async fn an_answer_to_other_arguments_or_another_tool_is_none() {
    let mut client = asked_client(Era::Stateless).await;
    for (key, value) in [
        ("arguments", json!({"path": "README.md", "content": "other\n"})),
        ("arguments", json!({"path": "src/lib.rs", "content": "more\n"})),
        ("arguments", json!({"path": "./README.md", "content": "more\n"})),
        ("name", json!("update_file")),
    ] {
        let question = asked(&mut client).await;
        let mut call = question.repeated(&accept("once"));
        call[key] = value;
        is_refused(&mut client, call).await;
        // What was tried on something else is used up.
        is_refused(&mut client, question.repeated(&accept("once"))).await;
    }
    assert_eq!(client.project.read("README.md"), "hello\n");
    assert_eq!(client.project.read("src/lib.rs"), "pub fn answer() -> u32 { 42 }\n");
}

#[tokio::test]
async fn the_order_of_the_arguments_does_not_matter() {
    let mut client = asked_client(Era::Stateless).await;
    let question = asked(&mut client).await;
    let mut call = question.repeated(&accept("once"));
    call["arguments"] = json!({"content": "more\n", "path": "README.md"});
    assert_done(&client.request("tools/call", call).await);
}

#[tokio::test]
async fn a_repetition_without_the_answer_is_asked_again() {
    let mut client = asked_client(Era::Stateless).await;
    let question = asked(&mut client).await;
    let mut call = question.repeated(&accept("once"));
    call["inputResponses"] = json!({"something_else": accept("once")});
    let answer = client.request("tools/call", call.clone()).await;
    let again = Question::in_answer(call, &answer);
    assert_eq!(again.form, question.form);
    assert_done(&again.answer(&mut client, accept("once")).await);
    assert_eq!(client.project.read("README.md"), "hello\nmore\n");
}

#[tokio::test]
async fn an_answer_that_makes_no_sense_is_no_decision_of_the_user() {
    let mut client = asked_client(Era::Stateless).await;
    for answer in [json!(7), json!("accept"), json!([]), json!({"action": "perhaps"})] {
        let question = asked(&mut client).await;
        assert_eq!(failure(&question.answer(&mut client, answer).await).0, "APPROVAL_REQUIRED");
    }
    assert_eq!(client.project.read("README.md"), "hello\n");
}

#[tokio::test]
async fn a_file_that_is_gone_meanwhile_is_not_made_anew() {
    let mut client = asked_client(Era::Stateless).await;
    let question = asked(&mut client).await;
    let path = json!({"path": "README.md"});
    let deletion = Question::about(&mut client, "delete_file", path.clone()).await;
    assert_done(&deletion.answer(&mut client, accept("once")).await);
    let answer = question.answer(&mut client, accept("once")).await;
    assert_eq!(failure(&answer).0, "FILE_NOT_FOUND");
    assert_eq!(failure(&client.call("read_file", path).await).0, "FILE_NOT_FOUND");
}

/// The clock is stopped and moves when it is told to.
#[tokio::test(start_paused = true)]
async fn an_answer_that_comes_too_late_counts_for_nothing() {
    let mut client = asked_client(Era::Stateless).await;
    let question = asked(&mut client).await;
    tokio::time::advance(Duration::from_secs(601)).await;
    is_refused(&mut client, question.repeated(&accept("once"))).await;
    assert_eq!(client.project.read("README.md"), "hello\n");
}

#[tokio::test]
async fn of_very_many_questions_the_oldest_is_forgotten() {
    let mut client = asked_client(Era::Stateless).await;
    let oldest = asked(&mut client).await;
    let mut newest = asked(&mut client).await;
    for _ in 0..63 {
        newest = asked(&mut client).await;
    }
    is_refused(&mut client, oldest.repeated(&accept("once"))).await;
    assert_done(&newest.answer(&mut client, accept("once")).await);
    assert_eq!(client.project.read("README.md"), "hello\nmore\n");
}

#[tokio::test]
async fn cancelling_a_call_that_has_ended_leaves_its_question_open() {
    let mut client = asked_client(Era::Stateless).await;
    let question = asked(&mut client).await;
    let cancel = |id: i64| json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": id}});
    client.send(&cancel(1)).await;
    assert_done(&question.answer(&mut client, accept("once")).await);
    assert_eq!(client.project.read("README.md"), "hello\nmore\n");
}

#[tokio::test]
async fn answers_to_two_calls_are_not_mixed_up() {
    let mut client = asked_client(Era::Stateless).await;
    let readme = asked(&mut client).await;
    let arguments = json!({"path": "src/lib.rs", "content": "// end\n"});
    let library = Question::about(&mut client, "append_file", arguments).await;
    // The id of one with the call of the other.
    let mut call = library.repeated(&accept("once"));
    call["requestState"] = readme.repeated(&accept("once"))["requestState"].clone();
    is_refused(&mut client, call).await;
    assert_eq!(client.project.read("README.md"), "hello\n");
    assert_eq!(client.project.read("src/lib.rs"), "pub fn answer() -> u32 { 42 }\n");
    assert_done(&library.answer(&mut client, accept("once")).await);
    assert_eq!(client.project.read("README.md"), "hello\n");
}

#[tokio::test]
async fn ids_cannot_be_told_from_one_another() {
    let mut client = asked_client(Era::Stateless).await;
    let mut ids = std::collections::BTreeSet::new();
    for _ in 0..20 {
        let call = asked(&mut client).await.repeated(&accept("once"));
        let id = call["requestState"].as_str().unwrap().to_owned();
        assert_eq!(id.len(), 32);
        ids.insert(id);
    }
    assert_eq!(ids.len(), 20);
}
