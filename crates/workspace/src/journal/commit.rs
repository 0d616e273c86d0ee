//! The moment of change: each prepared step is one rename, and what the rename took away is
//! compared with what the step was made from, so that no other writer's change is ever lost.

use protocol::Base;
use rustix::fs::{AtFlags, statat};
use rustix::io::Errno;

use super::dirs::{Dirs, EntryPlace};
use super::entry::JournalStep;
use super::old_bytes::OldBytes;
use super::plan::Planned;
use super::proof::THREAD_BYTES;
use crate::base::{FoundAt, describe_difference};
use crate::ops::Ops;
use crate::{Error, RelPath};

/// What the system takes its default away from.
const DEFAULT_DIR_MODE: u32 = 0o777;

/// What a step has come to.
#[derive(PartialEq, Eq)]
enum StepOutcome {
    Complete,
    /// The old content lies in the temporary file and is still to be compared.
    TookAside,
}

pub(crate) struct Commit<'c> {
    pub(crate) ops: &'c Ops,
    pub(crate) dirs: &'c Dirs<'c>,
}

impl Commit<'_> {
    /// Takes the steps in order. `taken` counts those that are complete.
    pub(crate) fn run(&self, planned: &[Planned<'_>], taken: &mut usize) -> Result<(), Error> {
        let (mut touched, mut unchecked) = (Vec::new(), Vec::new());
        for planned in planned {
            if self.take(planned)? == StepOutcome::TookAside {
                unchecked.push(planned);
            }
            *taken += 1;
            touch(&planned.step, &mut touched);
        }
        let Some(first) = touched.first().cloned() else { return Ok(()) };
        let sum: usize = unchecked.iter().filter_map(|p| p.old.as_ref()).map(OldBytes::len).sum();
        // What a step took aside is compared with what it was made from.
        let check = || {
            unchecked.iter().try_for_each(|planned| {
                let JournalStep::Put { path, before, temp, .. } = &planned.step else {
                    return Ok(());
                };
                self.expect(&self.place(temp)?, before, planned.old.as_ref(), path)
            })
        };
        let failed = |errno| Error::from_errno(&first, errno);
        if sum < THREAD_BYTES {
            check()?;
            return self.dirs.sync(self.ops, touched, None).map_err(failed);
        }
        let mut checked = Ok(());
        let synced = self.dirs.sync(self.ops, touched, Some(&mut || checked = check()));
        checked?;
        synced.map_err(failed)
    }

    fn take(&self, planned: &Planned<'_>) -> Result<StepOutcome, Error> {
        match &planned.step {
            JournalStep::Put { path, before, after, temp, .. } => {
                let (place, temp) = (self.place(path)?, self.place(temp)?);
                match (before, after) {
                    (Base::Absent, _) => self.rename_new(&temp, &place, path)?,
                    (_, Base::Absent) => {
                        self.rename_new(&place, &temp, path)?;
                        return Ok(StepOutcome::TookAside);
                    }
                    _ => return self.replace(&temp, &place, (path, before, planned.old.as_ref())),
                }
            }
            JournalStep::Move { from, to, replaced: Base::Absent, .. } => {
                let (source, target) = (self.place(from)?, self.place(to)?);
                self.dirs.forget(from);
                self.rename_new(&source, &target, to)?;
                self.expect_moved(planned, &target, from).inspect_err(|_| {
                    // The other writer's file gets its name back; if even that fails, taking back
                    // the set tries again.
                    let _ = self.ops.rename_new(target.name(), source.name());
                })?;
            }
            JournalStep::Move { from, to, what, replaced, temp, .. } => {
                let places = [self.place(from)?, self.place(to)?, self.place(temp)?];
                self.move_over(planned, &places, [(from, what), (to, replaced)])?;
            }
            JournalStep::MakeDir { path, mode } => self.make_dir(path, *mode)?,
            JournalStep::RemoveDir { path, .. } => {
                let place = self.place(path)?;
                self.dirs.forget(path);
                self.ops.remove_dir(place.name()).map_err(|errno| match errno {
                    Errno::NOTEMPTY | Errno::EXIST => Error::conflict(path, "is not empty"),
                    errno => Error::from_errno(path, errno),
                })?;
            }
        }
        Ok(StepOutcome::Complete)
    }

    fn place(&self, path: &RelPath) -> Result<EntryPlace, Error> {
        self.dirs.place(path).map_err(|errno| Error::from_errno(path, errno))
    }

    fn rename_new(&self, from: &EntryPlace, to: &EntryPlace, path: &RelPath) -> Result<(), Error> {
        let renamed = self.ops.rename_new(from.name(), to.name());
        renamed.map_err(|errno| Error::from_errno(path, errno))
    }

    /// Compares what came out of a rename with what should have.
    fn expect(
        &self,
        place: &EntryPlace,
        base: &Base,
        old: Option<&OldBytes<'_>>,
        path: &RelPath,
    ) -> Result<(), Error> {
        if matches!(base, Base::Directory { .. }) {
            return Ok(());
        }
        let failed = |errno| Error::from_errno(path, errno);
        if let (Base::File { mode, .. }, Some(old)) = (base, old)
            && old.are_in(self.ops, place.name(), *mode).map_err(failed)?
        {
            return Ok(());
        }
        let look = FoundAt::at(self.ops, place.name(), u64::MAX).map_err(failed)?;
        match look.is(base) {
            true => Ok(()),
            false => Err(Error::conflict(path, describe_difference(&look, base))),
        }
    }

    /// Swaps new for old; what came out is looked at later. Where the file system cannot swap, the
    /// file is looked at just before the rename, which leaves a moment in which another program's
    /// write could be replaced.
    fn replace(
        &self,
        temp: &EntryPlace,
        place: &EntryPlace,
        (path, before, old): (&RelPath, &Base, Option<&OldBytes<'_>>),
    ) -> Result<StepOutcome, Error> {
        match self.ops.exchange(temp.name(), place.name()) {
            Ok(()) => Ok(StepOutcome::TookAside),
            Err(Errno::INVAL | Errno::NOSYS) => {
                self.expect(place, before, old, path)?;
                let renamed = self.ops.rename_over(temp.name(), place.name());
                renamed.map_err(|errno| Error::from_errno(path, errno))?;
                Ok(StepOutcome::Complete)
            }
            Err(Errno::NOENT) => Err(Error::conflict(path, "does not exist any more")),
            Err(errno) => Err(Error::from_errno(path, errno)),
        }
    }

    /// Compares what was moved with what should have been. If a file was replaced after the
    /// move, nothing is lost: the other writer saw the moved file.
    fn expect_moved(
        &self,
        planned: &Planned<'_>,
        target: &EntryPlace,
        from: &RelPath,
    ) -> Result<(), Error> {
        let JournalStep::Move { what, .. } = &planned.step else { return Ok(()) };
        if let Some(metadata) = &planned.metadata {
            let stat = statat(target.name().dir, target.name().name, AtFlags::SYMLINK_NOFOLLOW);
            #[allow(clippy::unnecessary_cast, reason = "the width differs between architectures")]
            if stat.is_ok_and(|stat| stat.st_ino as u64 != metadata.inode) {
                return Ok(());
            }
        }
        self.expect(target, what, planned.old.as_ref(), from)
    }

    fn move_over(
        &self,
        planned: &Planned<'_>,
        [source, target, temp]: &[EntryPlace; 3],
        [(from, what), (to, replaced)]: [(&RelPath, &Base); 2],
    ) -> Result<(), Error> {
        match self.ops.exchange(source.name(), target.name()) {
            Ok(()) => {
                let same = self
                    .expect_moved(planned, target, from)
                    .and_then(|()| self.expect(source, replaced, None, to));
                same.inspect_err(|_| {
                    let _ = self.ops.exchange(source.name(), target.name());
                })?;
                self.rename_new(source, temp, from)?;
                self.expect(temp, replaced, None, to)
            }
            Err(Errno::INVAL | Errno::NOSYS) => {
                self.expect(source, what, planned.old.as_ref(), from)?;
                self.expect(target, replaced, None, to)?;
                let renamed = self.ops.rename_over(source.name(), target.name());
                renamed.map_err(|errno| Error::from_errno(to, errno))
            }
            Err(Errno::NOENT) => {
                Err(Error::conflict(from, "or its target does not exist any more"))
            }
            Err(errno) => Err(Error::from_errno(from, errno)),
        }
    }

    fn make_dir(&self, path: &RelPath, mode: Option<u32>) -> Result<(), Error> {
        let place = self.place(path)?;
        let made = self.ops.make_dir(place.name(), mode.unwrap_or(DEFAULT_DIR_MODE));
        made.map_err(|errno| Error::from_errno(path, errno))?;
        self.dirs.forget(path);
        self.set_dir_mode(path, mode).inspect_err(|_| {
            let _ = self.ops.remove_dir(place.name());
            self.dirs.forget(path);
        })
    }

    fn set_dir_mode(&self, path: &RelPath, mode: Option<u32>) -> Result<(), Error> {
        let Some(mode) = mode else { return Ok(()) };
        let set = self.dirs.dir(path).and_then(|dir| self.ops.set_mode(&*dir, mode));
        set.map_err(|errno| Error::from_errno(path, errno))
    }
}

/// Adds the directories whose entries the step changes.
pub(crate) fn touch(step: &JournalStep, touched: &mut Vec<RelPath>) {
    let paths = match step {
        JournalStep::Put { path, temp, .. } => [Some(path), Some(temp), None],
        JournalStep::Move { from, to, temp, .. } => [Some(from), Some(to), Some(temp)],
        JournalStep::MakeDir { path, .. } => {
            touched.push(path.clone());
            [Some(path), None, None]
        }
        JournalStep::RemoveDir { path, .. } => [Some(path), None, None],
    };
    touched.extend(paths.into_iter().flatten().filter_map(RelPath::parent));
}
