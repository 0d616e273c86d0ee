//! The private layer of a project: what its commands wrote to ignored paths.
//!
//! Builds stay incremental for an agent because the next command finds what the last one built, while
//! the user's own build directories are never written. The layer is a directory outside the project:
//!
//! ```text
//! kept/             lies over the project in every copy, marks for removed names included
//! runs/N/upper      what one command writes
//! runs/N/work       the kernel's own room for that
//! runs/N            or what is just being moved to where it waits
//! waiting/N         what is to be kept as soon as no copy shows `kept`
//! removed/N         what is being removed
//! replaced          directories of the project that `kept` replaces as a whole
//! lock              shared by commands that use `kept`, exclusive for changes to it
//! ```
//!
//! Only confined commands without network ever see it.

mod entries;
mod fitness;
mod headroom;
mod merge;
mod removal;
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
use entries::{names_in, open_directory_at};
use removal::Removal;

pub(crate) use entries::{is_opaque, is_whiteout};
pub(crate) use headroom::Headroom;
pub use upkeep::{LayerLimits, remove_other_layers, tidy_layers};

/// What lies over the project.
pub(crate) const KEPT: &str = "kept";
/// A directory for each command that runs, with these two in it.
pub(crate) const RUNS: &str = "runs";
pub(crate) const UPPER: &str = "upper";
pub(crate) const WORK: &str = "work";
const WAITING: &str = "waiting";
const REMOVED: &str = "removed";
const LOCK: &str = "lock";

/// The permissions of our own directories.
const PRIVATE: u32 = 0o700;
/// Those of a directory that commands see as the project's.
const SHOWN: u32 = 0o755;

const NO_ROOM: &str = "the disk with the private layer has no space for what the command wrote";

/// Makes the names of this process's directories unique.
static NEXT: AtomicU64 = AtomicU64::new(0);

/// A private layer. May be used by many threads and processes at once.
#[derive(Debug)]
pub struct PrivateLayer {
    top: OwnedFd,
    removal: Removal,
    path: PathBuf,
    owner: Option<(Uid, Gid)>,
    /// Something may wait to be kept.
    has_waiting: AtomicBool,
}

/// Where a command writes what it changes. Memory is quick and has a limit; the disk takes what a
/// build writes, and costs some milliseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum WriteSpace {
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

/// A directory that goes with this process, and is removed by the next if this one is killed.
#[derive(Debug)]
struct OwnDirectory {
    name: String,
    /// Holds the lock.
    directory: OwnedFd,
}

/// The directory of one run.
#[derive(Debug)]
struct Space {
    own: OwnDirectory,
    upper: OwnedFd,
    began: Headroom,
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
    /// and used for nothing else.
    pub fn open(path: &Path) -> io::Result<PrivateLayer> {
        PrivateLayer::open_for(path, None)
    }

    /// Opens the layer in this directory, if there is one.
    pub fn find(path: &Path) -> io::Result<Option<PrivateLayer>> {
        if path.exists() { PrivateLayer::open(path).map(Some) } else { Ok(None) }
    }

    pub(crate) fn of(path: &Path, identity: Identity) -> io::Result<PrivateLayer> {
        let owner = (Uid::from_raw(identity.uid), Gid::from_raw(identity.gid));
        PrivateLayer::open_for(path, identity.switch.then_some(owner))
    }

    fn open_for(path: &Path, owner: Option<(Uid, Gid)>) -> io::Result<PrivateLayer> {
        use std::os::unix::fs::DirBuilderExt as _;
        std::fs::DirBuilder::new().recursive(true).mode(0o700).create(path)?;
        let top = open_directory_at(rustix::fs::CWD, path)?;
        for name in [KEPT, RUNS, WAITING, REMOVED] {
            make_directory(&top, name, PRIVATE, owner)?;
        }
        let removal = Removal::new(open_directory_at(&top, REMOVED)?);
        let (path, has_waiting) = (path.to_owned(), AtomicBool::new(true));
        let layer = PrivateLayer { top, removal, path, owner, has_waiting };
        // What cannot be removed now does no harm.
        let _ = layer.remove_dead_runs().and_then(|()| layer.removal.finish());
        Ok(layer)
    }

    /// The directory it lies in.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Begins a run, with a directory of its own if it is to write to the disk. What waits to be
    /// kept is kept first, if that can be now.
    pub(crate) fn begin(
        self: &Arc<Self>,
        project: &OwnedFd,
        room: WriteSpace,
    ) -> io::Result<RunSpace> {
        let lock = self.lock_file()?;
        let is_outdated = replaced::is_outdated(&self.top, project);
        if self.has_waiting.swap(false, Ordering::Relaxed) || is_outdated {
            // That changes of another run cannot be kept is not a failure of this one.
            let _ = self.keep_waiting(&lock, project);
        }
        rustix::fs::flock(&lock, FlockOperation::LockShared)?;
        let space = match room {
            WriteSpace::Disk if headroom::has_room_for(&self.top, 0) => Some(self.new_space()?),
            WriteSpace::Disk | WriteSpace::Memory => None,
        };
        Ok(RunSpace { layer: Arc::clone(self), space, lock })
    }

    fn new_space(&self) -> io::Result<Space> {
        let own = self.new_directory()?;
        for part in [UPPER, WORK] {
            make_directory(&own.directory, part, SHOWN, self.owner)?;
        }
        let upper = open_directory_at(&own.directory, UPPER)?;
        Ok(Space { own, began: Headroom::of(&upper), upper })
    }

    /// A directory among the runs. The caller shares the lock of the layer.
    fn new_directory(&self) -> io::Result<OwnDirectory> {
        let runs = open_directory_at(&self.top, RUNS)?;
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let name = format!("{}-{number}", std::process::id());
        // A process of this number may have been killed before.
        let _ = self.removal.remove(&runs, name.as_ref());
        rustix::fs::mkdirat(&runs, &name, Mode::RWXU)?;
        let directory = open_directory_at(&runs, &name)?;
        rustix::fs::flock(&directory, FlockOperation::NonBlockingLockExclusive)?;
        Ok(OwnDirectory { name, directory })
    }

    fn lock_file(&self) -> io::Result<OwnedFd> {
        let flags = OFlags::RDWR | OFlags::CREATE | OFlags::CLOEXEC;
        Ok(rustix::fs::openat(&self.top, LOCK, flags, Mode::RUSR | Mode::WUSR)?)
    }

    /// Removes the directories of processes that were killed, if no command runs: one that begins may
    /// have made a directory and not locked it yet.
    fn remove_dead_runs(&self) -> io::Result<()> {
        let lock = self.lock_file()?;
        rustix::fs::flock(&lock, FlockOperation::NonBlockingLockExclusive)?;
        let runs = open_directory_at(&self.top, RUNS)?;
        for name in names_in(&runs)? {
            let Ok(run) = open_directory_at(&runs, &name) else { continue };
            if rustix::fs::flock(&run, FlockOperation::NonBlockingLockExclusive).is_ok() {
                self.removal.remove(&runs, &name)?;
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
        let mut first_error = Ok(());
        for name in names {
            let merged = open_directory_at(&waiting, &name)
                .map_err(io::Error::from)
                .and_then(|upper| merge::into(&upper, &kept, project, &self.removal));
            let removed = self.removal.remove(&waiting, &name);
            first_error = first_error.and(merged).and(removed);
        }
        first_error.and(replaced::forget_outdated(&self.top, &kept, project, &self.removal))
    }

    /// Forgets everything that was kept. Fails with `WouldBlock` while a command runs.
    pub fn clear(&self) -> io::Result<()> {
        let lock = self.lock_file()?;
        rustix::fs::flock(&lock, FlockOperation::NonBlockingLockExclusive)?;
        for name in [KEPT, WAITING] {
            self.removal.remove_contents(&open_directory_at(&self.top, name)?)?;
        }
        replaced::clear(&self.top)
    }

    /// Forgets what is kept at a path, so that the project shows there again. Fails with `WouldBlock`
    /// while a command runs, which sees it.
    pub fn forget(&self, path: &Path) -> io::Result<()> {
        let lock = self.lock_file()?;
        rustix::fs::flock(&lock, FlockOperation::NonBlockingLockExclusive)?;
        self.forget_now(path)
    }

    fn forget_now(&self, path: &Path) -> io::Result<()> {
        let kept = open_directory_at(&self.top, KEPT)?;
        match (entries::parent_of(&kept, path)?, path.file_name()) {
            (Some(parent), Some(name)) => self.removal.remove(&parent, name),
            _ => Ok(()),
        }
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
        self.space.as_ref().map(|space| space.own.name.as_str())
    }

    /// Whether the command has used up the room that it has on the disk.
    pub(crate) fn is_used_up(&self) -> bool {
        self.space.as_ref().is_some_and(|space| space.began.is_used_up(&space.upper))
    }

    /// Keeps these paths of what the command wrote, which are found in `upper`. Each is a whole
    /// directory, a file, or the mark of something that was removed. All of them are kept or, if it
    /// fails or this process is killed, none.
    pub(crate) fn keep(
        &self,
        upper: &OwnedFd,
        paths: &[PathBuf],
        project: &OwnedFd,
    ) -> io::Result<()> {
        let layer = &self.layer;
        // It may have been released while the user was asked.
        rustix::fs::flock(&self.lock, FlockOperation::LockShared)?;
        // Where the command saw it, it lies on another mount, and could only be copied.
        let on_disk =
            self.space.as_ref().map(|space| &space.upper).filter(|own| is_same(own, upper));
        let upper = on_disk.unwrap_or(upper);
        replaced::note(&layer.top, upper, paths, project)?;
        let mut bytes = 0_u64;
        for path in paths {
            bytes = bytes.saturating_add(fitness::make_fit(upper, path)?);
        }
        if on_disk.is_none() && !headroom::has_room_for(&layer.top, bytes) {
            return Err(io::Error::new(io::ErrorKind::StorageFull, NO_ROOM));
        }
        let runs = open_directory_at(&layer.top, RUNS)?;
        let taken = layer.new_directory()?;
        let moved = self.take(upper, paths, &taken, &runs);
        if moved.is_err() {
            let _ = layer.removal.remove(&runs, taken.name.as_ref());
        }
        moved?;
        let merged = layer.keep_waiting(&self.lock, project);
        let _ = rustix::fs::futimens(&self.lock, &entries::NOW);
        let _ = rustix::fs::flock(&self.lock, FlockOperation::LockShared);
        merged
    }

    /// Moves what is to be kept aside and then, in one step, to what waits.
    fn take(
        &self,
        upper: &OwnedFd,
        paths: &[PathBuf],
        taken: &OwnDirectory,
        runs: &OwnedFd,
    ) -> io::Result<()> {
        for path in paths {
            merge::take(upper, &taken.directory, path, self.layer.owner)?;
        }
        let waiting = open_directory_at(&self.layer.top, WAITING)?;
        let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
        let name = format!("{:020}-{}", now.as_nanos(), taken.name);
        Ok(rustix::fs::renameat(runs, &taken.name, &waiting, &name)?)
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
            let _ = self.layer.removal.remove(&runs, space.own.name.as_ref());
        }
    }
}

fn is_same(one: &OwnedFd, other: &OwnedFd) -> bool {
    let of = |fd| rustix::fs::fstat(fd).map(|stat| (stat.st_dev, stat.st_ino));
    of(one).is_ok_and(|one| of(other).is_ok_and(|other| one == other))
}

/// Makes a directory that belongs to the commands' user, or finds it.
fn make_directory(
    parent: &OwnedFd,
    name: &str,
    mode: u32,
    owner: Option<(Uid, Gid)>,
) -> io::Result<()> {
    match rustix::fs::mkdirat(parent, name, Mode::from_raw_mode(mode)) {
        Ok(()) => {}
        Err(Errno::EXIST) => return Ok(()),
        Err(errno) => return Err(errno.into()),
    }
    if let Some((uid, gid)) = owner {
        rustix::fs::chownat(parent, name, Some(uid), Some(gid), AtFlags::SYMLINK_NOFOLLOW)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use testkit::Fixture;

    use super::*;

    #[test]
    fn whoever_removes_dead_runs_leaves_those_that_begin_alone() {
        let project = Fixture::new("");
        let path = project.root().with_file_name("layer");
        let layer = Arc::new(PrivateLayer::open(&path).expect("a layer"));
        let root = open_directory_at(rustix::fs::CWD, project.root()).expect("the project");
        let is_over = AtomicBool::new(false);
        std::thread::scope(|scope| {
            scope.spawn(|| {
                while !is_over.load(Ordering::Relaxed) {
                    PrivateLayer::open(&path).expect("a layer");
                }
            });
            let begun: Vec<_> =
                (0..1_000).map(|_| layer.begin(&root, WriteSpace::Disk).map(drop)).collect();
            is_over.store(true, Ordering::Relaxed);
            let failed: Vec<_> = begun.into_iter().filter_map(Result::err).collect();
            assert!(failed.is_empty(), "{} times: {:?}", failed.len(), failed[0]);
        });
    }
}
