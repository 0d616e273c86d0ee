//! What commands may see and use: the rules that hold for every command of a project.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::repository;
use crate::toolchains::Toolchains;

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
    /// Names in the project that stay as they are, whether they exist or not.
    pub protected: Vec<Protected>,
    /// How a command meets the project.
    pub project: ProjectAccess,
    /// How much a command may use.
    pub limits: Limits,
}

impl Profile {
    /// The default rules for a project: everything in it but the protected names may be changed,
    /// nothing else is visible but the system.
    pub fn new(root: impl Into<PathBuf>, home: impl Into<PathBuf>) -> Profile {
        Profile {
            root: root.into(),
            home: home.into(),
            path: Vec::new(),
            visible: Vec::new(),
            env: BTreeMap::new(),
            protected: Protected::defaults(),
            project: ProjectAccess::Direct,
            limits: Limits::default(),
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

/// A path in the project that commands cannot change, create or remove.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Protected {
    /// The path from the root.
    pub path: PathBuf,
    /// What holds its place if it does not exist.
    pub stand_in: StandIn,
}

/// What stands for a protected name that does not exist.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum StandIn {
    /// An empty directory.
    Directory,
    /// An empty file.
    File,
}

impl Protected {
    /// Names by which a command could make other programs run something later.
    pub fn defaults() -> Vec<Protected> {
        let directories =
            [".git", ".toolkiln", ".vscode", ".idea"].map(|name| (name, StandIn::Directory));
        let files = [".envrc", ".mcp.json", ".gitmodules"].map(|name| (name, StandIn::File));
        let all = directories.into_iter().chain(files);
        all.map(|(name, stand_in)| Protected { path: name.into(), stand_in }).collect()
    }
}

/// How a command meets the project.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ProjectAccess {
    /// It changes the files themselves.
    Direct,
    /// It changes a copy on write; what it changed is in [`crate::Ran::changed`].
    Overlay(Overlay),
}

/// A copy on write of the project.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Overlay {
    /// Existing directories, relative to the root, that are written directly: ignored build output.
    #[serde(default)]
    pub pass_through: Vec<PathBuf>,
    /// How many bytes of changes are kept. They are in memory.
    pub max_bytes: u64,
}

impl Default for Overlay {
    fn default() -> Overlay {
        Overlay { pass_through: Vec::new(), max_bytes: 1024 * MIB }
    }
}

/// How much a command may use, its children included where it says so.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Limits {
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

impl Default for Limits {
    fn default() -> Limits {
        Limits {
            memory_bytes: 4096 * MIB,
            processes: 512,
            file_bytes: 1024 * MIB,
            descriptors: 1024,
            scratch_bytes: 1024 * MIB,
            output_bytes: 8 << 20,
            grace: Duration::from_millis(200),
        }
    }
}
