//! What the fold remembers of one agent: the session's own, or the sub-agent of a call.

use std::collections::{BTreeSet, HashMap, VecDeque};

use protocol::PlanStep;

use crate::item::ItemId;
use crate::safe_text::SafeText;

#[derive(Debug, Default)]
pub(crate) struct AgentScope {
    pub(crate) items: Vec<ItemId>,
    /// The cards of each call id that may still get a result, in order; else the last one. A damaged
    /// log may use an id twice, also within one answer.
    pub(crate) calls: HashMap<String, VecDeque<ItemId>>,
    /// Cards of calls without a result.
    pub(crate) open: BTreeSet<ItemId>,
    /// The answer and the thoughts of the request that runs.
    pub(crate) answer: Option<Streamed>,
    pub(crate) thinking: Option<Streamed>,
    pub(crate) plan: Vec<PlanStep>,
}

impl AgentScope {
    /// The card that the next entry about a call belongs to: the first without a result, else the last.
    pub(crate) fn card_of(&self, call_id: &str) -> Option<ItemId> {
        let cards = self.calls.get(call_id)?;
        cards.iter().find(|id| self.open.contains(id)).or(cards.back()).copied()
    }

    /// A further card of a call id. Those before it that are over are never asked for again.
    pub(crate) fn add_card(&mut self, call_id: &str, id: ItemId) {
        let cards = self.calls.entry(call_id.to_owned()).or_default();
        while cards.front().is_some_and(|id| !self.open.contains(id)) {
            cards.pop_front();
        }
        cards.push_back(id);
        self.open.insert(id);
    }

    /// The call has its result. Another with its id gets the next one.
    pub(crate) fn close(&mut self, call_id: &str, id: ItemId) {
        self.open.remove(&id);
        if let Some(cards) = self.calls.get_mut(call_id).filter(|cards| cards.len() > 1) {
            cards.retain(|card| *card != id);
        }
    }
}

/// A text that comes in pieces.
#[derive(Debug)]
pub(crate) struct Streamed {
    pub(crate) id: ItemId,
    pub(crate) guard: SafeText,
}
