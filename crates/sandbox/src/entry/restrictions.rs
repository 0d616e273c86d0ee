//! Resource limits, and Landlock as a second restriction on files.

use std::os::fd::OwnedFd;
use std::path::Path;

use landlock::{
    ABI, Access as _, AccessFs, LandlockStatus, Ruleset, RulesetAttr as _, RulesetCreated,
    RulesetCreatedAttr as _, RulesetError, Scope, path_beneath_rules,
};
use rustix::fs::{Mode, OFlags};
use rustix::process::{Resource, Rlimit};

use super::error::{During as _, EntryError};
use crate::plan::{RunPlan, SandboxPart, Setting};
use crate::profile::ProjectAccess;

/// The newest interface whose rights are asked for; an older kernel gives what it has.
const RIGHTS: ABI = ABI::V6;

/// Sets the limits of the first process, which all others inherit.
pub(super) fn limit(setting: &Setting, plan: &RunPlan) -> Result<(), EntryError> {
    let limits = &setting.limits;
    set(Resource::Nproc, limits.processes, 0)?;
    set(Resource::Fsize, limits.file_bytes, 0)?;
    set(Resource::Nofile, limits.descriptors, 0)?;
    set(Resource::Core, 0, 0)?;
    // The kernel kills one second after the warning.
    set(Resource::Cpu, plan.cpu_seconds, 1)?;
    if let Some(bytes) = limits.process_memory_bytes {
        // Not the address space: many runtimes reserve far more of it than they ever use.
        set(Resource::Data, bytes, 0)?;
    }
    Ok(())
}

/// If the memory of the whole machine runs out, the kernel ends commands before anything else. A
/// confined process cannot write this file. `process` is our own directory in `/proc`.
pub(super) fn raise_oom_score(process: &OwnedFd) {
    let flags = OFlags::WRONLY | OFlags::CLOEXEC;
    let opened = rustix::fs::openat(process, "oom_score_adj", flags, Mode::empty());
    // Where the system refuses this, the limits still hold.
    let _ = opened.and_then(|file| rustix::io::write(file, b"1000"));
}

fn set(resource: Resource, most: u64, slack: u64) -> Result<(), EntryError> {
    let outer = rustix::process::getrlimit(resource).maximum;
    let within = |value: u64| Some(outer.map_or(value, |outer| value.min(outer)));
    let limit = Rlimit { current: within(most), maximum: within(most.saturating_add(slack)) };
    rustix::process::setrlimit(resource, limit)
        .during(SandboxPart::Limits, format!("setting the limit {resource:?}"))
}

/// Landlock rules that are not in force yet: writing is restricted to where it is meant, and
/// signals and abstract sockets to the inside.
pub(super) struct LandlockRules(RulesetCreated);

impl LandlockRules {
    /// Those that hold for every command.
    pub(super) fn make(setting: &Setting) -> Result<LandlockRules, EntryError> {
        let writable = [Path::new("/tmp"), Path::new("/dev"), &setting.home];
        let make = || {
            Ruleset::default()
                .handle_access(AccessFs::from_all(RIGHTS))?
                .scope(Scope::from_all(RIGHTS))?
                .create()?
                .add_rules(path_beneath_rules(["/"], AccessFs::from_read(RIGHTS)))?
                .add_rules(path_beneath_rules(writable, AccessFs::from_all(RIGHTS)))
        };
        make().map(LandlockRules).map_err(refused)
    }

    /// Adds what a command may write in the project, once it is in its place.
    pub(super) fn allow_project(self, setting: &Setting) -> Result<LandlockRules, EntryError> {
        let root = &setting.project.path;
        let writable = match &setting.project.access {
            ProjectAccess::Copy(_) | ProjectAccess::Direct => vec![root.clone()],
            ProjectAccess::Live { writable } => {
                writable.iter().map(|path| root.join(path)).collect()
            }
        };
        let rules = path_beneath_rules(&writable, AccessFs::from_all(RIGHTS));
        self.0.add_rules(rules).map(LandlockRules).map_err(refused)
    }

    /// Puts the rules in force. Returns which version of the interface is in force, 0 for none.
    pub(super) fn enforce(self) -> Result<u32, EntryError> {
        let status = self.0.restrict_self().map_err(refused)?;
        Ok(match status.landlock {
            LandlockStatus::Available { effective_abi, .. } => effective_abi as u32,
            LandlockStatus::NotEnabled | LandlockStatus::NotImplemented => 0,
        })
    }
}

fn refused(error: RulesetError) -> EntryError {
    EntryError::new(SandboxPart::Landlock, format!("Landlock: {error}"), None)
}
