//! A host that leads its user to a page.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use async_trait::async_trait;
use mcp::{ApproverChoice, QuestionPage};
use protocol::{ApprovalRequest, ApprovalResponse, ToolError};
use serde_json::json;
use tokio::sync::watch;
use tool_system::Approver;

use crate::client::{Client, Era, Setup};
use crate::questions::{Question, assert_done, failure};

/// Shows its question some time after it was asked, and says yes when it is told to.
struct SlowPage {
    is_shown: AtomicBool,
    opened: watch::Sender<bool>,
}

/// Turns in which everything else that can run does.
const TURNS: usize = 64;

#[async_trait]
impl Approver for SlowPage {
    async fn decide(&self, request: &ApprovalRequest) -> Result<ApprovalResponse, ToolError> {
        let mut opened = self.opened.subscribe();
        opened.wait_for(|is_opened| *is_opened).await.expect("the page is there");
        Ok(request.approve())
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
}

async fn page_client(era: Era) -> (Client, Arc<SlowPage>) {
    let (is_shown, opened) = (AtomicBool::new(false), watch::Sender::new(false));
    let page = Arc::new(SlowPage { is_shown, opened });
    let approver = ApproverChoice::Page(Arc::clone(&page) as Arc<dyn QuestionPage>);
    let capabilities = json!({"elicitation": {"url": {}}});
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
        let (mut client, _page) = page_client(era).await;
        let arguments = json!({"path": "README.md", "content": "more\n"});
        let question = Question::about(&mut client, "append_file", arguments).await;
        let result = question.answer(&mut client, json!({"action": "decline"})).await;
        assert_eq!(failure(&result).0, "APPROVAL_REQUIRED", "{era:?}");
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
    while client.project.read("README.md") == "hello\n" {
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
async fn a_link_that_nobody_followed_in_time_ends_the_call() {
    let (mut client, page) = page_client(Era::Stateless).await;
    let arguments = json!({"path": "README.md", "content": "more\n"});
    let question = Question::about(&mut client, "append_file", arguments).await;
    tokio::time::advance(Duration::from_secs(601)).await;
    let answer = question.answer(&mut client, json!({"action": "accept"})).await;
    page.opened.send_replace(true);
    assert!(answer["error"].is_object() || answer["result"]["isError"] == true, "{answer}");
    assert_eq!(client.project.read("README.md"), "hello\n");
}
