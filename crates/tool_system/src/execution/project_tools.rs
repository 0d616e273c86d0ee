//! The tools of one project, for any number of executors.

use std::sync::Arc;

use code_index::CodeBase;
use protocol::{AgentRole, ErrorCode, ToolError};

use crate::{ExecutorOptions, ToolExecutor, ToolRegistry};

/// What the executors of a process have in common. A conversation and each of its sub-agents has an
/// executor of its own.
#[derive(Clone)]
pub struct ProjectTools {
    /// The tools that can be called.
    pub registry: Arc<ToolRegistry>,
    /// The project, with its index if it has one.
    pub code: Arc<CodeBase>,
    /// The roles that an agent can act in.
    pub roles: Vec<AgentRole>,
    /// What the front end decides for all of them. A conversation has its own role, approver, session
    /// and agent host in each executor.
    pub options: ExecutorOptions,
}

impl ProjectTools {
    /// An executor; `options` are [`Self::options`] but for what is different in this one.
    pub fn executor(&self, options: ExecutorOptions) -> ToolExecutor {
        ToolExecutor::sharing(Arc::clone(&self.registry), Arc::clone(&self.code), options)
    }

    /// The role called `name`.
    pub fn role(&self, name: &str) -> Result<AgentRole, ToolError> {
        let found = self.roles.iter().find(|role| role.name() == name).cloned();
        found.ok_or_else(|| {
            let known: Vec<&str> = self.roles.iter().map(AgentRole::name).collect();
            ToolError::new(ErrorCode::InvalidArguments, format!("there is no role `{name}`"))
                .suggest(format!("The roles are: {}.", known.join(", ")))
        })
    }
}
