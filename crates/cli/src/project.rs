//! Puts the pieces together: the one place where concrete types meet.

pub(crate) mod project_file;
pub(crate) mod project_root;
mod remembered;

use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::Context as _;
use jiff::Timestamp;
use protocol::{AgentRole, ContentHash, ErrorCode, ToolError};
use sandbox::{Launcher, LayerLimits};
use tool_system::policy::{ApprovalMode, CommandMode, Policy, Rule};
use tool_system::{
    ApproveAll, Approver, CodeBase, CommandRunner, EditCheck, ExecutorOptions, History,
    JournalPerformer, Limits, OnDemand, RefuseAll, RuleKeeper, RunnerOptions, ToolExecutor,
    ToolRegistry, Vocabulary,
};
use workspace::{
    Journal, JournalOptions, RecoveryReport, StateDir, Workspace, bytes_to_text, keep_private,
};

use crate::args::{Gate, Scope};
use crate::config::{Config, FlagLayer};
use crate::custom_tools;
use crate::environment::{Environment, git_identity};
use crate::terminal::{self, Terminal};
use crate::{environment, output};
use remembered::Remembered;

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

/// A project with its configuration.
pub(crate) struct Project {
    pub(crate) workspace: Arc<Workspace>,
    pub(crate) config: Config,
}

impl Project {
    /// Opens the project at `root` and reads the configuration.
    pub(crate) fn open(root: &Path) -> anyhow::Result<Self> {
        Self::open_with(root, &Environment::gather(), &FlagLayer::default())
    }

    /// Opens the project at `root`, configured by the command line as well.
    pub(crate) fn open_with(
        root: &Path,
        environment: &Environment,
        flags: &FlagLayer,
    ) -> anyhow::Result<Self> {
        let workspace = Workspace::open(root).context("the project cannot be opened")?;
        let config = Config::load(environment, &workspace, flags)?;
        Ok(Self { workspace: Arc::new(workspace), config })
    }

    /// The tools that are not switched off.
    pub(crate) fn registry(&self) -> ToolRegistry {
        let mut registry = ToolRegistry::builtin();
        custom_tools::register(self, &mut registry);
        for name in &self.config.disabled_tools {
            if !registry.disable(name) {
                output::to_people(&format!(
                    "toolkiln: the configuration disables `{name}`, which is no tool"
                ));
            }
        }
        registry
    }

    /// The project's own state, outside of it.
    pub(crate) fn state(&self) -> anyhow::Result<State> {
        let states = environment::state_dir().context("neither XDG_STATE_HOME nor HOME is set")?;
        keep_private(&states);
        Ok(State { workspace: Arc::clone(&self.workspace), path: states.join(self.own_name()) })
    }

    /// The directory of the project's private layer, if there is a place for it. It belongs to the
    /// project's directory itself: another one at the same path finds none of it.
    pub(crate) fn layer(&self) -> Option<PathBuf> {
        let identity = ContentHash::of(self.workspace.identity().ok()?.as_bytes()).to_string();
        let layers = environment::state_dir()?.join(self.own_name()).join(LAYER);
        Some(layers.join(&identity[..PROJECT_DIGITS]))
    }

    /// The name of the project's own directories among those of other projects.
    fn own_name(&self) -> String {
        let root = self.workspace.canonical_path();
        let name = root.file_name().unwrap_or_default().as_encoded_bytes();
        let hash = ContentHash::of(root.as_os_str().as_encoded_bytes()).to_string();
        format!("{}-{}", bytes_to_text(name), &hash[..PROJECT_DIGITS])
    }

    /// The project as searches see it, with an index where there is a place for it.
    pub(crate) fn code_base(&self, lifetime: Lifetime) -> CodeBase {
        let workspace = Arc::clone(&self.workspace);
        match environment::cache_dir() {
            Some(caches) => {
                let options = self.config.limits.index_options(lifetime == Lifetime::Stays);
                CodeBase::with_index(workspace, caches.join(self.own_name()), options)
            }
            None => CodeBase::new(workspace),
        }
    }

    /// The policy: what is configured, remembered, and said on the command line.
    pub(crate) fn policy(&self, gate: &Gate) -> anyhow::Result<Policy> {
        let remembered = self.state()?.rules()?;
        let rules = self.rules(gate)?.into_iter().chain(remembered);
        Ok(Policy::new(self.mode(gate), rules).with_commands(self.config.commands))
    }

    fn mode(&self, gate: &Gate) -> ApprovalMode {
        gate.mode.unwrap_or(self.config.mode)
    }

    fn rules(&self, gate: &Gate) -> anyhow::Result<Vec<Rule>> {
        let rules = self.config.rules.iter().cloned().chain(gate.rules()?);
        Ok(rules.chain(custom_tools::rules(self)).collect())
    }

    /// The executor for a door. `adjust` sets what that door wants differently.
    pub(crate) fn executor(
        &self,
        scope: &Scope,
        gate: &Gate,
        lifetime: Lifetime,
        adjust: impl FnOnce(&mut ExecutorOptions),
    ) -> anyhow::Result<ToolExecutor> {
        let role = self.config.role(&scope.role)?;
        Ok(self.kit(gate, lifetime)?.executor(scope.vocabulary, role, adjust))
    }

    /// Who runs commands; what it takes is looked for when the first is run.
    fn commands(&self, unconfined: bool) -> Arc<OnDemand<Arc<CommandRunner>>> {
        if unconfined {
            output::to_people("toolkiln: commands are NOT CONFINED (--unsafe-no-sandbox)");
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

    /// What executors are made from. Journal and remembered rules are opened when something is about
    /// to be changed, not before.
    pub(crate) fn kit(&self, gate: &Gate, lifetime: Lifetime) -> anyhow::Result<Kit> {
        let mut kit = Kit {
            registry: Arc::new(self.registry()),
            code: Arc::new(self.code_base(lifetime)),
            limits: self.config.limits.clone(),
            mode: self.mode(gate),
            command_mode: self.config.commands,
            rules: self.rules(gate)?,
            network: self.config.network,
            checks: self.config.checks.clone(),
            commands: self.commands(gate.unsafe_no_sandbox),
            changing: None,
        };
        if let Ok(state) = self.state() {
            let state = Arc::new(state);
            let for_journal = Arc::clone(&state);
            let journal = OnDemand::new(move || for_journal.journal().map_err(unusable));
            let journal = Arc::new(journal);
            state.finish_interrupted(&journal)?;
            let approver = approver(gate.yes, &journal);
            kit.changing = Some(Changing { state, journal, approver });
        }
        Ok(kit)
    }
}

/// Clears private layers that are too large or too old, and those of other directories that lay where
/// the project lies, where nobody waits for it.
fn tidy_layers(own: Option<PathBuf>, limits: LayerLimits) {
    let (Some(states), Some(caches)) = (environment::state_dir(), environment::cache_dir()) else {
        return;
    };
    let tidy = move || {
        workspace::stand_back();
        // What cannot be cleared now is looked at again, tomorrow or when the next command runs.
        let _ = own.map(|own| sandbox::remove_other_layers(&own));
        let _ = sandbox::tidy_layers(&states, LAYER, limits, &caches.join(LOOKED_AT));
    };
    let _ = std::thread::Builder::new().name("private layers".into()).spawn(tidy);
}

/// What all executors of a process have in common.
pub(crate) struct Kit {
    registry: Arc<ToolRegistry>,
    code: Arc<CodeBase>,
    limits: Limits,
    mode: ApprovalMode,
    command_mode: CommandMode,
    rules: Vec<Rule>,
    network: bool,
    checks: Vec<EditCheck>,
    commands: Arc<OnDemand<Arc<CommandRunner>>>,
    changing: Option<Changing>,
}

/// What it takes to change anything; a machine without a place for it can only look.
struct Changing {
    state: Arc<State>,
    journal: Arc<OnDemand<Arc<Journal>>>,
    approver: Arc<dyn Approver>,
}

impl Kit {
    /// What was changed before.
    pub(crate) fn journal(&self) -> Option<&Arc<OnDemand<Arc<Journal>>>> {
        Some(&self.changing.as_ref()?.journal)
    }

    /// Who answers for the person, by the command line and the terminal.
    pub(crate) fn approver(&self) -> Option<&Arc<dyn Approver>> {
        Some(&self.changing.as_ref()?.approver)
    }

    /// An executor; `adjust` sets what is wanted differently.
    pub(crate) fn executor(
        &self,
        vocabulary: Vocabulary,
        role: AgentRole,
        adjust: impl FnOnce(&mut ExecutorOptions),
    ) -> ToolExecutor {
        let mut options = ExecutorOptions {
            vocabulary,
            role,
            limits: self.limits.clone(),
            network: self.network,
            checks: self.checks.clone(),
            ..ExecutorOptions::default()
        };
        if let Some(Changing { state, journal, approver }) = &self.changing {
            let (mode, command_mode) = (self.mode, self.command_mode);
            let (rules, for_policy) = (self.rules.clone(), Arc::clone(state));
            options.session = session_name();
            options.policy = OnDemand::new(move || {
                let remembered = for_policy.rules().map_err(unusable)?;
                let rules = rules.iter().cloned().chain(remembered);
                Ok(Policy::new(mode, rules).with_commands(command_mode))
            });
            options.rule_keeper = Some(state.clone());
            options.approver = Arc::clone(approver);
            let performer = JournalPerformer::new(Arc::clone(journal));
            options.performer = Some(Arc::new(performer.with_commands(Arc::clone(&self.commands))));
            options.history = Some(History::of(Arc::clone(journal)));
        }
        adjust(&mut options);
        ToolExecutor::sharing(Arc::clone(&self.registry), Arc::clone(&self.code), options)
    }
}

/// Where a project's journal and remembered rules are kept: one directory per project, outside.
pub(crate) struct State {
    workspace: Arc<Workspace>,
    path: PathBuf,
}

impl State {
    /// The journal of the project's changes. Opening it finishes what a crash interrupted.
    pub(crate) fn journal(&self) -> anyhow::Result<Arc<Journal>> {
        let journal =
            Journal::open(Arc::clone(&self.workspace), &self.path, JournalOptions::default());
        Ok(Arc::new(journal.context("the journal of changes cannot be opened")?))
    }

    /// The rules that were remembered for the project.
    pub(crate) fn remembered(&self) -> anyhow::Result<Remembered> {
        Ok(Remembered::new(Arc::clone(&self.workspace), self.directory()?))
    }

    /// The directory as a place to keep things in.
    pub(crate) fn directory(&self) -> anyhow::Result<StateDir> {
        Ok(StateDir::open(&self.workspace, &self.path)?)
    }

    /// The remembered rules; looking for them makes no state where there is none.
    fn rules(&self) -> anyhow::Result<Vec<Rule>> {
        if self.exists() { self.remembered()?.rules() } else { Ok(Vec::new()) }
    }

    /// Forgets a remembered rule. Answers whether there was one.
    pub(crate) fn revoke(&self, id: &str) -> anyhow::Result<bool> {
        if self.exists() { self.remembered()?.revoke(id) } else { Ok(false) }
    }

    /// The directory.
    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// Whether anything was ever kept for the project.
    pub(crate) fn exists(&self) -> bool {
        Workspace::open(&self.path).is_ok()
    }

    /// A project that has been changed before may have been interrupted. One that has not has no
    /// state yet, and looking at it must not make any.
    fn finish_interrupted(&self, journal: &OnDemand<Arc<Journal>>) -> anyhow::Result<()> {
        if self.exists() {
            tell_recovery(journal.get()?.recovery());
        }
        Ok(())
    }
}

impl RuleKeeper for State {
    fn keep(&self, rule: &Rule) -> Result<(), ToolError> {
        self.remembered().and_then(|kept| kept.keep(rule)).map_err(unusable)
    }
}

/// Says what a crash had left behind and what became of it.
fn tell_recovery(report: &RecoveryReport) {
    for entry in &report.rolled_back {
        output::to_people(&format!(
            "toolkiln: change {entry} had been interrupted and was taken back"
        ));
    }
    for path in &report.conflicts {
        output::to_people(&format!(
            "toolkiln: {path} belongs to an interrupted change but was written since; it is left as it is"
        ));
    }
    for (entry, why) in &report.failed {
        output::to_people(&format!(
            "toolkiln: the interrupted change {entry} cannot be taken back: {why}"
        ));
    }
}

fn unusable(error: anyhow::Error) -> ToolError {
    ToolError::new(ErrorCode::ExecutionError, format!("{error:#}"))
        .suggest("Ask the user to run `toolkiln doctor`.")
}

fn session_name() -> String {
    format!("{}-{}", Timestamp::now().as_millisecond(), std::process::id())
}

/// Who answers for the person: the option, the person at the terminal, or nobody.
fn approver(yes: bool, journal: &Arc<OnDemand<Arc<Journal>>>) -> Arc<dyn Approver> {
    if yes {
        Arc::new(ApproveAll)
    } else if terminal::is_attended() {
        let (editor, journal) = (environment::editor(), Arc::clone(journal));
        Arc::new(Terminal { editor, journal, turn: Default::default() })
    } else {
        let how_to_allow = "Run it again with --yes, with a rule (--allow 'TOOL:WHAT'), or in a \
                            terminal where you can be asked.";
        Arc::new(RefuseAll { how_to_allow: how_to_allow.into() })
    }
}
