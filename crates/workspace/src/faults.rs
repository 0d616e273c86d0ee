//! Failures on demand, for tests of everything that writes.

use std::fmt;
use std::os::fd::BorrowedFd;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use rustix::fs::fstat;
use rustix::io::Errno;

/// Called with the number and the name of each system call before it is made.
type Watcher = Box<dyn Fn(usize, &'static str) + Send + Sync>;

/// Called with the inode number of each file and directory before it is forced to the disk.
type SyncWatcher = Box<dyn Fn(u64) + Send + Sync>;

/// What shall go wrong, and when. Calls are numbered from 0.
#[doc(hidden)]
#[derive(Default)]
pub struct Faults {
    die_at: Option<usize>,
    fail_at: Option<(usize, Errno)>,
    fail_call: Option<(&'static str, Errno)>,
    without_exchange: bool,
    watcher: Option<Watcher>,
    sync_watcher: Option<SyncWatcher>,
    calls: AtomicUsize,
    dead: AtomicBool,
}

/// What happens to one call.
pub(crate) enum FaultVerdict {
    Go,
    Fail(Errno),
    /// The process ends here: this call is torn and no later one has any effect.
    Die,
}

impl Faults {
    /// The call with this number and all after it are never made, as if the process were killed.
    pub fn die_at(call: usize) -> Faults {
        Faults { die_at: Some(call), ..Faults::default() }
    }

    /// The call with this number fails with this system error.
    pub fn fail_at(call: usize, errno: i32) -> Faults {
        Faults { fail_at: Some((call, Errno::from_raw_os_error(errno))), ..Faults::default() }
    }

    /// Every call of this name fails with this system error.
    pub fn fail_every(call: &'static str, errno: i32) -> Faults {
        Faults { fail_call: Some((call, Errno::from_raw_os_error(errno))), ..Faults::default() }
    }

    /// Behaves like a file system that cannot swap two names.
    #[must_use]
    pub fn no_exchange(mut self) -> Faults {
        self.without_exchange = true;
        self
    }

    /// Runs something before each call, for instance another program's write.
    #[must_use]
    pub fn watch(
        mut self,
        watcher: impl Fn(usize, &'static str) + Send + Sync + 'static,
    ) -> Faults {
        self.watcher = Some(Box::new(watcher));
        self
    }

    /// Reports which file each `fsync` is for, just before [`Faults::watch`] is told of the call.
    #[must_use]
    pub fn watch_syncs(mut self, watcher: impl Fn(u64) + Send + Sync + 'static) -> Faults {
        self.sync_watcher = Some(Box::new(watcher));
        self
    }

    /// How many calls were made so far.
    pub fn calls(&self) -> usize {
        self.calls.load(Ordering::Relaxed)
    }

    /// Whether the simulated death has happened.
    pub fn died(&self) -> bool {
        self.dead.load(Ordering::Relaxed)
    }

    pub(crate) fn without_exchange(&self) -> bool {
        self.without_exchange
    }

    /// To be called before the `fsync` of a file is judged.
    #[allow(clippy::unnecessary_cast, reason = "the width differs between architectures")]
    pub(crate) fn tell_sync(&self, file: BorrowedFd<'_>) {
        if let (Some(watcher), Ok(stat)) = (&self.sync_watcher, fstat(file)) {
            watcher(stat.st_ino as u64);
        }
    }

    pub(crate) fn judge(&self, call: &'static str) -> FaultVerdict {
        let number = self.calls.fetch_add(1, Ordering::Relaxed);
        if let Some(watcher) = &self.watcher {
            watcher(number, call);
        }
        match self.die_at {
            Some(at) if number > at => return FaultVerdict::Fail(Errno::CANCELED),
            Some(at) if number == at => {
                self.dead.store(true, Ordering::Relaxed);
                return FaultVerdict::Die;
            }
            _ => {}
        }
        match (self.fail_at, self.fail_call) {
            (Some((at, errno)), _) if at == number => FaultVerdict::Fail(errno),
            (_, Some((name, errno))) if name == call => FaultVerdict::Fail(errno),
            _ => FaultVerdict::Go,
        }
    }
}

impl fmt::Debug for Faults {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Faults").field("calls", &self.calls()).finish_non_exhaustive()
    }
}
