//! Going back to an earlier message. A log is never shortened: an entry says from where on the
//! conversation does not count any more.

use serde::{Deserialize, Serialize};

use crate::{LogEntry, SessionEvent};

/// A return to before an earlier message of the user.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Rewind {
    /// The entry of the message; it and what followed are taken back. What they cost stays counted.
    pub to: u64,
    /// The files that are as they were before the message.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub restored: Vec<String>,
    /// The files that were changed since by others, and stay as they are.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub kept: Vec<String>,
}

/// The entries of a log that were taken back.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RewoundEntries {
    /// From the first to before the last of each, in the order of their ends.
    ranges: Vec<(u64, u64)>,
}

impl RewoundEntries {
    /// Those of a whole log.
    pub fn of<'a>(entries: impl IntoIterator<Item = &'a LogEntry>) -> Self {
        let range = |entry: &LogEntry| match &entry.event {
            SessionEvent::Rewound(rewind) => Some((rewind.to, entry.sequence)),
            _ => None,
        };
        Self { ranges: entries.into_iter().filter_map(range).collect() }
    }

    /// Whether the entry at this position was taken back.
    pub fn contains(&self, sequence: u64) -> bool {
        self.ranges.iter().any(|(from, end)| (*from..*end).contains(&sequence))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn everything_between_a_message_and_the_return_to_it_is_taken_back() {
        let rewound = |sequence, to| LogEntry {
            sequence,
            at: 0,
            event: SessionEvent::Rewound(Rewind { to, restored: Vec::new(), kept: Vec::new() }),
        };
        let entries = RewoundEntries::of(&[rewound(6, 4), rewound(9, 2)]);
        let counts: Vec<u64> = (1..11).filter(|sequence| !entries.contains(*sequence)).collect();
        assert_eq!(counts, [1, 9, 10]);
        assert!(!RewoundEntries::default().contains(1));
        let json = serde_json::to_string(&rewound(6, 4).event).unwrap();
        assert_eq!(json, r#"{"type":"rewound","data":{"to":4}}"#);
    }
}
