//! Questions that come up while an approved proposal is performed.

use protocol::{ApprovalRequest, ForeignCall, Proposal, ToolError};
use serde_json::{Map, Value};

use super::{ApprovalGate, QUESTION_LIFETIME};

/// Asks the approver of a call for what is being performed.
pub struct Asker<'a>(pub(super) &'a ApprovalGate<'a>);

impl Asker<'_> {
    /// Shows a question of a foreign server. The answer to send is what was shown, or what the user
    /// has made of it; everything but a yes is an error.
    pub async fn ask(&self, question: ForeignCall) -> Result<Map<String, Value>, ToolError> {
        let gate = self.0;
        let arguments = question.arguments.clone();
        let proposal = Proposal::Foreign(question);
        let request = ApprovalRequest {
            step_id: gate.call.id.clone(),
            tool: gate.call.name.clone(),
            args: arguments.clone(),
            reason: "The server of this tool asks you something.".to_owned(),
            is_routine: false,
            proposal_hash: proposal.hash(),
            proposal,
            diffs: Vec::new(),
            remembers: None,
            expires_in_ms: QUESTION_LIFETIME.as_millis().try_into().unwrap_or(u64::MAX),
        };
        let response = gate.agreement(&request).await?;
        Ok(response.modified_args.unwrap_or(arguments))
    }
}
