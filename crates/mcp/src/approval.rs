//! Asking the user through the host, by elicitation.
//!
//! Up to revision 2025-11-25 the server asks the client while the call is open. From 2026-07-28 on
//! the call ends with "input required", and the client repeats it with the answer: see
//! [`waiting_calls`](crate::waiting_calls).
//!
//! Where there is a page of ours, the host is sent a link to it, and the answer is given on the page.

use std::fmt;
use std::sync::Arc;

use async_trait::async_trait;
use protocol::{ApprovalRequest, ApprovalResponse, ErrorCode, ToolError};
use rmcp::model::{
    CancelledNotificationParam, ClientCapabilities, ClientResult, ElicitRequest, ElicitationAction,
    ProtocolVersion, RequestId, ServerRequest,
};
use rmcp::service::{Peer, PeerRequestOptions, RoleServer, ServiceError};
use tokio::runtime::Handle;
use tool_system::{Approver, RefuseAll};

use crate::question::{HOW_TO_ALLOW, form, link, not_opened, response_to};

/// The approver of calls.
#[derive(Clone)]
pub enum ApproverChoice {
    /// The host's user, by elicitation, if the host can ask.
    Host,
    /// The approver that the executor was made with.
    Configured,
    /// The user on a page of ours. A client that may answer questions itself and shows forms, but no
    /// links, is asked as a host.
    Page(Arc<dyn QuestionPage>),
}

impl fmt::Debug for ApproverChoice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Host => "Host",
            Self::Configured => "Configured",
            Self::Page(_) => "Page",
        })
    }
}

/// A page that shows questions and takes the answers. As an approver, it puts a question on the page and
/// waits for its answer there.
#[async_trait]
pub trait QuestionPage: Approver {
    /// The address at which the page shows exactly this question.
    fn address(&self, request: &ApprovalRequest) -> String;

    /// Waits until a question that is being decided can be answered on the page.
    async fn shown(&self, request: &ApprovalRequest);

    /// The client does not lead its user to the page: a no to a question that is being decided, unless it has an
    /// answer. Answers whether it counts.
    fn decline(&self, request: &ApprovalRequest) -> bool;

    /// Keeps what the client has answered to a question that only it was asked, before anything is done about it.
    async fn keep_answer(
        &self,
        request: &ApprovalRequest,
        response: ApprovalResponse,
    ) -> Result<(), ToolError>;
}

/// How the wait of a client ends whose user is to answer on the page.
pub(crate) enum LeadingEnd {
    /// The user, or the host alone, does not want to open the page.
    Declined,
    /// The client does not wait any more.
    Withdrawn,
}

/// Puts a question on the page. `leading`, which tells the client of it, begins once the question stands
/// there: a user who follows the link must find it. It may end the wait, but what the user has answered by then
/// counts: the page has said so already. Which answer is first is decided by the page, which keeps it.
pub(crate) async fn decided_on(
    page: &dyn QuestionPage,
    request: &ApprovalRequest,
    leading: impl Future<Output = LeadingEnd>,
) -> Result<ApprovalResponse, ToolError> {
    let mut on_page = page.decide(request);
    tokio::select! {
        biased;
        response = &mut on_page => return response,
        () = page.shown(request) => {}
    }
    let end = tokio::select! {
        biased;
        response = &mut on_page => return response,
        end = leading => end,
    };
    match end {
        LeadingEnd::Withdrawn => Err(withdrawn()),
        LeadingEnd::Declined if page.decline(request) => on_page.await.and(Err(not_opened())),
        LeadingEnd::Declined => on_page.await,
    }
}

/// Has the page, if there is one, keep what a client has answered by a form. An answer without a decision ends the
/// question like a no, and is kept as one.
pub(crate) async fn kept(
    page: Option<&dyn QuestionPage>,
    request: &ApprovalRequest,
    answer: Result<ApprovalResponse, ToolError>,
) -> Result<ApprovalResponse, ToolError> {
    if let Some(page) = page {
        let undecided = |error: &ToolError| ApprovalResponse::no(Some(error.message.clone()));
        let response = answer.as_ref().map_or_else(undecided, Clone::clone);
        page.keep_answer(request, response).await?;
    }
    answer
}

/// The call that has asked has ended, or was given up.
pub(crate) fn withdrawn() -> ToolError {
    ToolError::new(ErrorCode::Cancelled, "the question was withdrawn")
}

/// Whether a client can show a form. One that names no way of asking means forms.
pub(crate) fn shows_forms(client: &ClientCapabilities) -> bool {
    client.elicitation.as_ref().is_some_and(|can| can.form.is_some() || can.url.is_none())
}

/// Whether a client can lead its user to a page.
pub(crate) fn shows_links(client: &ClientCapabilities) -> bool {
    client.elicitation.as_ref().is_some_and(|can| can.url.is_some())
}

/// The approver for hosts that cannot ask.
pub(crate) fn no_approver() -> RefuseAll {
    RefuseAll { how_to_allow: format!("This host cannot ask the user. {HOW_TO_ALLOW}") }
}

/// Asks while the call is open: for clients of earlier revisions.
pub(crate) struct ElicitingApprover<'a> {
    pub(crate) peer: &'a Peer<RoleServer>,
    pub(crate) version: ProtocolVersion,
    /// Keeps the answers.
    pub(crate) page: Option<&'a dyn QuestionPage>,
}

#[async_trait]
impl Approver for ElicitingApprover<'_> {
    async fn decide(&self, request: &ApprovalRequest) -> Result<ApprovalResponse, ToolError> {
        let form = ElicitRequest::new(form(request, &self.version)?);
        match self.ask(form).await {
            Ok(ClientResult::ElicitResult(answer)) => {
                let answer = serde_json::to_value(answer).unwrap_or_default();
                kept(self.page, request, response_to(request, &answer)).await
            }
            Ok(_) => Err(unanswered("the answer is not one to this question")),
            Err(error) => Err(unanswered(&error.to_string())),
        }
    }
}

/// Has the client lead its user to the page, and waits for the answer there: for clients of earlier
/// revisions.
pub(crate) struct LinkingApprover<'a> {
    pub(crate) client: ElicitingApprover<'a>,
    pub(crate) page: &'a dyn QuestionPage,
}

#[async_trait]
impl Approver for LinkingApprover<'_> {
    async fn decide(&self, request: &ApprovalRequest) -> Result<ApprovalResponse, ToolError> {
        let link = ElicitRequest::new(link(request, self.page)?);
        let refused = async {
            match self.client.ask(link).await {
                Ok(ClientResult::ElicitResult(answer))
                    if answer.action != ElicitationAction::Accept =>
                {
                    LeadingEnd::Declined
                }
                // The user may open the page without the client, too.
                _ => std::future::pending().await,
            }
        };
        decided_on(self.page, request, refused).await
    }
}

impl ElicitingApprover<'_> {
    /// The gate drops this when the call is cancelled or no answer comes in time.
    async fn ask(&self, form: ElicitRequest) -> Result<ClientResult, ServiceError> {
        let (request, options) =
            (ServerRequest::ElicitRequest(form), PeerRequestOptions::no_options());
        let asked = self.peer.send_request_with_option(request, options).await?;
        let mut open = OpenQuestion { peer: self.peer, id: Some(asked.id.clone()) };
        let answer = asked.await_response().await;
        open.id = None;
        answer
    }
}

fn unanswered(why: &str) -> ToolError {
    let message = format!("the change needs approval and the user could not be asked: {why}");
    ToolError::new(ErrorCode::ApprovalRequired, message).suggest(HOW_TO_ALLOW)
}

/// A question at the client, which is withdrawn if it is given up: otherwise the client would keep
/// showing it, and we would wait for ever for an answer that no longer matters.
struct OpenQuestion<'a> {
    peer: &'a Peer<RoleServer>,
    id: Option<RequestId>,
}

impl Drop for OpenQuestion<'_> {
    fn drop(&mut self) {
        let Some(id) = self.id.take() else { return };
        let why = Some("the question no longer matters".to_owned());
        let (peer, withdrawal) =
            (self.peer.clone(), CancelledNotificationParam::new(Some(id), why));
        // This is not waited for: a connection that is closing takes no notifications any more and
        // would hold up the end of the call. If the client or the runtime is gone, so is the
        // question.
        if let Ok(runtime) = Handle::try_current() {
            runtime.spawn(async move { peer.notify_cancelled(withdrawal).await });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::waiting_calls::tests::request;

    /// Shows its question at once, and its user has answered by the time it is looked at again.
    struct QuickPage;

    #[async_trait]
    impl Approver for QuickPage {
        async fn decide(&self, request: &ApprovalRequest) -> Result<ApprovalResponse, ToolError> {
            tokio::task::yield_now().await;
            Ok(request.approve())
        }
    }

    #[async_trait]
    impl QuestionPage for QuickPage {
        fn address(&self, _: &ApprovalRequest) -> String {
            String::new()
        }

        async fn shown(&self, _: &ApprovalRequest) {}

        fn decline(&self, _: &ApprovalRequest) -> bool {
            false
        }

        async fn keep_answer(
            &self,
            _: &ApprovalRequest,
            _: ApprovalResponse,
        ) -> Result<(), ToolError> {
            Ok(())
        }
    }

    #[tokio::test]
    async fn an_answer_on_the_page_counts_before_that_of_a_client_at_the_same_moment() {
        let request = request();
        for _ in 0..64 {
            let declined = async { LeadingEnd::Declined };
            let decided = decided_on(&QuickPage, &request, declined).await;
            assert!(decided.is_ok_and(|response| response.is_approved()));
        }
    }
}
