//! A directory tree, remembered to the last bit.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fs;
use std::io;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use rustix::fs::{lgetxattr, llistxattr};

/// No attribute of a test is larger.
const MOST_ATTRIBUTE_BYTES: usize = 4 * 1024;

/// Everything that can be seen of a tree without following links: names, kinds, content, permissions,
/// owners, times, links, extended attributes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Snapshot {
    entries: BTreeMap<PathBuf, Entry>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct Entry {
    mode: u32,
    owner: (u32, u32),
    modified: (i64, i64),
    /// Changes with every change of the file, and cannot be set back.
    changed: (i64, i64),
    device: u64,
    inode: u64,
    links: u64,
    special: u64,
    /// Of a file its bytes, of a link its target.
    content: Vec<u8>,
    attributes: BTreeMap<Vec<u8>, Vec<u8>>,
}

impl Snapshot {
    /// Looks at everything below `root`, and at it. Reading files does not change their access times on
    /// most systems, which are left out.
    #[track_caller]
    pub fn of(root: &Path) -> Snapshot {
        let mut entries = BTreeMap::new();
        let mut open = vec![PathBuf::new()];
        while let Some(path) = open.pop() {
            let full = if path.as_os_str().is_empty() { root.to_owned() } else { root.join(&path) };
            match look_at(&full) {
                Ok((entry, names)) => {
                    open.extend(names.into_iter().map(|name| path.join(name)));
                    entries.insert(path, entry);
                }
                Err(error) => panic!("{}: {error}", full.display()),
            }
        }
        Snapshot { entries }
    }

    /// What is different in `after`, one line for each path; nothing if they are equal.
    pub fn differences(&self, after: &Snapshot) -> Vec<String> {
        self.compare(after, Entry::difference)
    }

    /// Like [`Self::differences`], without what a copy of a tree cannot have in common with it: inode
    /// numbers, counts of links, and the time of the last change of anything.
    pub fn differences_to_copy(&self, copy: &Snapshot) -> Vec<String> {
        self.compare(copy, |before, after| before.copied().difference(&after.copied()))
    }

    fn compare(
        &self,
        after: &Snapshot,
        difference: impl Fn(&Entry, &Entry) -> Option<String>,
    ) -> Vec<String> {
        let mut found = Vec::new();
        for (path, before) in &self.entries {
            match after.entries.get(path) {
                None => found.push(format!("- {}", path.display())),
                Some(now) => found.extend(
                    difference(before, now).map(|what| format!("~ {}: {what}", path.display())),
                ),
            }
        }
        let is_new = |path: &&PathBuf| !self.entries.contains_key(*path);
        let new = after.entries.keys().filter(is_new);
        found.extend(new.map(|path| format!("+ {}", path.display())));
        found
    }

    /// How many entries there are.
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    /// Whether nothing is there; the root itself counts.
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }
}

impl Entry {
    fn of(path: &Path, meta: &fs::Metadata) -> io::Result<Entry> {
        let content = if meta.is_file() {
            fs::read(path)?
        } else if meta.is_symlink() {
            fs::read_link(path)?.as_os_str().as_bytes().to_owned()
        } else {
            Vec::new()
        };
        Ok(Entry {
            mode: meta.mode(),
            owner: (meta.uid(), meta.gid()),
            modified: (meta.mtime(), meta.mtime_nsec()),
            changed: (meta.ctime(), meta.ctime_nsec()),
            device: meta.dev(),
            inode: meta.ino(),
            links: meta.nlink(),
            special: meta.rdev(),
            content,
            attributes: attributes(path)?,
        })
    }

    fn copied(&self) -> Entry {
        Entry { changed: (0, 0), device: 0, inode: 0, links: 0, ..self.clone() }
    }

    fn difference(&self, after: &Entry) -> Option<String> {
        let mut words = Vec::new();
        let mut differs = |name: &str, before: String, now: String| {
            if before != now {
                words.push(format!("{name} {before} -> {now}"));
            }
        };
        differs("mode", format!("{:o}", self.mode), format!("{:o}", after.mode));
        differs("owner", format!("{:?}", self.owner), format!("{:?}", after.owner));
        differs("modified", format!("{:?}", self.modified), format!("{:?}", after.modified));
        differs("changed", format!("{:?}", self.changed), format!("{:?}", after.changed));
        let identity = |entry: &Entry| format!("{:?}", (entry.device, entry.inode, entry.special));
        differs("identity", identity(self), identity(after));
        differs("links", self.links.to_string(), after.links.to_string());
        let attributes = |entry: &Entry| format!("{:?}", entry.attributes);
        differs("attributes", attributes(self), attributes(after));
        if self.content != after.content {
            words.push(format!("{} bytes -> {} bytes", self.content.len(), after.content.len()));
        }
        (!words.is_empty()).then(|| words.join(", "))
    }
}

/// An entry, and the names in it if it is a directory.
fn look_at(path: &Path) -> io::Result<(Entry, Vec<OsString>)> {
    let meta = fs::symlink_metadata(path)?;
    let mut names = Vec::new();
    if meta.is_dir() {
        for entry in fs::read_dir(path)? {
            names.push(entry?.file_name());
        }
    }
    Ok((Entry::of(path, &meta)?, names))
}

fn attributes(path: &Path) -> io::Result<BTreeMap<Vec<u8>, Vec<u8>>> {
    let mut buffer = vec![0; MOST_ATTRIBUTE_BYTES];
    let length = match llistxattr(path, &mut buffer[..]) {
        Ok(0) | Err(rustix::io::Errno::NOTSUP) => return Ok(BTreeMap::new()),
        Ok(length) => length,
        Err(errno) => return Err(errno.into()),
    };
    let names = buffer[..length].split(|byte| *byte == 0).filter(|name| !name.is_empty());
    let mut found = BTreeMap::new();
    for name in names {
        let mut value = vec![0; MOST_ATTRIBUTE_BYTES];
        let length = lgetxattr(path, name, &mut value[..])?;
        value.truncate(length);
        found.insert(name.to_owned(), value);
    }
    Ok(found)
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt as _;

    use super::*;
    use crate::Fixture;

    #[test]
    fn every_change_is_seen() {
        let project = Fixture::new("//- /a\none\n//- /d/b\nb\n//- /link symlink=a\n");
        let before = Snapshot::of(project.root());
        assert_eq!(before.len(), 5);
        assert_eq!(before.differences(&Snapshot::of(project.root())), [""; 0]);
        let set_mode = || {
            let mode = fs::Permissions::from_mode(0o600);
            fs::set_permissions(project.path("a"), mode).expect("our file");
        };
        let relink = || {
            fs::remove_file(project.path("link")).expect("our link");
            std::os::unix::fs::symlink("d", project.path("link")).expect("a link");
        };
        let changes: [(&str, &dyn Fn()); 4] = [
            ("~ a: mode", &set_mode),
            ("~ link: ", &relink),
            ("+ new", &|| project.write("new", "")),
            ("~ d/b: ", &|| project.write("d/b", "c\n")),
        ];
        for (expected, change) in changes {
            let before = Snapshot::of(project.root());
            change();
            let found = before.differences(&Snapshot::of(project.root()));
            assert!(found.iter().any(|line| line.starts_with(expected)), "{expected}: {found:?}");
            let found = before.differences_to_copy(&Snapshot::of(project.root()));
            assert!(found.iter().any(|line| line.starts_with(expected)), "{expected}: {found:?}");
        }
    }

    #[test]
    fn a_time_that_was_set_back_is_seen() {
        let project = Fixture::new("//- /a\none\n");
        let before = Snapshot::of(project.root());
        let file = fs::File::options().write(true).open(project.path("a")).expect("our file");
        let then = file.metadata().and_then(|meta| meta.modified()).expect("a time");
        file.set_modified(then).expect("our file");
        let after = Snapshot::of(project.root());
        assert_eq!(before.differences_to_copy(&after), [""; 0]);
        let found = before.differences(&after);
        assert!(matches!(&found[..], [line] if line.starts_with("~ a: changed")), "{found:?}");
    }
}
