//! What the policy says about a proposal.

use jiff::Timestamp;
use protocol::{Proposal, ToolError};

use crate::executor::ExecutorState;
use crate::policy::{
    Effect, EffectKind, PolicyAction, PolicyVerdict, Rule, RuleSource, effects_of, suggest_rule,
};
use crate::{ListedTool, ToolContext};

/// What a proposal does, and the rule that "always" would remember it by.
#[derive(Debug, Default)]
pub(crate) struct ProposedEffects {
    pub(crate) effects: Vec<Effect>,
    pub(crate) rule: Option<Rule>,
    is_command: bool,
}

impl ProposedEffects {
    /// Taking a command line apart is work, and is done on a thread for that. What is judged next is judged without the
    /// rules that were taken back elsewhere.
    pub(crate) async fn of(proposal: &Proposal, cx: &ToolContext) -> Result<Self, ToolError> {
        cx.state.take_revocations().await?;
        let tool = cx.tool;
        let is_command = matches!(proposal, Proposal::Command(_));
        let find = move |proposal: &Proposal| {
            let effects = effects_of(proposal);
            let rule = suggest_rule(tool, proposal, &effects);
            Self { effects, rule, is_command }
        };
        if !is_command {
            return Ok(find(proposal));
        }
        let proposal = proposal.clone();
        cx.blocking(move |_| Ok(find(&proposal))).await
    }

    /// What the policy says about these effects of a tool. A remembered answer to a command counts
    /// for exactly the proposal that would be remembered by the same rule, and for no other.
    pub(crate) fn judged(
        &self,
        listed: &ListedTool,
        state: &ExecutorState,
    ) -> Result<PolicyVerdict, ToolError> {
        let effects = self.behind_links(state)?;
        let tool = listed.definition().name;
        let action = PolicyAction { tool, role: state.options.role.name(), effects: &effects };
        let mut policy = state.policy()?;
        let about_commands =
            |rule: &Rule| rule.source == RuleSource::Remembered && !rule.command.is_empty();
        if self.is_command && policy.rules().any(about_commands) {
            let counts = |rule: &Rule| !about_commands(rule) || Some(rule) == self.rule.as_ref();
            policy = policy.with_rules_that(counts).into();
        }
        Ok(policy.judge(&action, Timestamp::now()))
    }

    /// The effects, and once more those whose paths lead through links, under the names they lead
    /// to: a protected file must not become a harmless one by another name.
    fn behind_links(&self, state: &ExecutorState) -> Result<Vec<Effect>, ToolError> {
        let workspace = state.code.workspace();
        let mut all = self.effects.clone();
        for effect in &self.effects {
            let Some(path) = &effect.path else { continue };
            let named = workspace.resolve(path)?;
            // Deleting, moving or placing a link is about the link itself.
            let real = match effect.kind {
                EffectKind::Delete | EffectKind::Move | EffectKind::Link => {
                    workspace.follow_directories(&named)?
                }
                _ => workspace.without_links(&named)?,
            };
            let real = real.to_text();
            if real != *path {
                all.push(Effect { path: Some(real), ..effect.clone() });
            }
        }
        Ok(all)
    }
}
