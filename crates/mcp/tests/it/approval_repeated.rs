//! Calls that are repeated with an answer: it counts once, for a while, for what was shown.

use std::time::Duration;

use serde_json::{Value, json};

use crate::client::{Client, Era};
use crate::questions::{Question, accept, asked_client, assert_done, failure};

async fn asked(client: &mut Client) -> Question {
    let arguments = json!({"path": "README.md", "content": "more\n"});
    Question::about(client, "append_file", arguments).await
}

/// Sends a call that must lead to a question, and returns that.
async fn asks_again(client: &mut Client, call: Value) -> Question {
    let answer = client.request("tools/call", call.clone()).await;
    Question::in_answer(call, &answer)
}

#[tokio::test]
async fn an_answer_counts_once() {
    let mut client = asked_client(Era::Stateless).await;
    let question = asked(&mut client).await;
    assert_done(&question.answer(&mut client, accept("once")).await);
    asks_again(&mut client, question.repeated(&accept("once"))).await;
    assert_eq!(client.project.read("README.md"), "hello\nmore\n");
    // It does not count again for the former state of the file either, once that is known.
    client.project.write("README.md", "hello\n");
    client.assert_alive().await;
    asks_again(&mut client, question.repeated(&accept("once"))).await;
    assert_eq!(client.project.read("README.md"), "hello\n");
}

#[tokio::test]
async fn of_two_repetitions_at_once_one_counts() {
    let mut client = asked_client(Era::Stateless).await;
    let question = asked(&mut client).await;
    let first = question.reply(&mut client, &accept("once")).await;
    let second = question.reply(&mut client, &accept("once")).await;
    // The other is asked about again, or meets the file while it changes and conflicts.
    let answers = [client.answer(first).await, client.answer(second).await];
    let done = answers.iter().filter(|answer| answer["result"]["isError"] == false).count();
    assert_eq!(done, 1, "{answers:?}");
    assert_eq!(client.project.read("README.md"), "hello\nmore\n");
}

#[tokio::test]
async fn a_state_that_nobody_gave_out_is_asked_about() {
    let mut client = asked_client(Era::Stateless).await;
    let question = asked(&mut client).await;
    for state in [json!("0123456789abcdef0123456789abcdef"), json!(""), Value::Null] {
        let mut call = question.repeated(&accept("once"));
        call["requestState"] = state;
        asks_again(&mut client, call).await;
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
        asks_again(&mut client, call).await;
        // What was tried on something else is used up.
        asks_again(&mut client, question.repeated(&accept("once"))).await;
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
    let again = asks_again(&mut client, call).await;
    assert_done(&again.answer(&mut client, accept("once")).await);
    assert_eq!(client.project.read("README.md"), "hello\nmore\n");
}

#[tokio::test]
async fn an_answer_that_makes_no_sense_is_a_no() {
    let mut client = asked_client(Era::Stateless).await;
    for answer in [json!(7), json!("accept"), json!([]), json!({"action": "perhaps"})] {
        let question = asked(&mut client).await;
        assert_eq!(failure(&question.answer(&mut client, answer).await).0, "REJECTED");
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
async fn an_answer_that_comes_too_late_is_asked_for_again() {
    let mut client = asked_client(Era::Stateless).await;
    let question = asked(&mut client).await;
    tokio::time::advance(Duration::from_secs(601)).await;
    asks_again(&mut client, question.repeated(&accept("once"))).await;
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
    asks_again(&mut client, oldest.repeated(&accept("once"))).await;
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
