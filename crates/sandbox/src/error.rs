//! Why a command was not run.

use std::path::PathBuf;

use protocol::{ErrorCode, ToolError};

use crate::plan::SandboxPart;

/// A command that did not run. A command that ran and failed is not an error.
#[derive(Debug, thiserror::Error)]
pub enum SandboxError {
    /// The system lacks something without which nothing is run.
    #[error("commands cannot be confined here: {doing}: {why}")]
    Unavailable {
        /// What is missing.
        part: SandboxPart,
        /// What was tried.
        doing: String,
        /// What the system said.
        why: String,
        /// What can be done about it.
        fix: &'static str,
    },
    /// This directory cannot be the project of a sandbox.
    #[error("`{}` cannot be the project of confined commands: {why}", path.display())]
    Project {
        /// The directory.
        path: PathBuf,
        /// Why not.
        why: &'static str,
    },
    /// The working directory is not in the project.
    #[error("the working directory `{path}` {why}")]
    WorkingDir {
        /// As given.
        path: String,
        /// What is wrong with it.
        why: &'static str,
    },
    /// A variable that changes which code runs.
    #[error("the variable `{name}` cannot be set for a command")]
    Variable { name: String },
    /// There is no command.
    #[error("the command is empty or contains a NUL byte")]
    Command,
    /// The program could not be started.
    #[error("`{program}` cannot be started: {why}")]
    Program {
        /// As given.
        program: String,
        /// What the system said.
        why: String,
        /// There is no such program.
        missing: bool,
    },
    /// Something of our own failed.
    #[error("{doing}: {source}")]
    Io {
        /// What was done.
        doing: &'static str,
        /// What the system said.
        source: std::io::Error,
    },
}

impl SandboxError {
    /// The code that tools answer with.
    pub fn code(&self) -> ErrorCode {
        match self {
            SandboxError::Unavailable { .. } => ErrorCode::SandboxUnavailable,
            SandboxError::Project { .. } => ErrorCode::PermissionDenied,
            SandboxError::WorkingDir { .. } => ErrorCode::InvalidPath,
            SandboxError::Variable { .. } | SandboxError::Command => ErrorCode::InvalidArguments,
            SandboxError::Program { .. } | SandboxError::Io { .. } => ErrorCode::ExecutionError,
        }
    }

    /// What can be done about it, if anything.
    pub fn suggestion(&self) -> Option<&'static str> {
        match self {
            SandboxError::Unavailable { fix, .. } => Some(fix),
            SandboxError::Project { .. } => Some("Choose a directory that holds only the project."),
            SandboxError::WorkingDir { .. } => {
                Some("Name an existing directory by its path from the project root, or `.`.")
            }
            SandboxError::Variable { .. } => {
                Some("Set it in the command itself, for example `env NAME=value program`.")
            }
            SandboxError::Program { missing: true, .. } => Some(
                "Check the name; only the system's programs, the project's and the known toolchains \
                 are visible inside.",
            ),
            SandboxError::Command | SandboxError::Program { .. } | SandboxError::Io { .. } => None,
        }
    }
}

impl From<SandboxError> for ToolError {
    fn from(error: SandboxError) -> ToolError {
        let tool_error = ToolError::new(error.code(), error.to_string());
        match error.suggestion() {
            Some(suggestion) => tool_error.suggest(suggestion),
            None => tool_error,
        }
    }
}

/// An error of the system while `doing` something.
pub(crate) fn io(doing: &'static str) -> impl Fn(std::io::Error) -> SandboxError {
    move |source| SandboxError::Io { doing, source }
}

/// A missing part, with the advice that belongs to it.
pub(crate) fn unavailable(part: SandboxPart, doing: String, errno: Option<i32>) -> SandboxError {
    let why = errno.map_or_else(
        || "it ended without an answer".to_owned(),
        |errno| std::io::Error::from_raw_os_error(errno).to_string(),
    );
    SandboxError::Unavailable { part, doing, why, fix: part.fix() }
}

impl SandboxPart {
    /// What to do if it is missing.
    pub fn fix(self) -> &'static str {
        match self {
            SandboxPart::UserNamespace => {
                "Allow unprivileged user namespaces: `sysctl -w user.max_user_namespaces=15000`, and \
                 where they exist `kernel.unprivileged_userns_clone=1` and \
                 `kernel.apparmor_restrict_unprivileged_userns=0`. In a container, allow them in its \
                 seccomp profile; in a unit of systemd, leave out `RestrictNamespaces`."
            }
            SandboxPart::Namespaces | SandboxPart::Root => {
                "In a container, start it so that namespaces and mounts are allowed inside (for \
                 example `--security-opt seccomp=unconfined`), or run Toolkiln outside of it. In a unit \
                 of systemd, leave out `RestrictNamespaces` and `ProtectHostname`."
            }
            SandboxPart::Proc => {
                "In a container, /proc is partly covered and cannot be mounted anew: start it with \
                 `--security-opt systempaths=unconfined`, or run Toolkiln outside of it. In a unit of \
                 systemd, leave out `ProtectKernelLogs` and `ProtectKernelTunables`."
            }
            SandboxPart::IdMapping => {
                "Run Toolkiln as the user who owns the project, or give the project to a user that is \
                 not root, or put it on a file system with mapped mounts (ext4, xfs, btrfs; Linux 5.12)."
            }
            SandboxPart::Overlay => {
                "Needs Linux 6.6 (or root). Run commands directly on the project instead, with approval."
            }
            SandboxPart::Seccomp => "Use a kernel with CONFIG_SECCOMP_FILTER.",
            SandboxPart::Landlock => {
                "Use Linux 5.13 or newer with `landlock` in the list of `lsm=`."
            }
            SandboxPart::ControlGroup => {
                "Start Toolkiln where it may make control groups, for example in a session of \
                 `systemd --user`."
            }
            SandboxPart::Launch | SandboxPart::Privileges | SandboxPart::Limits => {
                "Report this with the output of `toolkiln doctor`."
            }
        }
    }
}
