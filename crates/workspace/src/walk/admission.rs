//! Which entries a walk visits.

use std::os::fd::AsFd;
use std::sync::Arc;

use super::WalkOptions;
use crate::ignore_rules::{IgnoreRules, IgnoreVerdict, RuleFiles};
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
    rules: Option<&IgnoreRules>,
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
    match rules.map_or(IgnoreVerdict::Neutral, |rules| rules.judge(path, name, is_dir)) {
        IgnoreVerdict::Wanted => Admission::Visited,
        IgnoreVerdict::Ignored => Admission::Ignored,
        IgnoreVerdict::Neutral if !options.hidden && name.starts_with(b".") => Admission::Hidden,
        IgnoreVerdict::Neutral => Admission::Visited,
    }
}

impl Workspace {
    /// Whether a walk with these options, which starts at the root, reads the entries of `dir`.
    pub fn walk_enters(&self, dir: &RelPath, options: &WalkOptions) -> bool {
        let mut rules: Option<Arc<IgnoreRules>> = None;
        let mut path = RelPath::root();
        for name in dir.components() {
            let Ok(parent) = self.open_real_dir(&path) else { return false };
            if options.respect_ignore {
                rules = IgnoreRules::load(rules, parent.as_fd(), &path, RuleFiles::MAYBE_ALL);
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
