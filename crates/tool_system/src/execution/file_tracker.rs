//! Which files the model has seen, and in which state.
//!
//! A model may only change what it has read, and only while the file is still what it read. Both
//! are judged by content: a file that was touched but not changed is not stale.

use std::collections::{BTreeSet, HashMap};
use std::sync::{Mutex, MutexGuard};

use protocol::{ContentHash, ErrorCode, ToolError};
use workspace::RelPath;

use crate::locked::locked;

/// Remembers the content hash of every file that was read or written.
#[derive(Default)]
pub struct FileTracker {
    require_read: bool,
    seen: Mutex<HashMap<RelPath, ContentHash>>,
    /// The directories of all files that were ever seen.
    directories: Mutex<BTreeSet<RelPath>>,
}

impl FileTracker {
    /// A tracker that refuses changes to files that were never read, if `require_read` says so.
    pub fn new(require_read: bool) -> Self {
        Self { require_read, ..Self::default() }
    }

    /// The model has seen `path` with this content, by reading or by writing it.
    pub fn note(&self, path: &RelPath, content: ContentHash) {
        locked(&self.seen).insert(path.clone(), content);
        if let Some(directory) = path.parent() {
            locked(&self.directories).insert(directory);
        }
    }

    /// The directories of all files that were seen.
    pub(crate) fn directories(&self) -> MutexGuard<'_, BTreeSet<RelPath>> {
        locked(&self.directories)
    }

    /// Whether a change to `path`, whose content is `current`, is based on what the model knows.
    pub fn check(&self, path: &RelPath, current: ContentHash) -> Result<(), ToolError> {
        match locked(&self.seen).get(path) {
            Some(known) if *known == current => Ok(()),
            Some(_) => Err(ToolError::new(
                ErrorCode::Conflict,
                format!("{path} has changed since it was read"),
            )
            .suggest(format!("Read {path} again and base the change on what it holds."))),
            None if !self.require_read => Ok(()),
            None => Err(ToolError::new(
                ErrorCode::NotRead,
                format!("{path} has not been read in this session"),
            )
            .suggest(format!("Read {path} before changing it."))),
        }
    }

    /// The file is gone or was renamed away.
    pub fn forget(&self, path: &RelPath) {
        locked(&self.seen).remove(path);
    }

    /// Forgets everything.
    pub fn clear(&self) {
        locked(&self.seen).clear();
        locked(&self.directories).clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_must_be_read_before_it_is_changed_and_read_again_when_it_differs() {
        let tracker = FileTracker::new(true);
        let path = RelPath::parse("src/a.rs").unwrap();
        let (old, new) = (ContentHash::of(b"old"), ContentHash::of(b"new"));
        assert_eq!(tracker.check(&path, old).unwrap_err().code, ErrorCode::NotRead);
        tracker.note(&path, old);
        tracker.check(&path, old).unwrap();
        let stale = tracker.check(&path, new).unwrap_err();
        assert_eq!(stale.code, ErrorCode::Conflict);
        assert_eq!(stale.message, "src/a.rs has changed since it was read");
        tracker.note(&path, new);
        tracker.check(&path, new).unwrap();
        let lenient = FileTracker::new(false);
        lenient.check(&path, old).unwrap();
        lenient.note(&path, old);
        assert_eq!(lenient.check(&path, new).unwrap_err().code, ErrorCode::Conflict);
        tracker.forget(&path);
        assert_eq!(tracker.check(&path, new).unwrap_err().code, ErrorCode::NotRead);
    }
}
