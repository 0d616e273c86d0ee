//! After a crash: finds interrupted work and rolls it back or completes it.

use std::os::fd::AsFd;

use rustix::io::{Errno, Result};

use super::dirs::Dirs;
use super::entry::{EntryId, JournalStep, Loaded, temps_of};
use super::frame::{Frame, Stage};
use super::prepare::remove_temps;
use super::rewind::Rewind;
use super::store::{Store, Tally};
use crate::entry_names::EntryNames;
use crate::ops::{Name, Ops};
use crate::temp_name::is_temp_name;
use crate::{EntryKind, Error, RelPath, Workspace};

/// What recovery found and did.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RecoveryReport {
    /// Entries whose changes were rolled back.
    pub rolled_back: Vec<EntryId>,
    /// Entries whose changes were complete but not yet marked so.
    pub completed: Vec<EntryId>,
    /// Paths that were left as they are because another process has changed them since.
    pub conflicts: Vec<RelPath>,
    /// Entries that could not be recovered, and why. They are tried again at the next start.
    pub failed: Vec<(EntryId, String)>,
}

impl RecoveryReport {
    /// Whether there was nothing to recover.
    pub fn is_empty(&self) -> bool {
        *self == RecoveryReport::default()
    }
}

/// Recovers if there is anything to recover and no process is applying changes. Also returns
/// the greatest number of an entry.
pub(crate) fn at_start(
    workspace: &Workspace,
    store: &Store,
    ops: &Ops,
) -> std::result::Result<(RecoveryReport, u64), Error> {
    let failed = |errno| store.failed(errno);
    let segments = store.segments().map_err(failed)?;
    let newest = segments.last().map(|segment| store.frames(*segment).map_err(failed));
    let newest = newest.transpose()?.unwrap_or_default();
    // A segment may have been made for an entry that was never written.
    let last = newest.iter().map(|frame| frame.id.0).chain(segments.last().copied()).max();
    let last = last.unwrap_or(0);
    let tally = store.tally().map_err(failed)?;
    let is_open = newest.last().is_some_and(|frame| frame.stage != Stage::Done);
    if !is_open && tally.open == 0 {
        return Ok((RecoveryReport::default(), last));
    }
    // The process that holds the lock is alive and will finish; if it crashes, the next change
    // notices that.
    match store.try_lock().map_err(failed)? {
        Some(_guard) => Ok((all(workspace, store, ops)?, last)),
        None => Ok((RecoveryReport::default(), last)),
    }
}

/// Recovers every interrupted entry, the newest first. To be called with the lock held.
pub(crate) fn all(
    workspace: &Workspace,
    store: &Store,
    ops: &Ops,
) -> std::result::Result<RecoveryReport, Error> {
    let failed = |errno| store.failed(errno);
    let mut report = RecoveryReport::default();
    let mut last = store.tally().map_err(failed)?.last;
    let mut unresolved = 0;
    for segment in store.segments().map_err(failed)?.into_iter().rev() {
        let frames = store.frames(segment).map_err(failed)?;
        last = frames.iter().map(|frame| frame.id.0).fold(last, u64::max);
        for frame in frames.iter().rev().filter(|frame| frame.stage != Stage::Done) {
            let recovery = Recovery { ops, dirs: Dirs::new(workspace), store, frame };
            if let Err(errno) = recovery.run(&mut report) {
                report.failed.push((frame.id, std::io::Error::from(errno).to_string()));
                unresolved = frame.id.0.max(1);
            }
        }
    }
    let tally = store.tally().map_err(failed)?;
    // Only a hint for the next change: if it is lost, the directory is read again.
    let _ = store.set_tally(Tally { last, open: unresolved, ..tally });
    Ok(report)
}

struct Recovery<'r> {
    ops: &'r Ops,
    dirs: Dirs<'r>,
    store: &'r Store,
    frame: &'r Frame,
}

impl Recovery<'_> {
    fn run(&self, report: &mut RecoveryReport) -> Result<()> {
        let bytes = self.store.read(self.frame)?;
        let temps = temps_of(&bytes);
        let sealed = self.frame.stage != Stage::Writing;
        let Some(entry) = Loaded::new(bytes).filter(|_| sealed) else {
            self.clean(temps)?;
            return self.forget(report);
        };
        let mut rewind =
            Rewind { ops: self.ops, dirs: &self.dirs, entry: &entry, conflicts: Vec::new() };
        if rewind.is_complete()? {
            let temps: Vec<RelPath> = entry.steps.iter().filter_map(temp_of).collect();
            remove_temps(self.ops, &self.dirs, &temps)?;
            self.store.mark_frame_done(self.frame)?;
            report.completed.push(self.frame.id);
            return Ok(());
        }
        rewind.run(usize::MAX)?;
        report.conflicts.append(&mut rewind.conflicts);
        self.forget(report)
    }

    fn forget(&self, report: &mut RecoveryReport) -> Result<()> {
        self.store.cut(&self.frame.spot)?;
        report.rolled_back.push(self.frame.id);
        Ok(())
    }

    /// Removes the temporary files of an entry that was never completed. If not even its first
    /// line reached the disk, which takes a power failure, they are searched for.
    fn clean(&self, temps: Option<Vec<RelPath>>) -> Result<()> {
        match temps {
            Some(temps) => remove_temps(self.ops, &self.dirs, &temps),
            None => self.sweep(),
        }
    }

    fn sweep(&self) -> Result<()> {
        let mut pending = vec![RelPath::root()];
        while let Some(path) = pending.pop() {
            let dir = match self.dirs.workspace.open_real_dir(&path) {
                Ok(dir) => dir,
                // What cannot be read cannot hold our files, and what is gone needs no care.
                Err(Errno::ACCESS | Errno::NOENT | Errno::LOOP | Errno::NOTDIR) => continue,
                Err(errno) => return Err(errno),
            };
            let mut names = EntryNames::default();
            names.read(dir.as_fd(), usize::MAX)?;
            for entry in names.iter() {
                match entry.kind {
                    EntryKind::Directory => pending.push(path.join_entry(entry.name())),
                    EntryKind::File | EntryKind::Symlink if is_temp_name(entry.name()) => {
                        self.ops.unlink(Name { dir: dir.as_fd(), name: entry.name() })?;
                    }
                    _ => {}
                }
            }
        }
        Ok(())
    }
}

fn temp_of(step: &JournalStep) -> Option<RelPath> {
    super::prepare::temp_and_path(step).0.cloned()
}
