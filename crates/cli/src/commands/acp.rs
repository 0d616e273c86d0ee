//! `toolkiln acp`: conversations inside editors.

use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;

use acp::{
    EditorHost, EditorProject, GivenServer, NotOpened, OwnCommand, SessionReport, serve_stdio,
};
use anyhow::Context as _;
use async_trait::async_trait;
use clap::Args;
use jiff::Timestamp;
use mcp_client::{ServerConfig, ServerName};
use protocol::{ErrorCode, ToolError};
use providers::catalogue::ModelSelection;
use session::{Model, Session, SessionParts};
use tool_system::policy::{ApprovalMode, Policy};
use tool_system::{OnDemand, ProjectTools, Vocabulary};

use crate::args::{ApprovalArgs, ModelArgs, ProjectArgs};
use crate::chat::slash_commands::INIT_REQUEST;
use crate::commands::setup;
use crate::config::{Config, EditorWritesSetting, FlagLayer, Keys};
use crate::conversation::session_parts;
use crate::environment::Environment;
use crate::interrupt::StopSignal;
use crate::mcp_servers;
use crate::mcp_servers::import::{FoundServer, plain_name};
use crate::model_choice::{Chosen, chosen, wanted_by_name};
use crate::project::{Lifetime, Project, project_root};
use crate::reports::context_use::ContextUse;
use crate::reports::costs::costs_of;
use crate::reports::job_list::job_list;
use crate::reports::model_offers::known_offers;
use crate::telemetry;
use crate::user_commands::UserCommands;

const EXAMPLES: &str = "\
Examples:
  toolkiln acp                                    # as an editor starts it; see docs/editors.md
  toolkiln acp --role planner                     # a conversation that changes nothing
  toolkiln acp --allow 'bash:cargo test*'";

/// The option that editors add to set up a model in a terminal.
const SETUP_OPTION: &str = "--setup";
/// What is typed to have instructions for agents written.
const INIT: &str = "init";
/// Columns of tables in an editor.
const WIDTH: usize = 80;

#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct AcpArgs {
    #[command(flatten)]
    pub(crate) scope: ProjectArgs,
    /// What needs approval where no rule decides: strict, workspace or read-only
    #[arg(long, value_name = "MODE")]
    pub(crate) mode: Option<ApprovalMode>,
    /// Allow a tool on paths or a command, such as 'edit_lines:src/**' or 'bash:cargo test*'
    #[arg(long, value_name = "TOOL:WHAT")]
    pub(crate) allow: Vec<String>,
    /// Deny a tool on paths or a command
    #[arg(long, value_name = "TOOL:WHAT")]
    pub(crate) deny: Vec<String>,
    /// Run commands without confining them, with your own rights: only inside a container or VM
    #[arg(long)]
    pub(crate) unsafe_no_sandbox: bool,
    /// Set up a model, as `toolkiln setup` does; editors use this
    #[arg(long)]
    pub(crate) setup: bool,
    #[command(flatten)]
    pub(crate) model: ModelArgs,
}

pub(crate) fn run(args: AcpArgs) -> anyhow::Result<ExitCode> {
    if args.setup {
        return setup::run(&setup::SetupArgs::default());
    }
    let stop = StopSignal::listen()?;
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    let host = Arc::new(ConfiguredHost { settings: Arc::new(HostSettings::of(args)) });
    let version = env!("CARGO_PKG_VERSION");
    let served = runtime.block_on(async {
        let served = serve_stdio(host, version, stop.cancel.clone()).await;
        telemetry::flush().await;
        served
    });
    // A thread that still waits for standard input must not keep the process alive.
    runtime.shutdown_background();
    served?;
    Ok(stop.exit_code().map_or(ExitCode::SUCCESS, ExitCode::from))
}

/// What the command line says about every project.
struct HostSettings {
    root: Option<PathBuf>,
    vocabulary: Vocabulary,
    role: String,
    mode: Option<ApprovalMode>,
    allow: Vec<String>,
    deny: Vec<String>,
    unsafe_no_sandbox: bool,
    flags: FlagLayer,
}

impl HostSettings {
    fn of(args: AcpArgs) -> Self {
        Self {
            flags: args.model.layer(),
            root: args.scope.root,
            vocabulary: args.scope.vocabulary,
            role: args.scope.role,
            mode: args.mode,
            allow: args.allow,
            deny: args.deny,
            unsafe_no_sandbox: args.unsafe_no_sandbox,
        }
    }

    /// In this mode, or in the configured one.
    fn approval(&self, mode: Option<ApprovalMode>) -> ApprovalArgs {
        ApprovalArgs {
            yes: false,
            mode: mode.or(self.mode),
            allow: self.allow.clone(),
            deny: self.deny.clone(),
            unsafe_no_sandbox: self.unsafe_no_sandbox,
        }
    }
}

struct ConfiguredHost {
    settings: Arc<HostSettings>,
}

#[async_trait]
impl EditorHost for ConfiguredHost {
    fn needs_setup(&self) -> bool {
        let environment = Environment::gather();
        let Ok(config) = Config::of_user(&environment, &self.settings.flags) else { return false };
        let has_key =
            || Keys::load(&environment, &config).is_ok_and(|keys| !keys.variables().is_empty());
        config.model.provider.is_none() && config.model.name.is_none() && !has_key()
    }

    fn setup_arguments(&self) -> Vec<String> {
        vec![SETUP_OPTION.to_owned()]
    }

    fn usual_root(&self) -> Option<PathBuf> {
        let ProjectArgs { root, .. } = self.settings.scope(self.settings.root.clone()).ok()?;
        std::path::absolute(root?).ok()
    }

    async fn open(&self, root: &Path) -> Result<Arc<dyn EditorProject>, NotOpened> {
        let opened = self.opened(root).await;
        opened.map(|project| Arc::new(project) as Arc<dyn EditorProject>)
    }
}

impl HostSettings {
    /// The project at `root`, or in the present directory, unless that is too large.
    fn scope(&self, root: Option<PathBuf>) -> anyhow::Result<ProjectArgs> {
        let scope = ProjectArgs { root, vocabulary: self.vocabulary, role: self.role.clone() };
        let root = project_root::checked(&scope)?;
        Ok(ProjectArgs { root: Some(root), ..scope })
    }
}

impl ConfiguredHost {
    async fn opened(&self, root: &Path) -> Result<ConfiguredEditor, NotOpened> {
        let refused = |error: anyhow::Error| NotOpened::Refused(format!("{error:#}"));
        let settings = Arc::clone(&self.settings);
        if let Some(what) =
            project_root::too_large_to_open(root).filter(|_| settings.root.is_none())
        {
            let root = root.display();
            return Err(NotOpened::Refused(format!(
                "{root} is {what}, not a project: open the directory of a project in the editor"
            )));
        }
        let scope = settings.scope(Some(root.to_owned())).map_err(refused)?;
        let project = Project::open_with(root, &settings.flags).map_err(refused)?;
        let approval = settings.approval(None);
        let role = project.config.role(&scope.role).map_err(refused)?;
        let tools = project.tools(&scope, &approval, Lifetime::Stays).map_err(refused)?;
        let chosen =
            chosen(&project.config, &project.environment, &ModelSelection::default()).await;
        let chosen = chosen.map_err(|error| NotOpened::NoModel(format!("{error:#}")))?;
        let parts = session_parts(&project, tools, &chosen, role, None).await.map_err(refused)?;
        Ok(ConfiguredEditor { settings, project, chosen, parts })
    }
}

/// What the configuration of a project decides.
struct ConfiguredEditor {
    settings: Arc<HostSettings>,
    project: Project,
    chosen: Chosen,
    parts: SessionParts,
}

#[async_trait]
impl EditorProject for ConfiguredEditor {
    fn parts(&self) -> &SessionParts {
        &self.parts
    }

    fn approval_mode(&self) -> ApprovalMode {
        self.project.mode(&self.settings.approval(None))
    }

    fn policy(&self, mode: ApprovalMode) -> Result<OnDemand<Policy>, ToolError> {
        let approval = self.settings.approval(Some(mode));
        let state = self.project.state().map_err(unusable)?;
        self.project.lazy_policy(&approval, state).map_err(unusable)
    }

    fn editor_writes_all(&self) -> bool {
        self.project.config.editor.writes == EditorWritesSetting::All
    }

    fn models(&self) -> Vec<String> {
        known_offers(&self.chosen)
    }

    async fn model(&self, name: &str) -> Result<Model, ToolError> {
        let Project { config, environment, .. } = &self.project;
        let chosen = chosen(config, environment, &wanted_by_name(name)).await;
        chosen
            .map(|chosen| chosen.model)
            .map_err(|error| ToolError::new(ErrorCode::InvalidArguments, format!("{error:#}")))
    }

    fn own_commands(&self) -> Vec<OwnCommand> {
        let own = UserCommands::load(&self.project);
        let init = OwnCommand {
            name: INIT.to_owned(),
            about: "have AGENTS.md written for this project".to_owned(),
            argument: String::new(),
        };
        let own = own.usable.iter().map(|command| OwnCommand {
            name: command.name.clone(),
            about: command.about.clone(),
            argument: command
                .usage()
                .get(command.name.len() + 1..)
                .unwrap_or_default()
                .trim()
                .to_owned(),
        });
        std::iter::once(init).chain(own).collect()
    }

    fn own_message(&self, name: &str, arguments: &str) -> Option<Result<String, String>> {
        if name == INIT {
            return Some(Ok(INIT_REQUEST.to_owned()));
        }
        let own = UserCommands::load(&self.project);
        match own.named(name) {
            Some(command) => Some(Ok(command.message(arguments))),
            None => own.refusal(name).map(Err),
        }
    }

    fn connect(&self, tools: ProjectTools, servers: &[GivenServer]) -> (ProjectTools, Vec<String>) {
        let (mut found, mut notes) = (Vec::new(), Vec::new());
        for server in servers {
            match found_server(server) {
                Ok(server) => found.push(server),
                Err(why) => notes.push(format!("an MCP server of the editor is not used: {why}")),
            }
        }
        let Some(state) = self.project.state().ok().filter(|_| !found.is_empty()) else {
            return (tools, notes);
        };
        let approval = self.settings.approval(None);
        let unconfined = approval.unsafe_no_sandbox;
        let names: Vec<ServerName> = found.iter().map(|server| server.name.clone()).collect();
        let servers = Arc::new(mcp_servers::with_given(&self.project, found, unconfined));
        for name in names.iter().filter(|name| servers.get(name.as_str()).is_none()) {
            notes.push(format!(
                "the MCP server {name} is not used: there is no place for what is known about it, \
                 because HOME is not set"
            ));
        }
        for server in servers.unknown() {
            notes.push(format!(
                "the MCP server {} is asked for its tools; sessions that begin later have them",
                server.name()
            ));
        }
        servers.learn_unknown();
        let registry = self.project.registry_with(&servers);
        let performer = self.project.performer(state, &approval, servers);
        (tools.with_tools(registry, Arc::new(performer)), notes)
    }

    async fn report(&self, report: SessionReport, session: &Session) -> Result<String, ToolError> {
        let reported = match report {
            SessionReport::Context => {
                let window = Some(session.options().context_tokens).filter(|size| *size < u64::MAX);
                Ok(ContextUse::of(session).text(window, Some(WIDTH)))
            }
            SessionReport::Cost => {
                costs_of(session, Some(WIDTH)).await.context("the session cannot be read")
            }
            SessionReport::Jobs => job_list(session, Timestamp::now().as_millisecond()).await,
        };
        reported.map_err(unusable)
    }
}

/// A server as the configuration would describe it: it runs confined, without the network.
fn found_server(given: &GivenServer) -> Result<FoundServer, String> {
    let command = given.command.to_str();
    let command = command.ok_or_else(|| format!("{:?} is not text", given.command))?;
    let config = ServerConfig {
        command: Some(command.to_owned()),
        args: given.arguments.clone(),
        set: given.environment.iter().cloned().collect(),
        ..ServerConfig::default()
    };
    Ok(FoundServer { name: plain_name(&given.name)?, config, notes: Vec::new() })
}

fn unusable(error: anyhow::Error) -> ToolError {
    ToolError::new(ErrorCode::ExecutionError, format!("{error:#}"))
}
