//! The calls that one user makes in a project outside of conversations, by hand or by another agent: with questions,
//! handles and connections of its own, so that no user meets those of another.

use std::sync::{Arc, OnceLock};

use session::{ApprovalManager, SessionParts};
use team::UserId;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio_util::sync::CancellationToken;
use tool_system::{Caller, Category, Limits, ProjectTools, ToolExecutor, ToolRegistry};

use super::direct_call_answers::DirectCallAnswers;
use super::{AgentEndpoint, ProjectPort};

/// Calls by hand of a user in a project at a time, those that wait for an answer included.
const MOST_BY_HAND: usize = 32;

/// Calls that a user makes in a project, through the same gate as those of a model.
pub struct DirectCalls {
    user: Option<UserId>,
    tools: ProjectTools,
    caller: Caller,
    approvals: Arc<ApprovalManager>,
    executor: ToolExecutor,
    room: Arc<Semaphore>,
    agents: OnceLock<Arc<dyn AgentEndpoint>>,
    /// Runs the calls of other agents, once there are any.
    agent_executor: OnceLock<ToolExecutor>,
}

impl DirectCalls {
    /// Those of a user; of the only one, who has no name, without a team. Changes are made in `session`, answers to
    /// questions go to `answers`.
    pub(super) fn new(
        user: Option<UserId>,
        parts: &SessionParts,
        session: &str,
        answers: Option<DirectCallAnswers>,
    ) -> Self {
        // Questions about calls by hand belong to no conversation.
        let approvals = Arc::new(match answers {
            Some(answers) => ApprovalManager::new(Arc::new(answers), parts.approver.clone()),
            None => ApprovalManager::unlogged(parts.approver.clone()),
        });
        // Each user's own: what one has changed by hand is not undone as a change of another, nor does "always, in this
        // session" of one hold for another.
        let caller = Caller {
            role: parts.role.clone(),
            approver: approvals.clone(),
            session: match &user {
                Some(user) => format!("{session}-{user}"),
                None => session.to_owned(),
            },
            ..Caller::default()
        };
        let tools = parts.tools.clone();
        let executor = tools.executor(caller.clone());
        let room = Arc::new(Semaphore::new(MOST_BY_HAND));
        let (agents, agent_executor) = (OnceLock::new(), OnceLock::new());
        Self { user, tools, caller, approvals, executor, room, agents, agent_executor }
    }

    /// Whose it is; none without a team.
    pub fn user(&self) -> Option<&UserId> {
        self.user.as_ref()
    }

    pub fn tools(&self) -> &ProjectTools {
        &self.tools
    }

    /// As whom the user calls.
    pub(crate) fn caller(&self) -> Caller {
        self.caller.clone()
    }

    /// Where other agents call tools.
    pub(crate) fn agents(
        &self,
        port: &dyn ProjectPort,
        site: &str,
        closing: &CancellationToken,
    ) -> &dyn AgentEndpoint {
        &**self.agents.get_or_init(|| port.agents(self, site, closing))
    }

    /// Runs calls of other agents, with limits of their own. What needs approval is asked about as for calls by
    /// hand.
    pub fn agent_executor(&self, limits: impl FnOnce(Limits) -> Limits) -> &ToolExecutor {
        self.agent_executor.get_or_init(|| {
            let mut registry = ToolRegistry::clone(&self.tools.registry);
            // A host that wants the tools of other servers has them itself.
            registry.disable_category(Category::External);
            let tools = ProjectTools { registry: registry.into(), ..self.tools.clone() };
            tools.with_limits(limits).executor(self.caller())
        })
    }

    /// Everything that runs calls here.
    pub(super) fn executors(&self) -> impl Iterator<Item = ToolExecutor> + '_ {
        std::iter::once(&self.executor).chain(self.agent_executor.get()).cloned()
    }

    /// Runs calls by hand.
    pub fn executor(&self) -> &ToolExecutor {
        &self.executor
    }

    /// Room for one more call by hand, until it is dropped; none if there are too many.
    pub fn room_by_hand(&self) -> Option<OwnedSemaphorePermit> {
        Arc::clone(&self.room).try_acquire_owned().ok()
    }

    /// The questions about calls by hand.
    pub fn approvals(&self) -> &Arc<ApprovalManager> {
        &self.approvals
    }
}
