//! Which sessions a client wants to follow, and from where on.

use std::collections::BTreeMap;

use store::SessionId;

use crate::cursor::{EventCursor, InvalidCursor, MAX_FOLLOWED};

/// Follows every session that is or will be open.
const ALL: &str = "*";

/// Which sessions a client wants to follow.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Follow {
    /// Also those that are opened later.
    pub all: bool,
    /// The sessions, with the last entry that the client has seen; none for one that wants only what
    /// comes from now on.
    pub sessions: BTreeMap<SessionId, Option<u64>>,
    /// Whether the client comes back.
    pub is_resumed: bool,
}

impl Follow {
    /// What the query asks for, and where the client had stopped, if it comes back.
    pub(crate) fn parse(query: &str, last_event_id: Option<&str>) -> Result<Self, InvalidCursor> {
        let mut follow = Self { is_resumed: last_event_id.is_some(), ..Self::default() };
        for part in query.split(',').filter(|_| !query.is_empty()) {
            if part == ALL {
                follow.all = true;
                continue;
            }
            match part.parse::<SessionId>() {
                Ok(session) => follow.add(session, None)?,
                Err(_) => follow.add_positions(&part.parse()?)?,
            }
        }
        if let Some(text) = last_event_id {
            follow.add_positions(&text.parse()?)?;
        }
        Ok(follow)
    }

    fn add_positions(&mut self, cursor: &EventCursor) -> Result<(), InvalidCursor> {
        let mut positions = cursor.positions();
        if cursor.is_empty() && !self.is_resumed {
            return Err(InvalidCursor::Position(String::new()));
        }
        positions.try_for_each(|(session, sequence)| self.add(session.clone(), Some(sequence)))
    }

    fn add(&mut self, session: SessionId, from: Option<u64>) -> Result<(), InvalidCursor> {
        self.sessions.insert(session, from);
        if self.sessions.len() > MAX_FOLLOWED { Err(InvalidCursor::TooMany) } else { Ok(()) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ONE: &str = "1hf7yat00zzzzzzzzzzz";
    const TWO: &str = "1hf7yat0100000000000";

    #[test]
    fn where_the_client_had_stopped_counts_before_what_the_address_says() {
        let parse = |query: &str, last| {
            let follow = Follow::parse(query, last).unwrap();
            let sessions = follow.sessions.iter().map(|(id, from)| (id.to_string(), *from));
            (follow.all, sessions.collect::<Vec<_>>())
        };
        let two = format!("{ONE},{TWO}:4");
        let (one_id, two_id) = (ONE.to_owned(), TWO.to_owned());
        assert_eq!(
            parse(&two, None),
            (false, vec![(one_id.clone(), None), (two_id.clone(), Some(4))])
        );
        let stopped = format!("{ONE}:7,{TWO}:9");
        let expected = vec![(one_id, Some(7)), (two_id, Some(9))];
        assert_eq!(parse(&two, Some(&stopped)), (false, expected.clone()));
        assert_eq!(parse("*", Some(&stopped)), (true, expected));
        assert_eq!(parse("", Some("")), (false, Vec::new()));
        assert_eq!(parse("", None), (false, Vec::new()));
    }

    #[test]
    fn other_texts_are_refused() {
        for (query, last) in [("x", None), ("*,", None), ("", Some("x")), ("a:1", None)] {
            assert!(Follow::parse(query, last).is_err(), "{query} {last:?}");
        }
    }
}
