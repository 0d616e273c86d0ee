//! What a directory tree is at a moment, so that any change is seen.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result, ensure};

/// Every path with its inode, mode, owner, size, and times. No program can choose the time of the last
/// change of an inode, so equal snapshots mean that nothing was written, also not the same bytes.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Snapshot(BTreeMap<PathBuf, Seen>);

#[derive(Debug, PartialEq, Eq)]
struct Seen {
    inode: u64,
    mode: u32,
    owner: (u32, u32),
    size: u64,
    written: (i64, i64),
    changed: (i64, i64),
}

impl Snapshot {
    /// All files for which `counts` holds, by their paths from `root`.
    pub(super) fn of(root: &Path, counts: impl Fn(&Path) -> bool) -> Result<Snapshot> {
        let mut seen = BTreeMap::new();
        let mut open = vec![PathBuf::new()];
        while let Some(directory) = open.pop() {
            let whole = root.join(&directory);
            let entries = fs::read_dir(&whole);
            for entry in entries.with_context(|| format!("cannot list {}", whole.display()))? {
                let entry = entry?;
                let path = directory.join(entry.file_name());
                let meta = entry.metadata()?;
                if meta.is_dir() {
                    open.push(path.clone());
                }
                if counts(&path) {
                    seen.insert(path, Seen::new(&meta));
                }
            }
        }
        Ok(Snapshot(seen))
    }

    /// Fails with the first paths that differ.
    pub(super) fn must_be(&self, before: &Snapshot, when: &str) -> Result<()> {
        let paths = self.0.keys().chain(before.0.keys());
        let mut differing: Vec<&PathBuf> =
            paths.filter(|path| self.0.get(*path) != before.0.get(*path)).collect();
        differing.sort();
        differing.dedup();
        differing.truncate(5);
        ensure!(differing.is_empty(), "{when}: not as before: {differing:?}");
        Ok(())
    }
}

impl Seen {
    fn new(meta: &fs::Metadata) -> Seen {
        Seen {
            inode: meta.ino(),
            mode: meta.mode(),
            owner: (meta.uid(), meta.gid()),
            size: meta.size(),
            written: (meta.mtime(), meta.mtime_nsec()),
            changed: (meta.ctime(), meta.ctime_nsec()),
        }
    }
}

#[cfg(test)]
mod tests {
    use testkit::Fixture;

    use super::*;

    #[test]
    fn a_file_that_was_written_again_is_seen() {
        let tree = Fixture::new("//- /a/b.txt\none\n//- /c.txt\none\n");
        let take = || Snapshot::of(tree.root(), |path| path != Path::new("c.txt")).unwrap();
        let before = take();
        tree.write("c.txt", "two\n");
        take().must_be(&before, "nothing").unwrap();
        fs::remove_file(tree.path("a/b.txt")).unwrap();
        tree.write("a/b.txt", "one\n");
        let error = take().must_be(&before, "a second writing").unwrap_err().to_string();
        assert!(error.contains("a/b.txt"), "{error}");
    }
}
