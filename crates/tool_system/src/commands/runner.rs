//! Runs commands in sandboxes of one project.

use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::SystemTime;

use protocol::{CommandSpec, ErrorCode, ProjectMode, RunMode, ToolError};
use sandbox::{
    Canceller, Exit, Launcher, Overlay, Part, Profile, ProjectAccess, Protected, Ran, RunOptions,
    Sandbox, SandboxError, StandIn, Unconfined,
};
use serde_json::{Value, json};
use workspace::{EntryKind, EntryMeta, Ignored, RelPath, Workspace};

use super::copied::{self, Taken};
use super::place::Place;
use super::report::{LiveOutput, report};
use crate::ToolContext;

/// How deep ignored directories are looked for that commands write to directly, and in how many
/// directories. What lies deeper is taken over after the run.
const IGNORED_DEPTH: usize = 4;
const IGNORED_LOOKS: usize = 5_000;
/// Every directory that is written directly costs each run a mount.
const MOST_PASSED_THROUGH: usize = 64;

/// What a runner is made from.
#[derive(Clone, Debug)]
pub struct RunnerOptions {
    /// What commands may see and use; how they meet the project is decided for each.
    pub profile: Profile,
    /// The program that confines them.
    pub launcher: Launcher,
    /// The operator wants them not to be confined at all.
    pub unconfined: bool,
}

/// Runs the commands of one project, confined.
pub struct CommandRunner {
    workspace: Arc<Workspace>,
    options: RunnerOptions,
    sandboxes: Mutex<HashMap<Kind, Prepared>>,
    /// Why there are no copies on write here, once that is known.
    no_copies: OnceLock<String>,
}

/// What a sandbox is for.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Kind {
    copies: bool,
    /// Ignored directories are written directly.
    passes: bool,
    unprotected: Vec<String>,
}

#[derive(Clone)]
struct Prepared {
    place: Place,
    passed_through: Arc<[RelPath]>,
}

/// A command that ran, or that goes on as a job.
#[derive(Debug)]
pub(crate) struct CommandRun {
    /// The report, without what it changed.
    pub(crate) report: Value,
    /// What it would change in the project; none if it had no copy.
    pub(crate) taken: Option<Taken>,
}

/// Why a command did not run.
pub(crate) enum NotRun {
    /// There are no copies on write here; it could run on the files themselves.
    NoCopies(String),
    Failed(ToolError),
}

impl From<SandboxError> for NotRun {
    fn from(error: SandboxError) -> Self {
        match error {
            SandboxError::Unavailable { part: Part::Overlay, .. } => {
                NotRun::NoCopies(error.to_string())
            }
            other => NotRun::Failed(other.into()),
        }
    }
}

impl CommandRunner {
    /// A runner for the commands of a project.
    pub fn new(workspace: Arc<Workspace>, options: RunnerOptions) -> Self {
        let (sandboxes, no_copies) = (Mutex::default(), OnceLock::new());
        if options.unconfined {
            let _ = no_copies.set("commands are not confined".to_owned());
        }
        Self { workspace, options, sandboxes, no_copies }
    }

    /// Why commands cannot work on a copy, if that has been found out.
    pub(crate) fn no_copies(&self) -> Option<&str> {
        self.no_copies.get().map(String::as_str)
    }

    /// Runs a command to its end, or starts a job. A call that is withdrawn ends its command.
    pub(crate) async fn run(
        self: &Arc<Self>,
        spec: &CommandSpec,
        cx: &ToolContext,
    ) -> Result<CommandRun, NotRun> {
        match &spec.run {
            RunMode::Wait => self.wait(spec, cx).await,
            RunMode::Job => self.start_job(spec, cx).map_err(NotRun::Failed),
            RunMode::Tell(job) => {
                let told = cx.jobs().tell(job, spec.stdin.clone().unwrap_or_default());
                told.map_err(NotRun::Failed)?;
                Ok(CommandRun { report: json!({"job": job, "running": true}), taken: None })
            }
            RunMode::Stop(job) => {
                let end = cx.jobs().stop(job).await.map_err(NotRun::Failed)?;
                let mut report = json!({"job": job, "running": end.is_none()});
                if let Some(end) = end {
                    report["exit_code"] = json!(end.exit_code);
                    report["message"] = json!(end.message);
                }
                Ok(CommandRun { report, taken: None })
            }
        }
    }

    async fn wait(
        self: &Arc<Self>,
        spec: &CommandSpec,
        cx: &ToolContext,
    ) -> Result<CommandRun, NotRun> {
        let canceller = Canceller::new().map_err(|error| NotRun::Failed(error.into()))?;
        // If nobody waits any more, the command ends too.
        let ended_with_us = CancelOnDrop(canceller.clone());
        let (runner, spec) = (Arc::clone(self), spec.clone());
        let running = cx.blocking(move |cx| Ok(runner.run_blocking(&spec, cx, &canceller)));
        tokio::pin!(running);
        let ran = tokio::select! {
            ran = &mut running => ran,
            () = cx.cancellation().cancelled() => {
                ended_with_us.0.cancel();
                running.await
            }
        };
        ran.map_err(NotRun::Failed)?
    }

    fn run_blocking(
        &self,
        spec: &CommandSpec,
        cx: &ToolContext,
        canceller: &Canceller,
    ) -> Result<CommandRun, NotRun> {
        let begun = SystemTime::now();
        let ran = match self.run_in(kind_of(spec), spec, cx, canceller) {
            // One of the ignored directories may be the reason, if it is gone since or of a kind that
            // cannot be mounted.
            Err(NotRun::NoCopies(_)) if self.no_copies().is_none() => {
                let plain = Kind { passes: false, ..kind_of(spec) };
                self.run_in(plain, spec, cx, canceller).map_err(|error| self.remembered(error))?
            }
            other => other?,
        };
        if ran.exit == Exit::Cancelled {
            let message = "the command was ended because the call was withdrawn; what it had \
                           changed was thrown away";
            return Err(NotRun::Failed(ToolError::new(ErrorCode::Cancelled, message)));
        }
        let taken = self.taken(spec, &ran, cx, begun);
        Ok(CommandRun { report: report(&ran), taken })
    }

    fn run_in(
        &self,
        kind: Kind,
        spec: &CommandSpec,
        cx: &ToolContext,
        canceller: &Canceller,
    ) -> Result<Ran, NotRun> {
        let prepared = self.prepared(kind)?;
        let mut live = LiveOutput::new(cx);
        let options = RunOptions { cancel: Some(canceller), stdin: None };
        Ok(prepared.place.run(spec, options, |chunk| live.show(chunk.stream, chunk.bytes))?)
    }

    /// What is to be taken over. Ignored files already are when this returns.
    fn taken(
        &self,
        spec: &CommandSpec,
        ran: &Ran,
        cx: &ToolContext,
        begun: SystemTime,
    ) -> Option<Taken> {
        let changes = ran.changed.as_ref()?;
        let sorted = match copied::sort(&self.workspace, changes) {
            Ok(sorted) => sorted,
            Err(why) => return Some(Taken { refusal: Some(why), ..Taken::default() }),
        };
        let mut trouble = None;
        if !sorted.ignored.is_empty() && spec.project != ProjectMode::ReadOnly {
            trouble = changes.carry_over(&sorted.ignored).err();
            // There may be new directories to write to directly.
            self.lock().retain(|kind, _| !kind.copies);
        }
        let mut taken = copied::take(&self.workspace, changes, sorted, cx.limits(), begun);
        if let Some(error) = trouble {
            taken.notes.push(format!("ignored files could not be taken over: {error}"));
        }
        if !matches!(ran.exit, Exit::Code(_)) && taken.refusal.is_none() {
            taken.refusal = Some("the command was stopped before its end".to_owned());
        }
        Some(taken)
    }

    /// Runs a command that only looks, for whoever judges another: nobody is shown its output.
    pub(crate) async fn peek(
        self: &Arc<Self>,
        spec: CommandSpec,
        cx: &ToolContext,
    ) -> Option<Value> {
        let runner = Arc::clone(self);
        let looked = cx.blocking(move |_| {
            let Ok(prepared) = runner.prepared(kind_of(&spec)) else { return Ok(None) };
            let options = RunOptions { cancel: None, stdin: None };
            Ok(prepared.place.run(&spec, options, |_| {}).ok().map(|ran| report(&ran)))
        });
        looked.await.ok()?
    }

    fn start_job(&self, spec: &CommandSpec, cx: &ToolContext) -> Result<CommandRun, ToolError> {
        let kind = Kind { copies: false, ..kind_of(spec) };
        let prepared = self.prepared(kind).map_err(|not_run| match not_run {
            NotRun::Failed(error) => error,
            NotRun::NoCopies(why) => ToolError::new(ErrorCode::SandboxUnavailable, why),
        })?;
        let job = cx.jobs().start(prepared.place, spec.clone(), cx.limits().jobs)?;
        Ok(CommandRun { report: json!({"job": job, "running": true}), taken: None })
    }

    /// A sandbox of this kind, as the project is now.
    fn prepared(&self, kind: Kind) -> Result<Prepared, NotRun> {
        if kind.copies
            && let Some(why) = self.no_copies()
        {
            return Err(NotRun::NoCopies(why.to_owned()));
        }
        let mut sandboxes = self.lock();
        if let Some(prepared) = sandboxes.get(&kind)
            && self.still_ignored(&prepared.passed_through)
        {
            return Ok(prepared.clone());
        }
        let prepared = self.prepare(&kind)?;
        sandboxes.insert(kind, prepared.clone());
        Ok(prepared)
    }

    fn prepare(&self, kind: &Kind) -> Result<Prepared, SandboxError> {
        let mut profile = self.options.profile.clone();
        let is_open =
            |path: &PathBuf| kind.unprotected.iter().any(|name| path.as_os_str() == &**name);
        profile.protected.retain(|one| !is_open(&one.path));
        if is_open(&PathBuf::from(".git")) {
            profile.protected.extend(self.obeyed_by_git());
        }
        let mut passed_through = Vec::new();
        profile.project = if kind.copies {
            if kind.passes {
                passed_through = self.workspace.ignored_directories(IGNORED_DEPTH, IGNORED_LOOKS);
            }
            passed_through
                .retain(|dir| profile.protected.iter().all(|one| one.path != dir.as_path()));
            passed_through.truncate(MOST_PASSED_THROUGH);
            let ignored = passed_through.iter().map(|dir| dir.as_path().to_owned());
            let open = kind.unprotected.iter().map(PathBuf::from);
            let pass_through = ignored.chain(open).collect();
            ProjectAccess::Overlay(Overlay { pass_through, ..Overlay::default() })
        } else {
            ProjectAccess::Direct
        };
        let place = match self.options.unconfined {
            true => Place::Unconfined(Arc::new(Unconfined::new(profile)?)),
            false => {
                let launcher = self.options.launcher.clone();
                Place::Sandbox(Arc::new(Sandbox::new(profile, launcher)?))
            }
        };
        Ok(Prepared { place, passed_through: passed_through.into() })
    }

    /// What lies in a repository and makes git run programs; no commit needs to change it.
    fn obeyed_by_git(&self) -> Vec<Protected> {
        let is_directory = |meta: EntryMeta| meta.kind == EntryKind::Directory;
        let git = RelPath::parse(".git").map(|git| self.workspace.metadata(&git));
        if !git.is_ok_and(|meta| meta.is_ok_and(is_directory)) {
            return Vec::new();
        }
        let names = [(".git/hooks", StandIn::Directory), (".git/config", StandIn::File)];
        names.map(|(path, stand_in)| Protected { path: path.into(), stand_in }).into()
    }

    /// Whether directories that are written directly still are there and ignored.
    fn still_ignored(&self, directories: &[RelPath]) -> bool {
        let mut ignored = Ignored::new(&self.workspace);
        directories.iter().all(|dir| {
            let meta = self.workspace.metadata(dir);
            meta.is_ok_and(|meta| meta.kind == EntryKind::Directory) && ignored.covers(dir, true)
        })
    }

    fn remembered(&self, not_run: NotRun) -> NotRun {
        if let NotRun::NoCopies(why) = &not_run {
            let _ = self.no_copies.set(why.clone());
        }
        not_run
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, HashMap<Kind, Prepared>> {
        self.sandboxes.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn kind_of(spec: &CommandSpec) -> Kind {
    let copies = spec.project != ProjectMode::Direct;
    Kind { copies, passes: true, unprotected: spec.unprotected.clone() }
}

struct CancelOnDrop(Canceller);

impl Drop for CancelOnDrop {
    fn drop(&mut self) {
        self.0.cancel();
    }
}
