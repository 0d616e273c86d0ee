//! Whether what a command changed has arrived in the project.

use std::fs::File;
use std::io::{self, Read as _};
use std::path::Path;

use rustix::fs::AtFlags;
use rustix::io::Errno;

use crate::changes::{Changed, ChangedEntry, CommandChanges, open_directory, open_regular};

/// Read at once when files are compared; as much as a pipe holds, and small beside the files that matter.
const BUFFER_BYTES: usize = 1 << 16;

impl CommandChanges {
    /// Whether the project holds what the copy does at these paths, which [`CommandChanges::list`]
    /// gave: the same bytes, the same link, or nothing. Directories and permissions do not count.
    pub fn are_in_project(&self, changed: &[Changed]) -> bool {
        changed.iter().all(|one| self.is_in_project(one).unwrap_or(false))
    }

    fn is_in_project(&self, one: &Changed) -> io::Result<bool> {
        match &one.now {
            Some(ChangedEntry::File { .. }) => {
                let copy = self.open_file(&one.path)?;
                is_equal(copy, open_regular(self.project(), &one.path)?)
            }
            Some(ChangedEntry::Link { target }) => {
                let (parent, name) = split(&one.path);
                let parent = open_directory(self.project(), parent)?;
                let link = rustix::fs::readlinkat(parent, name, Vec::new())?;
                Ok(link.as_bytes() == target.as_os_str().as_encoded_bytes())
            }
            Some(ChangedEntry::Directory { .. } | ChangedEntry::Other) => Ok(true),
            None => {
                let (parent, name) = split(&one.path);
                let found = open_directory(self.project(), parent)
                    .and_then(|parent| rustix::fs::statat(parent, name, AtFlags::SYMLINK_NOFOLLOW));
                Ok(matches!(found, Err(Errno::NOENT | Errno::NOTDIR)))
            }
        }
    }
}

fn split(path: &Path) -> (&Path, &Path) {
    let name = path.file_name().map_or(Path::new(""), Path::new);
    (path.parent().unwrap_or(Path::new("")), name)
}

fn is_equal(mut one: File, mut other: File) -> io::Result<bool> {
    if one.metadata()?.len() != other.metadata()?.len() {
        return Ok(false);
    }
    let (mut left, mut right) = (Vec::new(), Vec::new());
    loop {
        left.clear();
        right.clear();
        one.by_ref().take(BUFFER_BYTES as u64).read_to_end(&mut left)?;
        other.by_ref().take(BUFFER_BYTES as u64).read_to_end(&mut right)?;
        if left != right {
            return Ok(false);
        }
        if left.is_empty() {
            return Ok(true);
        }
    }
}
