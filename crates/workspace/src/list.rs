//! One directory, listed.

use std::os::fd::AsFd;

use crate::entry_names::EntryNames;
use crate::{EntryKind, Error, RelPath, Workspace};

/// The most entries one listing holds.
pub const LIST_LIMIT: usize = 100_000;

/// The entries of one directory.
#[derive(Debug)]
pub struct DirListing {
    /// The entries, sorted by name.
    pub entries: Vec<ListedEntry>,
    /// Whether the directory has more than [`LIST_LIMIT`] entries. Which of them are listed is
    /// then up to the file system.
    pub truncated: bool,
    dir: RelPath,
}

/// One entry of a [`DirListing`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ListedEntry {
    /// The name as stored on disk.
    pub name: Box<[u8]>,
    /// What it is; a link is a link, whatever it points to.
    pub kind: EntryKind,
}

impl Workspace {
    /// Lists one directory. Names that begin with a dot are left out unless `hidden` is set.
    pub fn list_dir(&self, path: &RelPath, hidden: bool) -> Result<DirListing, Error> {
        let dir = self.open_dir(path)?;
        let mut names = EntryNames::default();
        let complete =
            names.read(dir.as_fd(), LIST_LIMIT).map_err(|errno| Error::from_errno(path, errno))?;
        names.sort();
        let entries = names
            .iter()
            .filter(|entry| hidden || !entry.name().starts_with(b"."))
            .map(|entry| ListedEntry { name: entry.name().into(), kind: entry.kind })
            .collect();
        Ok(DirListing { entries, truncated: !complete, dir: path.clone() })
    }
}

impl DirListing {
    /// The path of an entry of this listing.
    pub fn path_of(&self, entry: &ListedEntry) -> RelPath {
        self.dir.join_entry(&entry.name)
    }
}
