//! What a proposal does, worked out where it holds up nobody.

use protocol::{Proposal, ToolError};

use crate::policy::{Effect, effects_of};
use crate::{ToolContext, ToolExecutor};

impl ToolExecutor {
    /// Everything that `proposal` does. Taking a command line apart is work, and is done on a thread for
    /// that.
    pub(crate) async fn effects(
        &self,
        proposal: &Proposal,
        cx: &ToolContext,
    ) -> Result<Vec<Effect>, ToolError> {
        if !matches!(proposal, Proposal::Command(_)) {
            return Ok(effects_of(proposal));
        }
        let proposal = proposal.clone();
        cx.blocking(move |_| Ok(effects_of(&proposal))).await
    }
}
