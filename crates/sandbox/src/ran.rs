//! The result of a command.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::changes::CommandChanges;
use crate::network::RefusedConnection;
use crate::output::KeptOutput;

/// A command that ran.
#[derive(Debug)]
pub struct Ran {
    /// How it ended.
    pub exit: Exit,
    /// Its standard output.
    pub stdout: KeptOutput,
    /// Its standard error.
    pub stderr: KeptOutput,
    /// From the call to the end of the command.
    pub duration: Duration,
    /// How many of its processes were killed because memory ran out, where that is known.
    pub memory_kills: u64,
    /// Processes that outlived the command kept its output open beyond the grace period.
    pub left_behind: bool,
    /// Connections that the proxy refused it, the first few.
    pub refused_connections: Vec<RefusedConnection>,
    /// What it changed, if it worked on a copy of the project.
    pub changed: Option<CommandChanges>,
    /// What confined it.
    pub level: LevelReport,
}

/// How a command ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Exit {
    Code(i32),
    Signal(i32),
    /// It took too long.
    Timeout,
    /// The caller cancelled it.
    Cancelled,
    /// It used more than it may.
    Limit(LimitKind),
}

/// Which limit ended a command.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum LimitKind {
    /// Processor time.
    Cpu,
    FileSize,
    Memory,
    /// Space on the disk.
    Disk,
}

/// What confined a command.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LevelReport {
    /// The version of Landlock's interface, a second restriction on files; absent where the kernel has
    /// none.
    pub landlock: Option<u32>,
    /// What of the network it could reach.
    pub network: NetworkLevel,
    /// Sockets with a path could be used. Not where directories of the host are visible as they
    /// are: processes that listen there must not be reachable.
    pub unix_sockets: bool,
    /// Whose memory is limited.
    pub memory: MemoryScope,
    /// The user that the command ran as, as the host sees it.
    pub uid: u32,
    /// How the command saw the project.
    pub project: ProjectLevel,
    /// Nothing confined it; the operator wanted it so.
    #[serde(default)]
    pub unconfined: bool,
}

/// How a command saw the project.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ProjectLevel {
    /// A copy on write.
    Copy,
    /// The project itself, read-only.
    Live,
    /// The files themselves.
    Direct,
}

/// What of the network a command could reach.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum NetworkLevel {
    /// Only itself.
    None,
    /// What the proxy let it reach.
    Proxied,
    /// What this machine can; nothing confined it.
    Open,
}

/// Whose memory a limit is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum MemoryScope {
    /// All processes of the command together.
    Tree,
    Process,
}

impl LevelReport {
    /// One line for users.
    pub fn summary(&self) -> String {
        if self.unconfined {
            return format!("NOT CONFINED, network open, project direct, uid {}", self.uid);
        }
        let landlock = match self.landlock {
            Some(version) => format!("Landlock {version}"),
            None => "no Landlock".to_owned(),
        };
        let network = match self.network {
            NetworkLevel::None => "no network",
            NetworkLevel::Proxied => "network proxied",
            NetworkLevel::Open => "network open",
        };
        let memory = match self.memory {
            MemoryScope::Tree => "memory limit for all processes together",
            MemoryScope::Process => "memory limit per process",
        };
        let project = match self.project {
            ProjectLevel::Copy => "project copied on write",
            ProjectLevel::Live => "project read-only",
            ProjectLevel::Direct => "project direct",
        };
        let sockets = if self.unix_sockets { "" } else { "no unix sockets, " };
        format!(
            "namespaces, seccomp, {landlock}, {network}, {sockets}{memory}, {project}, uid {}",
            self.uid
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_level_is_told_in_one_line() {
        let mut level = LevelReport {
            landlock: Some(7),
            network: NetworkLevel::None,
            unix_sockets: true,
            memory: MemoryScope::Tree,
            uid: 1000,
            project: ProjectLevel::Copy,
            unconfined: false,
        };
        insta::assert_snapshot!(level.summary(), @"namespaces, seccomp, Landlock 7, no network, memory limit for all processes together, project copied on write, uid 1000");
        let (network, project) = (NetworkLevel::Proxied, ProjectLevel::Live);
        level = LevelReport { landlock: None, network, unix_sockets: false, project, ..level };
        level.memory = MemoryScope::Process;
        insta::assert_snapshot!(level.summary(), @"namespaces, seccomp, no Landlock, network proxied, no unix sockets, memory limit per process, project read-only, uid 1000");
        level.unconfined = true;
        insta::assert_snapshot!(level.summary(), @"NOT CONFINED, network open, project direct, uid 1000");
    }
}
