//! An entry of a log as it is stored.

use protocol::{LogEntry, SessionEvent};

use crate::{SessionId, StoreError};

/// One stored entry. `data` is the event as JSON, exactly as it was written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Row {
    pub(crate) sequence: u64,
    pub(crate) at: i64,
    pub(crate) kind: String,
    pub(crate) data: String,
}

impl Row {
    pub(crate) fn new(sequence: u64, at: i64, event: &SessionEvent) -> Result<Self, StoreError> {
        let data = serde_json::to_string(event)
            .map_err(|error| StoreError::failed("writing an event as JSON", error))?;
        let kind = kind_of(data.as_bytes()).to_owned();
        Ok(Self { sequence, at, kind, data })
    }

    /// Shows whether the row is still what was written, and where. Without it a changed bit in the
    /// file would pass as content of the session.
    pub(crate) fn checksum(&self, session: &SessionId) -> u32 {
        let mut hasher = hasher(session, self.sequence, self.at, &self.kind);
        hasher.update(self.data.as_bytes());
        hasher.finalize()
    }

    /// The entry; none if this version does not know such events.
    pub(crate) fn entry(&self) -> Option<LogEntry> {
        let event = serde_json::from_str(&self.data).ok()?;
        Some(LogEntry { sequence: self.sequence, at: self.at, event })
    }

    /// The entry as a line of an export, whether this version knows the event or not.
    pub(crate) fn line(&self) -> String {
        let members = self.data.strip_prefix('{').unwrap_or("}");
        format!("{{\"sequence\":{},\"at\":{},{members}", self.sequence, self.at)
    }
}

/// Events as entries that follow a position.
pub(crate) fn number(events: Vec<SessionEvent>, last: u64, at: i64) -> Vec<LogEntry> {
    let numbered = (last + 1..).zip(events);
    numbered.map(|(sequence, event)| LogEntry { sequence, at, event }).collect()
}

/// The checksum of a row before its data.
pub(crate) fn hasher(session: &SessionId, sequence: u64, at: i64, kind: &str) -> crc32fast::Hasher {
    let mut hasher = crc32fast::Hasher::new();
    hasher.update(session.as_str().as_bytes());
    hasher.update(&sequence.to_le_bytes());
    hasher.update(&at.to_le_bytes());
    hasher.update(kind.as_bytes());
    hasher.update(b"\0");
    hasher
}

/// The type of an event in JSON, which always stands first.
pub(crate) fn kind_of(data: &[u8]) -> &str {
    let rest = data.strip_prefix(b"{\"type\":\"").unwrap_or_default();
    let kind = rest.split(|byte| *byte == b'"').next().unwrap_or_default();
    str::from_utf8(kind).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn renamed() -> Row {
        Row::new(7, 9, &SessionEvent::Renamed { title: "a \"b\"".into() }).unwrap()
    }

    #[test]
    fn a_row_knows_its_kind_and_reads_back() {
        let row = renamed();
        assert_eq!(row.kind, "renamed");
        let entry = row.entry().unwrap();
        assert_eq!(Row::new(entry.sequence, entry.at, &entry.event).unwrap(), row);
        assert_eq!(serde_json::from_str::<LogEntry>(&row.line()).unwrap(), entry);
        let bare = Row::new(1, 0, &SessionEvent::Continued).unwrap();
        assert_eq!(bare.kind, "continued");
        assert_eq!(bare.line(), r#"{"sequence":1,"at":0,"type":"continued"}"#);
    }

    #[test]
    fn the_checksum_covers_every_part() {
        let session: SessionId = "1hf7yat00zzzzzzzzzzz".parse().unwrap();
        let other: SessionId = "1hf7yat00zzzzzzzzzzy".parse().unwrap();
        let row = renamed();
        let sum = row.checksum(&session);
        assert_ne!(row.checksum(&other), sum);
        assert_ne!(Row { sequence: 8, ..row.clone() }.checksum(&session), sum);
        assert_ne!(Row { at: 8, ..row.clone() }.checksum(&session), sum);
        assert_ne!(Row { kind: "x".into(), ..row.clone() }.checksum(&session), sum);
        assert_ne!(Row { data: "{}".into(), ..row }.checksum(&session), sum);
    }
}
