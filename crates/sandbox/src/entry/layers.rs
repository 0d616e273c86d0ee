//! Copies on write: directories of the host below, a private directory above.

use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};

use rustix::fs::{FileType, Mode, OFlags};
use rustix::io::Errno;
use rustix::mount::{FsMountFlags, FsOpenFlags, MountAttrFlags};

use super::error::{During as _, EntryError};
use super::root::{attach_new, make_own_directory, memory_file_system};
use crate::layer;
use crate::plan::{Identity, SandboxPart};

/// Names in the new root while it is built. An overlay takes its parts by path.
const LOWER: &str = ".build/lower";
const CHANGES: &str = ".build/changes";
const UPPER: &str = ".build/changes/upper";
const WORK: &str = ".build/changes/work";
const PRIVATE: &str = ".build/layer";

/// A mount that can be reached by a path. It stays where it is and is covered in the end with the
/// rest of `.build`: unmounting it would wait for every processor.
pub(super) struct Lower {
    place: PathBuf,
    directory: OwnedFd,
}

impl Lower {
    pub(super) fn attach(tree: &OwnedFd, number: usize) -> Result<Lower, EntryError> {
        let place = PathBuf::from(format!("{LOWER}{number}"));
        attach_new(tree, &place, FileType::Directory)?;
        let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let directory = rustix::fs::open(&place, flags, Mode::empty());
        let directory = directory.during(SandboxPart::Overlay, "opening the lower layer")?;
        Ok(Lower { place, directory })
    }

    pub(super) fn directory(&self) -> &OwnedFd {
        &self.directory
    }

    /// Mounts an overlay over it, attached nowhere yet.
    pub(super) fn overlay(&self, upper: &Path, work: &Path) -> Result<OwnedFd, EntryError> {
        let lower = self.place.display().to_string();
        overlay(&lower, upper, work, Writeback::AtTheEnd)
            .during(SandboxPart::Overlay, "mounting an overlay")
    }
}

/// Mounts a directory as an overlay without an upper layer, attached nowhere yet. It cannot be
/// written, and no process listens on sockets in it: the kernel finds the listener by the inode, and
/// an overlay has inodes of its own.
pub(super) fn read_only_overlay(lower: &Path, empty: &Path) -> Result<OwnedFd, Errno> {
    let context = rustix::mount::fsopen("overlay", FsOpenFlags::FSOPEN_CLOEXEC)?;
    // Without an upper layer two lower ones are asked for.
    let layers = format!("{}:{}", lower.display(), empty.display());
    rustix::mount::fsconfig_set_string(&context, "lowerdir", layers)?;
    rustix::mount::fsconfig_set_flag(&context, "userxattr")?;
    rustix::mount::fsconfig_create(&context)?;
    let attributes = MountAttrFlags::MOUNT_ATTR_RDONLY
        | MountAttrFlags::MOUNT_ATTR_NOSUID
        | MountAttrFlags::MOUNT_ATTR_NODEV;
    rustix::mount::fsmount(&context, FsMountFlags::FSMOUNT_CLOEXEC, attributes)
}

/// Whether an overlay writes its upper layer to the disk when it is taken off.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Writeback {
    AtTheEnd,
    /// Not ours to wait for: what has to last is written again, elsewhere.
    Never,
}

fn overlay(lower: &str, upper: &Path, work: &Path, writeback: Writeback) -> Result<OwnedFd, Errno> {
    let context = rustix::mount::fsopen("overlay", FsOpenFlags::FSOPEN_CLOEXEC)?;
    rustix::mount::fsconfig_set_string(&context, "lowerdir", lower)?;
    rustix::mount::fsconfig_set_string(&context, "upperdir", upper)?;
    rustix::mount::fsconfig_set_string(&context, "workdir", work)?;
    // Marks in `user.` attributes need no privilege, and the reader of the changes finds them in the
    // same place for every user.
    rustix::mount::fsconfig_set_flag(&context, "userxattr")?;
    if writeback == Writeback::Never {
        rustix::mount::fsconfig_set_flag(&context, "volatile")?;
    }
    rustix::mount::fsconfig_create(&context)?;
    let attributes = MountAttrFlags::MOUNT_ATTR_NOSUID | MountAttrFlags::MOUNT_ATTR_NODEV;
    rustix::mount::fsmount(&context, FsMountFlags::FSMOUNT_CLOEXEC, attributes)
}

/// A copy on write of the project.
pub(super) struct Copied {
    pub(super) mount: OwnedFd,
    pub(super) changes: Upper,
}

/// The directory with what a command changed.
pub(super) struct Upper {
    pub(super) upper: OwnedFd,
    /// It lies in memory and lives as long as its descriptor is open.
    pub(super) in_memory: bool,
}

/// What a copy of the project is made of. All of it can be put in place before it is known what will
/// run; the overlay cannot, because the files below an overlay must not change under it.
pub(super) struct CopyParts {
    lower: Lower,
    has_layer: bool,
    in_memory: Upper,
}

impl CopyParts {
    /// Attaches the project, its private layer and room in memory for `max_bytes` of changes.
    pub(super) fn attach(
        project: &OwnedFd,
        layer: Option<&OwnedFd>,
        max_bytes: u64,
        owner: Identity,
    ) -> Result<CopyParts, EntryError> {
        let lower = Lower::attach(project, 0)?;
        if let Some(layer) = layer {
            attach_new(layer, Path::new(PRIVATE), FileType::Directory)?;
        }
        let memory = memory_file_system(max_bytes, 0o755)?;
        attach_new(&memory, Path::new(CHANGES), FileType::Directory)?;
        make_own_directory(Path::new(UPPER), 0o755, owner)?;
        make_own_directory(Path::new(WORK), 0o755, owner)?;
        let in_memory = Upper { upper: open_changes(Path::new(UPPER))?, in_memory: true };
        Ok(CopyParts { lower, has_layer: layer.is_some(), in_memory })
    }

    /// Makes the copy. Its changes lie in the private layer if the run has a directory there and the
    /// file system can hold a copy on write, and otherwise in memory.
    pub(super) fn make(self, space: Option<&str>, shows_layer: bool) -> Result<Copied, EntryError> {
        let mut lower = self.lower.place.display().to_string();
        if self.has_layer && shows_layer {
            lower = format!("{PRIVATE}/{}:{lower}", layer::KEPT);
        }
        if let Some(space) = space {
            let space = Path::new(PRIVATE).join(layer::RUNS).join(space);
            let (upper, work) = (space.join(layer::UPPER), space.join(layer::WORK));
            if let Ok(mount) = overlay(&lower, &upper, &work, Writeback::Never) {
                let upper = open_changes(&upper)?;
                return Ok(Copied { mount, changes: Upper { upper, in_memory: false } });
            }
        }
        let mount = overlay(&lower, Path::new(UPPER), Path::new(WORK), Writeback::AtTheEnd);
        let mount = mount.during(SandboxPart::Overlay, "mounting an overlay")?;
        Ok(Copied { mount, changes: self.in_memory })
    }
}

fn open_changes(upper: &Path) -> Result<OwnedFd, EntryError> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
    rustix::fs::open(upper, flags, Mode::empty())
        .during(SandboxPart::Overlay, "opening the changes")
}
