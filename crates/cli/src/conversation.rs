//! Puts a conversation together: model, tools, instructions, approver and store.

use std::sync::Arc;
use std::time::Duration;

use anyhow::Context as _;
use context_manager::Budget;
use protocol::AgentRole;
use session::{Session, SessionParts, SystemPromptService};
use store::{ListFilter, SessionInfo, SqliteStore, Store};
use tool_system::{Approver, InstructionFile, Limits, ProjectTools};
use workspace::StateDir;

use crate::config::Config;
use crate::environment::Environment;
use crate::model_choice::Chosen;
use crate::project::Project;
use crate::{output, telemetry};

/// The sessions of a project, in its state directory.
const SESSIONS: &str = "sessions.db";
/// How many of the tools that helped most come first among examples.
const FAVOURITES: usize = 4;

/// The parts of a conversation in `project` with the model `chosen`, in a role. `approver` decides about what
/// needs approval; without one the front end answers.
pub(crate) async fn session_parts(
    project: &Project,
    tools: ProjectTools,
    chosen: &Chosen,
    role: AgentRole,
    approver: Option<Arc<dyn Approver>>,
) -> anyhow::Result<SessionParts> {
    let store = open_store(project).await?;
    session_parts_in(store, project, tools, chosen, role, approver).await
}

/// The same with conversations that are kept in `store`.
pub(crate) async fn session_parts_in(
    store: Arc<dyn Store>,
    project: &Project,
    tools: ProjectTools,
    chosen: &Chosen,
    role: AgentRole,
    approver: Option<Arc<dyn Approver>>,
) -> anyhow::Result<SessionParts> {
    let Config { agent, limits, .. } = &project.config;
    let favourites = store.favourites().await?.tools.into_iter().take(FAVOURITES);
    let prompts = SystemPromptService {
        instructions: agent.instructions.clone(),
        user_file: users_file(&project.environment, limits),
        project: match agent.project_instructions {
            true => InstructionFile::of_project(&project.workspace, limits),
            false => Vec::new(),
        },
        follows_project: agent.project_instructions,
        favourites: favourites.map(|tool| tool.name).collect(),
    };
    Ok(SessionParts {
        exchange: None,
        store,
        approver,
        root: project.workspace.canonical_path().display().to_string(),
        model: chosen.model.clone(),
        role,
        prompts,
        turn_limit: project.config.turn_limit(tools.options.vocabulary),
        budget: Budget {
            tokens: agent.token_budget.map(u64::from),
            cost_usd: agent.cost_budget_usd.map(f64::from),
            wall_time: agent.wall_time_s.map(|seconds| Duration::from_secs(seconds.get())),
        },
        shared_budget: None,
        tools,
        observers: telemetry::observers(project),
    })
}

/// The user's own file with instructions, by the path that the user knows it by.
fn users_file(environment: &Environment, limits: &Limits) -> Option<InstructionFile> {
    let dir = environment.config_dir.as_ref()?;
    let mut file = InstructionFile::of_user(dir, limits)?;
    let path = dir.join(&file.path);
    let below_home = environment.home.as_ref().and_then(|home| path.strip_prefix(home).ok());
    file.path = match below_home {
        Some(path) => format!("~/{}", path.display()),
        None => path.display().to_string(),
    };
    Some(file)
}

/// Takes up the session that the user names; if the name is empty, the last one that is not open, here
/// or elsewhere.
pub(crate) async fn resumed(parts: SessionParts, text: &str) -> anyhow::Result<Session> {
    let id = if text.is_empty() {
        let sessions = parts.store.list(&ListFilter::default()).await?;
        let is_free = |session: &&SessionInfo| session.held_by.is_none();
        // If all are open, taking up the newest says where it is.
        let newest = sessions.iter().find(is_free).or(sessions.first());
        newest.context("there are no sessions yet")?.id.clone()
    } else {
        parts.store.find(text).await?
    };
    let (session, damage) = Session::resume(parts, id).await?;
    damage.iter().for_each(|line| output::to_user(&format!("toolkiln: {line}")));
    Ok(session)
}

/// The sessions of a project; made if there are none yet.
pub(crate) async fn open_store(project: &Project) -> anyhow::Result<Arc<dyn Store>> {
    let path = project.state()?.path().to_owned();
    StateDir::open(&project.workspace, &path).context("the state directory cannot be opened")?;
    let store = SqliteStore::open(&path.join(SESSIONS)).await;
    Ok(Arc::new(store.context("the sessions of this project cannot be opened")?))
}
