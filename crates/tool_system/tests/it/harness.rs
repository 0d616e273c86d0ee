//! A project and an executor on it.

use std::path::PathBuf;
use std::sync::{Arc, Mutex};

use protocol::{AgentRole, ApprovalRequest, ApprovalResponse, ToolCall, ToolError, ToolResult};
use serde_json::Value;
use testkit::Fixture;
use tokio_util::sync::CancellationToken;
use tool_system::policy::{ApprovalMode, Policy, Rule};
use tool_system::prelude::async_trait;
use tool_system::{
    Approver, Caller, CommandRunner, ExecutorOptions, History, JournalPerformer, Limits,
    ProjectTools, RunnerOptions, Tool, ToolExecutor, ToolRegistry, Vocabulary,
};
use workspace::{Journal, JournalOptions, Workspace};

/// How a question is answered.
pub(crate) type Reply = Box<dyn FnOnce(&ApprovalRequest) -> ApprovalResponse + Send>;

/// A plain yes.
pub(crate) fn yes() -> Reply {
    Box::new(ApprovalRequest::approve)
}

/// A no, with a reason if there is one.
pub(crate) fn no(reason: Option<&'static str>) -> Reply {
    Box::new(move |_| ApprovalResponse::no(reason.map(str::to_owned)))
}

/// A yes that is to be remembered.
pub(crate) fn always() -> Reply {
    Box::new(ApprovalRequest::approve_always)
}

/// A yes to other arguments.
pub(crate) fn with_arguments(arguments: Value) -> Reply {
    Box::new(move |request| request.with_arguments(arguments.as_object().unwrap().clone()))
}

/// A yes to these hunks of one file.
pub(crate) fn with_hunks(path: &'static str, hunks: &'static [usize]) -> Reply {
    Box::new(move |request| request.with_hunks([(path.to_owned(), hunks.to_vec())].into()))
}

/// An approver that answers from a list, yes once it is used up, and remembers what was asked.
#[derive(Default)]
pub(crate) struct ScriptedApprover {
    answers: Mutex<Vec<Reply>>,
    asked: Mutex<Vec<ApprovalRequest>>,
    meanwhile: Mutex<Option<Box<dyn FnOnce() + Send>>>,
}

impl ScriptedApprover {
    pub(crate) fn answering(answers: impl IntoIterator<Item = Reply>) -> Arc<Self> {
        let mut answers: Vec<_> = answers.into_iter().collect();
        answers.reverse();
        Arc::new(Self { answers: Mutex::new(answers), ..Self::default() })
    }

    /// Does something between the next question and its answer.
    pub(crate) fn before_answering(&self, work: impl FnOnce() + Send + 'static) {
        *self.meanwhile.lock().unwrap() = Some(Box::new(work));
    }

    /// What was asked since the last look.
    pub(crate) fn asked(&self) -> Vec<ApprovalRequest> {
        std::mem::take(&mut *self.asked.lock().unwrap())
    }
}

#[async_trait]
impl Approver for ScriptedApprover {
    async fn decide(&self, request: &ApprovalRequest) -> Result<ApprovalResponse, ToolError> {
        self.asked.lock().unwrap().push(request.clone());
        if let Some(work) = self.meanwhile.lock().unwrap().take() {
            work();
        }
        let reply = self.answers.lock().unwrap().pop().unwrap_or_else(yes);
        Ok(reply(request))
    }
}

/// What a project decides about its executors, and who calls; mostly one of them is enough.
#[derive(Default)]
pub(crate) struct Setup {
    pub(crate) options: ExecutorOptions,
    pub(crate) caller: Caller,
}

impl Setup {
    pub(crate) fn in_role(role: AgentRole, options: ExecutorOptions) -> Self {
        Self { options, caller: Caller { role, ..Caller::default() } }
    }
}

impl From<ExecutorOptions> for Setup {
    fn from(options: ExecutorOptions) -> Self {
        Self { options, ..Self::default() }
    }
}

impl From<Caller> for Setup {
    fn from(caller: Caller) -> Self {
        Self { caller, ..Self::default() }
    }
}

pub(crate) struct Bench {
    pub(crate) project: Fixture,
    pub(crate) executor: ToolExecutor,
    pub(crate) approver: Arc<ScriptedApprover>,
}

impl Bench {
    pub(crate) fn new(fixture: &str) -> Self {
        Self::with(fixture, ExecutorOptions::default(), Vec::new())
    }

    pub(crate) fn speaking(vocabulary: Vocabulary, fixture: &str) -> Self {
        Self::with(fixture, ExecutorOptions { vocabulary, ..Default::default() }, Vec::new())
    }

    pub(crate) fn limited(fixture: &str, limits: Limits) -> Self {
        Self::with(fixture, ExecutorOptions { limits, ..Default::default() }, Vec::new())
    }

    pub(crate) fn with(fixture: &str, setup: impl Into<Setup>, more: Vec<Arc<dyn Tool>>) -> Self {
        let Setup { options, caller } = setup.into();
        let project = Fixture::new(fixture);
        let workspace = Arc::new(Workspace::open(project.root()).unwrap());
        let mut registry = ToolRegistry::builtin();
        more.into_iter().for_each(|tool| registry.register(tool));
        let executor = ProjectTools::new(registry, workspace, options).executor(caller);
        Self { project, executor, approver: ScriptedApprover::answering([]) }
    }

    /// A project that can be changed, with an approver that says yes to everything.
    pub(crate) fn writable(fixture: &str) -> Self {
        Self::asking(fixture, ScriptedApprover::answering([]), ExecutorOptions::default())
    }

    /// A project that can be changed, with an approver.
    pub(crate) fn asking(
        fixture: &str,
        approver: Arc<ScriptedApprover>,
        setup: impl Into<Setup>,
    ) -> Self {
        Self::on(Fixture::new(fixture), approver, setup.into(), Vec::new(), Vec::new())
    }

    fn on(
        project: Fixture,
        approver: Arc<ScriptedApprover>,
        setup: Setup,
        more: Vec<Arc<dyn Tool>>,
        path: Vec<PathBuf>,
    ) -> Self {
        let workspace = Arc::new(Workspace::open(project.root()).unwrap());
        let state = project.root().with_file_name("state");
        let journal =
            Journal::open(Arc::clone(&workspace), &state, JournalOptions::default()).unwrap();
        let journal = Arc::new(tool_system::OnDemand::from(Arc::new(journal)));
        let Setup { mut options, caller } = setup;
        let caller = Caller { session: "s1".into(), approver: approver.clone(), ..caller };
        let performer = JournalPerformer::new(Arc::clone(&journal));
        let mut confinement = confinement(&project);
        confinement.profile.path = path;
        let runner = CommandRunner::new(Arc::clone(&workspace), confinement);
        let runner = Arc::new(tool_system::OnDemand::from(Arc::new(runner)));
        options.performer = Some(Arc::new(performer.with_commands(runner)));
        options.history = Some(History::of(journal));
        let mut registry = ToolRegistry::builtin();
        more.into_iter().for_each(|tool| registry.register(tool));
        let executor = ProjectTools::new(registry, workspace, options).executor(caller);
        Self { project, executor, approver }
    }

    /// A project in which commands can be run; none if this machine cannot confine them, which is
    /// said.
    pub(crate) fn running(
        fixture: &str,
        approver: Arc<ScriptedApprover>,
        setup: impl Into<Setup>,
    ) -> Option<Self> {
        Self::running_with(fixture, approver, setup, Vec::new())
    }

    /// Like [`Self::running`], with directories of programs that come first.
    pub(crate) fn running_on_path(
        fixture: &str,
        approver: Arc<ScriptedApprover>,
        setup: impl Into<Setup>,
        path: &[&str],
    ) -> Option<Self> {
        let project = Fixture::new(fixture);
        let path = path.iter().map(|name| project.path(name)).collect();
        can_confine(&project).then(|| Self::on(project, approver, setup.into(), Vec::new(), path))
    }

    /// Like [`Self::running`], with more tools.
    pub(crate) fn running_with(
        fixture: &str,
        approver: Arc<ScriptedApprover>,
        setup: impl Into<Setup>,
        more: Vec<Arc<dyn Tool>>,
    ) -> Option<Self> {
        let project = Fixture::new(fixture);
        can_confine(&project).then(|| Self::on(project, approver, setup.into(), more, Vec::new()))
    }

    pub(crate) async fn call(&self, name: &str, arguments: Value) -> ToolResult {
        let call = ToolCall::new("c1", name, arguments.as_object().unwrap().clone());
        self.executor.execute_tool(&call, &CancellationToken::new()).await
    }

    pub(crate) async fn ok(&self, name: &str, arguments: Value) -> Value {
        match self.call(name, arguments).await {
            Ok(value) => value,
            Err(error) => panic!("{name} failed: {error:?}"),
        }
    }

    /// The result as a model reads it, with its tabs to be seen.
    pub(crate) async fn text(&self, name: &str, arguments: Value) -> String {
        let call = ToolCall::new("c1", name, arguments.as_object().unwrap().clone());
        let report =
            self.executor.report(&call, &CancellationToken::new(), self.executor.approver()).await;
        let Some(text) = &report.text else { panic!("{name} has no text: {report:?}") };
        text.replace('\t', "⇥")
    }

    /// What users are told of a call: before it runs, and when it has.
    pub(crate) async fn told(&self, name: &str, arguments: Value) -> String {
        let call = ToolCall::new("c1", name, arguments.as_object().unwrap().clone());
        let none = || "–".to_owned();
        let title = self.executor.title(&call).unwrap_or_else(none);
        let report =
            self.executor.report(&call, &CancellationToken::new(), self.executor.approver()).await;
        format!("{title} → {}", report.title.unwrap_or_else(none))
    }

    pub(crate) async fn err(&self, name: &str, arguments: Value) -> ToolError {
        match self.call(name, arguments).await {
            Ok(value) => panic!("{name} should have failed but gave {value:#}"),
            Err(error) => error,
        }
    }
}

/// Whether this machine can confine commands; if not, that is said.
fn can_confine(project: &Fixture) -> bool {
    let RunnerOptions { profile, launcher, .. } = confinement(project);
    let probe = sandbox::probe(project.root(), &profile.home, &launcher);
    let missing = probe.findings.iter().find(|finding| match finding.part {
        sandbox::SandboxPart::Overlay => finding.problem.is_some(),
        _ => finding.required && finding.problem.is_some(),
    });
    if let Some(missing) = missing {
        testkit::left_out(&format!("commands cannot be confined here: {missing:?}"));
    }
    missing.is_none()
}

/// How commands are confined in tests.
fn confinement(project: &Fixture) -> RunnerOptions {
    RunnerOptions {
        profile: sandbox::Profile::new(project.root(), "/home/user"),
        launcher: sandbox::Launcher::at(env!("CARGO_BIN_EXE_tool-system-testbed")),
        unconfined: false,
        layer: project.root().parent().map(|above| above.join("state/layer")),
        ignored: tool_system::IgnoredFiles::Private,
    }
}

/// Everything that these tools do is allowed.
pub(crate) fn allowing(tools: &[&str]) -> ExecutorOptions {
    let rule = |tool| {
        serde_json::from_value(serde_json::json!({"decision": "allow", "tool": tool})).unwrap()
    };
    let rules: Vec<Rule> = tools.iter().map(rule).collect();
    let policy = Policy::new(ApprovalMode::Strict, rules);
    ExecutorOptions { policy: policy.into(), ..ExecutorOptions::default() }
}

/// The strings under `key` of each item of a list.
pub(crate) fn each<'a>(list: &'a Value, key: &str) -> Vec<&'a str> {
    list.as_array().unwrap().iter().map(|item| item[key].as_str().unwrap()).collect()
}

/// The strings of a list.
pub(crate) fn strings(list: &Value) -> Vec<&str> {
    list.as_array().unwrap().iter().map(|item| item.as_str().unwrap()).collect()
}
