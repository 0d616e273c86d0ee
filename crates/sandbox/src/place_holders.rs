//! Holding the places of protected names that do not exist while commands work on the project
//! itself.
//!
//! Something has to be there for a mount to lie on. It is an empty directory or file without any
//! permission and with a time stamp of zero, by which it is known as ours, and it goes when the last
//! command has ended, or, had we been killed, when the next one has.

use std::os::fd::{AsFd, OwnedFd};
use std::path::{Component, Path};

use rustix::fs::{AtFlags, FileType, FlockOperation, Mode, OFlags, Stat, Timespec, Timestamps};
use rustix::io::Errno;

use crate::error::SandboxError;
use crate::profile::{Protected, StandIn};

/// Places held for one command. Dropping it lets them go.
#[derive(Debug)]
pub(crate) struct PlaceHolders<'a> {
    /// An open description of the root that carries our lock.
    root: OwnedFd,
    protected: &'a [Protected],
}

impl<'a> PlaceHolders<'a> {
    /// Makes what is missing. Refuses links, which could not be protected.
    pub(crate) fn hold(
        root: &OwnedFd,
        protected: &'a [Protected],
    ) -> Result<PlaceHolders<'a>, SandboxError> {
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let hold = || -> Result<OwnedFd, Errno> {
            let own = rustix::fs::openat(root, ".", flags, Mode::empty())?;
            rustix::fs::flock(&own, FlockOperation::LockShared)?;
            Ok(own)
        };
        let root = hold().map_err(|errno| crate::error::io("locking the project")(errno.into()))?;
        let places = PlaceHolders { root, protected };
        for one in protected {
            places.hold_one(one)?;
        }
        Ok(places)
    }

    fn hold_one(&self, one: &Protected) -> Result<(), SandboxError> {
        let refuse = |why| SandboxError::Protected { path: one.path.clone(), why };
        if passes_link(&self.root, &one.path) {
            return Err(refuse("it is, or lies behind, a symbolic link"));
        }
        let made = match one.stand_in {
            StandIn::Directory => rustix::fs::mkdirat(&self.root, &one.path, Mode::empty()),
            StandIn::File => {
                let flags = OFlags::CREATE | OFlags::EXCL | OFlags::WRONLY | OFlags::CLOEXEC;
                rustix::fs::openat(&self.root, &one.path, flags, Mode::empty()).map(drop)
            }
        };
        match made {
            Ok(()) => {
                let marked = rustix::fs::utimensat(&self.root, &one.path, &MARK, NO_FOLLOW);
                marked.map_err(|_| refuse("its place cannot be marked"))
            }
            // It exists, or the directory above does not.
            Err(Errno::EXIST | Errno::NOENT | Errno::NOTDIR) => Ok(()),
            Err(_) => Err(refuse("its place cannot be held in the project directory")),
        }
    }
}

impl Drop for PlaceHolders<'_> {
    fn drop(&mut self) {
        // While others hold the lock, their mounts lie on these places.
        let alone = rustix::fs::flock(&self.root, FlockOperation::NonBlockingLockExclusive).is_ok();
        for one in self.protected.iter().filter(|_| alone) {
            if is_ours(&self.root, &one.path) {
                let flags = match one.stand_in {
                    StandIn::Directory => AtFlags::REMOVEDIR,
                    StandIn::File => AtFlags::empty(),
                };
                let _ = rustix::fs::unlinkat(&self.root, &one.path, flags);
            }
        }
    }
}

const NO_FOLLOW: AtFlags = AtFlags::SYMLINK_NOFOLLOW;

const MARK: Timestamps = Timestamps {
    last_access: Timespec { tv_sec: 0, tv_nsec: 0 },
    last_modification: Timespec { tv_sec: 0, tv_nsec: 0 },
};

/// Whether this is what we put where nothing was.
pub(crate) fn is_mark(stat: &Stat) -> bool {
    let is_plain_file = FileType::from_raw_mode(stat.st_mode) == FileType::RegularFile;
    let is_empty = !is_plain_file || stat.st_size == 0;
    stat.st_mode & 0o7777 == 0 && stat.st_mtime == 0 && is_empty
}

fn is_ours(root: &impl AsFd, path: &Path) -> bool {
    rustix::fs::statat(root, path, NO_FOLLOW).is_ok_and(|stat| is_mark(&stat))
}

fn passes_link(root: &impl AsFd, path: &Path) -> bool {
    let names = path.components().filter(|part| matches!(part, Component::Normal(_)));
    let mut so_far = std::path::PathBuf::new();
    for name in names {
        so_far.push(name);
        let stat = rustix::fs::statat(root, &so_far, NO_FOLLOW);
        if stat.is_ok_and(|stat| FileType::from_raw_mode(stat.st_mode) == FileType::Symlink) {
            return true;
        }
    }
    false
}

#[cfg(test)]
mod tests {
    use testkit::Fixture;

    use super::*;

    fn open(project: &Fixture) -> OwnedFd {
        rustix::fs::open(project.root(), OFlags::PATH, Mode::empty()).unwrap()
    }

    #[test]
    fn places_are_held_until_the_last_command_ends() {
        let project = Fixture::new("//- /.git/HEAD\nx\n");
        let root = open(&project);
        let protected = Protected::defaults();
        let first = PlaceHolders::hold(&root, &protected).unwrap();
        let second = PlaceHolders::hold(&root, &protected).unwrap();
        drop(first);
        assert!(project.path(".vscode").is_dir() && project.path(".envrc").is_file());
        drop(second);
        let mut names: Vec<_> = std::fs::read_dir(project.root()).unwrap().collect();
        assert_eq!(names.pop().unwrap().unwrap().file_name(), ".git");
        assert!(names.is_empty());
    }

    #[test]
    fn what_somebody_else_made_stays() {
        let project = Fixture::new("//- /.envrc\n//- /.vscode/\n");
        let root = open(&project);
        drop(PlaceHolders::hold(&root, &Protected::defaults()).unwrap());
        assert!(project.path(".envrc").exists() && project.path(".vscode").exists());
    }

    #[test]
    fn a_link_is_refused() {
        let project = Fixture::new("//- /.git symlink=elsewhere\n");
        let error = PlaceHolders::hold(&open(&project), &Protected::defaults()).unwrap_err();
        assert_eq!(
            error.to_string(),
            "`.git` cannot be protected: it is, or lies behind, a symbolic link"
        );
    }
}
