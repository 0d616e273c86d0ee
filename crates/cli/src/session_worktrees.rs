//! A git worktree for each session, so that the agents of two people do not work on the same files.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::Context as _;
use protocol::{ErrorCode, ToolError};
use store::SessionId;
use tokio::sync::Mutex;
use tool_system::{ExecutorOptions, ProjectTools};
use workspace::{StateDir, Workspace};

use crate::args::{ApprovalArgs, Scope};
use crate::config::FlagLayer;
use crate::environment;
use crate::project::{Lifetime, Project, own_name};

/// The worktrees of all projects, in the directory of all states.
const DIRECTORY: &str = "worktrees";
/// What says in a worktree where its repository is.
const LINK: &str = ".git";
/// What stands in a worktree's directory until all of its files are written.
const UNFINISHED: &str = ".toolkiln-unfinished";

/// Makes the worktrees of sessions, and the tools that work in them.
pub(crate) struct SessionWorktrees {
    scope: Scope,
    approval: ApprovalArgs,
    flags: FlagLayer,
    /// Git adds one at a time.
    adding: Mutex<()>,
}

impl SessionWorktrees {
    pub(crate) fn new(scope: Scope, approval: ApprovalArgs, flags: FlagLayer) -> Self {
        Self { scope, approval, flags, adding: Mutex::default() }
    }

    /// The tools of a session in its own worktree, which is made if it is not there. Rules and foreign servers are those
    /// of the project.
    pub(crate) async fn tools_for(
        &self,
        project: &Project,
        shared: &ProjectTools,
        session: &SessionId,
    ) -> Result<ProjectTools, ToolError> {
        let path = self.directory(project, session).map_err(unusable)?;
        let _adding = self.adding.lock().await;
        let is_new = !is_whole(&path);
        if is_new {
            self.add(project, shared, session, &path).await?;
        }
        let own = self.own_tools(project, shared, &path).map_err(unusable)?;
        if is_new {
            own.executor(own.options.clone()).fill_worktree().await?;
            let states =
                StateDir::open(&project.workspace, &path).map_err(|it| unusable(it.into()))?;
            states.remove(UNFINISHED).map_err(|it| unusable(it.into()))?;
        }
        Ok(own)
    }

    /// Where the session works.
    fn directory(&self, project: &Project, session: &SessionId) -> anyhow::Result<PathBuf> {
        let states = environment::state_dir().context("neither XDG_STATE_HOME nor HOME is set")?;
        let own = own_name(&project.workspace);
        Ok(states.join(DIRECTORY).join(own).join(session.as_str()))
    }

    async fn add(
        &self,
        project: &Project,
        shared: &ProjectTools,
        session: &SessionId,
        path: &Path,
    ) -> Result<(), ToolError> {
        let states = StateDir::open(&project.workspace, path).map_err(|it| unusable(it.into()))?;
        let write = |name: &str, text: &str| {
            states.replace(name, text.as_bytes()).map_err(|it| unusable(it.into()))
        };
        write(UNFINISHED, "")?;
        let branch = format!("toolkiln/{session}");
        let executor = shared.executor(shared.options.clone());
        executor.add_worktree(session.as_str(), &branch, path).await?;
        let root = project.workspace.canonical_path().display();
        write(LINK, &format!("gitdir: {root}/.git/worktrees/{session}\n"))
    }

    fn own_tools(
        &self,
        project: &Project,
        shared: &ProjectTools,
        path: &Path,
    ) -> anyhow::Result<ProjectTools> {
        let servers = Arc::clone(project.servers(self.approval.unsafe_no_sandbox));
        let own = Project::open_with(path, &self.flags)?.with_servers(servers);
        let scope = Scope { root: Some(path.to_owned()), ..self.scope.clone() };
        // An index of its own would be built for every session.
        let tools = own.tools(&scope, &self.approval, Lifetime::OneCall)?;
        Ok(ProjectTools {
            registry: Arc::clone(&shared.registry),
            options: ExecutorOptions {
                policy: shared.options.policy.clone(),
                rule_keeper: shared.options.rule_keeper.clone(),
                approver: Arc::clone(&shared.options.approver),
                ..tools.options
            },
            ..tools
        })
    }
}

/// Whether a worktree is there with all of its files.
fn is_whole(path: &Path) -> bool {
    let Ok(worktree) = Workspace::open(path) else { return false };
    let has =
        |name: &str| worktree.resolve(name).is_ok_and(|path| worktree.metadata(&path).is_ok());
    has(LINK) && !has(UNFINISHED)
}

fn unusable(error: anyhow::Error) -> ToolError {
    ToolError::new(ErrorCode::ExecutionError, format!("the worktree cannot be made: {error:#}"))
}
