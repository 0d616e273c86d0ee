//! Which files git holds, read from its index.
//!
//! The index is a file of the user; confined commands cannot write it. What cannot be read for certain
//! counts as held, so that nothing of the user's is taken for ignored.

use crate::{EntryMeta, RelPath, Workspace};

/// A larger index is not read.
pub const MAX_INDEX_BYTES: u64 = 256 * 1024 * 1024;

const SIGNATURE: &[u8] = b"DIRC";
/// Signature, version and number of entries, as `gitformat-index` describes them.
const HEADER_BYTES: usize = 12;
/// Everything in an entry up to its flags, with a hash of 20 bytes.
const BEFORE_FLAGS: usize = 60;
const MODE_AT: usize = 24;
const DIRECTORY_MODE: u32 = 0o040_000;
const EXTENDED: u16 = 0x4000;
const ASSUMED_UNCHANGED: u16 = 0x8000;
const NAME_LENGTH: u16 = 0x0fff;
const HASH_BYTES: usize = 20;
/// The extension of an index that has a part of its entries in another file.
const SPLIT: &[u8] = b"link";

/// The files that git holds in a project.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Tracked {
    /// The project is not a repository of its own.
    NoRepository,
    /// The index cannot be read for certain.
    Unknown,
    /// These, in the order of their bytes.
    Files(TrackedFiles),
}

/// Paths, in the order of their bytes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TrackedFiles {
    names: Vec<u8>,
    /// Where each name ends.
    ends: Vec<usize>,
    hides_changes: bool,
}

/// By this an index is known not to have changed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GitIndexStamp(Option<EntryMeta>);

impl Workspace {
    /// The present state of git's index, without reading it.
    pub fn index_stamp(&self) -> GitIndexStamp {
        GitIndexStamp(RelPath::parse(".git/index").ok().and_then(|path| self.metadata(&path).ok()))
    }

    /// Reads which files git holds.
    pub fn tracked(&self) -> Tracked {
        let parse = |text| RelPath::parse(text).ok();
        let (Some(git), Some(index)) = (parse(".git"), parse(".git/index")) else {
            return Tracked::Unknown;
        };
        if self.metadata(&git).is_err() {
            return Tracked::NoRepository;
        }
        if self.metadata(&index).is_err() && self.open_dir(&git).is_ok() {
            // Nothing was ever added.
            return Tracked::Files(TrackedFiles::default());
        }
        let bytes = self.open_file(&index).and_then(|mut file| file.read_all(MAX_INDEX_BYTES));
        bytes.map_or(Tracked::Unknown, |bytes| Tracked::from_index(&bytes))
    }
}

impl Tracked {
    /// What an index says that lies elsewhere, as that of a linked worktree does.
    pub fn from_index(bytes: &[u8]) -> Tracked {
        TrackedFiles::parse(bytes).map_or(Tracked::Unknown, Tracked::Files)
    }

    /// Whether git holds `path`, or something beneath it.
    pub fn holds(&self, path: &RelPath) -> bool {
        match self {
            Tracked::NoRepository => false,
            Tracked::Unknown => true,
            Tracked::Files(files) => files.holds(path.as_bytes()),
        }
    }
}

impl TrackedFiles {
    /// Reads an index of version 2, 3 or 4. `None` if anything about it is not understood.
    fn parse(index: &[u8]) -> Option<TrackedFiles> {
        if index.get(..4)? != SIGNATURE {
            return None;
        }
        let (version, count) = (number(index, 4)?, number(index, 8)?);
        if !(2..=4).contains(&version) {
            return None;
        }
        let mut files = TrackedFiles::default();
        let mut at = HEADER_BYTES;
        let mut name: Vec<u8> = Vec::new();
        for _ in 0..count {
            let begin = at;
            let is_directory = number(index, at + MODE_AT)? == DIRECTORY_MODE;
            let flags =
                u16::from_be_bytes(index.get(at + BEFORE_FLAGS..)?.get(..2)?.try_into().ok()?);
            at += BEFORE_FLAGS + 2;
            files.hides_changes |= flags & (EXTENDED | ASSUMED_UNCHANGED) != 0;
            if flags & EXTENDED != 0 {
                if version < 3 {
                    return None;
                }
                at += 2;
            }
            if version == 4 {
                let (cut, read) = offset(index.get(at..)?)?;
                at += read;
                name.truncate(name.len().checked_sub(cut)?);
            } else {
                name.clear();
            }
            let rest = index.get(at..)?;
            let length = rest.iter().position(|byte| *byte == 0)?;
            name.extend_from_slice(&rest[..length]);
            let told = usize::from(flags & NAME_LENGTH);
            if told != usize::from(NAME_LENGTH) && told != name.len() {
                return None;
            }
            at += length + 1;
            if version < 4 {
                // Entries are filled up with zeros to a multiple of eight bytes.
                at = begin + (at - begin).div_ceil(8) * 8;
            }
            // A directory of a sparse index stands for all that is in it.
            files.push(if is_directory {
                name.strip_suffix(b"/").unwrap_or(&name)
            } else {
                &name
            })?;
        }
        let mut extensions = index.get(at..index.len().checked_sub(HASH_BYTES)?)?;
        while !extensions.is_empty() {
            if extensions.get(..4)? == SPLIT {
                return None;
            }
            let length = usize::try_from(number(extensions, 4)?).ok()?;
            extensions = extensions.get(length.checked_add(8)?..)?;
        }
        Some(files)
    }

    /// Whether git was told not to look at some files, so that its status does not tell of all changes.
    pub fn hides_changes(&self) -> bool {
        self.hides_changes
    }

    /// Adds a name, which comes after all others or is the last one again, in another stage.
    fn push(&mut self, name: &[u8]) -> Option<()> {
        if name.is_empty() || self.last() > Some(name) {
            return None;
        }
        self.names.extend_from_slice(name);
        self.ends.push(self.names.len());
        Some(())
    }

    fn last(&self) -> Option<&[u8]> {
        self.ends.len().checked_sub(1).map(|last| self.name(last))
    }

    fn name(&self, number: usize) -> &[u8] {
        let begin = number.checked_sub(1).map_or(0, |before| self.ends[before]);
        &self.names[begin..self.ends[number]]
    }

    fn holds(&self, path: &[u8]) -> bool {
        let beneath = |name: &[u8], path: &[u8]| {
            name.strip_prefix(path)
                .is_some_and(|rest| path.is_empty() || rest.first() == Some(&b'/'))
        };
        // Everything beneath `a` comes after `a/`; `a.b` may stand between `a` and `a/c`.
        let first_not_before = |wanted: &[u8]| {
            let (mut low, mut high) = (0, self.ends.len());
            while low < high {
                let middle = low.midpoint(high);
                if self.name(middle) < wanted { low = middle + 1 } else { high = middle }
            }
            (low < self.ends.len()).then(|| self.name(low))
        };
        let inner = [path, b"/".as_slice()].concat();
        first_not_before(path) == Some(path)
            || first_not_before(&inner).is_some_and(|name| beneath(name, path))
            || path.is_empty() && !self.ends.is_empty()
    }
}

fn number(bytes: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_be_bytes(bytes.get(at..)?.get(..4)?.try_into().ok()?))
}

/// A number of variable length, and how many bytes it takes.
fn offset(bytes: &[u8]) -> Option<(usize, usize)> {
    let mut value: usize = 0;
    for (at, byte) in bytes.iter().enumerate() {
        value = value.checked_mul(128)?.checked_add(usize::from(byte & 0x7f))?;
        if byte & 0x80 == 0 {
            return Some((value, at + 1));
        }
        value = value.checked_add(1)?;
    }
    None
}

#[cfg(test)]
mod tests {
    use std::process::Command;

    use super::*;

    fn git(directory: &std::path::Path, arguments: &[&str]) {
        let output = Command::new("git").args(arguments).current_dir(directory).output().unwrap();
        assert!(output.status.success(), "{arguments:?}: {output:?}");
    }

    fn held(project: &Workspace) -> Vec<String> {
        match project.tracked() {
            Tracked::Files(files) => (0..files.ends.len())
                .map(|number| String::from_utf8_lossy(files.name(number)).into_owned())
                .collect(),
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn every_version_of_the_index_is_read() {
        let directory = tempfile::tempdir().unwrap();
        let root = directory.path();
        let project = Workspace::open(root).unwrap();
        assert_eq!(project.tracked(), Tracked::NoRepository);
        git(root, &["init", "--quiet"]);
        assert_eq!(held(&project), Vec::<String>::new());
        let long = "n".repeat(200);
        let names = ["a", "a.b", "a-c/x", "d/e/f", "d/e.g", "d/\u{e9}", "z", &*long];
        for name in names {
            let path = root.join(name);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, name).unwrap();
        }
        let mut sorted = names.map(str::to_owned);
        sorted.sort();
        git(root, &["add", "."]);
        for version in ["2", "4", "3"] {
            git(root, &["update-index", "--index-version", version]);
            assert_eq!(held(&project), sorted, "version {version}");
        }
        git(root, &["update-index", "--skip-worktree", "z"]);
        assert_eq!(held(&project), sorted);
        let tracked = project.tracked();
        let holds = |path: &str| tracked.holds(&RelPath::parse(path).unwrap());
        for path in ["a", "a.b", "a-c", "a-c/x", "d", "d/e", "d/e/f", "z"] {
            assert!(holds(path), "{path}");
        }
        for path in ["b", "a/x", "a-", "d/e/g", "d/ee", "zz"] {
            assert!(!holds(path), "{path}");
        }
        git(root, &["update-index", "--split-index"]);
        assert_eq!(project.tracked(), Tracked::Unknown);
        assert!(project.tracked().holds(&RelPath::parse("anything").unwrap()));
    }

    proptest::proptest! {
        #[test]
        fn whatever_the_bytes_are_reading_them_ends(mut bytes: Vec<u8>, version in 0_u32..6) {
            let mut index = b"DIRC".to_vec();
            index.extend(version.to_be_bytes());
            index.append(&mut bytes);
            let _ = TrackedFiles::parse(&index);
        }
    }
}
