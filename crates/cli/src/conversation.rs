//! Puts a conversation together: model, tools, instructions, person and store.

use std::sync::Arc;
use std::time::Duration;

use anyhow::Context as _;
use context_manager::Budget;
use protocol::{AgentRole, ErrorCode, ToolError};
use providers::catalogue::Wanted;
use session::{Parts, Session, SystemPromptService, Toolbox, Wiring};
use store::{ListFilter, SqliteStore, Store};
use tool_system::{Approver, InstructionFile, Limits, ToolExecutor, Vocabulary};
use workspace::{StateDir, Workspace};

use crate::args::{Gate, ModelArgs, Scope};
use crate::config::Config;
use crate::environment::Environment;
use crate::model_choice::{Chosen, chosen};
use crate::output;
use crate::project::{Kit, Lifetime, Project, project_root};

/// The sessions of a project, in its state directory.
const SESSIONS: &str = "sessions.db";
/// How many of the tools that helped most come first among examples.
const FAVOURITES: usize = 4;

/// A project with everything that conversations need.
pub(crate) struct Desk {
    pub(crate) project: Project,
    pub(crate) environment: Environment,
    pub(crate) store: Arc<dyn Store>,
    pub(crate) tools: Arc<ProjectTools>,
    role: AgentRole,
}

impl Desk {
    /// Opens the project and its sessions.
    pub(crate) async fn open(
        scope: &Scope,
        gate: &Gate,
        model: &ModelArgs,
        lifetime: Lifetime,
    ) -> anyhow::Result<Self> {
        let environment = Environment::gather();
        let project =
            Project::open_with(&project_root::checked(scope)?, &environment, &model.layer())?;
        let role = project.config.role(&scope.role)?;
        let kit = project.kit(gate, lifetime)?;
        let roles = project.config.all_roles();
        let tools = Arc::new(ProjectTools { kit, vocabulary: scope.vocabulary, roles });
        let store = open_store(&project).await?;
        Ok(Self { project, environment, store, tools, role })
    }

    /// The model that is asked for, configured, or there.
    pub(crate) async fn model(&self, wanted: &Wanted) -> anyhow::Result<Chosen> {
        chosen(&self.project.config, &self.environment, wanted).await
    }

    /// The parts of a conversation with `chosen`, in which `approver` answers for the person.
    pub(crate) async fn parts(
        &self,
        chosen: &Chosen,
        approver: Option<Arc<dyn Approver>>,
    ) -> anyhow::Result<Parts> {
        let agent = &self.project.config.agent;
        let favourites = self.store.favourites().await?.tools.into_iter().take(FAVOURITES);
        Ok(Parts {
            store: Arc::clone(&self.store),
            toolbox: self.tools.clone(),
            approver,
            root: self.project.workspace.canonical_path().display().to_string(),
            model: chosen.model.clone(),
            role: self.role.clone(),
            prompts: SystemPromptService {
                favourites: favourites.map(|tool| tool.name).collect(),
                ..self.instructions()
            },
            turn_limit: self.project.config.turn_limit(self.tools.vocabulary),
            budget: Budget {
                tokens: agent.token_budget.map(u64::from),
                cost_usd: agent.cost_budget_usd.map(f64::from),
                wall_time: agent.wall_time_s.map(|seconds| Duration::from_secs(seconds.get())),
            },
        })
    }

    /// What the user and the project want every conversation to know.
    fn instructions(&self) -> SystemPromptService {
        let Config { agent, limits, .. } = &self.project.config;
        let project = match agent.project_instructions {
            true => InstructionFile::of_project(&self.project.workspace, limits),
            false => Vec::new(),
        };
        SystemPromptService {
            instructions: agent.instructions.clone(),
            user_file: users_file(&self.environment, limits),
            project,
            follows_project: agent.project_instructions,
            favourites: Vec::new(),
        }
    }
}

/// The user's own file with instructions, by the path that the user knows it by.
fn users_file(environment: &Environment, limits: &Limits) -> Option<InstructionFile> {
    let dir = environment.config_dir.as_ref()?;
    let mut file = InstructionFile::of_user(&Workspace::open(dir).ok()?, limits)?;
    let path = dir.join(&file.path);
    let below_home = environment.home.as_ref().and_then(|home| path.strip_prefix(home).ok());
    file.path = match below_home {
        Some(path) => format!("~/{}", path.display()),
        None => path.display().to_string(),
    };
    Some(file)
}

/// Takes up the session that a person means; the last one if they name none.
pub(crate) async fn resumed(desk: &Desk, parts: Parts, text: &str) -> anyhow::Result<Session> {
    let id = if text.is_empty() {
        let newest = ListFilter { limit: Some(1), ..ListFilter::default() };
        let newest = desk.store.list(&newest).await?.into_iter().next();
        newest.context("there are no sessions yet")?.id
    } else {
        desk.store.find(text).await?
    };
    let (session, damage) = Session::resume(parts, id).await?;
    damage.iter().for_each(|line| output::to_people(&format!("toolkiln: {line}")));
    Ok(session)
}

/// The sessions of a project; made if there are none yet.
pub(crate) async fn open_store(project: &Project) -> anyhow::Result<Arc<dyn Store>> {
    let path = project.state()?.path().to_owned();
    StateDir::open(&project.workspace, &path).context("the state directory cannot be opened")?;
    let store = SqliteStore::open(&path.join(SESSIONS)).await;
    Ok(Arc::new(store.context("the sessions of this project cannot be opened")?))
}

/// The tools of a project for a conversation and its sub-agents.
pub(crate) struct ProjectTools {
    pub(crate) kit: Kit,
    vocabulary: Vocabulary,
    roles: Vec<AgentRole>,
}

impl Toolbox for ProjectTools {
    fn role(&self, name: &str) -> Result<AgentRole, ToolError> {
        let found = self.roles.iter().find(|role| role.name() == name).cloned();
        found.ok_or_else(|| {
            let known: Vec<&str> = self.roles.iter().map(AgentRole::name).collect();
            ToolError::new(ErrorCode::InvalidArguments, format!("there is no role `{name}`"))
                .suggest(format!("The roles are: {}.", known.join(", ")))
        })
    }

    fn executor(&self, wiring: Wiring) -> Result<ToolExecutor, ToolError> {
        let Wiring { role, approver, agent_host, session } = wiring;
        Ok(self.kit.executor(self.vocabulary, role, |options| {
            options.detect_repeats = true;
            options.session = session;
            options.approver = approver;
            options.agent_host = Some(agent_host);
        }))
    }
}
