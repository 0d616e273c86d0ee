//! A host that leads its user to a page.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use async_trait::async_trait;
use mcp::{ApproverChoice, QuestionPage};
use protocol::{ApprovalRequest, ApprovalResponse, ErrorCode, ToolError};
use serde_json::json;
use tokio::sync::watch;
use tool_system::Approver;

use crate::client::{Client, Era, Setup};
use crate::questions::{Question, assert_done, failure};

/// Shows its question some time after it was asked, and says yes when it is told to.
#[derive(Default)]
struct SlowPage {
    is_shown: AtomicBool,
    opened: watch::Sender<bool>,
    declined: watch::Sender<bool>,
    /// For each answer of a client by a form, whether it is a yes.
    kept: Mutex<Vec<bool>>,
    /// Whether the answers can be kept.
    is_full: AtomicBool,
}

/// Turns in which everything else that can run does.
const TURNS: usize = 64;

#[async_trait]
impl Approver for SlowPage {
    async fn decide(&self, request: &ApprovalRequest) -> Result<ApprovalResponse, ToolError> {
        let (mut opened, mut declined) = (self.opened.subscribe(), self.declined.subscribe());
        tokio::select! {
            _ = opened.wait_for(|is_opened| *is_opened) => Ok(request.approve()),
            _ = declined.wait_for(|is_declined| *is_declined) => Ok(ApprovalResponse::no(None)),
        }
    }
}

#[async_trait]
impl QuestionPage for SlowPage {
    fn address(&self, request: &ApprovalRequest) -> String {
        format!("http://page.test/{}", request.proposal_hash)
    }

    async fn shown(&self, _: &ApprovalRequest) {
        for _ in 0..TURNS {
            tokio::task::yield_now().await;
        }
        self.is_shown.store(true, Ordering::SeqCst);
    }

    fn decline(&self, _: &ApprovalRequest) -> bool {
        self.declined.send_replace(true);
        true
    }

    async fn keep_answer(
        &self,
        _: &ApprovalRequest,
        response: ApprovalResponse,
    ) -> Result<(), ToolError> {
        if self.is_full.load(Ordering::SeqCst) {
            return Err(ToolError::new(ErrorCode::ExecutionError, "nothing can be kept"));
        }
        self.kept.lock().unwrap().push(response.is_approved());
        Ok(())
    }
}

async fn page_client(era: Era) -> (Client, Arc<SlowPage>) {
    client_that_shows("url", era).await
}

async fn client_that_shows(way: &str, era: Era) -> (Client, Arc<SlowPage>) {
    let page = Arc::new(SlowPage::default());
    let approver = ApproverChoice::Page(Arc::clone(&page) as Arc<dyn QuestionPage>);
    let capabilities = json!({"elicitation": {way: {}}});
    (Client::open(Setup { capabilities, approver, ..Setup::new(era) }).await, page)
}

#[tokio::test]
async fn the_link_comes_when_the_page_shows_the_question() {
    for era in [Era::Handshake, Era::Stateless] {
        let (mut client, page) = page_client(era).await;
        let arguments = json!({"path": "new.txt", "content": "new\n"});
        let question = Question::about(&mut client, "create_file", arguments).await;
        assert!(page.is_shown.load(Ordering::SeqCst), "{era:?}: {}", question.form);
        let address = question.form["url"].as_str().expect("a link");
        assert!(address.starts_with("http://page.test/"), "{address}");

        page.opened.send_replace(true);
        assert_done(&question.answer(&mut client, json!({"action": "accept"})).await);
        assert_eq!(client.project.read("new.txt"), "new\n");
    }
}

#[tokio::test]
async fn a_user_who_does_not_open_the_page_has_not_approved() {
    for era in [Era::Handshake, Era::Stateless] {
        let (mut client, page) = page_client(era).await;
        let arguments = json!({"path": "README.md", "content": "more\n"});
        let question = Question::about(&mut client, "append_file", arguments).await;
        let result = question.answer(&mut client, json!({"action": "decline"})).await;
        assert_eq!(failure(&result).0, "APPROVAL_REQUIRED", "{era:?}");
        assert_eq!(client.project.read("README.md"), "hello\n");
        // The page has the answer, as if it had been given there.
        assert!(*page.declined.borrow(), "{era:?}");
    }
}

#[tokio::test]
async fn the_page_keeps_what_a_client_answers_by_a_form_before_anything_is_done() {
    let answers = [
        (json!({"action": "accept", "content": {"decision": "once"}}), true),
        (json!({"action": "accept", "content": {"decision": "deny"}}), false),
        (json!({"action": "decline"}), false),
    ];
    for era in [Era::Handshake, Era::Stateless] {
        for (answer, is_yes) in &answers {
            let (mut client, page) = client_that_shows("form", era).await;
            let arguments = json!({"path": "README.md", "content": "more\n"});
            let question = Question::about(&mut client, "append_file", arguments).await;
            question.answer(&mut client, answer.clone()).await;
            assert_eq!(*page.kept.lock().unwrap(), [*is_yes], "{era:?}: {answer}");
            assert_eq!(client.project.read("README.md") != "hello\n", *is_yes, "{era:?}");
        }
        let (mut client, page) = client_that_shows("form", era).await;
        page.is_full.store(true, Ordering::SeqCst);
        let arguments = json!({"path": "README.md", "content": "more\n"});
        let question = Question::about(&mut client, "append_file", arguments).await;
        let result = question.answer(&mut client, answers[0].0.clone()).await;
        assert_eq!(failure(&result).0, "EXECUTION_ERROR", "{era:?}");
        assert_eq!(client.project.read("README.md"), "hello\n");
    }
}

/// The clock is stopped and moves when it is told to.
#[tokio::test(start_paused = true)]
async fn what_was_approved_on_the_page_is_told_to_a_client_that_comes_back_late() {
    let (mut client, page) = page_client(Era::Stateless).await;
    let arguments = json!({"path": "README.md", "content": "more\n"});
    let question = Question::about(&mut client, "append_file", arguments).await;
    page.opened.send_replace(true);
    for _ in testkit::in_time("the change that was approved") {
        if client.project.read("README.md") != "hello\n" {
            break;
        }
        tokio::task::yield_now().await;
    }
    tokio::time::advance(Duration::from_secs(601)).await;
    // Other questions do not end it either.
    page.opened.send_replace(false);
    let arguments = json!({"path": "other.txt", "content": "other\n"});
    Question::about(&mut client, "create_file", arguments).await;
    assert_done(&question.answer(&mut client, json!({"action": "accept"})).await);
}

#[tokio::test(start_paused = true)]
async fn a_link_that_was_not_followed_in_time_ends_the_call() {
    let (mut client, page) = page_client(Era::Stateless).await;
    let arguments = json!({"path": "README.md", "content": "more\n"});
    let question = Question::about(&mut client, "append_file", arguments).await;
    tokio::time::advance(Duration::from_secs(601)).await;
    let answer = question.answer(&mut client, json!({"action": "accept"})).await;
    page.opened.send_replace(true);
    assert!(answer["error"].is_object() || answer["result"]["isError"] == true, "{answer}");
    assert_eq!(client.project.read("README.md"), "hello\n");
}
