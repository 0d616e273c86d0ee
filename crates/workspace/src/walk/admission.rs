//! Which entries a walk visits.

use std::os::fd::AsFd;
use std::sync::Arc;

use super::WalkOptions;
use crate::ignore_rules::{RuleFiles, Rules, Verdict};
use crate::{RelPath, Workspace};

/// Whether an entry is visited, or why not.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Admission {
    Visited,
    Ignored,
    Hidden,
    Excluded,
}

/// Judges the entry `name` at `path` by the rules that hold in its directory.
pub(super) fn admission(
    options: &WalkOptions,
    rules: Option<&Rules>,
    path: &[u8],
    name: &[u8],
    is_dir: bool,
) -> Admission {
    if is_dir {
        let excluded = |excluded: &String| excluded.as_bytes() == name;
        if name == b".git" || options.exclude_dirs.iter().any(excluded) {
            return Admission::Excluded;
        }
    }
    match rules.map_or(Verdict::Neutral, |rules| rules.judge(path, name, is_dir)) {
        Verdict::Wanted => Admission::Visited,
        Verdict::Ignored => Admission::Ignored,
        Verdict::Neutral if !options.hidden && name.starts_with(b".") => Admission::Hidden,
        Verdict::Neutral => Admission::Visited,
    }
}

impl Workspace {
    /// Whether a walk with these options, which starts at the root, reads the entries of `dir`.
    pub fn walk_enters(&self, dir: &RelPath, options: &WalkOptions) -> bool {
        let mut rules: Option<Arc<Rules>> = None;
        let mut path = RelPath::root();
        for name in dir.components() {
            let Ok(parent) = self.open_real_dir(&path) else { return false };
            if options.respect_ignore {
                rules = Rules::load(rules, parent.as_fd(), &path, RuleFiles::MAYBE_ALL);
            }
            path = path.join_entry(name);
            let admission = admission(options, rules.as_deref(), path.as_bytes(), name, true);
            if admission != Admission::Visited {
                return false;
            }
        }
        dir.depth() < options.max_depth && self.open_real_dir(dir).is_ok()
    }
}
