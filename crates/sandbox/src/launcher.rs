//! Starting the hidden entry point.

use std::os::unix::process::CommandExt as _;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};

use crate::channel::Channel;
use crate::error::{SandboxError, unavailable};
use crate::plan::SandboxPart;

/// The program that calls [`crate::hidden_entry`] first in its `main`.
#[derive(Clone, Debug)]
pub struct Launcher(PathBuf);

impl Launcher {
    /// This very program, even if its file was replaced meanwhile.
    pub fn this_program() -> Launcher {
        Launcher("/proc/self/exe".into())
    }

    /// Another program.
    pub fn at(path: impl Into<PathBuf>) -> Launcher {
        Launcher(path.into())
    }

    /// Starts it in the role `name`, with nothing of our environment, and one end of a channel as its
    /// standard input; the other is returned.
    pub(crate) fn start(&self, name: &str) -> Result<(Child, Channel), SandboxError> {
        let doing = || format!("starting {}", self.0.display());
        let pair = Channel::pair();
        let (ours, theirs) = pair.map_err(|errno| {
            unavailable(SandboxPart::Launch, doing(), Some(errno.raw_os_error()))
        })?;
        let mut command = Command::new(&self.0);
        command.arg0(name).env_clear().stdin(Stdio::from(theirs.into_fd()));
        let child = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn();
        let child = child
            .map_err(|error| unavailable(SandboxPart::Launch, doing(), error.raw_os_error()))?;
        Ok((child, ours))
    }
}
