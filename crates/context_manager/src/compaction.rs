//! Making room in a conversation that has become too long.
//!
//! First without a model: results that a later call has overtaken, or that are long and old, are
//! shown in a few words; if that is not enough, the earlier part is replaced by a summary of what
//! must not be lost. Then a model may add what happened in that part, in what room is left. So the
//! outcome is known to fit before anybody is asked, and it fits if nobody answers.

mod elide;
mod narrative;
mod summary;

use std::collections::HashSet;
use std::sync::Arc;

use protocol::{Compaction, SessionEvent, Speaker};
use tokio_util::sync::CancellationToken;

pub(crate) use elide::Standing;
use narrative::Narrative;
use summary::{Source, summary};

use crate::conversation::{Conversation, Unit};
use crate::options::frame_tokens;
use crate::turn::cut_short;
use crate::{AgentOptions, ChatContext, Doors, LogError};

/// The newest calls, whose results stay as long as possible.
const PROTECTED_CALLS: usize = 6;
/// How full a conversation may be after results alone were shortened; else it would be full again
/// after a few calls.
const COMFORTABLE_PERCENT: u64 = 70;
/// The share of the room that the newest part may take beside a summary, and how many of the newest
/// calls keep their results; tried in this order. Rather is a result cut than its call forgotten,
/// which the model would only make again.
const TAILS: [(u64, usize); 4] = [(40, PROTECTED_CALLS), (40, 0), (20, 0), (0, 0)];
/// The most tokens of a summary that no model wrote.
const MOST_SUMMARY: u64 = 6000;

/// What became of a wish to make the conversation shorter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CompactOutcome {
    /// It is shorter.
    Compacted {
        /// The tokens that the conversation was thought to take before.
        before: u64,
        /// And after.
        after: u64,
    },
    /// Nothing can be left out.
    NothingToLeaveOut,
    /// The person has cancelled; nothing has changed.
    Cancelled,
}

/// How much shorter a conversation is wanted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Want {
    /// So that the next request fits.
    Fit,
    /// Much less than this many tokens, if possible, and less in any case.
    Less { than: u64 },
    /// As short as is sensible.
    Summary,
}

/// Whether there is room.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Room {
    Made,
    None,
    Cancelled,
}

impl ChatContext {
    /// Makes the conversation shorter because the person wants that. A turn that was left unfinished
    /// is closed first.
    pub async fn compact(
        &mut self,
        doors: &Doors,
        options: &AgentOptions,
        cancel: &CancellationToken,
    ) -> Result<CompactOutcome, LogError> {
        self.record(doors, self.unfinished()).await?;
        let standing = self.ledger().standing(options);
        doors.purse.open(standing.without_clock());
        let tools = if options.offers_tools { doors.tools.tools() } else { Arc::default() };
        let frame = frame_tokens(&options.system, &tools);
        let before = self.request_tokens(frame);
        let room = self.make_room(Want::Summary, frame, doors, options, cancel).await?;
        Ok(match room {
            Room::Made => CompactOutcome::Compacted { before, after: self.request_tokens(frame) },
            Room::None => CompactOutcome::NothingToLeaveOut,
            Room::Cancelled => CompactOutcome::Cancelled,
        })
    }

    /// Makes the conversation shorter and writes that down.
    pub(crate) async fn make_room(
        &mut self,
        want: Want,
        frame: u64,
        doors: &Doors,
        options: &AgentOptions,
        cancel: &CancellationToken,
    ) -> Result<Room, LogError> {
        let Some(mut draft) = self.draft(want, frame, options) else { return Ok(Room::None) };
        match narrative::write(&draft, doors, options, self.ledger().scale(frame), cancel).await {
            Narrative::Cancelled(receipt) => {
                if !receipt.usage.is_zero() {
                    let is_time = doors.purse.time_is_up().is_some();
                    self.record(doors, vec![cut_short(is_time, receipt)]).await?;
                }
                return Ok(Room::Cancelled);
            }
            Narrative::None => {}
            Narrative::Written { text, receipt } => {
                draft.add(&text, receipt, self.conversation());
            }
        }
        let mut compaction = draft.compaction;
        let after = compacted(self.conversation(), &compaction).tokens();
        compaction.tokens_before = self.request_tokens(frame);
        compaction.tokens_after = self.ledger().scale(frame).real(frame.saturating_add(after));
        self.record(doors, vec![SessionEvent::Compacted(compaction)]).await?;
        Ok(Room::Made)
    }

    /// What is to be done, without a model.
    fn draft(&self, want: Want, frame: u64, options: &AgentOptions) -> Option<Draft> {
        let conversation = self.conversation();
        let scale = self.ledger().scale(frame);
        let room = |tokens: u64| scale.estimated(tokens).saturating_sub(frame);
        let whole = room(options.room());
        match want {
            Want::Fit => self.shortened(whole).or_else(|| self.summarised(whole)),
            Want::Less { than } => {
                let half = room(than / 2).min(whole);
                let any = conversation.tokens().saturating_sub(1).min(whole);
                self.shortened(half)
                    .or_else(|| self.summarised(half))
                    .or_else(|| self.summarised(any))
            }
            Want::Summary => {
                let smaller = conversation.tokens() / 2;
                self.summarised(smaller.min(whole))
            }
        }
    }

    /// Shows superfluous results in a few words, if that is enough.
    fn shortened(&self, room: u64) -> Option<Draft> {
        let elided = elide::superfluous(self.conversation(), PROTECTED_CALLS);
        self.only_shortened(elided, percent(room, COMFORTABLE_PERCENT))
    }

    fn only_shortened(&self, elided: Vec<String>, limit: u64) -> Option<Draft> {
        if elided.is_empty() {
            return None;
        }
        let conversation = self.conversation();
        let compaction = Compaction {
            through: conversation.through(),
            summary: conversation.summary().unwrap_or_default().to_owned(),
            elided,
            ..Compaction::default()
        };
        Draft::new(conversation, compaction, limit)
    }

    /// Replaces the earlier part by a summary, as little of it as is enough.
    fn summarised(&self, room: u64) -> Option<Draft> {
        TAILS.iter().find_map(|&(tail, protected)| {
            let limit = if tail == 0 { room } else { percent(room, COMFORTABLE_PERCENT) };
            self.summarised_but(percent(room, tail), protected, room, limit)
        })
    }

    fn summarised_but(&self, tail: u64, protected: usize, room: u64, limit: u64) -> Option<Draft> {
        let conversation = self.conversation();
        let elided = elide::superfluous(conversation, protected);
        let shorter =
            Compaction { through: conversation.through(), elided, ..Compaction::default() };
        let kept = tail_of(compacted(conversation, &shorter).units(), tail);
        if kept == conversation.units().len() {
            return self.only_shortened(shorter.elided, limit);
        }
        if kept == 0 && tail > 0 {
            return None;
        }
        let through = through(conversation.units(), kept, self.last_sequence());
        let source = Source { facts: self.facts(), plan: self.plan(), through };
        let mut summary = summary(&source, (room / 4).min(MOST_SUMMARY));
        let facts = summary.len();
        if let Some(earlier) = conversation.summary().and_then(narrative::of_summary) {
            summary += &narrative::section(earlier, room / 8);
        }
        let kept = &conversation.units()[conversation.units().len() - kept..];
        let kept: HashSet<&str> =
            kept.iter().flat_map(Unit::calls).map(|(call, _)| call.id.as_str()).collect();
        let mut compaction = Compaction { through, summary, ..shorter };
        compaction.elided.retain(|id| kept.contains(id.as_str()));
        let draft = Draft::new(conversation, compaction, limit)?;
        Some(Draft { facts, ..draft })
    }
}

/// A compaction that is known to fit.
struct Draft {
    compaction: Compaction,
    /// What the summary stands for.
    left_out: Vec<Unit>,
    /// What stood for an earlier part.
    earlier: Option<String>,
    /// How much of the summary was made without a model.
    facts: usize,
    /// The tokens that the conversation takes then, and those that it may take.
    tokens: u64,
    limit: u64,
}

impl Draft {
    /// A draft, if the conversation is shorter by it and takes at most `limit` tokens.
    fn new(conversation: &Conversation, compaction: Compaction, limit: u64) -> Option<Self> {
        let tokens = compacted(conversation, &compaction).tokens();
        // One token less would be no reason to lose what the provider has in its cache.
        let limit = limit.min(conversation.tokens().saturating_sub(1));
        if tokens > limit {
            return None;
        }
        let gone = conversation.units().iter().filter(|unit| unit.sequence <= compaction.through);
        let left_out = gone.cloned().collect();
        let earlier = conversation.summary().map(str::to_owned);
        let facts = compaction.summary.len();
        Some(Self { compaction, left_out, earlier, facts, tokens, limit })
    }
}

/// The conversation as it would be.
fn compacted(conversation: &Conversation, compaction: &Compaction) -> Conversation {
    let mut conversation = conversation.clone();
    conversation.compact(compaction);
    conversation
}

/// How many units at the end take at most `tokens` tokens together. What the person has just said
/// is always among them.
fn tail_of(units: &[Unit], tokens: u64) -> usize {
    let mut left = tokens;
    let mut kept = 0;
    for unit in units.iter().rev() {
        let just_said = kept == 0 && unit.first().role == Speaker::User;
        match left.checked_sub(unit.tokens) {
            Some(rest) => left = rest,
            None if just_said => left = 0,
            None => break,
        }
        kept += 1;
    }
    kept
}

/// The last entry of the log before the newest `kept` units.
fn through(units: &[Unit], kept: usize, last_sequence: u64) -> u64 {
    let first_kept = units.len().checked_sub(kept).and_then(|first| units.get(first));
    first_kept.map_or(last_sequence, |unit| unit.sequence.saturating_sub(1))
}

fn percent(amount: u64, percent: u64) -> u64 {
    amount.saturating_mul(percent) / 100
}
