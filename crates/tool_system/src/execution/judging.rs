//! What the policy says about a proposal.

use jiff::Timestamp;
use protocol::{Proposal, ToolError};

use crate::executor::ExecutorState;
use crate::policy::{
    Effect, EffectKind, Policy, PolicyAction, PolicyVerdict, Rule, RuleSource, effects_of,
    suggest_rule,
};
use crate::{ListedTool, ToolContext};

/// What a proposal does.
#[derive(Debug, Default)]
pub(crate) struct ProposedEffects {
    pub(crate) effects: Vec<Effect>,
    is_command: bool,
    /// The rule that "always" would remember it by, if it is a command; see [`Self::rule`].
    command_rule: Option<Rule>,
}

impl ProposedEffects {
    /// Taking a command line apart is work, and is done on a thread for that. What is judged next is judged without the
    /// rules that were taken back elsewhere.
    pub(crate) async fn of(proposal: &Proposal, cx: &ToolContext) -> Result<Self, ToolError> {
        cx.state.take_revocations().await?;
        let tool = cx.tool;
        let is_command = matches!(proposal, Proposal::Command(_));
        if !is_command {
            return Ok(Self { effects: effects_of(proposal), is_command, command_rule: None });
        }
        let proposal = proposal.clone();
        cx.blocking(move |_| {
            let effects = effects_of(&proposal);
            let command_rule = suggest_rule(tool, &proposal, &effects);
            Ok(Self { effects, is_command, command_rule })
        })
        .await
    }

    /// The rule that "always" would remember the proposal by, which has these effects. What is allowed already needs
    /// none, so it is made for a question.
    pub(crate) fn rule(&self, tool: &str, proposal: &Proposal) -> Option<Rule> {
        match self.is_command {
            true => self.command_rule.clone(),
            false => suggest_rule(tool, proposal, &self.effects),
        }
    }

    /// What the policy says about these effects of a tool, whatever it decides.
    pub(crate) fn judged(
        &self,
        listed: &ListedTool,
        state: &ExecutorState,
    ) -> Result<PolicyVerdict, ToolError> {
        self.under_policy(listed, state, |policy, action| policy.judge(action, Timestamp::now()))
    }

    /// What the policy has against these effects of a tool; none if it allows them.
    pub(crate) fn objection(
        &self,
        listed: &ListedTool,
        state: &ExecutorState,
    ) -> Result<Option<PolicyVerdict>, ToolError> {
        self.under_policy(listed, state, |policy, action| {
            policy.objection(action, Timestamp::now())
        })
    }

    /// Asks the policy about these effects of a tool. A remembered answer to a command counts
    /// for exactly the proposal that would be remembered by the same rule, and for no other.
    fn under_policy<T>(
        &self,
        listed: &ListedTool,
        state: &ExecutorState,
        ask: impl FnOnce(&Policy, &PolicyAction<'_>) -> T,
    ) -> Result<T, ToolError> {
        let effects = self.behind_links(state)?;
        let tool = listed.definition().name;
        let action = PolicyAction { tool, role: state.caller.role.name(), effects: &effects };
        let mut policy = state.policy()?;
        let about_commands =
            |rule: &Rule| rule.source == RuleSource::Remembered && !rule.command.is_empty();
        if self.is_command && policy.rules().any(about_commands) {
            let counts =
                |rule: &Rule| !about_commands(rule) || Some(rule) == self.command_rule.as_ref();
            policy = policy.with_rules_that(counts).into();
        }
        Ok(ask(&policy, &action))
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
