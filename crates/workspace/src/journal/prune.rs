//! Keeping the journal within its bounds.

use std::time::{Duration, SystemTime};

use super::frame::{Frame, Stage};
use super::store::Tally;
use super::{Journal, TurnState};

/// A segment takes this part of the journal's size and age, so that forgetting the oldest one
/// forgets little.
const SEGMENT_SHARE: u32 = 8;

/// Longer chains of entries take too long to go through.
const SEGMENT_ENTRIES: usize = 512;

/// The newest segment, to which the next entry is appended.
#[derive(Clone, Copy, Debug)]
pub(super) struct Tail {
    pub(super) segment: u64,
    pub(super) end: u64,
    /// When its first entry was written.
    first_ms: u64,
    entries: usize,
}

impl Tail {
    /// The tail once another entry was appended.
    pub(super) fn after(tail: Option<Tail>, frame: &Frame) -> Tail {
        Tail {
            segment: frame.spot.segment,
            end: frame.spot.offset + frame.len,
            first_ms: tail.map_or(frame.time_ms, |tail| tail.first_ms),
            entries: tail.map_or(0, |tail| tail.entries) + 1,
        }
    }
}

impl Journal {
    /// Where the next entry goes; none if a new segment must be made.
    pub(super) fn tail_to_append(
        &self,
        known: Option<Tail>,
        now_ms: u64,
    ) -> rustix::io::Result<Option<Tail>> {
        let Some(tail) = known.map_or_else(|| self.find_tail(), |tail| Ok(Some(tail)))? else {
            return Ok(None);
        };
        let max_bytes = self.options.max_bytes / u64::from(SEGMENT_SHARE);
        let max_age = self.options.max_age / SEGMENT_SHARE;
        let age = Duration::from_millis(now_ms.saturating_sub(tail.first_ms));
        let full = tail.entries >= SEGMENT_ENTRIES || tail.end >= max_bytes || age > max_age;
        Ok((!full).then_some(tail))
    }

    fn find_tail(&self) -> rustix::io::Result<Option<Tail>> {
        let Some(segment) = self.store.segments()?.last().copied() else { return Ok(None) };
        let frames = self.store.frames(segment)?;
        // What recovery could not deal with stays as it is, and nothing is written after it.
        if frames.iter().any(|frame| frame.stage != Stage::Done) {
            return Ok(None);
        }
        Ok(frames.iter().fold(None, |tail, frame| Some(Tail::after(tail, frame))))
    }

    /// Forgets the oldest segments while there are too many bytes or too old ones, but never the
    /// newest. Nothing depends on its success, so failures are left for the next time.
    pub(super) fn prune(&self, turn: &mut TurnState, tally: Tally) {
        if turn.pruned && tally.total <= self.options.max_bytes {
            return;
        }
        turn.pruned = true;
        let Ok(segments) = self.store.segments() else { return };
        let found: Vec<_> = segments
            .into_iter()
            .filter_map(|segment| Some((segment, self.store.segment_meta(segment)?)))
            .collect();
        let mut total: u64 = found.iter().map(|(_, meta)| meta.size).sum();
        let now = SystemTime::now();
        for (segment, meta) in &found[..found.len().saturating_sub(1)] {
            let age = now.duration_since(meta.modified).unwrap_or_default();
            if total <= self.options.max_bytes && age <= self.options.max_age {
                break;
            }
            if self.store.remove_segment(*segment).is_err() {
                break;
            }
            total -= meta.size;
        }
        let _ = self.store.set_tally(Tally { total, ..tally });
    }
}
