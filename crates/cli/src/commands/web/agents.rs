//! Other agents at the service: its tools over MCP, with questions on its page.

use std::sync::Arc;

use async_trait::async_trait;
use mcp::{HttpClient, HttpEndpoint, QuestionPage};
use protocol::{ApprovalRequest, ApprovalResponse, ToolError};
use session::ApprovalManager;
use tool_system::Approver;
use web_service::{AgentEndpoint, Body, Bytes, DirectCalls, Parts, Response};

/// The questions of direct calls on our page, which shows each under the hash of its proposal.
pub(super) struct DirectCallsPage {
    approvals: Arc<ApprovalManager>,
    site: String,
    /// The user whose client asks; none without a team.
    user: Option<String>,
}

impl DirectCallsPage {
    pub(super) fn new(calls: &DirectCalls, site: &str) -> Self {
        let user = calls.user().map(ToString::to_string);
        Self { approvals: Arc::clone(calls.approvals()), site: site.to_owned(), user }
    }

    /// What the client has answered is the answer of its user.
    fn by_client(&self, mut response: ApprovalResponse) -> ApprovalResponse {
        response.by = self.user.clone();
        response
    }
}

#[async_trait]
impl Approver for DirectCallsPage {
    async fn decide(&self, request: &ApprovalRequest) -> Result<ApprovalResponse, ToolError> {
        self.approvals.decide(request).await
    }
}

#[async_trait]
impl QuestionPage for DirectCallsPage {
    fn address(&self, request: &ApprovalRequest) -> String {
        format!("{}/#/inbox/{}", self.site, request.proposal_hash)
    }

    async fn shown(&self, request: &ApprovalRequest) {
        self.approvals.shown(request).await;
    }

    fn decline(&self, request: &ApprovalRequest) -> bool {
        let reason = "the page with the question was not opened".to_owned();
        let response = self.by_client(ApprovalResponse::no(Some(reason)));
        self.approvals.answer_to(request, response).is_ok()
    }

    async fn keep_answer(
        &self,
        request: &ApprovalRequest,
        response: ApprovalResponse,
    ) -> Result<(), ToolError> {
        self.approvals.note(request, self.by_client(response)).await
    }
}

/// MCP behind the guard of the service.
pub(super) struct McpEndpoint(pub(super) HttpEndpoint);

#[async_trait]
impl AgentEndpoint for McpEndpoint {
    async fn answer(&self, parts: Parts, body: Bytes, may_approve: bool) -> Response<Body> {
        let client = HttpClient { may_answer: may_approve };
        self.0.answer(parts, body, client).await.map(Body::new)
    }
}
