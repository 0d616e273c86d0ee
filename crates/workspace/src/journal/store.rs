//! The journal's directory: segments with entries one after another, and the lock.
//!
//! An entry is appended to the newest segment, because making a file for each would cost more than
//! all the rest of the journal. A segment is named after its first entry. Each entry begins with a
//! frame that says how long it is and how far its work has come. Only the newest entry can be
//! unfinished; rolling it back cuts it off. The mark that the work is done need not be forced to the
//! disk, because an entry whose mark was lost is found complete by looking at the files.

use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use rustix::fs::{AtFlags, FlockOperation, Mode, OFlags, flock, openat, statat};
use rustix::io::{Errno, Result, pread};

use super::entry::{self, EntryId, Header, Loaded};
use super::frame::{FRAME_BYTES, Frame, Spot, Stage};
use super::plan::JournalPlan;
use super::prune::Tail;
use crate::entry_names::EntryNames;
use crate::ops::{Name, Ops};
use crate::read::READ_FLAGS;
use crate::{EntryMeta, Error, StateDir};

const LOCK_NAME: &str = "lock";
const SEGMENT_SUFFIX: &str = ".log";
/// Entries hold the content of files, which may not be for other users.
const FILE_MODE: u32 = 0o600;

/// Enough for the header of most entries in one read.
const HEADER_CHUNK: usize = 8 * 1024;

/// A longer header was not written by us.
const HEADER_MAX: usize = 1 << 30;

/// What processes share through the lock file. It is exact as long as the system runs;
/// after a power failure the segments count.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Tally {
    /// The greatest number that was given to an entry.
    pub(crate) last: u64,
    /// The entry whose work is under way, or 0.
    pub(crate) open: u64,
    /// The size of all segments.
    pub(crate) total: u64,
}

/// Three numbers of eight bytes.
const TALLY_BYTES: usize = 24;

pub(crate) struct Store {
    dir: StateDir,
    lock: OwnedFd,
    ops: Ops,
}

/// The right to change the journal and the project, until dropped.
pub(crate) struct Guard<'a> {
    lock: BorrowedFd<'a>,
}

impl Drop for Guard<'_> {
    fn drop(&mut self) {
        // Closing the descriptor would unlock as well; an error could not be reported.
        let _ = flock(self.lock, FlockOperation::Unlock);
    }
}

/// An entry that is being written.
pub(crate) struct EntryDraft {
    pub(crate) spot: Spot,
    pub(crate) file: OwnedFd,
    /// Whether the segment is new, so that its name must reach the disk as well.
    new_segment: bool,
    /// The segment before a new one. The mark that its last entry is done must reach the disk
    /// before other work makes that impossible to see from the files.
    previous: Option<OwnedFd>,
    pub(crate) frame: Frame,
    end: u64,
}

impl Store {
    pub(crate) fn open(dir: StateDir, ops: Ops) -> std::result::Result<Store, Error> {
        let flags = OFlags::RDWR | OFlags::CREATE | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let lock = openat(&dir, LOCK_NAME, flags, Mode::from_raw_mode(FILE_MODE));
        let lock = lock.map_err(|errno| failure(&dir, errno))?;
        Ok(Store { dir, lock, ops })
    }

    /// Turns a system error into one that names the journal.
    pub(crate) fn failed(&self, errno: Errno) -> Error {
        failure(&self.dir, errno)
    }

    pub(crate) fn damaged(&self, id: EntryId) -> Error {
        let path = self.dir.shown().to_owned();
        Error::State { path, reason: format!("entry {id} is damaged") }
    }

    /// Waits until no other process works.
    pub(crate) fn lock(&self) -> Result<Guard<'_>> {
        loop {
            match flock(&self.lock, FlockOperation::LockExclusive) {
                Ok(()) => return Ok(Guard { lock: self.lock.as_fd() }),
                Err(Errno::INTR) => {}
                Err(errno) => return Err(errno),
            }
        }
    }

    /// None while another process works.
    pub(crate) fn try_lock(&self) -> Result<Option<Guard<'_>>> {
        match flock(&self.lock, FlockOperation::NonBlockingLockExclusive) {
            Ok(()) => Ok(Some(Guard { lock: self.lock.as_fd() })),
            Err(Errno::WOULDBLOCK | Errno::INTR) => Ok(None),
            Err(errno) => Err(errno),
        }
    }

    pub(crate) fn tally(&self) -> Result<Tally> {
        let mut bytes = [0; TALLY_BYTES];
        if pread(&self.lock, bytes.as_mut_slice(), 0)? < TALLY_BYTES {
            return Ok(Tally::default());
        }
        let [last, open, total] = super::frame::numbers(&bytes);
        Ok(Tally { last, open, total })
    }

    pub(crate) fn set_tally(&self, tally: Tally) -> Result<()> {
        let fields = [tally.last, tally.open, tally.total].map(u64::to_le_bytes);
        self.ops.write_at(&self.lock, fields.as_flattened(), 0)
    }

    /// All segments by the number of their first entry, oldest first.
    pub(crate) fn segments(&self) -> Result<Vec<u64>> {
        // A descriptor of its own, because reading entries moves the position.
        let dir = openat(&self.dir, ".", READ_FLAGS | OFlags::CLOEXEC, Mode::empty())?;
        let mut names = EntryNames::default();
        names.read(dir.as_fd(), usize::MAX)?;
        let number = |name: &[u8]| {
            str::from_utf8(name).ok()?.strip_suffix(SEGMENT_SUFFIX)?.parse::<u64>().ok()
        };
        let mut found: Vec<_> = names.iter().filter_map(|entry| number(entry.name())).collect();
        found.sort_unstable();
        Ok(found)
    }

    /// The entries of a segment, oldest first; none if the segment is gone. Ends where no valid
    /// frame follows.
    pub(crate) fn frames(&self, segment: u64) -> Result<Vec<Frame>> {
        let file = match self.open_segment(segment, READ_FLAGS) {
            Ok(file) => file,
            Err(Errno::NOENT) => return Ok(Vec::new()),
            Err(errno) => return Err(errno),
        };
        let mut found: Vec<Frame> = Vec::new();
        let mut offset = 0;
        loop {
            let mut bytes = [0; FRAME_BYTES];
            let filled = pread(&file, bytes.as_mut_slice(), offset)?;
            let Some(frame) = Frame::read(&bytes[..filled], Spot { segment, offset }) else {
                return Ok(found);
            };
            offset += frame.len;
            let last = frame.len == 0;
            found.push(frame);
            if last {
                return Ok(found);
            }
        }
    }

    /// Begins an entry: its frame and header are written, to the newest segment
    /// or to a new one.
    pub(crate) fn begin(
        &self,
        id: EntryId,
        header: &Header,
        tail: Option<&Tail>,
    ) -> Result<EntryDraft> {
        let (file, spot, previous) = match tail {
            Some(tail) => {
                let spot = Spot { segment: tail.segment, offset: tail.end };
                (self.open_segment(tail.segment, OFlags::RDWR)?, spot, None)
            }
            None => {
                let previous = self.newest_segment()?;
                let name = segment_name(id.0);
                let file = self.ops.create(self.dir.as_fd(), name.as_bytes(), FILE_MODE)?;
                (file, Spot { segment: id.0, offset: 0 }, previous)
            }
        };
        let frame = Frame { id, spot, len: 0, time_ms: header.time_ms, stage: Stage::Writing };
        let bytes = [&frame.to_bytes()[..], &header.to_line()].concat();
        let written = self.ops.write_at(&file, &bytes, spot.offset);
        let end = spot.offset + bytes.len() as u64;
        let draft = EntryDraft { spot, file, new_segment: tail.is_none(), previous, frame, end };
        written.inspect_err(|_| {
            // What cannot be cut off is recognised as torn.
            let _ = self.cut(&draft.spot);
        })?;
        Ok(draft)
    }

    /// Completes an entry with its images and steps. Its work may begin once
    /// [`Store::files_of`] are on the disk.
    pub(crate) fn seal(&self, draft: &mut EntryDraft, plan: &mut JournalPlan<'_>) -> Result<()> {
        let header_len = draft.end - draft.spot.offset - FRAME_BYTES as u64;
        let steps: Vec<_> = plan.planned.iter().map(|planned| planned.step.clone()).collect();
        let mut rest = std::mem::take(&mut plan.images);
        rest.extend(entry::seal(&steps, header_len + rest.len() as u64));
        self.ops.write_at(&draft.file, &rest, draft.end)?;
        draft.end += rest.len() as u64;
        draft.frame.len = draft.end - draft.spot.offset;
        self.mark(&draft.frame, Stage::Open, &draft.file)
    }

    /// What must be on the disk for the entry to be there.
    pub(crate) fn files_of<'f>(&'f self, draft: &'f EntryDraft) -> Vec<BorrowedFd<'f>> {
        let dir = draft.new_segment.then(|| self.dir.as_fd());
        let previous = draft.previous.as_ref().map(AsFd::as_fd);
        [Some(draft.file.as_fd()), dir, previous].into_iter().flatten().collect()
    }

    pub(crate) fn mark_frame_done(&self, frame: &Frame) -> Result<()> {
        self.mark(frame, Stage::Done, &self.open_segment(frame.spot.segment, OFlags::RDWR)?)
    }

    /// Says how far the work of an entry has come, in `file`, the segment that holds it.
    pub(crate) fn mark(&self, frame: &Frame, stage: Stage, file: &OwnedFd) -> Result<()> {
        let bytes = Frame { stage, ..*frame }.to_bytes();
        self.ops.write_at(file, &bytes, frame.spot.offset)
    }

    /// Cuts off the newest entry.
    pub(crate) fn cut(&self, spot: &Spot) -> Result<()> {
        if spot.offset == 0 {
            return self.remove_segment(spot.segment);
        }
        self.ops.truncate(self.open_segment(spot.segment, OFlags::RDWR)?, spot.offset)
    }

    pub(crate) fn remove_segment(&self, segment: u64) -> Result<()> {
        let name = segment_name(segment);
        match self.ops.unlink(Name { dir: self.dir.as_fd(), name: name.as_bytes() }) {
            Err(Errno::NOENT) => Ok(()),
            outcome => outcome,
        }
    }

    /// Size and age of a segment.
    pub(crate) fn segment_meta(&self, segment: u64) -> Option<EntryMeta> {
        let name = segment_name(segment);
        let stat = statat(&self.dir, name.as_str(), AtFlags::SYMLINK_NOFOLLOW).ok()?;
        Some(EntryMeta::from_stat(&stat))
    }

    /// The bytes of an entry after its frame. An unfinished entry reaches to the end.
    pub(crate) fn read(&self, frame: &Frame) -> Result<Vec<u8>> {
        let file = self.open_segment(frame.spot.segment, READ_FLAGS)?;
        let end = match frame.len {
            0 => EntryMeta::from_stat(&rustix::fs::fstat(&file)?).size,
            len => frame.spot.offset + len,
        };
        let start = frame.spot.offset + FRAME_BYTES as u64;
        let len = usize::try_from(end.saturating_sub(start)).map_err(|_| Errno::FBIG)?;
        let mut bytes = vec![0; len];
        let mut filled = 0;
        while filled < len {
            match pread(&file, &mut bytes[filled..], start + filled as u64)? {
                0 => break,
                more => filled += more,
            }
        }
        bytes.truncate(filled);
        Ok(bytes)
    }

    /// The header of an entry; none if the entry is gone or torn.
    pub(crate) fn header(&self, frame: &Frame) -> Result<Option<Header>> {
        let file = match self.open_segment(frame.spot.segment, READ_FLAGS) {
            Ok(file) => file,
            Err(Errno::NOENT) => return Ok(None),
            Err(errno) => return Err(errno),
        };
        let start = frame.spot.offset + FRAME_BYTES as u64;
        let mut bytes = Vec::new();
        loop {
            let at = bytes.len();
            bytes.resize(at + HEADER_CHUNK.max(at), 0);
            let filled = pread(&file, &mut bytes[at..], start + at as u64)?;
            bytes.truncate(at + filled);
            if let Some(end) = memchr::memchr(b'\n', &bytes[at..]) {
                return Ok(Header::from_line(&bytes[..at + end]));
            }
            if filled == 0 || bytes.len() > HEADER_MAX {
                return Ok(None);
            }
        }
    }

    /// A complete entry with its images.
    pub(crate) fn load(&self, id: EntryId) -> std::result::Result<Loaded, Error> {
        let failed = |errno| self.failed(errno);
        let segments = self.segments().map_err(failed)?;
        let segment = segments.iter().rev().find(|first| **first <= id.0).copied();
        let frames = self.frames(segment.unwrap_or(0)).map_err(failed)?;
        let frame = frames.iter().find(|frame| frame.id == id).ok_or_else(|| self.damaged(id))?;
        let bytes = self.read(frame).map_err(failed)?;
        Loaded::new(bytes).ok_or_else(|| self.damaged(id))
    }

    fn newest_segment(&self) -> Result<Option<OwnedFd>> {
        let Some(newest) = self.segments()?.pop() else { return Ok(None) };
        self.open_segment(newest, READ_FLAGS).map(Some)
    }

    fn open_segment(&self, segment: u64, flags: OFlags) -> Result<OwnedFd> {
        crate::resolve::open_name(self.dir.as_fd(), segment_name(segment).as_str(), flags)
    }
}

fn failure(dir: &StateDir, errno: Errno) -> Error {
    Error::from_io(dir.shown().to_owned(), errno.into())
}

fn segment_name(first: u64) -> String {
    format!("{first}{SEGMENT_SUFFIX}")
}
