//! What would be decided about a call, without doing anything.

use futures_util::FutureExt as _;
use futures_util::future::BoxFuture;
use protocol::{ToolCall, ToolError};
use tokio_util::sync::CancellationToken;

use super::ToolExecutor;
use crate::judging::ProposedEffects;
use crate::policy::{Effect, PolicyVerdict};
use crate::{Outcome, ToolContext};

/// What would be decided about a call.
#[derive(Debug)]
pub struct Explained {
    /// What the call would do.
    pub effects: Vec<Effect>,
    /// What the policy says to that.
    pub verdict: PolicyVerdict,
}

impl ToolExecutor {
    /// What would be decided about a call, without doing anything: its effects and the verdict.
    pub fn explain<'a>(
        &'a self,
        call: &'a ToolCall,
        cancel: &'a CancellationToken,
    ) -> BoxFuture<'a, Result<Explained, ToolError>> {
        let explaining = async move {
            let listed = self.tool_of(call)?;
            let arguments = listed.validated(call.arguments.clone())?;
            self.state.check_role(&listed)?;
            let cx = ToolContext::new(&self.state, &call.id.as_str().into(), &listed, cancel);
            let running = listed.tool.execute(arguments, cx.clone());
            let effects = match cx.unless_cancelled(running).await? {
                Outcome::Answer(_) => ProposedEffects::default(),
                Outcome::Proposal(proposed) => ProposedEffects::of(&proposed.proposal, &cx).await?,
            };
            let verdict = effects.judged(&listed, &self.state)?;
            Ok(Explained { effects: effects.effects, verdict })
        };
        explaining.boxed()
    }
}
