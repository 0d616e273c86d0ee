//! The timeline of a session and how it grows.

use std::collections::{BTreeSet, HashMap};

use protocol::{ContentHash, ForkPoint, Image, LogEntry, SessionEvent, Settings, Usage};
use schemars::JsonSchema;
use serde::Serialize;

use crate::card::Card;
use crate::fold::FoldStep;
use crate::item::{Item, ItemBody, ItemId};
use crate::live_output::{LineCutter, Output};
use crate::safe_text::output_line;
use crate::scope::AgentScope;
use crate::turn::{TurnTally, add_costs};
use protocol::Waiting;

/// What the user sees of a session. [`Timeline::apply`] takes the entries of its log one after the other,
/// each in constant time but for the length of what it says.
#[derive(Debug, Default)]
pub struct Timeline {
    pub(crate) items: Vec<Item>,
    pub(crate) root: AgentScope,
    pub(crate) nested: HashMap<ItemId, AgentScope>,
    pub(crate) facts: SessionFacts,
    pub(crate) turn: TurnTally,
    /// How long the user was waited for in this turn.
    pub(crate) waiting: Waiting,
    pub(crate) is_paused: bool,
    /// Images with their bytes. A log holds the bytes once.
    pub(crate) images: HashMap<ContentHash, Image>,
    pub(crate) live: Live,
}

/// What came from running calls and is not in the log.
#[derive(Debug, Default)]
pub(crate) struct Live {
    pub(crate) cutters: HashMap<ItemId, LineCutter>,
    pub(crate) previews: HashMap<ItemId, Vec<String>>,
    /// By call id, what came before the entry of the log that makes the card.
    pub(crate) early: HashMap<String, Early>,
}

#[derive(Debug, Default)]
pub(crate) struct Early {
    pub(crate) cutter: LineCutter,
    pub(crate) output: Output,
    pub(crate) preview: Vec<String>,
}

/// What is true of the session as a whole.
#[derive(Clone, Debug, Default, PartialEq, Serialize, JsonSchema)]
pub struct SessionFacts {
    /// The project.
    pub root: String,
    /// The name of the session, if it has one.
    pub title: Option<String>,
    /// The model that answers, and its role.
    pub settings: Option<Settings>,
    /// The session and the position this one was forked from.
    pub forked_from: Option<ForkPoint>,
    /// When it began: milliseconds since 1970, UTC.
    pub began_at: Option<i64>,
    /// When the last entry was written.
    pub last_at: i64,
    /// All tokens, those of sub-agents and summaries included.
    pub usage: Usage,
    /// All costs in US dollars, if the price of any part is known.
    pub cost_usd: Option<f64>,
}

/// The items that an entry has added or changed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ItemChanges {
    first_added: usize,
    pub(crate) ids: BTreeSet<ItemId>,
}

impl ItemChanges {
    /// The items, in the order of the timeline.
    pub fn ids(&self) -> impl Iterator<Item = ItemId> + '_ {
        self.ids.iter().copied()
    }

    /// Whether there was no such item before.
    pub fn is_added(&self, id: ItemId) -> bool {
        id.0 >= self.first_added
    }

    /// Whether everything looks as before.
    pub fn is_empty(&self) -> bool {
        self.ids.is_empty()
    }
}

impl Timeline {
    /// The timeline of a whole log.
    pub fn of<'a>(entries: impl IntoIterator<Item = &'a LogEntry>) -> Self {
        let mut timeline = Self::default();
        for entry in entries {
            timeline.apply(entry);
        }
        timeline
    }

    /// Takes the next entry of the log.
    pub fn apply(&mut self, entry: &LogEntry) -> ItemChanges {
        let at = self.turn.moment(entry);
        self.turn.add(entry);
        self.facts.began_at.get_or_insert(entry.at);
        self.facts.last_at = self.facts.last_at.max(entry.at);
        if let Some(spent) = entry.event.spent() {
            add_costs((&mut self.facts.usage, &mut self.facts.cost_usd), spent);
        }
        let mut step = FoldStep::new(self, at, entry.sequence);
        let mut event = &entry.event;
        // The entries of a sub-agent say nothing of time; the one that holds them does.
        while let SessionEvent::Nested { call_id, entry } = event {
            step.enter(call_id);
            event = &entry.event;
        }
        step.take(event);
        step.changes
    }

    /// Takes what a call of the session's own agent prints while it runs. The result in the log holds
    /// it too, so that nothing is lost if this is never called.
    pub fn output(&mut self, call_id: &str, text: &str) -> ItemChanges {
        let mut changes = self.no_changes();
        match self.running(call_id) {
            Running::Card(id) => {
                let cutter = self.live.cutters.entry(id).or_default();
                if let ItemBody::Call(card) = &mut self.items[id.0].body
                    && cutter.push(text, &mut card.output)
                {
                    changes.ids.insert(id);
                }
            }
            Running::Unknown => {
                let early = self.live.early.entry(call_id.to_owned()).or_default();
                early.cutter.push(text, &mut early.output);
            }
            Running::Over => {}
        }
        changes
    }

    /// Takes a few lines about the result of a call of the session's own agent, which stand on its card
    /// once it has ended.
    pub fn preview(&mut self, call_id: &str, lines: &[String]) {
        let lines: Vec<String> = lines.iter().map(|line| output_line(line)).collect();
        match self.running(call_id) {
            Running::Card(id) => {
                self.live.previews.insert(id, lines);
            }
            Running::Unknown => {
                self.live.early.entry(call_id.to_owned()).or_default().preview = lines;
            }
            Running::Over => {}
        }
    }

    fn running(&self, call_id: &str) -> Running {
        match self.root.card_of(call_id) {
            None => Running::Unknown,
            Some(id) if self.root.open.contains(&id) => Running::Card(id),
            Some(_) => Running::Over,
        }
    }

    /// All items, those of sub-agents included, in the order in which they began. An item's id is its
    /// place here.
    pub fn items(&self) -> &[Item] {
        &self.items
    }

    /// The item with this id.
    pub fn item(&self, id: ItemId) -> &Item {
        &self.items[id.0]
    }

    /// The items of the session itself, or those of the sub-agent of the call with this card.
    pub fn children(&self, parent: Option<ItemId>) -> impl Iterator<Item = &Item> {
        let scope = match parent {
            None => Some(&self.root),
            Some(card) => self.nested.get(&card),
        };
        let ids = scope.map(|scope| scope.items.as_slice()).unwrap_or_default();
        ids.iter().map(|id| self.item(*id))
    }

    /// The cards of calls that run or wait for the user, those of sub-agents included, in the order in
    /// which they began.
    pub fn running_cards(&self) -> impl Iterator<Item = &Item> {
        let scopes = std::iter::once(&self.root).chain(self.nested.values());
        let mut open: Vec<ItemId> = scopes.flat_map(|scope| scope.open.iter().copied()).collect();
        open.sort_unstable();
        let runs = |item: &&Item| item.card().is_some_and(|card| card.started_at.is_some());
        open.into_iter().map(|id| self.item(id)).filter(runs)
    }

    /// What is true of the session as a whole.
    pub fn facts(&self) -> &SessionFacts {
        &self.facts
    }

    /// What the current turn took so far.
    pub fn turn(&self) -> &TurnTally {
        &self.turn
    }

    /// An image with its bytes, if the log has them anywhere.
    pub fn image(&self, hash: ContentHash) -> Option<&Image> {
        self.images.get(&hash)
    }

    pub(crate) fn no_changes(&self) -> ItemChanges {
        ItemChanges { first_added: self.items.len(), ids: BTreeSet::new() }
    }

    pub(crate) fn scope(&mut self, parent: Option<ItemId>) -> &mut AgentScope {
        match parent {
            None => &mut self.root,
            Some(card) => self.nested.entry(card).or_default(),
        }
    }

    pub(crate) fn card(&mut self, id: ItemId) -> Option<&mut Card> {
        match &mut self.items[id.0].body {
            ItemBody::Call(card) => Some(card),
            _ => None,
        }
    }
}

enum Running {
    Card(ItemId),
    /// The log has not named the call yet.
    Unknown,
    Over,
}
