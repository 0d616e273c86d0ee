//! The project's files as import resolution needs them: does this exist, what is in it, what else
//! is there. Behind a trait, so that resolution can be tested without a disk.

use std::collections::HashMap;
use std::sync::OnceLock;

use workspace::{EntryKind, RelPath};

/// Looks at the files of a project by their path from the root, and at nothing else.
pub trait ProjectFiles: Send + Sync {
    /// What is at `path` itself; a link is a link.
    fn kind(&self, path: &RelPath) -> Option<EntryKind>;

    /// What a link says, as it is stored.
    fn read_link(&self, path: &RelPath) -> Option<Vec<u8>>;

    /// The content of a file, if there is one and it is not too large.
    fn read(&self, path: &RelPath) -> Option<Vec<u8>>;

    /// Every file that counts: what is ignored does not.
    fn paths(&self) -> &PathList;

    /// Shows `look` the content of every file that counts, lies beneath `start` and whose path is
    /// `wanted`, on as many threads as there are. Files in which nothing matches the regular
    /// expression `pattern` may be left out.
    fn visit(
        &self,
        start: &RelPath,
        pattern: Option<&str>,
        wanted: &(dyn Fn(&RelPath) -> bool + Sync),
        look: &(dyn Fn(RelPath, Vec<u8>) + Sync),
    );

    /// Whether it is time to answer with what there is.
    fn is_over(&self) -> bool;

    /// Whether there is a file at `path`, through a link if need be.
    fn is_file(&self, path: &RelPath) -> bool {
        self.paths().contains(path)
            || match self.kind(path) {
                Some(EntryKind::File) => true,
                Some(EntryKind::Symlink) => self.read(path).is_some(),
                _ => false,
            }
    }
}

/// The paths of a project's files, in order, with the ways to look one up.
#[derive(Debug, Default)]
pub struct PathList {
    paths: Vec<RelPath>,
    by_name: OnceLock<HashMap<Box<[u8]>, Vec<usize>>>,
}

impl PathList {
    /// A list of `paths` in any order.
    pub fn new(mut paths: Vec<RelPath>) -> PathList {
        paths.sort();
        PathList { paths, by_name: OnceLock::new() }
    }

    /// All of them, in order.
    pub fn iter(&self) -> impl Iterator<Item = &RelPath> {
        self.paths.iter()
    }

    /// Whether `path` is one of them.
    pub fn contains(&self, path: &RelPath) -> bool {
        self.paths.binary_search(path).is_ok()
    }

    /// The files beneath a directory, at any depth.
    pub(crate) fn beneath<'a>(&'a self, dir: &'a RelPath) -> impl Iterator<Item = &'a RelPath> {
        let from = self.paths.partition_point(|path| path < dir);
        self.paths[from..].iter().take_while(|path| path.starts_with(dir))
    }

    /// The files directly in a directory.
    pub(crate) fn directly_in<'a>(&'a self, dir: &'a RelPath) -> impl Iterator<Item = &'a RelPath> {
        let depth = dir.depth() + 1;
        self.beneath(dir).filter(move |path| path.depth() == depth)
    }

    /// Whether any file lies beneath `dir`.
    pub(crate) fn has_dir(&self, dir: &RelPath) -> bool {
        self.beneath(dir).next().is_some_and(|path| path != dir)
    }

    /// The files of this name, in any directory.
    pub(crate) fn named(&self, name: &[u8]) -> impl Iterator<Item = &RelPath> {
        let by_name = self.by_name.get_or_init(|| {
            let mut by_name: HashMap<Box<[u8]>, Vec<usize>> = HashMap::new();
            for (index, path) in self.paths.iter().enumerate() {
                by_name.entry(path.file_name().unwrap_or_default().into()).or_default().push(index);
            }
            by_name
        });
        by_name.get(name).into_iter().flatten().map(|&index| &self.paths[index])
    }

    /// The files whose path ends in `suffix`, by whole components.
    pub(crate) fn ending_in(&self, suffix: &str) -> Vec<&RelPath> {
        let suffix = suffix.trim_matches('/').as_bytes();
        let name = suffix.rsplit(|&byte| byte == b'/').next().unwrap_or_default();
        let ends = |path: &&RelPath| match path.as_bytes().strip_suffix(suffix) {
            Some(rest) => rest.is_empty() || rest.ends_with(b"/"),
            None => false,
        };
        self.named(name).filter(ends).collect()
    }
}

/// `relative` as seen from the directory `dir`; none if it leaves the project or is not a path.
pub(crate) fn join(dir: &RelPath, relative: &str) -> Option<RelPath> {
    RelPath::parse(&format!("{dir}/{relative}")).ok()
}

pub(crate) fn dir_of(path: &RelPath) -> RelPath {
    path.parent().unwrap_or_else(RelPath::root)
}

/// A directory and all directories around it, innermost first, the root last.
pub(crate) fn ancestors(dir: &RelPath) -> impl Iterator<Item = RelPath> + use<> {
    std::iter::successors(Some(dir.clone()), RelPath::parent)
}

/// The last component as text.
pub(crate) fn name_of(path: &RelPath) -> String {
    String::from_utf8_lossy(path.file_name().unwrap_or_default()).into_owned()
}

/// The last component without what follows its last dot; `x.d.ts` is `x`.
pub(crate) fn stem_of(path: &RelPath) -> String {
    let name = name_of(path);
    let stem = match name.rfind('.') {
        Some(dot) if dot > 0 => &name[..dot],
        _ => return name,
    };
    stem.strip_suffix(".d").unwrap_or(stem).to_owned()
}

/// Of several paths, the one that shares the most directories with `near`; none if two do.
pub(crate) fn nearest<'a>(paths: &[&'a RelPath], near: &RelPath) -> Option<&'a RelPath> {
    let shared = |path: &RelPath| {
        path.components().zip(near.components()).take_while(|(one, other)| one == other).count()
    };
    let best = paths.iter().map(|path| shared(path)).max()?;
    let mut nearest = paths.iter().filter(|path| shared(path) == best);
    match (nearest.next(), nearest.next()) {
        (Some(only), None) => Some(only),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn path(text: &str) -> RelPath {
        RelPath::parse(text).unwrap()
    }

    #[test]
    fn a_list_knows_names_suffixes_and_directories() {
        let list = PathList::new(["b/x.h", "a/x.h", "a/sub/y.h", "ab/z.h"].map(path).to_vec());
        let texts = |paths: Vec<&RelPath>| paths.iter().map(|p| p.to_text()).collect::<Vec<_>>();
        assert_eq!(texts(list.named(b"x.h").collect()), ["a/x.h", "b/x.h"]);
        assert_eq!(texts(list.ending_in("sub/y.h")), ["a/sub/y.h"]);
        assert!(list.ending_in("b/y.h").is_empty());
        assert_eq!(texts(list.directly_in(&path("a")).collect()), ["a/x.h"]);
        assert_eq!(texts(list.beneath(&path("a")).collect()), ["a/sub/y.h", "a/x.h"]);
        assert!(list.has_dir(&path("a/sub")) && !list.has_dir(&path("a/su")));
        assert!(!list.has_dir(&path("a/x.h")));
    }

    #[test]
    fn paths_join_within_the_project_only() {
        assert_eq!(join(&path("a/b"), "../c.ts"), Some(path("a/c.ts")));
        assert_eq!(join(&RelPath::root(), "./c.ts"), Some(path("c.ts")));
        assert_eq!(join(&path("a"), "../../c.ts"), None);
        let around: Vec<_> = ancestors(&path("a/b")).map(|dir| dir.to_text()).collect();
        assert_eq!(around, ["a/b", "a", "."]);
        assert_eq!(stem_of(&path("a/x.d.ts")), "x");
        assert_eq!(stem_of(&path("a/.env")), ".env");
    }

    #[test]
    fn the_nearest_of_several_is_the_one_with_the_longest_common_way() {
        let (one, two, near) = (path("a/inc/x.h"), path("b/inc/x.h"), path("b/src/m.c"));
        assert_eq!(nearest(&[&one, &two], &near), Some(&two));
        assert_eq!(nearest(&[&one, &two], &path("c/m.c")), None);
    }
}
