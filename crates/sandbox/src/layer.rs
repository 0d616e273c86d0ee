//! The private layer of a project: what its commands wrote to ignored paths.
//!
//! Builds stay incremental for an agent because the next command finds what the last one built, while
//! the user's own build directories are never written. The layer is a directory outside the project:
//!
//! ```text
//! kept/             lies over the project in every copy, marks for removed names included
//! runs/N/upper      what one command writes
//! runs/N/work       the kernel's own room for that
//! waiting/N         what is to be kept as soon as no copy shows `kept`
//! replaced          directories of the project that `kept` replaces as a whole
//! lock              shared by who shows `kept`, held alone by who changes it
//! ```
//!
//! Only confined commands without network ever see it.

mod entries;
mod merge;
mod replaced;
mod upkeep;

use std::io;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::SystemTime;

use rustix::fs::{AtFlags, FlockOperation, Gid, Mode, OFlags, Uid};
use rustix::io::Errno;

use crate::plan::Identity;
use entries::{names_in, open_directory_at, remove_contents, remove_tree};

pub(crate) use entries::{is_opaque, is_whiteout};
pub use upkeep::{LayerLimits, tidy_layers};

/// What lies over the project.
pub(crate) const KEPT: &str = "kept";
/// A directory for each command that runs, with these two in it.
pub(crate) const RUNS: &str = "runs";
pub(crate) const UPPER: &str = "upper";
pub(crate) const WORK: &str = "work";
const WAITING: &str = "waiting";
const LOCK: &str = "lock";

/// Tells the directories of one process apart.
static NEXT: AtomicU64 = AtomicU64::new(0);

/// A private layer. May be used by many threads and processes at once.
#[derive(Debug)]
pub struct PrivateLayer {
    top: OwnedFd,
    path: PathBuf,
    owner: Option<(Uid, Gid)>,
    /// Something may wait to be kept.
    has_waiting: AtomicBool,
}

/// Where a command writes what it changes. Memory is quick and has a limit; the disk takes what a build
/// writes, and costs some milliseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Room {
    /// In memory.
    #[default]
    Memory,
    /// In the private layer, if there is one and its file system can hold a copy on write.
    Disk,
}

/// How much a layer holds, and since when it was not used.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LayerUse {
    /// Bytes on the disk.
    pub bytes: u64,
    /// When something was kept for the last time.
    pub changed: Option<SystemTime>,
}

/// The directory of one run. Nobody removes it as long as the lock on it is held.
#[derive(Debug)]
struct Space {
    name: String,
    _locked: OwnedFd,
}

/// The part of a run that is under way in the layer. Dropping it throws away what the command wrote.
#[derive(Debug)]
pub(crate) struct RunSpace {
    layer: Arc<PrivateLayer>,
    /// Where the command writes, unless that is in memory.
    space: Option<Space>,
    /// Says that `kept` is shown.
    lock: OwnedFd,
}

impl PrivateLayer {
    /// Opens the layer in this directory, which is made if it is not there. `path` must be absolute
    /// and nobody else's.
    pub fn open(path: &Path) -> io::Result<PrivateLayer> {
        PrivateLayer::open_for(path, None)
    }

    pub(crate) fn of(path: &Path, identity: Identity) -> io::Result<PrivateLayer> {
        let owner = (Uid::from_raw(identity.uid), Gid::from_raw(identity.gid));
        PrivateLayer::open_for(path, identity.switch.then_some(owner))
    }

    fn open_for(path: &Path, owner: Option<(Uid, Gid)>) -> io::Result<PrivateLayer> {
        use std::os::unix::fs::DirBuilderExt as _;
        std::fs::DirBuilder::new().recursive(true).mode(0o700).create(path)?;
        let top = open_directory_at(rustix::fs::CWD, path)?;
        let layer =
            PrivateLayer { top, path: path.to_owned(), owner, has_waiting: AtomicBool::new(true) };
        for name in [KEPT, RUNS, WAITING] {
            layer.make_directory(&layer.top, name)?;
        }
        layer.remove_dead_runs()?;
        Ok(layer)
    }

    /// The directory it lies in.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Makes a directory that belongs to the commands' user, or finds it.
    fn make_directory(&self, parent: &OwnedFd, name: &str) -> io::Result<()> {
        match rustix::fs::mkdirat(parent, name, Mode::from_raw_mode(0o755)) {
            Ok(()) => {}
            Err(Errno::EXIST) => return Ok(()),
            Err(errno) => return Err(errno.into()),
        }
        if let Some((uid, gid)) = self.owner {
            rustix::fs::chownat(parent, name, Some(uid), Some(gid), AtFlags::SYMLINK_NOFOLLOW)?;
        }
        Ok(())
    }

    /// Begins a run, with a directory of its own if it is to write to the disk. What waits to be kept is
    /// kept first, if that can be now.
    pub(crate) fn begin(self: &Arc<Self>, project: &OwnedFd, room: Room) -> io::Result<RunSpace> {
        let lock = self.lock_file()?;
        let is_outdated = replaced::is_outdated(&self.top, project);
        if self.has_waiting.swap(false, Ordering::Relaxed) || is_outdated {
            self.keep_waiting(&lock, project)?;
        }
        rustix::fs::flock(&lock, FlockOperation::LockShared)?;
        let space = match room {
            Room::Memory => None,
            Room::Disk => Some(self.new_space()?),
        };
        Ok(RunSpace { layer: Arc::clone(self), space, lock })
    }

    fn new_space(&self) -> io::Result<Space> {
        let runs = open_directory_at(&self.top, RUNS)?;
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let name = format!("{}-{number}", std::process::id());
        // A process of this number may have been killed before.
        let _ = remove_tree(&runs, name.as_ref());
        rustix::fs::mkdirat(&runs, &name, Mode::RWXU)?;
        let directory = open_directory_at(&runs, &name)?;
        rustix::fs::flock(&directory, FlockOperation::NonBlockingLockExclusive)?;
        for part in [UPPER, WORK] {
            self.make_directory(&directory, part)?;
        }
        Ok(Space { name, _locked: directory })
    }

    fn lock_file(&self) -> io::Result<OwnedFd> {
        let flags = OFlags::RDWR | OFlags::CREATE | OFlags::CLOEXEC;
        Ok(rustix::fs::openat(&self.top, LOCK, flags, Mode::RUSR | Mode::WUSR)?)
    }

    /// Removes the directories of processes that were killed.
    fn remove_dead_runs(&self) -> io::Result<()> {
        let runs = open_directory_at(&self.top, RUNS)?;
        for name in names_in(&runs)? {
            let Ok(run) = open_directory_at(&runs, &name) else { continue };
            if rustix::fs::flock(&run, FlockOperation::NonBlockingLockExclusive).is_ok() {
                remove_tree(&runs, &name)?;
            }
        }
        Ok(())
    }

    /// Merges what waits into what is kept, and forgets what the user has made anew since. While a
    /// command shows what is kept, nothing is done; the next one does it.
    fn keep_waiting(&self, lock: &OwnedFd, project: &OwnedFd) -> io::Result<()> {
        if rustix::fs::flock(lock, FlockOperation::NonBlockingLockExclusive).is_err() {
            self.has_waiting.store(true, Ordering::Relaxed);
            return Ok(());
        }
        let waiting = open_directory_at(&self.top, WAITING)?;
        let kept = open_directory_at(&self.top, KEPT)?;
        let mut names = names_in(&waiting)?;
        names.sort();
        for name in names {
            let upper = open_directory_at(&waiting, &name)?;
            merge::into(&upper, &kept, project)?;
            remove_tree(&waiting, &name)?;
        }
        replaced::forget_outdated(&self.top, &kept, project)
    }

    /// Forgets everything that was kept. Fails with `WouldBlock` while a command runs.
    pub fn clear(&self) -> io::Result<()> {
        let lock = self.lock_file()?;
        rustix::fs::flock(&lock, FlockOperation::NonBlockingLockExclusive)?;
        for name in [KEPT, WAITING] {
            remove_contents(&open_directory_at(&self.top, name)?)?;
        }
        replaced::clear(&self.top)
    }

    /// Forgets what is kept at a path, so that the project shows there again. Fails with `WouldBlock`
    /// while a command runs, which sees it.
    pub fn forget(&self, path: &Path) -> io::Result<()> {
        let lock = self.lock_file()?;
        rustix::fs::flock(&lock, FlockOperation::NonBlockingLockExclusive)?;
        entries::remove_path(&open_directory_at(&self.top, KEPT)?, path)
    }

    /// How much it holds. Looks at every file.
    pub fn usage(&self) -> io::Result<LayerUse> {
        let bytes = entries::disk_bytes(&open_directory_at(&self.top, KEPT)?)?
            + entries::disk_bytes(&open_directory_at(&self.top, WAITING)?)?;
        let changed = std::fs::metadata(self.path.join(LOCK)).and_then(|meta| meta.modified()).ok();
        Ok(LayerUse { bytes, changed: changed.filter(|_| bytes > 0) })
    }
}

impl RunSpace {
    /// The directory where the command writes, if that is on the disk.
    pub(crate) fn name(&self) -> Option<&str> {
        self.space.as_ref().map(|space| space.name.as_str())
    }

    /// Keeps these paths of what the command wrote, which are found in `upper`. Each is a whole
    /// directory, a file, or the mark of something that was removed.
    pub(crate) fn keep(
        &self,
        upper: &OwnedFd,
        paths: &[PathBuf],
        project: &OwnedFd,
    ) -> io::Result<()> {
        let layer = &self.layer;
        let waiting = open_directory_at(&layer.top, WAITING)?;
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
        let name = format!("{:020}-{}-{number}", now.as_nanos(), std::process::id());
        rustix::fs::mkdirat(&waiting, &name, Mode::RWXU)?;
        let mine = open_directory_at(&waiting, &name)?;
        replaced::note(&layer.top, upper, paths, project)?;
        for path in paths {
            merge::take(upper, &mine, path, layer.owner)?;
        }
        let merged = layer.keep_waiting(&self.lock, project);
        let _ = rustix::fs::futimens(&self.lock, &entries::NOW);
        let _ = rustix::fs::flock(&self.lock, FlockOperation::LockShared);
        merged
    }

    /// Lets others change what is kept: the command has ended and shows it no longer.
    pub(crate) fn release(&self) {
        let _ = rustix::fs::flock(&self.lock, FlockOperation::Unlock);
    }

    /// What is kept.
    pub(crate) fn kept(&self) -> io::Result<OwnedFd> {
        Ok(open_directory_at(&self.layer.top, KEPT)?)
    }
}

impl Drop for RunSpace {
    fn drop(&mut self) {
        if let Some(space) = self.space.take()
            && let Ok(runs) = open_directory_at(&self.layer.top, RUNS)
        {
            let _ = remove_tree(&runs, space.name.as_ref());
        }
    }
}
