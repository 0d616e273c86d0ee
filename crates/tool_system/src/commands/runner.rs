//! Runs commands in sandboxes of one project.

use std::collections::HashMap;
use std::os::unix::ffi::OsStrExt as _;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, OnceLock};
use std::time::SystemTime;

use protocol::{CommandSpec, ErrorCode, ProjectMode, RunMode, ToolError, ToolResult};
use sandbox::{
    Canceller, Changed, CommandChanges, Copy, Exit, Launcher, LimitKind, OutputChunk, PrivateLayer,
    Profile, ProjectAccess, RunOptions, Sandbox, SandboxError, SandboxPart, Unconfined, WriteSpace,
};
use serde_json::{Value, json};
use workspace::{RelPath, Tracked, Workspace, bytes_to_text};

use super::apart::{Apart, Output};
use super::backend::CommandBackend;
use super::copied::{self, MOST_CHANGES, Taken};
use super::fate::{Fates, TrackedNow, is_cache_name};
use super::report::{LiveOutput, report};
use crate::ToolContext;
use crate::locked::locked;

/// Names that other programs run or follow, for commands that change the files themselves.
const OBEYED: [&str; 5] = [".vscode", ".idea", ".envrc", ".mcp.json", ".gitmodules"];
/// What lies in a repository and makes git run programs; no commit needs to change it.
const OBEYED_BY_GIT: [&str; 2] = [".git/hooks", ".git/config"];

/// Programs that build or install. This only decides where a command finds more room.
const BUILDERS: [&str; 30] = [
    "ant", "bazel", "buck2", "bun", "cargo", "cmake", "composer", "deno", "dotnet", "go", "gradle",
    "gradlew", "jest", "make", "meson", "mix", "mvn", "mvnw", "ninja", "npm", "npx", "nx", "pip",
    "pnpm", "sbt", "swift", "tsc", "vite", "yarn", "zig",
];
const NOT_CONFINED: &str = "commands are not confined";
const DISK_FULL: &str = "the command was stopped, because the disk had too little room left; nothing \
                         of what it wrote was kept";
const NO_ROOM: &str = "It had no room left in memory for what it wrote. Run it again: commands of \
                       this session write to the disk from now on.";

/// What a runner is made from.
#[derive(Clone, Debug)]
pub struct RunnerOptions {
    /// What commands may see and use; how they meet the project is decided for each.
    pub profile: Profile,
    /// The program that confines them.
    pub launcher: Launcher,
    /// The operator wants them not to be confined at all.
    pub unconfined: bool,
    /// The directory of the project's private layer; nothing is kept without.
    pub layer: Option<PathBuf>,
    /// What becomes of ignored files that commands write.
    pub ignored: IgnoredFiles,
}

/// What becomes of ignored files that commands write.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum IgnoredFiles {
    /// They are kept in the project's private layer.
    #[default]
    Private,
    /// They are copied into the project.
    Through,
}

/// Runs the commands of one project, confined.
pub struct CommandRunner {
    workspace: Arc<Workspace>,
    options: RunnerOptions,
    sandboxes: Mutex<HashMap<SandboxKind, CommandBackend>>,
    /// Why there are no copies on write here, once that is known.
    no_copies: OnceLock<String>,
    tracked: TrackedNow,
    /// A command has filled the memory that there is for changes.
    needs_disk: AtomicBool,
}

/// What a sandbox is for.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
enum SandboxKind {
    Copy,
    Live { writable: Vec<String> },
    Direct,
}

/// A command that ran, or that goes on as a job.
#[derive(Debug)]
pub(crate) struct CommandRun {
    /// The report, without what it changed.
    pub(crate) report: Value,
    /// What it would leave in the project; none if it had no copy.
    pub(crate) taken: Option<Taken>,
}

/// Why a command did not run.
pub(crate) enum NotRun {
    /// There are no copies on write here; it could run on the files themselves.
    NoCopies(String),
    Failed(ToolError),
}

impl NotRun {
    /// The error, for a command that has no other way to run.
    fn into_error(self) -> ToolError {
        match self {
            NotRun::Failed(error) => error,
            NotRun::NoCopies(why) => ToolError::new(ErrorCode::SandboxUnavailable, why),
        }
    }
}

impl From<SandboxError> for NotRun {
    fn from(error: SandboxError) -> Self {
        match error {
            SandboxError::Unavailable { part: SandboxPart::Overlay, .. } => {
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
            let _ = no_copies.set(NOT_CONFINED.to_owned());
        }
        Self {
            workspace,
            options,
            sandboxes,
            no_copies,
            tracked: TrackedNow::default(),
            needs_disk: AtomicBool::new(false),
        }
    }

    /// Why a command that was not approved could change files by itself, if so: one that works on
    /// a copy fails where there are none, but a job is kept from writing by its sandbox alone.
    pub(crate) fn lets_write(&self, spec: &CommandSpec) -> Option<&'static str> {
        let starts_something = !matches!(spec.run, RunMode::Stop(_));
        (self.options.unconfined && spec.project == ProjectMode::Live && starts_something)
            .then_some(NOT_CONFINED)
    }

    /// Why commands cannot work on a copy, if that has been found out.
    pub(crate) fn no_copies(&self) -> Option<&str> {
        self.no_copies.get().map(String::as_str)
    }

    /// Makes a sandbox for commands that work on a copy, if there is none yet.
    pub(crate) fn prepare_copy(&self) {
        let _ = self.backend(SandboxKind::Copy);
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
        // If the caller stops waiting, the command ends too.
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
        let backend = self.backend(kind_of(spec))?;
        let mut live = LiveOutput::new(cx);
        let room = self.room_for(spec);
        let options = RunOptions { cancel: Some(canceller), room, ..RunOptions::default() };
        // What our own git prints is for its tool to read: separators and hashes.
        let is_shown = spec.project != ProjectMode::Live;
        let ran = backend.run(spec, options, |chunk| {
            if is_shown {
                live.show(chunk.stream, chunk.bytes);
            }
        });
        let ran = ran.map_err(|error| self.remembered(error.into()))?;
        if ran.exit == Exit::Cancelled {
            let message = "the command was ended because the call was withdrawn; what it had \
                           changed was thrown away";
            return Err(NotRun::Failed(ToolError::new(ErrorCode::Cancelled, message)));
        }
        let is_full = ran.changed.as_ref().is_some_and(CommandChanges::is_full);
        self.needs_disk.fetch_or(is_full, Ordering::Relaxed);
        let exit = ran.exit;
        let mut report = report(&ran);
        if is_full {
            report["note"] = NO_ROOM.into();
        }
        let taken = ran.changed.map(|changes| {
            let taken = match exit {
                Exit::Limit(LimitKind::Disk) => Err(DISK_FULL.to_owned()),
                exit => self.taken(spec, (changes, exit), cx, begun),
            };
            taken.unwrap_or_else(|why| Taken { refusal: Some(why), ..Taken::default() })
        });
        Ok(CommandRun { report, taken })
    }

    /// Programs that write much are given the disk to write to; so is every command once one has filled
    /// the memory there is.
    fn room_for(&self, spec: &CommandSpec) -> WriteSpace {
        let is_builder = |word: &str| BUILDERS.contains(&word.rsplit('/').next().unwrap_or(word));
        let mut words = spec.argv.iter().flat_map(|text| text.split(|c| !is_in_name(c)));
        match self.needs_disk.load(Ordering::Relaxed) || words.any(is_builder) {
            true => WriteSpace::Disk,
            false => WriteSpace::Memory,
        }
    }

    /// What a command would leave in the project. What is private is kept when this returns, unless it
    /// waits for a decision about the rest.
    fn taken(
        &self,
        spec: &CommandSpec,
        (changes, exit): (CommandChanges, Exit),
        cx: &ToolContext,
        begun: SystemTime,
    ) -> Result<Taken, String> {
        let text = |error: &dyn std::error::Error| error.to_string();
        let mut fates = Fates::new(&self.workspace, &changes, &self.tracked);
        let listed = changes.list(MOST_CHANGES, &mut |path, is_dir| fates.of(path, is_dir));
        let listed = listed.map_err(|error| text(&error))?;
        let (filled, private): (Vec<PathBuf>, Vec<PathBuf>) =
            listed.private.into_iter().partition(|path| self.is_filled(spec, path));
        let names = |paths: &[PathBuf]| -> Vec<String> {
            paths
                .iter()
                .map(|path| bytes_to_text(path.as_os_str().as_bytes()).into_owned())
                .collect()
        };
        let new: Vec<PathBuf> = private.iter().filter(|path| self.is_news(path)).cloned().collect();
        // What was stopped in the middle, or could not install anything, leaves nothing half done in
        // the project.
        let has_ended = matches!(exit, Exit::Code(_));
        let fills = has_ended && (exit == Exit::Code(0) || !spec.network);
        let filled = if fills { filled } else { Vec::new() };
        let mut notes = Vec::new();
        let is_kept = !spec.keep.is_empty();
        let mut taken = match is_kept {
            false => {
                copied::take(&self.workspace, &[(&changes, &listed.changed)], cx.limits(), begun)
            }
            true => {
                // What the call wants to keep is listed as it lies in the private layer.
                changes.keep_private(&private).map_err(|error| text(&error))?;
                let kept = changes.kept().map_err(|error| text(&error))?;
                let wanted = kept.as_ref().map(|kept| self.kept_changes(spec, kept, &mut notes));
                let wanted = wanted.transpose()?;
                let mut found = vec![(&changes, listed.changed.as_slice())];
                found.extend(kept.as_ref().zip(wanted.as_deref()));
                copied::take(&self.workspace, &found, cx.limits(), begun)
            }
        };
        taken.notes.append(&mut notes);
        taken.private = names(&new);
        taken.filled = names(&filled);
        if !has_ended {
            taken = taken.refused("the command was stopped before its end");
        }
        let apart = Apart::new(changes, Output { filled, private, is_kept }, listed.changed);
        match apart.waits() {
            true => taken.apart = Some(apart),
            false => drop(apart.settle(self)?),
        }
        Ok(taken)
    }

    /// Whether ignored files that commands write go into the project. What git holds can be told for
    /// certain only where the project is a repository of its own.
    pub(crate) fn passes_ignored(&self) -> bool {
        self.options.ignored == IgnoredFiles::Through
            && matches!(*self.tracked.get(&self.workspace), Tracked::Files(_))
    }

    /// Keeps what a command wrote to ignored paths if its other changes were applied. Returns whether
    /// that is so.
    pub(crate) async fn settle_apart(
        self: &Arc<Self>,
        apart: Apart,
        cx: &ToolContext,
    ) -> Result<bool, ToolError> {
        let runner = Arc::clone(self);
        let failed = |why| ToolError::new(ErrorCode::Internal, why);
        cx.blocking(move |_| apart.settle(&runner).map_err(failed)).await
    }

    /// Whether what lies at an ignored path goes into the project: the user let this program fill it,
    /// or lets all commands do so.
    fn is_filled(&self, spec: &CommandSpec, path: &std::path::Path) -> bool {
        let is_through = spec.project == ProjectMode::Copy && self.passes_ignored();
        is_through || spec.network && spec.writable.iter().any(|name| path.starts_with(name))
    }

    /// The changes that the private layer holds at the paths that a call wants to keep.
    fn kept_changes(
        &self,
        spec: &CommandSpec,
        kept: &CommandChanges,
        notes: &mut Vec<String>,
    ) -> Result<Vec<Changed>, String> {
        let mut all = Vec::new();
        for path in &spec.keep {
            let path = RelPath::parse(path).map_err(|error| error.to_string())?;
            let listed = kept.list_at(path.as_path(), MOST_CHANGES);
            let listed = listed.map_err(|error| error.to_string())?;
            if listed.is_empty() {
                notes.push(format!("{path} was not kept: commands wrote no ignored files there"));
            }
            all.extend(listed);
        }
        all.sort_by(|a, b| a.path.cmp(&b.path));
        all.dedup_by(|a, b| a.path == b.path);
        Ok(all)
    }

    /// Whether a private path is worth reporting: the model may look for it in the project, where it is
    /// not.
    fn is_news(&self, path: &std::path::Path) -> bool {
        let path = RelPath::from_bytes(path.as_os_str().as_bytes());
        path.is_ok_and(|path| !is_cache_name(&path) && self.workspace.metadata(&path).is_err())
    }

    /// Lets the project show again where the private layer covered it. If a command is running, which
    /// sees the layer, it stays covered.
    pub(crate) fn forget(&self, path: &std::path::Path) {
        if let Some(layer) = &self.options.layer
            && let Ok(layer) = PrivateLayer::open(layer)
        {
            let _ = layer.forget(path);
        }
    }

    /// Runs a program of our own that only reads, and whose output is not shown.
    pub(crate) async fn peek(self: &Arc<Self>, spec: CommandSpec, cx: &ToolContext) -> ToolResult {
        self.peek_through(spec, cx, |_| {}).await
    }

    /// The same where more may be printed than is kept: `take` gets all of the output as it comes.
    pub(crate) async fn peek_through(
        self: &Arc<Self>,
        spec: CommandSpec,
        cx: &ToolContext,
        take: impl FnMut(OutputChunk<'_>) + Send + 'static,
    ) -> ToolResult {
        let runner = Arc::clone(self);
        cx.blocking(move |_| {
            let backend = runner.backend(kind_of(&spec)).map_err(NotRun::into_error)?;
            let ran = backend.run(&spec, RunOptions::default(), take)?;
            Ok(report(&ran))
        })
        .await
    }

    fn start_job(&self, spec: &CommandSpec, cx: &ToolContext) -> Result<CommandRun, ToolError> {
        let backend = self.backend(kind_of(spec)).map_err(NotRun::into_error)?;
        let job = cx.jobs().start(backend, spec.clone(), cx.limits().jobs)?;
        let mut report = json!({"job": job, "running": true});
        if self.options.unconfined {
            report["message"] = "It is NOT CONFINED.".into();
        }
        Ok(CommandRun { report, taken: None })
    }

    /// A sandbox of this kind.
    fn backend(&self, kind: SandboxKind) -> Result<CommandBackend, NotRun> {
        if kind == SandboxKind::Copy
            && let Some(why) = self.no_copies()
        {
            return Err(NotRun::NoCopies(why.to_owned()));
        }
        let mut sandboxes = locked(&self.sandboxes);
        if let Some(backend) = sandboxes.get(&kind) {
            return Ok(backend.clone());
        }
        let backend = self.prepare(&kind)?;
        sandboxes.insert(kind, backend.clone());
        Ok(backend)
    }

    fn prepare(&self, kind: &SandboxKind) -> Result<CommandBackend, SandboxError> {
        let mut profile = self.options.profile.clone();
        profile.project = match kind {
            SandboxKind::Copy => {
                ProjectAccess::Copy(Copy { layer: self.options.layer.clone(), ..Copy::default() })
            }
            SandboxKind::Live { writable } => {
                let is_open =
                    |path: &PathBuf| writable.iter().any(|name| path.as_os_str() == &**name);
                if profile.protected.iter().any(is_open) {
                    profile.protected.retain(|path| !is_open(path));
                    profile.protected.extend(OBEYED_BY_GIT.map(PathBuf::from));
                }
                ProjectAccess::Live { writable: writable.iter().map(PathBuf::from).collect() }
            }
            SandboxKind::Direct => {
                profile.protected.extend(OBEYED.map(PathBuf::from));
                ProjectAccess::Direct
            }
        };
        Ok(match self.options.unconfined {
            true => CommandBackend::Unconfined(Arc::new(Unconfined::new(profile)?)),
            false => {
                let launcher = self.options.launcher.clone();
                CommandBackend::Sandbox(Arc::new(Sandbox::new(profile, launcher)?))
            }
        })
    }

    fn remembered(&self, not_run: NotRun) -> NotRun {
        if let NotRun::NoCopies(why) = &not_run {
            let _ = self.no_copies.set(why.clone());
        }
        not_run
    }
}

fn kind_of(spec: &CommandSpec) -> SandboxKind {
    match spec.project {
        ProjectMode::Copy | ProjectMode::Look => SandboxKind::Copy,
        ProjectMode::Live => SandboxKind::Live { writable: spec.writable.clone() },
        ProjectMode::Direct => SandboxKind::Direct,
    }
}

fn is_in_name(c: char) -> bool {
    c.is_ascii_alphanumeric() || "-_./+".contains(c)
}

struct CancelOnDrop(Canceller);

impl Drop for CancelOnDrop {
    fn drop(&mut self) {
        self.0.cancel();
    }
}
