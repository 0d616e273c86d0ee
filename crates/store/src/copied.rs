//! The rows of a session that is made from another one or from an export. Pure.

use protocol::{ForkPoint, Opened, SessionEvent};

use crate::cut::safe_cut;
use crate::inspection::Inspection;
use crate::row::Row;
use crate::{SessionId, StoreError, jsonl};

/// The log of `id` up to an entry, or all of it, as that of a fork.
pub(crate) fn forked(
    id: &SessionId,
    inspection: Inspection,
    at: Option<u64>,
    now: i64,
) -> Result<Vec<Row>, StoreError> {
    let cut = safe_cut(&inspection.entries, at).max(1);
    let opened = inspection.entries.iter().find_map(|entry| match &entry.event {
        SessionEvent::Opened(opened) => Some(opened),
        _ => None,
    });
    let opened =
        opened.ok_or_else(|| StoreError::failed("forking the session", "its beginning is lost"))?;
    let point = ForkPoint { session: id.to_string(), sequence: cut };
    let opened = Opened { forked_from: Some(point), ..opened.clone() };
    let mut rows = vec![Row::new(1, now, &SessionEvent::Opened(opened))?];
    rows.extend(inspection.rows.into_iter().filter(|row| (2..=cut).contains(&row.sequence)));
    Ok(rows)
}

/// The log in an export, and what could not be read. That is also noted at its end.
pub(crate) fn imported(text: &str, now: i64) -> Result<(Vec<Row>, Vec<String>), StoreError> {
    let mut parsed = jsonl::parse(text)?;
    if !parsed.damage.is_empty() {
        let last = parsed.rows.last().map_or(0, |row| row.sequence);
        let event = SessionEvent::Repaired { notes: parsed.damage.clone() };
        parsed.rows.push(Row::new(last + 1, now, &event)?);
    }
    Ok((parsed.rows, parsed.damage))
}

/// The positions that are missing between rows.
pub(crate) fn gaps(rows: &[Row]) -> Vec<(u64, u64)> {
    let mut end = 0;
    let mut gaps = Vec::new();
    for row in rows {
        if row.sequence > end + 1 {
            gaps.push((end + 1, row.sequence - 1));
        }
        end = row.sequence;
    }
    gaps
}
