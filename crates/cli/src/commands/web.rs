//! `toolkiln web`: conversations over HTTP.

mod agents;
pub(crate) mod sandbox_fact;
mod service_log;

use std::net::SocketAddr;
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;

use ::telemetry::ExportStatus;
use anyhow::{Context as _, bail};
use async_trait::async_trait;
use clap::Args;
use mcp::{ApproverChoice, HttpEndpoint, ServerParts, host_limits};
use protocol::{ErrorCode, ToolError};
use providers::catalogue::{ENDPOINTS, Endpoint, ModelSelection};
use session::Model;
use store::{SessionId, Store};
use terminal::{CandidateKind, MentionCandidate, best_matches};
use tokio_util::sync::CancellationToken;
use tool_system::{Caller, ProjectTools};
use web_service::{
    AgentEndpoint, Bounds, CompletedCommand, ConfiguredFacts, CustomToolFile, DirectCalls,
    KeptWorktree, KeyStatus, Mentionable, MentionableKind, OperationSettings, ProjectPort,
    RequestLog, Secrets, ServedProject, SessionHub, TelemetryCounts, WebApp, listen, serve,
};
use workspace::{Ownership, StateDir, Workspace, keep_private};

use crate::args::{ApprovalArgs, ModelArgs, ProjectArgs};
use crate::chat::live_parts::mention_source::MentionSource;
use crate::chat::slash_commands::{OfferedCommand, is_command, offered};
use crate::config::Keys;
use crate::conversation::{session_parts, session_parts_in};
use crate::interrupt::StopSignal;
use crate::model_choice::{Chosen, chosen, chosen_with_keys, wanted_by_name};
use crate::project::{Lifetime, Project, project_root};
use crate::reports::model_offers::{known_offers, model_offers};
use crate::session_worktrees::SessionWorktrees;
use crate::shown_project::ShownProject;
use crate::user_commands::UserCommands;
use agents::{DirectCallsPage, McpEndpoint};
use sandbox_fact::SandboxFact;
use service_log::{LogFormat, ServiceLog};

use crate::{browser, custom_tools, environment, output, telemetry};

const EXAMPLES: &str = "\
Examples:
  toolkiln web                                    # this project, at 127.0.0.1:4747
  toolkiln web --also ~/other --open              # two projects, opened in the browser
  toolkiln web --listen 0.0.0.0:4747 --proxy https://kiln.example.org";

/// What belongs to the service, in the directory of all states.
const DIRECTORY: &str = "web";
/// The tokens, which only the user can read.
const SECRETS: &str = "secrets.json";
/// A page that leads to the one-time link.
const LINK_FILE: &str = "open.html";
/// The file is a few hundred bytes long.
const MAX_SECRETS: u64 = 64 * 1024;

#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct WebArgs {
    #[command(flatten)]
    pub(crate) scope: ProjectArgs,
    /// Another project to serve; may be given several times
    #[arg(long, value_name = "DIR")]
    pub(crate) also: Vec<PathBuf>,
    /// Where to listen; an address that other machines reach needs --proxy
    #[arg(long, value_name = "ADDRESS:PORT", default_value = "127.0.0.1:4747")]
    pub(crate) listen: SocketAddr,
    /// The https address of the proxy before the service, which speaks TLS to browsers
    #[arg(long, value_name = "URL")]
    pub(crate) proxy: Option<String>,
    /// Open the link in the browser
    #[arg(long)]
    pub(crate) open: bool,
    /// Replace all tokens, so that every browser and program has to log in again
    #[arg(long)]
    pub(crate) new_tokens: bool,
    /// Whether it is meant for other agents, and says how they connect; see `toolkiln mcp --http`.
    #[arg(skip)]
    pub(crate) for_agents: bool,
    #[command(flatten)]
    pub(crate) operation: OperationArgs,
    #[command(flatten)]
    pub(crate) approval: ApprovalArgs,
    #[command(flatten)]
    pub(crate) model: ModelArgs,
}

/// How the service is run.
#[derive(Debug, Default, Args)]
pub(crate) struct OperationArgs {
    /// What is told on standard error: text, or json with a line for every request
    #[arg(long = "log", value_enum, value_name = "FORMAT", default_value_t)]
    log_format: LogFormat,
    /// The most pages and programs that may watch at a time
    #[arg(long, value_name = "N")]
    max_streams: Option<NonZeroUsize>,
}

impl OperationArgs {
    /// The service's log.
    pub(crate) fn log(&self) -> ServiceLog {
        ServiceLog::new(self.log_format)
    }

    /// How the service is run, with `bounds` where the user has set none.
    pub(crate) fn settings(
        &self,
        request_log: Option<RequestLog>,
        bounds: Bounds,
    ) -> OperationSettings {
        let streams = self.max_streams.map(|most| Bounds::with_streams(most.get()));
        OperationSettings {
            bounds: streams.unwrap_or(bounds),
            request_log,
            telemetry: Some(Box::new(|| {
                let ExportStatus { sent, dropped, failed_requests } = telemetry::status()?;
                Some(TelemetryCounts { sent, dropped, failed_requests })
            })),
            ..OperationSettings::default()
        }
    }
}

pub(crate) fn run(args: &WebArgs) -> anyhow::Result<ExitCode> {
    let stop = StopSignal::listen()?;
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    runtime.block_on(served(args, &stop))?;
    // A tool that still waits for the disk must not keep the process alive.
    runtime.shutdown_background();
    Ok(stop.exit_code().map_or(ExitCode::SUCCESS, ExitCode::from))
}

async fn served(args: &WebArgs, stop: &StopSignal) -> anyhow::Result<()> {
    // Before anything is opened: an address that is refused changes nothing.
    let (listener, site) = listen(args.listen, args.proxy.as_deref()).await?;
    let first = project_root::checked(&args.scope)?;
    let mut projects = Vec::new();
    let mut kept = None;
    for root in std::iter::once(first).chain(args.also.iter().cloned()) {
        let project = Project::open_with(&root, &args.model.layer())?;
        if kept.is_none() {
            let path = own_path()?;
            let are_exposed = are_exposed(&path)?;
            let states = StateDir::open(&project.workspace, &path)
                .context("the state directory cannot be opened")?;
            let renew = args.new_tokens || are_exposed;
            kept = Some((kept_secrets(&states, renew)?, states, path));
        }
        let serving = ServedRoot {
            root,
            project,
            name: None,
            store: None,
            worktrees: None,
            scope: &args.scope,
            approval: &args.approval,
        };
        projects.push(serving.served(&projects).await?);
    }
    let (secrets, states, path) = kept.context("there is no project to serve")?;
    let hub = SessionHub::new(projects);
    let log = args.operation.log();
    let (app, code) = WebApp::new(hub, site, &secrets, log.lines)?;
    app.operate(args.operation.settings(log.requests, Bounds::default()));
    let link = format!("{}/#code={code}", app.site().url());
    if args.for_agents {
        output::result(&format!("{}/mcp", app.site().url()))?;
        output::to_user(&format!(
            "toolkiln mcp: hosts send the header `Authorization: Bearer TOKEN`; the token is `mcp` in {}",
            path.join(SECRETS).display()
        ));
        output::to_user(&format!("toolkiln mcp: questions are answered at {link}"));
    } else {
        output::result(&link)?;
    }
    if args.open
        && let Err(why) = browser::show(&states, &path.join(LINK_FILE), &link)
    {
        output::to_user(&format!("toolkiln web: the browser is not opened: {why}"));
    }
    serve(listener, app, stop.cancel.clone()).await;
    telemetry::flush().await;
    if args.open {
        // The code in it was used, or is too old by now.
        let _ = states.remove(LINK_FILE);
    }
    Ok(())
}

/// A project that is about to be served.
pub(crate) struct ServedRoot<'a> {
    pub(crate) root: PathBuf,
    pub(crate) project: Project,
    /// What clients call it; made from its directory if there is none.
    pub(crate) name: Option<String>,
    /// Where its conversations are; in its state directory if there is none.
    pub(crate) store: Option<Arc<dyn Store>>,
    /// Makes a directory for each session; all work in the project's own if there is none.
    pub(crate) worktrees: Option<SessionWorktrees>,
    pub(crate) scope: &'a ProjectArgs,
    pub(crate) approval: &'a ApprovalArgs,
}

impl ServedRoot<'_> {
    /// The project beside others that are served.
    pub(crate) async fn served(self, others: &[ServedProject]) -> anyhow::Result<ServedProject> {
        let Self { root, project, name, store, worktrees, scope, approval } = self;
        let scope = ProjectArgs { root: Some(root), ..scope.clone() };
        let caller = project.caller(&scope, approval)?;
        let tools = project.tools(&scope, approval, Lifetime::Stays)?;
        let chosen =
            chosen(&project.config, &project.environment, &ModelSelection::default()).await?;
        let Caller { role, session, approver, .. } = caller;
        let approver = approval.yes.then_some(approver);
        let parts = match store {
            Some(store) => {
                session_parts_in(store, &project, tools, &chosen, role, approver).await?
            }
            None => session_parts(&project, tools, &chosen, role, approver).await?,
        };
        if others.iter().any(|other| other.parts.root == parts.root) {
            bail!("{} is named twice", parts.root);
        }
        let name = name.unwrap_or_else(|| free_name(&project, others));
        let mentions = MentionSource::new(&parts.tools);
        let sandbox = match approval.unsafe_no_sandbox {
            true => SandboxFact::known("commands are not confined"),
            false => SandboxFact::default(),
        };
        let approves_all = approval.yes;
        let tools = parts.tools.clone();
        let configured = ConfiguredProject {
            project,
            chosen,
            mentions,
            sandbox,
            approves_all,
            tools,
            worktrees,
        };
        Ok(ServedProject::new(name, parts, session, Arc::new(configured)))
    }
}

/// The name of its directory, with a number if another project has it.
fn free_name(project: &Project, others: &[ServedProject]) -> String {
    let directory = project.workspace.canonical_path().file_name().unwrap_or_default();
    let directory = directory.to_string_lossy().into_owned();
    let is_free = |name: &String| !others.iter().any(|other| other.name == *name);
    let numbered = (2..).map(|number| format!("{directory}-{number}"));
    let name = std::iter::once(directory.clone()).chain(numbered).find(is_free);
    name.unwrap_or(directory)
}

/// What the configuration of a project decides.
struct ConfiguredProject {
    project: Project,
    chosen: Chosen,
    mentions: MentionSource,
    sandbox: SandboxFact,
    approves_all: bool,
    tools: ProjectTools,
    worktrees: Option<SessionWorktrees>,
}

#[async_trait]
impl ProjectPort for ConfiguredProject {
    fn is_reachable(&self) -> bool {
        let ours = &self.project.workspace;
        let there = Workspace::open(ours.canonical_path());
        let identity = there.and_then(|there| there.identity()).ok();
        identity.is_some() && identity == ours.identity().ok()
    }

    fn revoke(&self, rule: &str) -> Result<bool, ToolError> {
        self.project.state().and_then(|state| state.revoke(rule)).map_err(unusable)
    }

    async fn models(&self) -> Vec<String> {
        model_offers(&self.chosen).await.models
    }

    async fn model(&self, name: &str) -> Result<Model, ToolError> {
        let Project { config, environment, .. } = &self.project;
        let chosen = chosen(config, environment, &wanted_by_name(name)).await;
        chosen
            .map(|chosen| chosen.model)
            .map_err(|error| ToolError::new(ErrorCode::InvalidArguments, format!("{error:#}")))
    }

    async fn model_with_keys(
        &self,
        name: Option<&str>,
        keys: &[(String, team::ProviderKey)],
    ) -> Result<Option<Model>, ToolError> {
        let Project { config, environment, .. } = &self.project;
        let wanted = name.map(wanted_by_name).unwrap_or_default();
        let chosen = chosen_with_keys(config, environment, &wanted, keys).await;
        let chosen = chosen
            .map_err(|error| ToolError::new(ErrorCode::InvalidArguments, format!("{error:#}")))?;
        let provider = chosen.model.provider.name();
        let is_own = keys.iter().any(|(own, _)| own == provider);
        Ok(Some(chosen.model.clone()).filter(|_| is_own))
    }

    fn configured(&self) -> ConfiguredFacts {
        let Project { workspace, config, environment, .. } = &self.project;
        let keys = Keys::load(environment, config).unwrap_or_default();
        let status = |endpoint: &Endpoint| {
            let key = keys.of(endpoint);
            let source = key.map(|key| key.source.clone());
            KeyStatus { provider: endpoint.name.to_owned(), found: key.is_some(), source }
        };
        ConfiguredFacts {
            models: known_offers(&self.chosen),
            keys: ENDPOINTS.iter().filter(|endpoint| endpoint.needs_key).map(status).collect(),
            sandbox: self.sandbox.told(workspace.canonical_path()),
        }
    }

    fn custom_tools(&self) -> Vec<CustomToolFile> {
        custom_tools::listed(&self.project)
    }

    fn trust(&self, file: &str, hash: &str) -> Result<String, ToolError> {
        custom_tools::trust_text(&self.project, file, hash)
    }

    async fn mentions(&self, query: &str) -> Vec<Mentionable> {
        self.mentions.candidates(query).await.into_iter().map(mentionable).collect()
    }

    async fn symbols(&self, letters: &str) -> (Vec<Mentionable>, bool) {
        let (found, is_complete) = self.mentions.symbols_like(letters).await;
        (found.into_iter().map(mentionable).collect(), is_complete)
    }

    fn commands(&self, query: &str, arguments: &str) -> Vec<CompletedCommand> {
        let user = UserCommands::load(&self.project);
        let mut offered = offered(&user);
        let refused = user.refused.iter().filter(|(name, _)| !is_command(name));
        offered.extend(refused.map(|(name, why)| OfferedCommand {
            name: name.clone(),
            usage: format!("/{name}"),
            about: why.clone(),
        }));
        let best = match query.is_empty() {
            true => (0..offered.len()).collect(),
            false => best_matches(query, offered.iter().map(|it| it.name.as_str()), offered.len()),
        };
        let command = |at: usize| {
            let OfferedCommand { name, usage, about } = offered[at].clone();
            let message = user.named(&name).map(|command| command.message(arguments));
            let refused = message.is_none().then(|| user.refusal(&name)).flatten();
            CompletedCommand { name, usage, about, message, refused }
        };
        best.into_iter().map(command).collect()
    }

    async fn tools_for(&self, session: &SessionId) -> Result<Option<ProjectTools>, ToolError> {
        match &self.worktrees {
            None => Ok(None),
            Some(worktrees) => {
                worktrees.tools_for(&self.project, &self.tools, session).await.map(Some)
            }
        }
    }

    async fn session_gone(&self, session: &SessionId) -> Option<KeptWorktree> {
        self.worktrees.as_ref()?.remove(&self.project, &self.tools, session).await
    }

    async fn sweep(&self, store: &dyn Store) {
        if let Some(worktrees) = &self.worktrees {
            worktrees.sweep(&self.project, &self.tools, store).await;
        }
    }

    fn agents(
        &self,
        calls: &DirectCalls,
        site: &str,
        closing: &CancellationToken,
    ) -> Arc<dyn AgentEndpoint> {
        let executor = Arc::new(calls.agent_executor(host_limits).clone());
        let approver = match self.approves_all {
            true => ApproverChoice::Configured,
            false => ApproverChoice::Page(Arc::new(DirectCallsPage::new(calls, site))),
        };
        let resources = Arc::new(ShownProject::new(calls.tools(), &executor));
        let parts = ServerParts {
            executor,
            approver,
            resources: Some(resources),
            assumed_root: None,
            tracer: telemetry::tracer(&self.project),
        };
        Arc::new(McpEndpoint(HttpEndpoint::new(parts, closing)))
    }
}

fn mentionable(found: MentionCandidate) -> Mentionable {
    let MentionCandidate { kind, text, target, detail } = found;
    let kind = match kind {
        CandidateKind::File => MentionableKind::File,
        CandidateKind::Directory => MentionableKind::Directory,
        CandidateKind::Symbol => MentionableKind::Symbol,
    };
    Mentionable { kind, text, target, detail }
}

fn unusable(error: anyhow::Error) -> ToolError {
    ToolError::new(ErrorCode::ExecutionError, format!("{error:#}"))
}

/// Where the service keeps what is its own.
fn own_path() -> anyhow::Result<PathBuf> {
    let states = environment::state_dir().context("neither XDG_STATE_HOME nor HOME is set")?;
    keep_private(&states);
    Ok(states.join(DIRECTORY))
}

/// Whether others could have read the tokens of the last time, or put them there. In a directory of another user
/// none can be kept.
fn are_exposed(path: &Path) -> anyhow::Result<bool> {
    if Ownership::of(path).is_some_and(|directory| !directory.is_ours) {
        bail!(
            "{} belongs to another user: set XDG_STATE_HOME to a directory of your own",
            path.display()
        );
    }
    let kept = Ownership::of(&path.join(SECRETS));
    let are_exposed = kept.is_some_and(|file| !file.is_ours || !file.is_private);
    if are_exposed {
        output::to_user(
            "toolkiln web: others could read the tokens, so there are new ones: every browser and program has to \
             log in again",
        );
    }
    Ok(are_exposed)
}

/// The tokens of the last time, so that browsers and programs need not log in again.
fn kept_secrets(states: &StateDir, renew: bool) -> anyhow::Result<Secrets> {
    let kept = states.read(SECRETS, MAX_SECRETS)?.filter(|_| !renew);
    let kept: Option<Secrets> = kept.and_then(|bytes| serde_json::from_slice(&bytes).ok());
    if let Some(mut secrets) = kept {
        let is_new = secrets.complete()?;
        if secrets.are_whole() {
            if is_new {
                states.replace(SECRETS, &serde_json::to_vec_pretty(&secrets)?)?;
            }
            return Ok(secrets);
        }
    }
    let secrets = Secrets::generate()?;
    states.replace(SECRETS, &serde_json::to_vec_pretty(&secrets)?)?;
    Ok(secrets)
}
