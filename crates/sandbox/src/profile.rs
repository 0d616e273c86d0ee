//! What commands may see and use: the rules that hold for every command of a project.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::network::NetworkRules;
use crate::repository;
use crate::toolchains::Toolchains;

/// The unit of the bounds below.
const MIB: u64 = 1 << 20;

/// The rules for all commands of one project.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Profile {
    /// The project, which keeps its absolute path inside.
    pub root: PathBuf,
    /// Where the private, empty home directory lies inside. It should be the path of the user's own
    /// home, because toolchains remember it; nothing of that directory is visible unless named in
    /// `visible`.
    pub home: PathBuf,
    /// Where programs are looked for, besides the directories of the system.
    #[serde(default)]
    pub path: Vec<PathBuf>,
    /// Directories besides the system's and the project.
    #[serde(default)]
    pub visible: Vec<Visible>,
    /// Variables for every command. The environment is otherwise built from nothing.
    #[serde(default)]
    pub env: BTreeMap<String, String>,
    /// Names in the project that commands can read and not change, where they exist.
    pub protected: Vec<PathBuf>,
    /// How a command sees the project.
    pub project: ProjectAccess,
    /// How much a command may use.
    pub limits: CommandLimits,
    /// What commands that may use the network can reach.
    #[serde(default)]
    pub network: NetworkRules,
}

impl Profile {
    /// The default rules for a project: commands work on a copy of it, and nothing else is visible but
    /// the system.
    pub fn new(root: impl Into<PathBuf>, home: impl Into<PathBuf>) -> Profile {
        Profile {
            root: root.into(),
            home: home.into(),
            path: Vec::new(),
            visible: Vec::new(),
            env: BTreeMap::new(),
            protected: PROTECTED.map(PathBuf::from).into(),
            project: ProjectAccess::Copy(Copy::default()),
            limits: CommandLimits::default(),
            network: NetworkRules::default(),
        }
    }

    /// Makes toolchains of the user visible.
    #[must_use]
    pub fn with_toolchains(mut self, toolchains: Toolchains) -> Profile {
        self.path.extend(toolchains.path);
        self.visible.extend(toolchains.visible);
        self.env.extend(toolchains.env);
        self
    }

    /// Makes the repository visible, to read only, if the project is one of its linked worktrees.
    #[must_use]
    pub fn with_repository(mut self) -> Profile {
        let shown = |path| Visible { path, access: Access::Read };
        self.visible.extend(repository::of_worktree(&self.root).map(shown));
        self
    }
}

/// A directory outside the project that commands may see.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Visible {
    /// The directory or file; it has the same path inside.
    pub path: PathBuf,
    /// What may be done there.
    pub access: Access,
}

/// What a command may do in a visible directory.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Access {
    /// Only read.
    Read,
    /// Write into a private layer that is thrown away with the command.
    Layer,
    /// Write into it as into a private layer, but nothing of it is there except what is shown within.
    Empty,
}

/// What no command changes, not even in a copy: the repository, which would make git run programs, and
/// our own settings.
const PROTECTED: [&str; 2] = [".git", ".toolkiln"];

/// How a command sees the project.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ProjectAccess {
    /// It changes a copy on write; what it changed is in [`crate::Ran::changed`].
    Copy(Copy),
    /// It sees the project itself, as it is at each moment, and cannot write there.
    Live {
        /// Paths, relative to the root, that it can write all the same. Only for programs of our own.
        #[serde(default)]
        writable: Vec<PathBuf>,
    },
    /// It changes the files themselves. Only where there are no copies, and the user agreed to that.
    Direct,
}

/// A copy on write of the project.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Copy {
    /// The directory of the project's private layer: what commands wrote to ignored paths is seen by
    /// the next ones. Commands that reach the network see none of it.
    #[serde(default)]
    pub layer: Option<PathBuf>,
    /// How many bytes of changes are kept where they have to be kept in memory.
    pub max_bytes: u64,
}

impl Default for Copy {
    fn default() -> Copy {
        Copy { layer: None, max_bytes: 1024 * MIB }
    }
}

/// How much a command may use, its children included where it says so.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct CommandLimits {
    /// Memory: of all its processes together where control groups can be used, otherwise of each.
    pub memory_bytes: u64,
    /// Processes and threads, all together.
    pub processes: u64,
    /// Size of each file written.
    pub file_bytes: u64,
    /// Open descriptors of each process.
    pub descriptors: u64,
    /// Space for private files: `/tmp`, the home directory and private layers together.
    pub scratch_bytes: u64,
    /// How many bytes of each output stream are kept.
    pub output_bytes: usize,
    /// How long output is still read from processes that outlive the command.
    pub grace: Duration,
}

impl Default for CommandLimits {
    fn default() -> CommandLimits {
        CommandLimits {
            memory_bytes: 4 * 1024 * MIB,
            processes: 512,
            file_bytes: 1024 * MIB,
            descriptors: 1024,
            scratch_bytes: 1024 * MIB,
            output_bytes: 8 << 20,
            grace: Duration::from_millis(200),
        }
    }
}
