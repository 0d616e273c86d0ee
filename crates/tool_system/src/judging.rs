//! What the policy says about a call.

use jiff::Timestamp;
use protocol::{Proposal, ToolCall, ToolError};
use tokio_util::sync::CancellationToken;

use crate::executor::{unless_cancelled, validated};
use crate::policy::{
    Action, Effect, EffectKind, Rule, RuleSource, Verdict, effects_of, suggest_rule,
};
use crate::{ListedTool, Outcome, ToolContext, ToolExecutor};

/// What would be decided about a call.
#[derive(Debug)]
pub struct Explained {
    /// What the call would do.
    pub effects: Vec<Effect>,
    /// What the policy says to that.
    pub verdict: Verdict,
}

/// What a proposal does, and the rule that "always" would remember it by.
#[derive(Debug, Default)]
pub(crate) struct Deeds {
    pub(crate) effects: Vec<Effect>,
    pub(crate) rule: Option<Rule>,
    is_command: bool,
}

impl Deeds {
    /// Taking a command line apart is work, and is done on a thread for that.
    pub(crate) async fn of(proposal: &Proposal, cx: &ToolContext) -> Result<Deeds, ToolError> {
        let tool = cx.tool;
        let is_command = matches!(proposal, Proposal::Command(_));
        let find = move |proposal: &Proposal| Deeds {
            effects: effects_of(proposal),
            rule: suggest_rule(tool, proposal),
            is_command,
        };
        if !is_command {
            return Ok(find(proposal));
        }
        let proposal = proposal.clone();
        cx.blocking(move |_| Ok(find(&proposal))).await
    }
}

impl ToolExecutor {
    /// What would be decided about a call, without doing anything: its effects and the verdict.
    pub async fn explain(
        &self,
        call: &ToolCall,
        cancel: &CancellationToken,
    ) -> Result<Explained, ToolError> {
        let listed = self.registry.get(self.options.vocabulary, &call.name)?;
        let arguments = validated(&listed, call.arguments.clone())?;
        self.check_role(&listed)?;
        let cx = self.context(&call.id.as_str().into(), listed.definition().name, cancel);
        let running = listed.tool().execute(arguments, cx.clone());
        let done = match unless_cancelled(running, cancel).await? {
            Outcome::Answer(_) => Deeds::default(),
            Outcome::Proposal(proposed) => Deeds::of(&proposed.proposal, &cx).await?,
        };
        let verdict = self.judge(&listed, &done)?;
        Ok(Explained { effects: done.effects, verdict })
    }

    /// What the policy says about these effects of a tool. A remembered answer to a command counts
    /// for exactly the proposal that would be remembered by the same rule, and for no other.
    pub(crate) fn judge(&self, listed: &ListedTool, done: &Deeds) -> Result<Verdict, ToolError> {
        let effects = self.behind_links(&done.effects)?;
        let tool = listed.definition().name;
        let action = Action { tool, role: self.options.role.name(), effects: &effects };
        let mut policy = self.policy()?;
        let about_commands =
            |rule: &Rule| rule.source == RuleSource::Remembered && !rule.command.is_empty();
        if done.is_command && policy.rules().any(about_commands) {
            let counts = |rule: &Rule| !about_commands(rule) || Some(rule) == done.rule.as_ref();
            policy = policy.with_rules_that(counts).into();
        }
        Ok(policy.judge(&action, Timestamp::now()))
    }

    /// The effects, and once more those whose paths lead through links, under the names they lead
    /// to: a protected file must not become a harmless one by another name.
    fn behind_links(&self, effects: &[Effect]) -> Result<Vec<Effect>, ToolError> {
        let workspace = self.shared.code.workspace();
        let mut all = effects.to_vec();
        for effect in effects {
            let Some(path) = &effect.path else { continue };
            let named = workspace.resolve(path)?;
            // Who deletes or moves a link, or puts one in a place, means the link itself.
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
