//! The table of all symbols, made in the background after the first question for one.

use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use workspace::{Error, Flow, Mapped, RelPath, StateDir};

use super::jobs::IndexJob;
use super::status::IndexProgress;
use super::{IndexShared, IndexState, LiveIndex};
use crate::index::IndexStamp;
use crate::lookup::{FileStamp, SymbolTable, TableOptions, TableReport, write_symbol_table};
use crate::{Language, SearchScope};

/// The name of the table in the cache directory.
const FILE: &str = "symbols.table";

/// Changed files, each of which is read at every question, from which on a new table pays.
const REBUILD_FROM: usize = 500;

/// The time that parsing one file may take.
const FILE_TIME: Duration = Duration::from_secs(5);

/// An opened table.
pub(crate) type MappedTable = SymbolTable<Mapped>;

/// The table, as far as there is one.
#[derive(Default)]
pub(super) enum Symbols {
    /// It was not asked for yet, or too much has changed.
    #[default]
    Absent,
    /// It cannot be made.
    Failed,
    Ready(Arc<MappedTable>),
}

impl LiveIndex {
    /// The table of symbols, and the files of which it does not know everything; none if there is
    /// none yet. Asking for it has it made.
    pub(crate) fn symbols(&self, scope: &SearchScope) -> Option<(Arc<MappedTable>, Vec<RelPath>)> {
        let mut state = self.ready(false, scope)?;
        let is_ready = matches!(state.symbols, Symbols::Ready(_));
        if is_ready && state.files.unknown_to_table().len() > REBUILD_FROM {
            state.symbols = Symbols::Absent;
        }
        match &state.symbols {
            Symbols::Ready(table) => {
                let changed = state.files.unknown_to_table().iter().cloned().collect();
                Some((Arc::clone(table), changed))
            }
            Symbols::Failed => None,
            Symbols::Absent => {
                if !state.jobs.has(IndexJob::Symbols) {
                    self.shared.want(&mut state, IndexJob::Symbols);
                }
                None
            }
        }
    }

    /// Makes the table now, and reports the progress.
    pub(crate) fn build_symbols(
        &self,
        progress: &(dyn Fn(u64, u64) + Sync),
    ) -> Result<TableReport, Error> {
        self.check();
        self.shared.build_symbols(progress)
    }
}

impl IndexShared {
    /// Finds the table of symbols or makes it.
    pub(super) fn find_symbols(&self) -> Result<(), Error> {
        if let Some(table) = self.open_symbols()? {
            self.state().files.begin_table();
            let different = self.different_from(&table);
            let mut state = self.state();
            if different.len() <= REBUILD_FROM {
                state.files.add_unknown_to_table(different);
                state.symbols = Symbols::Ready(Arc::new(table));
                return Ok(());
            }
        }
        self.build_symbols(&|_, _| {}).map(drop)
    }

    fn open_symbols(&self) -> Result<Option<MappedTable>, Error> {
        let cache = StateDir::existing(&self.workspace, &self.cache)?;
        let Some(cache) = cache else { return Ok(None) };
        Ok(cache.map(FILE)?.and_then(SymbolTable::open))
    }

    /// Parses every file and begins to use what comes out.
    fn build_symbols(&self, progress: &(dyn Fn(u64, u64) + Sync)) -> Result<TableReport, Error> {
        let cache = StateDir::open(&self.workspace, &self.cache)?;
        let mut state = self.state();
        state.files.begin_table();
        let mut files = Vec::with_capacity(state.files.len());
        state.files.for_each_path(&RelPath::root(), |path| {
            files.extend(RelPath::from_bytes(path));
            Flow::Continue
        });
        let stopped = state.jobs.stop_sign();
        drop(state);
        let options = TableOptions {
            threads: 0,
            max_file_bytes: self.options.max_file_bytes,
            file_time: FILE_TIME,
            background: self.options.stays,
        };
        let told = |done, total| {
            if done % 256 == 0 {
                self.state().progress = Some(IndexProgress { done, total });
            }
            progress(done, total);
        };
        let cancel = || stopped.load(Ordering::Relaxed);
        let failed = |source| Error::Io { path: self.cache.display().to_string(), source };
        let mut draft = cache.draft(FILE)?;
        let made = write_symbol_table(&self.workspace, files, &options, &cancel, &told, &mut draft);
        let report = made.map_err(failed)?;
        if report.cancelled {
            return Err(Error::Cancelled { path: RelPath::root().to_text() });
        }
        draft.publish()?;
        let broken = || failed(std::io::ErrorKind::InvalidData.into());
        let table = self.open_symbols()?.ok_or_else(broken)?;
        let different = self.different_from(&table);
        let mut state = self.state();
        state.files.add_unknown_to_table(different);
        state.symbols = Symbols::Ready(Arc::new(table));
        Ok(report)
    }

    /// The files of which a table does not know what they are now.
    fn different_from(&self, table: &MappedTable) -> BTreeSet<RelPath> {
        let known: HashMap<RelPath, FileStamp> =
            (0..table.files() as u32).filter_map(|file| table.file(file)).collect();
        let max = self.options.max_file_bytes;
        let mut different = BTreeSet::new();
        self.state().files.for_each_stamp(|path, stamp| {
            let Ok(path) = RelPath::from_bytes(path) else { return };
            if Language::may_be_parsed(&path)
                && (stamp.size <= max || stamp == IndexStamp::UNSETTLED)
                && !known.get(&path).is_some_and(|known| looks_like(known, &stamp))
            {
                different.insert(path);
            }
        });
        different
    }
}

impl IndexState {
    /// The table cannot be made, and is not tried again at each question.
    pub(super) fn symbols_failed(&mut self) {
        self.symbols = Symbols::Failed;
    }
}

fn looks_like(known: &FileStamp, stamp: &IndexStamp) -> bool {
    (known.size, known.ino) == (stamp.size, stamp.inode)
        && i64::try_from(known.modified).is_ok_and(|modified| modified == stamp.modified)
}
