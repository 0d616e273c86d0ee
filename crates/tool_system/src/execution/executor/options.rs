//! What a front end decides about the executors of a project.

use std::sync::Arc;

use crate::checks::EditCheck;
use crate::policy::Policy;
use crate::{History, Limits, OnDemand, OpenDocuments, Performer, RuleKeeper, Vocabulary};

/// How all executors of a project behave; what a front end decides once. What differs between them is in
/// [`Caller`](crate::Caller).
#[derive(Clone)]
pub struct ExecutorOptions {
    /// The vocabulary whose spellings come first.
    pub vocabulary: Vocabulary,
    /// The bounds of all tools.
    pub limits: Limits,
    /// Whether a file has to be read in this session before it may be changed. Front ends whose
    /// callers have other ways to read leave it off; a file that changed since it was read is a conflict
    /// either way.
    pub require_read: bool,
    /// What may be done without asking, and what not at all.
    pub policy: OnDemand<Policy>,
    /// Keeps the rules that an approver's "always" makes; without it they end with the process.
    pub rule_keeper: Option<Arc<dyn RuleKeeper>>,
    /// Performs what has been approved; the project is read-only without it.
    pub performer: Option<Arc<dyn Performer>>,
    /// An editor whose unsaved texts are read and edited in place of what is on the disk.
    pub documents: Option<Arc<dyn OpenDocuments>>,
    /// What was changed before; nothing can be undone without it.
    pub history: Option<History>,
    /// Whether the user lets code reach the network.
    pub network: bool,
    /// What is run after files have been changed.
    pub checks: Vec<EditCheck>,
}

impl Default for ExecutorOptions {
    fn default() -> Self {
        Self {
            vocabulary: Vocabulary::Standard,
            limits: Limits::default(),
            require_read: false,
            policy: Policy::default().into(),
            rule_keeper: None,
            performer: None,
            documents: None,
            history: None,
            network: false,
            checks: Vec::new(),
        }
    }
}
