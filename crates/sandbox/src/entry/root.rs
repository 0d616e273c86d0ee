//! A fresh root directory: an empty file system in memory, and in it only what the plan names.

use std::os::fd::{AsFd, OwnedFd};
use std::path::{Path, PathBuf};

use rustix::fs::{AtFlags, CWD, FileType, Mode, OFlags, ResolveFlags};
use rustix::io::Errno;
use rustix::mount::{
    FsMountFlags, FsOpenFlags, MountAttrFlags, MountPropagationFlags, MoveMountFlags,
    OpenTreeFlags, UnmountFlags,
};
use rustix::thread::{Gid, Uid};

use super::helper::Site;
use super::layers::{self, Lower};
use super::removable::{PassedThrough, Removable};
use super::trouble::{During as _, Trouble};
use crate::kernel;
use crate::place_holders;
use crate::plan::{Identity, Part, ProtectedPlan, Setting, Step};
use crate::profile::StandIn;

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
    /// The project, attached nowhere yet.
    project: OwnedFd,
}

/// Builds a root and moves into it.
pub(super) fn prepare(site: &Site, network: bool) -> Result<Root, Trouble> {
    let part = Part::Root;
    let setting = &site.setting;
    rustix::process::umask(Mode::empty());
    rustix::mount::mount_change("/", MountPropagationFlags::PRIVATE | MountPropagationFlags::REC)
        .during(part, "separating mounts")?;
    let more = if network { setting.network_steps.as_slice() } else { &[] };
    let steps: Vec<&Step> = setting.steps.iter().chain(more).collect();
    let sources = Sources::open(site, &steps)?;
    let mount = memory_file_system(ROOT_BYTES, 0o755)?;
    attach(&mount, STAGE)?;
    rustix::process::fchdir(&mount).during(part, "entering the new root")?;
    make_site(setting)?;
    let mut builder = Builder { setting, count: 0 };
    for (step, source) in steps.into_iter().zip(sources.steps) {
        builder.take(step, source)?;
    }
    rustix::process::pivot_root(".", ".").during(part, "changing the root")?;
    rustix::mount::unmount(".", UnmountFlags::DETACH).during(part, "leaving the old root")?;
    rustix::process::chdir("/").during(part, "entering the new root")?;
    Ok(Root { mount, project: sources.project })
}

/// The project in its place.
pub(super) struct Project {
    top: OwnedFd,
    /// A directory for who gave the order: with what the command changes, if it works on a copy, and
    /// otherwise the one in which the project was put. Whoever removes the place there takes all mounts
    /// on the project off at once.
    handed_out: Option<OwnedFd>,
    /// Directories that are still to be attached.
    passed_through: Vec<PassedThrough>,
}

/// Puts the project into its place.
pub(super) fn put_project(root: &Root, setting: &Setting) -> Result<Project, Trouble> {
    let plan = &setting.project;
    let place = inside(&plan.path);
    let mut passed_through = Vec::new();
    let handed_out = match &plan.overlay {
        None => {
            let is_made = !is_there(place);
            attach_new(&root.project, place, FileType::Directory)?;
            if is_made { place.parent().map(writable_clone).transpose()? } else { None }
        }
        Some(overlay) => {
            let lower = Lower::attach(&root.project, 0)?;
            let copied = layers::project(&lower, overlay.max_bytes, setting.identity)?;
            attach_new(&copied.mount, place, FileType::Directory)?;
            for path in &overlay.pass_through {
                let one = PassedThrough::open(lower.directory(), path)?;
                // What is protected in it has to lie above it, so it cannot come later.
                match plan.protected.iter().any(|name| name.path.starts_with(path)) {
                    true => one.attach(place)?,
                    false => passed_through.push(one),
                }
            }
            Some(copied.changes)
        }
    };
    let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let top = rustix::fs::open(place, flags, Mode::empty());
    let top = top.during(Part::Root, "opening the project")?;
    Ok(Project { top, handed_out, passed_through })
}

/// A directory of the new root as a mount of its own, which stays writable.
fn writable_clone(path: &Path) -> Result<OwnedFd, Trouble> {
    let path = if path.as_os_str().is_empty() { Path::new(".") } else { path };
    let flags = OpenTreeFlags::OPEN_TREE_CLONE | OpenTreeFlags::OPEN_TREE_CLOEXEC;
    rustix::mount::open_tree(CWD, path, flags)
        .during(Part::Root, format!("taking {}", path.display()))
}

/// A root with everything in it.
pub(super) struct Finished {
    /// The directory for who gave the order.
    pub(super) handed_out: Option<OwnedFd>,
    /// Where to go before the command is started, if the root lies in another namespace.
    pub(super) removable: Option<Removable>,
}

/// Covers the protected names and closes the root.
pub(super) fn close(root: Root, project: Project, setting: &Setting) -> Result<Finished, Trouble> {
    for protected in &setting.project.protected {
        protect(&project.top, protected, setting.project.overlay.is_some())?;
    }
    stand_in(EMPTY_DIRECTORY, Path::new(SITE))?;
    kernel::set_mount_attributes(&root.mount, MountAttrFlags::MOUNT_ATTR_RDONLY, false)
        .during(Part::Root, "making the root read-only")?;
    let place = inside(&setting.project.path);
    let removable = match project.passed_through.as_slice() {
        [] => None,
        passed_through => Some(Removable::attach(passed_through, place)?),
    };
    rustix::process::umask(Mode::WGRP | Mode::WOTH);
    Ok(Finished { handed_out: project.handed_out, removable })
}

/// What is taken from the host, opened while it can still be seen.
struct Sources {
    steps: Vec<Option<OwnedFd>>,
    project: OwnedFd,
}

impl Sources {
    fn open(site: &Site, steps: &[&Step]) -> Result<Sources, Trouble> {
        let setting = &site.setting;
        let owners = site.owners.as_ref();
        let steps = steps.iter().map(|step| open_source(step, owners));
        let steps = steps.collect::<Result<_, _>>()?;
        // A descriptor of the outer mounts cannot be cloned in here, so the path is taken, and it
        // must still lead to what was opened before.
        let project = clone_tree(&setting.project.path)?;
        if !is_same(&project, &site.project)? {
            return Err(Trouble::new(Part::Root, "finding the project again", Some(libc::ESTALE)));
        }
        let attributes = MountAttrFlags::MOUNT_ATTR_NOSUID | MountAttrFlags::MOUNT_ATTR_NODEV;
        kernel::set_mount_attributes(&project, attributes, true)
            .during(Part::Root, "restricting the project")?;
        if let (true, Some(owners)) = (setting.identity.map_project, owners) {
            kernel::map_owners(&project, owners.as_fd())
                .during(Part::IdMapping, "mapping the owner of the project")?;
        }
        Ok(Sources { steps, project })
    }
}

fn open_source(step: &Step, owners: Option<&OwnedFd>) -> Result<Option<OwnedFd>, Trouble> {
    let read_only = MountAttrFlags::MOUNT_ATTR_RDONLY
        | MountAttrFlags::MOUNT_ATTR_NOSUID
        | MountAttrFlags::MOUNT_ATTR_NODEV;
    let (source, attributes, mapped) = match step {
        Step::Bind { source, mapped, .. } => (source, read_only, *mapped),
        Step::Layer { source, .. } => (source, read_only, true),
        Step::Device { path } => {
            let attributes = MountAttrFlags::MOUNT_ATTR_NOSUID | MountAttrFlags::MOUNT_ATTR_NOEXEC;
            (path, attributes, false)
        }
        Step::Link { .. } | Step::File { .. } | Step::Scratch { .. } | Step::Proc { .. } => {
            return Ok(None);
        }
    };
    let tree = clone_tree(source)?;
    kernel::set_mount_attributes(&tree, attributes, true)
        .during(Part::Root, format!("restricting {}", source.display()))?;
    if let (true, Some(owners)) = (mapped, owners) {
        // Where the file system cannot do it, what everybody may read can still be read.
        let _ = kernel::map_owners(&tree, owners.as_fd());
    }
    Ok(Some(tree))
}

fn is_same(one: &OwnedFd, other: &OwnedFd) -> Result<bool, Trouble> {
    let look = |fd| rustix::fs::fstat(fd).during(Part::Root, "looking at the project");
    let (one, other) = (look(one)?, look(other)?);
    Ok((one.st_dev, one.st_ino) == (other.st_dev, other.st_ino))
}

fn clone_tree(path: &Path) -> Result<OwnedFd, Trouble> {
    let flags = OpenTreeFlags::OPEN_TREE_CLONE
        | OpenTreeFlags::OPEN_TREE_CLOEXEC
        | OpenTreeFlags::AT_RECURSIVE;
    rustix::mount::open_tree(CWD, path, flags)
        .during(Part::Root, format!("taking {}", path.display()))
}

/// An empty file system in memory.
pub(super) fn memory_file_system(bytes: u64, mode: u32) -> Result<OwnedFd, Trouble> {
    let make = || -> Result<OwnedFd, Errno> {
        let context = rustix::mount::fsopen("tmpfs", FsOpenFlags::FSOPEN_CLOEXEC)?;
        rustix::mount::fsconfig_set_string(&context, "size", bytes.to_string())?;
        rustix::mount::fsconfig_set_string(&context, "mode", format!("{mode:o}"))?;
        rustix::mount::fsconfig_create(&context)?;
        let attributes = MountAttrFlags::MOUNT_ATTR_NOSUID | MountAttrFlags::MOUNT_ATTR_NODEV;
        rustix::mount::fsmount(&context, FsMountFlags::FSMOUNT_CLOEXEC, attributes)
    };
    make().during(Part::Root, "making a file system in memory")
}

/// A corner of the new root for what only the builder needs: space for private files, and empty
/// things that stand for what is masked or must not come into being.
fn make_site(setting: &Setting) -> Result<(), Trouble> {
    let scratch = memory_file_system(setting.limits.scratch_bytes, 0o755)?;
    attach_new(&scratch, Path::new(SCRATCH), FileType::Directory)?;
    let flags = OFlags::CREATE | OFlags::WRONLY | OFlags::CLOEXEC;
    rustix::fs::open(EMPTY_FILE, flags, Mode::from_raw_mode(0o444))
        .during(Part::Root, "making an empty file")?;
    rustix::fs::mkdir(EMPTY_DIRECTORY, Mode::from_raw_mode(0o555))
        .during(Part::Root, "making an empty directory")
}

struct Builder<'a> {
    setting: &'a Setting,
    /// How many private directories and layers there are.
    count: usize,
}

impl Builder<'_> {
    fn take(&mut self, step: &Step, source: Option<OwnedFd>) -> Result<(), Trouble> {
        let part = Part::Root;
        match (step, source) {
            (Step::Link { path, target }, _) => {
                let path = make_parent(path)?;
                let made = std::os::unix::fs::symlink(target, &path);
                made.during(part, format!("linking {}", path.display()))
            }
            (Step::File { path, text }, _) => {
                let path = make_parent(path)?;
                let written = std::fs::write(&path, text);
                written.during(part, format!("writing {}", path.display()))
            }
            (Step::Bind { path, .. } | Step::Device { path }, Some(tree)) => {
                attach_new(&tree, inside(path), file_type(&tree)?)
            }
            (Step::Layer { path, .. }, Some(lower)) => self.layer(path, &lower),
            (Step::Scratch { path, mode }, _) => self.scratch(path, *mode),
            (Step::Proc { path }, _) => mount_proc(path),
            (Step::Bind { .. } | Step::Device { .. } | Step::Layer { .. }, None) => {
                Err(Trouble::new(part, "a source is missing", None))
            }
        }
    }

    /// Private writable directories are parts of one file system with one limit.
    fn scratch(&mut self, path: &Path, mode: u32) -> Result<(), Trouble> {
        let place = self.scratch_directory("directory", mode)?;
        let tree = clone_tree(&place)?;
        attach_new(&tree, inside(path), FileType::Directory)
    }

    fn scratch_directory(&mut self, purpose: &str, mode: u32) -> Result<PathBuf, Trouble> {
        self.count += 1;
        let place = PathBuf::from(format!("{SCRATCH}/{purpose}{}", self.count));
        make_own_directory(&place, mode, self.setting.identity)?;
        Ok(place)
    }

    fn layer(&mut self, path: &Path, lower: &OwnedFd) -> Result<(), Trouble> {
        let upper = self.scratch_directory("layer", 0o755)?;
        let work = self.scratch_directory("work", 0o755)?;
        let lower = Lower::attach(lower, self.count)?;
        let mount = match lower.overlay(&upper, &work) {
            Ok(mount) => mount,
            // Where there are no copies on write, most programs are content to read.
            Err(_) => clone_opened(lower.directory()).during(Part::Root, "showing a directory")?,
        };
        attach_new(&mount, inside(path), FileType::Directory)
    }
}

fn mount_proc(path: &Path) -> Result<(), Trouble> {
    let make = || -> Result<OwnedFd, Errno> {
        let context = rustix::mount::fsopen("proc", FsOpenFlags::FSOPEN_CLOEXEC)?;
        rustix::mount::fsconfig_create(&context)?;
        let attributes = MountAttrFlags::MOUNT_ATTR_RDONLY
            | MountAttrFlags::MOUNT_ATTR_NOSUID
            | MountAttrFlags::MOUNT_ATTR_NODEV
            | MountAttrFlags::MOUNT_ATTR_NOEXEC;
        rustix::mount::fsmount(&context, FsMountFlags::FSMOUNT_CLOEXEC, attributes)
    };
    let mount = make().during(Part::Proc, "mounting /proc")?;
    attach_new(&mount, inside(path), FileType::Directory)
}

pub(super) fn beneath(top: &OwnedFd, path: &Path) -> Result<OwnedFd, Errno> {
    let resolve = ResolveFlags::BENEATH | ResolveFlags::NO_MAGICLINKS | ResolveFlags::NO_SYMLINKS;
    let flags = OFlags::PATH | OFlags::CLOEXEC;
    rustix::fs::openat2(top, path, flags, Mode::empty(), resolve)
}

fn protect(top: &OwnedFd, plan: &ProtectedPlan, is_copy: bool) -> Result<(), Trouble> {
    let doing = || format!("protecting {}", plan.path.display());
    match beneath(top, &plan.path) {
        Ok(target) if !is_copy && is_held(&target) => {
            let tree = read_only_stand_in(empty(plan.stand_in)).during(Part::Root, doing())?;
            attach_over(&tree, &target).during(Part::Root, doing())
        }
        Ok(target) => {
            let tree = clone_opened(&target).during(Part::Root, doing())?;
            kernel::set_mount_attributes(&tree, MountAttrFlags::MOUNT_ATTR_RDONLY, true)
                .during(Part::Root, doing())?;
            attach_over(&tree, &target).during(Part::Root, doing())
        }
        // In a copy the place can be held; elsewhere it has been, or there is no such directory.
        Err(Errno::NOENT) if is_copy => hold_place(top, plan).during(Part::Root, doing()),
        Err(Errno::NOENT | Errno::NOTDIR) => Ok(()),
        // A link in a copy: what becomes of it is seen before it is applied.
        Err(Errno::LOOP) if is_copy => Ok(()),
        Err(errno) => Err(errno).during(Part::Root, doing()),
    }
}

fn hold_place(top: &OwnedFd, plan: &ProtectedPlan) -> Result<(), Errno> {
    let made = match plan.stand_in {
        StandIn::Directory => rustix::fs::mkdirat(top, &plan.path, Mode::RWXU),
        StandIn::File => {
            let flags = OFlags::CREATE | OFlags::EXCL | OFlags::WRONLY | OFlags::CLOEXEC;
            rustix::fs::openat(top, &plan.path, flags, Mode::RUSR).map(drop)
        }
    };
    match made {
        Ok(()) => {}
        // The directory above does not exist either.
        Err(Errno::NOENT) => return Ok(()),
        Err(errno) => return Err(errno),
    }
    let target = beneath(top, &plan.path)?;
    attach_over(&read_only_stand_in(empty(plan.stand_in))?, &target)
}

fn empty(kind: StandIn) -> &'static str {
    match kind {
        StandIn::Directory => EMPTY_DIRECTORY,
        StandIn::File => EMPTY_FILE,
    }
}

/// Whether this only holds the place of something that does not exist.
fn is_held(target: &OwnedFd) -> bool {
    rustix::fs::fstat(target).is_ok_and(|stat| place_holders::is_mark(&stat))
}

fn read_only_stand_in(source: &str) -> Result<OwnedFd, Errno> {
    let flags = OpenTreeFlags::OPEN_TREE_CLONE | OpenTreeFlags::OPEN_TREE_CLOEXEC;
    let tree = rustix::mount::open_tree(CWD, source, flags)?;
    kernel::set_mount_attributes(&tree, MountAttrFlags::MOUNT_ATTR_RDONLY, false)?;
    Ok(tree)
}

fn stand_in(source: &str, target: &Path) -> Result<(), Trouble> {
    let doing = || format!("masking {}", target.display());
    let tree = read_only_stand_in(source).during(Part::Root, doing())?;
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
pub(super) fn attach(tree: &OwnedFd, place: impl AsRef<Path>) -> Result<(), Trouble> {
    let place = place.as_ref();
    let flags = MoveMountFlags::MOVE_MOUNT_F_EMPTY_PATH;
    rustix::mount::move_mount(tree, "", CWD, place, flags)
        .during(Part::Root, format!("mounting {}", place.display()))
}

/// Makes the place and attaches a mount to it.
pub(super) fn attach_new(tree: &OwnedFd, place: &Path, kind: FileType) -> Result<(), Trouble> {
    let doing = || format!("making {}", place.display());
    if !is_there(place) {
        let made = if kind == FileType::Directory {
            make_directories(place)
        } else {
            place.parent().map_or(Ok(()), make_directories).and_then(|()| std::fs::write(place, ""))
        };
        made.during(Part::Root, doing())?;
    }
    attach(tree, place)
}

fn is_there(place: &Path) -> bool {
    rustix::fs::statat(CWD, place, AtFlags::SYMLINK_NOFOLLOW).is_ok()
}

/// A directory that belongs to the command's user.
pub(super) fn make_own_directory(
    path: &Path,
    mode: u32,
    identity: Identity,
) -> Result<(), Trouble> {
    let doing = || format!("making {}", path.display());
    rustix::fs::mkdir(path, Mode::from_raw_mode(mode)).during(Part::Root, doing())?;
    if identity.switch {
        let (uid, gid) = (Uid::from_raw(identity.uid), Gid::from_raw(identity.gid));
        rustix::fs::chown(path, Some(uid), Some(gid)).during(Part::Root, doing())?;
    }
    Ok(())
}

fn make_parent(path: &Path) -> Result<PathBuf, Trouble> {
    let path = inside(path);
    if let Some(parent) = path.parent() {
        make_directories(parent).during(Part::Root, format!("making {}", parent.display()))?;
    }
    Ok(path.to_owned())
}

/// Everybody may pass through what leads to a mount; the file mode mask is off while we build.
fn make_directories(path: &Path) -> std::io::Result<()> {
    use std::os::unix::fs::DirBuilderExt as _;
    std::fs::DirBuilder::new().recursive(true).mode(0o755).create(path)
}

/// The path in our working directory, which is or becomes the root.
fn inside(path: &Path) -> &Path {
    path.strip_prefix("/").unwrap_or(path)
}

fn file_type(tree: &OwnedFd) -> Result<FileType, Trouble> {
    let stat = rustix::fs::fstat(tree).during(Part::Root, "looking at a source")?;
    Ok(FileType::from_raw_mode(stat.st_mode))
}
