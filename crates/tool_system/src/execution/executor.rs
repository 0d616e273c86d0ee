//! The one way to run a tool.
//!
//! resolve face → validate → role → redundancy → `Tool::execute` → [proposal: policy → approval →
//! perform → journal] → truncate → spell result. Every step either hands on or ends the call with an error that goes
//! back to the model; events about it go to the activity stream. The executor calls the approval gate, and
//! the gate does not call back: what both need is in [`ExecutorState`].

mod explaining;
mod options;
mod rewinding;
mod state;
mod worktrees;

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::time::Instant;

use futures_util::FutureExt as _;
use futures_util::future::BoxFuture;
use protocol::{
    ActivityData, ActivityType, AgentRole, ApprovalRequest, CallReport, ErrorCode, Remember,
    ToolCall, ToolError, ToolPermission, ToolResult,
};
use serde_json::{Map, Value};
use tokio_util::sync::CancellationToken;

pub use self::explaining::Explained;
pub use self::options::ExecutorOptions;
pub(crate) use self::state::ExecutorState;
use crate::approval_gate::ApprovalGate;
use crate::locked::locked;
use crate::policy::{Decision, Policy, Rule, RuleSource, effects_of, suggest_rule};
use crate::truncation::OutputForm;
use crate::turn::CallKey;
use crate::{
    ActivityStream, Approver, Category, FileTracker, InstructionFile, ListedTool, Outcome,
    ToolArguments, ToolContext, ToolRegistry, Vocabulary, truncation,
};

/// Lines of a result in the event that ends a call.
const PREVIEW_LINES: usize = 3;

/// Runs tool calls for one [`Caller`](crate::Caller); [`ProjectTools::executor`](crate::ProjectTools::executor) makes
/// it. A clone is the same executor.
#[derive(Clone)]
pub struct ToolExecutor {
    pub(crate) registry: Arc<ToolRegistry>,
    pub(crate) state: Arc<ExecutorState>,
}

impl ToolExecutor {
    /// Runs one call to its result. It ends early, with `CANCELLED`, when `cancel` fires. Whatever
    /// happens on the way, a panic included, there is a result.
    pub async fn execute_tool(&self, call: &ToolCall, cancel: &CancellationToken) -> ToolResult {
        self.report(call, cancel, self.approver()).await.result
    }

    /// Like [`Self::execute_tool`], with the images that belong to the result, and an approver for this
    /// call.
    pub async fn report(
        &self,
        call: &ToolCall,
        cancel: &CancellationToken,
        approver: &dyn Approver,
    ) -> CallReport {
        let started = Instant::now();
        let call_id: Arc<str> = call.id.as_str().into();
        let tool_name = || call.name.as_str().into();
        let activity = &self.state.activity;
        activity.emit(&call_id, ActivityType::ToolCallStart, || ActivityData::ToolCallStart {
            tool_name: tool_name(),
            arguments: call.arguments.clone(),
        });
        let ended = caught(self.run(call, &call_id, cancel, approver)).await;
        match ended.map_err(truncation::fit_error) {
            Ok(report) => {
                activity.emit(&call_id, ActivityType::ToolCallEnd, || ActivityData::ToolCallEnd {
                    tool_name: tool_name(),
                    success: true,
                    duration_ms: started.elapsed().as_millis().try_into().unwrap_or(u64::MAX),
                    preview: self.preview(call, &report.result),
                });
                report
            }
            Err(error) => {
                activity.emit(&call_id, ActivityType::Error, || ActivityData::Error {
                    tool_name: tool_name(),
                    code: error.code,
                    error: error.message.clone(),
                });
                Err(error).into()
            }
        }
    }

    /// The steps of a call, behind a pointer. Else the compiler would write all that can happen in one
    /// again for every crate that makes calls.
    fn run<'a>(
        &'a self,
        call: &'a ToolCall,
        call_id: &'a Arc<str>,
        cancel: &'a CancellationToken,
        approver: &'a dyn Approver,
    ) -> BoxFuture<'a, Result<CallReport, ToolError>> {
        let steps = async move {
            let listed = self.tool_of(call)?;
            let mut arguments = listed.validated(call.arguments.clone())?;
            let state = &*self.state;
            state.check_role(&listed)?;

            let cx = ToolContext::new(&self.state, call_id, &listed, cancel);
            let definition = listed.definition();
            let remembers = state.caller.detect_repeats && definition.is_read_only();
            let key = remembers.then(|| CallKey::new(definition.name, arguments.as_map()));
            if let Some(key) = &key
                && let Some(earlier) = state.answers.repeated(key, &cx).await
            {
                return Ok(self.told(&listed, &arguments, earlier, &cx));
            }

            let work = listed.tool.execute(arguments.clone(), cx.clone());
            let outcome = match definition.category {
                // A sub-agent is told of a cancel itself, and has to write down what it used.
                Category::Agent => work.await?,
                _ => cx.unless_cancelled(work).await?,
            };
            let value = match outcome {
                Outcome::Answer(value) => value,
                Outcome::Proposal(proposed) => {
                    let gate = ApprovalGate { call, listed: &listed, approver, cx: &cx };
                    // A tool that runs commands, or asks the web, makes its answer of the report and its
                    // arguments.
                    let is_reported =
                        listed.runs_programs() || definition.category == Category::Web;
                    let reported = is_reported.then(|| arguments.clone());
                    let passed = gate.pass(proposed, reported).await?;
                    // What is told of a call is told of the arguments that it was made with.
                    arguments = passed.arguments.unwrap_or(arguments);
                    passed.value
                }
            };

            let limits = &state.options.limits;
            let form = OutputForm::of(state.options.vocabulary);
            let ran = listed.runs_programs().then_some(form);
            let value = truncation::fit_result(value, ran, limits, &state.results);
            if let Some(key) = key {
                state.answers.put(key, cx.answered(&value));
            }
            Ok(self.told(&listed, &arguments, value, &cx))
        };
        steps.boxed()
    }

    /// The value as its reader expects it, with how models and users are shown it. The vocabularies
    /// of other agents promise JSON.
    fn told(
        &self,
        listed: &ListedTool,
        arguments: &ToolArguments,
        value: Value,
        cx: &ToolContext,
    ) -> CallReport {
        let tool = &listed.tool;
        let in_text = self.state.options.vocabulary == Vocabulary::Standard;
        let text = courtesy(|| tool.text(arguments, &value).filter(|_| in_text));
        let title = courtesy(|| tool.summary(arguments, &value));
        let result = Ok(listed.face.spell_result(value));
        let images = std::mem::take(&mut *locked(&cx.images));
        let found_tools = std::mem::take(&mut *locked(&cx.found_tools));
        CallReport { result, text, images, title, found_tools }
    }

    fn preview(&self, call: &ToolCall, result: &ToolResult) -> Vec<String> {
        let (Ok(listed), Ok(value)) = (self.tool_of(call), result) else { return Vec::new() };
        courtesy(|| Some(listed.tool.preview(value, PREVIEW_LINES))).unwrap_or_default()
    }

    /// The tools that can be called.
    pub fn registry(&self) -> &ToolRegistry {
        &self.registry
    }

    /// The tools this executor offers: those of its vocabulary that its role may use here.
    pub fn offered(&self) -> Vec<Arc<ListedTool>> {
        let mut tools =
            self.registry.list_for(self.state.options.vocabulary, &self.state.caller.role);
        if self.state.caller.agent_host.is_none() {
            tools.retain(|tool| tool.definition().category != Category::Agent);
        }
        if !self.state.options.network {
            tools.retain(|tool| tool.definition().category != Category::Web);
        }
        tools
    }

    /// Those of [`Self::offered`] that can do anything in this project.
    pub fn useful(&self) -> Vec<Arc<ListedTool>> {
        let mut tools = self.offered();
        tools.retain(|tool| tool.tool.is_useful(self.state.code.workspace()));
        tools
    }

    /// Whether the model has a tool that reads what was left out of its conversation.
    pub fn reads_messages(&self) -> bool {
        let can = |tool: &Arc<ListedTool>| tool.definition().reads_handles;
        self.state.caller.agent_host.is_some() && self.useful().iter().any(can)
    }

    /// The tool that a call names, in whatever vocabulary.
    pub fn tool_of(&self, call: &ToolCall) -> Result<Arc<ListedTool>, ToolError> {
        self.registry.get(self.state.options.vocabulary, &call.name)
    }

    /// The events of all calls.
    pub fn activity(&self) -> &ActivityStream {
        &self.state.activity
    }

    /// Commands that run in the background.
    pub fn running_jobs(&self) -> usize {
        self.state.jobs.running()
    }

    /// Decides about what needs approval, unless a call brings another approver.
    pub fn approver(&self) -> &dyn Approver {
        &*self.state.caller.approver
    }

    /// The role that limits what may be called.
    pub fn role(&self) -> &AgentRole {
        &self.state.caller.role
    }

    /// The session that changes are made in.
    pub fn session(&self) -> &str {
        &self.state.caller.session
    }

    /// Makes ready what the first command needs, which takes longer than most commands. Blocks; for a
    /// thread of its own while there is nothing else to do.
    pub fn preparation(&self) -> impl FnOnce() + Send + 'static {
        let permissions = self.role().permissions();
        let runs_commands = permissions.contains(ToolPermission::ExecuteCommands);
        let performer = self.state.options.performer.clone().filter(|_| runs_commands);
        move || {
            // Should it fail, the command that needs it will say so.
            if let Some(runner) = performer.and_then(|performer| performer.runner().ok()) {
                runner.prepare_copy();
            }
        }
    }

    /// Which files the model has seen.
    pub fn files(&self) -> &FileTracker {
        &self.state.files
    }

    /// What the project says to agents, in its root and above the files that were read or changed so
    /// far. Files that were read before are looked at again in a new turn.
    pub async fn instructions(&self) -> Vec<InstructionFile> {
        if let Some(known) = self.state.instructions.known(&self.state.files) {
            return known;
        }
        let state = Arc::clone(&self.state);
        let gathering = tokio::task::spawn_blocking(move || {
            let (files, limits) = (&state.files, &state.options.limits);
            state.instructions.gather(files, state.code.workspace(), limits)
        });
        // It fails only if the process is shutting down.
        gathering.await.unwrap_or_default()
    }

    /// What may be done without asking, and what not at all.
    pub fn policy(&self) -> Result<Arc<Policy>, ToolError> {
        self.state.policy()
    }

    /// The same without the rules that other processes have taken back by now.
    pub async fn policy_now(&self) -> Result<Arc<Policy>, ToolError> {
        self.state.take_revocations().await?;
        self.state.policy()
    }

    /// Adds a rule to the policy and has it kept.
    pub async fn remember(&self, rule: Rule) -> Result<(), ToolError> {
        self.state.remember(rule, Remember::Project).await
    }

    /// Adds a rule to the policy that was kept elsewhere.
    pub fn learn(&self, rule: Rule) {
        self.state.caller.learned_rules.add(rule);
    }

    /// Refuses from now on, in everything that shares what was learned, what a remembered yes to this request would
    /// have let pass. Answers whether a rule can say that.
    pub fn refuse_alike(&self, request: &ApprovalRequest) -> bool {
        let call = ToolCall::new("", request.tool.clone(), Map::new());
        let Ok(listed) = self.tool_of(&call) else { return false };
        let effects = effects_of(&request.proposal);
        let rule = suggest_rule(listed.definition().name, &request.proposal, &effects);
        let refusal = rule.map(|rule| Rule {
            decision: Decision::Deny,
            // A remembered rule about a command counts as a yes to exactly that one only.
            source: RuleSource::CommandLine,
            note: Some("the user refused it for this session".to_owned()),
            ..rule
        });
        let is_made = refusal.is_some();
        refusal.into_iter().for_each(|rule| self.learn(rule));
        is_made
    }

    /// No longer counts a rule that was remembered or learned, here and in everything that shares what
    /// was learned. Where it is kept, its keeper forgets it.
    pub fn revoke(&self, id: &str) {
        self.state.caller.learned_rules.revoke(id);
    }

    /// A new turn begins: earlier answers no longer stand for identical calls.
    pub fn clear_current_turn(&self) {
        self.state.answers.clear();
        self.state.instructions.look_again();
    }

    /// A new session begins: everything that was seen is forgotten.
    pub fn clear_state(&self) {
        self.state.answers.clear();
        self.state.files.clear();
    }

    /// What a call does, in words for the user.
    pub fn title(&self, call: &ToolCall) -> Option<String> {
        let listed = self.tool_of(call).ok()?;
        let arguments = listed.face.own_arguments(call.arguments.clone());
        courtesy(|| listed.tool.title(&ToolArguments::new(arguments)))
    }
}

/// How something is shown must not undo that it was done: a panic here is the same as nothing to show.
fn courtesy<T>(shown: impl FnOnce() -> Option<T>) -> Option<T> {
    catch_unwind(AssertUnwindSafe(shown)).ok().flatten()
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
