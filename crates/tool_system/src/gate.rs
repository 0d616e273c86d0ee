//! Where the executor asks and acts: the approver, the performer, and the keeper of rules.

use std::sync::Arc;

use async_trait::async_trait;
use protocol::{ApprovalRequest, ApprovalResponse, ErrorCode, ToolError, ToolResult};

use crate::policy::Rule;
use crate::{Approved, CommandRunner, ToolContext};

/// Answers for the user at a front end.
#[async_trait]
pub trait Approver: Send + Sync {
    /// Decides about exactly the proposal in `request`. An error means that no user has decided; the
    /// error says how it can be allowed.
    async fn decide(&self, request: &ApprovalRequest) -> Result<ApprovalResponse, ToolError>;
}

/// Performs proposals that have passed the gate. The executor alone calls it.
#[async_trait]
pub trait Performer: Send + Sync {
    /// Carries out the proposal and reports what was done. Once begun it is not interrupted.
    async fn perform(&self, approved: &Approved<'_>, cx: &ToolContext) -> ToolResult;

    /// Who runs commands, if anybody does.
    fn runner(&self) -> Result<Arc<CommandRunner>, ToolError> {
        let message = "no commands can be run through this door";
        Err(ToolError::new(ErrorCode::PermissionDenied, message))
    }
}

/// Keeps the rules that a person's "always" makes, beyond the life of the process.
pub trait RuleKeeper: Send + Sync {
    /// Keeps `rule` for this project.
    fn keep(&self, rule: &Rule) -> Result<(), ToolError>;
}

/// Says yes to everything: for callers that have asked their user themselves.
pub struct ApproveAll;

#[async_trait]
impl Approver for ApproveAll {
    async fn decide(&self, request: &ApprovalRequest) -> Result<ApprovalResponse, ToolError> {
        Ok(request.approve())
    }
}

/// Says that nobody is there, and how to allow it.
pub struct RefuseAll {
    /// What the user can do so that it is allowed.
    pub how_to_allow: String,
}

#[async_trait]
impl Approver for RefuseAll {
    async fn decide(&self, request: &ApprovalRequest) -> Result<ApprovalResponse, ToolError> {
        let message = format!("{} needs approval and nobody can be asked here", request.tool);
        Err(ToolError::new(ErrorCode::ApprovalRequired, message)
            .suggest(self.how_to_allow.clone())
            .detail("reason", request.reason.clone()))
    }
}
