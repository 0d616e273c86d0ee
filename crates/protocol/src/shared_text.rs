//! Text that grows at its end and is shared instead of copied. "Memory / answer" of `cargo xtask bench terminal`
//! measures it: an answer of 10 MB may take twice its size.

use std::borrow::Cow;
use std::fmt;
use std::ops::Range;
use std::sync::{Arc, PoisonError, RwLock};

use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// Room of the first block that text is added to.
const SMALLEST_BLOCK: usize = 256;
/// Room of the largest blocks: a text that ends wastes less than this.
const LARGEST_BLOCK: usize = 64 * 1024;
/// A part of a block smaller than this is copied rather than kept alive for its sake alone.
const SHARED_FROM: usize = 4 * 1024;

/// A text whose clones, and whose pieces as they arrived, all refer to the same bytes.
///
/// It is a list of parts of blocks. A block has a fixed room that is filled once; a part never changes, so
/// whoever holds one is not disturbed by what is added behind it. Text that is added piece by piece in one
/// place, and put together again from these pieces in others, is in memory once. In JSON it is a string.
#[derive(Clone, Default)]
pub struct SharedText {
    spans: Vec<Span>,
    len: usize,
}

#[derive(Clone)]
struct Span {
    block: Arc<TextBlock>,
    from: usize,
    to: usize,
}

struct TextBlock {
    text: RwLock<String>,
    room: usize,
}

impl TextBlock {
    fn with_room(room: usize) -> Arc<Self> {
        Arc::new(Self { text: RwLock::new(String::with_capacity(room)), room })
    }

    /// Adds as much of `more` as there is room for, if the block still ends at `at`. Says how many bytes that were.
    fn grow(&self, at: usize, more: &str) -> usize {
        let mut text = self.text.write().unwrap_or_else(PoisonError::into_inner);
        if text.len() != at {
            return 0;
        }
        let taken = more.floor_char_boundary(self.room.saturating_sub(at).min(more.len()));
        text.push_str(&more[..taken]);
        taken
    }
}

impl Span {
    fn read<T>(&self, read: impl FnOnce(&str) -> T) -> T {
        let text = self.block.text.read().unwrap_or_else(PoisonError::into_inner);
        read(text.get(self.from..self.to).unwrap_or_default())
    }

    fn is_same(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.block, &other.block) && (self.from, self.to) == (other.from, other.to)
    }
}

impl SharedText {
    /// An empty text.
    pub fn new() -> Self {
        Self::default()
    }

    /// The length in bytes.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether there is no text.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Whether there is nothing but white space.
    pub fn is_blank(&self) -> bool {
        self.spans.iter().all(|span| span.read(|text| text.trim().is_empty()))
    }

    /// Whether this is `other` with something behind it, or the same. Where both share their bytes, nothing is read.
    pub fn begins_with(&self, other: &Self) -> bool {
        let Some((last, before)) = other.spans.split_last() else { return true };
        let shares_last = self.spans.get(before.len()).is_some_and(|span| {
            let is_longer = span.to >= last.to;
            Arc::ptr_eq(&span.block, &last.block) && span.from == last.from && is_longer
        });
        let shares = |(one, other): (&Span, &Span)| one.is_same(other);
        (shares_last && self.spans.iter().zip(before).all(shares))
            || self.copied(0..other.len) == other.to_string()
    }

    /// A copy of the characters that lie as a whole in this range of bytes.
    pub fn copied(&self, range: Range<usize>) -> String {
        let mut copy = String::new();
        let mut at = 0;
        for span in &self.spans {
            let (start, end) = (at, at + span.to - span.from);
            at = end;
            if end <= range.start || start >= range.end {
                continue;
            }
            let (from, to) = (range.start.max(start) - start, range.end.min(end) - start);
            span.read(|text| {
                let (from, to) = (text.ceil_char_boundary(from), text.floor_char_boundary(to));
                copy.push_str(text.get(from..to).unwrap_or_default());
            });
        }
        copy
    }

    /// Adds a copy of `more`.
    pub fn push_str(&mut self, mut more: &str) {
        while !more.is_empty() {
            let taken = self.spans.last().map_or(0, |last| last.block.grow(last.to, more));
            match self.spans.last_mut() {
                Some(last) if taken > 0 => {
                    last.to += taken;
                    self.len += taken;
                    more = &more[taken..];
                }
                _ => {
                    let room = self.len.max(more.len()).clamp(SMALLEST_BLOCK, LARGEST_BLOCK);
                    let block = TextBlock::with_room(room);
                    self.spans.push(Span { block, from: 0, to: 0 });
                }
            }
        }
    }

    /// Adds a copy of `more`, and gives that as a text of its own, which shares the bytes.
    pub fn push_piece(&mut self, more: &str) -> Self {
        let before = self.len;
        self.push_str(more);
        self.since(before)
    }

    /// What lies behind the first `at` bytes.
    fn since(&self, at: usize) -> Self {
        let mut rest = Self { spans: Vec::new(), len: self.len - at };
        let mut end = self.len;
        for span in self.spans.iter().rev().take_while(|_| rest.len > 0) {
            let start = end - (span.to - span.from);
            let from = span.from + at.saturating_sub(start);
            rest.spans.push(Span { from, ..span.clone() });
            end = start;
            if start <= at {
                break;
            }
        }
        rest.spans.reverse();
        rest
    }

    /// Adds a text. Its bytes are shared, except for small pieces that have nothing to do with those before.
    pub fn push(&mut self, more: &Self) {
        self.push_with(more, |_| None);
    }

    /// Adds a text, each piece of it as `change` says, or as it is where `change` says nothing.
    pub fn push_with(&mut self, more: &Self, mut change: impl FnMut(&str) -> Option<String>) {
        for span in &more.spans {
            match span.read(&mut change) {
                Some(changed) => self.push_str(&changed),
                None => self.push_span(span),
            }
        }
    }

    fn push_span(&mut self, span: &Span) {
        let length = span.to - span.from;
        match self.spans.last_mut() {
            Some(last) if Arc::ptr_eq(&last.block, &span.block) && last.to == span.from => {
                last.to = span.to;
                self.len += length;
            }
            Some(_) if span.block.room < SHARED_FROM => {
                // Copied first: the block that is added to may be the one that is read.
                let copy = span.read(str::to_owned);
                self.push_str(&copy);
            }
            _ => {
                self.spans.push(span.clone());
                self.len += length;
            }
        }
    }
}

impl From<String> for SharedText {
    fn from(text: String) -> Self {
        let (len, room) = (text.len(), text.len());
        if len == 0 {
            return Self::default();
        }
        let block = Arc::new(TextBlock { text: RwLock::new(text), room });
        Self { spans: vec![Span { block, from: 0, to: len }], len }
    }
}

impl From<&str> for SharedText {
    fn from(text: &str) -> Self {
        text.to_owned().into()
    }
}

impl From<&String> for SharedText {
    fn from(text: &String) -> Self {
        text.clone().into()
    }
}

impl fmt::Display for SharedText {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.spans.iter().try_for_each(|span| span.read(|text| out.write_str(text)))
    }
}

impl fmt::Debug for SharedText {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&self.to_string(), out)
    }
}

/// Texts are equal if they say the same, wherever their bytes are.
impl PartialEq for SharedText {
    fn eq(&self, other: &Self) -> bool {
        let same = |(one, other): (&Span, &Span)| one.is_same(other);
        let is_shared =
            self.spans.len() == other.spans.len() && self.spans.iter().zip(&other.spans).all(same);
        self.len == other.len && (is_shared || self.to_string() == other.to_string())
    }
}

impl Eq for SharedText {}

impl PartialEq<str> for SharedText {
    fn eq(&self, other: &str) -> bool {
        self.len == other.len() && self.copied(0..self.len) == other
    }
}

impl PartialEq<&str> for SharedText {
    fn eq(&self, other: &&str) -> bool {
        self == *other
    }
}

impl Serialize for SharedText {
    fn serialize<S: Serializer>(&self, out: S) -> Result<S::Ok, S::Error> {
        out.collect_str(self)
    }
}

impl JsonSchema for SharedText {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        "SharedText".into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        generator.subschema_for::<str>()
    }
}

impl<'de> Deserialize<'de> for SharedText {
    fn deserialize<D: Deserializer<'de>>(input: D) -> Result<Self, D::Error> {
        String::deserialize(input).map(Self::from)
    }
}

#[cfg(test)]
mod tests;
