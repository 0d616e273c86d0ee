//! What the hidden entry point is told to do, and what it answers. Plain data; the descriptors that
//! belong to it travel beside it.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use crate::profile::ProjectAccess;

/// Everything that the hidden entry point needs to know to run one command.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct RunPlan {
    /// Absolute, inside.
    pub(crate) working_dir: PathBuf,
    pub(crate) argv: Vec<String>,
    /// Programs to run before, each to its end.
    #[serde(default)]
    pub(crate) first: Vec<Vec<String>>,
    pub(crate) env: Vec<(String, String)>,
    pub(crate) cpu_seconds: u64,
}

/// The first thing that a helper is told. With it come descriptors: the [`Setting`] in a file, the
/// project, and the table of owners if there is one.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Settle {
    /// Files of control groups that the first process has to join. The helper is put into them.
    pub(crate) join: Vec<PathBuf>,
    pub(crate) has_owners: bool,
}

/// What a helper has to know of an order. With it come descriptors: for the answers, the two outputs,
/// the input if there is one, and the [`RunPlan`] in a file if it is not in here.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct OrderHead {
    /// The program may use the network, by a proxy.
    pub(crate) network: bool,
    pub(crate) has_stdin: bool,
    /// The directory of this run in the private layer, if there is one.
    pub(crate) space: Option<String>,
    /// Present unless it is too long for a message.
    pub(crate) plan: Option<RunPlan>,
}

/// What is the same for all commands of a sandbox.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Setting {
    pub(crate) identity: Identity,
    pub(crate) steps: Vec<RootStep>,
    pub(crate) project: ProjectPlan,
    pub(crate) limits: RunLimits,
    pub(crate) home: PathBuf,
}

/// Who the command is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Identity {
    pub(crate) uid: u32,
    pub(crate) gid: u32,
    /// We are root and become this user; otherwise we are it already.
    pub(crate) switch: bool,
    /// Files of root in the project shall look like the user's own.
    pub(crate) map_project: bool,
}

/// One step in building the root. Paths are absolute, inside.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum RootStep {
    Link {
        path: PathBuf,
        target: PathBuf,
    },
    /// A file with this text.
    File {
        path: PathBuf,
        text: String,
    },
    /// Something of the host, read-only.
    Bind {
        path: PathBuf,
        source: PathBuf,
        /// Files of root shall look like the command's own.
        mapped: bool,
    },
    Device {
        path: PathBuf,
    },
    /// A private writable directory.
    Scratch {
        path: PathBuf,
        mode: u32,
    },
    /// A directory of the host under a private writable layer.
    Layer {
        path: PathBuf,
        source: PathBuf,
    },
    /// A `/proc` with the processes of the sandbox only.
    Proc {
        path: PathBuf,
    },
}

#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct ProjectPlan {
    pub(crate) path: PathBuf,
    /// Relative to the root.
    pub(crate) protected: Vec<PathBuf>,
    pub(crate) access: ProjectAccess,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct RunLimits {
    pub(crate) processes: u64,
    pub(crate) file_bytes: u64,
    pub(crate) descriptors: u64,
    pub(crate) scratch_bytes: u64,
    /// The most that one process may have; absent where a control group limits all together.
    pub(crate) process_memory_bytes: Option<u64>,
}

/// What the hidden entry point tells.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Report {
    /// There is a first process; its descriptor comes with this.
    Begun,
    /// The socket at which the command finds its proxy comes with this.
    Listening,
    /// The command is confined. With it comes, for a copy, the directory with the changes.
    Ready {
        /// The version of Landlock's interface, 0 if it is not there.
        landlock: u32,
        /// The changes are kept in memory.
        in_memory: bool,
        /// Sockets with a path can be used.
        unix_sockets: bool,
    },
    /// A part of the sandbox could not be built.
    Failed {
        part: SandboxPart,
        /// What was tried.
        doing: String,
        /// The error of the system.
        errno: Option<i32>,
    },
    /// The program could not be started.
    NotStarted { errno: Option<i32> },
    /// The program ended.
    Ended {
        code: Option<i32>,
        signal: Option<i32>,
        /// It left nothing running.
        alone: bool,
    },
}

/// A part of the sandbox, for messages that say what is missing.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize, strum::Display,
)]
#[serde(rename_all = "snake_case")]
pub enum SandboxPart {
    /// The helper process.
    #[strum(to_string = "a helper process")]
    Launch,
    #[strum(to_string = "user namespaces")]
    UserNamespace,
    /// Mount, process, network and the other namespaces.
    #[strum(to_string = "namespaces")]
    Namespaces,
    /// A root directory of its own.
    #[strum(to_string = "a root of its own")]
    Root,
    /// A private `/proc`.
    #[strum(to_string = "a private /proc")]
    Proc,
    /// Files of root that look like an unprivileged user's.
    #[strum(to_string = "mapped owners")]
    IdMapping,
    /// The project as a copy on write.
    #[strum(to_string = "copies on write")]
    Overlay,
    /// Becoming an unprivileged user without capabilities.
    #[strum(to_string = "an unprivileged user")]
    Privileges,
    /// Limits on processes, memory, files.
    #[strum(to_string = "limits")]
    Limits,
    /// The filter for system calls.
    #[strum(to_string = "a filter for system calls")]
    Seccomp,
    /// Landlock, a second restriction on files.
    #[strum(to_string = "Landlock")]
    Landlock,
    /// Limits for all processes of a command together.
    #[strum(to_string = "control groups")]
    ControlGroup,
}
