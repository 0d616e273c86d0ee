//! Many entries as one: the states that paths had before all of them.

use std::collections::{BTreeMap, BTreeSet};
use std::os::fd::AsFd;

use protocol::{Base, Change};
use rustix::io::Errno;

use super::Journal;
use super::entry::{JournalStep, Loaded};
use super::inverse::{mixed, put};
use crate::entry_names::EntryNames;
use crate::{EntryKind, Error, RelPath};

/// A directory of more entries is not put together name by name.
const MAX_TREE: usize = 20_000;

/// States of paths, going back in time.
#[derive(Default)]
pub(super) struct OldStates {
    paths: BTreeMap<RelPath, Then>,
    /// Directories of which all is in `paths` that there was; the rest is absent.
    complete: Vec<RelPath>,
}

struct Then {
    /// What the newest entry left.
    now: Base,
    /// What the oldest entry so far found.
    old: Base,
    /// The bytes of `old` if it is a file.
    content: OldContent,
}

/// Where the bytes of an old file are.
#[derive(Clone)]
enum OldContent {
    Here(Vec<u8>),
    /// In the file that has this name now, because it was only moved since.
    At(RelPath),
}

impl OldContent {
    const NONE: OldContent = OldContent::Here(Vec::new());
}

impl OldStates {
    /// Goes back over one step. Steps come newest first.
    pub(super) fn go_back(
        &mut self,
        journal: &Journal,
        entry: &Loaded,
        step: &JournalStep,
    ) -> Result<(), Error> {
        match step {
            JournalStep::Put { path, before, after, image, .. } => {
                let replacement = match image {
                    Some(image) if image.needs_replacement() => {
                        bytes(journal, self.content(path, after)?, after)?
                    }
                    _ => Vec::new(),
                };
                let bytes = journal.read_image(entry, before, *image, &replacement)?;
                self.set(path, before, after, OldContent::Here(bytes))
            }
            JournalStep::Move { from, to, what: Base::Directory { .. }, .. } => {
                self.move_tree(journal, from, to)
            }
            JournalStep::Move { from, to, what, replaced, image, .. } => {
                let moved = self.content(to, what)?;
                let bytes = journal.read_image(entry, replaced, *image, &[])?;
                self.set(to, replaced, what, OldContent::Here(bytes))?;
                self.set(from, what, &Base::Absent, moved)
            }
            JournalStep::MakeDir { path, mode } => {
                let made = Base::Directory { mode: mode.unwrap_or_default() };
                self.set(path, &Base::Absent, &made, OldContent::NONE)
            }
            JournalStep::RemoveDir { path, mode } => {
                let old = Base::Directory { mode: *mode };
                self.set(path, &old, &Base::Absent, OldContent::NONE)
            }
        }
    }

    /// Goes back over the move of a directory: everything that was in it at that time had its
    /// other name before, whoever put it there.
    fn move_tree(&mut self, journal: &Journal, from: &RelPath, to: &RelPath) -> Result<(), Error> {
        for (path, state, content) in self.tree(journal, to)? {
            let inner = path.components().skip(to.depth());
            let old_path = inner.fold(from.clone(), |dir, name| dir.join_entry(name));
            self.set(&path, &Base::Absent, &state, OldContent::NONE)?;
            self.set(&old_path, &state, &Base::Absent, content)?;
        }
        self.complete.extend([from.clone(), to.clone()]);
        Ok(())
    }

    /// What was at and beneath a path at this point of time.
    fn tree(
        &self,
        journal: &Journal,
        top: &RelPath,
    ) -> Result<Vec<(RelPath, Base, OldContent)>, Error> {
        let known = self.paths.keys().filter(|path| path.starts_with(top));
        let mut paths: BTreeSet<RelPath> = known.chain([top]).cloned().collect();
        let mut pending = vec![top.clone()];
        while let Some(dir) = pending.pop() {
            for (path, kind) in entries(journal, &dir)? {
                if kind == EntryKind::Directory {
                    pending.push(path.clone());
                }
                paths.insert(path);
            }
            if paths.len() > MAX_TREE {
                let reason = format!(
                    "it was moved and holds more than {MAX_TREE} entries; undo the changes one by \
                     one"
                );
                return Err(Error::contradiction(top, reason));
            }
        }
        let mut tree = Vec::with_capacity(paths.len());
        for path in paths {
            let (state, content) = match self.paths.get(&path) {
                Some(then) => (then.old.clone(), then.content.clone()),
                None => {
                    (journal.workspace.base_of(&path, u64::MAX)?.0, OldContent::At(path.clone()))
                }
            };
            if state != Base::Absent {
                tree.push((path, state, content));
            }
        }
        Ok(tree)
    }

    /// The content of a path that is in the given state at this point of time.
    fn content(&self, path: &RelPath, state: &Base) -> Result<OldContent, Error> {
        match self.paths.get(path) {
            Some(then) if then.old == *state => Ok(then.content.clone()),
            None if !self.is_known_absent(path) => Ok(OldContent::At(path.clone())),
            _ => Err(changed_between(path)),
        }
    }

    fn set(
        &mut self,
        path: &RelPath,
        before: &Base,
        after: &Base,
        content: OldContent,
    ) -> Result<(), Error> {
        let old = before.clone();
        let known_absent = self.is_known_absent(path);
        match self.paths.get_mut(path) {
            None if known_absent && *after != Base::Absent => Err(changed_between(path)),
            None => {
                self.paths.insert(path.clone(), Then { now: after.clone(), old, content });
                Ok(())
            }
            Some(then) if same(&then.old, after) => {
                (then.old, then.content) = (old, content);
                Ok(())
            }
            Some(_) => Err(changed_between(path)),
        }
    }

    fn is_known_absent(&self, path: &RelPath) -> bool {
        !self.paths.contains_key(path) && self.complete.iter().any(|dir| path.starts_with(dir))
    }

    /// The name that the old file of a path has now, if it can simply be moved back.
    fn source<'t>(&self, then: &'t Then) -> Option<&'t RelPath> {
        let OldContent::At(source) = &then.content else { return None };
        let there = self.paths.get(source)?;
        let free = then.now == Base::Absent && there.old == Base::Absent;
        let movable = !matches!(then.old, Base::Absent | Base::Directory { .. });
        (free && movable && there.now == then.old).then_some(source)
    }

    /// The changes that bring every path back, in an order in which they can be made.
    pub(super) fn into_changes(self, journal: &Journal) -> Result<Vec<Change>, Error> {
        let (mut made, mut puts, mut deletes, mut removed) = (vec![], vec![], vec![], vec![]);
        let sources: BTreeSet<&RelPath> =
            self.paths.values().filter_map(|then| self.source(then)).collect();
        for (path, then) in &self.paths {
            match (&then.now, &then.old) {
                (now, old) if same(now, old) => {}
                (Base::Absent, Base::Directory { mode }) => {
                    made.push(Change::MakeDir { path: path.to_text(), mode: Some(*mode) });
                }
                (Base::Directory { .. }, Base::Absent) => removed.push(journal.remove_dir(path)?),
                (Base::Directory { .. }, _) | (_, Base::Directory { .. }) => {
                    return Err(mixed(path));
                }
                (_, Base::Absent) if sources.contains(path) => {}
                (now, Base::Absent) => {
                    deletes.push(put(path, now.clone(), &Base::Absent, Vec::new())?);
                }
                (now, old) => puts.push(match self.source(then) {
                    Some(source) => Change::Move {
                        from: source.to_text(),
                        to: path.to_text(),
                        base: old.clone(),
                        target: Base::Absent,
                    },
                    None => {
                        let bytes = bytes(journal, then.content.clone(), old)?;
                        put(path, now.clone(), old, bytes)?
                    }
                }),
            }
        }
        // Paths are in order, so directories come before what is in them.
        removed.reverse();
        Ok([made, puts, deletes, removed].concat())
    }
}

/// The bytes of an old file; none are needed for what is not a file.
fn bytes(journal: &Journal, content: OldContent, state: &Base) -> Result<Vec<u8>, Error> {
    match content {
        OldContent::Here(bytes) => Ok(bytes),
        OldContent::At(path) => journal.bytes_now(&path, state),
    }
}

/// What is in a directory now; nothing if there is none.
fn entries(journal: &Journal, dir: &RelPath) -> Result<Vec<(RelPath, EntryKind)>, Error> {
    let failed = |errno| Error::from_errno(dir, errno);
    let open = match journal.workspace.open_real_dir(dir) {
        Ok(open) => open,
        Err(Errno::NOENT | Errno::NOTDIR | Errno::LOOP) => return Ok(Vec::new()),
        Err(errno) => return Err(failed(errno)),
    };
    let mut names = EntryNames::default();
    names.read(open.as_fd(), MAX_TREE + 1).map_err(failed)?;
    Ok(names.iter().map(|entry| (dir.join_entry(entry.name()), entry.kind)).collect())
}

/// Whether two states are the same. The mode of a directory was not always known.
fn same(a: &Base, b: &Base) -> bool {
    matches!((a, b), (Base::Directory { .. }, Base::Directory { .. })) || a == b
}

fn changed_between(path: &RelPath) -> Error {
    Error::conflict(path, "was changed between the changes to undo")
}
