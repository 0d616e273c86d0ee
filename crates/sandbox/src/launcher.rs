//! Starting the hidden entry point.

use std::os::fd::OwnedFd;
use std::os::unix::process::CommandExt as _;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};

use crate::channel::Channel;
use crate::error::{SandboxError, unavailable};
use crate::plan::Part;

/// The program that calls [`crate::hidden_entry`] first in its `main`.
#[derive(Clone, Debug)]
pub struct Launcher(PathBuf);

/// Where the output of a helper goes.
pub(crate) struct Output {
    pub(crate) stdout: OwnedFd,
    pub(crate) stderr: OwnedFd,
}

impl Launcher {
    /// This very program, even if its file was replaced meanwhile.
    pub fn this_program() -> Launcher {
        Launcher("/proc/self/exe".into())
    }

    /// Another program.
    pub fn at(path: impl Into<PathBuf>) -> Launcher {
        Launcher(path.into())
    }

    /// Starts it in the role `name`, with nothing of our environment, and the channel as its standard
    /// input.
    pub(crate) fn start(
        &self,
        name: &str,
        channel: Channel,
        output: Option<Output>,
    ) -> Result<Child, SandboxError> {
        let mut command = Command::new(&self.0);
        command.arg0(name).env_clear().stdin(Stdio::from(channel.into_fd()));
        match output {
            Some(output) => command.stdout(output.stdout).stderr(output.stderr),
            None => command.stdout(Stdio::null()).stderr(Stdio::null()),
        };
        command.spawn().map_err(|error| {
            unavailable(Part::Launch, format!("starting {}", self.0.display()), error.raw_os_error())
        })
    }
}
