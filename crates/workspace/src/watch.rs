//! Learning what other programs change, from the system's own file events.
//!
//! The kernel queues an event within the system call that causes it. So a reader that drains the queue
//! knows of every change that was complete before; there is no thread and no delay in between.
//! Not seen are writes through a memory mapping before the file is closed, writes under another
//! name of a hard-linked file, and writes by other machines to a network file system.

use std::collections::{BTreeMap, HashMap};
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::sync::{Mutex, MutexGuard, PoisonError};

use rustix::fs::inotify::{self, CreateFlags, ReadFlags, Reader, WatchFlags};
use rustix::fs::{FsWord, OFlags, fstatfs};
use rustix::io::Errno;

use crate::resolve::open_name;
use crate::{Error, RelPath, WalkEntry, Workspace};

/// What changes the content or the set of a directory's files.
const EVENTS: WatchFlags = WatchFlags::MODIFY
    .union(WatchFlags::CLOSE_WRITE)
    .union(WatchFlags::CREATE)
    .union(WatchFlags::DELETE)
    .union(WatchFlags::MOVED_FROM)
    .union(WatchFlags::MOVED_TO)
    .union(WatchFlags::ONLYDIR)
    .union(WatchFlags::EXCL_UNLINK);

/// Bytes of events read at once.
const BUFFER_BYTES: usize = 16 * 1024;

/// File systems whose files other machines can change without an event here.
const REMOTE: [FsWord; 8] = [
    0x6969,      // NFS
    0x517b,      // SMB
    0xff53_4d42, // CIFS
    0xfe53_4d42, // SMB2
    0x6573_5546, // FUSE
    0x0102_1997, // 9P
    0x00c3_6400, // Ceph
    0x5346_414f, // AFS
];

/// A queue of file events of chosen directories.
#[derive(Debug)]
pub struct Watcher {
    queue: OwnedFd,
    watches: Mutex<Watches>,
}

/// Which watch stands for which directory. Both maps say the same.
#[derive(Debug, Default)]
struct Watches {
    by_number: HashMap<i32, Watched>,
    by_path: BTreeMap<RelPath, i32>,
    /// Whether a directory came up under a second path since the last drain. It was renamed in
    /// mid-walk, or is really reachable by two paths; its events are told under the last one only.
    ambiguous: bool,
}

#[derive(Debug, Clone)]
enum Watched {
    /// A directory of the project.
    Directory(RelPath),
    /// The place of git's own exclude file for the directory at this path.
    Excludes(RelPath),
}

/// What happened since the queue was last drained.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Events {
    /// Entries that appeared, changed or went, each once, with whether one of the events was about
    /// a directory of that name.
    pub touched: BTreeMap<RelPath, bool>,
    /// Directories whose rules about what to ignore may have changed.
    pub rules: Vec<RelPath>,
    /// Whether events were lost, so that anything may have changed.
    pub lost: bool,
}

impl Watcher {
    /// A watcher that watches nothing yet; an error if this project's file system reports no
    /// events that could be relied on.
    pub fn new(workspace: &Workspace) -> Result<Watcher, Error> {
        let root = RelPath::root();
        let failed = |errno| Error::from_errno(&root, errno);
        let dir = workspace.open_dir(&root)?;
        let file_system = fstatfs(dir.as_fd()).map_err(failed)?;
        if REMOTE.contains(&file_system.f_type) {
            return Err(failed(Errno::OPNOTSUPP));
        }
        let queue = inotify::init(CreateFlags::CLOEXEC | CreateFlags::NONBLOCK).map_err(failed)?;
        Ok(Watcher { queue, watches: Mutex::default() })
    }

    /// Watches the directory at `path`; not what is beneath it.
    pub fn watch(&self, workspace: &Workspace, path: &RelPath) -> Result<(), Error> {
        let dir = workspace.open_real_dir(path);
        let watched = dir.and_then(|dir| self.watch_descriptor(dir.as_fd(), path));
        watched.map_err(|errno| Error::from_errno(path, errno))
    }

    /// Watches a directory met on a walk. Doing so when the walk comes to it misses nothing: its
    /// entries are read afterwards.
    pub fn watch_entry(&self, entry: &WalkEntry<'_>) -> Result<(), Error> {
        let path = entry.path();
        let watched = entry.descriptor().and_then(|dir| self.watch_descriptor(dir.as_fd(), &path));
        watched.map_err(|errno| Error::from_errno(&path, errno))
    }

    fn watch_descriptor(&self, dir: BorrowedFd<'_>, path: &RelPath) -> rustix::io::Result<()> {
        let number = self.add(dir)?;
        let mut watches = self.watches();
        let known = watches.by_number.insert(number, Watched::Directory(path.clone()));
        if let Some(Watched::Directory(other)) = known
            && other != *path
        {
            watches.ambiguous = true;
            // Who forgets the old name must not end the watch, which is for the new one now.
            if watches.by_path.get(&other) == Some(&number) {
                watches.by_path.remove(&other);
            }
        }
        watches.by_path.insert(path.clone(), number);
        drop(watches);
        let flags = OFlags::PATH | OFlags::DIRECTORY;
        let info = open_name(dir, ".git", flags)
            .and_then(|git| open_name(git.as_fd(), "info", flags))
            .and_then(|info| self.add(info.as_fd()));
        if let Ok(number) = info {
            self.watches().by_number.insert(number, Watched::Excludes(path.clone()));
        }
        Ok(())
    }

    /// The kernel takes a path only; the one of the descriptor cannot be led elsewhere.
    fn add(&self, dir: BorrowedFd<'_>) -> rustix::io::Result<i32> {
        inotify::add_watch(&self.queue, format!("/proc/self/fd/{}", dir.as_raw_fd()), EVENTS)
    }

    /// Stops watching `path` and everything beneath it, as when it was moved away.
    pub fn forget(&self, path: &RelPath) {
        let mut watches = self.watches();
        let beneath = watches.by_path.range(path.clone()..);
        let beneath = beneath.take_while(|(inner, _)| inner.starts_with(path));
        let gone: Vec<(RelPath, i32)> =
            beneath.map(|(inner, number)| (inner.clone(), *number)).collect();
        for (inner, number) in gone {
            watches.by_path.remove(&inner);
            watches.by_number.remove(&number);
            // It fails if the directory itself is gone, which removed the watch.
            let _ = inotify::remove_watch(&self.queue, number);
        }
    }

    /// Everything that happened since the last call. It does not wait.
    pub fn drain(&self) -> Events {
        let mut events = Events::default();
        let mut buffer = [MaybeUninit::uninit(); BUFFER_BYTES];
        let mut reader = Reader::new(&self.queue, &mut buffer);
        let mut watches = self.watches();
        loop {
            match reader.next() {
                Ok(event) => watches.take(&event, &mut events),
                Err(Errno::INTR) => {}
                Err(Errno::AGAIN) => break,
                Err(_) => {
                    events.lost = true;
                    break;
                }
            }
        }
        events.lost |= std::mem::take(&mut watches.ambiguous);
        events
    }

    /// How many directories are watched.
    pub fn len(&self) -> usize {
        self.watches().by_path.len()
    }

    /// Whether nothing is watched.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    fn watches(&self) -> MutexGuard<'_, Watches> {
        self.watches.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Watches {
    fn take(&mut self, event: &inotify::Event<'_>, events: &mut Events) {
        let flags = event.events();
        if flags.intersects(ReadFlags::QUEUE_OVERFLOW | ReadFlags::UNMOUNT) {
            events.lost = true;
        }
        if flags.contains(ReadFlags::IGNORED) {
            if let Some(Watched::Directory(path)) = self.by_number.remove(&event.wd())
                && self.by_path.get(&path) == Some(&event.wd())
            {
                self.by_path.remove(&path);
            }
            return;
        }
        let Some(name) = event.file_name() else { return };
        match self.by_number.get(&event.wd()) {
            Some(Watched::Directory(dir)) => {
                let name = name.to_bytes();
                if matches!(name, b".gitignore" | b".ignore" | b".git") {
                    events.rules.push(dir.clone());
                }
                let is_dir = flags.contains(ReadFlags::ISDIR);
                *events.touched.entry(dir.join_entry(name)).or_default() |= is_dir;
            }
            Some(Watched::Excludes(dir)) => events.rules.push(dir.clone()),
            None => {}
        }
    }
}
