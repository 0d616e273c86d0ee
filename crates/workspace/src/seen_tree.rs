//! A directory that is removed only as far as it is still what was seen of it.
//!
//! Between the look that decides and the removal others may write. What they write stays.

use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::{Path, PathBuf};

use rustix::fs::{AtFlags, CWD, Dir, FileType, Mode, OFlags, Stat, openat, statat, unlinkat};
use rustix::io::Errno;

/// Everything that was seen in a directory, links not followed.
#[derive(Debug)]
pub struct SeenTree {
    root: PathBuf,
    /// Each directory comes before what is in it.
    entries: Vec<SeenEntry>,
}

#[derive(Debug)]
struct SeenEntry {
    /// From the root.
    path: Vec<u8>,
    stamp: Stamp,
}

/// Changes with every change of a file, whatever its times are set to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Stamp {
    is_dir: bool,
    inode: u64,
    size: i64,
    changed: (i64, u64),
}

impl Stamp {
    fn of(found: &Stat) -> Self {
        let is_dir = FileType::from_raw_mode(found.st_mode) == FileType::Directory;
        let changed = (found.st_ctime, found.st_ctime_nsec);
        Self { is_dir, inode: found.st_ino, size: found.st_size, changed }
    }

    /// Whether it is still the same. What a directory holds is looked at for itself.
    fn is_still(&self, now: &Self) -> bool {
        match self.is_dir {
            true => now.is_dir && self.inode == now.inode,
            false => self == now,
        }
    }
}

impl SeenTree {
    /// Looks at everything in a directory; none if there is no directory.
    pub fn look(root: &Path) -> io::Result<Option<Self>> {
        let dir = match open(CWD, root) {
            Ok(dir) => dir,
            Err(Errno::NOENT | Errno::NOTDIR | Errno::LOOP) => return Ok(None),
            Err(errno) => return Err(errno.into()),
        };
        let mut entries = Vec::new();
        look_in(&dir, &[], &mut entries)?;
        Ok(Some(Self { root: root.to_owned(), entries }))
    }

    /// Everything that is not a directory, from the root.
    pub fn files(&self) -> impl Iterator<Item = &[u8]> {
        self.entries.iter().filter(|entry| !entry.stamp.is_dir).map(|entry| &*entry.path)
    }

    /// Removes everything, if it is all as it was seen. False if something else is there by now, which stays; before
    /// the first removal that keeps everything.
    pub fn remove(self) -> io::Result<bool> {
        let again = Self::look(&self.root)?;
        let is_same = |again: &Self| {
            again.entries.len() == self.entries.len()
                && (self.entries.iter().zip(&again.entries))
                    .all(|(one, now)| one.path == now.path && one.stamp.is_still(&now.stamp))
        };
        if !again.as_ref().is_some_and(is_same) {
            return Ok(false);
        }
        let mut is_all_gone = true;
        // What is in a directory comes before it.
        for SeenEntry { path, stamp } in self.entries.iter().rev() {
            is_all_gone &= remove_one(&self.root, path, stamp)?;
        }
        let gone = unlinkat(CWD, &self.root, AtFlags::REMOVEDIR);
        Ok(is_all_gone && is_removed(gone)?)
    }
}

fn open(dir: BorrowedFd<'_>, name: impl rustix::path::Arg) -> rustix::io::Result<OwnedFd> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    openat(dir, name, flags, Mode::empty())
}

fn look_in(dir: &OwnedFd, path: &[u8], entries: &mut Vec<SeenEntry>) -> io::Result<()> {
    let mut names = Vec::new();
    for entry in Dir::read_from(dir)? {
        let name = entry?.file_name().to_bytes().to_vec();
        if name != b"." && name != b".." {
            names.push(name);
        }
    }
    names.sort_unstable();
    for name in names {
        let found = statat(dir, &*name, AtFlags::SYMLINK_NOFOLLOW)?;
        let stamp = Stamp::of(&found);
        let whole = if path.is_empty() { name.clone() } else { [path, b"/", &name].concat() };
        entries.push(SeenEntry { path: whole.clone(), stamp });
        if stamp.is_dir {
            look_in(&open(dir.as_fd(), &*name)?, &whole, entries)?;
        }
    }
    Ok(())
}

/// False if it is not what was seen any more.
fn remove_one(root: &Path, path: &[u8], stamp: &Stamp) -> io::Result<bool> {
    let mut parts = path.split(|byte| *byte == b'/').peekable();
    let mut dir = open(CWD, root)?;
    while let Some(part) = parts.next() {
        if parts.peek().is_some() {
            dir = open(dir.as_fd(), part)?;
            continue;
        }
        let now = match statat(&dir, part, AtFlags::SYMLINK_NOFOLLOW) {
            Ok(found) => Stamp::of(&found),
            Err(_) => return Ok(false),
        };
        if !stamp.is_still(&now) {
            return Ok(false);
        }
        let flags = if stamp.is_dir { AtFlags::REMOVEDIR } else { AtFlags::empty() };
        return is_removed(unlinkat(&dir, part, flags));
    }
    Ok(false)
}

/// A directory into which something was written since is not removed.
fn is_removed(done: rustix::io::Result<()>) -> io::Result<bool> {
    match done {
        Ok(()) => Ok(true),
        Err(Errno::NOTEMPTY | Errno::EXIST) => Ok(false),
        Err(errno) => Err(errno.into()),
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    fn tree() -> tempfile::TempDir {
        let dir = tempfile::tempdir().unwrap();
        fs::create_dir_all(dir.path().join("tree/a/b")).unwrap();
        fs::write(dir.path().join("tree/a/b/one"), "1").unwrap();
        fs::write(dir.path().join("tree/two"), "2").unwrap();
        fs::write(dir.path().join("outside"), "3").unwrap();
        std::os::unix::fs::symlink("../outside", dir.path().join("tree/link")).unwrap();
        dir
    }

    #[test]
    fn what_was_seen_is_removed_and_links_are_not_followed() {
        let dir = tree();
        let root = dir.path().join("tree");
        let seen = SeenTree::look(&root).unwrap().unwrap();
        let files: Vec<&[u8]> = seen.files().collect();
        assert_eq!(files, [&b"a/b/one"[..], b"link", b"two"]);
        assert!(seen.remove().unwrap());
        assert!(!root.exists());
        assert_eq!(fs::read_to_string(dir.path().join("outside")).unwrap(), "3");
        assert!(SeenTree::look(&root).unwrap().is_none());
        assert!(SeenTree::look(&dir.path().join("outside")).unwrap().is_none());
    }

    #[test]
    fn what_was_written_since_keeps_everything() {
        let changes: [fn(&Path); 4] = [
            |root| fs::write(root.join("a/new"), "").unwrap(),
            |root| fs::write(root.join("two"), "3").unwrap(),
            |root| fs::remove_file(root.join("two")).unwrap(),
            |root| fs::rename(root.join("two"), root.join("three")).unwrap(),
        ];
        for change in changes {
            let dir = tree();
            let root = dir.path().join("tree");
            let seen = SeenTree::look(&root).unwrap().unwrap();
            change(&root);
            assert!(!seen.remove().unwrap());
            assert_eq!(fs::read_to_string(root.join("a/b/one")).unwrap(), "1");
        }
    }
}
