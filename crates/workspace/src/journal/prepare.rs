//! Writing everything that a set needs to where it does no harm yet: the new content beside its
//! targets, and the entry by which it could be undone.

use std::os::fd::{AsFd, OwnedFd};
use std::sync::mpsc::{self, Receiver};

use protocol::Base;
use rustix::fs::fstat;
use rustix::io::{Errno, Result};

use super::dirs::Dirs;
use super::entry::JournalStep;
use super::plan::{JournalPlan, New, Planned};
use super::proof::Proof;
use super::store::{EntryDraft, Store};
use crate::metadata::Losses;
use crate::ops::Ops;
use crate::{EntryMeta, Error, RelPath};

/// How many new files are open at once while they wait for the disk.
const BATCH: usize = 64;

/// How many large files are compared before the new content is written: few, because what was
/// found stays in memory until then.
const EARLY_PROOFS: usize = 2;

/// How many replaced files are held open while their names are removed.
const MAX_HELD: usize = 16;

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
        draft: &mut EntryDraft,
        plan: &mut JournalPlan<'_>,
        temps: &[RelPath],
    ) -> std::result::Result<(), Error> {
        self.write(draft, plan).inspect_err(|_| {
            // What cannot be removed is left to recovery.
            if remove_temps(self.ops, self.dirs, temps).is_ok() {
                let _ = self.store.cut(&draft.spot);
            }
        })
    }

    fn write(
        &self,
        draft: &mut EntryDraft,
        plan: &mut JournalPlan<'_>,
    ) -> std::result::Result<(), Error> {
        let proofs = std::mem::take(&mut plan.proofs);
        if !proofs.is_empty() {
            return self.write_and_prove(draft, plan, &proofs);
        }
        let waiting = self.write_temps(plan)?;
        let journal = |errno| self.store.failed(errno);
        self.store.seal(draft, plan).map_err(journal)?;
        let mut files: Vec<_> = waiting.iter().map(AsFd::as_fd).collect();
        files.extend(self.store.files_of(draft));
        self.ops.sync_all(&files).map_err(journal)
    }

    /// Large files are read and hashed on a second thread while this one writes the new content,
    /// and that thread completes the entry while this one waits for the disk.
    fn write_and_prove<'s>(
        &self,
        draft: &mut EntryDraft,
        plan: &mut JournalPlan<'s>,
        proofs: &[Proof<'s>],
    ) -> std::result::Result<(), Error> {
        let (ops, store) = (self.ops, self.store);
        std::thread::scope(|scope| {
            let (hand_over, handed) = mpsc::channel();
            let sealed = scope.spawn(move || prove_and_seal((ops, store), proofs, &handed));
            let waiting = self.write_temps(plan)?;
            let files: Vec<_> = waiting.iter().map(AsFd::as_fd).collect();
            let failed = |errno| Error::from_errno(&proofs[0].path, errno);
            let ready = ops.ready_to_sync(&files).map_err(failed)?;
            // The receiver is gone if a proof has failed, and then there is nothing to wait for.
            let synced = hand_over.send((draft, plan)).map_or(Ok(()), |()| ready.wait());
            sealed.join().unwrap_or_else(|_| Err(failed(Errno::IO)))?;
            synced.map_err(failed)
        })
    }

    /// Writes all new content. Returns the files that still wait for the disk.
    fn write_temps(&self, plan: &mut JournalPlan<'_>) -> std::result::Result<Vec<OwnedFd>, Error> {
        let mut waiting = Vec::new();
        for planned in &mut plan.planned {
            let written = self.write_temp(planned, &mut plan.notes);
            let path = || temp_and_path(&planned.step).1;
            waiting.extend(written.map_err(|errno| Error::from_errno(path(), errno))?);
            if waiting.len() == BATCH {
                let files: Vec<_> = waiting.iter().map(AsFd::as_fd).collect();
                self.ops.sync_all(&files).map_err(|errno| Error::from_errno(path(), errno))?;
                waiting.clear();
            }
        }
        Ok(waiting)
    }

    /// Writes the new content beside its target and records what the file became.
    fn write_temp(
        &self,
        planned: &mut Planned<'_>,
        notes: &mut Vec<String>,
    ) -> Result<Option<OwnedFd>> {
        let JournalStep::Put { path, after, temp, .. } = &mut planned.step else { return Ok(None) };
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

/// The part of the work that touches only the journal, for another thread: compares the large files,
/// and once draft and plan are handed over, completes the entry and waits until it is on the disk. If
/// they never are, there is nothing to complete.
fn prove_and_seal<'s>(
    (ops, store): (&Ops, &Store),
    proofs: &[Proof<'s>],
    handed: &Receiver<(&mut EntryDraft, &mut JournalPlan<'s>)>,
) -> std::result::Result<(), Error> {
    let (early, late) = proofs.split_at(proofs.len().min(EARLY_PROOFS));
    let proven = early.iter().map(Proof::run).collect::<std::result::Result<Vec<_>, _>>()?;
    let Ok((draft, plan)) = handed.recv() else { return Ok(()) };
    proven.into_iter().for_each(|proven| proven.enter(plan));
    late.iter().try_for_each(|proof| proof.run().map(|proven| proven.enter(plan)))?;
    let synced = store
        .seal(draft, plan)
        .and_then(|()| ops.ready_to_sync(&store.files_of(draft))?.wait_beside());
    synced.map_err(|errno| store.failed(errno))
}

/// Removes what lies in temporary files after the change, and does not wait until its space is
/// given back.
pub(crate) fn remove_replaced(ops: &Ops, dirs: &Dirs<'_>, temps: &[RelPath]) -> Result<()> {
    let open = |temp| {
        let place = dirs.place(temp)?;
        ops.open_read(place.name().dir, place.name().name)
    };
    // Held open, a file outlives its name. What cannot be opened is removed all the same.
    let held = temps.iter().take(MAX_HELD).filter_map(|temp| open(temp).ok()).collect();
    let outcome = remove_temps(ops, dirs, temps);
    ops.let_go(held);
    outcome
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

pub(crate) fn temp_and_path(step: &JournalStep) -> (Option<&RelPath>, &RelPath) {
    match step {
        JournalStep::Put { temp, path, .. } => (Some(temp), path),
        JournalStep::Move { temp, from, .. } => (Some(temp), from),
        JournalStep::MakeDir { path, .. } | JournalStep::RemoveDir { path, .. } => (None, path),
    }
}

fn note_losses(path: &RelPath, losses: Losses, notes: &mut Vec<String>) {
    if losses.owner {
        notes.push(format!("{path} has another owner now: the system refused to set the old one"));
    }
    if !losses.attributes.is_empty() {
        let names = losses.attributes.join(", ");
        notes.push(format!(
            "{path} lost extended attributes that the system refused to set: {names}"
        ));
    }
}
