//! Worktrees of the project's repository, for sessions that work in a directory of their own.

use std::path::Path;
use std::sync::Arc;

use protocol::{ToolCall, ToolError};
use serde_json::Map;
use tokio_util::sync::CancellationToken;

use super::ToolExecutor;
use crate::{ToolContext, git_command};

impl ToolExecutor {
    /// Has the project's repository know a worktree at `path`, whose files [`Self::fill_worktree`] writes. The files of
    /// the project stay as they are. The name is one of a directory, without any slash.
    pub async fn add_worktree(
        &self,
        name: &str,
        branch: &str,
        path: &Path,
    ) -> Result<(), ToolError> {
        git_command::add_worktree(&self.git_context()?, name, branch, path).await
    }

    /// Writes the files that this project begins with, which is a worktree without any.
    pub async fn fill_worktree(&self) -> Result<(), ToolError> {
        git_command::fill_worktree(&self.git_context()?).await
    }

    fn git_context(&self) -> Result<ToolContext, ToolError> {
        let call = ToolCall::new("worktree", "git_status", Map::new());
        let listed = self.tool_of(&call)?;
        let (call_id, cancel): (Arc<str>, _) = ("worktree".into(), CancellationToken::new());
        Ok(ToolContext::new(&self.state, &call_id, &listed, &cancel))
    }
}
