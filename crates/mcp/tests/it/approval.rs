//! Changes are made when the host's user agrees, in both eras.

use std::time::Duration;

use mcp::ApproverChoice;
use serde_json::{Value, json};

use crate::client::{Client, Era, Setup};
use crate::questions::{Question, accept, asked_client, assert_done, failure};

fn append(text: &str) -> Value {
    json!({"path": "README.md", "content": text})
}

#[tokio::test]
async fn an_accepted_change_is_made_once() {
    for era in Era::BOTH {
        let mut client = asked_client(era).await;
        let question = Question::about(&mut client, "append_file", append("more\n")).await;
        assert_eq!(client.project.read("README.md"), "hello\n", "nothing before the answer");
        let answer = question.answer(&mut client, accept("once")).await;
        assert_done(&answer);
        assert!(answer["result"]["structuredContent"]["change_id"].is_string(), "{answer}");
        assert_eq!(client.project.read("README.md"), "hello\nmore\n");
        // A yes to one call is no yes to the next.
        Question::about(&mut client, "append_file", append("more\n")).await;
        assert_eq!(client.project.read("README.md"), "hello\nmore\n");
    }
}

#[tokio::test]
async fn a_no_of_the_user_reaches_the_model() {
    let noted = |action: &str| json!({"action": action, "content": {"decision": "deny", "note": "use update_file"}});
    let table = [
        (accept("deny"), "User rejected changes"),
        (noted("accept"), "use update_file"),
        (noted("decline"), "use update_file"),
        (json!({"action": "decline", "content": {"note": "not this"}}), "not this"),
    ];
    for era in Era::BOTH {
        let mut client = asked_client(era).await;
        for (reply, message) in &table {
            let question = Question::about(&mut client, "append_file", append("x\n")).await;
            let answer = question.answer(&mut client, reply.clone()).await;
            assert_eq!(failure(&answer), ("REJECTED", *message), "{era:?} {reply}");
        }
        assert_eq!(client.project.read("README.md"), "hello\n");
    }
}

#[tokio::test]
async fn an_answer_without_a_decision_is_not_taken_for_the_users() {
    let table = [
        (json!({"action": "decline"}), "decline"),
        (json!({"action": "cancel"}), "cancel"),
        (json!({"action": "accept"}), "accept"),
        (json!({"action": "accept", "content": {}}), "accept"),
        (json!({"action": "accept", "content": {"decision": "directories"}}), "accept"),
        (json!({"action": "accept", "content": {"decision": true, "note": " "}}), "accept"),
        (json!({"action": "decline", "content": {"decision": "once"}}), "decline"),
    ];
    for era in Era::BOTH {
        let mut client = asked_client(era).await;
        for (reply, action) in &table {
            let question = Question::about(&mut client, "append_file", append("x\n")).await;
            let answer = question.answer(&mut client, reply.clone()).await;
            let message = format!(
                "the host answered the question with `{action}` and no decision; the user may not \
                 have seen it, and nothing was done"
            );
            assert_eq!(
                failure(&answer),
                ("APPROVAL_REQUIRED", message.as_str()),
                "{era:?} {reply}"
            );
            let text = answer["result"]["content"][0]["text"].as_str().expect("a text");
            assert!(text.contains("--yes") && text.contains("--allow"), "{text}");
        }
        assert_eq!(client.project.read("README.md"), "hello\n");
    }
}

#[tokio::test]
async fn always_is_neither_offered_nor_taken_where_no_rule_can_say_it() {
    for era in Era::BOTH {
        let mut client = asked_client(era).await;
        let path = json!({"path": "README.md"});
        let question = Question::about(&mut client, "delete_file", path).await;
        let form = question.form.to_string();
        assert!(!form.to_lowercase().contains("always"), "{form}");
        let answer = question.answer(&mut client, accept("always")).await;
        assert_eq!(failure(&answer).0, "APPROVAL_REQUIRED");
        assert_eq!(client.project.read("README.md"), "hello\n");
    }
}

#[tokio::test]
async fn a_client_that_fails_to_ask_has_not_agreed() {
    let mut client = asked_client(Era::Handshake).await;
    for (key, reply) in [
        ("result", json!({"action": "perhaps"})),
        ("result", json!({})),
        ("error", json!({"code": -32601, "message": "no such method"})),
    ] {
        let question = Question::about(&mut client, "append_file", append("x\n")).await;
        let reply = json!({"jsonrpc": "2.0", "id": question.open_question(), key: reply});
        client.send(&reply).await;
        let answer = client.answer(question.open_call()).await;
        assert_eq!(failure(&answer).0, "APPROVAL_REQUIRED", "{reply}");
    }
    assert_eq!(client.project.read("README.md"), "hello\n");
}

#[tokio::test]
async fn a_yes_that_is_to_be_remembered_is_not_asked_for_again() {
    for era in Era::BOTH {
        let mut client = asked_client(era).await;
        let question = Question::about(&mut client, "append_file", append("1\n")).await;
        assert_done(&question.answer(&mut client, accept("always")).await);
        assert_done(&client.call("append_file", append("2\n")).await);
        assert_eq!(client.project.read("README.md"), "hello\n1\n2\n");

        let other = json!({"path": "src/lib.rs", "content": "// end\n"});
        let question = Question::about(&mut client, "append_file", other).await;
        assert_done(&question.answer(&mut client, accept("always")).await);
        // The neighbour is another file.
        let neighbour = json!({"path": "src/main.rs", "content": "// end\n"});
        Question::about(&mut client, "append_file", neighbour).await;
        assert_eq!(client.project.read("src/main.rs"), "fn main() {}\n");
    }
}

#[tokio::test]
async fn a_host_that_cannot_ask_is_told_how_to_allow_it() {
    for era in Era::BOTH {
        for capabilities in [json!({}), json!({"elicitation": {"url": {}}})] {
            let mut client = Client::open(Setup { capabilities, ..Setup::new(era) }).await;
            let answer = client.call("append_file", append("x\n")).await;
            assert_eq!(failure(&answer).0, "APPROVAL_REQUIRED");
            let text = answer["result"]["content"][0]["text"].as_str().expect("a text");
            assert!(text.contains("--yes") && text.contains("--allow"), "{text}");
            assert_eq!(client.project.read("README.md"), "hello\n");
            assert_eq!(client.finish().await, Vec::<Value>::new());
        }
    }
}

#[tokio::test]
async fn as_configured_the_host_is_not_asked() {
    for era in Era::BOTH {
        let capabilities = json!({"elicitation": {}});
        let setup = Setup { capabilities, approver: ApproverChoice::Configured, ..Setup::new(era) };
        let mut client = Client::open(setup).await;
        assert_done(&client.call("append_file", append("more\n")).await);
        assert_eq!(client.project.read("README.md"), "hello\nmore\n");
        assert_eq!(client.finish().await, Vec::<Value>::new());
    }
}

#[tokio::test]
async fn what_changes_nothing_is_never_asked_about() {
    let replace = |find: &str, preview: bool| json!({"path": "README.md", "find": find, "replace": "x", "preview_only": preview});
    for era in Era::BOTH {
        let mut client = asked_client(era).await;
        let preview = client.call("replace_in_file", replace("hello", true)).await;
        assert_eq!(preview["result"]["structuredContent"]["replacements"], 1, "{preview}");
        let miss = client.call("replace_in_file", replace("absent", false)).await;
        assert_eq!(miss["result"]["structuredContent"]["replacements"], 0, "{miss}");
        assert_eq!(client.project.read("README.md"), "hello\n");
        assert_eq!(client.finish().await, Vec::<Value>::new());
    }
}

#[tokio::test]
async fn an_open_question_holds_up_no_other_call() {
    for era in Era::BOTH {
        let mut client = asked_client(era).await;
        let first = Question::about(&mut client, "append_file", append("1\n")).await;
        client.assert_alive().await;
        let other = json!({"path": "src/lib.rs", "content": "// end\n"});
        let second = Question::about(&mut client, "append_file", other).await;
        assert_done(&second.answer(&mut client, accept("once")).await);
        assert_done(&first.answer(&mut client, accept("once")).await);
        assert_eq!(client.project.read("README.md"), "hello\n1\n");
    }
}

#[tokio::test]
async fn a_write_while_the_question_is_open_is_never_lost() {
    for era in Era::BOTH {
        let mut client = asked_client(era).await;
        let question = Question::about(&mut client, "append_file", append("more\n")).await;
        client.project.write("README.md", "another process\n");
        let answer = question.answer(&mut client, accept("once")).await;
        assert_eq!(client.project.read("README.md"), "another process\n");
        assert_eq!(failure(&answer).0, "CONFLICT");
    }
}

#[tokio::test]
async fn cancelling_a_call_withdraws_its_question() {
    let mut client = asked_client(Era::Handshake).await;
    let question = Question::about(&mut client, "append_file", append("more\n")).await;
    let params = json!({"requestId": question.open_call()});
    client
        .send(&json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": params}))
        .await;
    let withdrawn = client.next().await.expect("a notification");
    assert_eq!(withdrawn["method"], "notifications/cancelled");
    assert_eq!(withdrawn["params"]["requestId"], *question.open_question());

    question.reply(&mut client, &accept("once")).await;
    client.assert_alive().await;
    assert_eq!(client.project.read("README.md"), "hello\n", "the answer comes too late");
    assert_eq!(client.finish().await, Vec::<Value>::new());
}

/// The clock is stopped and moves when it is told to.
#[tokio::test(start_paused = true)]
async fn a_question_without_an_answer_ends_and_says_so() {
    let mut client = asked_client(Era::Handshake).await;
    let question = Question::about(&mut client, "append_file", append("more\n")).await;
    tokio::time::advance(Duration::from_secs(601)).await;
    let answer = client.answer(question.open_call()).await;
    let message = "the question was not answered within 10 minutes";
    assert_eq!(failure(&answer), ("APPROVAL_REQUIRED", message));
    let withdrawn = client.next().await.expect("a notification");
    assert_eq!(withdrawn["method"], "notifications/cancelled");
    question.reply(&mut client, &accept("once")).await;
    client.assert_alive().await;
    assert_eq!(client.project.read("README.md"), "hello\n");
}

/// The clock is stopped and jumps ahead whenever nothing else is left to do.
#[tokio::test(start_paused = true)]
async fn a_client_may_leave_a_question_open() {
    let mut client = asked_client(Era::Handshake).await;
    Question::about(&mut client, "append_file", append("more\n")).await;
    let before = tokio::time::Instant::now();
    client.finish().await;
    assert!(before.elapsed().as_secs() < 2, "clients kill after two seconds");
}
