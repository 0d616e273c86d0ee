//! Worktrees of the project's repository, for sessions that work in a directory of their own.

use std::path::Path;
use std::sync::Arc;

use futures_util::FutureExt as _;
use futures_util::future::BoxFuture;
use protocol::{ToolCall, ToolError};
use serde_json::Map;
use tokio_util::sync::CancellationToken;

use super::ToolExecutor;
use crate::extensions::version_control::git_status;
use crate::{ToolContext, git_command};

impl ToolExecutor {
    /// Has the project's repository know a worktree at `path`, whose files [`Self::fill_worktree`] writes. The files of
    /// the project stay as they are. The name is one of a directory, without any slash.
    pub fn add_worktree<'a>(
        &'a self,
        name: &'a str,
        branch: &'a str,
        path: &'a Path,
    ) -> BoxFuture<'a, Result<(), ToolError>> {
        let adding = async move {
            git_command::add_worktree(&self.git_context()?, name, branch, path).await
        };
        adding.boxed()
    }

    /// Writes the files that this project begins with, which is a worktree without any.
    pub fn fill_worktree(&self) -> BoxFuture<'_, Result<(), ToolError>> {
        async { git_command::fill_worktree(&self.git_context()?).await }.boxed()
    }

    fn git_context(&self) -> Result<ToolContext, ToolError> {
        let call = ToolCall::new("worktree", git_status::NAME, Map::new());
        let listed = self.tool_of(&call)?;
        let (call_id, cancel): (Arc<str>, _) = ("worktree".into(), CancellationToken::new());
        Ok(ToolContext::new(&self.state, &call_id, &listed, &cancel))
    }
}
