//! The port through which proposals that need approval are decided.

use async_trait::async_trait;
use protocol::{ApprovalRequest, ApprovalResponse, ErrorCode, Proposal, ToolError};

use crate::policy::Rule;

/// Answers for the user at a front end.
#[async_trait]
pub trait Approver: Send + Sync {
    /// Decides about exactly the proposal in `request`. An error means that no user has decided; the
    /// error says how it can be allowed.
    async fn decide(&self, request: &ApprovalRequest) -> Result<ApprovalResponse, ToolError>;
}

/// Keeps the rules that an approver's "always" makes, beyond the life of the process.
#[async_trait]
pub trait RuleKeeper: Send + Sync {
    /// Keeps `rule` for this project.
    async fn keep(&self, rule: &Rule) -> Result<(), ToolError>;

    /// The rules of this project that other processes have taken back. It is asked for before every decision.
    async fn revocations(&self) -> Result<Vec<Revocation>, ToolError> {
        Ok(Vec::new())
    }
}

/// That a rule was taken back.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Revocation {
    /// Its id.
    pub rule: String,
    /// Tells it from an earlier revocation of the same rule.
    pub number: i64,
}

/// Approves everything: for callers that have asked their user themselves. What a foreign server wants to
/// know from the user is not theirs to answer, and is declined.
pub struct ApproveAll;

#[async_trait]
impl Approver for ApproveAll {
    async fn decide(&self, request: &ApprovalRequest) -> Result<ApprovalResponse, ToolError> {
        match &request.proposal {
            Proposal::Foreign(call) if call.asks.is_some() => Ok(ApprovalResponse::no(None)),
            _ => Ok(request.approve()),
        }
    }
}

/// Approves nothing, because no user can be asked, and says how to allow it.
pub struct RefuseAll {
    /// What the user can do so that it is allowed.
    pub how_to_allow: String,
}

#[async_trait]
impl Approver for RefuseAll {
    async fn decide(&self, request: &ApprovalRequest) -> Result<ApprovalResponse, ToolError> {
        let message =
            format!("{} needs approval, and there is no approver to ask here", request.tool);
        Err(ToolError::new(ErrorCode::ApprovalRequired, message)
            .suggest(self.how_to_allow.clone())
            .detail("reason", request.reason.clone()))
    }
}
