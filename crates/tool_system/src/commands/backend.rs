//! Where a command runs.

use std::sync::Arc;

use protocol::CommandSpec;
use sandbox::{OutputChunk, Ran, RunOptions, Sandbox, SandboxError, Unconfined};

/// Where commands run: confined by a sandbox, or unconfined if the operator wants it so.
#[derive(Clone)]
pub(super) enum CommandBackend {
    Sandbox(Arc<Sandbox>),
    Unconfined(Arc<Unconfined>),
}

impl CommandBackend {
    pub(super) fn run(
        &self,
        spec: &CommandSpec,
        options: RunOptions<'_>,
        on_output: impl FnMut(OutputChunk<'_>),
    ) -> Result<Ran, SandboxError> {
        match self {
            CommandBackend::Sandbox(sandbox) => sandbox.run(spec, options, on_output),
            CommandBackend::Unconfined(unconfined) => unconfined.run(spec, options, on_output),
        }
    }
}
