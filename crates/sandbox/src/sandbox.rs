//! A sandbox for the commands of one project: what can be prepared once, is.

use std::os::fd::OwnedFd;
use std::path::{Component, Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use net::{NameResolver, SystemResolver};
use protocol::CommandSpec;
use rustix::fs::{Mode, OFlags};

use crate::cgroup::Groups;
use crate::environment;
use crate::error::{SandboxError, io};
use crate::helper_pool::{Helper, Helpers, Supply};
use crate::launcher::Launcher;
use crate::layer::{PrivateLayer, WriteSpace};
use crate::leftovers;
use crate::output::OutputChunk;
use crate::owners::Owners;
use crate::plan::{Identity, ProjectPlan, RunLimits, RunPlan, Setting};
use crate::profile::{Copy, Profile, ProjectAccess};
use crate::ran::{NetworkLevel, Ran};
use crate::run::{self, ConfinedRun};
use crate::view::{self, RealHost};

/// The id of an unprivileged user and its group, who run the commands of root when root
/// owns the project.
const UNPRIVILEGED_ID: u32 = 65534;

/// Confines commands of one project. May be used by many threads at once.
#[derive(Debug)]
pub struct Sandbox {
    pub(crate) profile: Profile,
    pub(crate) root: OwnedFd,
    pub(crate) helpers: Helpers,
    pub(crate) identity: Identity,
    pub(crate) layer: Option<Arc<PrivateLayer>>,
    /// The private layer lies where no copy on write can be written.
    pub(crate) writes_to_memory: AtomicBool,
    pub(crate) resolver: Arc<dyn NameResolver>,
    /// Counted once: it means to read several files.
    processors: u64,
}

/// What a caller may give to one run besides the command.
#[derive(Debug, Default)]
pub struct RunOptions<'a> {
    /// Ends the command early.
    pub cancel: Option<&'a crate::Canceller>,
    /// The standard input, instead of the text in the command.
    pub stdin: Option<OwnedFd>,
    /// Where a command on a copy writes.
    pub room: WriteSpace,
}

impl Sandbox {
    /// Prepares a sandbox and starts its first helper.
    pub fn new(mut profile: Profile, launcher: Launcher) -> Result<Sandbox, SandboxError> {
        profile.root = checked_root(&profile)?;
        let certificates = profile.network.certificates.take();
        profile.network.certificates = certificates.filter(|file| file.is_file());
        let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let root = rustix::fs::open(&profile.root, flags, Mode::empty())
            .map_err(|errno| io("opening the project")(errno.into()))?;
        leftovers::remove(&root);
        let identity = identity(&root)?;
        let layer = match &profile.project {
            ProjectAccess::Copy(Copy { layer: Some(path), .. }) => {
                let layer = PrivateLayer::of(path, identity);
                Some(Arc::new(layer.map_err(io("opening the private layer"))?))
            }
            _ => None,
        };
        let groups = Groups::find(&profile.limits);
        // The first command shall not wait for it. It starts while the rest is made.
        let helper = Helper::launch(&launcher, groups.as_ref().ok(), &profile.limits)?;
        let owners = match identity.switch {
            true => Some(Owners::make(&launcher, identity)?),
            false => None,
        };
        let setting = setting(&profile, identity, groups.is_ok());
        let project = root.try_clone().map_err(io("keeping the project"))?;
        let limits = profile.limits.clone();
        let helpers = Helpers::new(Supply { launcher, groups, owners, project, limits }, &setting)?;
        helpers.prepare(helper)?;
        let processors = std::thread::available_parallelism().map_or(1, |count| count.get() as u64);
        Ok(Sandbox {
            profile,
            root,
            helpers,
            identity,
            layer,
            writes_to_memory: AtomicBool::new(false),
            resolver: Arc::new(SystemResolver),
            processors,
        })
    }

    /// Resolves the names that commands ask for otherwise than the system does.
    #[must_use]
    pub fn with_resolver(self, resolver: Arc<dyn NameResolver>) -> Sandbox {
        Sandbox { resolver, ..self }
    }

    /// Runs a command until it has ended and its output is read, the time is over, or it is cancelled.
    /// Blocks; `on_output` is called with the output as it comes.
    ///
    /// However it ends, nothing that the command started is left.
    pub fn run(
        &self,
        spec: &CommandSpec,
        options: RunOptions<'_>,
        on_output: impl FnMut(OutputChunk<'_>),
    ) -> Result<Ran, SandboxError> {
        let plan = self.plan(spec)?;
        run::run(ConfinedRun { sandbox: self, spec, plan, options }, on_output)
    }

    /// The private layer of the project, if commands have one.
    pub fn layer(&self) -> Option<&Arc<PrivateLayer>> {
        self.layer.as_ref()
    }

    /// The rules that hold here.
    pub fn profile(&self) -> &Profile {
        &self.profile
    }

    fn plan(&self, spec: &CommandSpec) -> Result<RunPlan, SandboxError> {
        let is_usable = |argv: &Vec<String>| {
            argv.first().is_some_and(|program| !program.is_empty())
                && !argv.iter().any(|argument| argument.contains('\0'))
        };
        if ![&spec.argv].into_iter().chain(&spec.first).all(is_usable) {
            return Err(SandboxError::Command);
        }
        Ok(RunPlan {
            working_dir: checked_working_dir(&self.profile, &spec.working_dir)?,
            argv: spec.argv.clone(),
            first: spec.first.clone(),
            env: environment::build(&self.profile, spec, network_level(spec))?,
            cpu_seconds: cpu_seconds(spec.timeout_ms, self.processors),
        })
    }
}

/// What a confined command reaches.
pub(crate) fn network_level(spec: &CommandSpec) -> NetworkLevel {
    if spec.network { NetworkLevel::Proxied } else { NetworkLevel::None }
}

/// A directory of the project by its path from the root.
pub(crate) fn checked_working_dir(profile: &Profile, path: &str) -> Result<PathBuf, SandboxError> {
    let refuse = |why| SandboxError::WorkingDir { path: path.to_owned(), why };
    let relative = Path::new(path);
    let stays =
        relative.components().all(|part| matches!(part, Component::Normal(_) | Component::CurDir));
    if !stays || path.contains('\0') {
        return Err(refuse("does not lie in the project"));
    }
    let inside = profile.root.join(relative);
    if !inside.is_dir() {
        return Err(refuse("is not a directory of the project"));
    }
    Ok(inside)
}

pub(crate) fn checked_root(profile: &Profile) -> Result<PathBuf, SandboxError> {
    let refuse = |why| SandboxError::Project { path: profile.root.clone(), why };
    let root = profile.root.canonicalize().map_err(|_| refuse("it is not there"))?;
    if view::is_reserved(&root) {
        return Err(refuse("it belongs to the system"));
    }
    let home = profile.home.canonicalize().unwrap_or_else(|_| profile.home.clone());
    if !profile.home.is_absolute() || view::is_of_the_system(&profile.home) {
        return Err(refuse("no usable home directory was named"));
    }
    if home.starts_with(&root) {
        return Err(refuse("it holds the home directory, with keys and passwords"));
    }
    Ok(root)
}

/// An ordinary user keeps its identity. Root becomes the owner of the project, or an unprivileged
/// user.
fn identity(root: &OwnedFd) -> Result<Identity, SandboxError> {
    let (uid, gid) = (rustix::process::geteuid().as_raw(), rustix::process::getegid().as_raw());
    if uid != 0 {
        return Ok(Identity { uid, gid, switch: false, map_project: false });
    }
    let stat =
        rustix::fs::fstat(root).map_err(|errno| io("looking at the project")(errno.into()))?;
    let map_project = stat.st_uid == 0;
    let (uid, gid) =
        if map_project { (UNPRIVILEGED_ID, UNPRIVILEGED_ID) } else { (stat.st_uid, stat.st_gid) };
    Ok(Identity { uid, gid, switch: true, map_project })
}

fn setting(profile: &Profile, identity: Identity, has_groups: bool) -> Setting {
    let limits = &profile.limits;
    Setting {
        identity,
        steps: view::steps(profile, identity, &RealHost),
        project: ProjectPlan {
            path: profile.root.clone(),
            protected: profile.protected.clone(),
            access: profile.project.clone(),
        },
        limits: RunLimits {
            processes: limits.processes.saturating_add(1),
            file_bytes: limits.file_bytes,
            descriptors: limits.descriptors,
            scratch_bytes: limits.scratch_bytes,
            process_memory_bytes: (!has_groups).then_some(limits.memory_bytes),
        },
        home: profile.home.clone(),
    }
}

/// A process may keep every processor busy for the whole time, and not longer.
fn cpu_seconds(timeout_ms: u64, processors: u64) -> u64 {
    timeout_ms.div_ceil(1000).saturating_mul(processors.max(2))
}
