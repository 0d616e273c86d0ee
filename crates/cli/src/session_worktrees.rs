//! A git worktree for each session, so that the agents of two people do not work on the same files.

use std::collections::{BTreeSet, HashMap, HashSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::Context as _;
use protocol::{ErrorCode, ToolCall, ToolError};
use serde_json::{Map, Value, json};
use store::{SessionId, Store};
use tokio::sync::Mutex;
use tokio_util::sync::CancellationToken;
use tool_system::extensions::version_control::{git_log, git_status};
use tool_system::{Caller, ProjectTools};
use web_service::{KeptWorktree, WebLog};
use workspace::{MAX_INDEX_BYTES, RelPath, SeenTree, StateDir, Tracked, Workspace, bytes_to_text};

use crate::args::{ApprovalArgs, ProjectArgs};
use crate::config::FlagLayer;
use crate::environment;
use crate::project::{Lifetime, Project, own_name};

/// The worktrees of all projects, in the directory of all states.
const DIRECTORY: &str = "worktrees";
/// What says in a worktree where its repository is.
const LINK: &str = ".git";
/// What stands in a worktree's directory until all of its files are written.
const UNFINISHED: &str = ".toolkiln-unfinished";

/// What the file beside a worktree is called that says whose it is, after the name of its session.
const HOME: &str = ".home";
/// Bytes of such a file at most.
const MAX_HOME_BYTES: u64 = 4096;
/// Bytes of a worktree's log of commits, and how many of them are looked at, each by a command of git. A worktree with
/// more stays.
const MAX_LOG_BYTES: u64 = 1024 * 1024;
const MAX_COMMITS: usize = 100;

/// Makes the worktrees of sessions, and the tools that work in them.
pub(crate) struct SessionWorktrees {
    scope: ProjectArgs,
    approval: ApprovalArgs,
    flags: FlagLayer,
    log: WebLog,
    /// The database and the project that sessions are kept in. Another service may serve the same directory.
    home: String,
    /// Git adds one at a time, and none is removed meanwhile.
    adding: Mutex<()>,
    /// Those without a session when all were last looked at. A session that is about to begin has its worktree first.
    unowned: Mutex<HashSet<SessionId>>,
    /// Why worktrees of deleted sessions stay, as was told.
    told: Mutex<HashMap<SessionId, String>>,
}

impl SessionWorktrees {
    pub(crate) fn new(
        scope: ProjectArgs,
        approval: ApprovalArgs,
        flags: FlagLayer,
        log: WebLog,
        home: String,
    ) -> Self {
        let (adding, unowned, told) = Default::default();
        Self { scope, approval, flags, log, home, adding, unowned, told }
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
        let marks = self.directories(project).map_err(unusable)?;
        let marks = StateDir::open(&project.workspace, &marks);
        let marks = marks.map_err(|it| unusable(it.into()))?;
        let is_new = !is_whole(&path);
        if !is_new && !is_marked(&marks, session, &self.home) {
            let message = "it was made for another database, or another name of the project";
            return Err(unusable(anyhow::anyhow!(message)));
        }
        mark(&marks, session, &self.home).map_err(|it| unusable(it.into()))?;
        if is_new {
            self.add(project, shared, session, &path).await?;
        }
        let own = self.own_tools(project, shared, &path).map_err(unusable)?;
        if is_new {
            own.executor(Caller::default()).fill_worktree().await?;
            let states =
                StateDir::open(&project.workspace, &path).map_err(|it| unusable(it.into()))?;
            states.remove(UNFINISHED).map_err(|it| unusable(it.into()))?;
        }
        Ok(own)
    }

    /// Where the session works.
    fn directory(&self, project: &Project, session: &SessionId) -> anyhow::Result<PathBuf> {
        Ok(self.directories(project)?.join(session.as_str()))
    }

    /// Where all sessions of the project work.
    fn directories(&self, project: &Project) -> anyhow::Result<PathBuf> {
        let states = environment::state_dir().context("neither XDG_STATE_HOME nor HOME is set")?;
        Ok(states.join(DIRECTORY).join(own_name(&project.workspace)))
    }

    /// Removes the worktree of a session that is gone, unless it holds something that is not committed, or commits that
    /// are not merged. Then it stays and is named. The branch stays in any case.
    pub(crate) async fn remove(
        &self,
        project: &Project,
        shared: &ProjectTools,
        session: &SessionId,
    ) -> Option<KeptWorktree> {
        let path = self.directory(project, session).ok()?;
        let _adding = self.adding.lock().await;
        let why = match self.try_remove(project, shared, session, &path).await {
            Ok(RemovedWorktree::WasNotThere) => return None,
            Ok(RemovedWorktree::Gone) => {
                let marks = self.directories(project).ok();
                let marks = marks.and_then(|it| StateDir::open(&project.workspace, &it).ok());
                // A mark that stays says nothing.
                let _ = marks.map(|marks| marks.remove(&mark_name(session)));
                (self.log)(&format!("removed the worktree of the deleted session {session}"));
                return None;
            }
            Ok(RemovedWorktree::Kept(why)) => why,
            Err(error) => format!("it cannot be looked at: {error:#}"),
        };
        let path = path.display().to_string();
        let told = self.told.lock().await.insert(session.clone(), why.clone());
        if told.as_ref() != Some(&why) {
            let kept = format!("kept the worktree {path} of the deleted session {session}: {why}");
            (self.log)(&kept);
        }
        Some(KeptWorktree { path, why })
    }

    async fn try_remove(
        &self,
        project: &Project,
        shared: &ProjectTools,
        session: &SessionId,
        path: &Path,
    ) -> anyhow::Result<RemovedWorktree> {
        // What is written after this look stays, whatever is found out meanwhile.
        let Some(seen) = SeenTree::look(path)? else { return Ok(RemovedWorktree::WasNotThere) };
        let marks = StateDir::open(&project.workspace, &self.directories(project)?)?;
        if !is_marked(&marks, session, &self.home) {
            let why = "it was made for another database, or another name of the project";
            return Ok(RemovedWorktree::Kept(why.to_owned()));
        }
        if !is_whole(path) {
            return Ok(RemovedWorktree::Kept("it was never finished".to_owned()));
        }
        if let Some(file) = not_held(&project.workspace, session, &seen)? {
            return Ok(RemovedWorktree::Kept(format!("git does not hold {file}")));
        }
        let own = self.own_tools(project, shared, path)?;
        let status = looked(&own, git_status::NAME, json!({})).await?;
        if status["clean"] != true {
            return Ok(RemovedWorktree::Kept("it has changes that are not committed".to_owned()));
        }
        let commit = status["commit"].as_str().context("it has no commit")?;
        let mut commits = commits_of(&project.workspace, session)?;
        commits.insert(commit.to_owned());
        if commits.len() > MAX_COMMITS {
            return Ok(RemovedWorktree::Kept("it has too many commits to look at".to_owned()));
        }
        for commit in commits {
            let range = json!({"commit": format!("HEAD..{commit}"), "limit": 1});
            let log = looked(shared, git_log::NAME, range).await?;
            if log["commits"].as_array().is_none_or(|commits| !commits.is_empty()) {
                return Ok(RemovedWorktree::Kept("it has commits that are not merged".to_owned()));
            }
        }
        Ok(match seen.remove()? {
            true => RemovedWorktree::Gone,
            false => RemovedWorktree::Kept("something was written to it meanwhile".to_owned()),
        })
    }

    /// Removes the worktrees of sessions that are gone without this replica: deleted by another one, or too old. Those
    /// that were made for another database, or for another name of the project, are none of our business.
    pub(crate) async fn sweep(&self, project: &Project, shared: &ProjectTools, store: &dyn Store) {
        let Ok(all) = self.directories(project) else { return };
        let sessions = Workspace::open(&all).and_then(|all| all.list_dir(&RelPath::root(), false));
        let Ok(sessions) = sessions else { return };
        let Ok(marks) = StateDir::open(&project.workspace, &all) else { return };
        let named = sessions.entries.iter().filter_map(|it| str::from_utf8(&it.name).ok());
        let named = named.filter_map(|name| name.parse::<SessionId>().ok());
        let ours: Vec<SessionId> =
            named.filter(|session| is_marked(&marks, session, &self.home)).collect();
        let mut unowned = HashSet::new();
        for session in ours {
            if matches!(store.info(&session).await, Ok(None)) {
                unowned.insert(session);
            }
        }
        let before = std::mem::replace(&mut *self.unowned.lock().await, unowned.clone());
        let second = unowned.intersection(&before);
        for session in second {
            self.remove(project, shared, session).await;
        }
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
        let executor = shared.executor(Caller::default());
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
        let scope = ProjectArgs { root: Some(path.to_owned()), ..self.scope.clone() };
        // An index of its own would be built for every session.
        let tools = own.tools(&scope, &self.approval, Lifetime::OneCall)?;
        let registry = Arc::clone(&shared.registry);
        Ok(ProjectTools { registry, ..tools.with_rules_of(shared) })
    }
}

fn mark_name(session: &SessionId) -> String {
    format!("{session}{HOME}")
}

/// Notes whose worktree that of a session is.
fn mark(marks: &StateDir, session: &SessionId, home: &str) -> Result<(), workspace::Error> {
    match is_marked(marks, session, home) {
        true => Ok(()),
        false => marks.replace(&mark_name(session), home.as_bytes()),
    }
}

/// Whether the worktree of a session was made for this database and project.
fn is_marked(marks: &StateDir, session: &SessionId, home: &str) -> bool {
    let kept = marks.read(&mark_name(session), MAX_HOME_BYTES);
    kept.is_ok_and(|kept| kept.as_deref() == Some(home.as_bytes()))
}

/// What became of a worktree.
enum RemovedWorktree {
    WasNotThere,
    Gone,
    /// And why.
    Kept(String),
}

/// A file in a worktree that its index does not hold, as ignored ones, or of which git was told not to tell changes.
fn not_held(
    project: &Workspace,
    session: &SessionId,
    seen: &SeenTree,
) -> anyhow::Result<Option<String>> {
    let index = RelPath::parse(&format!(".git/worktrees/{session}/index"))?;
    let index = project.open_file(&index)?.read_all(MAX_INDEX_BYTES)?;
    let Tracked::Files(held) = Tracked::from_index(&index) else {
        anyhow::bail!("its index is not understood");
    };
    if held.hides_changes() {
        return Ok(Some("some of its changes".to_owned()));
    }
    let held = Tracked::Files(held);
    let link = LINK.as_bytes();
    let is_held =
        |path: &[u8]| path == link || RelPath::from_bytes(path).is_ok_and(|path| held.holds(&path));
    let other = seen.files().find(|path| !is_held(path));
    Ok(other.map(|path| bytes_to_text(path).into_owned()))
}

/// The commits that a worktree has been at. Its log of them goes with it, and may be all that holds one.
fn commits_of(project: &Workspace, session: &SessionId) -> anyhow::Result<BTreeSet<String>> {
    let log = RelPath::parse(&format!(".git/worktrees/{session}/logs/HEAD"))?;
    let log = match project.open_file(&log) {
        Ok(mut log) => log.read_all(MAX_LOG_BYTES)?,
        // A user may have told git to keep none.
        Err(workspace::Error::NotFound { .. }) => return Ok(BTreeSet::new()),
        Err(error) => return Err(error.into()),
    };
    let log = String::from_utf8_lossy(&log);
    let commits = log.lines().filter_map(|line| line.split(' ').nth(1));
    let is_one = |commit: &&str| commit.bytes().any(|digit| digit != b'0');
    Ok(commits.filter(is_one).map(str::to_owned).collect())
}

/// What a tool that only looks finds.
async fn looked(tools: &ProjectTools, tool: &str, arguments: Value) -> Result<Value, ToolError> {
    let arguments: Map<String, Value> = arguments.as_object().cloned().unwrap_or_default();
    let executor = tools.executor(Caller::default());
    let call = ToolCall::new("worktree", tool, arguments);
    executor.execute_tool(&call, &CancellationToken::new()).await
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_worktree_of_another_database_or_project_is_not_ours() {
        let fixture = testkit::Fixture::new("//- /notes.txt\nnotes\n");
        let project = Workspace::open(fixture.root()).unwrap();
        let beside = fixture.root().with_file_name("worktrees");
        let marks = StateDir::open(&project, &beside).unwrap();
        let session = SessionId::generate().unwrap();
        assert!(!is_marked(&marks, &session, "one app"), "made before there were marks");
        mark(&marks, &session, "one app").unwrap();
        assert!(is_marked(&marks, &session, "one app"));
        for other in ["two app", "one web", ""] {
            assert!(!is_marked(&marks, &session, other), "{other}");
        }
    }
}
