//! Statistics over some sessions, from their logs: for readers that may not see all sessions of a store.

use protocol::LogEntry;

use crate::call_reader::{CallReader, KINDS};
use crate::days::DaysCounter;
use crate::event_data::EventData;
use crate::row::Row;
use crate::stats::StatsCounter;
use crate::{DayStats, DaysFilter, SessionInfo, Stats};

/// Adds up what some sessions did. It gives the same answers as [`crate::Store::stats`] and [`crate::Store::days`] over
/// a store that holds only these.
pub struct LogStats {
    since: i64,
    stats: StatsCounter,
    days: DaysCounter,
    sessions: Vec<SessionInfo>,
}

impl LogStats {
    /// Nothing yet. Only what was written since then will be counted.
    pub fn new(filter: &DaysFilter) -> Self {
        let since = filter.since.unwrap_or(i64::MIN);
        let (stats, days) = (StatsCounter::default(), DaysCounter::new(filter));
        Self { since, stats, days, sessions: Vec::new() }
    }

    /// Adds a session. What it has in common with the one that it was forked from counts there.
    pub fn add(&mut self, info: SessionInfo, log: &[LogEntry]) {
        let inherited = info.forked_from.as_ref().map_or(0, |point| point.sequence);
        let mut reader = CallReader::default();
        for entry in log {
            let Ok(row) = Row::new(entry.sequence, entry.at, &entry.event) else { continue };
            if !KINDS.contains(&row.kind.as_str()) {
                continue;
            }
            let counts = entry.sequence > inherited && entry.at >= self.since;
            reader.read(&row.kind, row.at, EventData::Plain(&row.data), &mut |seen| {
                if counts {
                    self.stats.count(&info.id, &seen);
                    self.days.count(entry.at, &seen);
                }
            });
        }
        self.sessions.push(info);
    }

    /// The sums, and those of each day. Sessions are in the order in which they were added.
    pub fn finish(self) -> (Stats, Vec<DayStats>) {
        (self.stats.finish(self.sessions), self.days.finish())
    }
}
