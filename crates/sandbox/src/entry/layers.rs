//! Copies on write: a directory of the host below, a private directory above.

use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};

use rustix::fs::{FileType, Mode, OFlags};
use rustix::io::Errno;
use rustix::mount::{FsMountFlags, FsOpenFlags, MountAttrFlags};

use super::root::{attach_new, make_own_directory, memory_file_system};
use super::trouble::{During as _, Trouble};
use crate::plan::{Identity, Part};

/// Names in the new root while it is built. An overlay takes its parts by path.
const LOWER: &str = ".build/lower";
const CHANGES: &str = ".build/changes";
const UPPER: &str = ".build/changes/upper";
const WORK: &str = ".build/changes/work";

/// A mount that can be reached by a path. It stays where it is and is covered in the end with all of
/// our building site: taking it off would wait for every processor.
pub(super) struct Lower {
    place: PathBuf,
    directory: OwnedFd,
}

impl Lower {
    pub(super) fn attach(tree: &OwnedFd, number: usize) -> Result<Lower, Trouble> {
        let place = PathBuf::from(format!("{LOWER}{number}"));
        attach_new(tree, &place, FileType::Directory)?;
        let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let directory = rustix::fs::open(&place, flags, Mode::empty());
        let directory = directory.during(Part::Overlay, "opening the lower layer")?;
        Ok(Lower { place, directory })
    }

    pub(super) fn directory(&self) -> &OwnedFd {
        &self.directory
    }

    /// Mounts it as an overlay without an upper layer, attached nowhere yet. It cannot be written, and
    /// sockets in it have nobody behind them: the kernel finds who listens by the inode, and an overlay
    /// has inodes of its own.
    pub(super) fn read_only(&self, empty: &str) -> Result<OwnedFd, Trouble> {
        let make = || -> Result<OwnedFd, Errno> {
            let context = rustix::mount::fsopen("overlay", FsOpenFlags::FSOPEN_CLOEXEC)?;
            // Without an upper layer two lower ones are asked for.
            let layers = format!("{}:{empty}", self.place.display());
            rustix::mount::fsconfig_set_string(&context, "lowerdir", layers)?;
            rustix::mount::fsconfig_set_flag(&context, "userxattr")?;
            rustix::mount::fsconfig_create(&context)?;
            let attributes = MountAttrFlags::MOUNT_ATTR_RDONLY
                | MountAttrFlags::MOUNT_ATTR_NOSUID
                | MountAttrFlags::MOUNT_ATTR_NODEV;
            rustix::mount::fsmount(&context, FsMountFlags::FSMOUNT_CLOEXEC, attributes)
        };
        make().during(Part::Overlay, "mounting an overlay")
    }

    /// Mounts an overlay over it, attached nowhere yet.
    pub(super) fn overlay(&self, upper: &Path, work: &Path) -> Result<OwnedFd, Trouble> {
        let make = || -> Result<OwnedFd, Errno> {
            let context = rustix::mount::fsopen("overlay", FsOpenFlags::FSOPEN_CLOEXEC)?;
            rustix::mount::fsconfig_set_string(&context, "lowerdir", &self.place)?;
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

/// A copy on write of the project.
pub(super) struct Copied {
    pub(super) mount: OwnedFd,
    /// The directory with the changes. It lives as long as somebody holds this descriptor.
    pub(super) changes: OwnedFd,
}

/// Makes the copy. Its changes lie in memory that nothing but descriptors leads to, so that they
/// vanish whatever happens to us.
pub(super) fn project(lower: &Lower, max_bytes: u64, owner: Identity) -> Result<Copied, Trouble> {
    let part = Part::Overlay;
    let memory = memory_file_system(max_bytes, 0o755)?;
    attach_new(&memory, Path::new(CHANGES), FileType::Directory)?;
    let (upper, work) = (Path::new(UPPER), Path::new(WORK));
    make_own_directory(upper, 0o755, owner)?;
    make_own_directory(work, 0o755, owner)?;
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let changes =
        rustix::fs::open(upper, flags, Mode::empty()).during(part, "opening the changes")?;
    let mount = lower.overlay(upper, work)?;
    Ok(Copied { mount, changes })
}
