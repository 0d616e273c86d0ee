//! How far a client has seen each session it follows: `session:sequence,session:sequence`.
//!
//! The text is the id of every event that carries items, so that a browser sends it back as
//! `Last-Event-ID` without any code of the page. It says everything that is needed to go on; the
//! service remembers nothing about a client that has gone.

use std::collections::BTreeMap;
use std::fmt;
use std::str::FromStr;

use store::SessionId;

/// Sessions that one stream may follow. Their ids stand in the id of every event, and in one header
/// of the request that resumes the stream.
pub const MAX_FOLLOWED: usize = 256;

/// Positions in the logs of several sessions: the last entry that was seen of each.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct EventCursor(BTreeMap<SessionId, u64>);

/// The text is not a list of positions.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub enum InvalidCursor {
    /// One part of it is not a position.
    #[error("`{0}` is not a position such as 1hf7yat00zzzzzzzzzzz:12")]
    Position(String),
    /// A session is named more than once.
    #[error("session {0} is named twice")]
    Twice(String),
    /// More sessions than a stream may follow.
    #[error("a stream follows at most {MAX_FOLLOWED} sessions")]
    TooMany,
}

impl EventCursor {
    /// The last entry that was seen of a session; none if the session is not followed.
    pub fn position(&self, session: &SessionId) -> Option<u64> {
        self.0.get(session).copied()
    }

    /// Has seen the session up to this entry. Never goes back.
    pub fn advance(&mut self, session: &SessionId, sequence: u64) {
        let seen = self.0.entry(session.clone()).or_default();
        *seen = sequence.max(*seen);
    }

    /// No longer follows a session.
    pub fn leave(&mut self, session: &SessionId) {
        self.0.remove(session);
    }

    /// The followed sessions with the last entry that was seen of each.
    pub fn positions(&self) -> impl Iterator<Item = (&SessionId, u64)> {
        self.0.iter().map(|(session, sequence)| (session, *sequence))
    }

    /// How many sessions are followed.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Whether no session is followed.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

impl fmt::Display for EventCursor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (at, (session, sequence)) in self.0.iter().enumerate() {
            let comma = if at == 0 { "" } else { "," };
            write!(f, "{comma}{session}:{sequence}")?;
        }
        Ok(())
    }
}

impl FromStr for EventCursor {
    type Err = InvalidCursor;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let mut cursor = Self::default();
        for part in text.split(',').filter(|_| !text.is_empty()) {
            let invalid = || InvalidCursor::Position(part.to_owned());
            let (session, sequence) = part.split_once(':').ok_or_else(invalid)?;
            let is_number = sequence.bytes().all(|byte| byte.is_ascii_digit());
            let sequence = sequence.parse().ok().filter(|_| is_number).ok_or_else(invalid)?;
            let session: SessionId = session.parse().map_err(|_| invalid())?;
            if cursor.0.insert(session, sequence).is_some() {
                return Err(InvalidCursor::Twice(part.to_owned()));
            }
            if cursor.len() > MAX_FOLLOWED {
                return Err(InvalidCursor::TooMany);
            }
        }
        Ok(cursor)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ONE: &str = "1hf7yat00zzzzzzzzzzz";
    const TWO: &str = "1hf7yat0100000000000";

    #[test]
    fn a_cursor_reads_back_and_never_goes_back() {
        let mut cursor: EventCursor = format!("{TWO}:7,{ONE}:0").parse().unwrap();
        assert_eq!(cursor.to_string(), format!("{ONE}:0,{TWO}:7"));
        let one: SessionId = ONE.parse().unwrap();
        cursor.advance(&one, 9);
        cursor.advance(&one, 3);
        assert_eq!(cursor.position(&one), Some(9));
        cursor.leave(&one);
        assert_eq!(cursor.to_string().parse::<EventCursor>().unwrap(), cursor);
        assert_eq!("".parse::<EventCursor>().unwrap(), EventCursor::default());
    }

    #[test]
    fn other_texts_are_refused() {
        let twice = format!("{ONE}:1,{ONE}:2");
        let overflow = format!("{ONE}:99999999999999999999999");
        let bad = [",", "x", "x:1", &format!("{ONE}:"), &format!("{ONE}:+1"), &format!("{ONE}:-1")];
        for text in bad.into_iter().chain([&*twice, &*overflow, &format!("{ONE}:1,")]) {
            assert!(text.parse::<EventCursor>().is_err(), "{text}");
        }
    }
}
