//! What a model gets to see of a session: messages in which every call has exactly one result.
//!
//! Messages are only ever added at the end, so that a request begins with all of the request before
//! it and a provider's cache holds; the exceptions are [`Conversation::compact`] and another model.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use protocol::{
    CallReport, Compaction, Content, Image, ImageTokens, Message, MessageHandle, SharedText,
    Speaker, ToolCall, ToolError, ToolResult,
};

use crate::compaction::LastCalls;
use crate::images::{self, message_tokens};

/// What a result takes beside its text.
const TOKENS_AROUND_A_RESULT: u64 = 32;
/// What stands for a message without any text, since a request must say something.
const NOTHING_SAID: &str = "[empty message]";
/// What stands for an earlier part without a summary.
const LEFT_OUT: &str = "[The earlier part of this conversation has been left out.]";
/// Follows an answer that broke off.
const BROKE_OFF: &str = "[The answer above was interrupted before it was complete.]";

/// The messages of a session.
#[derive(Clone, Debug, Default)]
pub(crate) struct Conversation {
    summary: Option<Arc<Message>>,
    /// Entries of the log up to this one are not among the units.
    through: u64,
    units: Vec<Unit>,
    pending: Option<Pending>,
    /// Calls whose results are shown in a few words.
    elided: HashSet<String>,
    tokens: u64,
    /// What images take; nothing if the model gets descriptions.
    sight: Option<ImageTokens>,
}

/// Messages that are kept or left out together.
#[derive(Clone, Debug)]
pub(crate) struct Unit {
    /// Its entry in the log; for an answer with calls, that of the answer.
    pub(crate) sequence: u64,
    pub(crate) tokens: u64,
    /// Whether the user has said it, and not a note in the user's place.
    pub(crate) is_users: bool,
    pub(crate) body: UnitBody,
}

#[derive(Clone, Debug)]
pub(crate) enum UnitBody {
    /// A message without tool calls.
    Said(Arc<Message>),
    /// The model calls tools, and these answer. `entries` are those of the results in the log, 0 for
    /// one that is not there.
    Step { answer: Arc<Message>, results: Arc<Message>, entries: Vec<u64> },
}

/// An answer whose calls do not all have results.
#[derive(Clone, Debug)]
struct Pending {
    sequence: u64,
    answer: Arc<Message>,
    tokens: u64,
    /// In the order of the calls, with their entries in the log.
    results: Vec<(String, Option<(u64, CallReport)>)>,
    positions: HashMap<String, usize>,
}

impl Unit {
    /// The calls of a unit with their results.
    pub(crate) fn calls(&self) -> impl Iterator<Item = (&ToolCall, &ToolResult)> {
        let (calls, results) = match &self.body {
            UnitBody::Step { answer, results, .. } => (&answer.content[..], &results.content[..]),
            UnitBody::Said(_) => (&[][..], &[][..]),
        };
        let calls = calls.iter().filter_map(|content| match content {
            Content::ToolUse(call) => Some(call),
            _ => None,
        });
        let results = results.iter().filter_map(|content| match content {
            Content::ToolResult { result, .. } => Some(result),
            _ => None,
        });
        calls.zip(results)
    }

    /// The message that begins a unit.
    pub(crate) fn first(&self) -> &Message {
        match &self.body {
            UnitBody::Said(message) | UnitBody::Step { answer: message, .. } => message,
        }
    }

    pub(crate) fn messages(&self) -> impl DoubleEndedIterator<Item = &Arc<Message>> {
        let (first, second) = match &self.body {
            UnitBody::Said(message) => (message, None),
            UnitBody::Step { answer, results, .. } => (answer, Some(results)),
        };
        std::iter::once(first).chain(second)
    }

    pub(crate) fn messages_mut(&mut self) -> impl DoubleEndedIterator<Item = &mut Arc<Message>> {
        let (first, second) = match &mut self.body {
            UnitBody::Said(message) => (message, None),
            UnitBody::Step { answer, results, .. } => (answer, Some(results)),
        };
        std::iter::once(first).chain(second)
    }

    fn images(&self) -> impl Iterator<Item = &Image> {
        self.messages().flat_map(|message| images::images(&message.content))
    }

    /// Whether images came with the result of this call.
    pub(crate) fn has_images(&self, call: &ToolCall) -> bool {
        self.messages().flat_map(|message| &message.content).any(|content| {
            matches!(content, Content::ToolResult { tool_use_id, images, .. }
                if *tool_use_id == call.id && !images.is_empty())
        })
    }
}

impl Conversation {
    /// What all of it is thought to take.
    pub(crate) fn tokens(&self) -> u64 {
        self.tokens
    }

    pub(crate) fn units(&self) -> &[Unit] {
        &self.units
    }

    pub(crate) fn through(&self) -> u64 {
        self.through
    }

    /// Another model answers from now on: what only the one before understands, such as its signed
    /// thoughts, is left out.
    pub(crate) fn forget_opaque(&mut self) {
        let is_opaque = |content: &Content| matches!(content, Content::Opaque { .. });
        for unit in &mut self.units {
            let (UnitBody::Said(message) | UnitBody::Step { answer: message, .. }) = &mut unit.body;
            if message.content.iter().any(is_opaque) {
                Arc::make_mut(message).content.retain(|content| !is_opaque(content));
            }
        }
        self.units.retain(|unit| !unit.first().content.is_empty());
    }

    /// What stands for the part that is left out.
    pub(crate) fn summary(&self) -> Option<String> {
        match self.summary.as_deref()?.content.first()? {
            Content::Text { text } => Some(text.to_string()),
            _ => None,
        }
    }

    /// The calls whose results are already short.
    pub(crate) fn elided(&self) -> &HashSet<String> {
        &self.elided
    }

    /// The messages in order. A call without a result gets the one that `stand_in` has for it.
    pub(crate) fn messages(&self, stand_in: impl Fn(&str) -> ToolError) -> Vec<Arc<Message>> {
        let units = self.units.iter().flat_map(Unit::messages);
        let mut messages: Vec<_> = self.summary.iter().chain(units).cloned().collect();
        if let Some(pending) = &self.pending {
            messages.push(Arc::clone(&pending.answer));
            messages.push(Arc::new(pending.results(stand_in)));
        }
        messages
    }

    /// The user says something: text and images.
    pub(crate) fn user(&mut self, sequence: u64, content: &[Content]) {
        self.say(sequence, Speaker::User, sayable(content));
        if let Some(unit) = self.units.last_mut() {
            unit.is_users = true;
        }
        self.bound_images();
    }

    /// From now on images take this much, or are described.
    pub(crate) fn see_images(&mut self, sight: Option<ImageTokens>) {
        let before = std::mem::replace(&mut self.sight, sight);
        if before == sight {
            return;
        }
        for unit in &mut self.units {
            let was = images::tokens_of(unit.images(), before);
            let is = images::tokens_of(unit.images(), sight);
            unit.tokens = unit.tokens.saturating_sub(was).saturating_add(is);
            self.tokens = self.tokens.saturating_sub(was).saturating_add(is);
        }
    }

    /// Whether any image is shown.
    pub(crate) fn shows_images(&self) -> bool {
        let mut images = self.units.iter().flat_map(Unit::images);
        self.sight.is_some() && images.any(|image| image.base64().is_some())
    }

    /// Describes the oldest images if there are too many.
    fn bound_images(&mut self) {
        let sight = self.sight;
        let shown = |units: &[Unit]| -> Vec<u64> {
            units.iter().map(|unit| images::tokens_of(unit.images(), sight)).collect()
        };
        let before = shown(&self.units);
        images::bound(&mut self.units);
        let after = shown(&self.units);
        for (unit, (before, after)) in self.units.iter_mut().zip(before.into_iter().zip(after)) {
            let less = before.saturating_sub(after);
            unit.tokens = unit.tokens.saturating_sub(less);
            self.tokens = self.tokens.saturating_sub(less);
        }
    }

    /// A note to the model that the user did not write.
    pub(crate) fn nudge(&mut self, sequence: u64, text: &str) {
        self.say(sequence, Speaker::User, vec![note(&format!("[Automatic note] {text}"))]);
    }

    /// The model has answered.
    pub(crate) fn answer(&mut self, sequence: u64, content: Vec<Content>) {
        let ids: Vec<_> = content
            .iter()
            .filter_map(|content| match content {
                Content::ToolUse(call) => Some(call.id.clone()),
                _ => None,
            })
            .collect();
        if ids.is_empty() {
            if content.iter().any(says_something) {
                self.say(sequence, Speaker::Assistant, content);
            }
            return;
        }
        let answer = Message { role: Speaker::Assistant, content };
        let tokens = message_tokens(&answer, self.sight);
        self.tokens += tokens;
        let positions = ids.iter().cloned().enumerate().map(|(at, id)| (id, at)).collect();
        let results = ids.into_iter().map(|id| (id, None)).collect();
        let answer = Arc::new(answer);
        self.pending = Some(Pending { sequence, answer, tokens, results, positions });
    }

    /// The model stopped in the middle of an answer, of which the user has seen `text`.
    pub(crate) fn broke_off(&mut self, sequence: u64, text: &SharedText) {
        if !text.is_blank() {
            let said = Content::Text { text: text.clone() };
            self.say(sequence, Speaker::Assistant, vec![said]);
            self.say(sequence, Speaker::User, vec![note(BROKE_OFF)]);
        }
    }

    /// An open call has its result, whose JSON is estimated to take `tokens`.
    pub(crate) fn result(&mut self, sequence: u64, call_id: &str, report: CallReport, tokens: u64) {
        let tokens = tokens + images::tokens_of(&report.images, self.sight);
        let Some(pending) = &mut self.pending else { return };
        let Some(&position) = pending.positions.get(call_id) else { return };
        pending.results[position].1 = Some((sequence, report));
        pending.positions.remove(call_id);
        pending.tokens += tokens + TOKENS_AROUND_A_RESULT;
        self.tokens += tokens + TOKENS_AROUND_A_RESULT;
        if pending.positions.is_empty() {
            self.settle(|_| crate::state::interrupted(None));
        }
    }

    /// Closes what is open, so that something else may follow.
    pub(crate) fn settle(&mut self, stand_in: impl Fn(&str) -> ToolError) {
        let Some(pending) = self.pending.take() else { return };
        let results = pending.results(stand_in);
        let added =
            if pending.positions.is_empty() { 0 } else { message_tokens(&results, self.sight) };
        self.tokens += added;
        let entries = pending
            .results
            .iter()
            .map(|(_, result)| result.as_ref().map_or(0, |(sequence, _)| *sequence));
        let entries = entries.collect();
        self.units.push(Unit {
            sequence: pending.sequence,
            tokens: pending.tokens + added,
            is_users: false,
            body: UnitBody::Step { answer: pending.answer, results: Arc::new(results), entries },
        });
        self.bound_images();
    }

    /// Replaces the earlier part by its summary and long results by short ones.
    pub(crate) fn compact(&mut self, compaction: &Compaction) {
        let last_calls = LastCalls::of(&self.units);
        let ids: HashSet<&str> = compaction.elided.iter().map(String::as_str).collect();
        self.through = compaction.through.max(self.through);
        let before = self.units.len();
        self.units.retain(|unit| unit.sequence > self.through || unit.stays(&compaction.kept));
        let lost = self.units.len() < before || self.summary.is_some();
        for unit in &mut self.units {
            unit.elide(&ids, &self.elided, &last_calls, compaction.readable, self.sight);
            unit.shorten(compaction, self.sight);
        }
        self.elided.extend(compaction.elided.iter().cloned());
        let text = match compaction.summary.as_str() {
            "" if lost => Some(LEFT_OUT),
            "" => None,
            summary => Some(summary),
        };
        self.summary =
            text.map(|text| Arc::new(Message { role: Speaker::User, content: vec![note(text)] }));
        let summary = self.summary.as_deref().map_or(0, |summary| message_tokens(summary, None));
        self.tokens = summary + self.units.iter().map(|unit| unit.tokens).sum::<u64>();
    }

    fn say(&mut self, sequence: u64, role: Speaker, content: Vec<Content>) {
        let message = Message { role, content };
        let tokens = message_tokens(&message, self.sight);
        self.tokens += tokens;
        let body = UnitBody::Said(Arc::new(message));
        self.units.push(Unit { sequence, tokens, is_users: false, body });
    }
}

impl Pending {
    fn results(&self, stand_in: impl Fn(&str) -> ToolError) -> Message {
        let results = self.results.iter().map(|(id, report)| {
            let report = match report {
                Some((_, report)) => report.clone(),
                None => Err(stand_in(id)).into(),
            };
            let CallReport { result, images, found_tools, .. } = report;
            Content::ToolResult { tool_use_id: id.clone(), result, images, found_tools }
        });
        Message { role: Speaker::User, content: results.collect() }
    }
}

impl Unit {
    /// Shortens the results of the calls in `ids` that are not short already. Images go with them.
    fn elide(
        &mut self,
        ids: &HashSet<&str>,
        already: &HashSet<String>,
        last_calls: &LastCalls,
        readable: bool,
        sight: Option<ImageTokens>,
    ) {
        let UnitBody::Step { entries, .. } = &self.body else { return };
        // A result that is not in the log cannot be read from there.
        let handle = |entry: &u64| (readable && *entry > 0).then_some(MessageHandle(*entry));
        let chosen =
            |call: &ToolCall| ids.contains(call.id.as_str()) && !already.contains(&call.id);
        let stubs: HashMap<String, String> = self
            .calls()
            .zip(entries.iter().map(handle))
            .filter(|((call, result), _)| chosen(call) && result.is_ok())
            .map(|((call, result), handle)| {
                (call.id.clone(), last_calls.stub(call, result, handle))
            })
            .collect();
        let UnitBody::Step { answer, results, .. } = &mut self.body else { return };
        if stubs.is_empty() {
            return;
        }
        for content in &mut Arc::make_mut(results).content {
            if let Content::ToolResult { tool_use_id, result, images, .. } = content
                && let Some(stub) = stubs.get(tool_use_id)
            {
                *result = Ok(stub.as_str().into());
                images.clear();
            }
        }
        self.tokens = message_tokens(answer, sight) + message_tokens(results, sight);
    }
}

impl Unit {
    /// Whether the user's words in it stay although they are in a part that is left out.
    pub(crate) fn stays(&self, kept: &[u64]) -> bool {
        self.is_users && kept.contains(&self.sequence)
    }

    /// Shows only a part of what the user said, if that is wanted.
    fn shorten(&mut self, compaction: &Compaction, sight: Option<ImageTokens>) {
        let mut shortened = compaction.shortened.iter();
        let Some(shorter) = shortened.find(|it| self.is_users && it.sequence == self.sequence)
        else {
            return;
        };
        let message = Message { role: Speaker::User, content: sayable(&shorter.content) };
        self.tokens = message_tokens(&message, sight);
        self.body = UnitBody::Said(Arc::new(message));
    }
}

/// What can be said by the user: text and images, and at least something.
fn sayable(content: &[Content]) -> Vec<Content> {
    let is_said = |content: &&Content| match content {
        Content::Text { text } | Content::Attached { text, .. } => !text.is_blank(),
        Content::Image(_) => true,
        _ => false,
    };
    let mut content: Vec<_> = content.iter().filter(is_said).cloned().collect();
    if content.is_empty() {
        content.push(note(NOTHING_SAID));
    }
    content
}

fn note(text: &str) -> Content {
    Content::Text { text: text.into() }
}

fn says_something(content: &Content) -> bool {
    content.words().is_none_or(|text| !text.is_blank())
}
