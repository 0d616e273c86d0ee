//! What the fold remembers of one agent: the session's own, or the sub-agent of a call.

use std::collections::{BTreeSet, HashMap};

use protocol::PlanStep;

use crate::item::ItemId;
use crate::safe_text::SafeText;

#[derive(Debug, Default)]
pub(crate) struct AgentScope {
    pub(crate) items: Vec<ItemId>,
    /// The last card of each call id. A damaged log may use an id twice.
    pub(crate) calls: HashMap<String, ItemId>,
    /// Cards of calls without a result.
    pub(crate) open: BTreeSet<ItemId>,
    /// The answer and the thoughts of the request that runs.
    pub(crate) answer: Option<Streamed>,
    pub(crate) thinking: Option<Streamed>,
    pub(crate) plan: Vec<PlanStep>,
}

/// A text that comes in pieces.
#[derive(Debug)]
pub(crate) struct Streamed {
    pub(crate) id: ItemId,
    pub(crate) guard: SafeText,
}
