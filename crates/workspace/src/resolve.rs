//! Turning a path into a descriptor without ever leaving the root.
//!
//! Both ways answer with the same error numbers: `EXDEV` for an attempt to leave, `ELOOP` for too
//! many links, and the ordinary ones otherwise.

use std::ffi::OsStr;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use rustix::fs::{FileType, Mode, OFlags, ResolveFlags, fstat, openat, openat2, readlinkat};
use rustix::io::{Errno, Result};

/// The kernel gives up with `EAGAIN` when a rename runs at the same moment; each further try is
/// independent, so this many in a row fail only under deliberate attack.
const MAX_TRIES: usize = 128;

/// The kernel's own limit on links in one path.
pub(crate) const MAX_LINKS: usize = 40;

const BENEATH: ResolveFlags = ResolveFlags::BENEATH.union(ResolveFlags::NO_MAGICLINKS);

/// Also refuses every link, with `ELOOP`.
const WITHOUT_LINKS: ResolveFlags = BENEATH.union(ResolveFlags::NO_SYMLINKS);

/// How paths are resolved beneath the root.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum PathResolver {
    /// By the kernel in one step.
    OpenAt2,
    /// Component by component, for kernels or outer filters without `openat2`.
    Walk,
}

impl PathResolver {
    /// The best way that works here. An outer filter may answer with any refusal, so whatever
    /// fails on the root itself counts as absent.
    pub(crate) fn probe(root: BorrowedFd<'_>) -> PathResolver {
        match open_beneath(root, Path::new("."), OFlags::PATH | OFlags::DIRECTORY) {
            Ok(_) => PathResolver::OpenAt2,
            Err(_) => PathResolver::Walk,
        }
    }

    pub(crate) fn name(self) -> &'static str {
        match self {
            PathResolver::OpenAt2 => "openat2",
            PathResolver::Walk => "component walk",
        }
    }

    /// Opens `path` beneath `root`. With `O_NOFOLLOW` the last component is not followed;
    /// links before it always are, as long as they stay beneath.
    pub(crate) fn open(self, root: BorrowedFd<'_>, path: &Path, flags: OFlags) -> Result<OwnedFd> {
        match self {
            PathResolver::OpenAt2 => open_beneath(root, path, flags),
            PathResolver::Walk => retry(|| Descent::new(root, path)?.open(flags)),
        }
    }

    /// Opens `path` beneath `root`, which must not go through any link: `ELOOP` if it does.
    pub(crate) fn open_without_links(
        self,
        root: BorrowedFd<'_>,
        path: &Path,
        flags: OFlags,
    ) -> Result<OwnedFd> {
        match self {
            PathResolver::OpenAt2 => {
                let flags = flags | OFlags::CLOEXEC;
                retry(|| openat2(root, path, flags, Mode::empty(), WITHOUT_LINKS))
            }
            PathResolver::Walk => walk_without_links(root, path, flags),
        }
    }
}

fn open_beneath(root: BorrowedFd<'_>, path: &Path, flags: OFlags) -> Result<OwnedFd> {
    retry(|| openat2(root, path, flags | OFlags::CLOEXEC, Mode::empty(), BENEATH))
}

/// Opens one name in a directory, never following a link.
pub(crate) fn open_name<P: rustix::path::Arg + Copy>(
    dir: BorrowedFd<'_>,
    name: P,
    flags: OFlags,
) -> Result<OwnedFd> {
    let flags = flags | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    retry(|| openat(dir, name, flags, Mode::empty()))
}

fn walk_without_links(root: BorrowedFd<'_>, path: &Path, flags: OFlags) -> Result<OwnedFd> {
    let mut entered: Option<OwnedFd> = None;
    let mut components = path.components().map(|component| component.as_os_str()).peekable();
    while let Some(name) = components.next() {
        let dir = entered.as_ref().map_or(root, AsFd::as_fd);
        if components.peek().is_none() {
            return open_name(dir, name, flags);
        }
        let next = open_name(dir, name, OFlags::PATH)?;
        match FileType::from_raw_mode(fstat(&next)?.st_mode) {
            FileType::Directory => entered = Some(next),
            FileType::Symlink => return Err(Errno::LOOP),
            _ => return Err(Errno::NOTDIR),
        }
    }
    openat(root, ".", flags | OFlags::CLOEXEC, Mode::empty())
}

fn retry(mut attempt: impl FnMut() -> Result<OwnedFd>) -> Result<OwnedFd> {
    let mut tries = 0;
    loop {
        match attempt() {
            Err(Errno::AGAIN | Errno::INTR) if tries < MAX_TRIES => tries += 1,
            outcome => return outcome,
        }
    }
}

/// One resolution by hand. Links are expanded into the components still to go; `..` returns to
/// the descriptor we came from, never to what the file system calls the parent by then.
struct Descent<'root> {
    root: BorrowedFd<'root>,
    /// Directories entered so far, outermost first, without the root.
    entered: Vec<OwnedFd>,
    /// Components still to go, the next one last.
    pending: Vec<Vec<u8>>,
    links: usize,
}

impl<'root> Descent<'root> {
    fn new(root: BorrowedFd<'root>, path: &Path) -> Result<Descent<'root>> {
        let mut descent = Descent { root, entered: Vec::new(), pending: Vec::new(), links: 0 };
        descent.expand(path.as_os_str().as_bytes())?;
        Ok(descent)
    }

    fn expand(&mut self, target: &[u8]) -> Result<()> {
        if target.starts_with(b"/") {
            return Err(Errno::XDEV);
        }
        let components = target.split(|&b| b == b'/').rev();
        let components = components.filter(|name| !matches!(*name, b"" | b"."));
        self.pending.extend(components.map(<[u8]>::to_vec));
        Ok(())
    }

    fn current(&self) -> BorrowedFd<'_> {
        self.entered.last().map_or(self.root, AsFd::as_fd)
    }

    fn open(mut self, flags: OFlags) -> Result<OwnedFd> {
        while let Some(name) = self.pending.pop() {
            if name == b".." {
                self.entered.pop().ok_or(Errno::XDEV)?;
                continue;
            }
            let name = OsStr::from_bytes(&name);
            let last = self.pending.is_empty();
            if last && flags.contains(OFlags::NOFOLLOW) {
                return open_name(self.current(), name, flags);
            }
            let found = open_name(self.current(), name, OFlags::PATH)?;
            match FileType::from_raw_mode(fstat(&found)?.st_mode) {
                FileType::Symlink => self.follow(&found)?,
                _ if last => return self.open_last(name, flags),
                FileType::Directory => self.entered.push(found),
                _ => return Err(Errno::NOTDIR),
            }
        }
        // The path ended in the root, or in a link to a directory on the way.
        openat(self.current(), ".", flags | OFlags::CLOEXEC, Mode::empty())
    }

    fn follow(&mut self, link: &OwnedFd) -> Result<()> {
        self.links += 1;
        if self.links > MAX_LINKS {
            return Err(Errno::LOOP);
        }
        let target = readlinkat(link, "", Vec::new())?;
        self.expand(target.as_bytes())
    }

    /// The name was not a link a moment ago. If it has become one, the whole resolution starts again.
    fn open_last(&self, name: &OsStr, flags: OFlags) -> Result<OwnedFd> {
        match open_name(self.current(), name, flags) {
            Err(Errno::LOOP) => Err(Errno::AGAIN),
            outcome => outcome,
        }
    }
}
