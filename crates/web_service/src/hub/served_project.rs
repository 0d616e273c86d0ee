//! A project that is served: what its sessions are made of, and calls by hand.

use std::sync::{Arc, OnceLock};

use session::{ApprovalManager, SessionParts};
use store::SessionId;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio_util::sync::CancellationToken;
use tool_system::{Category, ExecutorOptions, Limits, ProjectTools, ToolExecutor, ToolRegistry};

use super::shared_rules::SharedRules;
use super::{AgentEndpoint, HubError, ProjectPort};

/// Calls by hand of a project at a time, those that wait for an answer included.
const MOST_BY_HAND: usize = 32;

/// A project that is served.
pub struct ServedProject {
    /// Its name, unique among those that are served.
    pub name: String,
    /// What its sessions are made of. Without an approver questions wait for clients.
    pub parts: SessionParts,
    /// The rest.
    pub port: Arc<dyn ProjectPort>,
    console: Console,
    pub(super) rules: Arc<SharedRules>,
    agents: OnceLock<Arc<dyn AgentEndpoint>>,
    /// Runs the calls of other agents, once there are any.
    pub(super) agent_executor: OnceLock<ToolExecutor>,
}

/// Calls that the user makes by hand, through the same gate as those of a model.
struct Console {
    approvals: Arc<ApprovalManager>,
    executor: ToolExecutor,
    room: Arc<Semaphore>,
}

impl ServedProject {
    /// A project under a name.
    pub fn new(name: String, mut parts: SessionParts, port: Arc<dyn ProjectPort>) -> Self {
        let rules = Arc::new(SharedRules::new(parts.tools.options.rule_keeper.take()));
        parts.tools.options.rule_keeper = Some(rules.clone());
        // Questions about calls by hand belong to no conversation.
        let approvals = Arc::new(ApprovalManager::unlogged(parts.approver.clone()));
        let executor = parts.tools.executor(ExecutorOptions {
            role: parts.role.clone(),
            approver: approvals.clone(),
            ..parts.tools.options.clone()
        });
        let room = Arc::new(Semaphore::new(MOST_BY_HAND));
        let console = Console { approvals, executor, room };
        let (agents, agent_executor) = (OnceLock::new(), OnceLock::new());
        Self { name, parts, port, console, rules, agents, agent_executor }
    }

    /// The tools of one session of the project.
    pub(crate) async fn tools_for(&self, id: &SessionId) -> Result<ProjectTools, HubError> {
        let own = self.port.tools_for(id).await?;
        Ok(own.unwrap_or_else(|| self.parts.tools.clone()))
    }

    /// What this session of the project is made of.
    pub(super) async fn parts_for(&self, id: &SessionId) -> Result<SessionParts, HubError> {
        let mut parts = self.parts.clone();
        if let Some(tools) = self.port.tools_for(id).await? {
            parts.root = tools.code.workspace().canonical_path().display().to_string();
            parts.tools = tools;
            parts.tools.options.rule_keeper = Some(self.rules.clone());
        }
        Ok(parts)
    }

    /// Where other agents call tools.
    pub(crate) fn agents(&self, site: &str, closing: &CancellationToken) -> &dyn AgentEndpoint {
        &**self.agents.get_or_init(|| self.port.agents(self, site, closing))
    }

    /// Runs calls of other agents, with limits of their own. What needs approval is asked about as for calls by
    /// hand.
    pub fn agent_executor(&self, limits: impl FnOnce(Limits) -> Limits) -> &ToolExecutor {
        self.agent_executor.get_or_init(|| {
            let mut registry = ToolRegistry::clone(&self.parts.tools.registry);
            // A host that wants the tools of other servers has them itself.
            registry.disable_category(Category::External);
            let tools = ProjectTools { registry: registry.into(), ..self.parts.tools.clone() };
            let options = tools.options.clone();
            tools.executor(ExecutorOptions {
                role: self.parts.role.clone(),
                approver: self.console.approvals.clone(),
                limits: limits(options.limits.clone()),
                ..options
            })
        })
    }

    /// Runs calls by hand.
    pub fn executor(&self) -> &ToolExecutor {
        &self.console.executor
    }

    /// Room for one more call by hand, until it is dropped; none if there are too many.
    pub fn room_by_hand(&self) -> Option<OwnedSemaphorePermit> {
        Arc::clone(&self.console.room).try_acquire_owned().ok()
    }

    /// The questions about calls by hand.
    pub fn approvals(&self) -> &Arc<ApprovalManager> {
        &self.console.approvals
    }
}
