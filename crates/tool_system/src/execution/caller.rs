//! Who makes the calls of one executor.

use std::sync::Arc;

use protocol::AgentRole;

use crate::{AgentHost, Approver, LearnedRules, RefuseAll};

/// What differs between the executors of a project: a conversation, each of its sub-agents, and whoever else
/// makes calls. The default has no conversation and no approver.
#[derive(Clone)]
pub struct Caller {
    /// The role, which limits what may be called at all.
    pub role: AgentRole,
    /// Decides about what needs approval.
    pub approver: Arc<dyn Approver>,
    /// The session that changes are made in, for undoing all of them.
    pub session: String,
    /// The conversation that calls come from; the tools of [`crate::Category::Agent`] need it.
    pub agent_host: Option<Arc<dyn AgentHost>>,
    /// Whether an identical call in one turn is answered from memory. Callers without turns leave it off.
    pub detect_repeats: bool,
    /// What "always" has made so far. A clone of a caller shares it.
    pub learned_rules: Arc<LearnedRules>,
}

impl Default for Caller {
    fn default() -> Self {
        Self {
            role: AgentRole::Actor,
            approver: Arc::new(RefuseAll { how_to_allow: "Ask the user to run it.".into() }),
            session: String::new(),
            agent_host: None,
            detect_repeats: false,
            learned_rules: Arc::default(),
        }
    }
}
