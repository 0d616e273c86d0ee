//! Changing the project: sets of changes are applied all or none, survive a crash at any moment,
//! and can be undone.
//!
//! Applying goes like this. Every base is compared with what is there ([`plan`]). New content is
//! written beside its targets, what it replaces into the entry, and both are forced to the disk
//! ([`prepare`]). Then one rename per file makes the change and brings the old file out, which is
//! compared once more ([`commit`]). If anything fails, and after a crash, the files themselves show
//! how far each step got, and it is rolled back ([`rewind`]).
//!
//! A lock makes sure that one process works at a time, and that the unfinished work of a running
//! process is not recovered as that of a crashed one.

mod commit;
mod dirs;
mod entry;
mod frame;
mod history;
mod image;
mod inverse;
mod kept;
mod net;
mod old_bytes;
mod old_states;
mod plan;
mod prepare;
mod proof;
mod prune;
mod record;
mod recover;
mod rewind;
mod shape;
mod since;
mod store;

use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, SystemTime};

use protocol::{Base, ChangeSet};
use rustix::io::Errno;

use crate::faults::Faults;
use crate::ops::Ops;
use crate::temp_name::TempStem;
use crate::{Error, RelPath, StateDir, Workspace};

pub use entry::{EntryId, EntryRole, Label};
pub use history::EntrySummary;
pub use inverse::{Inverse, UndoTarget};
pub use record::WrittenElsewhere;
pub use recover::RecoveryReport;
pub use since::InverseSince;

use commit::Commit;
use dirs::Dirs;
use entry::{Header, JournalStep, Loaded};
use frame::Stage;
use plan::{JournalPlan, Planner};
use prepare::{Prepare, remove_replaced};
use prune::Tail;
use rewind::Rewind;
use store::{EntryDraft, Store, Tally};

/// The part of the state directory that belongs to the journal.
const JOURNAL_DIR: &str = "journal";

/// Enough to undo a month of ordinary work, and small beside the projects themselves.
const DEFAULT_MAX_BYTES: u64 = 256 << 20;
const DEFAULT_MAX_AGE: Duration = Duration::from_secs(30 * 24 * 60 * 60);

/// How much the journal keeps. The newest entry is kept in any case.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct JournalOptions {
    /// The size of all entries together; also the largest file that can be changed or deleted.
    pub max_bytes: u64,
    /// The age after which an entry is forgotten.
    pub max_age: Duration,
}

impl Default for JournalOptions {
    fn default() -> JournalOptions {
        JournalOptions { max_bytes: DEFAULT_MAX_BYTES, max_age: DEFAULT_MAX_AGE }
    }
}

/// The result of applying a set.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Applied {
    /// The entry by which it can be undone.
    pub entry: EntryId,
    /// The paths that were changed.
    pub paths: Vec<RelPath>,
    /// What the user should know, such as a hard link that was broken.
    pub notes: Vec<String>,
}

/// The only way to change the project, and the record of what was changed.
pub struct Journal {
    workspace: Arc<Workspace>,
    store: Store,
    options: JournalOptions,
    ops: Ops,
    recovery: RecoveryReport,
    turn: Mutex<TurnState>,
}

/// Known to the thread that applies a set; others wait for the lock.
struct TurnState {
    /// The greatest number that was seen in the directory.
    last: u64,
    /// Where the next entry goes, if it is known.
    tail: Option<Tail>,
    /// Whether this process has looked for entries that are too old or too many.
    pruned: bool,
}

/// The result of a successful turn.
struct Performed {
    /// Where the next entry goes; none if there is still something to clean up.
    tail: Option<Tail>,
    size: u64,
}

/// Whether the steps of an entry are still to be taken.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Taking {
    Steps,
    /// Another program has taken them.
    Nothing,
}

/// What an entry is besides its changes.
#[derive(Clone, Copy)]
struct Purpose<'a> {
    label: &'a Label,
    role: EntryRole,
    undoes: &'a [EntryId],
}

impl Journal {
    /// Opens the journal of a project in its state directory, which must be an absolute path
    /// outside the project. Work that a crash interrupted is rolled back, or completed if only
    /// cleaning up was left.
    pub fn open(
        workspace: Arc<Workspace>,
        state: &Path,
        options: JournalOptions,
    ) -> Result<Journal, Error> {
        Journal::open_with(workspace, state, options, Ops::default())
    }

    /// Opens the journal with failures to come, for tests.
    #[doc(hidden)]
    pub fn open_with_faults(
        workspace: Arc<Workspace>,
        state: &Path,
        options: JournalOptions,
        faults: Arc<Faults>,
    ) -> Result<Journal, Error> {
        Journal::open_with(workspace, state, options, Ops::with_faults(faults))
    }

    fn open_with(
        workspace: Arc<Workspace>,
        state: &Path,
        options: JournalOptions,
        ops: Ops,
    ) -> Result<Journal, Error> {
        let dir = StateDir::open_with(&workspace, &state.join(JOURNAL_DIR), ops.clone())?;
        let store = Store::open(dir, ops.clone())?;
        let (recovery, last) = recover::at_start(&workspace, &store, &ops)?;
        let turn = Mutex::new(TurnState { last, tail: None, pruned: false });
        Ok(Journal { workspace, store, options, ops, recovery, turn })
    }

    /// What opening the journal found of interrupted work.
    pub fn recovery(&self) -> &RecoveryReport {
        &self.recovery
    }

    /// What is at `path` now, with the bytes if it is a file: see [`Workspace::base_of`].
    pub fn base(&self, path: &RelPath, max_bytes: u64) -> Result<(Base, Option<Vec<u8>>), Error> {
        self.workspace.base_of(path, max_bytes)
    }

    /// Time spent waiting for the disk to confirm, for measuring.
    #[doc(hidden)]
    pub fn sync_time(&self) -> Duration {
        self.ops.sync_time()
    }

    /// Applies all changes of the set, in order, or none. If any path is not in the state that
    /// the set states as its base, or goes through a link, the answer is [`Error::Conflict`].
    pub fn apply(&self, set: &ChangeSet, label: &Label) -> Result<Applied, Error> {
        self.apply_for(set, Purpose { label, role: EntryRole::Change, undoes: &[] })
    }

    /// Applies an inverse, as a new entry that can itself be undone.
    pub fn apply_undo(&self, inverse: &Inverse, label: &Label) -> Result<Applied, Error> {
        let Inverse { set, undoes, role, .. } = inverse;
        self.apply_for(set, Purpose { label, role: *role, undoes })
    }

    fn apply_for(&self, set: &ChangeSet, purpose: Purpose<'_>) -> Result<Applied, Error> {
        self.enter(purpose, Taking::Steps, |dirs, stem| {
            let planner = Planner {
                ops: &self.ops,
                dirs,
                max_bytes: self.options.max_bytes,
                role: purpose.role,
                stem,
                plan: JournalPlan::default(),
                returning: self.returning(set, purpose.undoes),
            };
            planner.check(set)
        })
    }

    /// Makes an entry for what `plan` finds to be done, and does it unless it is done already.
    fn enter<'s>(
        &self,
        purpose: Purpose<'_>,
        taking: Taking,
        plan: impl FnOnce(&Dirs<'_>, TempStem) -> Result<JournalPlan<'s>, Error>,
    ) -> Result<Applied, Error> {
        let journal = |errno| self.store.failed(errno);
        // The numbers inside are valid whatever a panicking thread did.
        let mut turn = self.turn.lock().unwrap_or_else(PoisonError::into_inner);
        let _guard = self.store.lock().map_err(journal)?;
        let mut tally = self.store.tally().map_err(journal)?;
        if tally.open != 0 {
            // Another process has crashed. Its work is rolled back; this one holds the lock.
            recover::all(&self.workspace, &self.store, &self.ops)?;
            tally.open = 0;
        }
        let dirs = Dirs::new(&self.workspace);
        let stem = TempStem::random().map_err(journal)?;
        let mut plan = plan(&dirs, stem)?;
        let id = EntryId(tally.last.max(turn.last) + 1);
        let header = header(&plan, purpose);
        self.store.set_tally(Tally { last: id.0, open: id.0, ..tally }).map_err(journal)?;
        if tally.last != turn.last {
            // Another process was at work.
            turn.tail = None;
        }
        turn.last = id.0;
        let performed = self.perform(id, &mut plan, &header, (&dirs, taking), turn.tail.take());
        // After a failure, and if not everything could be cleaned up, the next turn looks again.
        let (open, size) = match &performed {
            Ok(Performed { tail, size }) => (if tail.is_some() { 0 } else { id.0 }, *size),
            Err(_) => (id.0, 0),
        };
        let tally = Tally { last: id.0, open, total: tally.total + size };
        let told = self.store.set_tally(tally);
        // If that is lost, the next turn must not trust what this one knows.
        turn.tail = performed?.tail.filter(|_| told.is_ok());
        self.prune(&mut turn, tally);
        Ok(Applied { entry: id, paths: header.paths, notes: plan.notes })
    }

    fn perform(
        &self,
        id: EntryId,
        plan: &mut JournalPlan<'_>,
        header: &Header,
        (dirs, taking): (&Dirs<'_>, Taking),
        tail: Option<Tail>,
    ) -> Result<Performed, Error> {
        let (ops, store) = (&self.ops, &self.store);
        let journal = |errno| store.failed(errno);
        ops.wait_for_space();
        let tail = self.tail_to_append(tail, header.time_ms).map_err(journal)?;
        let mut draft = store.begin(id, header, tail.as_ref()).map_err(journal)?;
        Prepare { ops, dirs, store }.run(&mut draft, plan, &header.temps)?;
        let mut taken = 0;
        if taking == Taking::Steps
            && let Err(error) = (Commit { ops, dirs }).run(&plan.planned, &mut taken)
        {
            return Err(self.roll_back(&draft, dirs, taken, error));
        }
        // From here on the change is permanent. What cannot be cleaned up is left to recovery.
        let clean = || remove_replaced(ops, dirs, &header.temps);
        let done = || store.mark(&draft.frame, Stage::Done, &draft.file);
        let finished = clean().or_else(|_| clean()).and_then(|()| done().or_else(|_| done()));
        let tail = Tail::after(tail, &draft.frame);
        Ok(Performed { tail: finished.is_ok().then_some(tail), size: draft.frame.len })
    }

    /// Rolls a failed set back and returns the error to report.
    fn roll_back(&self, draft: &EntryDraft, dirs: &Dirs<'_>, taken: usize, error: Error) -> Error {
        let rewound = self.store.read(&draft.frame).and_then(|bytes| {
            let entry = Loaded::new(bytes).ok_or(Errno::IO)?;
            let mut rewind = Rewind { ops: &self.ops, dirs, entry: &entry, conflicts: Vec::new() };
            rewind.run(taken)
        });
        match rewound {
            Ok(()) => {
                // An entry that is left is found to be rolled back at the next start.
                let _ = self.store.cut(&draft.spot);
                error
            }
            Err(_) => Error::State {
                path: error.path().to_owned(),
                reason: format!(
                    "{error}; some files could not be put back yet, which is tried again at the \
                     next start"
                ),
            },
        }
    }
}

fn header(plan: &JournalPlan<'_>, purpose: Purpose<'_>) -> Header {
    let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    let mut paths = Vec::with_capacity(plan.planned.len());
    let mut temps = Vec::with_capacity(plan.planned.len());
    for planned in &plan.planned {
        match &planned.step {
            JournalStep::Put { path, temp, .. } => {
                paths.push(path.clone());
                temps.push(temp.clone());
            }
            JournalStep::Move { from, to, replaced, temp, .. } => {
                paths.extend([from.clone(), to.clone()]);
                if *replaced != Base::Absent {
                    temps.push(temp.clone());
                }
            }
            JournalStep::MakeDir { path, .. } | JournalStep::RemoveDir { path, .. } => {
                paths.push(path.clone())
            }
        }
    }
    Header {
        time_ms: u64::try_from(since.as_millis()).unwrap_or(u64::MAX),
        label: purpose.label.clone(),
        role: purpose.role,
        undoes: purpose.undoes.to_vec(),
        paths,
        temps,
    }
}
