//! Looking at every file of a project without reading it.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use workspace::{
    EntryKind, EntryMeta, Error, Flow, RelPath, Visitor, WalkEntry, WalkOptions, WalkReport,
    Watcher, Workspace,
};

use crate::index::IndexStamp;

/// A file system may keep times no finer than this. A file that was written so shortly before it
/// was looked at can be written again without looking different.
const COARSEST_CLOCK: Duration = Duration::from_secs(2);

/// The files beneath a directory, by path.
pub(super) struct Scan {
    pub(super) files: Vec<(RelPath, IndexStamp)>,
    pub(super) report: WalkReport,
    /// Whether every directory could be watched.
    pub(super) watched: bool,
}

/// Looks at all files that `options` cover. With a watcher, each directory is watched before its
/// entries are read, so that nothing is missed in between.
pub(super) fn scan(
    workspace: &Workspace,
    watcher: Option<&Watcher>,
    options: &WalkOptions,
    cancel: &(dyn Fn() -> bool + Sync),
) -> Result<Scan, Error> {
    let mut watched = watcher.is_none_or(|it| it.watch(workspace, &options.start).is_ok());
    let now = SystemTime::now();
    let visitor = || ScanVisitor { watcher, now, files: Vec::new(), watched: true };
    let (report, threads) = workspace.walk(options, cancel, visitor)?;
    let mut files = Vec::with_capacity(threads.iter().map(|thread| thread.files.len()).sum());
    for thread in threads {
        watched &= thread.watched;
        files.extend(thread.files);
    }
    files.sort_unstable_by(|(a, _), (b, _)| a.cmp(b));
    Ok(Scan { files, report, watched })
}

struct ScanVisitor<'a> {
    watcher: Option<&'a Watcher>,
    now: SystemTime,
    files: Vec<(RelPath, IndexStamp)>,
    watched: bool,
}

impl Visitor for ScanVisitor<'_> {
    fn visit(&mut self, entry: &WalkEntry<'_>) -> Flow {
        match entry.kind() {
            EntryKind::File => {
                if let Ok(meta) = entry.meta()
                    && meta.kind == EntryKind::File
                {
                    self.files.push((entry.path(), stamp(&meta, self.now)));
                }
            }
            EntryKind::Directory => {
                if let Some(watcher) = self.watcher {
                    self.watched &= watcher.watch_entry(entry).is_ok();
                }
            }
            _ => {}
        }
        Flow::Continue
    }
}

/// What a file looks like at `now`. One that could change unnoticed looks like no other.
pub(super) fn stamp(meta: &EntryMeta, now: SystemTime) -> IndexStamp {
    let settled = now.checked_sub(COARSEST_CLOCK).unwrap_or(UNIX_EPOCH);
    if meta.modified >= settled || meta.changed >= settled {
        return IndexStamp::UNSETTLED;
    }
    IndexStamp {
        size: meta.size,
        modified: nanoseconds(meta.modified),
        changed: nanoseconds(meta.changed),
        inode: meta.ino,
    }
}

/// Since 1970, or before it as a negative number.
fn nanoseconds(time: SystemTime) -> i64 {
    let whole = |time: Duration| i64::try_from(time.as_nanos()).unwrap_or(i64::MAX);
    match time.duration_since(UNIX_EPOCH) {
        Ok(after) => whole(after),
        Err(before) => -whole(before.duration()),
    }
}
