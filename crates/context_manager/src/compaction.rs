//! Making room in a conversation that has become too long.
//!
//! First without a model: results that a later call has made obsolete, or that are long and old, are
//! shown in a few words; if that is not enough, the earlier part is replaced by a summary of what
//! must not be lost. Then a model may add what happened in that part, in what room is left. So the
//! outcome is known to fit before a model is asked, and it fits if the model does not answer.
//!
//! The user's messages of the turn under way stay as they are. Only if nothing else can be left out
//! is a part of them shown, with a handle to the whole, which the log keeps.

mod elide;
mod narrative;
mod summary;
mod words;

use std::collections::HashSet;

use protocol::{Compaction, Content, SessionEvent, ShortenedMessage, Speaker};
use tokio_util::sync::CancellationToken;

pub(crate) use elide::LastCalls;
use narrative::Narrative;
use summary::{Shares, Source, summary};

use crate::conversation::{Conversation, Unit};
use crate::options::frame_tokens;
use crate::turn::cut_short;
use crate::{AgentOptions, Charge, ChatContext, LogError, Ports};

/// The newest calls, whose results stay as long as possible.
const PROTECTED_CALLS: usize = 6;
/// How full a conversation may be after results alone were shortened; else it would be full again
/// after a few calls.
const COMFORTABLE_PERCENT: u64 = 70;
/// What may stay, tried in this order. Results are cut before calls are forgotten, because the model
/// would make a forgotten call again; the user's words of the turn under way are cut after both. Results
/// that the model has not seen yet are cut last: it would ask for them again and again.
const RETENTIONS: [Retention; 12] = [
    Retention { tail: 40, protected: Protected::Newest, running: 100, filled: 70 },
    Retention { tail: 40, protected: Protected::Unseen, running: 100, filled: 70 },
    Retention { tail: 20, protected: Protected::Unseen, running: 100, filled: 70 },
    Retention { tail: 60, protected: Protected::Unseen, running: 100, filled: 85 },
    Retention { tail: 20, protected: Protected::Unseen, running: 100, filled: 85 },
    Retention { tail: 40, protected: Protected::Nothing, running: 100, filled: 70 },
    Retention { tail: 20, protected: Protected::Nothing, running: 100, filled: 70 },
    Retention { tail: 0, protected: Protected::Nothing, running: 100, filled: 85 },
    Retention { tail: 40, protected: Protected::Unseen, running: 40, filled: 85 },
    Retention { tail: 20, protected: Protected::Nothing, running: 40, filled: 80 },
    Retention { tail: 0, protected: Protected::Nothing, running: 40, filled: 100 },
    Retention { tail: 0, protected: Protected::Nothing, running: 20, filled: 100 },
];
/// The most tokens of a section of a summary that no model wrote.
const MOST_SECTION: u64 = 500;
/// The most sections, beside the user's words, in a summary that no model wrote.
const SECTIONS: u64 = 6;

/// Calls whose results are not cut.
#[derive(Clone, Copy)]
enum Protected {
    /// The newest, and those that the model has not seen.
    Newest,
    /// Only those that the model has not seen.
    Unseen,
    Nothing,
}

impl Protected {
    /// How many of the newest calls that are.
    fn calls(self, units: &[Unit]) -> usize {
        let unseen = || {
            // Notes may follow a step before the model is asked again.
            let mut newest =
                units.iter().rev().skip_while(|unit| unit.first().role == Speaker::User);
            newest.next().map_or(0, |unit| unit.calls().count())
        };
        match self {
            Protected::Newest => PROTECTED_CALLS.max(unseen()),
            Protected::Unseen => unseen(),
            Protected::Nothing => 0,
        }
    }
}

/// What stays beside a summary, in percent of the room.
struct Retention {
    /// What the newest part may take.
    tail: u64,
    /// Which calls keep their results.
    protected: Protected,
    /// What the user's messages of the turn under way may take; 100 if they stay whole.
    running: u64,
    /// What all of it may take: the next steps need the rest.
    filled: u64,
}

/// The outcome of [`ChatContext::compact`].
#[derive(Clone, Debug, PartialEq)]
pub enum CompactOutcome {
    /// It is shorter.
    Compacted(Box<Compaction>),
    /// Nothing can be left out.
    NothingToLeaveOut,
    /// The user has cancelled; nothing has changed.
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

/// Whether the next request fits now.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum RoomOutcome {
    Made(Box<Compaction>),
    None,
    Cancelled,
}

impl ChatContext {
    /// Makes the conversation shorter because the user wants that. A turn that was left unfinished
    /// is closed first.
    pub async fn compact(
        &mut self,
        ports: &Ports,
        options: &AgentOptions,
        cancel: &CancellationToken,
    ) -> Result<CompactOutcome, LogError> {
        let charge = Charge::of(&*ports.model, options.prices);
        self.record(ports, self.unfinished(charge)).await?;
        let opening = self.ledger().opening(options);
        ports.purse.open(opening.without_clock());
        let tools = self.listed_tools(ports, options);
        let frame = frame_tokens(&options.system, &tools);
        let room = self.make_room(Want::Summary, frame, ports, options, cancel).await?;
        Ok(match room {
            RoomOutcome::Made(compaction) => CompactOutcome::Compacted(compaction),
            RoomOutcome::None => CompactOutcome::NothingToLeaveOut,
            RoomOutcome::Cancelled => CompactOutcome::Cancelled,
        })
    }

    /// Makes the conversation shorter and writes that down.
    pub(crate) async fn make_room(
        &mut self,
        want: Want,
        frame: u64,
        ports: &Ports,
        options: &AgentOptions,
        cancel: &CancellationToken,
    ) -> Result<RoomOutcome, LogError> {
        let readable = options.offers_tools && ports.tools.reads_messages();
        let Some(mut draft) = self.draft(want, frame, options, readable) else {
            return Ok(RoomOutcome::None);
        };
        match narrative::write(&draft, ports, options, self.ledger().scale(frame), cancel).await {
            Narrative::Cancelled(receipt) => {
                if !receipt.usage.is_zero() {
                    let is_time = ports.purse.time_is_up().is_some();
                    self.record(ports, vec![cut_short(is_time, receipt)]).await?;
                }
                return Ok(RoomOutcome::Cancelled);
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
        self.record(ports, vec![SessionEvent::Compacted(compaction.clone())]).await?;
        Ok(RoomOutcome::Made(Box::new(compaction)))
    }

    /// What is to be done, without a model.
    fn draft(
        &self,
        want: Want,
        frame: u64,
        options: &AgentOptions,
        readable: bool,
    ) -> Option<CompactionDraft> {
        let tokens = self.conversation().tokens();
        let scale = self.ledger().scale(frame);
        let room = |tokens: u64| scale.estimated(tokens).saturating_sub(frame);
        let whole = room(options.room());
        let drafts = CompactionDrafts { context: self, running: self.running(), readable };
        match want {
            Want::Fit => drafts.shortened(whole).or_else(|| drafts.summarised(whole)),
            Want::Less { than } => {
                let half = room(than / 2).min(whole);
                let any = tokens.saturating_sub(1).min(whole);
                drafts
                    .shortened(half)
                    .or_else(|| drafts.summarised(half))
                    .or_else(|| drafts.summarised(any))
            }
            Want::Summary => {
                let half = drafts.summarised((tokens / 2).min(whole));
                // The user's last words rather stay whole in a summary that is longer.
                let longer = || drafts.summarised((tokens / 4 * 3).min(whole));
                match half {
                    Some(draft) if draft.is_whole => Some(draft),
                    half => longer().filter(|draft| draft.is_whole).or(half),
                }
            }
        }
    }
}

/// Makes drafts of a compaction.
struct CompactionDrafts<'a> {
    context: &'a ChatContext,
    /// The user's messages of the turn under way.
    running: Vec<u64>,
    /// Whether the model can read what is left out.
    readable: bool,
}

impl CompactionDrafts<'_> {
    /// Shows superfluous results in a few words, if that is enough.
    fn shortened(&self, room: u64) -> Option<CompactionDraft> {
        let conversation = self.context.conversation();
        let protected = Protected::Newest.calls(conversation.units());
        let elided = elide::superfluous(conversation, protected);
        let compaction = self.without_summary(elided, Vec::new());
        self.only_shortened(compaction, percent(room, COMFORTABLE_PERCENT))
    }

    /// Leaves nothing out but parts of results and messages.
    fn only_shortened(&self, compaction: Compaction, limit: u64) -> Option<CompactionDraft> {
        if compaction.elided.is_empty() && compaction.shortened.is_empty() {
            return None;
        }
        let conversation = self.context.conversation();
        let summary = conversation.summary().unwrap_or_default();
        CompactionDraft::new(conversation, Compaction { summary, ..compaction }, limit)
    }

    fn without_summary(&self, elided: Vec<String>, shortened: Vec<ShortenedMessage>) -> Compaction {
        let conversation = self.context.conversation();
        let through = conversation.through();
        // What stayed when the part before it was left out, also in an earlier turn.
        let stayed = conversation.units().iter().map(|unit| unit.sequence);
        let kept = stayed.take_while(|&sequence| sequence <= through).collect();
        Compaction {
            through,
            elided,
            kept,
            shortened,
            readable: self.readable,
            ..Compaction::default()
        }
    }

    /// The user's messages of the turn under way that are in the part that is left out.
    fn kept_up_to(&self, through: u64) -> Vec<u64> {
        self.running.iter().copied().filter(|&sequence| sequence <= through).collect()
    }

    /// Replaces the earlier part by a summary, as little of it as is enough. Of the plans that fit,
    /// one with which the user's newest messages stay whole is better than those before it.
    fn summarised(&self, room: u64) -> Option<CompactionDraft> {
        let mut first = None;
        for plan in &RETENTIONS {
            match self.planned(plan, room) {
                Some(draft) if draft.is_whole => return Some(draft),
                other => first = first.or(other),
            }
        }
        first
    }

    fn planned(&self, plan: &Retention, room: u64) -> Option<CompactionDraft> {
        let conversation = self.context.conversation();
        let limit = percent(room, plan.filled);
        let protected = plan.protected.calls(conversation.units());
        let elided = elide::superfluous(conversation, protected);
        let shorter = self.without_summary(elided, self.shown_of_running(plan, room));
        let after = compacted(conversation, &shorter);
        let first_kept = self.tail_of(after.units(), percent(room, plan.tail));
        let left_out = |unit: &Unit| !unit.stays(&self.running);
        if !after.units()[..first_kept].iter().any(left_out) {
            return self.only_shortened(shorter, limit);
        }
        if first_kept == after.units().len() && plan.tail > 0 {
            return None;
        }
        let through = through(after.units(), first_kept, self.context.last_sequence());
        let through = through.max(conversation.through());
        let staying = |unit: &&Unit| unit.sequence > through || unit.stays(&self.running);
        let staying: Vec<&Unit> = after.units().iter().filter(staying).collect();
        let left = limit.saturating_sub(staying.iter().map(|unit| unit.tokens).sum());
        let (summary, facts, is_whole) = self.summary(through, left);
        let calls: HashSet<&str> = staying
            .iter()
            .flat_map(|unit| unit.calls())
            .map(|(call, _)| call.id.as_str())
            .collect();
        let is_whole = is_whole && shorter.shortened.is_empty();
        let mut compaction =
            Compaction { through, summary, kept: self.kept_up_to(through), ..shorter };
        compaction.elided.retain(|id| calls.contains(id.as_str()));
        let draft = CompactionDraft::new(conversation, compaction, limit)?;
        Some(CompactionDraft { facts, is_whole, ..draft })
    }

    /// What is told of the entries up to `through` in about `tokens` tokens, how much of it is not by
    /// a model, and whether the user's newest messages are whole in it.
    fn summary(&self, through: u64, tokens: u64) -> (String, usize, bool) {
        let context = self.context;
        let kept = self.kept_up_to(through);
        let source = Source {
            facts: context.facts(),
            plan: context.plan(),
            through,
            kept: &kept,
            readable: self.readable,
        };
        let section = (tokens / 4 / SECTIONS).min(MOST_SECTION);
        let (mut summary, is_whole) = summary(&source, Shares { words: tokens / 2, section });
        let facts = summary.len();
        if let Some(earlier) =
            context.conversation().summary().as_deref().and_then(narrative::of_summary)
        {
            summary += &narrative::section(earlier, tokens / 8);
        }
        (summary, facts, is_whole)
    }

    /// What is shown of the user's messages of the turn under way, where that is not all.
    fn shown_of_running(&self, plan: &Retention, room: u64) -> Vec<ShortenedMessage> {
        if plan.running >= 100 {
            return Vec::new();
        }
        let said = self.context.facts().said.iter();
        let running = said.filter(|said| self.running.contains(&said.sequence));
        let shown = words::of_all(running, percent(room, plan.running), self.readable);
        let content =
            |parts: Vec<String>| parts.into_iter().map(|text| Content::Text { text: text.into() });
        shown
            .into_iter()
            .map(|(sequence, parts)| ShortenedMessage {
                sequence,
                content: content(parts).collect(),
            })
            .collect()
    }

    /// Where the newest units begin that take at most `tokens` tokens together. The user's messages of
    /// the turn under way stay in any case and are not counted; a note that has just been made is
    /// always among the newest.
    fn tail_of(&self, units: &[Unit], tokens: u64) -> usize {
        let mut left = tokens;
        for (at, unit) in units.iter().enumerate().rev() {
            if unit.stays(&self.running) {
                continue;
            }
            let just_said = at + 1 == units.len() && unit.first().role == Speaker::User;
            match left.checked_sub(unit.tokens) {
                Some(rest) => left = rest,
                None if just_said => left = 0,
                None => return at + 1,
            }
        }
        0
    }
}

/// A compaction that is known to fit.
struct CompactionDraft {
    compaction: Compaction,
    /// What the summary stands for.
    left_out: Vec<Unit>,
    /// What stood for an earlier part.
    earlier: Option<String>,
    /// How much of the summary was made without a model.
    facts: usize,
    /// Whether the user's newest messages are whole in it.
    is_whole: bool,
    /// The tokens that the conversation takes then, and those that it may take.
    tokens: u64,
    limit: u64,
}

impl CompactionDraft {
    /// A draft, if the conversation is shorter by it and takes at most `limit` tokens.
    fn new(conversation: &Conversation, compaction: Compaction, limit: u64) -> Option<Self> {
        let tokens = compacted(conversation, &compaction).tokens();
        // One token less would be no reason to lose what the provider has in its cache.
        let limit = limit.min(conversation.tokens().saturating_sub(1));
        if tokens > limit {
            return None;
        }
        let gone =
            |unit: &&Unit| unit.sequence <= compaction.through && !unit.stays(&compaction.kept);
        let left_out: Vec<Unit> = conversation.units().iter().filter(gone).cloned().collect();
        let compaction = Compaction { summarised: left_out.len() as u64, ..compaction };
        let earlier = conversation.summary();
        let facts = compaction.summary.len();
        let is_whole = compaction.shortened.is_empty();
        Some(Self { compaction, left_out, earlier, facts, is_whole, tokens, limit })
    }
}

/// The conversation as it would be.
fn compacted(conversation: &Conversation, compaction: &Compaction) -> Conversation {
    let mut conversation = conversation.clone();
    conversation.compact(compaction);
    conversation
}

/// The last entry of the log before the unit at `first_kept`.
fn through(units: &[Unit], first_kept: usize, last_sequence: u64) -> u64 {
    units.get(first_kept).map_or(last_sequence, |unit| unit.sequence.saturating_sub(1))
}

fn percent(amount: u64, percent: u64) -> u64 {
    amount.saturating_mul(percent) / 100
}
