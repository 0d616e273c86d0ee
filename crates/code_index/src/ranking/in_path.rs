//! What the path of a file has of the terms.

use std::collections::BTreeSet;

use super::scan::{CLEAR, Scanner};
use super::words::count_parts;

/// Names that say nothing, so that the directory's name is that of the file.
const NAMELESS: &[&str] = &["__init__", "index", "layout", "lib", "main", "mod", "page"];
/// Directories whose names say nothing either.
const GENERIC: &[&str] =
    &["app", "crates", "internal", "java", "lib", "main", "packages", "pkg", "source", "src"];

/// What a path has of the terms.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct InPath {
    /// Per term, the best quality of its hits in the names of directories.
    pub(super) in_directories: Vec<f32>,
    /// Per term, the best quality of its hits in the name of the file.
    pub(super) in_name: Vec<f32>,
    /// The share of the file's name that was asked for.
    pub(super) name_share: f32,
}

impl InPath {
    pub(super) fn new(scanner: &Scanner, path: &[u8]) -> InPath {
        let (name, stem) = telling_part(path);
        let none = vec![0.0; scanner.terms.len()];
        let mut found = InPath { in_directories: none.clone(), in_name: none, name_share: 0.0 };
        let mut asked_for = BTreeSet::new();
        scanner.each_hit(&path[..stem], |hit| {
            let is_name = hit.start >= name;
            let field = if is_name { &mut found.in_name } else { &mut found.in_directories };
            field[hit.term] = hit.quality.max(field[hit.term]);
            if is_name && hit.quality >= CLEAR && scanner.terms[hit.term].is_needed {
                asked_for.insert(hit.start);
            }
        });
        let parts = count_parts(&path[name..stem]).max(1);
        found.name_share = asked_for.len().min(parts) as f32 / parts as f32;
        found
    }

    /// The terms that stand in the name of the file, one bit each.
    pub(super) fn name_terms(&self) -> u32 {
        let has = self.in_name.iter().enumerate().filter(|(_, quality)| **quality > 0.0);
        has.fold(0, |set, (term, _)| set | 1 << term)
    }
}

/// Where that part of a path begins and ends which says what the file is about: its name up to the
/// first dot, or the nearest directory with a name that says something.
fn telling_part(path: &[u8]) -> (usize, usize) {
    let start_of = |end: usize| memchr::memrchr(b'/', &path[..end]).map_or(0, |slash| slash + 1);
    let name = start_of(path.len());
    // What follows the first dot says what a file is, not what it is about.
    let stem = memchr::memchr(b'.', &path[name..]).map_or(path.len(), |dot| name + dot);
    let is_one_of = |names: &[&str], start: usize, end: usize| {
        names.iter().any(|name| name.as_bytes() == &path[start..end])
    };
    if !is_one_of(NAMELESS, name, stem) {
        return (name, stem);
    }
    let mut end = name;
    while end > 0 {
        let directory = (start_of(end - 1), end - 1);
        if !is_one_of(GENERIC, directory.0, directory.1) {
            return directory;
        }
        end = directory.0;
    }
    (name, stem)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::question::Question;
    use super::super::weights::RankingWeights;
    use super::*;

    #[test]
    fn a_file_is_about_its_name_or_else_its_directory() {
        let table = [
            ("src/user_store.rs", "user_store"),
            ("src/App.test.tsx", "App"),
            ("helper/proxy/index.ts", "proxy"),
            ("crates/nu-cli/src/lib.rs", "nu-cli"),
            ("src/main.rs", "main"),
            ("mod.rs", "mod"),
            ("Makefile", "Makefile"),
            (".env", ""),
        ];
        for (path, expected) in table {
            let (start, end) = telling_part(path.as_bytes());
            assert_eq!(&path[start..end], expected, "{path}");
        }
    }

    #[test]
    fn names_and_directories_are_told_apart() {
        let question = Question::new("user store", false, &RankingWeights::default());
        let scanner = Scanner::new(&question).unwrap();
        let found = InPath::new(&scanner, b"user/store_cache.rs");
        assert!(found.in_directories[0] >= CLEAR && found.in_name[1] >= CLEAR);
        assert_eq!((found.in_name[0], found.name_share), (0.0, 0.5));
        assert_eq!(found.name_terms(), 0b10);
        assert_eq!(InPath::new(&scanner, b"store/user_store.rs").name_share, 1.0);
    }

    proptest! {
        #[test]
        fn any_path_has_a_part_that_tells(path in "[a-z./]{0,20}(index|mod|lib)?[.a-z]{0,4}") {
            let (start, end) = telling_part(path.as_bytes());
            prop_assert!(start <= end && end <= path.len());
        }
    }
}
