//! The tools of one project, for any number of executors.

use std::sync::Arc;

use code_index::CodeBase;
use protocol::{AgentRole, ErrorCode, ToolError};

use crate::executor::ExecutorState;
use crate::policy::Policy;
use crate::{
    Caller, ChangeSight, ExecutorOptions, Limits, OnDemand, OpenDocuments, Performer, RuleKeeper,
    ToolExecutor, ToolRegistry, Vocabulary,
};

/// What all executors of a project have in common. It is filled in once; where some executors need it otherwise, a
/// clone is changed by the methods below before they are made.
#[derive(Clone)]
pub struct ProjectTools {
    /// The tools that can be called.
    pub registry: Arc<ToolRegistry>,
    /// The project, with its index if it has one.
    pub code: Arc<CodeBase>,
    /// The roles that an agent can act in.
    pub roles: Vec<AgentRole>,
    /// How the executors behave.
    pub options: ExecutorOptions,
}

impl ProjectTools {
    /// The tools of `registry` on a project, given as such or with its index, for the roles that are built in.
    pub fn new(
        registry: impl Into<Arc<ToolRegistry>>,
        project: impl Into<CodeBase>,
        options: ExecutorOptions,
    ) -> Self {
        let code = Arc::new(project.into());
        let roles = vec![AgentRole::Planner, AgentRole::Actor];
        Self { registry: registry.into(), code, roles, options }
    }

    /// An executor for the calls of one caller.
    pub fn executor(&self, caller: Caller) -> ToolExecutor {
        let state = ExecutorState::new(Arc::clone(&self.code), self.options.clone(), caller);
        ToolExecutor { registry: Arc::clone(&self.registry), state: Arc::new(state) }
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

    /// With limits made of these, such as those that an MCP host wants.
    pub fn with_limits(mut self, change: impl FnOnce(Limits) -> Limits) -> Self {
        self.options.limits = change(self.options.limits);
        self
    }

    /// In another vocabulary, for a caller that reads results itself.
    pub fn with_vocabulary(mut self, vocabulary: Vocabulary) -> Self {
        self.options.vocabulary = vocabulary;
        self
    }

    /// With another policy, such as in another approval mode.
    pub fn with_policy(mut self, policy: OnDemand<Policy>) -> Self {
        self.options.policy = policy;
        self
    }

    /// With the policy of `other`, and its rules kept where it keeps them, such as for another directory of the same
    /// project.
    pub fn with_rules_of(mut self, other: &Self) -> Self {
        self.options.policy = other.options.policy.clone();
        self.options.rule_keeper.clone_from(&other.options.rule_keeper);
        self
    }

    /// With rules kept elsewhere.
    pub fn with_rule_keeper(mut self, keeper: Arc<dyn RuleKeeper>) -> Self {
        self.options.rule_keeper = Some(keeper);
        self
    }

    /// With other tools, and what performs their proposals.
    pub fn with_tools(
        mut self,
        registry: impl Into<Arc<ToolRegistry>>,
        performer: Arc<dyn Performer>,
    ) -> Self {
        self.registry = registry.into();
        self.options.performer = Some(performer);
        self
    }

    /// With the unsaved texts of an editor.
    pub fn with_documents(mut self, documents: Arc<dyn OpenDocuments>) -> Self {
        self.options.documents = Some(documents);
        self
    }

    /// With the history as far as its reader may see it.
    pub fn with_history_seen_by(mut self, sight: Arc<dyn ChangeSight>) -> Self {
        self.options.history = self.options.history.map(|history| history.seen_by(sight));
        self
    }
}
