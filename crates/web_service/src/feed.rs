//! What a client has not seen yet of a session, told as items of its timeline.
//!
//! There is one [`Feed`] for a session, whatever the number of its clients, and it has no queues: a
//! client holds a position and asks what has changed since. A slow client therefore costs no memory
//! and loses nothing; it gets the newest form of each item when it gets around to reading.

#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;

use protocol::{LogEntry, SharedText};
use timeline::{AnswerState, ItemBody, ItemChanges, ItemId, Timeline};

/// Items of one batch, so that a client that resumes far behind gets pieces it can draw.
const MAX_ITEMS: usize = 200;
/// Bytes of a batch after which no further item is added. One item may be larger.
const MAX_BYTES: usize = 256 * 1024;

/// The timeline of a session with the moment at which each item last changed.
#[derive(Debug, Default)]
pub struct Feed {
    timeline: Timeline,
    /// Each entry that was taken, with the revision it made; both grow.
    applied: Vec<(u64, u64)>,
    /// Grows with every change, also with those that are not in the log.
    revision: u64,
    touched: HashMap<ItemId, u64>,
    /// The items whose last change made this revision.
    by_revision: BTreeMap<u64, BTreeSet<ItemId>>,
    /// Items as JSON, made once for all clients.
    drawn: HashMap<ItemId, Arc<str>>,
    /// Texts that are being written, and have only grown since the revisions named.
    growing: HashMap<ItemId, Growth>,
}

/// How a text has grown.
#[derive(Debug, Default)]
struct Growth {
    text: SharedText,
    /// Revisions and how long the text was then; both grow.
    lengths: Vec<(u64, usize)>,
}

/// What a client has of a feed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Known {
    /// It has seen everything up to this revision.
    pub revision: u64,
    /// Whether it has every item as it was then. A client in the middle of a long way has not: items
    /// that changed again later come with their later change.
    pub is_whole: bool,
}

impl Known {
    /// What a client has that was sent this batch.
    pub fn after(batch: &FeedBatch) -> Self {
        Self { revision: batch.revision, is_whole: !batch.has_more }
    }
}

/// What became of an entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EntryFate {
    /// It is in the timeline now.
    Applied,
    /// It was there before.
    Known,
    /// Entries before it are missing; the log has to be read again.
    Gap,
}

/// What has changed between two positions.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FeedBatch {
    /// The client has seen the log up to here.
    pub after: u64,
    /// With this batch it has seen the log up to here.
    pub through: u64,
    /// The revision to ask from next.
    pub revision: u64,
    /// The items as JSON, each in its newest form, in the order in which they last changed.
    pub items: Vec<Arc<str>>,
    /// What came to the end of the texts of other items, as JSON: `{"id": 3, "text": "more"}`.
    pub grown: Vec<String>,
    /// Whether more is there already.
    pub has_more: bool,
}

impl Feed {
    /// The feed of a log as the store has it.
    pub fn of<'a>(entries: impl IntoIterator<Item = &'a LogEntry>) -> Self {
        let mut feed = Self::default();
        feed.catch_up(entries);
        feed
    }

    /// Takes an entry that was just written.
    pub fn take(&mut self, entry: &LogEntry) -> EntryFate {
        let last = self.through();
        if entry.sequence <= last {
            return EntryFate::Known;
        }
        if entry.sequence != last + 1 {
            return EntryFate::Gap;
        }
        self.apply(entry);
        EntryFate::Applied
    }

    /// Takes what the store has and this feed has not. What is missing there is damaged for good.
    pub fn catch_up<'a>(&mut self, entries: impl IntoIterator<Item = &'a LogEntry>) {
        for entry in entries {
            if entry.sequence > self.through() {
                self.apply(entry);
            }
        }
    }

    /// Takes what a call prints, which is not in the log.
    pub fn output(&mut self, call_id: &str, text: &str) {
        let changes = self.timeline.output(call_id, text);
        if !changes.is_empty() {
            self.revision += 1;
            self.touch(&changes);
        }
    }

    /// Takes a few lines about the result of a call.
    pub fn preview(&mut self, call_id: &str, lines: &[String]) {
        self.timeline.preview(call_id, lines);
    }

    /// The last entry of the log that was taken.
    pub fn through(&self) -> u64 {
        self.applied.last().map_or(0, |(sequence, _)| *sequence)
    }

    /// Grows with every change.
    pub fn revision(&self) -> u64 {
        self.revision
    }

    /// The timeline as it is now.
    pub fn timeline(&self) -> &Timeline {
        &self.timeline
    }

    /// The revision that a client has who has seen the log up to this entry.
    pub fn revision_at(&self, sequence: u64) -> u64 {
        let after = self.applied.partition_point(|(applied, _)| *applied <= sequence);
        after.checked_sub(1).map_or(0, |at| self.applied[at].1)
    }

    /// What a client does not have.
    pub fn since(&mut self, known: Known) -> FeedBatch {
        let Known { revision, is_whole } = known;
        let after = self.sequence_at(revision);
        let Self { timeline, by_revision, drawn, growing, .. } = self;
        let (mut items, mut grown, mut bytes, mut stopped_at) = (Vec::new(), Vec::new(), 0, None);
        let mut end = revision;
        for (at, ids) in by_revision.range(revision + 1..) {
            if items.len() + grown.len() >= MAX_ITEMS || bytes >= MAX_BYTES {
                stopped_at = Some(end);
                break;
            }
            // What one entry has changed stays together: a position is never in between.
            for id in ids {
                let more = growing.get(id).filter(|_| is_whole).and_then(|it| it.since(revision));
                if let Some(more) = more {
                    bytes += more.len();
                    grown.push(appended(*id, &more));
                    continue;
                }
                let item = drawn.entry(*id).or_insert_with(|| draw(timeline, *id));
                bytes += item.len();
                items.push(Arc::clone(item));
            }
            end = *at;
        }
        let revision = stopped_at.unwrap_or(self.revision);
        let through = self.sequence_at(revision);
        FeedBatch { after, through, revision, items, grown, has_more: stopped_at.is_some() }
    }

    /// Up to which entry a client with this revision has seen the log.
    fn sequence_at(&self, revision: u64) -> u64 {
        let after = self.applied.partition_point(|(_, made)| *made <= revision);
        after.checked_sub(1).map_or(0, |at| self.applied[at].0)
    }

    fn apply(&mut self, entry: &LogEntry) {
        let changes = self.timeline.apply(entry);
        self.revision += 1;
        self.applied.push((entry.sequence, self.revision));
        self.touch(&changes);
    }

    fn touch(&mut self, changes: &ItemChanges) {
        for id in changes.ids() {
            if let Some(before) = self.touched.insert(id, self.revision)
                && let Some(ids) = self.by_revision.get_mut(&before)
            {
                ids.remove(&id);
                if ids.is_empty() {
                    self.by_revision.remove(&before);
                }
            }
            self.by_revision.entry(self.revision).or_default().insert(id);
            self.drawn.remove(&id);
            self.grow(id);
        }
    }

    /// Notes how long a text is that is being written.
    fn grow(&mut self, id: ItemId) {
        let text = match &self.timeline.item(id).body {
            ItemBody::Answer(answer) if answer.state == AnswerState::Streaming => &answer.text,
            ItemBody::Thinking { text, took_ms: None } => text,
            _ => return drop(self.growing.remove(&id)),
        };
        let growth = self.growing.entry(id).or_default();
        if !text.begins_with(&growth.text) {
            growth.lengths.clear();
        }
        growth.text = text.clone();
        growth.lengths.push((self.revision, growth.text.len()));
    }
}

impl Growth {
    /// What came since a revision; none if the text was not there yet, or was another.
    fn since(&self, revision: u64) -> Option<String> {
        let after = self.lengths.partition_point(|(at, _)| *at <= revision);
        let (_, length) = self.lengths[after.checked_sub(1)?];
        Some(self.text.copied(length..self.text.len()))
    }
}

fn appended(id: ItemId, more: &str) -> String {
    serde_json::json!({"id": id, "text": more}).to_string()
}

fn draw(timeline: &Timeline, id: ItemId) -> Arc<str> {
    // An item is made of texts and numbers, which always can be written as JSON.
    serde_json::to_string(timeline.item(id)).unwrap_or_else(|_| "null".to_owned()).into()
}
