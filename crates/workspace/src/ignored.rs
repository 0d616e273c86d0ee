//! What the project's ignore rules say about single paths.

use std::collections::HashMap;
use std::os::fd::AsFd;
use std::sync::Arc;

use crate::ignore_rules::{IgnoreRules, IgnoreVerdict, RuleFiles};
use crate::{RelPath, Workspace};

/// Never a matter of ignore rules.
const GIT: &[u8] = b".git";

/// Says whether paths are ignored, as the rule files of the project are now. It caches the rules
/// of each directory.
pub struct Ignored<'w> {
    workspace: &'w Workspace,
    directories: HashMap<RelPath, DirIgnores>,
}

/// Which rules apply in a directory.
#[derive(Clone)]
enum DirIgnores {
    /// It is ignored, and so is everything in it.
    Ignored,
    /// These rules apply to its entries.
    Rules(Option<Arc<IgnoreRules>>),
}

impl<'w> Ignored<'w> {
    /// Knows nothing yet.
    pub fn new(workspace: &'w Workspace) -> Ignored<'w> {
        Ignored { workspace, directories: HashMap::new() }
    }

    /// Whether `path`, which need not exist, is left out by ignore rules, by itself or with a
    /// directory around it.
    pub fn covers(&mut self, path: &RelPath, is_dir: bool) -> bool {
        let (Some(parent), Some(name)) = (path.parent(), path.file_name()) else { return false };
        match self.standing(&parent) {
            DirIgnores::Ignored => true,
            DirIgnores::Rules(rules) => is_ignored(rules.as_deref(), path, name, is_dir),
        }
    }

    fn standing(&mut self, dir: &RelPath) -> DirIgnores {
        if let Some(known) = self.directories.get(dir) {
            return known.clone();
        }
        let outer = dir.parent().map(|parent| self.standing(&parent));
        let standing = match (outer, dir.file_name()) {
            (Some(DirIgnores::Ignored), _) => DirIgnores::Ignored,
            (Some(DirIgnores::Rules(rules)), Some(name))
                if is_ignored(rules.as_deref(), dir, name, true) =>
            {
                DirIgnores::Ignored
            }
            (Some(DirIgnores::Rules(rules)), _) => DirIgnores::Rules(self.load(rules, dir)),
            (None, _) => DirIgnores::Rules(self.load(None, dir)),
        };
        self.directories.insert(dir.clone(), standing.clone());
        standing
    }

    fn load(&self, outer: Option<Arc<IgnoreRules>>, dir: &RelPath) -> Option<Arc<IgnoreRules>> {
        match self.workspace.open_real_dir(dir) {
            Ok(fd) => IgnoreRules::load(outer, fd.as_fd(), dir, RuleFiles::MAYBE_ALL),
            // It is new, so there is no rule file in it yet.
            Err(_) => outer,
        }
    }
}

fn is_ignored(rules: Option<&IgnoreRules>, path: &RelPath, name: &[u8], is_dir: bool) -> bool {
    let verdict = rules.map(|rules| rules.judge(path.as_bytes(), name, is_dir));
    name != GIT && verdict == Some(IgnoreVerdict::Ignored)
}
