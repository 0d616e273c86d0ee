//! What this system can do, found out by doing it.

use std::collections::BTreeMap;
use std::path::Path;

use protocol::CommandSpec;
use serde::{Deserialize, Serialize};

use crate::error::SandboxError;
use crate::launcher::Launcher;
use crate::plan::SandboxPart;
use crate::profile::{Copy, Profile, ProjectAccess};
use crate::ran::LevelReport;
use crate::sandbox::{RunOptions, Sandbox};

/// A program that does nothing takes milliseconds; this is for a machine that is very busy.
const PROBE_TIMEOUT_MS: u64 = 10_000;

/// What commands can be confined with here.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Probe {
    /// Commands can be confined. If not, none is run.
    pub available: bool,
    /// What confines a command that works on the project itself.
    pub level: Option<LevelReport>,
    /// The parts that were reached, in the order in which they are needed.
    pub findings: Vec<ProbeFinding>,
}

/// Whether one part works.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ProbeFinding {
    pub part: SandboxPart,
    /// Without it no command is run; without any other, less is possible.
    pub required: bool,
    /// Why it does not work; absent if it does.
    pub problem: Option<Problem>,
}

/// Why a part does not work.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Problem {
    /// What the system said.
    pub why: String,
    /// What can be done about it.
    pub fix: String,
}

/// The parts in the order in which they are needed.
const PARTS: [SandboxPart; 12] = [
    SandboxPart::Launch,
    SandboxPart::UserNamespace,
    SandboxPart::Namespaces,
    SandboxPart::Root,
    SandboxPart::Proc,
    SandboxPart::IdMapping,
    SandboxPart::Privileges,
    SandboxPart::Limits,
    SandboxPart::Seccomp,
    SandboxPart::Landlock,
    SandboxPart::ControlGroup,
    SandboxPart::Overlay,
];

const OPTIONAL: [SandboxPart; 3] =
    [SandboxPart::Landlock, SandboxPart::ControlGroup, SandboxPart::Overlay];

/// Finds out what works by running a command that does nothing, on the project as it is and on a copy
/// of it. The project is not changed.
pub fn probe(root: &Path, home: &Path, launcher: &Launcher) -> Probe {
    let mut profile = Profile::new(root, home);
    profile.protected.clear();
    profile.project = ProjectAccess::Live { writable: Vec::new() };
    let (live, groups) = attempt(&profile, launcher);
    profile.project = ProjectAccess::Copy(Copy::default());
    let copy = live.as_ref().ok().map(|_| attempt(&profile, launcher).0);
    judge(live, copy, groups)
}

type Attempt = Result<LevelReport, (SandboxPart, String)>;

fn attempt(profile: &Profile, launcher: &Launcher) -> (Attempt, Option<String>) {
    let sandbox = match Sandbox::new(profile.clone(), launcher.clone()) {
        Ok(sandbox) => sandbox,
        Err(error) => return (Err(failed(error)), None),
    };
    let spec = CommandSpec {
        argv: vec!["true".to_owned()],
        working_dir: ".".to_owned(),
        env: BTreeMap::new(),
        stdin: None,
        timeout_ms: PROBE_TIMEOUT_MS,
        network: false,
        ..CommandSpec::default()
    };
    let ran = sandbox.run(&spec, RunOptions::default(), |_| {});
    (ran.map(|ran| ran.level).map_err(failed), sandbox.helpers.no_groups().map(str::to_owned))
}

fn failed(error: SandboxError) -> (SandboxPart, String) {
    match error {
        SandboxError::Unavailable { part, doing, why, .. } => (part, format!("{doing}: {why}")),
        other => (SandboxPart::Launch, other.to_string()),
    }
}

fn judge(live: Attempt, copy: Option<Attempt>, no_groups: Option<String>) -> Probe {
    let mut problems: BTreeMap<SandboxPart, String> = BTreeMap::new();
    let level = match live {
        Ok(level) => {
            if level.landlock.is_none() {
                problems.insert(SandboxPart::Landlock, "the kernel does not offer it".to_owned());
            }
            Some(level)
        }
        Err((part, why)) => {
            problems.insert(part, why);
            None
        }
    };
    problems.extend(no_groups.map(|why| (SandboxPart::ControlGroup, why)));
    let level = match copy {
        // The usual way to run.
        Some(Ok(usual)) => Some(usual),
        Some(Err((_, why))) => {
            problems.insert(SandboxPart::Overlay, why);
            level
        }
        None => level,
    };
    let available = level.is_some();
    let reached = PARTS.iter().position(|part| !available && problems.contains_key(part));
    let reached = reached.map_or(PARTS.len(), |last| last + 1);
    let findings = PARTS[..reached].iter().map(|part| ProbeFinding {
        part: *part,
        required: !OPTIONAL.contains(part),
        problem: problems.get(part).map(|why| Problem { why: why.clone(), fix: part.fix().into() }),
    });
    Probe { available, level, findings: findings.collect() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ran::{MemoryScope, NetworkLevel, ProjectLevel};

    fn level(landlock: Option<u32>) -> LevelReport {
        LevelReport {
            landlock,
            network: NetworkLevel::None,
            unix_sockets: true,
            memory: MemoryScope::Process,
            uid: 1000,
            project: ProjectLevel::Live,
            unconfined: false,
        }
    }

    fn problems(probe: &Probe) -> Vec<(SandboxPart, &str)> {
        let mut found = Vec::new();
        for finding in &probe.findings {
            found.extend(finding.problem.iter().map(|problem| (finding.part, &*problem.why)));
        }
        found
    }

    #[test]
    fn what_is_missing_ends_the_list_and_is_explained() {
        let probe = judge(Err((SandboxPart::Proc, "mounting /proc: no".into())), None, None);
        assert!(!probe.available);
        assert_eq!(problems(&probe), [(SandboxPart::Proc, "mounting /proc: no")]);
        let last = probe.findings.last().expect("it was reached");
        assert_eq!((last.part, last.required), (SandboxPart::Proc, true));
        assert!(last.problem.as_ref().is_some_and(|problem| problem.fix.contains("systempaths")));
    }

    #[test]
    fn what_is_only_less_is_told_too() {
        let overlay = Some(Err((SandboxPart::Overlay, "no".to_owned())));
        let probe = judge(Ok(level(None)), overlay, Some("none".into()));
        assert!(probe.available);
        assert_eq!(probe.findings.len(), PARTS.len());
        let expected = [
            (SandboxPart::Landlock, "the kernel does not offer it"),
            (SandboxPart::ControlGroup, "none"),
            (SandboxPart::Overlay, "no"),
        ];
        assert_eq!(problems(&probe), expected);
    }
}
