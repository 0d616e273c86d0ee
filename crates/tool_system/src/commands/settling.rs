//! Runs a command that has passed the approval gate, and settles what it would leave behind.

use protocol::{
    Base, Change, CommandSpec, ErrorCode, FileDiff, ProjectMode, Proposal, ToolError,
    ToolPermission, ToolResult, unified,
};
use serde_json::{Value, json};

use super::Taken;
use super::apart::DROPPED_TOO;
use super::runner::{CommandRun, CommandRunner, NotRun};
use crate::approval_gate::{ApprovalGate, AskReason, Asked, diffs_of};
use crate::judging::ProposedEffects;
use crate::policy::{ApprovalMode, protection};
use crate::{Proposed, ToolArguments};

/// Paths that a report names.
const MOST_PATHS: usize = 50;
/// Ignored paths that a report names.
const MOST_PRIVATE: usize = 10;
/// Bytes of a diff in a report; the approver sees all of it.
const MOST_DIFF_BYTES: usize = 4 * 1024;

impl ApprovalGate<'_> {
    /// Runs `command`, has what it changed judged, approved and applied, and lets its tool make an
    /// answer of the report.
    pub(crate) async fn run_command(
        &self,
        command: &CommandSpec,
        asked: Asked,
        arguments: &ToolArguments,
    ) -> ToolResult {
        let runner = self.cx.state.performer()?.runner()?;
        self.cx.state.answers.clear();
        let keeps = command.project == ProjectMode::Copy;
        // Without approval it runs on a copy that is thrown away, but for ignored files if the user
        // lets them pass. If it turns out to have changed files, and may change any, exactly these
        // changes are asked about.
        let way = match asked {
            Asked::No if keeps && !self.passes_ignored(&runner)? => ProjectMode::Look,
            _ => command.project,
        };
        if asked == Asked::No
            && let Some(why) = runner.lets_write(command)
        {
            self.ask_for_direct(&in_way(command, ProjectMode::Direct), why).await?;
        }
        let (ran, way) = match runner.run(&in_way(command, way), self.cx).await {
            Ok(ran) => (ran, way),
            Err(NotRun::Failed(error)) => return Err(error),
            Err(NotRun::NoCopies(why)) => {
                let direct = CommandSpec { project: ProjectMode::Direct, ..command.clone() };
                self.ask_for_direct(&direct, &why).await?;
                match runner.run(&direct, self.cx).await {
                    Ok(ran) => (ran, ProjectMode::Direct),
                    Err(NotRun::Failed(error)) => return Err(error),
                    Err(NotRun::NoCopies(why)) => {
                        return Err(ToolError::new(ErrorCode::SandboxUnavailable, why));
                    }
                }
            }
        };
        let CommandRun { mut report, taken } = ran;
        let stays = match asked {
            Asked::No if keeps && way == ProjectMode::Copy => ProjectMode::Look,
            _ => way,
        };
        report["ran"] = stays.as_str().into();
        if let Some(mut taken) = taken {
            let apart = taken.apart.take();
            let mut settled = self.settle(taken, command, asked).await?;
            if let Some(apart) = apart
                && !runner.settle_apart(apart, self.cx).await?
            {
                settled = Some(without_output(settled.unwrap_or_else(|| json!({}))));
            }
            if let Some(changes) = settled {
                if changes["applied"] == true || changes.get("written").is_some() {
                    report["ran"] = ProjectMode::Copy.as_str().into();
                }
                if changes["applied"] == true {
                    command.keep.iter().for_each(|path| runner.forget(path.as_ref()));
                }
                report["changes"] = changes;
            }
        }
        self.listed.tool.report(arguments, report)
    }

    /// There is no copy to look at afterwards, so the user decides before.
    async fn ask_for_direct(&self, direct: &CommandSpec, why: &str) -> Result<(), ToolError> {
        if let Some(why) = CHANGING.into_iter().find_map(|needed| self.may_not(needed)) {
            return Err(ToolError::new(ErrorCode::PermissionDenied, why));
        }
        let reason = format!(
            "It would change the files themselves, and that could not be undone: there are no \
             copies on write here ({why})."
        );
        let proposed = Proposed::command(direct.clone());
        // The approver is asked anyway, unless policy refuses even the question.
        let effects = ProposedEffects::of(&proposed.proposal, self.cx).await?;
        self.reason_to_ask(&proposed, &effects)?;
        let reason = AskReason { text: reason, is_routine: false };
        let shown = self.shown(&proposed, &effects, reason).await?;
        self.agreement(&shown.request).await.map(drop)
    }

    /// Whether ignored files that a command writes go into the project without a question.
    fn passes_ignored(&self, runner: &CommandRunner) -> Result<bool, ToolError> {
        let may_change = !CHANGING.into_iter().any(|needed| self.may_not(needed).is_some());
        let is_read_only = self.cx.state.policy()?.mode() == ApprovalMode::ReadOnly;
        Ok(may_change && !is_read_only && runner.passes_ignored())
    }

    /// Why the role may not do this to files, if so.
    fn may_not(&self, needed: ToolPermission) -> Option<String> {
        let role = &self.cx.state.caller.role;
        let what = match needed {
            ToolPermission::CreateFiles => "create",
            ToolPermission::DeleteFiles => "delete",
            _ => "change",
        };
        let may = role.permissions().contains(needed);
        (!may).then(|| format!("the role {role} may not {what} files"))
    }

    /// What became of the changes, for the report; none if there is nothing to tell.
    async fn settle(
        &self,
        taken: Taken,
        command: &CommandSpec,
        asked: Asked,
    ) -> Result<Option<Value>, ToolError> {
        let Taken { set, mut notes, refusal, paths, private, filled, .. } = taken;
        let mut told = json!({});
        if !filled.is_empty() {
            told["written"] = json!(&filled[..filled.len().min(MOST_PRIVATE)]);
        }
        if !private.is_empty() {
            told["private"] = json!(&private[..private.len().min(MOST_PRIVATE)]);
        }
        if notes.len() > MOST_PATHS {
            let more = notes.len() - MOST_PATHS;
            notes.truncate(MOST_PATHS);
            notes.push(format!("and {more} more of this kind"));
        }
        if !notes.is_empty() {
            told["notes"] = json!(notes);
        }
        let says_something = !private.is_empty() || !notes.is_empty() || !filled.is_empty();
        if set.changes.is_empty() && refusal.is_none() {
            return Ok(says_something.then_some(told));
        }
        if paths.len() > MOST_PATHS {
            told["files"] = paths.len().into();
        }
        told["paths"] = json!(&paths[..paths.len().min(MOST_PATHS)]);
        let dropped = match command.project {
            ProjectMode::Copy => {
                let needed = set.changes.iter().map(needed_for);
                refusal.or_else(|| needed.into_iter().find_map(|needed| self.may_not(needed)))
            }
            _ => Some("this tool keeps no changes".to_owned()),
        };
        if let Some(why) = dropped {
            told["dropped"] = why.into();
            return Ok(Some(told));
        }
        let proposed = Proposed {
            proposal: Proposal::Changes(set),
            purpose: None,
            answer: None,
            takes_back: None,
            unseen: true,
        };
        let proposal = proposed.proposal.clone();
        let (diffs, _) = self.cx.blocking(move |cx| diffs_of(cx, &proposal)).await?;
        let (diff, counts) = short_diff(&diffs);
        let applied = match asked == Asked::Yes && covers(command, &proposed.proposal) {
            // The user has agreed to changes of these files; a rule may still forbid them.
            true => {
                let effects = ProposedEffects::of(&proposed.proposal, self.cx).await;
                match effects.and_then(|effects| self.reason_to_ask(&proposed, &effects)) {
                    Ok(_) => self.perform_unasked(&proposed).await,
                    Err(error) => Err(error),
                }
            }
            false => Box::pin(self.pass(proposed, None)).await.map(|passed| passed.value),
        };
        match applied {
            Ok(report) => {
                told["applied"] = true.into();
                if let Some(diff) = diff {
                    told["diff"] = diff.into();
                }
                (told["added"], told["removed"]) = (counts.0.into(), counts.1.into());
                // What the gate says of the changes is nearer to the truth than the first proposal.
                if let (Value::Object(told), Value::Object(report)) = (&mut told, report) {
                    told.extend(report);
                }
            }
            Err(error) if error.code == ErrorCode::Cancelled => return Err(error),
            Err(error) => {
                told["dropped"] = error.full_message().into();
                told["code"] = error.code.as_str().into();
                if error.is_denial() {
                    told["denied"] = true.into();
                }
            }
        }
        Ok(Some(told))
    }
}

/// The changes as a diff, if it is short, and how many lines come and go.
fn short_diff(diffs: &[FileDiff]) -> (Option<String>, (usize, usize)) {
    let text = unified(diffs);
    let added = diffs.iter().map(|diff| diff.added).sum();
    let removed = diffs.iter().map(|diff| diff.removed).sum();
    ((text.len() <= MOST_DIFF_BYTES).then_some(text), (added, removed))
}

/// What a role needs to change files in every way.
const CHANGING: [ToolPermission; 3] =
    [ToolPermission::WriteFiles, ToolPermission::CreateFiles, ToolPermission::DeleteFiles];

/// What a role needs to make this change.
fn needed_for(change: &Change) -> ToolPermission {
    match change {
        Change::Write { base: Base::Absent, .. }
        | Change::Link { base: Base::Absent, .. }
        | Change::MakeDir { .. } => ToolPermission::CreateFiles,
        Change::Write { .. } | Change::Link { .. } => ToolPermission::WriteFiles,
        Change::Delete { .. } | Change::Move { .. } | Change::RemoveDir { .. } => {
            ToolPermission::DeleteFiles
        }
    }
}

/// The report on changes whose build output was dropped with them.
fn without_output(mut changes: Value) -> Value {
    if let Value::Object(told) = &mut changes {
        told.remove("private");
        told.remove("written");
        let notes = told.entry("notes").or_insert_with(|| json!([]));
        if let Value::Array(notes) = notes {
            notes.push(DROPPED_TOO.into());
        }
    }
    changes
}

fn in_way(command: &CommandSpec, project: ProjectMode) -> CommandSpec {
    CommandSpec { project, ..command.clone() }
}

/// Whether the approval of a command named every path that it changed, and nothing of that is asked
/// about whatever was approved.
fn covers(command: &CommandSpec, proposal: &Proposal) -> bool {
    let Proposal::Changes(set) = proposal else { return false };
    let is_covered = |path: &str| {
        let covers = |name: &String| {
            path.strip_prefix(name.as_str())
                .is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
        };
        command.writable.iter().any(covers) && protection(path, false).is_none()
    };
    let is_link = |change: &Change| matches!(change, Change::Link { .. });
    set.changes.iter().all(|change| !is_link(change) && change.paths().into_iter().all(is_covered))
}
