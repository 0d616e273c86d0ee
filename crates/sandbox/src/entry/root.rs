//! A fresh root directory: an empty file system in memory, and in it only what the plan names.

use std::os::fd::{AsFd, OwnedFd};
use std::path::{Path, PathBuf};

use rustix::fs::{CWD, FileType, Mode, OFlags, ResolveFlags};
use rustix::io::Errno;
use rustix::mount::{
    FsMountFlags, FsOpenFlags, MountAttrFlags, MountPropagationFlags, MoveMountFlags,
    OpenTreeFlags, UnmountFlags,
};
use rustix::thread::{Gid, Uid};

use super::error::{During as _, EntryError};
use super::helper::Site;
use super::host_trees::HostTrees;
use super::layers::{CopyParts, Lower, Upper};
use crate::kernel;
use crate::plan::{Identity, RootStep, SandboxPart, Setting};
use crate::profile::ProjectAccess;

/// The new root is mounted here before it becomes the root: this directory exists everywhere, and
/// what it covers has been opened before.
const STAGE: &str = "/usr";
/// Names in the new root while it is built.
const SITE: &str = ".build";
const SCRATCH: &str = ".build/scratch";
const EMPTY_FILE: &str = ".build/empty-file";
const EMPTY_DIRECTORY: &str = ".build/empty-directory";
const ROOT_BYTES: u64 = 16 << 20;

/// A root that lacks only the project. It is our root already.
pub(super) struct Root {
    mount: OwnedFd,
    project: Project,
    /// Directories of the host are shown as they are, with sockets on which processes may listen.
    pub(super) shows_sockets: bool,
}

/// What the project is shown from.
enum Project {
    /// The project itself, attached nowhere yet.
    Itself(OwnedFd),
    Copy(CopyParts),
}

/// Builds a root and moves into it.
pub(super) fn prepare(site: &Site) -> Result<Root, EntryError> {
    let part = SandboxPart::Root;
    let setting = &site.setting;
    rustix::process::umask(Mode::empty());
    rustix::mount::mount_change("/", MountPropagationFlags::PRIVATE | MountPropagationFlags::REC)
        .during(part, "separating mounts")?;
    let sources = Sources::open(site)?;
    let mount = memory_file_system(ROOT_BYTES, 0o755)?;
    attach(&mount, STAGE)?;
    let enter = || rustix::process::fchdir(&mount).during(part, "entering the new root");
    enter()?;
    make_site(setting)?;
    let empty = Path::new(STAGE).join(EMPTY_DIRECTORY);
    let shown = HostTrees::take(&setting.steps, site.owners.as_ref(), &empty)?;
    enter()?;
    let shows_sockets = shown.has_sockets;
    let mut builder = Builder { setting, shown, count: 0, shows_sockets };
    for (step, source) in setting.steps.iter().zip(sources.steps) {
        builder.take(step, source)?;
    }
    rustix::process::pivot_root(".", ".").during(part, "changing the root")?;
    rustix::mount::unmount(".", UnmountFlags::DETACH).during(part, "leaving the old root")?;
    rustix::process::chdir("/").during(part, "entering the new root")?;
    let project = match &setting.project.access {
        ProjectAccess::Copy(copy) => {
            let layer = sources.layer.as_ref();
            let owner = setting.identity;
            Project::Copy(CopyParts::attach(&sources.project, layer, copy.max_bytes, owner)?)
        }
        ProjectAccess::Live { .. } | ProjectAccess::Direct => Project::Itself(sources.project),
    };
    // Only an overlay hides them.
    let shows_sockets = builder.shows_sockets || matches!(project, Project::Itself(_));
    Ok(Root { mount, project, shows_sockets })
}

/// What differs between commands.
pub(super) struct OwnPart<'a> {
    /// The directory of this run in the private layer.
    pub(super) space: Option<&'a str>,
    /// A command that may use the network does not see what others left in the layer.
    pub(super) network: bool,
}

/// Puts the project into its place and closes the root. Returns where the changes are found, if the
/// command works on a copy.
pub(super) fn finish(
    root: Root,
    setting: &Setting,
    own: &OwnPart<'_>,
) -> Result<Option<Upper>, EntryError> {
    let changes = put_project(root.project, setting, own)?;
    stand_in(EMPTY_DIRECTORY, Path::new(SITE))?;
    kernel::set_mount_attributes(&root.mount, MountAttrFlags::MOUNT_ATTR_RDONLY, false)
        .during(SandboxPart::Root, "making the root read-only")?;
    rustix::process::umask(Mode::WGRP | Mode::WOTH);
    Ok(changes)
}

fn put_project(
    project: Project,
    setting: &Setting,
    own: &OwnPart<'_>,
) -> Result<Option<Upper>, EntryError> {
    let plan = &setting.project;
    let place = inside(&plan.path);
    let changes = match project {
        Project::Itself(tree) => {
            attach_new(&tree, place, FileType::Directory)?;
            if let ProjectAccess::Live { writable } = &plan.access {
                close_but(&tree, &open_place(place)?, writable)?;
            }
            None
        }
        Project::Copy(parts) => {
            let copied = parts.make(own.space, !own.network)?;
            attach_new(&copied.mount, place, FileType::Directory)?;
            Some(copied.changes)
        }
    };
    let top = open_place(place)?;
    plan.protected.iter().try_for_each(|path| protect(&top, path))?;
    Ok(changes)
}

/// Makes the project read-only but for these paths.
fn close_but(project: &OwnedFd, top: &OwnedFd, writable: &[PathBuf]) -> Result<(), EntryError> {
    let take = |path: &PathBuf| {
        let tree = beneath(top, path).and_then(|source| clone_opened(&source));
        tree.during(SandboxPart::Root, format!("taking {}", path.display()))
    };
    let trees = writable.iter().map(take).collect::<Result<Vec<_>, _>>()?;
    kernel::set_mount_attributes(project, MountAttrFlags::MOUNT_ATTR_RDONLY, true)
        .during(SandboxPart::Root, "making the project read-only")?;
    for (path, tree) in writable.iter().zip(&trees) {
        let over = beneath(top, path).and_then(|target| attach_over(tree, &target));
        over.during(SandboxPart::Root, format!("opening {}", path.display()))?;
    }
    Ok(())
}

fn open_place(place: &Path) -> Result<OwnedFd, EntryError> {
    let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
    rustix::fs::open(place, flags, Mode::empty()).during(SandboxPart::Root, "opening the project")
}

/// What is taken from the host, opened while it can still be seen.
struct Sources {
    steps: Vec<Option<OwnedFd>>,
    project: OwnedFd,
    layer: Option<OwnedFd>,
}

impl Sources {
    fn open(site: &Site) -> Result<Sources, EntryError> {
        let setting = &site.setting;
        let owners = site.owners.as_ref();
        let steps = setting.steps.iter().map(|step| open_source(step, owners));
        let steps = steps.collect::<Result<_, _>>()?;
        // A descriptor of the outer mounts cannot be cloned in here, so the path is taken, and it
        // must still lead to what was opened before.
        let project = clone_tree(&setting.project.path)?;
        if !is_same(&project, &site.project)? {
            return Err(EntryError::new(
                SandboxPart::Root,
                "finding the project again",
                Some(libc::ESTALE),
            ));
        }
        let attributes = MountAttrFlags::MOUNT_ATTR_NOSUID | MountAttrFlags::MOUNT_ATTR_NODEV;
        kernel::set_mount_attributes(&project, attributes, true)
            .during(SandboxPart::Root, "restricting the project")?;
        if let (true, Some(owners)) = (setting.identity.map_project, owners) {
            kernel::map_owners(&project, owners.as_fd())
                .during(SandboxPart::IdMapping, "mapping the owner of the project")?;
        }
        let layer = match &setting.project.access {
            ProjectAccess::Copy(copy) => copy.layer.as_deref().map(clone_tree).transpose()?,
            ProjectAccess::Live { .. } | ProjectAccess::Direct => None,
        };
        Ok(Sources { steps, project, layer })
    }
}

/// What a step takes from the host, unless that is [`HostTrees`].
fn open_source(step: &RootStep, owners: Option<&OwnedFd>) -> Result<Option<OwnedFd>, EntryError> {
    match step {
        RootStep::Bind { source, mapped: false, .. } => restricted(source, None).map(Some),
        RootStep::Layer { source, .. } => restricted(source, owners).map(Some),
        RootStep::Device { path } => {
            let tree = clone_tree(path)?;
            let attributes = MountAttrFlags::MOUNT_ATTR_NOSUID | MountAttrFlags::MOUNT_ATTR_NOEXEC;
            restrict(&tree, path, attributes).map(|()| Some(tree))
        }
        RootStep::Bind { mapped: true, .. }
        | RootStep::Link { .. }
        | RootStep::File { .. }
        | RootStep::Scratch { .. }
        | RootStep::Proc { .. } => Ok(None),
    }
}

/// Something of the host, to be read only, with the owners that a table says.
pub(super) fn restricted(source: &Path, owners: Option<&OwnedFd>) -> Result<OwnedFd, EntryError> {
    let read_only = MountAttrFlags::MOUNT_ATTR_RDONLY
        | MountAttrFlags::MOUNT_ATTR_NOSUID
        | MountAttrFlags::MOUNT_ATTR_NODEV;
    let tree = clone_tree(source)?;
    restrict(&tree, source, read_only)?;
    if let Some(owners) = owners {
        // Where the file system cannot do it, files that every user may read can still be read.
        let _ = kernel::map_owners(&tree, owners.as_fd());
    }
    Ok(tree)
}

fn restrict(tree: &OwnedFd, source: &Path, attributes: MountAttrFlags) -> Result<(), EntryError> {
    kernel::set_mount_attributes(tree, attributes, true)
        .during(SandboxPart::Root, format!("restricting {}", source.display()))
}

fn is_same(one: &OwnedFd, other: &OwnedFd) -> Result<bool, EntryError> {
    let look = |fd| rustix::fs::fstat(fd).during(SandboxPart::Root, "looking at the project");
    let (one, other) = (look(one)?, look(other)?);
    Ok((one.st_dev, one.st_ino) == (other.st_dev, other.st_ino))
}

pub(super) fn clone_tree(path: &Path) -> Result<OwnedFd, EntryError> {
    let flags = OpenTreeFlags::OPEN_TREE_CLONE
        | OpenTreeFlags::OPEN_TREE_CLOEXEC
        | OpenTreeFlags::AT_RECURSIVE;
    rustix::mount::open_tree(CWD, path, flags)
        .during(SandboxPart::Root, format!("taking {}", path.display()))
}

/// Bytes of room for which a file system in memory holds one file, and how many it holds at least.
/// Each takes memory that its size does not count.
const BYTES_PER_FILE: u64 = 2048;
const LEAST_FILES: u64 = 16 * 1024;

/// An empty file system in memory.
pub(super) fn memory_file_system(bytes: u64, mode: u32) -> Result<OwnedFd, EntryError> {
    let make = || -> Result<OwnedFd, Errno> {
        let context = rustix::mount::fsopen("tmpfs", FsOpenFlags::FSOPEN_CLOEXEC)?;
        rustix::mount::fsconfig_set_string(&context, "size", bytes.to_string())?;
        let files = (bytes / BYTES_PER_FILE).max(LEAST_FILES);
        rustix::mount::fsconfig_set_string(&context, "nr_inodes", files.to_string())?;
        rustix::mount::fsconfig_set_string(&context, "mode", format!("{mode:o}"))?;
        rustix::mount::fsconfig_create(&context)?;
        let attributes = MountAttrFlags::MOUNT_ATTR_NOSUID | MountAttrFlags::MOUNT_ATTR_NODEV;
        rustix::mount::fsmount(&context, FsMountFlags::FSMOUNT_CLOEXEC, attributes)
    };
    make().during(SandboxPart::Root, "making a file system in memory")
}

/// A directory of the new root for the building only: space for private files, and empty files and
/// directories in place of what is masked or must not be created.
fn make_site(setting: &Setting) -> Result<(), EntryError> {
    let scratch = memory_file_system(setting.limits.scratch_bytes, 0o755)?;
    attach_new(&scratch, Path::new(SCRATCH), FileType::Directory)?;
    let flags = OFlags::CREATE | OFlags::WRONLY | OFlags::CLOEXEC;
    rustix::fs::open(EMPTY_FILE, flags, Mode::from_raw_mode(0o444))
        .during(SandboxPart::Root, "making an empty file")?;
    rustix::fs::mkdir(EMPTY_DIRECTORY, Mode::from_raw_mode(0o555))
        .during(SandboxPart::Root, "making an empty directory")
}

struct Builder<'a> {
    setting: &'a Setting,
    shown: HostTrees,
    /// How many private directories and layers there are.
    count: usize,
    shows_sockets: bool,
}

impl Builder<'_> {
    fn take(&mut self, step: &RootStep, source: Option<OwnedFd>) -> Result<(), EntryError> {
        let part = SandboxPart::Root;
        match (step, source) {
            (RootStep::Link { path, target }, _) => {
                make(inside(path), |path| rustix::fs::symlink(target, path))
                    .during(part, format!("linking {}", path.display()))
            }
            (RootStep::File { path, text }, _) => {
                make(inside(path), |path| write_file(path, text.as_bytes()))
                    .during(part, format!("writing {}", path.display()))
            }
            (RootStep::Bind { path, source, mapped: true }, _) => {
                let tree = self.shown.tree(source)?;
                attach_new(&tree, inside(path), file_type(&tree)?)
            }
            (RootStep::Bind { path, .. } | RootStep::Device { path }, Some(tree)) => {
                attach_new(&tree, inside(path), file_type(&tree)?)
            }
            (RootStep::Layer { path, .. }, Some(lower)) => self.layer(path, &lower),
            (RootStep::Scratch { path, mode }, _) => self.scratch(path, *mode),
            (RootStep::Proc { path }, _) => mount_proc(path),
            (RootStep::Bind { .. } | RootStep::Device { .. } | RootStep::Layer { .. }, None) => {
                Err(EntryError::new(part, "a source is missing", None))
            }
        }
    }

    /// Private writable directories are parts of one file system with one limit.
    fn scratch(&mut self, path: &Path, mode: u32) -> Result<(), EntryError> {
        let place = self.scratch_directory("directory", mode)?;
        let tree = clone_tree(&place)?;
        attach_new(&tree, inside(path), FileType::Directory)
    }

    fn scratch_directory(&mut self, purpose: &str, mode: u32) -> Result<PathBuf, EntryError> {
        self.count += 1;
        let place = PathBuf::from(format!("{SCRATCH}/{purpose}{}", self.count));
        make_own_directory(&place, mode, self.setting.identity)?;
        Ok(place)
    }

    fn as_it_is(&mut self, lower: &Lower) -> Result<OwnedFd, EntryError> {
        self.shows_sockets = true;
        clone_opened(lower.directory()).during(SandboxPart::Root, "showing a directory")
    }

    fn layer(&mut self, path: &Path, lower: &OwnedFd) -> Result<(), EntryError> {
        let upper = self.scratch_directory("layer", 0o755)?;
        let work = self.scratch_directory("work", 0o755)?;
        let lower = Lower::attach(lower, self.count)?;
        let mount = match lower.overlay(&upper, &work) {
            Ok(mount) => mount,
            // Where there are no copies on write, reading is enough for most programs.
            Err(_) => self.as_it_is(&lower)?,
        };
        attach_new(&mount, inside(path), FileType::Directory)
    }
}

fn mount_proc(path: &Path) -> Result<(), EntryError> {
    let make = || -> Result<OwnedFd, Errno> {
        let context = rustix::mount::fsopen("proc", FsOpenFlags::FSOPEN_CLOEXEC)?;
        rustix::mount::fsconfig_create(&context)?;
        let attributes = MountAttrFlags::MOUNT_ATTR_RDONLY
            | MountAttrFlags::MOUNT_ATTR_NOSUID
            | MountAttrFlags::MOUNT_ATTR_NODEV
            | MountAttrFlags::MOUNT_ATTR_NOEXEC;
        rustix::mount::fsmount(&context, FsMountFlags::FSMOUNT_CLOEXEC, attributes)
    };
    let mount = make().during(SandboxPart::Proc, "mounting /proc")?;
    attach_new(&mount, inside(path), FileType::Directory)
}

pub(super) fn beneath(top: &OwnedFd, path: &Path) -> Result<OwnedFd, Errno> {
    let resolve = ResolveFlags::BENEATH | ResolveFlags::NO_MAGICLINKS | ResolveFlags::NO_SYMLINKS;
    let flags = OFlags::PATH | OFlags::CLOEXEC;
    rustix::fs::openat2(top, path, flags, Mode::empty(), resolve)
}

/// Makes what exists at a path read-only. What does not exist, or is reached through a link, is not
/// protected here: what comes into being in a copy is seen before it is kept.
fn protect(top: &OwnedFd, path: &Path) -> Result<(), EntryError> {
    let cover = |target: OwnedFd| -> Result<(), Errno> {
        let tree = clone_opened(&target)?;
        kernel::set_mount_attributes(&tree, MountAttrFlags::MOUNT_ATTR_RDONLY, true)?;
        attach_over(&tree, &target)
    };
    match beneath(top, path) {
        Err(Errno::NOENT | Errno::NOTDIR | Errno::LOOP) => Ok(()),
        found => found
            .and_then(cover)
            .during(SandboxPart::Root, format!("protecting {}", path.display())),
    }
}

fn read_only_stand_in(source: &str) -> Result<OwnedFd, Errno> {
    let flags = OpenTreeFlags::OPEN_TREE_CLONE | OpenTreeFlags::OPEN_TREE_CLOEXEC;
    let tree = rustix::mount::open_tree(CWD, source, flags)?;
    kernel::set_mount_attributes(&tree, MountAttrFlags::MOUNT_ATTR_RDONLY, false)?;
    Ok(tree)
}

fn stand_in(source: &str, target: &Path) -> Result<(), EntryError> {
    let doing = || format!("masking {}", target.display());
    let tree = read_only_stand_in(source).during(SandboxPart::Root, doing())?;
    attach(&tree, target)
}

pub(super) fn clone_opened(source: &OwnedFd) -> Result<OwnedFd, Errno> {
    let flags = OpenTreeFlags::OPEN_TREE_CLONE
        | OpenTreeFlags::OPEN_TREE_CLOEXEC
        | OpenTreeFlags::AT_EMPTY_PATH
        | OpenTreeFlags::AT_RECURSIVE;
    rustix::mount::open_tree(source, "", flags)
}

pub(super) fn attach_over(tree: &OwnedFd, target: &OwnedFd) -> Result<(), Errno> {
    let flags = MoveMountFlags::MOVE_MOUNT_F_EMPTY_PATH | MoveMountFlags::MOVE_MOUNT_T_EMPTY_PATH;
    rustix::mount::move_mount(tree, "", target, "", flags)
}

/// Attaches a mount to an existing place.
pub(super) fn attach(tree: &OwnedFd, place: impl AsRef<Path>) -> Result<(), EntryError> {
    let place = place.as_ref();
    let flags = MoveMountFlags::MOVE_MOUNT_F_EMPTY_PATH;
    rustix::mount::move_mount(tree, "", CWD, place, flags)
        .during(SandboxPart::Root, format!("mounting {}", place.display()))
}

/// Makes the place and attaches a mount to it.
pub(super) fn attach_new(tree: &OwnedFd, place: &Path, kind: FileType) -> Result<(), EntryError> {
    let made = match kind {
        FileType::Directory => make(place, make_directory),
        _ => make(place, |place| write_file(place, b"")),
    };
    match made {
        Ok(()) | Err(Errno::EXIST) => attach(tree, place),
        Err(errno) => Err(errno).during(SandboxPart::Root, format!("making {}", place.display())),
    }
}

/// Makes something, and the directories above it if they are missing, which they seldom are.
fn make(path: &Path, made: impl Fn(&Path) -> Result<(), Errno>) -> Result<(), Errno> {
    match (made(path), path.parent()) {
        (Err(Errno::NOENT), Some(parent)) => match make(parent, make_directory) {
            Ok(()) | Err(Errno::EXIST) => made(path),
            Err(errno) => Err(errno),
        },
        (result, _) => result,
    }
}

/// Every user may pass through the directories above a mount; the file mode mask is off while we
/// build.
fn make_directory(path: &Path) -> Result<(), Errno> {
    rustix::fs::mkdir(path, Mode::from_raw_mode(0o755))
}

fn write_file(path: &Path, bytes: &[u8]) -> Result<(), Errno> {
    let flags = OFlags::CREATE | OFlags::EXCL | OFlags::WRONLY | OFlags::CLOEXEC;
    let file = rustix::fs::open(path, flags, Mode::from_raw_mode(0o644))?;
    let written = rustix::io::retry_on_intr(|| rustix::io::write(&file, bytes))?;
    // Such files are short and lie in memory: they are written at once or not at all.
    if written == bytes.len() { Ok(()) } else { Err(Errno::NOSPC) }
}

/// A directory that belongs to the command's user.
pub(super) fn make_own_directory(
    path: &Path,
    mode: u32,
    identity: Identity,
) -> Result<(), EntryError> {
    let doing = || format!("making {}", path.display());
    rustix::fs::mkdir(path, Mode::from_raw_mode(mode)).during(SandboxPart::Root, doing())?;
    if identity.switch {
        let (uid, gid) = (Uid::from_raw(identity.uid), Gid::from_raw(identity.gid));
        rustix::fs::chown(path, Some(uid), Some(gid)).during(SandboxPart::Root, doing())?;
    }
    Ok(())
}

/// The path in our working directory, which is or becomes the root.
fn inside(path: &Path) -> &Path {
    path.strip_prefix("/").unwrap_or(path)
}

pub(super) fn file_type(tree: &OwnedFd) -> Result<FileType, EntryError> {
    let stat = rustix::fs::fstat(tree).during(SandboxPart::Root, "looking at a source")?;
    Ok(FileType::from_raw_mode(stat.st_mode))
}
