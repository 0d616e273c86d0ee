//! Directories of the host that commands may read: each through an overlay, because that hides
//! sockets.
//!
//! An overlay takes longer to make and to take away than anything else in a root. So directories that
//! lie side by side share one: the directory above them is covered with an overlay of itself, from
//! which they are taken one by one. All of this happens in the old root and is left behind with it, so
//! that nothing but what was taken can be reached inside.

use std::collections::{BTreeMap, HashMap};
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};

use rustix::fs::{AtFlags, CWD, FileType, Mode, OFlags, StatxFlags};

use super::error::{During as _, EntryError};
use super::layers::read_only_overlay;
use super::root::{attach_over, clone_tree, file_type, restricted};
use crate::plan::{RootStep, SandboxPart};

/// What was taken, by where it lies on the host.
pub(super) struct HostTrees {
    trees: HashMap<PathBuf, OwnedFd>,
    /// Some could not be covered and are shown as they are.
    pub(super) has_sockets: bool,
}

impl HostTrees {
    /// Takes everything that the steps show from the host under mapped owners. `empty` is an empty
    /// directory. The working directory is another afterwards.
    pub(super) fn take(
        steps: &[RootStep],
        owners: Option<&OwnedFd>,
        empty: &Path,
    ) -> Result<HostTrees, EntryError> {
        let mut shown = HostTrees { trees: HashMap::new(), has_sockets: false };
        for (cover, parts) in covers(steps) {
            shown.has_sockets |= !cover_with_itself(&cover, owners, empty)?;
            for part in parts {
                let tree = clone_tree(&part)?;
                shown.trees.insert(part, tree);
            }
        }
        Ok(shown)
    }

    /// Hands one out.
    pub(super) fn tree(&mut self, source: &Path) -> Result<OwnedFd, EntryError> {
        let tree = self.trees.remove(source);
        tree.ok_or_else(|| EntryError::new(SandboxPart::Root, "a source is missing", None))
    }
}

/// What is covered, and what is taken from it.
fn covers(steps: &[RootStep]) -> Vec<(PathBuf, Vec<PathBuf>)> {
    let mut by_parent: BTreeMap<&Path, Vec<PathBuf>> = BTreeMap::new();
    for step in steps {
        if let RootStep::Bind { source, mapped: true, .. } = step {
            let parent = source.parent().unwrap_or(source);
            by_parent.entry(parent).or_default().push(source.clone());
        }
    }
    let alone = |part: PathBuf| (part.clone(), vec![part]);
    let mut covers = Vec::new();
    for (parent, parts) in by_parent {
        let (together, apart): (Vec<_>, Vec<_>) =
            parts.into_iter().partition(|part| lie_together(parent, part));
        covers.extend(apart.into_iter().map(alone));
        match together.len() {
            0 => {}
            1 => covers.extend(together.into_iter().map(alone)),
            _ => covers.push((parent.to_owned(), together)),
        }
    }
    covers
}

/// Whether an overlay of `parent` shows what is seen at `part`: not what is mounted there, and not
/// where a link leads to.
fn lie_together(parent: &Path, part: &Path) -> bool {
    let look = |path: &Path| {
        let wanted = StatxFlags::MNT_ID | StatxFlags::TYPE;
        let seen = rustix::fs::statx(CWD, path, AtFlags::SYMLINK_NOFOLLOW, wanted).ok()?;
        let kind = FileType::from_raw_mode(seen.stx_mode.into());
        (seen.stx_mask & StatxFlags::MNT_ID.bits() != 0 && kind != FileType::Symlink)
            .then_some(seen.stx_mnt_id)
    };
    // The root of the host must stay what it is.
    parent != Path::new("/") && look(parent).is_some_and(|mount| look(part) == Some(mount))
}

/// Covers a directory with an overlay of itself, or a file with itself, both to be read only. Tells
/// whether there are no sockets to be found in it.
fn cover_with_itself(
    path: &Path,
    owners: Option<&OwnedFd>,
    empty: &Path,
) -> Result<bool, EntryError> {
    let doing = || format!("covering {}", path.display());
    // Where a link leads to is covered, and seen through the link.
    let open = || rustix::fs::open(path, OFlags::PATH | OFlags::CLOEXEC, Mode::empty());
    let cover = |tree: &OwnedFd| open().and_then(|target| attach_over(tree, &target));
    let tree = restricted(path, owners)?;
    cover(&tree).during(SandboxPart::Root, doing())?;
    if file_type(&tree)? != FileType::Directory {
        return Ok(true);
    }
    // A name of the host may hold what separates layers.
    open().and_then(rustix::process::fchdir).during(SandboxPart::Root, doing())?;
    match read_only_overlay(Path::new("."), empty) {
        Ok(overlay) => cover(&overlay).during(SandboxPart::Root, doing()).map(|()| true),
        Err(_) => Ok(false),
    }
}
