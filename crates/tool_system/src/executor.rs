//! The one way to run a tool.
//!
//! resolve face → validate → role → redundancy → `Tool::execute` → [proposal: policy → approval →
//! perform → journal] → truncate → spell result. Every step either hands on or ends the call with an error that goes
//! back to the model; events tell the story to whoever watches.

mod options;

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Instant;

use code_index::CodeBase;
use futures_util::FutureExt as _;
use protocol::{
    ActivityData, ActivityType, AgentRole, CallReport, ErrorCode, Proposal, ToolCall, ToolError,
    ToolPermission, ToolResult,
};
use serde_json::{Map, Value};
use tokio_util::sync::CancellationToken;

pub use self::options::ExecutorOptions;
use crate::approval_gate::Gate;
use crate::checks;
use crate::commands::Jobs;
use crate::context::{Shared, ShownImages};
use crate::instructions::TouchedInstructions;
use crate::own_changes::OwnChanges;
use crate::policy::{Policy, Rule};
use crate::rendering::TERMINATE;
use crate::result_store::ResultStore;
use crate::truncation::OutputForm;
use crate::turn::{Answered, CallKey, TurnMemory};
use crate::{
    ActivityStream, Approved, Approver, Category, FileTracker, InstructionFile, ListedTool,
    Outcome, Performer, ToolArguments, ToolContext, ToolRegistry, Vocabulary, truncation,
};

/// Lines of a result in the event that ends a call.
const PREVIEW_LINES: usize = 3;
/// Files above this size are not read again to see whether an earlier answer still holds.
const MAX_RECHECK_BYTES: u64 = 16 * 1024 * 1024;

/// Runs tool calls for one session.
pub struct ToolExecutor {
    pub(crate) registry: Arc<ToolRegistry>,
    pub(crate) options: ExecutorOptions,
    pub(crate) shared: Arc<Shared>,
    /// The policy with the rules that were remembered since, once it has been needed.
    policy: Mutex<Option<Arc<Policy>>>,
    turn: TurnMemory,
}

impl ToolExecutor {
    /// An executor for the tools of `registry` on a project, given as such or with its index.
    pub fn new(
        registry: Arc<ToolRegistry>,
        project: impl Into<CodeBase>,
        options: ExecutorOptions,
    ) -> Self {
        Self::sharing(registry, Arc::new(project.into()), options)
    }

    /// Like [`Self::new`], on a project that other executors use too.
    pub fn sharing(
        registry: Arc<ToolRegistry>,
        code: Arc<CodeBase>,
        mut options: ExecutorOptions,
    ) -> Self {
        options.limits = options.limits.in_vocabulary(options.vocabulary);
        let shared = Arc::new(Shared {
            code,
            limits: options.limits.clone(),
            activity: ActivityStream::default(),
            files: FileTracker::new(options.require_read),
            instructions: TouchedInstructions::default(),
            results: ResultStore::new(options.limits.kept_result_bytes),
            history: options.history.take(),
            own: OwnChanges::default(),
            session: options.session.clone(),
            agent_host: options.agent_host.take(),
            jobs: Jobs::default(),
            performer: options.performer.clone(),
            network: options.network,
        });
        let policy = Mutex::default();
        Self { registry, options, shared, policy, turn: TurnMemory::default() }
    }

    /// The tools that can be called.
    pub fn registry(&self) -> &ToolRegistry {
        &self.registry
    }

    /// The tools this executor offers: those of its vocabulary that its role may use here.
    pub fn offered(&self) -> Vec<Arc<ListedTool>> {
        let mut tools = self.registry.list_for(self.options.vocabulary, &self.options.role);
        if self.shared.agent_host.is_none() {
            tools.retain(|tool| tool.definition().category != Category::Agent);
        }
        tools
    }

    /// Those of [`Self::offered`] that can do anything in this project.
    pub fn useful(&self) -> Vec<Arc<ListedTool>> {
        let mut tools = self.offered();
        tools.retain(|tool| tool.tool().is_useful(self.shared.code.workspace()));
        tools
    }

    /// Whether the model has a tool that reads what was left out of its conversation.
    pub fn reads_messages(&self) -> bool {
        let can = |tool: &Arc<ListedTool>| tool.definition().reads_handles;
        self.shared.agent_host.is_some() && self.useful().iter().any(can)
    }

    /// The tool that a call names, in whatever vocabulary.
    pub fn tool_of(&self, call: &ToolCall) -> Result<Arc<ListedTool>, ToolError> {
        self.registry.get(self.options.vocabulary, &call.name)
    }

    /// Whether the model wants its turn to end with this call.
    pub fn terminates(&self, call: &ToolCall) -> bool {
        call.arguments.get(TERMINATE).and_then(Value::as_bool).unwrap_or(false)
    }

    /// The events of all calls.
    pub fn activity(&self) -> &ActivityStream {
        &self.shared.activity
    }

    /// Who answers for the person, unless a call brings somebody else.
    pub fn approver(&self) -> Arc<dyn Approver> {
        Arc::clone(&self.options.approver)
    }

    /// The role that acts.
    pub fn role(&self) -> &AgentRole {
        &self.options.role
    }

    /// Makes ready what the first command needs, which takes longer than most commands. Blocks; for a
    /// thread of its own while there is nothing else to do.
    pub fn preparation(&self) -> impl FnOnce() + Send + 'static {
        let runs_commands = self.role().permissions().contains(ToolPermission::ExecuteCommands);
        let performer = self.options.performer.clone().filter(|_| runs_commands);
        move || {
            // Should it fail, the command that needs it will say so.
            if let Some(runner) = performer.and_then(|performer| performer.runner().ok()) {
                runner.prepare_copy();
            }
        }
    }

    /// Which files the model has seen.
    pub fn files(&self) -> &FileTracker {
        &self.shared.files
    }

    /// What the project says to agents, in its root and above the files that were read or changed so
    /// far. Files that were read before are looked at again in a new turn.
    pub async fn instructions(&self) -> Vec<InstructionFile> {
        let shared = Arc::clone(&self.shared);
        let gathering = tokio::task::spawn_blocking(move || {
            shared.instructions.gather(&shared.files, shared.code.workspace(), &shared.limits)
        });
        // It fails only if the process is shutting down.
        gathering.await.unwrap_or_default()
    }

    /// What may be done without asking, and what not at all.
    pub fn policy(&self) -> Result<Arc<Policy>, ToolError> {
        let mut current = self.policy.lock().unwrap_or_else(PoisonError::into_inner);
        match &*current {
            Some(policy) => Ok(Arc::clone(policy)),
            None => {
                let policy = Arc::new(self.options.policy.get()?.clone());
                Ok(Arc::clone(current.insert(policy)))
            }
        }
    }

    /// Adds a rule to the policy and has it kept.
    pub fn remember(&self, rule: Rule) -> Result<(), ToolError> {
        if let Some(keeper) = &self.options.rule_keeper {
            keeper.keep(&rule)?;
        }
        let widened = Policy::clone(&*self.policy()?).with_rule(rule);
        let mut current = self.policy.lock().unwrap_or_else(PoisonError::into_inner);
        *current = Some(Arc::new(widened));
        Ok(())
    }

    /// A new turn begins: earlier answers no longer stand for identical calls.
    pub fn clear_current_turn(&self) {
        self.turn.clear();
        self.shared.instructions.look_again();
    }

    /// A new session begins: everything that was seen is forgotten.
    pub fn clear_state(&self) {
        self.turn.clear();
        self.shared.files.clear();
    }

    /// Runs one call to its result. It ends early, with `CANCELLED`, when `cancel` fires. Whatever
    /// happens on the way, a panic included, there is a result.
    pub async fn execute_tool(&self, call: &ToolCall, cancel: &CancellationToken) -> ToolResult {
        self.report(call, cancel).await.result
    }

    /// Like [`Self::execute_tool`], with the images that belong to the result.
    pub async fn report(&self, call: &ToolCall, cancel: &CancellationToken) -> CallReport {
        self.report_asking(call, cancel, &*self.approver()).await
    }

    /// Like [`Self::report`], with another person to ask for this call.
    pub async fn report_asking(
        &self,
        call: &ToolCall,
        cancel: &CancellationToken,
        approver: &dyn Approver,
    ) -> CallReport {
        let started = Instant::now();
        let call_id: Arc<str> = call.id.as_str().into();
        let tool_name = || call.name.as_str().into();
        let activity = &self.shared.activity;
        activity.emit(&call_id, ActivityType::ToolCallStart, || ActivityData::ToolCallStart {
            tool_name: tool_name(),
            arguments: call.arguments.clone(),
        });
        let images = ShownImages::default();
        let run = self.run(call, &call_id, cancel, approver, &images);
        let ended = caught(run).await.map_err(truncation::fit_error);
        match &ended {
            Ok(Answer { value, .. }) => {
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
        match ended {
            Ok(Answer { value, text, title }) => {
                CallReport { text, images: images.take(), title, ..Ok(value).into() }
            }
            // An error is told in words alone.
            Err(error) => Err(error).into(),
        }
    }

    async fn run(
        &self,
        call: &ToolCall,
        id: &Arc<str>,
        cancel: &CancellationToken,
        approver: &dyn Approver,
        images: &ShownImages,
    ) -> Result<Answer, ToolError> {
        let listed = self.registry.get(self.options.vocabulary, &call.name)?;
        let mut arguments = validated(&listed, call.arguments.clone())?;
        self.check_role(&listed)?;
        let key = self.key_of(&listed, &arguments);
        let mut cx = self.context(id, listed.definition().name, cancel);
        cx.images = images.clone();
        if let Some(key) = &key
            && let Some(earlier) = self.repeated(key, &cx).await
        {
            return Ok(self.answer(&listed, &arguments, earlier));
        }
        // A tool that runs commands is asked again, with its arguments, what to make of the report.
        let reported = definition_runs(&listed).then(|| arguments.clone());
        let work = listed.tool().execute(arguments.clone(), cx.clone());
        let outcome = match listed.definition().category {
            // A sub-agent hears of it by itself, and has to write down what it used.
            Category::Agent => work.await?,
            _ => unless_cancelled(work, cancel).await?,
        };
        let value = match outcome {
            Outcome::Answer(value) => value,
            Outcome::Proposal(proposed) => {
                let gate = Gate { executor: self, call, listed: &listed, approver, cx: &cx };
                let passed = gate.pass(proposed, reported).await?;
                // What is told of a call is told of the arguments that it was made with.
                arguments = passed.arguments.unwrap_or(arguments);
                passed.value
            }
        };
        let (limits, results) = (&self.options.limits, &self.shared.results);
        let form = OutputForm::of(self.options.vocabulary);
        let ran = definition_runs(&listed).then_some(form);
        let value = truncation::fit_result(value, ran, limits, results);
        if let Some(key) = key {
            self.memorise(key, &value, &cx);
        }
        Ok(self.answer(&listed, &arguments, value))
    }

    /// The value as its reader expects it, with how models and people are shown it. The vocabularies
    /// of other agents promise JSON.
    fn answer(&self, listed: &ListedTool, arguments: &ToolArguments, value: Value) -> Answer {
        let tool = listed.tool();
        let in_text = self.options.vocabulary == Vocabulary::Standard;
        let text = courtesy(|| tool.text(arguments, &value).filter(|_| in_text));
        let title = courtesy(|| tool.summary(arguments, &value));
        Answer { value: listed.face().spell_result(value), text, title }
    }

    /// What a call does, in words for people.
    pub fn title(&self, call: &ToolCall) -> Option<String> {
        let listed = self.registry.get(self.options.vocabulary, &call.name).ok()?;
        let arguments = listed.face().own_arguments(call.arguments.clone());
        courtesy(|| listed.tool().title(&ToolArguments::new(arguments)))
    }

    pub(crate) fn context(
        &self,
        call_id: &Arc<str>,
        tool: &'static str,
        cancel: &CancellationToken,
    ) -> ToolContext {
        ToolContext {
            shared: Arc::clone(&self.shared),
            call_id: Arc::clone(call_id),
            tool,
            cancel: cancel.clone(),
            files_read: Arc::new(Mutex::default()),
            images: ShownImages::default(),
        }
    }

    pub(crate) fn check_role(&self, listed: &ListedTool) -> Result<(), ToolError> {
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

    /// What an identical call would be known by, if repeats are answered from memory at all. Making
    /// it costs a copy of the arguments.
    fn key_of(&self, listed: &ListedTool, arguments: &ToolArguments) -> Option<CallKey> {
        let definition = listed.definition();
        let remembers = self.options.detect_repeats && definition.is_read_only();
        remembers.then(|| CallKey::new(definition.name, arguments.as_map()))
    }

    /// The answer to an identical call of this turn, if it still holds, with a remark.
    async fn repeated(&self, key: &CallKey, cx: &ToolContext) -> Option<Value> {
        let Answered { mut value, files, images } = self.turn.get(key)?;
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
                      through Toolkiln since; this is the same result.";
        value.as_object_mut()?.insert("redundant".into(), remark.into());
        images.into_iter().for_each(|image| _ = cx.show(image));
        Some(value)
    }

    fn memorise(&self, key: CallKey, value: &Value, cx: &ToolContext) {
        let files = cx.files_read.lock().unwrap_or_else(PoisonError::into_inner).clone();
        let images = cx.images.lock().clone();
        self.turn.put(key, Answered { value: value.clone(), files, images });
    }

    /// Who performs what has passed the gate.
    pub(crate) fn performer(&self) -> Result<&Arc<dyn Performer>, ToolError> {
        let message = "nothing can be changed or run through this door";
        let performer = self.options.performer.as_ref();
        performer.ok_or_else(|| ToolError::new(ErrorCode::PermissionDenied, message))
    }

    /// Whatever happens now, what was read before may no longer be so.
    pub(crate) fn forget_answers(&self) {
        self.turn.clear();
    }

    /// Performs what has passed the gate, to its end: a call that is withdrawn now is too late.
    pub(crate) async fn perform(&self, approved: Approved<'_>, cx: &ToolContext) -> ToolResult {
        let performer = self.performer()?;
        self.forget_answers();
        if let Proposal::Changes(set) = &approved.proposal {
            self.shared.own.note(&set.changes, !approved.unseen);
        }
        let mut done = performer.perform(&approved, cx).await?;
        let mut answer = match (approved.answer.clone(), &mut done) {
            // What the performer reports joins the answer, such as the id to undo it by.
            (Some(Value::Object(mut answer)), Value::Object(report)) => {
                answer.append(report);
                Value::Object(answer)
            }
            (Some(answer), _) => answer,
            (None, _) => done,
        };
        checks::append(&self.options.checks, &approved.proposal, performer, cx, &mut answer).await;
        Ok(answer)
    }

    fn preview(&self, name: &str, value: &Value) -> Vec<String> {
        let listed = self.registry.get(self.options.vocabulary, name).ok();
        let preview = |listed: Arc<ListedTool>| listed.tool().preview(value, PREVIEW_LINES);
        listed.and_then(|listed| courtesy(|| Some(preview(listed)))).unwrap_or_default()
    }
}

/// What running a call gives, for each of its readers.
struct Answer {
    value: Value,
    text: Option<String>,
    title: Option<String>,
}

/// How something is shown must not undo that it was done: a panic here is the same as nothing to show.
fn courtesy<T>(shown: impl FnOnce() -> Option<T>) -> Option<T> {
    catch_unwind(AssertUnwindSafe(shown)).ok().flatten()
}

fn definition_runs(listed: &ListedTool) -> bool {
    let definition = listed.definition();
    // Looking at a repository runs git, and is no more than reading.
    definition.category == Category::VersionControl
        || definition.required_permissions.contains(ToolPermission::ExecuteCommands)
}

/// The arguments in the tool's own spelling, if they fit the schema of the face.
pub(crate) fn validated(
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

/// Waits for `work` unless the call is withdrawn first.
pub(crate) async fn unless_cancelled<T>(
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
async fn caught<T>(work: impl Future<Output = Result<T, ToolError>>) -> Result<T, ToolError> {
    AssertUnwindSafe(work).catch_unwind().await.unwrap_or_else(|panic| {
        let text = panic.downcast_ref::<&str>().map(|text| (*text).to_owned());
        let text = text.or_else(|| panic.downcast_ref::<String>().cloned());
        let text = text.unwrap_or_else(|| "no message".into());
        Err(ToolError::new(ErrorCode::Internal, format!("the tool failed unexpectedly: {text}"))
            .suggest("This is a fault in Toolkiln; try another tool or other arguments."))
    })
}
