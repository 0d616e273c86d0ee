//! Other agents at the service: its tools over MCP, with questions on its page.

use std::sync::Arc;

use async_trait::async_trait;
use mcp::{HttpClient, HttpEndpoint, QuestionPage};
use protocol::{ApprovalRequest, ApprovalResponse, ToolError};
use session::ApprovalManager;
use tool_system::Approver;
use web_service::{AgentEndpoint, Body, Bytes, Desk, Parts, Response};

/// The questions of a desk on our page, which shows each under the hash of its proposal.
pub(super) struct DeskPage {
    approvals: Arc<ApprovalManager>,
    site: String,
}

impl DeskPage {
    pub(super) fn new(desk: &Desk, site: &str) -> Self {
        Self { approvals: Arc::clone(desk.approvals()), site: site.to_owned() }
    }
}

#[async_trait]
impl Approver for DeskPage {
    async fn decide(&self, request: &ApprovalRequest) -> Result<ApprovalResponse, ToolError> {
        self.approvals.decide(request).await
    }
}

#[async_trait]
impl QuestionPage for DeskPage {
    fn address(&self, request: &ApprovalRequest) -> String {
        format!("{}/#/inbox/{}", self.site, request.proposal_hash)
    }

    async fn shown(&self, request: &ApprovalRequest) {
        self.approvals.shown(request).await;
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
