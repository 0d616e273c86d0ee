//! Whether the changes of a set fit together, judged from their paths.

use std::collections::HashMap;
use std::os::fd::AsFd;

use protocol::{Base, Change};
use rustix::io::Errno;

use super::dirs::Dirs;
use crate::entry_names::EntryNames;
use crate::{EntryKind, Error, RelPath};

/// Refuses sets that name a path twice or contradict themselves. Returns the directory for
/// the temporary file of each change: the nearest one that exists before and after.
pub(crate) fn check(changes: &[Change], paths: &[Vec<RelPath>]) -> Result<Vec<RelPath>, Error> {
    let mut seen = HashMap::new();
    for (index, path) in paths.iter().enumerate().flat_map(|(i, p)| p.iter().map(move |p| (i, p))) {
        if seen.insert(path, index).is_some() {
            return Err(Error::contradiction(path, "two changes name this path"));
        }
    }
    for (index, (change, paths_here)) in changes.iter().zip(paths).enumerate() {
        check_kinds(change, &paths_here[0])?;
        let others = || {
            let all = paths.iter().enumerate().filter(move |(other, _)| *other != index);
            all.flat_map(|(other, paths)| paths.iter().map(move |path| (other, path)))
        };
        match change {
            Change::Move { base: Base::Directory { .. }, .. } => {
                let (from, to) = (&paths_here[0], &paths_here[1]);
                if to.starts_with(from) {
                    return Err(Error::contradiction(to, "a directory cannot move into itself"));
                }
                let inside = |path: &RelPath| path.starts_with(from) || path.starts_with(to);
                if let Some((_, path)) = others().find(|(_, path)| inside(path)) {
                    let reason = "it lies in a directory that the same set moves";
                    return Err(Error::contradiction(path, reason));
                }
            }
            Change::RemoveDir { .. } => {
                let dir = &paths_here[0];
                let stays = |(other, path): &(usize, &RelPath)| {
                    path.starts_with(dir)
                        && (*other > index
                            || !leaves_nothing(&changes[*other], path, &paths[*other]))
                };
                if let Some((_, path)) = others().find(stays) {
                    let reason = "it lies in a directory that the same set removes";
                    return Err(Error::contradiction(path, reason));
                }
            }
            _ => {}
        }
    }
    Ok(temp_dirs(changes, paths))
}

/// Whether nothing is left at `path` after the change.
fn leaves_nothing(change: &Change, path: &RelPath, paths: &[RelPath]) -> bool {
    match change {
        Change::Delete { .. } | Change::RemoveDir { .. } => true,
        Change::Move { .. } => *path == paths[0],
        Change::Write { .. } | Change::Link { .. } | Change::MakeDir { .. } => false,
    }
}

fn check_kinds(change: &Change, path: &RelPath) -> Result<(), Error> {
    let wrong = |reason: &str| Err(Error::contradiction(path, reason));
    match change {
        Change::Write { base: Base::Directory { .. }, .. }
        | Change::Link { base: Base::Directory { .. }, .. } => {
            wrong("a directory cannot become a file or link")
        }
        Change::Delete { base: Base::Directory { .. }, .. } => {
            wrong("a directory is removed with remove_dir")
        }
        Change::Delete { base: Base::Absent, .. } => wrong("what does not exist cannot be deleted"),
        Change::Move { base: Base::Absent, .. } => wrong("what does not exist cannot be moved"),
        Change::Move { target: Base::Directory { .. }, .. } => wrong("a directory is not replaced"),
        Change::Move { base: Base::Directory { .. }, target, .. } if *target != Base::Absent => {
            wrong("a directory replaces nothing")
        }
        _ => Ok(()),
    }
}

fn temp_dirs(changes: &[Change], paths: &[Vec<RelPath>]) -> Vec<RelPath> {
    let mut passing: Vec<&RelPath> = Vec::new();
    for (change, paths) in changes.iter().zip(paths) {
        if matches!(change, Change::MakeDir { .. } | Change::RemoveDir { .. }) {
            passing.push(&paths[0]);
        }
    }
    passing.sort_unstable();
    let nearest = |path: &RelPath| {
        let mut dir = path.parent().unwrap_or_else(RelPath::root);
        while passing.binary_search(&&dir).is_ok() {
            dir = dir.parent().unwrap_or_else(RelPath::root);
        }
        dir
    };
    paths.iter().map(|paths| nearest(paths.last().unwrap_or(&paths[0]))).collect()
}

/// Which directories a set makes, and when.
pub(crate) struct Parents<'s> {
    made: HashMap<&'s RelPath, usize>,
}

impl<'s> Parents<'s> {
    pub(crate) fn new(changes: &[Change], paths: &'s [Vec<RelPath>]) -> Parents<'s> {
        let makes = |change: &Change| matches!(change, Change::MakeDir { .. });
        let all = changes.iter().zip(paths).enumerate();
        let made = all.filter(|(_, (change, _))| makes(change));
        Parents { made: made.map(|(index, (_, paths))| (&paths[0], index)).collect() }
    }

    /// Whether the directory of `path` will be there when the change with this index is made.
    pub(crate) fn check(&self, dirs: &Dirs<'_>, index: usize, path: &RelPath) -> Result<(), Error> {
        let parent = path.parent().unwrap_or_else(RelPath::root);
        if let Some(made) = self.made.get(&parent) {
            return match *made < index {
                true => Ok(()),
                false => Err(Error::contradiction(path, "its directory is made only afterwards")),
            };
        }
        match dirs.dir(&parent) {
            Ok(_) => Ok(()),
            Err(Errno::NOTDIR) => {
                Err(Error::NotADirectory { path: parent.to_text(), kind: EntryKind::File })
            }
            Err(Errno::LOOP) => {
                Err(Error::conflict(path, "goes through a symbolic link, which was not so before"))
            }
            Err(errno) => Err(Error::from_errno(&parent, errno)),
        }
    }
}

/// Refuses to remove a directory that holds more than what the set takes out of it.
pub(crate) fn check_emptied(
    dirs: &Dirs<'_>,
    changes: &[Change],
    paths: &[Vec<RelPath>],
) -> Result<(), Error> {
    if !changes.iter().any(|change| matches!(change, Change::RemoveDir { .. })) {
        return Ok(());
    }
    let gone: std::collections::HashSet<&RelPath> = (changes.iter().zip(paths))
        .filter(|(change, paths)| leaves_nothing(change, &paths[0], paths))
        .map(|(_, paths)| &paths[0])
        .collect();
    for (change, paths) in changes.iter().zip(paths) {
        let dir = &paths[0];
        if !matches!(change, Change::RemoveDir { .. }) {
            continue;
        }
        let failed = |errno| Error::from_errno(dir, errno);
        let open = dirs.workspace.open_real_dir(dir).map_err(failed)?;
        let mut names = EntryNames::default();
        names.read(open.as_fd(), usize::MAX).map_err(failed)?;
        let left = names.iter().find(|entry| !gone.contains(&dir.join_entry(entry.name())));
        if let Some(left) = left {
            let left = crate::bytes_to_text(left.name());
            return Err(Error::conflict(dir, format!("is not empty: it still holds {left}")));
        }
    }
    Ok(())
}
