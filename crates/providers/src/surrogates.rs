//! Halves of characters: servers that count in UTF-16 cut an emoji in two, and send each half in an
//! event of its own, as `"\ud83d"` and `"\ude00"`. Neither is valid in a Rust string.
//!
//! Before an event is parsed, each lone half is replaced by a *mark*: a noncharacter and a character
//! that stands for the half. Marks pass through parsing and joining like any other text. Before
//! anything is passed on, two halves that have come together become their character again, and a half
//! that has stayed alone becomes U+FFFD.

use std::borrow::Cow;

use context_manager::{ModelError, ModelEvent, StopReason};
use protocol::{Content, ToolCall};
use serde_json::Value;

/// Begins a mark. It is a noncharacter, which no text is meant to hold.
const MARK: char = '\u{10fffe}';
/// Stands for the half 0xD800 after a mark; the others follow. All are of a private area.
const FIRST_HALF: u32 = 0x0010_0000;
const HALVES: std::ops::RangeInclusive<u16> = 0xd800..=0xdfff;
const HIGH: std::ops::RangeInclusive<u16> = 0xd800..=0xdbff;
const LOW: std::ops::RangeInclusive<u16> = 0xdc00..=0xdfff;
/// The length of `\ud83d`.
const ESCAPE: usize = 6;

/// The JSON value that `text` is, with U+FFFD for lone halves.
pub(crate) fn read_json(text: &str) -> serde_json::Result<Value> {
    match marked(text) {
        None => serde_json::from_str(text),
        Some(text) => serde_json::from_str(&text).map(whole_value),
    }
}

/// The same JSON with a mark for each lone half; none if there are no lone halves.
pub(crate) fn marked(json: &str) -> Option<String> {
    if !json.contains("\\ud") && !json.contains("\\uD") {
        return None;
    }
    let mut out = String::new();
    let (mut rest, mut found) = (json, false);
    while let Some(at) = rest.find('\\') {
        out.push_str(&rest[..at]);
        rest = &rest[at..];
        let taken = match (half(rest), rest.get(ESCAPE..).and_then(half)) {
            (Some(high), Some(low)) if HIGH.contains(&high) && LOW.contains(&low) => 2 * ESCAPE,
            (Some(lone), _) => {
                found = true;
                out.extend(mark(lone));
                rest = &rest[ESCAPE..];
                continue;
            }
            // The character after a backslash never begins an escape.
            (None, _) => 1 + rest[1..].chars().next().map_or(0, char::len_utf8),
        };
        out.push_str(&rest[..taken]);
        rest = &rest[taken..];
    }
    out.push_str(rest);
    found.then_some(out)
}

/// The half of a character that an escape at the beginning of `json` writes.
fn half(json: &str) -> Option<u16> {
    let digits = json.strip_prefix("\\u")?.get(..4)?;
    let unit = u16::from_str_radix(digits, 16).ok()?;
    (HALVES.contains(&unit) && !digits.starts_with('+')).then_some(unit)
}

fn mark(half: u16) -> impl Iterator<Item = char> {
    let carrier = char::from_u32(FIRST_HALF + u32::from(half - HALVES.start()));
    [MARK].into_iter().chain(carrier)
}

/// The half that a mark at the beginning of `text` stands for, and what follows it.
fn split_mark(text: &str) -> Option<(u16, &str)> {
    let mut rest = text.strip_prefix(MARK)?.chars();
    let offset = u32::from(rest.next()?).checked_sub(FIRST_HALF)?;
    let half = u16::try_from(offset).ok()?.checked_add(*HALVES.start())?;
    HALVES.contains(&half).then_some((half, rest.as_str()))
}

/// `text` without marks: pairs are characters again, and what is alone is replaced.
pub(crate) fn whole(text: &str) -> Cow<'_, str> {
    if !text.contains(MARK) {
        return Cow::Borrowed(text);
    }
    let (mut out, mut rest) = (String::new(), text);
    while let Some(at) = rest.find(MARK) {
        out.push_str(&rest[..at]);
        rest = &rest[at..];
        match split_mark(rest) {
            Some((half, after)) => {
                let pair = split_mark(after).and_then(|(low, end)| Some((join(half, low)?, end)));
                let (character, end) = pair.unwrap_or((char::REPLACEMENT_CHARACTER, after));
                out.push(character);
                rest = end;
            }
            // The server itself sent the noncharacter.
            None => {
                out.push(MARK);
                rest = &rest[MARK.len_utf8()..];
            }
        }
    }
    out.push_str(rest);
    Cow::Owned(out)
}

fn join(high: u16, low: u16) -> Option<char> {
    char::decode_utf16([high, low]).next()?.ok()
}

/// Where a text ends in the first half of a character: before that half.
fn before_half(text: &str) -> Option<usize> {
    let at = text.rfind(MARK)?;
    let (half, after) = split_mark(&text[at..])?;
    (HIGH.contains(&half) && after.is_empty()).then_some(at)
}

/// Text that comes in pieces; a half at the end of one waits for the next.
#[derive(Clone, Debug, Default)]
struct Pieces {
    held: String,
}

impl Pieces {
    fn push(&mut self, piece: String) -> Option<String> {
        let mut text = std::mem::take(&mut self.held) + &piece;
        if let Some(at) = before_half(&text) {
            self.held = text.split_off(at);
        }
        (!text.is_empty()).then(|| whole(&text).into_owned())
    }

    /// Nothing more comes: what is held has stayed alone.
    fn finish(&mut self) -> Option<String> {
        let held = std::mem::take(&mut self.held);
        (!held.is_empty()).then(|| whole(&held).into_owned())
    }
}

/// Puts the characters of an answer together again. It does nothing until the first lone half comes.
#[derive(Clone, Debug, Default)]
pub(crate) struct SurrogateRepair {
    has_marks: bool,
    text: Pieces,
    thinking: Pieces,
}

impl SurrogateRepair {
    /// Makes the data of an event readable.
    pub(crate) fn mark(&mut self, data: &mut String) {
        if let Some(marked) = marked(data) {
            self.has_marks = true;
            *data = marked;
        }
    }

    /// What is passed on of what was read.
    pub(crate) fn repair(&mut self, events: Vec<ModelEvent>) -> Vec<ModelEvent> {
        if !self.has_marks {
            return events;
        }
        let mut out = Vec::new();
        for event in events {
            match event {
                ModelEvent::Text(text) => out.extend(self.text.push(text).map(ModelEvent::Text)),
                ModelEvent::Thinking(text) => {
                    out.extend(self.thinking.push(text).map(ModelEvent::Thinking));
                }
                ModelEvent::Usage(_) => out.push(event),
                // A part of another kind, or the end: no second half can follow.
                other => {
                    out.extend(self.thinking.finish().map(ModelEvent::Thinking));
                    out.extend(self.text.finish().map(ModelEvent::Text));
                    out.push(whole_event(other));
                }
            }
        }
        out
    }

    /// An error quotes the provider.
    pub(crate) fn repair_error(&self, mut error: ModelError) -> ModelError {
        error.message = whole(&error.message).into_owned();
        error
    }
}

fn whole_event(event: ModelEvent) -> ModelEvent {
    let whole = |text: String| whole(&text).into_owned();
    match event {
        ModelEvent::ToolCallStarted { id, name } => {
            ModelEvent::ToolCallStarted { id: whole(id), name: whole(name) }
        }
        // Its arguments were made whole before they were parsed.
        ModelEvent::ToolCall(ToolCall { id, name, arguments }) => {
            ModelEvent::ToolCall(ToolCall::new(whole(id), whole(name), arguments))
        }
        ModelEvent::BrokenToolCall { id, name, arguments, reason } => ModelEvent::BrokenToolCall {
            id: whole(id),
            name: whole(name),
            arguments: whole(arguments),
            reason: whole(reason),
        },
        ModelEvent::Kept(Content::Opaque { provider, block }) => {
            ModelEvent::Kept(Content::Opaque { provider, block: whole_value(block) })
        }
        ModelEvent::Done(StopReason::Other(reason)) => {
            ModelEvent::Done(StopReason::Other(whole(reason)))
        }
        other => other,
    }
}

fn whole_value(value: Value) -> Value {
    match value {
        Value::String(text) => whole(&text).into_owned().into(),
        Value::Array(values) => values.into_iter().map(whole_value).collect(),
        Value::Object(map) => {
            let entries = map.into_iter();
            entries.map(|(key, value)| (whole(&key).into_owned(), whole_value(value))).collect()
        }
        other => other,
    }
}

#[cfg(test)]
mod tests;
