//! The fixed part at the start of each entry in a segment.

use super::entry::EntryId;

/// What a frame begins with: the kind of entry and the version of its form.
const MAGIC: u64 = u64::from_le_bytes(*b"TKENTRY1");
const FIELDS: usize = 5;

/// Magic, number, length, time, stage.
pub(crate) const FRAME_BYTES: usize = FIELDS * size_of::<u64>();

/// How far the work of an entry has come, by the number that stands in the file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Stage {
    /// The entry itself is being written; no file was changed yet.
    Writing = 0,
    /// The entry is complete, its work may have begun.
    Open = 1,
    /// The work is complete.
    Done = 2,
}

/// Where an entry begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Spot {
    pub(crate) segment: u64,
    pub(crate) offset: u64,
}

/// What is known of an entry without reading it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Frame {
    pub(crate) id: EntryId,
    pub(crate) spot: Spot,
    /// The length with the frame; 0 while the entry is being written.
    pub(crate) len: u64,
    pub(crate) time_ms: u64,
    pub(crate) stage: Stage,
}

impl Frame {
    pub(crate) fn to_bytes(self) -> [u8; FRAME_BYTES] {
        let fields = [MAGIC, self.id.0, self.len, self.time_ms, self.stage as u64];
        let mut bytes = [0; FRAME_BYTES];
        bytes.copy_from_slice(fields.map(u64::to_le_bytes).as_flattened());
        bytes
    }

    /// None if no frame begins here. A frame that was cut short is one of an entry that was being
    /// written.
    pub(crate) fn read(bytes: &[u8], spot: Spot) -> Option<Frame> {
        if bytes.is_empty() {
            return None;
        }
        let torn = Frame { id: EntryId(0), spot, len: 0, time_ms: 0, stage: Stage::Writing };
        if bytes.len() < FRAME_BYTES {
            return Some(torn);
        }
        let [magic, id, len, time_ms, stage] = numbers(bytes);
        let stage = match stage {
            1 if len > 0 => Stage::Open,
            2 if len > 0 => Stage::Done,
            _ => Stage::Writing,
        };
        if magic != MAGIC || stage == Stage::Writing {
            return Some(torn);
        }
        Some(Frame { id: EntryId(id), spot, len, time_ms, stage })
    }
}

/// Consecutive numbers; 0 where there are too few bytes.
pub(crate) fn numbers<const N: usize>(bytes: &[u8]) -> [u64; N] {
    let mut chunks = bytes.chunks_exact(size_of::<u64>());
    std::array::from_fn(|_| {
        let chunk = chunks.next().and_then(|chunk| chunk.first_chunk());
        chunk.copied().map_or(0, u64::from_le_bytes)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_frame_survives_its_bytes_and_a_torn_one_is_recognised() {
        let spot = Spot { segment: 3, offset: 77 };
        let frame = Frame { id: EntryId(9), spot, len: 100, time_ms: 5, stage: Stage::Open };
        let bytes = frame.to_bytes();
        assert_eq!(Frame::read(&bytes, spot), Some(frame));
        assert_eq!(Frame::read(&[], spot), None);
        for cut in 1..FRAME_BYTES {
            let torn = Frame::read(&bytes[..cut], spot).unwrap();
            assert_eq!((torn.stage, torn.len), (Stage::Writing, 0));
        }
        assert_eq!(Frame::read(&[0; FRAME_BYTES], spot).unwrap().stage, Stage::Writing);
    }
}
