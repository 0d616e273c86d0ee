//! One span, and the ids that do not depend on who makes it.

use std::fmt;

/// Separates our hashes from those of other programs; a change of it changes all ids.
const CONTEXT: &str = "toolkiln telemetry ids 1";

/// Names all spans of one turn.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct TraceId(pub [u8; 16]);

/// Names a span.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct SpanId(pub [u8; 8]);

impl TraceId {
    /// The trace of the turn that begins at this position of the session's log.
    pub fn of(session: &str, sequence: u64) -> Self {
        Self(hashed("trace", session, sequence))
    }
}

impl SpanId {
    /// The span that begins at this position of the session's log. An entry begins one span at most.
    pub fn of(session: &str, sequence: u64) -> Self {
        Self(hashed("span", session, sequence))
    }

    /// The span of a request that another program's span has made.
    pub(crate) fn of_request(caller: Self, request: &str, began_ms: u64) -> Self {
        Self(hashed("request", &format!("{caller} {request}"), began_ms))
    }
}

/// The first bytes of a hash. All zeros would be an invalid id, and is as likely as any other value.
fn hashed<const N: usize>(what: &str, whose: &str, number: u64) -> [u8; N] {
    let mut hasher = blake3::Hasher::new_derive_key(CONTEXT);
    hasher.update(what.as_bytes()).update(&number.to_le_bytes()).update(whose.as_bytes());
    let mut bytes = [0; N];
    hasher.finalize_xof().fill(&mut bytes);
    bytes
}

fn hex(bytes: &[u8], f: &mut fmt::Formatter<'_>) -> fmt::Result {
    bytes.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
}

impl fmt::Display for TraceId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        hex(&self.0, f)
    }
}

impl fmt::Display for SpanId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        hex(&self.0, f)
    }
}

impl fmt::Debug for TraceId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{self}")
    }
}

impl fmt::Debug for SpanId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{self}")
    }
}

/// Something that took time.
#[derive(Clone, Debug, PartialEq)]
pub struct TraceSpan {
    /// The turn it belongs to.
    pub trace: TraceId,
    /// Its name for other spans.
    pub id: SpanId,
    /// The span it is a part of; none for a turn of the user's.
    pub parent: Option<SpanId>,
    /// What other vendors have added to the trace; none for traces of our own.
    pub state: Option<String>,
    /// What it is, with few different values: `execute_tool read_file`.
    pub name: String,
    /// On which side of a call it is.
    pub kind: SpanKind,
    /// Milliseconds since 1970.
    pub start_ms: u64,
    /// Milliseconds since 1970; not before `start_ms`.
    pub end_ms: u64,
    /// How it ended.
    pub status: SpanStatus,
    /// What else is known of it.
    pub attributes: Vec<(&'static str, AttributeValue)>,
}

impl TraceSpan {
    /// An attribute, if it is there and a text.
    pub fn text(&self, key: &str) -> Option<&str> {
        self.attributes.iter().find_map(|(name, value)| match value {
            AttributeValue::Text(text) if *name == key => Some(text.as_str()),
            _ => None,
        })
    }
}

/// On which side of a call a span is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SpanKind {
    /// Within this process.
    Internal,
    /// Another process is asked.
    Client,
    /// Another process asks.
    Server,
}

/// How a span ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SpanStatus {
    /// Nothing is said, which means that it went well.
    Unset,
    /// It failed; [`crate::conventions::key::ERROR_TYPE`] says of what.
    Error,
}

#[derive(Clone, Debug, PartialEq)]
pub enum AttributeValue {
    Text(String),
    /// Several texts.
    Texts(Vec<String>),
    /// A whole number.
    Whole(i64),
    Number(f64),
    /// Yes or no.
    Flag(bool),
}

impl From<&str> for AttributeValue {
    fn from(text: &str) -> Self {
        Self::Text(text.to_owned())
    }
}

impl From<String> for AttributeValue {
    fn from(text: String) -> Self {
        Self::Text(text)
    }
}

impl From<u64> for AttributeValue {
    /// Counts of things stay far below the largest number.
    fn from(count: u64) -> Self {
        Self::Whole(i64::try_from(count).unwrap_or(i64::MAX))
    }
}

impl From<f64> for AttributeValue {
    fn from(number: f64) -> Self {
        Self::Number(number)
    }
}

impl From<bool> for AttributeValue {
    fn from(flag: bool) -> Self {
        Self::Flag(flag)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_are_the_same_everywhere_and_differ_by_session_position_and_purpose() {
        let ids = [
            TraceId::of("01h455vb4p", 2).to_string(),
            TraceId::of("01h455vb4p", 3).to_string(),
            TraceId::of("01h455vb4q", 2).to_string(),
            SpanId::of("01h455vb4p", 2).to_string(),
        ];
        insta::assert_snapshot!(ids.join("\n"), @"
        73bf3fd7b281e2baeb77784a53b8a4c7
        bf6f92115b54731d6f00f180f47b6293
        7e47b47a1ab819dbc711f8f0936a4662
        611c513804693d28
        ");
    }
}
