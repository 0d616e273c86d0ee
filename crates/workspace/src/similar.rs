//! "Did you mean": names near a path that does not exist.

use std::ffi::OsStr;
use std::os::fd::AsFd;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use crate::entry_names::EntryNames;
use crate::{OpenDir, RelPath, Workspace};

/// The most names looked at; a directory larger than this is not searched to its end.
const MAX_NAMES: usize = 2_000;

/// More would not help to choose.
const MAX_SUGGESTIONS: usize = 3;

/// How alike two names must be, from 0 (nothing in common) to 1 (equal).
const MIN_LIKENESS: f64 = 0.6;

impl Workspace {
    /// Existing paths that resemble `path`, best first, at most three. It looks only into the
    /// deepest directory on the way that exists, and only when called.
    pub fn similar(&self, path: &RelPath) -> Vec<RelPath> {
        let Some((dir, wanted, rest)) = self.deepest_existing(path) else {
            return Vec::new();
        };
        let mut names = EntryNames::default();
        if names.read(dir.as_fd(), MAX_NAMES).is_err() {
            return Vec::new();
        }
        let names = names.iter().map(|entry| entry.name().to_vec()).collect();
        nearest(&wanted, names)
            .into_iter()
            .map(|name| self.extend(dir.path().join_entry(&name), &rest))
            .collect()
    }

    /// The deepest existing directory above `path`, the first name missing in it, and the names
    /// after that.
    fn deepest_existing(&self, path: &RelPath) -> Option<(OpenDir, Vec<u8>, Vec<Vec<u8>>)> {
        let mut missing = path.clone();
        let mut rest = Vec::new();
        loop {
            let parent = missing.parent()?;
            let name = missing.file_name()?.to_vec();
            if let Ok(dir) = self.open_dir(&parent) {
                rest.reverse();
                return Some((dir, name, rest));
            }
            rest.push(name);
            missing = parent;
        }
    }

    /// The rest of the path the caller wanted, if it exists beneath the corrected name.
    fn extend(&self, found: RelPath, rest: &[Vec<u8>]) -> RelPath {
        let full = rest.iter().fold(found.clone(), |path, name| path.join_entry(name));
        if self.metadata(&full).is_ok() { full } else { found }
    }
}

/// The names nearest to `wanted`: first those that differ in case only, then those with the same
/// stem and another extension, then those of similar spelling.
fn nearest(wanted: &[u8], names: Vec<Vec<u8>>) -> Vec<Vec<u8>> {
    let wanted_lower = String::from_utf8_lossy(wanted).to_lowercase();
    let mut ranked: Vec<(u8, f64, Vec<u8>)> = names
        .into_iter()
        .filter_map(|name| {
            let lower = String::from_utf8_lossy(&name).to_lowercase();
            let likeness = strsim::normalized_damerau_levenshtein(&wanted_lower, &lower);
            let rank = match () {
                () if lower == wanted_lower => 0,
                () if stem(lower.as_bytes()) == stem(wanted_lower.as_bytes()) => 1,
                () if likeness >= MIN_LIKENESS => 2,
                () => return None,
            };
            Some((rank, likeness, name))
        })
        .collect();
    ranked.sort_by(|a, b| a.0.cmp(&b.0).then(b.1.total_cmp(&a.1)).then_with(|| a.2.cmp(&b.2)));
    ranked.into_iter().map(|(_, _, name)| name).take(MAX_SUGGESTIONS).collect()
}

fn stem(name: &[u8]) -> Option<&OsStr> {
    Path::new(OsStr::from_bytes(name)).file_stem()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nearest_names_come_first_and_strangers_not_at_all() {
        let table: &[(&str, &[&str], &[&str])] = &[
            ("readme.md", &["README.md", "readme.rs", "src"], &["README.md", "readme.rs"]),
            ("main.py", &["main.rs", "mains.py", "lib.rs"], &["main.rs", "mains.py"]),
            ("confg.toml", &["config.toml", "Cargo.lock"], &["config.toml"]),
            ("a1.txt", &["a2.txt", "a3.txt", "a4.txt", "a5.txt"], &["a2.txt", "a3.txt", "a4.txt"]),
            ("x", &["something", "else"], &[]),
        ];
        for (wanted, names, expected) in table {
            let names = names.iter().map(|name| name.as_bytes().to_vec()).collect();
            let found = nearest(wanted.as_bytes(), names);
            let found: Vec<&str> = found.iter().map(|n| str::from_utf8(n).unwrap()).collect();
            assert_eq!(&found, expected, "{wanted}");
        }
    }
}
