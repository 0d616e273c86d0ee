//! Writing everything that a set needs to where it does no harm yet: the new content beside its
//! targets, and the entry that could take it all back.

use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::mpsc;

use protocol::Base;
use rustix::fs::fstat;
use rustix::io::{Errno, Result};

use super::dirs::Dirs;
use super::entry::{self, Step};
use super::plan::{New, Plan, Planned};
use super::proof::Proof;
use super::store::{Draft, Store};
use crate::metadata::Losses;
use crate::ops::Ops;
use crate::{EntryMeta, Error, RelPath};

/// How many new files are open at once while they wait for the disk.
const BATCH: usize = 64;

/// While the content is written only the owner may look, unless the system's default is wanted.
const PRIVATE_MODE: u32 = 0o600;

/// The system takes away what its default does not allow.
const DEFAULT_MODE: u32 = 0o666;

/// One entry in the making.
pub(crate) struct Prepare<'p> {
    pub(crate) ops: &'p Ops,
    pub(crate) dirs: &'p Dirs<'p>,
    pub(crate) store: &'p Store,
}

impl Prepare<'_> {
    /// Writes temporary files and completes the entry, and waits for the disk. If it fails,
    /// nothing is left behind.
    pub(crate) fn run(
        &self,
        draft: &mut Draft,
        plan: &mut Plan<'_>,
        temps: &[RelPath],
    ) -> std::result::Result<(), Error> {
        self.write(draft, plan).inspect_err(|_| {
            // What cannot be removed is left to recovery.
            if remove_temps(self.ops, self.dirs, temps).is_ok() {
                let _ = self.store.cut(&draft.spot);
            }
        })
    }

    fn write(&self, draft: &mut Draft, plan: &mut Plan<'_>) -> std::result::Result<(), Error> {
        let proofs = std::mem::take(&mut plan.proofs);
        if !proofs.is_empty() {
            return self.write_and_prove(draft, plan, &proofs);
        }
        let waiting = self.write_temps(plan)?;
        self.seal(draft, plan)?;
        let mut files: Vec<_> = waiting.iter().map(AsFd::as_fd).collect();
        files.extend(self.entry_files(draft));
        self.ops.sync_all(&files).map_err(|errno| self.store.failed(errno))
    }

    /// Large files are read and hashed while the new content is written, and the entry is
    /// completed while the disk takes that.
    fn write_and_prove<'s>(
        &self,
        draft: &mut Draft,
        plan: &mut Plan<'s>,
        proofs: &[Proof<'s>],
    ) -> std::result::Result<(), Error> {
        std::thread::scope(|scope| {
            // At most one result waits, so that few old files are in memory at once.
            let (sender, proven) = mpsc::sync_channel(1);
            scope.spawn(move || {
                // Nobody listens any more after a failure.
                let _ = proofs.iter().try_for_each(|proof| sender.send(proof.run()));
            });
            let waiting = self.write_temps(plan)?;
            let files: Vec<_> = waiting.iter().map(AsFd::as_fd).collect();
            let (synced, sealed) = self.ops.sync_all_meanwhile(&files, || {
                for proof in proofs {
                    let lost = || Error::from_errno(&proof.path, Errno::IO);
                    proven.recv().map_err(|_| lost())??.enter(plan);
                }
                self.seal(draft, plan)?;
                let files = self.entry_files(draft);
                self.ops.sync_all(&files).map_err(|errno| self.store.failed(errno))
            });
            sealed?;
            synced.map_err(|errno| Error::from_errno(&proofs[0].path, errno))
        })
    }

    /// Writes all new content. Answers with the files that still wait for the disk.
    fn write_temps(&self, plan: &mut Plan<'_>) -> std::result::Result<Vec<OwnedFd>, Error> {
        let mut waiting = Vec::new();
        for planned in &mut plan.planned {
            let written = self.write_temp(planned, &mut plan.notes);
            let path = || temp_and_path(&planned.step).1;
            waiting.extend(written.map_err(|errno| Error::from_errno(path(), errno))?);
            if waiting.len() == BATCH {
                self.sync(&waiting).map_err(|errno| Error::from_errno(path(), errno))?;
                waiting.clear();
            }
        }
        Ok(waiting)
    }

    /// Completes the entry with images and steps.
    fn seal(&self, draft: &mut Draft, plan: &mut Plan<'_>) -> std::result::Result<(), Error> {
        let mut rest = std::mem::take(&mut plan.images);
        let steps: Vec<Step> = plan.planned.iter().map(|planned| planned.step.clone()).collect();
        let images = rest.len() as u64;
        rest.extend_from_slice(&entry::seal(&steps, draft.header_len() + images));
        self.store.seal(draft, &rest).map_err(|errno| self.store.failed(errno))
    }

    /// What must be on the disk for the entry to be there.
    fn entry_files<'f>(&'f self, draft: &'f Draft) -> Vec<BorrowedFd<'f>> {
        let dir = draft.new_segment.then(|| self.store.dir());
        let previous = draft.previous.as_ref().map(AsFd::as_fd);
        [Some(draft.file.as_fd()), dir, previous].into_iter().flatten().collect()
    }

    fn sync(&self, files: &[OwnedFd]) -> Result<()> {
        let files: Vec<_> = files.iter().map(AsFd::as_fd).collect();
        self.ops.sync_all(&files)
    }

    /// Writes the new content beside its target and records what the file became.
    fn write_temp(
        &self,
        planned: &mut Planned<'_>,
        notes: &mut Vec<String>,
    ) -> Result<Option<OwnedFd>> {
        let Step::Put { path, after, temp, .. } = &mut planned.step else { return Ok(None) };
        let bytes = match planned.new {
            New::Nothing => return Ok(None),
            New::Link(target) => {
                self.ops.symlink(target, self.dirs.place(temp)?.name())?;
                return Ok(None);
            }
            New::File(bytes) => bytes,
        };
        let place = self.dirs.place(temp)?;
        let mode = planned.mode.map_or(DEFAULT_MODE, |_| PRIVATE_MODE);
        let file = self.ops.create(place.name().dir, place.name().name, mode)?;
        self.ops.write(&file, bytes)?;
        match (&planned.metadata, planned.mode) {
            (Some(metadata), Some(mode)) => {
                let losses = metadata.hand_over(self.ops, file.as_fd(), mode)?;
                note_losses(path, losses, notes);
                if planned.returns {
                    self.ops.set_modified(&file, metadata.modified)?;
                }
            }
            (_, Some(mode)) => self.ops.set_mode(&file, mode)?,
            (_, None) => {}
        }
        if let Base::File { mode, .. } = after {
            *mode = EntryMeta::from_stat(&fstat(&file)?).mode;
        }
        Ok(Some(file))
    }
}

/// Removes temporary files, as far as they exist.
pub(crate) fn remove_temps(ops: &Ops, dirs: &Dirs<'_>, temps: &[RelPath]) -> Result<()> {
    let mut outcome = Ok(());
    for temp in temps {
        match dirs.place(temp).and_then(|place| ops.unlink(place.name())) {
            Ok(()) | Err(Errno::NOENT) => {}
            Err(errno) => outcome = Err(errno),
        }
    }
    outcome
}

pub(crate) fn temp_and_path(step: &Step) -> (Option<&RelPath>, &RelPath) {
    match step {
        Step::Put { temp, path, .. } => (Some(temp), path),
        Step::Move { temp, from, .. } => (Some(temp), from),
        Step::MakeDir { path, .. } | Step::RemoveDir { path, .. } => (None, path),
    }
}

fn note_losses(path: &RelPath, losses: Losses, notes: &mut Vec<String>) {
    if losses.owner {
        notes
            .push(format!("{path} belongs to another owner now: the system kept the old one back"));
    }
    if !losses.attributes.is_empty() {
        let names = losses.attributes.join(", ");
        notes.push(format!("{path} lost extended attributes that the system guards: {names}"));
    }
}
