//! Copies on write: a directory of the host below, a private directory above.

use std::os::fd::OwnedFd;
use std::path::Path;

use rustix::fs::{FileType, Mode, OFlags};
use rustix::io::Errno;
use rustix::mount::{FsMountFlags, FsOpenFlags, MountAttrFlags, UnmountFlags};

use super::root::{attach_new, make_own_directory, memory_file_system};
use super::trouble::{During as _, Trouble};
use crate::plan::{Identity, Part};

/// Names in the new root while it is built. An overlay takes its parts by path.
const LOWER: &str = ".lower";
const CHANGES: &str = ".changes";

/// A mount that can be reached by a path while an overlay is made of it. A mount can be attached and
/// taken off once only.
pub(super) struct Lower {
    directory: OwnedFd,
}

impl Lower {
    pub(super) fn attach(tree: &OwnedFd) -> Result<Lower, Trouble> {
        attach_new(tree, Path::new(LOWER), FileType::Directory)?;
        let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let directory = rustix::fs::open(LOWER, flags, Mode::empty());
        Ok(Lower { directory: directory.during(Part::Overlay, "opening the lower layer")? })
    }

    pub(super) fn directory(&self) -> &OwnedFd {
        &self.directory
    }

    /// Mounts an overlay over it, attached nowhere yet.
    pub(super) fn overlay(&self, upper: &Path, work: &Path) -> Result<OwnedFd, Trouble> {
        let make = || -> Result<OwnedFd, Errno> {
            let context = rustix::mount::fsopen("overlay", FsOpenFlags::FSOPEN_CLOEXEC)?;
            rustix::mount::fsconfig_set_string(&context, "lowerdir", LOWER)?;
            rustix::mount::fsconfig_set_string(&context, "upperdir", upper)?;
            rustix::mount::fsconfig_set_string(&context, "workdir", work)?;
            // Marks in `user.` attributes need no privilege, and the reader of the changes finds
            // them in the same place whoever ran the command.
            rustix::mount::fsconfig_set_flag(&context, "userxattr")?;
            rustix::mount::fsconfig_create(&context)?;
            let attributes = MountAttrFlags::MOUNT_ATTR_NOSUID | MountAttrFlags::MOUNT_ATTR_NODEV;
            rustix::mount::fsmount(&context, FsMountFlags::FSMOUNT_CLOEXEC, attributes)
        };
        make().during(Part::Overlay, "mounting an overlay")
    }
}

impl Drop for Lower {
    fn drop(&mut self) {
        // If it fails, the whole namespace is about to end.
        let _ = rustix::mount::unmount(LOWER, UnmountFlags::DETACH);
        let _ = rustix::fs::rmdir(LOWER);
    }
}

/// A copy on write of the project.
pub(super) struct Copied {
    pub(super) mount: OwnedFd,
    /// The directory with the changes. It lives as long as somebody holds this descriptor.
    pub(super) changes: OwnedFd,
}

/// Makes the copy. Its changes lie in memory that nothing but descriptors leads to, so that they
/// vanish whatever happens to us.
pub(super) fn project(
    lower: &Lower,
    max_bytes: u64,
    owner: Identity,
) -> Result<Copied, Trouble> {
    let part = Part::Overlay;
    let memory = memory_file_system(max_bytes, 0o755, None)?;
    attach_new(&memory, Path::new(CHANGES), FileType::Directory)?;
    let (upper, work) = (Path::new(".changes/upper"), Path::new(".changes/work"));
    make_own_directory(upper, 0o755, owner)?;
    make_own_directory(work, 0o755, owner)?;
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let changes = rustix::fs::open(upper, flags, Mode::empty()).during(part, "opening the changes")?;
    let mount = lower.overlay(upper, work)?;
    rustix::mount::unmount(CHANGES, UnmountFlags::DETACH).during(part, "hiding the changes")?;
    rustix::fs::rmdir(CHANGES).during(part, "hiding the changes")?;
    Ok(Copied { mount, changes })
}
