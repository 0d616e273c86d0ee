//! Directories of the project itself that are shown in its copy, and that can be removed there.
//!
//! The kernel refuses to remove or rename a directory on which something is mounted in the namespace
//! of whoever tries. `cargo clean` and `rm -rf dist` would fail. A mount in another namespace is no
//! hindrance: it is taken off. So these directories are mounted in a second namespace, which is
//! otherwise the same, and the command has its root there while it belongs to the first. Names that
//! are protected are mounted in both and stay.

use std::fs::File;
use std::os::fd::{AsFd as _, OwnedFd};
use std::path::{Path, PathBuf};

use rustix::fs::{Mode, OFlags};
use rustix::io::Errno;
use rustix::thread::{LinkNameSpaceType, UnshareFlags};

use super::root::{attach_over, beneath, clone_opened};
use super::trouble::{During as _, Trouble};
use crate::kernel;
use crate::plan::Part;

const OWN_NAMESPACE: &str = "/proc/self/ns/mnt";

/// A directory of the project, attached nowhere yet.
pub(super) struct PassedThrough {
    path: PathBuf,
    tree: OwnedFd,
}

impl PassedThrough {
    pub(super) fn open(project: &OwnedFd, path: &Path) -> Result<PassedThrough, Trouble> {
        let tree = beneath(project, path).and_then(|source| clone_opened(&source));
        Ok(PassedThrough { path: path.to_owned(), tree: tree.during(Part::Overlay, doing(path))? })
    }

    /// Attaches it in the copy of the project at `place`.
    pub(super) fn attach(&self, place: &Path) -> Result<(), Trouble> {
        let attach = || -> Result<(), Errno> {
            let top = rustix::fs::open(place, OFlags::PATH | OFlags::CLOEXEC, Mode::empty())?;
            attach_over(&self.tree, &beneath(&top, &self.path)?)
        };
        attach().during(Part::Overlay, doing(&self.path))
    }
}

fn doing(path: &Path) -> String {
    format!("passing {} through", path.display())
}

/// A root in a namespace that is not ours.
pub(super) struct Removable {
    root: OwnedFd,
    /// Without a process in it, a namespace lives as long as somebody holds it.
    namespace: File,
}

impl Removable {
    /// Makes the second namespace and attaches the directories there. Our own stays as it is.
    pub(super) fn attach(
        directories: &[PassedThrough],
        place: &Path,
    ) -> Result<Removable, Trouble> {
        let part = Part::Overlay;
        let own = File::open(OWN_NAMESPACE).during(part, "opening our namespace")?;
        kernel::unshare(UnshareFlags::NEWNS).during(part, "making a second namespace")?;
        directories.iter().try_for_each(|one| one.attach(place))?;
        let namespace = File::open(OWN_NAMESPACE).during(part, "opening the second namespace")?;
        let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let root = rustix::fs::open("/", flags, Mode::empty()).during(part, "opening its root")?;
        rustix::thread::move_into_link_name_space(own.as_fd(), Some(LinkNameSpaceType::Mount))
            .during(part, "going back to our namespace")?;
        Ok(Removable { root, namespace })
    }

    /// Makes its root ours, and keeps its namespace for as long as this process lives. A process that
    /// has done so can make no user namespace any more.
    pub(super) fn enter(self) -> Result<(), Trouble> {
        rustix::process::fchdir(&self.root)
            .and_then(|()| rustix::process::chroot("."))
            .during(Part::Overlay, "entering the second namespace")?;
        std::mem::forget(self.namespace);
        Ok(())
    }
}
