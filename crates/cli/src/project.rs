//! Puts the pieces together: the one place where concrete types meet.

pub(crate) mod project_file;
pub(crate) mod project_root;
mod remembered;
mod state;

use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};

use anyhow::Context as _;
use jiff::Timestamp;
use mcp_client::ForeignServers;
use protocol::ContentHash;
use sandbox::{Launcher, LayerLimits};
use tool_system::policy::{ApprovalMode, Policy, Rule};
use tool_system::{
    ApproveAll, Approver, Caller, CodeBase, CommandRunner, ExecutorOptions, History,
    JournalPerformer, OnDemand, ProjectTools, RefuseAll, RunnerOptions, ToolRegistry,
};
use workspace::{Workspace, bytes_to_text, keep_private};

use crate::args::{ApprovalArgs, ProjectArgs};
use crate::config::{Config, FlagLayer};
use crate::custom_tools;
use crate::environment::{Environment, git_identity};
use crate::line_questions::{self, Terminal, WorkingExecutor};
use crate::{environment, mcp_servers, output, web_tools};
pub(crate) use state::ProjectState;
use state::unusable;

/// Where commands keep ignored files, in the state directory of the project.
const LAYER: &str = "layer";
/// Says, in the cache directory, when the layers of all projects were looked at.
const LOOKED_AT: &str = "layers-looked-at";
/// Hexadecimal digits that tell apart projects whose directories have the same name.
const PROJECT_DIGITS: usize = 12;

/// How long a process serves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Lifetime {
    /// It answers one call.
    OneCall,
    /// It answers calls until its client leaves, so that looking ahead pays.
    Stays,
}

/// A project with its configuration and state.
pub(crate) struct Project {
    pub(crate) workspace: Arc<Workspace>,
    pub(crate) config: Config,
    pub(crate) environment: Environment,
    /// None if the environment names no place for it; the project can only be looked at then.
    state: Option<Arc<ProjectState>>,
    servers: OnceLock<Arc<ForeignServers>>,
    /// What the user undoes through while the terminal asks.
    pub(crate) working: WorkingExecutor,
}

impl Project {
    /// Opens the project at `root` and reads the configuration.
    pub(crate) fn open(root: &Path) -> anyhow::Result<Self> {
        Self::open_with(root, &FlagLayer::default())
    }

    /// Opens the project at `root`, configured by the command line as well.
    pub(crate) fn open_with(root: &Path, flags: &FlagLayer) -> anyhow::Result<Self> {
        let environment = Environment::gather();
        let workspace = Workspace::open(root).context("the project cannot be opened")?;
        let workspace = Arc::new(workspace);
        let config = Config::load(&environment, &workspace, flags)?;
        let path = environment::state_dir().map(|states| states.join(own_name(&workspace)));
        let state = path.map(|path| Arc::new(ProjectState::new(&workspace, path)));
        Ok(Self {
            workspace,
            config,
            environment,
            state,
            servers: OnceLock::new(),
            working: WorkingExecutor::default(),
        })
    }

    /// The same without tools of foreign servers, for what does not use them.
    pub(crate) fn without_servers(self) -> Self {
        let _ = self.servers.set(Arc::default());
        self
    }

    /// The same with the foreign servers of another project.
    pub(crate) fn with_servers(self, servers: Arc<ForeignServers>) -> Self {
        let _ = self.servers.set(servers);
        self
    }

    /// The foreign servers, none of which is started yet. They end with this process. `unconfined` counts
    /// the first time.
    pub(crate) fn servers(&self, unconfined: bool) -> &Arc<ForeignServers> {
        self.servers.get_or_init(|| Arc::new(mcp_servers::of(self, unconfined)))
    }

    /// The tools that are not switched off.
    pub(crate) fn registry(&self) -> ToolRegistry {
        self.registry_with(self.servers(false))
    }

    /// The same with tools of these servers.
    pub(crate) fn registry_with(&self, servers: &Arc<ForeignServers>) -> ToolRegistry {
        let mut registry = ToolRegistry::builtin();
        custom_tools::register(self, &mut registry);
        servers.register(&mut registry);
        for name in &self.config.disabled_tools {
            if !registry.disable(name) {
                output::to_user(&format!(
                    "toolkiln: the configuration disables `{name}`, which is not a tool"
                ));
            }
        }
        registry
    }

    /// The project's own state, outside of it.
    pub(crate) fn state(&self) -> anyhow::Result<&Arc<ProjectState>> {
        let state = self.state.as_ref().context("neither XDG_STATE_HOME nor HOME is set")?;
        if let Some(states) = state.path().parent() {
            keep_private(states);
        }
        Ok(state)
    }

    /// The directory of the project's private layer, if there is a place for it. It belongs to the
    /// project's directory itself: another one at the same path finds none of it.
    pub(crate) fn layer(&self) -> Option<PathBuf> {
        let identity = ContentHash::of(self.workspace.identity().ok()?.as_bytes()).to_string();
        let layers = environment::state_dir()?.join(own_name(&self.workspace)).join(LAYER);
        Some(layers.join(&identity[..PROJECT_DIGITS]))
    }

    /// The project as searches see it, with an index where there is a place for it.
    pub(crate) fn code_base(&self, lifetime: Lifetime) -> CodeBase {
        let workspace = Arc::clone(&self.workspace);
        match environment::cache_dir() {
            Some(caches) => {
                let options = self.config.limits.index_options(lifetime == Lifetime::Stays);
                CodeBase::with_index(workspace, caches.join(own_name(&self.workspace)), options)
            }
            None => CodeBase::new(workspace),
        }
    }

    /// The policy: what is configured, remembered, and said on the command line.
    pub(crate) fn policy(&self, approval: &ApprovalArgs) -> anyhow::Result<Policy> {
        let remembered = self.state()?.rules()?;
        let rules = self.rules(approval)?.into_iter().chain(remembered);
        let policy = Policy::new(self.mode(approval), rules).with_commands(self.config.commands);
        Ok(policy.asking_about_unnamed(self.config.web.ask_unnamed))
    }

    pub(crate) fn mode(&self, approval: &ApprovalArgs) -> ApprovalMode {
        approval.mode.unwrap_or(self.config.mode)
    }

    fn rules(&self, approval: &ApprovalArgs) -> anyhow::Result<Vec<Rule>> {
        let rules = self.config.rules.iter().cloned().chain(approval.rules()?);
        let rules = rules.chain(custom_tools::rules(self));
        let of_web = web_tools::rules(&self.config, &self.environment);
        Ok(rules.chain(mcp_servers::rules(self)).chain(of_web).collect())
    }

    /// The same, made when it is needed: the remembered rules are not read before.
    pub(crate) fn lazy_policy(
        &self,
        approval: &ApprovalArgs,
        state: &Arc<ProjectState>,
    ) -> anyhow::Result<OnDemand<Policy>> {
        let (rules, mode) = (self.rules(approval)?, self.mode(approval));
        let (commands, state) = (self.config.commands, Arc::clone(state));
        let ask_unnamed = self.config.web.ask_unnamed;
        Ok(OnDemand::new(move || {
            let remembered = state.rules().map_err(unusable)?;
            let rules = rules.iter().cloned().chain(remembered);
            let policy = Policy::new(mode, rules).with_commands(commands);
            Ok(policy.asking_about_unnamed(ask_unnamed))
        }))
    }

    /// Who calls from the command line, outside of conversations.
    pub(crate) fn caller(
        &self,
        scope: &ProjectArgs,
        approval: &ApprovalArgs,
    ) -> anyhow::Result<Caller> {
        let role = self.config.role(&scope.role)?;
        let caller = Caller { role, session: session_name(), ..Caller::default() };
        match self.state() {
            Ok(_) => Ok(Caller { approver: self.approver(approval), ..caller }),
            Err(_) => Ok(caller),
        }
    }

    /// Decides what needs approval: the option `--yes`, the user at the terminal, or, without either, a refusal.
    fn approver(&self, approval: &ApprovalArgs) -> Arc<dyn Approver> {
        if approval.yes {
            return Arc::new(ApproveAll);
        }
        if line_questions::is_attended() {
            return Arc::new(Terminal::new(environment::editor(), self.working.clone()));
        }
        let how_to_allow = "Run it again with --yes, with a rule (--allow 'TOOL:WHAT'), or in a \
                            terminal where you can be asked.";
        Arc::new(RefuseAll { how_to_allow: how_to_allow.into() })
    }

    /// The tools of the project, as the command line wants them. Without a place for the project's
    /// state nothing can be changed or run.
    pub(crate) fn tools(
        &self,
        scope: &ProjectArgs,
        approval: &ApprovalArgs,
        lifetime: Lifetime,
    ) -> anyhow::Result<ProjectTools> {
        let servers = Arc::clone(self.servers(approval.unsafe_no_sandbox));
        if lifetime == Lifetime::Stays {
            servers.learn_unknown();
        }
        let registry = Arc::new(self.registry());
        let options = ExecutorOptions {
            vocabulary: scope.vocabulary,
            limits: self.config.limits.clone(),
            network: self.config.network,
            checks: self.config.checks.clone(),
            ..ExecutorOptions::default()
        };
        let options = match self.state() {
            Err(_) => options,
            Ok(state) => {
                state.finish_interrupted()?;
                let performer = self.performer(state, approval, servers);
                ExecutorOptions {
                    policy: self.lazy_policy(approval, state)?,
                    rule_keeper: Some(state.clone()),
                    performer: Some(Arc::new(performer)),
                    history: Some(History::of(Arc::clone(&state.journal))),
                    ..options
                }
            }
        };
        Ok(ProjectTools {
            registry,
            code: Arc::new(self.code_base(lifetime)),
            roles: self.config.all_roles(),
            options,
        })
    }

    /// What performs proposals, with tools of these servers.
    pub(crate) fn performer(
        &self,
        state: &ProjectState,
        approval: &ApprovalArgs,
        servers: Arc<ForeignServers>,
    ) -> JournalPerformer {
        let performer = JournalPerformer::new(Arc::clone(&state.journal))
            .with_foreign(servers)
            .with_commands(self.commands(approval.unsafe_no_sandbox));
        match self.config.network {
            true => performer.with_web(web_tools::access(&self.config, &self.environment)),
            false => performer,
        }
    }

    /// What runs commands; what it takes is looked for when the first is run.
    fn commands(&self, unconfined: bool) -> Arc<OnDemand<Arc<CommandRunner>>> {
        if unconfined {
            output::to_user("toolkiln: commands are NOT CONFINED (--unsafe-no-sandbox)");
        }
        let workspace = Arc::clone(&self.workspace);
        let output_bytes = self.config.limits.kept_output_bytes;
        let network_allow = self.config.network_allow.clone();
        let (layer, ignored) = (self.layer(), self.config.ignored);
        let limits = self.config.layer_limits;
        Arc::new(OnDemand::new(move || {
            tidy_layers(layer.clone(), limits);
            let mut profile = environment::confinement(workspace.canonical_path());
            profile.env.extend(git_identity::variables(&workspace, &profile.home));
            profile.limits.output_bytes = usize::try_from(output_bytes).unwrap_or(usize::MAX);
            profile.network.allow.clone_from(&network_allow);
            let launcher = Launcher::this_program();
            let layer = layer.clone();
            let options = RunnerOptions { profile, launcher, unconfined, layer, ignored };
            Ok(Arc::new(CommandRunner::new(Arc::clone(&workspace), options)))
        }))
    }
}

/// The name of a project's own directories among those of other projects.
pub(crate) fn own_name(workspace: &Workspace) -> String {
    let root = workspace.canonical_path();
    let name = root.file_name().unwrap_or_default().as_encoded_bytes();
    let hash = ContentHash::of(root.as_os_str().as_encoded_bytes()).to_string();
    format!("{}-{}", bytes_to_text(name), &hash[..PROJECT_DIGITS])
}

/// Clears private layers that are too large or too old, and those of other directories that lay where
/// the project lies, on a thread of its own.
fn tidy_layers(own: Option<PathBuf>, limits: LayerLimits) {
    let (Some(states), Some(caches)) = (environment::state_dir(), environment::cache_dir()) else {
        return;
    };
    let tidy = move || {
        workspace::lower_priority();
        // What cannot be cleared now is looked at again, tomorrow or when the next command runs.
        let _ = own.map(|own| sandbox::remove_other_layers(&own));
        let _ = sandbox::tidy_layers(&states, LAYER, limits, &caches.join(LOOKED_AT));
    };
    let _ = std::thread::Builder::new().name("private layers".into()).spawn(tidy);
}

fn session_name() -> String {
    format!("{}-{}", Timestamp::now().as_millisecond(), std::process::id())
}
