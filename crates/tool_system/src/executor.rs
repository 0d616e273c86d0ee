//! The one way to run a tool.
//!
//! resolve face → validate → role → redundancy → `Tool::execute` → [proposal: approval → perform] →
//! truncate → spell result. Every step either hands on or ends the call with an error that goes
//! back to the model; events tell the story to whoever watches.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Instant;

use futures_util::FutureExt as _;
use protocol::{
    ActivityData, ActivityType, AgentRole, ApprovalRequest, ErrorCode, Proposal, ToolCall,
    ToolError, ToolResult,
};
use serde_json::{Map, Value};
use tokio_util::sync::CancellationToken;
use workspace::Workspace;

use crate::context::Shared;
use crate::rendering::TERMINATE;
use crate::result_store::ResultStore;
use crate::turn::{Answered, CallKey, TurnMemory};
use crate::{
    ActivityStream, Approval, Approver, FileTracker, Limits, ListedTool, Outcome, Performer,
    Proposed, RefuseAll, ToolArguments, ToolContext, ToolRegistry, Vocabulary, truncation,
};

/// Lines of a result in the event that ends a call.
const PREVIEW_LINES: usize = 3;
/// How often a person may send a call back with other arguments before it is given up.
const MAX_REVISIONS: usize = 10;
/// Files above this size are not read again to see whether an earlier answer still holds.
const MAX_RECHECK_BYTES: u64 = 16 * 1024 * 1024;

/// How an executor behaves; what a door decides once.
pub struct ExecutorOptions {
    /// The vocabulary whose spellings come first.
    pub vocabulary: Vocabulary,
    /// The role, which limits what may be called at all.
    pub role: AgentRole,
    /// The bounds of all tools.
    pub limits: Limits,
    /// Whether an identical call in one turn is answered from memory. Doors that know no turns
    /// leave it off.
    pub detect_repeats: bool,
    /// Who answers for the person.
    pub approver: Arc<dyn Approver>,
    /// Who performs what has been approved; nothing can be performed without.
    pub performer: Option<Arc<dyn Performer>>,
}

impl Default for ExecutorOptions {
    fn default() -> Self {
        Self {
            vocabulary: Vocabulary::Standard,
            role: AgentRole::Actor,
            limits: Limits::default(),
            detect_repeats: false,
            approver: Arc::new(RefuseAll { how_to_allow: "Ask the user to run it.".into() }),
            performer: None,
        }
    }
}

/// Runs tool calls for one session.
pub struct ToolExecutor {
    registry: Arc<ToolRegistry>,
    options: ExecutorOptions,
    shared: Arc<Shared>,
    turn: TurnMemory,
}

impl ToolExecutor {
    /// An executor for the tools of `registry` on the project `workspace`.
    pub fn new(
        registry: Arc<ToolRegistry>,
        workspace: Arc<Workspace>,
        options: ExecutorOptions,
    ) -> Self {
        let shared = Arc::new(Shared {
            workspace,
            limits: options.limits.clone(),
            activity: ActivityStream::default(),
            files: FileTracker::default(),
            results: ResultStore::new(options.limits.kept_result_bytes),
        });
        Self { registry, options, shared, turn: TurnMemory::default() }
    }

    /// The tools that can be called.
    pub fn registry(&self) -> &ToolRegistry {
        &self.registry
    }

    /// The tools this executor offers: those of its vocabulary that its role may use.
    pub fn offered(&self) -> Vec<Arc<ListedTool>> {
        self.registry.list_for(self.options.vocabulary, &self.options.role)
    }

    /// The events of all calls.
    pub fn activity(&self) -> &ActivityStream {
        &self.shared.activity
    }

    /// Which files the model has seen.
    pub fn files(&self) -> &FileTracker {
        &self.shared.files
    }

    /// A new turn begins: earlier answers no longer stand for identical calls.
    pub fn clear_current_turn(&self) {
        self.turn.clear();
    }

    /// A new session begins: everything that was seen is forgotten.
    pub fn clear_state(&self) {
        self.turn.clear();
        self.shared.files.clear();
    }

    /// Runs one call to its result. It ends early, with `CANCELLED`, when `cancel` fires. Whatever
    /// happens on the way, a panic included, there is a result.
    pub async fn execute_tool(&self, call: &ToolCall, cancel: &CancellationToken) -> ToolResult {
        let started = Instant::now();
        let call_id: Arc<str> = call.id.as_str().into();
        let tool_name = || call.name.as_str().into();
        let activity = &self.shared.activity;
        activity.emit(&call_id, ActivityType::ToolCallStart, || ActivityData::ToolCallStart {
            tool_name: tool_name(),
            arguments: call.arguments.clone(),
        });
        let result = caught(self.run(call, &call_id, cancel)).await.map_err(truncation::fit_error);
        match &result {
            Ok(value) => {
                activity.emit(&call_id, ActivityType::ToolCallEnd, || ActivityData::ToolCallEnd {
                    tool_name: tool_name(),
                    success: true,
                    duration_ms: started.elapsed().as_millis().try_into().unwrap_or(u64::MAX),
                    preview: self.preview(&call.name, value),
                });
            }
            Err(error) => activity.emit(&call_id, ActivityType::Error, || ActivityData::Error {
                tool_name: tool_name(),
                code: error.code,
                error: error.message.clone(),
            }),
        }
        result
    }

    async fn run(&self, call: &ToolCall, id: &Arc<str>, cancel: &CancellationToken) -> ToolResult {
        let listed = self.registry.get(self.options.vocabulary, &call.name)?;
        let arguments = validated(&listed, call.arguments.clone())?;
        self.check_role(&listed)?;
        let key = CallKey::new(listed.definition().name, arguments.as_map());
        let cx = self.context(id, cancel);
        if let Some(earlier) = self.repeated(&listed, &key, &cx).await {
            return Ok(listed.face().spell_result(earlier));
        }
        let outcome =
            unless_cancelled(listed.tool().execute(arguments, cx.clone()), cancel).await?;
        let value = match outcome {
            Outcome::Answer(value) => value,
            Outcome::Proposal(proposed) => self.act(call, &listed, proposed, &cx).await?,
        };
        let value = truncation::fit(value, self.options.limits.result_bytes, &self.shared.results);
        self.remember(&listed, key, &value, &cx);
        Ok(listed.face().spell_result(value))
    }

    fn context(&self, call_id: &Arc<str>, cancel: &CancellationToken) -> ToolContext {
        ToolContext {
            shared: Arc::clone(&self.shared),
            call_id: Arc::clone(call_id),
            cancel: cancel.clone(),
            files_read: Arc::new(Mutex::default()),
        }
    }

    fn check_role(&self, listed: &ListedTool) -> Result<(), ToolError> {
        let needed = listed.definition().required_permissions;
        let granted = self.options.role.permissions();
        if granted.covers(needed) {
            return Ok(());
        }
        let missing = needed.missing_from(granted);
        let role = &self.options.role;
        let message = format!("the role {role} may not use {}: it lacks {missing}", listed.name());
        Err(ToolError::new(ErrorCode::PermissionDenied, message)
            .suggest("Use a tool that only reads, or ask the user for another role."))
    }

    /// The answer to an identical call of this turn, if it still holds, with a remark.
    async fn repeated(
        &self,
        listed: &ListedTool,
        key: &CallKey,
        cx: &ToolContext,
    ) -> Option<Value> {
        if !self.options.detect_repeats || !listed.definition().is_read_only() {
            return None;
        }
        let Answered { mut value, files } = self.turn.get(key)?;
        let unchanged = cx.blocking(move |cx| {
            Ok(files.iter().all(|(path, known)| {
                let bytes = cx
                    .workspace()
                    .open_file(path)
                    .and_then(|mut file| file.read_all(MAX_RECHECK_BYTES));
                bytes.is_ok_and(|bytes| protocol::ContentHash::of(&bytes) == *known)
            }))
        });
        if !unchanged.await.unwrap_or(false) {
            return None;
        }
        let remark = "This exact call was already answered in this turn and nothing was written \
                      since; this is the same result.";
        value.as_object_mut()?.insert("redundant".into(), remark.into());
        Some(value)
    }

    fn remember(&self, listed: &ListedTool, key: CallKey, value: &Value, cx: &ToolContext) {
        if self.options.detect_repeats && listed.definition().is_read_only() {
            let files = cx.files_read.lock().unwrap_or_else(PoisonError::into_inner).clone();
            self.turn.put(key, Answered { value: value.clone(), files });
        }
    }

    /// Takes a proposal through the gate: asks where it has to, runs the tool anew when the person
    /// changes the arguments, and performs exactly what was approved.
    async fn act(
        &self,
        call: &ToolCall,
        listed: &ListedTool,
        mut proposed: Proposed,
        cx: &ToolContext,
    ) -> ToolResult {
        for _ in 0..MAX_REVISIONS {
            let Some(reason) = self.reason_to_ask(listed, &proposed) else {
                return self.perform(proposed, cx).await;
            };
            let request = approval_request(call, &proposed.proposal, reason);
            let response = self.ask(&request, cx).await?;
            match response.modified_args {
                _ if !response.approved => {
                    let reason = response.reason.unwrap_or_else(|| "User rejected changes".into());
                    return Err(ToolError::new(ErrorCode::Rejected, reason));
                }
                None if proposed.proposal.hash() == request.proposal_hash => {
                    return self.perform(proposed, cx).await;
                }
                None => {
                    return Err(ToolError::new(
                        ErrorCode::Conflict,
                        "the proposal changed while it was shown",
                    ));
                }
                Some(arguments) => {
                    let arguments = validated(listed, arguments)?;
                    let outcome =
                        unless_cancelled(listed.tool().execute(arguments, cx.clone()), &cx.cancel);
                    match outcome.await? {
                        Outcome::Answer(value) => return Ok(value),
                        Outcome::Proposal(revised) => proposed = revised,
                    }
                }
            }
        }
        let message = format!("given up after {MAX_REVISIONS} revisions of the arguments");
        Err(ToolError::new(ErrorCode::Rejected, message))
    }

    fn reason_to_ask(&self, listed: &ListedTool, proposed: &Proposed) -> Option<String> {
        match listed.definition().approval {
            Approval::Never => None,
            Approval::Always => {
                let reason = proposed.ask.clone();
                Some(reason.unwrap_or_else(|| format!("{} always asks", listed.name())))
            }
            Approval::PerCall => proposed.ask.clone(),
        }
    }

    async fn ask(
        &self,
        request: &ApprovalRequest,
        cx: &ToolContext,
    ) -> Result<protocol::ApprovalResponse, ToolError> {
        let activity = &self.shared.activity;
        let requested = || ActivityData::ApprovalRequested(Box::new(request.clone()));
        activity.emit(&cx.call_id, ActivityType::ApprovalRequested, requested);
        let response = unless_cancelled(self.options.approver.decide(request), &cx.cancel).await?;
        let approved = response.approved;
        let answered = || ActivityData::ApprovalAnswered { approved };
        activity.emit(&cx.call_id, ActivityType::ApprovalAnswered, answered);
        Ok(response)
    }

    async fn perform(&self, proposed: Proposed, cx: &ToolContext) -> ToolResult {
        let Some(performer) = &self.options.performer else {
            let message = "nothing can be changed or run through this door";
            return Err(ToolError::new(ErrorCode::PermissionDenied, message));
        };
        // Whatever happens now, what was read before may no longer be so.
        self.turn.clear();
        let done = performer.perform(&proposed.proposal, cx).await?;
        Ok(proposed.answer.unwrap_or(done))
    }

    /// A preview is a courtesy: one that panics is no preview.
    fn preview(&self, name: &str, value: &Value) -> Vec<String> {
        let listed = self.registry.get(self.options.vocabulary, name);
        let preview = |listed: &ListedTool| listed.tool().preview(value, PREVIEW_LINES);
        let shown = listed.map(|listed| catch_unwind(AssertUnwindSafe(|| preview(&listed))));
        shown.ok().and_then(Result::ok).unwrap_or_default()
    }
}

/// The arguments in the tool's own spelling, if they fit the schema of the face.
fn validated(
    listed: &ListedTool,
    mut arguments: Map<String, Value>,
) -> Result<ToolArguments, ToolError> {
    // The flag that ends a turn is for the loop, not for the tool.
    if arguments.get(TERMINATE).is_some_and(Value::is_boolean) {
        arguments.shift_remove(TERMINATE);
    }
    let arguments = listed.validator()?.validate(arguments)?;
    Ok(ToolArguments::new(listed.face().own_arguments(arguments)))
}

fn approval_request(call: &ToolCall, proposal: &Proposal, reason: String) -> ApprovalRequest {
    ApprovalRequest {
        step_id: call.id.clone(),
        tool: call.name.clone(),
        args: call.arguments.clone(),
        reason,
        proposal: proposal.clone(),
        proposal_hash: proposal.hash(),
    }
}

/// Waits for `work` unless the call is withdrawn first.
async fn unless_cancelled<T>(
    work: impl Future<Output = Result<T, ToolError>>,
    cancel: &CancellationToken,
) -> Result<T, ToolError> {
    tokio::select! {
        biased;
        () = cancel.cancelled() => {
            Err(ToolError::new(ErrorCode::Cancelled, "the call was cancelled"))
        }
        result = work => result,
    }
}

/// A panic in `work` becomes an error.
async fn caught(work: impl Future<Output = ToolResult>) -> ToolResult {
    AssertUnwindSafe(work).catch_unwind().await.unwrap_or_else(|panic| {
        let text = panic.downcast_ref::<&str>().map(|text| (*text).to_owned());
        let text = text.or_else(|| panic.downcast_ref::<String>().cloned());
        let text = text.unwrap_or_else(|| "no message".into());
        Err(ToolError::new(ErrorCode::Internal, format!("the tool failed unexpectedly: {text}"))
            .suggest("This is a fault in Toolkiln; try another tool or other arguments."))
    })
}
