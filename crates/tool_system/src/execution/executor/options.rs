//! What a front end decides about its executor.

use std::sync::Arc;

use protocol::AgentRole;

use crate::checks::EditCheck;
use crate::policy::Policy;
use crate::{
    AgentHost, Approver, History, LearnedRules, Limits, OnDemand, OpenDocuments, Performer,
    RefuseAll, RuleKeeper, Vocabulary,
};

/// How an executor behaves; what a front end decides once.
#[derive(Clone)]
pub struct ExecutorOptions {
    /// The vocabulary whose spellings come first.
    pub vocabulary: Vocabulary,
    /// The role, which limits what may be called at all.
    pub role: AgentRole,
    /// The bounds of all tools.
    pub limits: Limits,
    /// Whether an identical call in one turn is answered from memory. Front ends without turns leave
    /// it off.
    pub detect_repeats: bool,
    /// Whether a file has to be read in this session before it may be changed. Front ends whose
    /// callers have other ways to read leave it off; a file that changed since it was read is a conflict
    /// either way.
    pub require_read: bool,
    /// The session that changes are made in, for undoing all of them.
    pub session: String,
    /// What may be done without asking, and what not at all.
    pub policy: OnDemand<Policy>,
    /// Keeps the rules that an approver's "always" makes; without it they end with the process.
    pub rule_keeper: Option<Arc<dyn RuleKeeper>>,
    /// What "always" has made so far. Executors with the same options share it.
    pub learned_rules: Arc<LearnedRules>,
    /// Decides about what needs approval.
    pub approver: Arc<dyn Approver>,
    /// Performs what has been approved; the session is read-only without it.
    pub performer: Option<Arc<dyn Performer>>,
    /// An editor whose unsaved texts are read and edited in place of what is on the disk.
    pub documents: Option<Arc<dyn OpenDocuments>>,
    /// What was changed before; nothing can be undone without it.
    pub history: Option<History>,
    /// The conversation that calls come from; the tools of [`crate::Category::Agent`] need it.
    pub agent_host: Option<Arc<dyn AgentHost>>,
    /// Whether the user lets code reach the network.
    pub network: bool,
    /// What is run after files have been changed.
    pub checks: Vec<EditCheck>,
}

impl Default for ExecutorOptions {
    fn default() -> Self {
        Self {
            vocabulary: Vocabulary::Standard,
            role: AgentRole::Actor,
            limits: Limits::default(),
            detect_repeats: false,
            require_read: false,
            session: String::new(),
            policy: Policy::default().into(),
            rule_keeper: None,
            learned_rules: Arc::default(),
            approver: Arc::new(RefuseAll { how_to_allow: "Ask the user to run it.".into() }),
            performer: None,
            documents: None,
            history: None,
            agent_host: None,
            network: false,
            checks: Vec::new(),
        }
    }
}
