//! Finds damaged and missing entries in the stored rows of a session. Pure.

use std::collections::BTreeMap;
use std::fmt;

use protocol::{LogEntry, Opened, SessionEvent};

use crate::SessionId;
use crate::row::Row;

#[derive(Clone, Debug)]
pub(crate) struct FoundRow {
    /// Where it lies, to move it.
    pub(crate) rowid: i64,
    /// The position it claims, if that can be read.
    pub(crate) sequence: Option<u64>,
    /// The row and its checksum, or why it cannot even be read.
    pub(crate) content: Result<(Row, i64), String>,
}

/// Positions that are known not to be there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Range {
    pub(crate) from: u64,
    pub(crate) to: u64,
}

/// What is wrong with a log.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum LogProblem {
    /// A row is not what was written.
    Damaged { rowid: i64, sequence: Option<u64>, reason: String },
    /// Entries are not there.
    Missing(Range),
    /// The row is whole, but this version does not understand it.
    Unknown { sequence: u64, kind: String },
    /// The first entry is lost and was rebuilt from the summary.
    OpeningRebuilt,
    /// The list of sessions does not know it.
    Unlisted,
    /// Part of the file cannot be read.
    Unreadable { reason: String },
}

impl LogProblem {
    /// Whether a repair can do something about it.
    pub(crate) fn is_damage(&self) -> bool {
        !matches!(self, LogProblem::Unknown { .. })
    }
}

impl fmt::Display for LogProblem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            LogProblem::Damaged { sequence: Some(at), reason, .. } => {
                write!(f, "entry {at} is damaged: {reason}")
            }
            LogProblem::Damaged { sequence: None, reason, .. } => {
                write!(f, "an entry is damaged and does not say which it was: {reason}")
            }
            LogProblem::Missing(Range { from, to }) if from == to => {
                write!(f, "entry {from} is missing")
            }
            LogProblem::Missing(Range { from, to }) => {
                write!(f, "entries {from} to {to} are missing")
            }
            LogProblem::Unknown { sequence, kind } => write!(
                f,
                "entry {sequence} has the type `{kind}` in a form that this version does not know; \
                 it is kept and left out"
            ),
            LogProblem::OpeningRebuilt => f.write_str(
                "the first entry, how the session was opened, is rebuilt from the list of sessions",
            ),
            LogProblem::Unlisted => f.write_str("it is missing in the list of sessions"),
            LogProblem::Unreadable { reason } => {
                write!(f, "part of the file cannot be read ({reason}); the rest was searched")
            }
        }
    }
}

/// The readable rows of a log, and what is wrong with it.
#[derive(Debug, Default)]
pub(crate) struct Inspection {
    /// Rows that are what was written, those of unknown events included, in order.
    pub(crate) rows: Vec<Row>,
    /// Those of them that this version understands.
    pub(crate) entries: Vec<LogEntry>,
    pub(crate) problems: Vec<LogProblem>,
}

impl Inspection {
    /// What a repair of all this writes into the log.
    pub(crate) fn repaired(&self) -> SessionEvent {
        let damage = self.problems.iter().filter(|problem| problem.is_damage());
        SessionEvent::Repaired { notes: damage.map(LogProblem::to_string).collect() }
    }
}

/// What the list of sessions knows about a log.
#[derive(Clone, Debug, Default)]
pub(crate) struct Expected {
    /// The position of the last entry.
    pub(crate) last: u64,
    /// When the session began, and how.
    pub(crate) opened: Option<(i64, Opened)>,
    /// Positions that an earlier repair has recorded as lost.
    pub(crate) set_aside: Vec<Range>,
}

pub(crate) fn inspect(session: &SessionId, found: Vec<FoundRow>, known: &Expected) -> Inspection {
    let mut result = Inspection::default();
    let mut whole = BTreeMap::new();
    let mut accounted = known.set_aside.clone();
    for FoundRow { rowid, sequence, content } in found {
        let reason = match content {
            Ok((row, checksum)) if i64::from(row.checksum(session)) == checksum => {
                whole.insert(row.sequence, row);
                continue;
            }
            Ok(_) => "it does not match its checksum".to_owned(),
            Err(reason) => reason,
        };
        accounted.extend(sequence.map(|at| Range { from: at, to: at }));
        result.problems.push(LogProblem::Damaged { rowid, sequence, reason });
    }
    accounted.extend(whole.keys().map(|&at| Range { from: at, to: at }));
    let last = whole.keys().next_back().copied().unwrap_or_default().max(known.last);
    result.problems.extend(gaps(accounted, last).into_iter().map(LogProblem::Missing));
    for row in whole.into_values() {
        match row.entry() {
            Some(entry) => result.entries.push(entry),
            None => result
                .problems
                .push(LogProblem::Unknown { sequence: row.sequence, kind: row.kind.clone() }),
        }
        result.rows.push(row);
    }
    rebuild_opening(&mut result, known);
    result
}

/// The positions from 1 to `last` that no range covers.
fn gaps(mut covered: Vec<Range>, last: u64) -> Vec<Range> {
    covered.sort_unstable_by_key(|range| range.from);
    let mut missing = Vec::new();
    let mut next = 1;
    for range in covered.into_iter().filter(|range| range.from <= last) {
        if range.from > next {
            missing.push(Range { from: next, to: range.from - 1 });
        }
        next = next.max(range.to.saturating_add(1));
    }
    if next <= last {
        missing.push(Range { from: next, to: last });
    }
    missing
}

fn rebuild_opening(result: &mut Inspection, known: &Expected) {
    let is_there =
        result.entries.first().is_some_and(|it| matches!(it.event, SessionEvent::Opened(_)));
    let Some((at, opened)) = known.opened.clone().filter(|_| !is_there) else { return };
    if result.rows.first().is_some_and(|row| row.sequence <= 1) {
        return;
    }
    let event = SessionEvent::Opened(opened);
    result.entries.insert(0, LogEntry { sequence: 1, at, event });
    result.problems.push(LogProblem::OpeningRebuilt);
}

#[cfg(test)]
mod tests {
    use protocol::{AgentRole, Settings};

    use super::*;

    fn session() -> SessionId {
        "1hf7yat00zzzzzzzzzzz".parse().unwrap()
    }

    fn opened() -> Opened {
        let settings =
            Settings { provider: "offline".into(), model: "m".into(), role: AgentRole::Actor };
        Opened { root: "/p".into(), settings, forked_from: None }
    }

    fn found(sequence: u64) -> FoundRow {
        let event = match sequence {
            1 => SessionEvent::Opened(opened()),
            _ => SessionEvent::Continued,
        };
        let row = Row::new(sequence, 5, &event).unwrap();
        let checksum = i64::from(row.checksum(&session()));
        let rowid = i64::try_from(sequence).unwrap();
        FoundRow { rowid, sequence: Some(sequence), content: Ok((row, checksum)) }
    }

    fn texts(found: Vec<FoundRow>, known: &Expected) -> (Vec<u64>, Vec<String>) {
        let result = inspect(&session(), found, known);
        let entries = result.entries.iter().map(|entry| entry.sequence).collect();
        (entries, result.problems.iter().map(LogProblem::to_string).collect())
    }

    fn known(last: u64) -> Expected {
        Expected { last, opened: Some((5, opened())), set_aside: Vec::new() }
    }

    #[test]
    fn a_whole_log_has_no_problems() {
        let result = texts((1..=4).map(found).collect(), &known(4));
        assert_eq!(result, (vec![1, 2, 3, 4], Vec::new()));
    }

    #[test]
    fn gaps_damage_and_a_lost_end_are_named() {
        let mut changed = found(4);
        changed.content = changed.content.map(|(row, sum)| (row, sum + 1));
        let unreadable = FoundRow { rowid: 9, sequence: None, content: Err("no text".into()) };
        let rows = vec![found(1), found(3), changed, unreadable, found(5)];
        let (entries, problems) = texts(rows, &known(8));
        assert_eq!(entries, [1, 3, 5]);
        insta::assert_snapshot!(problems.join("\n"), @r"
        entry 4 is damaged: it does not match its checksum
        an entry is damaged and does not say which it was: no text
        entry 2 is missing
        entries 6 to 8 are missing
        ");
    }

    #[test]
    fn what_was_written_off_before_is_not_named_again() {
        let set_aside = vec![Range { from: 2, to: 3 }, Range { from: 3, to: 6 }];
        let known = Expected { set_aside, ..known(7) };
        assert_eq!(texts(vec![found(1), found(7)], &known), (vec![1, 7], Vec::new()));
    }

    #[test]
    fn a_lost_opening_is_rebuilt_and_an_unknown_event_left_out() {
        let mut newer = found(3);
        if let Ok((row, sum)) = &mut newer.content {
            row.kind = "sung".into();
            row.data = r#"{"type":"sung","data":{"song":"x"}}"#.into();
            *sum = i64::from(row.checksum(&session()));
        }
        let (entries, problems) = texts(vec![found(2), newer], &known(3));
        assert_eq!(entries, [1, 2]);
        insta::assert_snapshot!(problems.join("\n"), @r"
        entry 1 is missing
        entry 3 has the type `sung` in a form that this version does not know; it is kept and left out
        the first entry, how the session was opened, is rebuilt from the list of sessions
        ");
    }
}
