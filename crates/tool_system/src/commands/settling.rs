//! Runs a command that has passed the gate, and settles what it changed.

use protocol::{CommandSpec, ErrorCode, FileDiff, ProjectMode, ToolError, ToolResult, unified};
use serde_json::{Value, json};

use super::Taken;
use super::runner::{CommandRun, NotRun};
use crate::approval_gate::{Asked, Gate};
use crate::policy::{Decision, EffectKind, effects_of, protection};
use crate::{Proposed, ToolArguments};

/// Paths that a report names.
const MOST_PATHS: usize = 50;
/// Bytes of a diff in a report; the person who approves sees all of it.
const MOST_DIFF_BYTES: usize = 4 * 1024;

impl Gate<'_> {
    /// Runs `command`, has what it changed judged, approved and applied, and lets its tool make an
    /// answer of the report.
    pub(crate) async fn run_command(
        &self,
        command: &CommandSpec,
        asked: Asked,
        arguments: &ToolArguments,
    ) -> ToolResult {
        let runner = self.executor.performer()?.runner()?;
        self.executor.forget_answers();
        let (ran, asked) = match runner.run(command, self.cx).await {
            Ok(ran) => (ran, asked),
            Err(NotRun::Failed(error)) => return Err(error),
            Err(NotRun::NoCopies(why)) => {
                if asked == Asked::No {
                    self.ask_for_direct(command, &why).await?;
                }
                let direct = CommandSpec { project: ProjectMode::Direct, ..command.clone() };
                match runner.run(&direct, self.cx).await {
                    Ok(ran) => (ran, Asked::Yes),
                    Err(NotRun::Failed(error)) => return Err(error),
                    Err(NotRun::NoCopies(why)) => {
                        return Err(ToolError::new(ErrorCode::SandboxUnavailable, why));
                    }
                }
            }
        };
        let CommandRun { mut report, taken } = ran;
        if let Some(taken) = taken
            && let Some(changes) = self.settle(taken, command.project, asked).await?
        {
            report["changes"] = changes;
        }
        self.listed.tool().report(arguments, report)
    }

    /// There is no copy to look at afterwards, so the person decides before.
    async fn ask_for_direct(&self, command: &CommandSpec, why: &str) -> Result<(), ToolError> {
        let direct = CommandSpec { project: ProjectMode::Direct, ..command.clone() };
        let reason = format!(
            "It would change the files themselves, and that could not be undone: there are no \
             copies on write here ({why})."
        );
        let request = self.request(&Proposed::command(direct), reason).await?;
        self.agreement(&request).await.map(drop)
    }

    /// What became of the changes, for the report; none if there were none.
    async fn settle(
        &self,
        taken: Taken,
        mode: ProjectMode,
        asked: Asked,
    ) -> Result<Option<Value>, ToolError> {
        let Taken { set, notes, refusal, paths } = taken;
        if paths.is_empty() && refusal.is_none() {
            return Ok(None);
        }
        let mut told = json!({});
        if paths.len() > MOST_PATHS {
            told["files"] = paths.len().into();
        }
        told["paths"] = json!(&paths[..paths.len().min(MOST_PATHS)]);
        if !notes.is_empty() {
            told["notes"] = json!(notes);
        }
        if mode == ProjectMode::ReadOnly {
            told["thrown_away"] = true.into();
            return Ok(Some(told));
        }
        if let Some(why) = refusal {
            told["refused"] = why.into();
            return Ok(Some(told));
        }
        if set.changes.is_empty() {
            return Ok((!notes.is_empty()).then_some(told));
        }
        let proposed = Proposed {
            proposal: protocol::Proposal::Changes(set),
            purpose: None,
            answer: None,
            takes_back: None,
            unseen: true,
        };
        let diff = self.short_diff(&proposed).await?;
        let applied = if mode == ProjectMode::Auto
            && asked == Asked::No
            && self.follows_from_command(&proposed)?
        {
            self.perform_unasked(&proposed).await
        } else {
            Box::pin(self.pass(proposed, None)).await
        };
        match applied {
            Ok(report) => {
                told["applied"] = true.into();
                if let (Value::Object(told), Value::Object(report)) = (&mut told, report) {
                    told.extend(report);
                }
                // What the user picked is told in its place.
                if let Some(diff) = diff.filter(|_| told.get("diff").is_none()) {
                    told["diff"] = diff.into();
                }
            }
            Err(error) if error.code == ErrorCode::Cancelled => return Err(error),
            Err(error) => {
                told["refused"] = error.full_message().into();
                told["code"] = error.code.as_str().into();
            }
        }
        Ok(Some(told))
    }

    /// Whether a command that nobody had to be asked for may make these changes without asking: no
    /// rule has anything against them, and nothing of it is always asked.
    fn follows_from_command(&self, proposed: &Proposed) -> Result<bool, ToolError> {
        let effects = effects_of(&proposed.proposal);
        let verdict = self.executor.judge(self.listed, Some(&proposed.proposal), &effects)?;
        let always_asked = effects.iter().any(|effect| {
            let path = effect.path.as_deref().unwrap_or_default();
            effect.kind == EffectKind::Link || protection(path, effect.tree).is_some()
        });
        Ok(match verdict.decision {
            Decision::Allow => true,
            Decision::Ask => verdict.rule.is_none() && !always_asked,
            Decision::Deny => false,
        })
    }

    /// The changes as a diff, if it is short.
    async fn short_diff(&self, proposed: &Proposed) -> Result<Option<String>, ToolError> {
        let request = self.request(proposed, String::new()).await?;
        let text = unified(&request.diffs as &[FileDiff]);
        Ok((text.len() <= MOST_DIFF_BYTES).then_some(text))
    }
}
