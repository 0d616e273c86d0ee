//! Takes a proposal through policy and person, and lets exactly what was agreed to be done.

use std::collections::BTreeMap;
use std::time::Duration;

use protocol::{
    ActivityData, ActivityType, ApprovalRequest, ApprovalResponse, Change, ErrorCode, FileBytes,
    FileDiff, Proposal, Remember, ToolCall, ToolError, ToolResult, apply_selected,
};
use serde_json::Value;

use crate::executor::{ToolExecutor, unless_cancelled, validated};
use crate::policy::{Decision, effects_of, suggest_rules};
use crate::{Approver, ListedTool, Outcome, Proposed, ToolArguments, ToolContext};

/// How often a person may send a proposal back changed before it is given up.
const MAX_REVISIONS: usize = 10;
/// How long a question stands.
const QUESTION_LIFETIME: Duration = Duration::from_secs(10 * 60);
/// The largest file whose present bytes are read to show what would change.
const MAX_SHOWN_BYTES: u64 = 64 * 1024 * 1024;

/// One proposal on its way through the gate.
pub(crate) struct Gate<'a> {
    pub(crate) executor: &'a ToolExecutor,
    pub(crate) call: &'a ToolCall,
    pub(crate) listed: &'a ListedTool,
    pub(crate) approver: &'a dyn Approver,
    pub(crate) cx: &'a ToolContext,
}

/// Whether a person has agreed, or nobody had to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Asked {
    Yes,
    No,
}

/// What a person's answer makes of a proposal.
#[allow(clippy::large_enum_variant, reason = "there is one at a time, for a moment")]
enum Answer {
    Agreed {
        /// What did not go as the person wished.
        remark: Option<String>,
    },
    /// Something else, from these arguments if they are others.
    Revised(Proposed, Option<ToolArguments>),
    /// Running the tool with other arguments left nothing to do.
    Nothing(Value),
}

impl Gate<'_> {
    /// Asks where it has to, shows every revision again, and performs what was agreed to.
    /// `arguments` are those that a command is reported for.
    pub(crate) async fn pass(
        &self,
        mut proposed: Proposed,
        mut arguments: Option<ToolArguments>,
    ) -> ToolResult {
        for _ in 0..MAX_REVISIONS {
            let Some(reason) = self.reason_to_ask(&proposed).await? else {
                return self.perform(proposed, arguments.as_ref(), Asked::No).await;
            };
            let request = self.request(&proposed, reason).await?;
            let mut response = self.ask(&request).await?;
            let note = response.reason.take_if(|_| response.approved);
            match self.answer(&proposed, &request, response).await? {
                Answer::Agreed { remark } => {
                    let mut done = self.perform(proposed, arguments.as_ref(), Asked::Yes).await?;
                    for (key, text) in [("user_note", note), ("remark", remark)] {
                        if let (Some(text), Value::Object(done)) = (text, &mut done) {
                            done.insert(key.into(), text.into());
                        }
                    }
                    return Ok(done);
                }
                Answer::Revised(revised, others) => {
                    proposed = revised;
                    arguments = others.or(arguments);
                }
                Answer::Nothing(value) => return Ok(value),
            }
        }
        let message = format!("given up after {MAX_REVISIONS} revisions of the proposal");
        Err(ToolError::new(ErrorCode::Rejected, message))
    }

    /// Performs what was agreed to; a command is run, and what it leaves is settled.
    async fn perform(
        &self,
        proposed: Proposed,
        arguments: Option<&ToolArguments>,
        asked: Asked,
    ) -> ToolResult {
        match (&proposed.proposal, arguments) {
            (Proposal::Command(command), Some(arguments)) => {
                self.run_command(command, asked, arguments).await
            }
            _ => self.executor.perform(proposed, self.cx).await,
        }
    }

    /// Why a person has to be asked; `None` if nobody has to.
    async fn reason_to_ask(&self, proposed: &Proposed) -> Result<Option<String>, ToolError> {
        let effects = self.executor.effects(&proposed.proposal, self.cx).await;
        let verdict = self.executor.judge(self.listed, &effects)?;
        match verdict.decision {
            Decision::Allow => Ok(None),
            Decision::Ask => Ok(Some(match &proposed.purpose {
                None => verdict.explanation,
                Some(purpose) => {
                    format!("{} The model says it is for: {purpose}", verdict.explanation)
                }
            })),
            Decision::Deny => {
                let message =
                    format!("{} is not allowed: {}", self.listed.name(), verdict.explanation);
                Err(ToolError::new(ErrorCode::PermissionDenied, message)
                    .suggest("Do it another way, or ask the user to change the policy."))
            }
        }
    }

    pub(crate) async fn request(
        &self,
        proposed: &Proposed,
        reason: String,
    ) -> Result<ApprovalRequest, ToolError> {
        let proposal = proposed.proposal.clone();
        let diffs = self.cx.blocking(move |cx| diffs_of(cx, &proposal)).await?;
        Ok(ApprovalRequest {
            step_id: self.call.id.clone(),
            tool: self.call.name.clone(),
            args: self.call.arguments.clone(),
            reason,
            proposal: proposed.proposal.clone(),
            proposal_hash: proposed.proposal.hash(),
            diffs,
            expires_in_ms: QUESTION_LIFETIME.as_millis().try_into().unwrap_or(u64::MAX),
        })
    }

    pub(crate) async fn ask(
        &self,
        request: &ApprovalRequest,
    ) -> Result<ApprovalResponse, ToolError> {
        let activity = self.executor.activity();
        let requested = || ActivityData::ApprovalRequested(Box::new(request.clone()));
        activity.emit(&self.cx.call_id, ActivityType::ApprovalRequested, requested);
        let deciding = unless_cancelled(self.approver.decide(request), &self.cx.cancel);
        let response = match tokio::time::timeout(QUESTION_LIFETIME, deciding).await {
            Ok(response) => response?,
            Err(_) => ApprovalResponse::no(Some("nobody answered in time".into())),
        };
        let approved = response.approved;
        let answered = || ActivityData::ApprovalAnswered { approved };
        activity.emit(&self.cx.call_id, ActivityType::ApprovalAnswered, answered);
        Ok(response)
    }

    async fn answer(
        &self,
        proposed: &Proposed,
        request: &ApprovalRequest,
        response: ApprovalResponse,
    ) -> Result<Answer, ToolError> {
        if !response.approved {
            let reason = response.reason.unwrap_or_else(|| "User rejected changes".into());
            return Err(ToolError::new(ErrorCode::Rejected, reason));
        }
        if let Some(arguments) = response.modified_args {
            if proposed.unseen {
                let message = "the command has run; its arguments cannot be changed any more";
                return Err(ToolError::new(ErrorCode::InvalidArguments, message));
            }
            let arguments = validated(self.listed, arguments)?;
            let running = self.listed.tool().execute(arguments.clone(), self.cx.clone());
            return Ok(match unless_cancelled(running, &self.cx.cancel).await? {
                Outcome::Answer(value) => Answer::Nothing(value),
                Outcome::Proposal(revised) => Answer::Revised(revised, Some(arguments)),
            });
        }
        if !response.modified_files.is_empty() || !response.accepted_hunks.is_empty() {
            let revised = self.revised(proposed, response).await?;
            return Ok(Answer::Revised(revised, None));
        }
        if proposed.proposal.hash() != request.proposal_hash {
            return Err(ToolError::new(
                ErrorCode::Conflict,
                "the proposal changed while it was shown",
            ));
        }
        let remark = match response.remember {
            Some(scope) => self.remember(proposed, scope)?,
            None => None,
        };
        Ok(Answer::Agreed { remark })
    }

    /// The proposal with the bytes that the person wants instead.
    async fn revised(
        &self,
        proposed: &Proposed,
        response: ApprovalResponse,
    ) -> Result<Proposed, ToolError> {
        let Proposal::Changes(set) = &proposed.proposal else {
            return Err(ToolError::new(
                ErrorCode::InvalidArguments,
                "only file changes can be edited",
            ));
        };
        let mut set = set.clone();
        let ApprovalResponse { mut modified_files, mut accepted_hunks, .. } = response;
        let changes = std::mem::take(&mut set.changes);
        set.changes = self
            .cx
            .blocking(move |cx| {
                let revise = |change| revise(cx, change, &mut modified_files, &mut accepted_hunks);
                let changes: Vec<Change> =
                    changes.into_iter().map(revise).collect::<Result<_, _>>()?;
                match modified_files.keys().chain(accepted_hunks.keys()).next() {
                    None => Ok(changes),
                    Some(path) => {
                        let message = format!("the proposal writes no file {path}");
                        Err(ToolError::new(ErrorCode::InvalidArguments, message))
                    }
                }
            })
            .await?;
        let mut answer = proposed.answer.clone();
        if answer.is_none() && proposed.unseen {
            answer = Some(Value::Object(serde_json::Map::new()));
        }
        if let Some(Value::Object(answer)) = &mut answer {
            let remark = "The user changed the proposal before approving it; read the file to see what was written.";
            answer.insert("edited_by_user".into(), remark.into());
            answer.shift_remove("diff");
        }
        Ok(Proposed {
            proposal: Proposal::Changes(set),
            purpose: proposed.purpose.clone(),
            answer,
            takes_back: proposed.takes_back.clone(),
            unseen: proposed.unseen,
        })
    }

    /// Keeps the answer as a rule; says so if it is of a kind that is always asked.
    fn remember(&self, proposed: &Proposed, scope: Remember) -> Result<Option<String>, ToolError> {
        let tool = self.listed.definition().name;
        let mut rules = suggest_rules(tool, &effects_of(&proposed.proposal)).into_iter();
        // The narrowest rule comes first.
        let rule = match scope {
            Remember::Files => rules.next(),
            Remember::Directories => rules.next_back(),
        };
        let Some(rule) = rule else {
            return Ok(Some("This is always asked; the answer was not remembered.".into()));
        };
        self.executor.remember(rule)?;
        Ok(None)
    }
}

/// The changes as a person is shown them, made from the proposal and the files as they are now.
fn diffs_of(cx: &ToolContext, proposal: &Proposal) -> Result<Vec<FileDiff>, ToolError> {
    let Proposal::Changes(set) = proposal else { return Ok(Vec::new()) };
    set.changes
        .iter()
        .map(|change| Ok(FileDiff::of(change, before(cx, change)?.as_deref())))
        .collect()
}

/// The bytes that a change was made from. If they are no longer there, the proposal is void.
fn before(cx: &ToolContext, change: &Change) -> Result<Option<Vec<u8>>, ToolError> {
    let (path, base) = match change {
        Change::Write { path, base, .. } | Change::Delete { path, base } => (path, base),
        Change::Move { from, base, .. } => (from, base),
        Change::Link { .. } | Change::MakeDir { .. } | Change::RemoveDir { .. } => return Ok(None),
    };
    if !matches!(base, protocol::Base::File { .. }) {
        return Ok(None);
    }
    let path = cx.workspace().resolve(path)?;
    let (now, bytes) = cx.workspace().base_of(&path, MAX_SHOWN_BYTES)?;
    if now != *base {
        let message = format!("{path} has changed since the proposal was made");
        return Err(ToolError::new(ErrorCode::Conflict, message)
            .suggest(format!("Read {path} again and repeat the call.")));
    }
    Ok(bytes)
}

fn revise(
    cx: &ToolContext,
    mut change: Change,
    files: &mut BTreeMap<String, FileBytes>,
    hunks: &mut BTreeMap<String, Vec<usize>>,
) -> Result<Change, ToolError> {
    let old = if let Change::Write { path, .. } = &change
        && hunks.contains_key(path)
    {
        before(cx, &change)?.unwrap_or_default()
    } else {
        Vec::new()
    };
    if let Change::Write { path, content, .. } = &mut change {
        if let Some(accepted) = hunks.remove(path) {
            content.0 = apply_selected(&old, &content.0, &accepted);
        }
        if let Some(bytes) = files.remove(path) {
            *content = bytes;
        }
    }
    Ok(change)
}
