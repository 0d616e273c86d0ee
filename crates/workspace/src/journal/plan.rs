//! From a set of changes to steps: paths are read, contradictions refused and every base
//! compared with what is there, before anything is touched.

use protocol::{Base, Change, ChangeSet, ContentHash, FileBytes};
use rustix::io::Errno;

use super::dirs::Dirs;
use super::entry::{EntryRole, JournalStep};
use super::image::EntryImage;
use super::kept::{KeptMetadata, Returning};
use super::old_bytes::OldBytes;
use super::proof::{MAX_WAITING, Proof, UnprovenFile};
use super::shape;
use crate::base::{FoundAt, describe_difference};
use crate::metadata::Metadata;
use crate::ops::Ops;
use crate::temp_name::TempStem;
use crate::{Error, RelPath};

/// Replaced bytes are kept in memory up to this sum, which saves a second hash.
const KEEP_BYTES: usize = 64 << 20;

/// The owner's permission to write.
const OWNER_WRITES: u32 = 0o200;

/// One step with what is needed to take it.
pub(crate) struct Planned<'s> {
    pub(crate) step: JournalStep,
    pub(crate) new: New<'s>,
    /// The bytes that are replaced or moved, if they are at hand.
    pub(crate) old: Option<OldBytes<'s>>,
    /// The metadata that the new file gets from the old one.
    pub(crate) metadata: Option<Metadata>,
    /// The mode that was asked for.
    pub(crate) mode: Option<u32>,
    /// Whether the file comes back as it was, also in the time of its last modification.
    pub(crate) returns: bool,
}

/// What a step puts in place.
pub(crate) enum New<'s> {
    Nothing,
    File(&'s [u8]),
    Link(&'s [u8]),
}

/// A checked set.
#[derive(Default)]
pub(crate) struct JournalPlan<'s> {
    pub(crate) planned: Vec<Planned<'s>>,
    /// What is still to be hashed before any step is taken.
    pub(super) proofs: Vec<Proof<'s>>,
    pub(crate) images: Vec<u8>,
    pub(crate) notes: Vec<String>,
    pub(super) room: KeptBudget,
}

/// How much was kept in memory so far.
#[derive(Default)]
pub(super) struct KeptBudget(usize);

impl KeptBudget {
    /// Keeps the bytes if there is room for them.
    pub(super) fn keep<'s>(&mut self, old: OldBytes<'s>) -> Option<OldBytes<'s>> {
        let taken = self.0 + old.middle.len();
        (taken <= KEEP_BYTES).then(|| {
            self.0 = taken;
            old
        })
    }
}

pub(crate) struct Planner<'p, 's> {
    pub(crate) ops: &'p Ops,
    pub(crate) dirs: &'p Dirs<'p>,
    pub(crate) max_bytes: u64,
    /// A change leaves files alone that their owner may not write. Taking one back does not: it may
    /// have made the file read-only.
    pub(crate) role: EntryRole,
    pub(crate) stem: TempStem,
    pub(crate) plan: JournalPlan<'s>,
    /// What files that come back had.
    pub(super) returning: Returning,
}

/// What was found at a path and agreed with the base.
#[derive(Default)]
struct Old<'s> {
    bytes: Option<OldBytes<'s>>,
    metadata: Option<Metadata>,
    /// Whether the metadata is that of the file that comes back.
    returns: bool,
    /// The file if its bytes are still to be read and compared.
    candidate: Option<UnprovenFile>,
}

/// When the bytes of a base are compared.
#[derive(Clone, Copy)]
enum Reading<'s> {
    Now,
    /// Later if the file is large and becomes this.
    MayWait(&'s [u8]),
}

impl<'s> Planner<'_, 's> {
    pub(crate) fn check(mut self, set: &'s ChangeSet) -> Result<JournalPlan<'s>, Error> {
        // Paths go through no link: a change is approved under the name of what it changes, so a link
        // that appears in between makes it void instead of leading it elsewhere.
        let path = |text: &str| match self.dirs.workspace.resolve(text)? {
            root if root.is_root() => {
                Err(Error::contradiction(&root, "the project itself cannot be changed"))
            }
            path => Ok(path),
        };
        let paths = set.changes.iter().map(|change| change.paths().into_iter().map(path).collect());
        let paths = paths.collect::<Result<Vec<Vec<RelPath>>, Error>>()?;
        let temps = shape::check(&set.changes, &paths)?;
        let parents = shape::Parents::new(&set.changes, &paths);
        for (index, (change, paths)) in set.changes.iter().zip(&paths).enumerate() {
            for path in paths {
                parents.check(self.dirs, index, path)?;
            }
            let temp = temps[index].join_entry(self.stem.name(index).as_bytes());
            self.check_change(change, paths, temp)?;
            // Each file that waits is held open.
            if self.plan.proofs.len() >= MAX_WAITING {
                for proof in std::mem::take(&mut self.plan.proofs) {
                    proof.run()?.enter(&mut self.plan);
                }
            }
        }
        shape::check_emptied(self.dirs, &set.changes, &paths)?;
        Ok(self.plan)
    }

    fn check_change(
        &mut self,
        change: &'s Change,
        paths: &[RelPath],
        temp: RelPath,
    ) -> Result<(), Error> {
        let path = paths[0].clone();
        match change {
            Change::Write { base, content, mode, .. } => {
                self.check_write(path, temp, base, &content.0, *mode)?;
            }
            Change::Link { base, target, .. } => {
                let old = self.check_base(&path, base, Reading::Now)?;
                let after = Base::Link { target: FileBytes(target.0.clone()) };
                self.put(Put { path, before: base, after, temp, old }, New::Link(&target.0), None);
            }
            Change::Delete { base, .. } => {
                let old = self.check_base(&path, base, Reading::Now)?;
                let after = Base::Absent;
                self.put(Put { path, before: base, after, temp, old }, New::Nothing, None);
            }
            Change::Move { base, target, .. } => {
                let old = self.check_base(&path, base, Reading::Now)?;
                let to = paths[1].clone();
                let replaced = self.check_base(&to, target, Reading::Now)?;
                self.note_links(&to, &replaced);
                let image =
                    replaced.bytes.map(|old| EntryImage::store(&old, &mut self.plan.images));
                let (what, replaced) = (base.clone(), target.clone());
                let step = JournalStep::Move { from: path, to, what, replaced, temp, image };
                self.push(step, New::Nothing, old, None);
            }
            Change::MakeDir { mode, .. } => {
                self.check_base(&path, &Base::Absent, Reading::Now)?;
                let step = JournalStep::MakeDir { path, mode: *mode };
                self.push(step, New::Nothing, Old::default(), None);
            }
            Change::RemoveDir { mode, .. } => {
                let base = Base::Directory { mode: *mode };
                let old = self.check_base(&path, &base, Reading::Now)?;
                self.push(JournalStep::RemoveDir { path, mode: *mode }, New::Nothing, old, None);
            }
        }
        Ok(())
    }

    fn check_write(
        &mut self,
        path: RelPath,
        temp: RelPath,
        base: &Base,
        content: &'s [u8],
        mode: Option<u32>,
    ) -> Result<(), Error> {
        let mut old = self.check_base(&path, base, Reading::MayWait(content))?;
        let is_read_only = matches!(base, Base::File { mode, .. } if mode & OWNER_WRITES == 0);
        if is_read_only && self.role == EntryRole::Change {
            return Err(Error::ReadOnlyFile { path: path.to_text() });
        }
        self.note_links(&path, &old);
        // A file that comes back gets the metadata it had, if nothing is there that it replaces.
        if old.metadata.is_none()
            && !self.returning.is_empty()
            && let Some(kept) = self.returning.get(&(path.clone(), ContentHash::of(content)))
        {
            (old.metadata, old.returns) = (Some(kept.to_metadata()), true);
        }
        let hash = match old.candidate.take() {
            None => ContentHash::of(content),
            // A placeholder, until the proof has found the hash.
            Some(candidate) => {
                let (index, path) = (self.plan.planned.len(), path.clone());
                self.plan.proofs.push(Proof { index, path, candidate, new: content });
                ContentHash::from_bytes([0; 32])
            }
        };
        let mode = mode.or(base.mode());
        let after = Base::File { hash, size: content.len() as u64, mode: mode.unwrap_or_default() };
        self.put(Put { path, before: base, after, temp, old }, New::File(content), mode);
        Ok(())
    }

    fn check_base(
        &self,
        path: &RelPath,
        base: &Base,
        reading: Reading<'s>,
    ) -> Result<Old<'s>, Error> {
        let failed = |errno| Error::from_errno(path, errno);
        let place = match self.dirs.place(path) {
            Ok(place) => place,
            // The directory is made by a change before this one, so nothing is in it yet.
            Err(Errno::NOENT) if *base == Base::Absent => return Ok(Old::default()),
            Err(errno) => return Err(failed(errno)),
        };
        if let Reading::MayWait(new) = reading {
            let expected = (base, self.max_bytes);
            let candidate = UnprovenFile::open(self.ops, place.name(), expected, new);
            if let Some((candidate, metadata)) = candidate.map_err(failed)? {
                let (metadata, candidate) = (Some(metadata), Some(candidate));
                return Ok(Old { metadata, candidate, ..Old::default() });
            }
        }
        let look = FoundAt::at(self.ops, place.name(), self.max_bytes).map_err(failed)?;
        if !look.is(base) {
            return match (&look, base) {
                (FoundAt::TooLarge, Base::File { size, .. }) if *size > self.max_bytes => {
                    Err(Error::TooLarge { path: path.to_text(), limit: self.max_bytes })
                }
                _ => Err(Error::conflict(path, describe_difference(&look, base))),
            };
        }
        Ok(match look {
            FoundAt::File { bytes, metadata, .. } => Old {
                bytes: Some(OldBytes::whole(bytes)),
                metadata: Some(metadata),
                ..Old::default()
            },
            _ => Old::default(),
        })
    }

    fn note_links(&mut self, path: &RelPath, old: &Old<'_>) {
        let links = old.metadata.as_ref().map_or(1, |metadata| metadata.links);
        if links > 1 {
            self.plan.notes.push(format!(
                "{path} had {links} names (hard links); the others still hold the old content"
            ));
        }
    }

    fn put(&mut self, put: Put<'_, 's>, new: New<'s>, mode: Option<u32>) {
        let Put { path, before, after, temp, old } = put;
        // A new file without a mode gets the system's default, which is known only later.
        let mode_known = mode.is_some() || !matches!(new, New::File(_));
        if mode_known && *before == after {
            return;
        }
        let image = old.bytes.as_ref().map(|old| EntryImage::store(old, &mut self.plan.images));
        let kept = KeptMetadata::for_step(before, &after, old.metadata.as_ref());
        let step = JournalStep::Put { path, before: before.clone(), after, temp, image, kept };
        self.push(step, new, old, mode);
    }

    fn push(&mut self, step: JournalStep, new: New<'s>, old: Old<'s>, mode: Option<u32>) {
        let Old { bytes, metadata, returns, .. } = old;
        let bytes = bytes.and_then(|bytes| self.plan.room.keep(bytes));
        self.plan.planned.push(Planned { step, new, old: bytes, metadata, mode, returns });
    }
}

struct Put<'b, 's> {
    path: RelPath,
    before: &'b Base,
    after: Base,
    temp: RelPath,
    old: Old<'s>,
}
