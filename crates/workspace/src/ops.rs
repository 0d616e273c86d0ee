//! The system calls that change files, in one place, so that tests can make any one of them fail
//! or be the last one that a process ever makes.
//!
//! Everything that applying, journalling, undoing and recovering does to a disk passes through
//! [`Ops`]. Names are single components relative to a directory descriptor; nothing here resolves
//! a path.

use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use rustix::fs::{self, AtFlags, Mode, OFlags, RenameFlags, XattrFlags};
use rustix::io::{Errno, Result};

use crate::faults::{FaultVerdict, Faults};
use crate::metadata::Modified;
use crate::read::READ_FLAGS;
use crate::sync_thread::SyncThread;

/// More threads than this gain nothing: the file system commits what has gathered in one go.
const SYNC_THREADS: usize = 8;

/// Every system call on the user's files goes through this. Cloning shares the faults, the clock
/// and the thread.
#[derive(Clone, Debug, Default)]
pub(crate) struct Ops {
    faults: Option<Arc<Faults>>,
    sync_nanos: Arc<AtomicU64>,
    sync_thread: Arc<SyncThread>,
}

/// Files that are to be forced to the disk; faults were dealt out already, so that this needs no
/// place in the order of calls.
#[must_use]
pub(crate) struct ReadyToSync<'s> {
    ops: &'s Ops,
    files: &'s [BorrowedFd<'s>],
}

impl ReadyToSync<'_> {
    /// Waits until all are on the disk.
    pub(crate) fn wait(self) -> Result<()> {
        let start = Instant::now();
        let outcome = self.ops.sync_really(self.files);
        self.ops.count_sync_time(start);
        outcome
    }

    /// Waits on a second thread. The time is not counted, because the first one waits meanwhile,
    /// and the same time would count twice.
    pub(crate) fn wait_beside(self) -> Result<()> {
        self.ops.sync_really(self.files)
    }
}

impl Ops {
    pub(crate) fn with_faults(faults: Arc<Faults>) -> Ops {
        Ops { faults: Some(faults), ..Ops::default() }
    }

    /// Time spent waiting for the disk to confirm.
    pub(crate) fn sync_time(&self) -> Duration {
        Duration::from_nanos(self.sync_nanos.load(Ordering::Relaxed))
    }

    fn gate(&self, call: &'static str) -> Result<()> {
        match self.faults.as_ref().map_or(FaultVerdict::Go, |faults| faults.judge(call)) {
            FaultVerdict::Go => Ok(()),
            FaultVerdict::Fail(errno) => Err(errno),
            FaultVerdict::Die => Err(Errno::CANCELED),
        }
    }

    /// Opens one name for reading, never following a link.
    pub(crate) fn open_read(&self, dir: BorrowedFd<'_>, name: &[u8]) -> Result<OwnedFd> {
        self.gate("open")?;
        crate::resolve::open_name(dir, name, READ_FLAGS)
    }

    /// Makes a file that did not exist, open for reading and writing.
    pub(crate) fn create(&self, dir: BorrowedFd<'_>, name: &[u8], mode: u32) -> Result<OwnedFd> {
        self.gate("create")?;
        let flags =
            OFlags::RDWR | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let file = fs::openat(dir, name, flags, Mode::from_raw_mode(mode))?;
        if let Some((uid, gid)) = owner_to_be(dir) {
            let _ = fs::fchown(&file, Some(uid), Some(gid));
        }
        Ok(file)
    }

    /// Writes all bytes at the current position. A simulated death leaves half of them.
    pub(crate) fn write(&self, file: impl AsFd, bytes: &[u8]) -> Result<()> {
        self.write_fully("write", bytes, |rest, _| rustix::io::write(&file, rest))
    }

    /// Writes all bytes at an offset. A simulated death leaves half of them.
    pub(crate) fn write_at(&self, file: impl AsFd, bytes: &[u8], offset: u64) -> Result<()> {
        let put = |rest: &[u8], done| rustix::io::pwrite(&file, rest, offset + done);
        self.write_fully("pwrite", bytes, put)
    }

    /// Has `put` write what is left after so many bytes until all are written.
    fn write_fully(
        &self,
        call: &'static str,
        bytes: &[u8],
        put: impl Fn(&[u8], u64) -> Result<usize>,
    ) -> Result<()> {
        let verdict = self.faults.as_ref().map_or(FaultVerdict::Go, |faults| faults.judge(call));
        let (bytes, outcome) = match verdict {
            FaultVerdict::Go => (bytes, Ok(())),
            FaultVerdict::Fail(errno) => return Err(errno),
            FaultVerdict::Die => (&bytes[..bytes.len() / 2], Err(Errno::CANCELED)),
        };
        let mut done = 0;
        while done < bytes.len() {
            match put(&bytes[done..], done as u64) {
                Ok(0) => return Err(Errno::NOSPC),
                Ok(written) => done += written,
                Err(Errno::INTR) => {}
                Err(errno) => return Err(errno),
            }
        }
        outcome
    }

    pub(crate) fn truncate(&self, file: impl AsFd, size: u64) -> Result<()> {
        self.gate("ftruncate")?;
        fs::ftruncate(file, size)
    }

    /// Waits until the file or directory is on the disk. A failure is final: the system may have
    /// dropped the bytes, and a second call would say that all is well.
    pub(crate) fn sync(&self, file: impl AsFd) -> Result<()> {
        self.sync_all(&[file.as_fd()])
    }

    /// Waits for several files at once, which costs little more than waiting for one.
    pub(crate) fn sync_all(&self, files: &[BorrowedFd<'_>]) -> Result<()> {
        self.ready_to_sync(files)?.wait()
    }

    /// For waiting while another thread makes calls of its own: faults are dealt out here, in
    /// order, so that tests are repeatable.
    pub(crate) fn ready_to_sync<'s>(
        &'s self,
        files: &'s [BorrowedFd<'s>],
    ) -> Result<ReadyToSync<'s>> {
        for file in files {
            self.faults.iter().for_each(|faults| faults.tell_sync(*file));
            self.gate("fsync")?;
        }
        Ok(ReadyToSync { ops: self, files })
    }

    /// Waits for several files and does something else meanwhile. The time is counted as waiting
    /// only as far as the work was done sooner.
    pub(crate) fn sync_all_meanwhile(
        &self,
        files: &[BorrowedFd<'_>],
        work: &mut dyn FnMut(),
    ) -> Result<()> {
        if let Err(errno) = self.ready_to_sync(files) {
            work();
            return Err(errno);
        }
        if let (None, [only]) = (&self.faults, files) {
            let underway = self.sync_thread.begin(*only);
            work();
            let start = Instant::now();
            let outcome = underway.finish();
            self.count_sync_time(start);
            return outcome;
        }
        std::thread::scope(|scope| {
            let sync = scope.spawn(|| self.sync_really(files));
            work();
            let start = Instant::now();
            let outcome = sync.join().unwrap_or(Err(Errno::IO));
            self.count_sync_time(start);
            outcome
        })
    }

    fn sync_really(&self, files: &[BorrowedFd<'_>]) -> Result<()> {
        let (first, rest) = match (&self.faults, files) {
            // A simulated death is not a power failure, so tests need not wait for the disk.
            (Some(_), _) | (None, []) => return Ok(()),
            (None, [only]) => return fs::fsync(only),
            (None, [first, second]) => {
                let underway = self.sync_thread.begin(*second);
                let outcome = fs::fsync(first);
                return outcome.and(underway.finish());
            }
            (None, [first, rest @ ..]) => (first, rest),
        };
        let share = rest.len().div_ceil(SYNC_THREADS);
        std::thread::scope(|scope| {
            let sync_each = |files: &[BorrowedFd<'_>]| files.iter().try_for_each(fs::fsync);
            let others: Vec<_> =
                rest.chunks(share).map(|files| scope.spawn(move || sync_each(files))).collect();
            let outcome = fs::fsync(first);
            let joined = others.into_iter().map(|other| other.join().unwrap_or(Err(Errno::IO)));
            joined.fold(outcome, Result::and)
        })
    }

    fn count_sync_time(&self, start: Instant) {
        let spent = u64::try_from(start.elapsed().as_nanos()).unwrap_or(u64::MAX);
        self.sync_nanos.fetch_add(spent, Ordering::Relaxed);
    }

    /// Renames only if nothing has the new name.
    pub(crate) fn rename_new(&self, from: Name<'_>, to: Name<'_>) -> Result<()> {
        self.gate("rename")?;
        match fs::renameat_with(from.dir, from.name, to.dir, to.name, RenameFlags::NOREPLACE) {
            // A file system without the flag: a hard link never replaces either. Directories
            // cannot be linked, so for them the name is looked at first, which leaves a moment in
            // which an empty directory that appears could be replaced.
            Err(Errno::INVAL | Errno::NOSYS) => rename_new_by_link(from, to),
            outcome => outcome,
        }
    }

    /// Renames and replaces what has the new name.
    pub(crate) fn rename_over(&self, from: Name<'_>, to: Name<'_>) -> Result<()> {
        self.gate("rename")?;
        fs::renameat(from.dir, from.name, to.dir, to.name)
    }

    /// Swaps two names in one step. `EINVAL` where the file system cannot.
    pub(crate) fn exchange(&self, a: Name<'_>, b: Name<'_>) -> Result<()> {
        if self.faults.as_ref().is_some_and(|faults| faults.without_exchange()) {
            return Err(Errno::INVAL);
        }
        self.gate("exchange")?;
        fs::renameat_with(a.dir, a.name, b.dir, b.name, RenameFlags::EXCHANGE)
    }

    pub(crate) fn unlink(&self, at: Name<'_>) -> Result<()> {
        self.gate("unlink")?;
        fs::unlinkat(at.dir, at.name, AtFlags::empty())
    }

    /// Closes files that have no name any more and does not wait until their space is given back;
    /// [`Ops::wait_for_space`] does.
    pub(crate) fn let_go(&self, files: Vec<OwnedFd>) {
        // Tests with faults are to be repeatable.
        if self.faults.is_none() && !files.is_empty() {
            self.sync_thread.close(files);
        }
    }

    /// Waits until the space of removed files is given back, so that a disk is not full because of
    /// what is gone.
    pub(crate) fn wait_for_space(&self) {
        self.sync_thread.finish_closing();
    }

    pub(crate) fn make_dir(&self, at: Name<'_>, mode: u32) -> Result<()> {
        self.gate("mkdir")?;
        fs::mkdirat(at.dir, at.name, Mode::from_raw_mode(mode))?;
        give_away(at);
        Ok(())
    }

    pub(crate) fn remove_dir(&self, at: Name<'_>) -> Result<()> {
        self.gate("rmdir")?;
        fs::unlinkat(at.dir, at.name, AtFlags::REMOVEDIR)
    }

    pub(crate) fn symlink(&self, target: &[u8], at: Name<'_>) -> Result<()> {
        self.gate("symlink")?;
        fs::symlinkat(target, at.dir, at.name)?;
        give_away(at);
        Ok(())
    }

    pub(crate) fn set_mode(&self, file: impl AsFd, mode: u32) -> Result<()> {
        self.gate("fchmod")?;
        fs::fchmod(file, Mode::from_raw_mode(mode))
    }

    pub(crate) fn set_owner(&self, file: impl AsFd, uid: u32, gid: u32) -> Result<()> {
        self.gate("fchown")?;
        let (uid, gid) = (fs::Uid::from_raw(uid), fs::Gid::from_raw(gid));
        fs::fchown(file, Some(uid), Some(gid))
    }

    /// Sets the time of the last modification and leaves that of the last access.
    pub(crate) fn set_modified(&self, file: impl AsFd, modified: Modified) -> Result<()> {
        self.gate("futimens")?;
        let last_access = fs::Timespec { tv_sec: 0, tv_nsec: fs::UTIME_OMIT };
        let last_modification =
            fs::Timespec { tv_sec: modified.seconds, tv_nsec: modified.nanoseconds.into() };
        fs::futimens(file, &fs::Timestamps { last_access, last_modification })
    }

    pub(crate) fn set_attribute(&self, file: impl AsFd, name: &[u8], value: &[u8]) -> Result<()> {
        self.gate("fsetxattr")?;
        fs::fsetxattr(file, name, value, XattrFlags::empty())
    }

    pub(crate) fn remove_attribute(&self, file: impl AsFd, name: &[u8]) -> Result<()> {
        self.gate("fremovexattr")?;
        fs::fremovexattr(file, name)
    }
}

/// One name in one directory.
#[derive(Clone, Copy)]
pub(crate) struct Name<'a> {
    pub(crate) dir: BorrowedFd<'a>,
    pub(crate) name: &'a [u8],
}

/// The owner of a directory, if we are root and it is not: what root makes in another user's
/// project belongs to that user, or they, and every confined command, could not change it. Where
/// the system does not allow that, it stays root's.
fn owner_to_be(dir: BorrowedFd<'_>) -> Option<(fs::Uid, fs::Gid)> {
    if !rustix::process::geteuid().is_root() {
        return None;
    }
    let stat = fs::fstat(dir).ok().filter(|stat| stat.st_uid != 0)?;
    Some((fs::Uid::from_raw(stat.st_uid), fs::Gid::from_raw(stat.st_gid)))
}

fn give_away(at: Name<'_>) {
    if let Some((uid, gid)) = owner_to_be(at.dir) {
        let flags = AtFlags::SYMLINK_NOFOLLOW;
        let _ = fs::chownat(at.dir, at.name, Some(uid), Some(gid), flags);
    }
}

fn rename_new_by_link(from: Name<'_>, to: Name<'_>) -> Result<()> {
    match fs::linkat(from.dir, from.name, to.dir, to.name, AtFlags::empty()) {
        Ok(()) => fs::unlinkat(from.dir, from.name, AtFlags::empty()),
        Err(Errno::PERM | Errno::ISDIR | Errno::OPNOTSUPP) => {
            match fs::statat(to.dir, to.name, AtFlags::SYMLINK_NOFOLLOW) {
                Err(Errno::NOENT) => fs::renameat(from.dir, from.name, to.dir, to.name),
                Ok(_) => Err(Errno::EXIST),
                Err(errno) => Err(errno),
            }
        }
        Err(errno) => Err(errno),
    }
}
