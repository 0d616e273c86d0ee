//! Takes a proposal through policy, approver and performer: exactly what was approved is performed.
//!
//! [`ApprovalGate::pass`] repeats [`ApprovalGate::attempt`] until the proposal is settled; the steps of an
//! attempt follow in the order in which they are taken.

mod approved;
mod asker;
mod revising;

use std::time::Duration;

use protocol::{
    ActivityData, ActivityType, ApprovalRequest, ApprovalResponse, Base, Change, DiffKind,
    ErrorCode, FileDiff, Proposal, ToolCall, ToolError, ToolResult,
};
use serde_json::Value;

use crate::checks;
use crate::judging::ProposedEffects;
use crate::policy::{Decision, in_words};
use crate::{Approver, ListedTool, Outcome, Proposed, ToolArguments, ToolContext};

pub use approved::Approved;
pub use asker::Asker;

/// How often a user may send a proposal back changed before it is given up.
const MAX_REVISIONS: usize = 10;
/// How often a proposal is made again that lost a race against another call.
const MAX_REMAKES: usize = 16;
/// How long a question stands.
const QUESTION_LIFETIME: Duration = Duration::from_secs(10 * 60);
/// Characters that are told of an argument that the user has changed.
const MAX_ARGUMENT_CHARS: usize = 400;
/// The largest file whose present bytes are read to show what would change.
const MAX_SHOWN_BYTES: u64 = 64 * 1024 * 1024;

/// What a proposal of one call is taken through.
pub(crate) struct ApprovalGate<'a> {
    pub(crate) call: &'a ToolCall,
    pub(crate) listed: &'a ListedTool,
    pub(crate) approver: &'a dyn Approver,
    pub(crate) cx: &'a ToolContext,
}

/// Why the approver is asked.
#[derive(Debug)]
pub(crate) struct AskReason {
    pub(crate) text: String,
    /// Whether the approver need not read it: it rests on the mode alone.
    pub(crate) is_routine: bool,
}

/// Whether the user has agreed, or no approval was needed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Asked {
    Yes,
    No,
}

/// The proposal as it stands after the attempts so far.
struct CurrentProposal {
    proposed: Proposed,
    /// Those that a command is reported for, or that the user has changed.
    arguments: Option<ToolArguments>,
    /// Which arguments the user has changed, with their values, in words.
    changed: Vec<String>,
    /// What the user has said with revisions.
    said: Vec<String>,
    agreed: Option<Agreed>,
}

impl CurrentProposal {
    /// The result, with what the user has changed in the arguments: the model has sent others.
    fn passed(self, mut value: Value) -> Passed {
        if let (false, Value::Object(told)) = (self.changed.is_empty(), &mut value) {
            let changed = format!("The user changed {}.", self.changed.join(", "));
            let earlier = told.get("edited_by_user").and_then(Value::as_str);
            let edited = earlier.map_or(changed.clone(), |earlier| format!("{changed} {earlier}"));
            told.insert("edited_by_user".into(), edited.into());
        }
        Passed { value, arguments: self.arguments }
    }
}

/// What has become of a proposal.
pub(crate) struct Passed {
    pub(crate) value: Value,
    /// The arguments that were used, where they may not be those of the call.
    pub(crate) arguments: Option<ToolArguments>,
}

/// What the user has agreed to in this call.
struct Agreed {
    shown: ShownQuestion,
    /// What the user wants the model to know.
    note: Option<String>,
    /// What did not go as the user wished.
    remark: Option<String>,
}

/// A question, and for each change how many lines its file has.
pub(crate) struct ShownQuestion {
    pub(crate) request: ApprovalRequest,
    lines: Vec<usize>,
}

impl ApprovalGate<'_> {
    /// Asks where it has to, shows every revision again, and performs what was agreed to. What lost
    /// a race against another call of the session is made again. `arguments` are those that a
    /// command is reported for.
    pub(crate) async fn pass(
        &self,
        proposed: Proposed,
        arguments: Option<ToolArguments>,
    ) -> Result<Passed, ToolError> {
        let mut standing = CurrentProposal {
            proposed,
            arguments,
            changed: Vec::new(),
            said: Vec::new(),
            agreed: None,
        };
        let (mut revisions, mut remakes) = (0, 0);
        while revisions < MAX_REVISIONS {
            match self.attempt(&mut standing).await {
                Ok(Some(done)) => return Ok(standing.passed(done)),
                Ok(None) => revisions += 1,
                Err(error) if error.code != ErrorCode::Conflict => return Err(error),
                Err(error) if remakes == MAX_REMAKES => return Err(error),
                Err(error) => {
                    if !self.lost_to_own_call(&standing.proposed).await? {
                        return Err(error);
                    }
                    remakes += 1;
                    match self.executed(standing.arguments.clone()).await? {
                        Outcome::Answer(value) => return Ok(standing.passed(value)),
                        Outcome::Proposal(again) => standing.proposed = again,
                    }
                }
            }
        }
        let message = format!("given up after {MAX_REVISIONS} revisions of the proposal");
        Err(ToolError::new(ErrorCode::Rejected, message))
    }

    /// Performs the proposal, or changes it as the user wishes; `None` says that it has to be looked
    /// at again.
    async fn attempt(&self, standing: &mut CurrentProposal) -> Result<Option<Value>, ToolError> {
        let proposed = &standing.proposed;
        let effects = ProposedEffects::of(&proposed.proposal, self.cx).await?;
        let Some(reason) = self.reason_to_ask(proposed, &effects)? else {
            let approved = Approved::by_policy(proposed);
            return self.perform(approved, standing.arguments.as_ref(), Asked::No).await.map(Some);
        };
        let shown = self.shown(proposed, &effects, reason).await?;
        if let Some(agreed) = &standing.agreed
            && let Some(approved) = Approved::as_agreed(proposed, &agreed.shown, &shown)
        {
            let done = self.perform(approved, standing.arguments.as_ref(), Asked::Yes).await;
            return Ok(Some(agreed.told(done?)));
        }
        let mut response = self.agreement(&shown.request).await?;
        let approved = Approved::by_user(proposed, &response)?;
        standing.said.extend(response.said());
        if let Some(arguments) = response.modified_args.take() {
            if proposed.unseen {
                let message = "the command has run; its arguments cannot be changed any more";
                return Err(ToolError::new(ErrorCode::InvalidArguments, message));
            }
            let arguments = self.listed.validated(arguments)?;
            let outcome = self.executed(Some(arguments.clone())).await?;
            let sent = self.listed.validated(self.call.arguments.clone())?;
            standing.changed = changed_arguments(&sent, &arguments);
            standing.arguments = Some(arguments);
            return match outcome {
                Outcome::Answer(value) => Ok(Some(value)),
                Outcome::Proposal(other) => {
                    standing.proposed = other;
                    Ok(None)
                }
            };
        }
        if !response.modified_files.is_empty() || !response.accepted_hunks.is_empty() {
            standing.proposed = self.revised(proposed, &shown.request, response).await?;
            return Ok(None);
        }
        let remark = match response.remember {
            None => None,
            Some(scope) => match effects.rule(self.cx.tool, &proposed.proposal) {
                Some(rule) => {
                    self.cx.state.remember(rule, scope).await?;
                    None
                }
                None => {
                    Some("This always needs approval; the answer was not remembered.".to_owned())
                }
            },
        };
        let note = (!standing.said.is_empty()).then(|| standing.said.join("\n"));
        let agreed = standing.agreed.insert(Agreed { shown, note, remark });
        let done = self.perform(approved, standing.arguments.as_ref(), Asked::Yes).await?;
        Ok(Some(agreed.told(done)))
    }

    /// Why the approver has to be asked; `None` if it is allowed already.
    pub(crate) fn reason_to_ask(
        &self,
        proposed: &Proposed,
        effects: &ProposedEffects,
    ) -> Result<Option<AskReason>, ToolError> {
        let Some(verdict) = effects.objection(self.listed, &self.cx.state)? else {
            return Ok(None);
        };
        if verdict.decision == Decision::Deny {
            let message = format!("{} is not allowed: {}", self.listed.name(), verdict.explanation);
            return Err(ToolError::new(ErrorCode::PermissionDenied, message)
                .suggest("Do it another way, or ask the user to change the policy.")
                .by_policy());
        }
        let text = match &proposed.purpose {
            None => verdict.explanation,
            Some(purpose) => format!("{} The model says it is for: {purpose}", verdict.explanation),
        };
        Ok(Some(AskReason { text, is_routine: verdict.is_routine }))
    }

    /// The question about a proposal, with what it would change.
    pub(crate) async fn shown(
        &self,
        proposed: &Proposed,
        effects: &ProposedEffects,
        reason: AskReason,
    ) -> Result<ShownQuestion, ToolError> {
        let proposal = proposed.proposal.clone();
        let (diffs, lines) = self.cx.blocking(move |cx| diffs_of(cx, &proposal)).await?;
        let proposal = &proposed.proposal;
        let rule = effects.rule(self.cx.tool, proposal);
        let request = ApprovalRequest {
            step_id: self.call.id.clone(),
            tool: self.call.name.clone(),
            args: self.call.arguments.clone(),
            reason: reason.text,
            is_routine: reason.is_routine,
            proposal: proposal.clone(),
            proposal_hash: proposal.hash(),
            diffs,
            remembers: rule.map(|rule| in_words(&rule, &effects.effects)),
            expires_in_ms: QUESTION_LIFETIME.as_millis().try_into().unwrap_or(u64::MAX),
        };
        Ok(ShownQuestion { request, lines })
    }

    /// The user's yes; anything else is an error for the model.
    pub(crate) async fn agreement(
        &self,
        request: &ApprovalRequest,
    ) -> Result<ApprovalResponse, ToolError> {
        let activity = &self.cx.state.activity;
        let requested = || ActivityData::ApprovalRequested(Box::new(request.clone()));
        activity.emit(&self.cx.call_id, ActivityType::ApprovalRequested, requested);
        let deciding = self.cx.unless_cancelled(self.approver.decide(request));
        let decided = tokio::time::timeout(QUESTION_LIFETIME, deciding).await;
        let response = decided.unwrap_or_else(|_| Err(unanswered()));
        let approved = response.as_ref().is_ok_and(ApprovalResponse::is_approved);
        let answered = || ActivityData::ApprovalAnswered { approved };
        activity.emit(&self.cx.call_id, ActivityType::ApprovalAnswered, answered);
        let response = response?;
        if approved {
            let is_bound = response.approves(request.proposal_hash);
            return if is_bound { Ok(response) } else { Err(approved::not_shown()) };
        }
        let mut reason = response.said().unwrap_or_default();
        if response.reason.is_none() {
            let rejected = "User rejected changes";
            let colon = if reason.is_empty() { "" } else { ":\n" };
            reason = format!("{rejected}{colon}{reason}");
        }
        Err(ToolError::new(ErrorCode::Rejected, reason))
    }

    /// Performs what was agreed to; a command is run, and what it leaves is settled.
    async fn perform(
        &self,
        approved: Approved<'_>,
        arguments: Option<&ToolArguments>,
        asked: Asked,
    ) -> ToolResult {
        match (&approved.proposal, arguments) {
            (Proposal::Command(command), Some(arguments)) => {
                self.run_command(command, asked, arguments).await
            }
            (Proposal::Web(_), Some(arguments)) => {
                self.listed.tool.report(arguments, self.perform_changes(approved).await?)
            }
            _ => self.perform_changes(approved).await,
        }
    }

    /// Performs changes of a command that needed no approval and may make them.
    pub(crate) async fn perform_unasked(&self, proposed: &Proposed) -> ToolResult {
        self.perform_changes(Approved::by_policy(proposed)).await
    }

    /// Performs the proposal to its end: a call that is cancelled during that is too late.
    async fn perform_changes(&self, approved: Approved<'_>) -> ToolResult {
        let state = &*self.cx.state;
        let performer = state.performer()?;
        // Earlier answers may depend on any file.
        state.answers.clear();
        if let Proposal::Changes(set) = &approved.proposal {
            state.own_changes.note(&set.changes, !approved.unseen);
        }
        let mut done = performer.perform(&approved, self.cx, &Asker(self)).await?;
        let mut answer = match (approved.answer.clone(), &mut done) {
            // What the performer reports joins the answer, such as the id to undo it by.
            (Some(Value::Object(mut answer)), Value::Object(report)) => {
                answer.append(report);
                Value::Object(answer)
            }
            (Some(answer), _) => answer,
            (None, _) => done,
        };
        let checks = &state.options.checks;
        checks::append(checks, &approved.proposal, performer, self.cx, &mut answer).await;
        Ok(answer)
    }

    /// Runs the tool again, with the arguments of the call or others. Tools have no effects.
    async fn executed(&self, arguments: Option<ToolArguments>) -> Result<Outcome, ToolError> {
        let arguments = match arguments {
            Some(arguments) => arguments,
            None => self.listed.validated(self.call.arguments.clone())?,
        };
        let running = self.listed.tool.execute(arguments, self.cx.clone());
        self.cx.unless_cancelled(running).await
    }

    /// Whether every path that is not what the proposal was made from is what another call of this
    /// session has made of it. What a command has written cannot be made again.
    async fn lost_to_own_call(&self, proposed: &Proposed) -> Result<bool, ToolError> {
        let Proposal::Changes(set) = &proposed.proposal else { return Ok(false) };
        if proposed.unseen {
            return Ok(false);
        }
        let changes = set.changes.clone();
        self.cx
            .blocking(move |cx| {
                let bases = changes.iter().flat_map(bases);
                let mut lost = false;
                for (path, base) in bases {
                    let resolved = cx.workspace().resolve(path)?;
                    let Ok((now, _)) = cx.base_of(&resolved, MAX_SHOWN_BYTES) else {
                        return Ok(false);
                    };
                    if now != base {
                        lost = true;
                        if !cx.state.own_changes.made(path, &now) {
                            return Ok(false);
                        }
                    }
                }
                Ok(lost)
            })
            .await
    }
}

impl Agreed {
    /// The answer with what the user has to say.
    fn told(&self, mut done: Value) -> Value {
        for (key, text) in [("user_note", &self.note), ("remark", &self.remark)] {
            if let (Some(text), Value::Object(done)) = (text, &mut done) {
                done.insert(key.into(), text.clone().into());
            }
        }
        done
    }
}

impl ShownQuestion {
    /// Whether a proposal that was made again makes the difference that was shown. Directories that
    /// exist by now need not be made; hunks may lie further up or down by as many lines as the file
    /// has become shorter or longer.
    fn covers(&self, again: &Self) -> bool {
        let files = |shown: &Self| -> Vec<(FileDiff, usize)> {
            let all = shown.request.diffs.iter().cloned().zip(shown.lines.iter().copied());
            all.filter(|(diff, _)| diff.kind != DiffKind::MakeDir).collect()
        };
        let (before, after) = (files(self), files(again));
        !before.is_empty()
            && before.len() == after.len()
            && before.into_iter().zip(after).all(|((old, lines), (mut new, now))| {
                let grown = now.wrapping_sub(lines);
                let moves_back = |by: usize| {
                    let mut moved = new.clone();
                    for hunk in &mut moved.hunks {
                        hunk.old_start = hunk.old_start.wrapping_sub(by);
                        hunk.new_start = hunk.new_start.wrapping_sub(by);
                    }
                    moved.hunks == old.hunks
                };
                let same_place = moves_back(0) || moves_back(grown);
                new.hunks.clone_from(&old.hunks);
                same_place && new == old
            })
    }
}

/// The arguments that differ, such as `path to "b.rs"`.
fn changed_arguments(sent: &ToolArguments, used: &ToolArguments) -> Vec<String> {
    let (sent, used) = (sent.as_map(), used.as_map());
    let set = used.iter().filter(|(key, value)| sent.get(*key) != Some(*value));
    let set = set.map(|(key, value)| format!("{key} to {}", shortened(&value.to_string())));
    let unset = sent.keys().filter(|key| !used.contains_key(*key));
    set.chain(unset.map(|key| format!("{key} to nothing"))).collect()
}

fn shortened(text: &str) -> String {
    match text.char_indices().nth(MAX_ARGUMENT_CHARS) {
        None => text.to_owned(),
        Some((cut, _)) => format!("{}…", &text[..cut]),
    }
}

fn unanswered() -> ToolError {
    let minutes = QUESTION_LIFETIME.as_secs() / 60;
    let message = format!("the question was not answered within {minutes} minutes");
    ToolError::new(ErrorCode::ApprovalRequired, message).suggest(
        "Nothing was done. The user can allow it with a rule (--allow TOOL:WHAT) or --yes.",
    )
}

/// Each path of a change with the state that it was made from.
fn bases(change: &Change) -> Vec<(&str, Base)> {
    match change {
        Change::Write { path, base, .. }
        | Change::Delete { path, base }
        | Change::Link { path, base, .. } => vec![(path, base.clone())],
        Change::Move { from, to, base, target } => {
            vec![(from, base.clone()), (to, target.clone())]
        }
        Change::MakeDir { path, .. } => vec![(path, Base::Absent)],
        Change::RemoveDir { path, mode } => vec![(path, Base::Directory { mode: *mode })],
    }
}

/// The changes as the user is shown them, made from the proposal and the files as they are now, and
/// how many lines each file has.
pub(crate) fn diffs_of(
    cx: &ToolContext,
    proposal: &Proposal,
) -> Result<(Vec<FileDiff>, Vec<usize>), ToolError> {
    let Proposal::Changes(set) = proposal else { return Ok(Default::default()) };
    let shown = set.changes.iter().map(|change| {
        let before = before(cx, change)?;
        let lines = before.iter().flatten().filter(|byte| **byte == b'\n').count();
        Ok((FileDiff::of(change, before.as_deref()), lines))
    });
    Ok(shown.collect::<Result<Vec<_>, ToolError>>()?.into_iter().unzip())
}

/// The bytes that a change was made from. If they are no longer there, the proposal is void.
fn before(cx: &ToolContext, change: &Change) -> Result<Option<Vec<u8>>, ToolError> {
    let (path, base) = match change {
        Change::Write { path, base, .. } | Change::Delete { path, base } => (path, base),
        Change::Move { from, base, .. } => (from, base),
        Change::Link { .. } | Change::MakeDir { .. } | Change::RemoveDir { .. } => return Ok(None),
    };
    if !matches!(base, Base::File { .. }) {
        return Ok(None);
    }
    let path = cx.workspace().resolve(path)?;
    // What is deleted or moved is what lies on the disk.
    let (now, bytes) = match change {
        Change::Write { .. } => cx.base_of(&path, MAX_SHOWN_BYTES)?,
        _ => cx.workspace().base_of(&path, MAX_SHOWN_BYTES)?,
    };
    if now != *base {
        let message = format!("{path} has changed since the proposal was made");
        return Err(ToolError::new(ErrorCode::Conflict, message)
            .suggest(format!("Read {path} again and repeat the call.")));
    }
    Ok(bytes)
}
