//! Rolls back the steps of an entry after a failure or a crash, however far each of them got. What to
//! do is read from the files themselves, so that it can be interrupted anywhere and begun again.
//!
//! The one rule above all: content that is neither the old nor the new one is another writer's
//! work. It keeps its name, and if a rename of ours took the name from it, it gets it back.

use std::os::fd::AsFd;

use protocol::{Base, ContentHash};
use rustix::io::{Errno, Result};

use super::commit::touch;
use super::dirs::{Dirs, EntryPlace};
use super::entry::{JournalStep, Loaded};
use super::image::EntryImage;
use super::kept::KeptMetadata;
use crate::RelPath;
use crate::base::FoundAt;
use crate::ops::Ops;
use crate::temp_name::spare_path;

/// While the old content is written only the owner may look.
const PRIVATE_MODE: u32 = 0o600;

pub(crate) struct Rewind<'r> {
    pub(crate) ops: &'r Ops,
    pub(crate) dirs: &'r Dirs<'r>,
    pub(crate) entry: &'r Loaded,
    /// Paths that were left alone because another process had changed them.
    pub(crate) conflicts: Vec<RelPath>,
}

/// What is at a place, compared with the two states it may have.
struct ComparedState {
    absent: bool,
    before: bool,
    after: bool,
    look: FoundAt,
}

/// What is in the place of a file that is to be restored.
enum Successor<'l> {
    There(&'l FoundAt),
    /// Nothing; the entry may keep what the file had.
    None(Option<&'l KeptMetadata>),
}

impl Rewind<'_> {
    /// Whether every step has had its full effect, so that only cleaning up is left.
    pub(crate) fn is_complete(&self) -> Result<bool> {
        for step in &self.entry.steps {
            let complete = match step {
                JournalStep::Put { path, before, after, temp, .. } => {
                    let out = self.see(temp, before, after)?;
                    self.see(path, before, after)?.after && (out.absent || out.before)
                }
                JournalStep::Move { from, to, what, replaced, temp, .. } => {
                    let out = self.see(temp, replaced, what)?;
                    self.see(from, what, &Base::Absent)?.absent
                        && self.see(to, replaced, what)?.after
                        && (out.absent || out.before)
                }
                JournalStep::MakeDir { path, .. } => {
                    matches!(self.look(path)?, FoundAt::Directory { .. })
                }
                JournalStep::RemoveDir { path, .. } => matches!(self.look(path)?, FoundAt::Absent),
            };
            if !complete {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Rolls back every step, the last one first. Steps from `taken` on are known not to have made
    /// or removed a directory.
    pub(crate) fn run(&mut self, taken: usize) -> Result<()> {
        let entry = self.entry;
        let mut touched = Vec::new();
        for (index, step) in entry.steps.iter().enumerate().rev() {
            match step {
                JournalStep::Put { path, before, after, temp, image, kept } => {
                    if *before != Base::Absent {
                        self.remove(&spare_path(temp))?;
                    }
                    match (before, after) {
                        (Base::Absent, _) => self.take_away(path, after, temp)?,
                        (_, Base::Absent) => {
                            self.bring_back(path, before, temp, (*image, kept.as_ref()))?;
                        }
                        _ => self.put_back(path, (before, after), temp, *image)?,
                    }
                }
                JournalStep::Move { from, to, what, replaced: Base::Absent, .. } => {
                    self.move_back(from, to, what)?;
                }
                JournalStep::Move { from, to, what, replaced, temp, image } => {
                    self.remove(&spare_path(temp))?;
                    self.unswap([from, to, temp], (what, replaced), *image)?;
                }
                JournalStep::MakeDir { path, .. } if index < taken => self.unmake_dir(path)?,
                JournalStep::RemoveDir { path, mode } if index < taken => {
                    self.remake_dir(path, *mode)?
                }
                JournalStep::MakeDir { .. } | JournalStep::RemoveDir { .. } => {}
            }
            touch(step, &mut touched);
        }
        self.dirs.sync(self.ops, touched, None)
    }

    /// Undoes the appearance of a file or link. It goes to a second temporary name first, where it
    /// is compared; the first one may hold new content that a power failure tore.
    fn take_away(&mut self, path: &RelPath, after: &Base, temp: &RelPath) -> Result<()> {
        let spare = spare_path(temp);
        let aside = self.see(&spare, &Base::Absent, after)?;
        if aside.after {
            self.remove(&spare)?;
        }
        let now = self.see(path, &Base::Absent, after)?;
        if !aside.absent && !aside.after {
            // An earlier attempt moved another writer's file aside.
            self.conflict(path);
            if now.absent {
                self.rename_new(&spare, path)?;
            }
            return self.remove(temp);
        }
        if now.absent {
            return self.remove(temp);
        }
        let waits = !self.see(temp, &Base::Absent, after)?.absent;
        if !now.after || waits {
            // While the new content still waits, what has the name is another writer's.
            self.conflict(path);
            return self.remove(temp);
        }
        self.rename_new(path, &spare)?;
        if self.see(&spare, &Base::Absent, after)?.after {
            return self.remove(&spare);
        }
        self.conflict(path);
        self.rename_new(&spare, path)
    }

    /// Undoes the disappearance of a file or link.
    fn bring_back(
        &mut self,
        path: &RelPath,
        before: &Base,
        temp: &RelPath,
        (image, kept): (Option<EntryImage>, Option<&KeptMetadata>),
    ) -> Result<()> {
        let now = self.see(path, before, &Base::Absent)?;
        let aside = self.see(temp, before, &Base::Absent)?;
        if !now.absent {
            if !now.before {
                self.conflict(path);
            }
            return self.remove(temp);
        }
        if aside.absent {
            return self.restore(path, before, temp, (image, Successor::None(kept)));
        }
        if !aside.before {
            self.conflict(path);
        }
        self.rename_new(temp, path)
    }

    /// Undoes a replacement.
    fn put_back(
        &mut self,
        path: &RelPath,
        (before, after): (&Base, &Base),
        temp: &RelPath,
        image: Option<EntryImage>,
    ) -> Result<()> {
        let now = self.see(path, before, after)?;
        if now.before {
            return self.remove(temp);
        }
        let aside = self.see(temp, before, after)?;
        if !now.after || aside.after {
            self.conflict(path);
            return self.remove(temp);
        }
        if aside.absent {
            return self.restore(path, before, temp, (image, Successor::There(&now.look)));
        }
        if !aside.before {
            self.conflict(path);
        }
        self.exchange(temp, path)?;
        if !self.see(temp, before, after)?.after {
            // Another process wrote in the last moment: that is what must stay.
            self.conflict(path);
            self.exchange(temp, path)?;
        }
        self.remove(temp)
    }

    /// Undoes a move that replaced nothing.
    fn move_back(&mut self, from: &RelPath, to: &RelPath, what: &Base) -> Result<()> {
        let (source, target) = (self.look(from)?, self.see(to, &Base::Absent, what)?);
        match (matches!(source, FoundAt::Absent), target.absent) {
            (false, true) => Ok(()),
            (true, false) => {
                let is_dir = matches!(what, Base::Directory { .. });
                if !(target.after || is_dir) {
                    self.conflict(from);
                }
                self.dirs.forget(to);
                self.rename_new(to, from)
            }
            _ => {
                self.conflict(from);
                Ok(())
            }
        }
    }

    /// Undoes a move that replaced a file or link.
    fn unswap(
        &mut self,
        [from, to, temp]: [&RelPath; 3],
        (what, replaced): (&Base, &Base),
        image: Option<EntryImage>,
    ) -> Result<()> {
        let aside = self.see(temp, replaced, what)?;
        let source = self.see(from, replaced, what)?;
        if !aside.absent {
            if !source.absent {
                self.conflict(from);
                return self.remove(temp);
            }
            self.rename_new(temp, from)?;
        } else if source.absent && self.see(to, replaced, what)?.after {
            self.rename_new(to, from)?;
        }
        let (source, target) = (self.see(from, replaced, what)?, self.see(to, replaced, what)?);
        if target.absent && source.after {
            return self.restore(to, replaced, temp, (image, Successor::None(None)));
        }
        if source.absent || target.absent {
            self.conflict(from);
            return Ok(());
        }
        let swapped = (source.before && !target.before) || (target.after && !source.after);
        if swapped {
            if !(source.before && target.after) {
                self.conflict(from);
            }
            return self.exchange(from, to);
        }
        if !(source.after && target.before) {
            self.conflict(from);
        }
        Ok(())
    }

    fn unmake_dir(&mut self, path: &RelPath) -> Result<()> {
        let Some(place) = self.place(path)? else { return Ok(()) };
        self.dirs.forget(path);
        match self.ops.remove_dir(place.name()) {
            Ok(()) | Err(Errno::NOENT) => Ok(()),
            // Another process has put something into it, or in its place.
            Err(Errno::NOTEMPTY | Errno::EXIST | Errno::NOTDIR) => {
                self.conflict(path);
                Ok(())
            }
            Err(errno) => Err(errno),
        }
    }

    fn remake_dir(&mut self, path: &RelPath, mode: u32) -> Result<()> {
        match self.look(path)? {
            FoundAt::Directory { mode: now } if now == mode => return Ok(()),
            FoundAt::Directory { .. } => {}
            FoundAt::Absent => {
                let Some(place) = self.place(path)? else {
                    self.conflict(path);
                    return Ok(());
                };
                self.ops.make_dir(place.name(), mode)?;
                self.dirs.forget(path);
            }
            _ => {
                self.conflict(path);
                return Ok(());
            }
        }
        self.ops.set_mode(&*self.dirs.dir(path)?, mode)
    }

    /// Writes the old content from its image. Needed where the old file itself is gone, which on
    /// file systems that can swap names happens only after everything was complete.
    fn restore(
        &mut self,
        path: &RelPath,
        before: &Base,
        temp: &RelPath,
        (image, successor): (Option<EntryImage>, Successor<'_>),
    ) -> Result<()> {
        let spare = spare_path(temp);
        let (Some(spare_place), Some(place)) = (self.place(&spare)?, self.place(path)?) else {
            self.conflict(path);
            return Ok(());
        };
        match before {
            Base::Link { target } => self.ops.symlink(&target.0, spare_place.name())?,
            Base::File { hash, mode, .. } => {
                let Some(bytes) = self.old_bytes(image, &successor, hash) else {
                    self.conflict(path);
                    return Ok(());
                };
                let name = spare_place.name();
                let file = self.ops.create(name.dir, name.name, PRIVATE_MODE)?;
                self.ops.write(&file, &bytes)?;
                match &successor {
                    Successor::There(FoundAt::File { metadata, .. }) => {
                        metadata.hand_over(self.ops, file.as_fd(), *mode)?;
                    }
                    Successor::None(Some(kept)) => {
                        let metadata = kept.to_metadata();
                        metadata.hand_over(self.ops, file.as_fd(), *mode)?;
                        self.ops.set_modified(&file, metadata.modified)?;
                    }
                    _ => self.ops.set_mode(&file, *mode)?,
                }
                self.ops.sync(&file)?;
            }
            Base::Absent | Base::Directory { .. } => return Ok(()),
        }
        match successor {
            Successor::None(_) => self.ops.rename_new(spare_place.name(), place.name()),
            Successor::There(_) => self.ops.rename_over(spare_place.name(), place.name()),
        }
    }

    fn old_bytes(
        &self,
        image: Option<EntryImage>,
        successor: &Successor<'_>,
        hash: &ContentHash,
    ) -> Option<Vec<u8>> {
        let replacement = match successor {
            Successor::There(FoundAt::File { bytes, .. }) => bytes.as_slice(),
            _ => &[],
        };
        let image = image?;
        let bytes = image.read(self.entry.image(&image)?, replacement)?;
        (ContentHash::of(&bytes) == *hash).then_some(bytes)
    }

    fn conflict(&mut self, path: &RelPath) {
        self.conflicts.push(path.clone());
    }

    /// None if the directory of the path does not exist, or is none any more.
    fn place(&self, path: &RelPath) -> Result<Option<EntryPlace>> {
        match self.dirs.place(path) {
            Ok(place) => Ok(Some(place)),
            Err(Errno::NOENT | Errno::NOTDIR) => Ok(None),
            Err(errno) => Err(errno),
        }
    }

    fn look(&self, path: &RelPath) -> Result<FoundAt> {
        match self.place(path)? {
            Some(place) => FoundAt::at(self.ops, place.name(), u64::MAX),
            None => Ok(FoundAt::Absent),
        }
    }

    fn see(&self, path: &RelPath, before: &Base, after: &Base) -> Result<ComparedState> {
        let look = self.look(path)?;
        let absent = matches!(look, FoundAt::Absent);
        let is_dir = |base: &Base| {
            matches!((&look, base), (FoundAt::Directory { .. }, Base::Directory { .. }))
        };
        let (before, after) = (look.is(before) || is_dir(before), look.is(after) || is_dir(after));
        Ok(ComparedState { absent, before, after, look })
    }

    fn remove(&self, path: &RelPath) -> Result<()> {
        let Some(place) = self.place(path)? else { return Ok(()) };
        match self.ops.unlink(place.name()) {
            Err(Errno::NOENT) => Ok(()),
            outcome => outcome,
        }
    }

    fn rename_new(&self, from: &RelPath, to: &RelPath) -> Result<()> {
        let (from, to) = (self.dirs.place(from)?, self.dirs.place(to)?);
        self.ops.rename_new(from.name(), to.name())
    }

    fn exchange(&self, a: &RelPath, b: &RelPath) -> Result<()> {
        let (a, b) = (self.dirs.place(a)?, self.dirs.place(b)?);
        self.ops.exchange(a.name(), b.name())
    }
}
