//! Holding the places of protected names that do not exist while commands work on the project
//! itself.
//!
//! Something has to be there for a mount to lie on. It is an empty directory or, where a file is
//! meant, a socket, with the sticky bit and without any permission, by which it is known as ours, and
//! it goes when the last command has ended, or, had we been killed, when the next one has.
//!
//! Nobody, not even root, can write into a socket by its name. So one can stand in all places, which
//! takes a link for each; a file system may search long for room for something new.
//!
//! It may go while a mount lies on it in the namespace of a command that has left nothing running: the
//! kernel takes that mount off.

use std::os::fd::{AsFd, AsRawFd as _, OwnedFd};
use std::path::{Component, Path};

use rustix::fs::{AtFlags, CWD, FileType, FlockOperation, Mode, OFlags, Stat};
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
        let mut socket = None;
        for one in protected {
            places.hold_one(one, &mut socket)?;
        }
        Ok(places)
    }

    fn hold_one(&self, one: &Protected, socket: &mut Option<OwnedFd>) -> Result<(), SandboxError> {
        let refuse = |why| SandboxError::Protected { path: one.path.clone(), why };
        if passes_link(&self.root, &one.path) {
            return Err(refuse("it is, or lies behind, a symbolic link"));
        }
        let made = match one.stand_in {
            StandIn::Directory => rustix::fs::mkdirat(&self.root, &one.path, MARK),
            StandIn::File => self.make_file(&one.path, socket),
        };
        match made {
            // It is ours now, or exists, or the directory above does not.
            Ok(()) | Err(Errno::EXIST | Errno::NOENT | Errno::NOTDIR) => Ok(()),
            Err(_) => Err(refuse("its place cannot be held in the project directory")),
        }
    }

    /// Makes what stands for a file: one more name for the socket, or a socket, or a file.
    fn make_file(&self, path: &Path, socket: &mut Option<OwnedFd>) -> Result<(), Errno> {
        // What is wrong, if it does not work, is told by the making of a new one.
        if socket.as_ref().is_some_and(|socket| self.link(socket, path).is_ok()) {
            return Ok(());
        }
        let make = |kind| rustix::fs::mknodat(&self.root, path, kind, MARK, NO_DEVICE);
        match make(FileType::Socket) {
            Ok(()) => {
                *socket = self.find_ours(path).map(|(found, _)| found);
                Ok(())
            }
            Err(errno @ (Errno::EXIST | Errno::NOENT | Errno::NOTDIR)) => Err(errno),
            // Not every file system has sockets.
            Err(_) => make(FileType::RegularFile),
        }
    }

    /// Gives a name to what was opened, and to nothing that took its place meanwhile.
    fn link(&self, opened: &OwnedFd, path: &Path) -> Result<(), Errno> {
        let name = format!("/proc/self/fd/{}", opened.as_raw_fd());
        rustix::fs::linkat(CWD, name, &self.root, path, AtFlags::SYMLINK_FOLLOW)
    }

    /// Opens what is ours.
    fn find_ours(&self, path: &Path) -> Option<(OwnedFd, FileType)> {
        let flags = OFlags::PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let found = rustix::fs::openat(&self.root, path, flags, Mode::empty()).ok()?;
        let stat = rustix::fs::fstat(&found).ok().filter(is_mark)?;
        Some((found, FileType::from_raw_mode(stat.st_mode)))
    }

    /// Lets the places go, if nobody else holds them. Returns the last descriptors of the directories
    /// that are gone: whoever closes these waits until the disk has freed them.
    pub(crate) fn release(mut self) -> Vec<OwnedFd> {
        self.let_go()
    }

    fn let_go(&mut self) -> Vec<OwnedFd> {
        let protected = std::mem::take(&mut self.protected);
        // While others hold the lock, their mounts lie on these places.
        let lock = FlockOperation::NonBlockingLockExclusive;
        if protected.is_empty() || rustix::fs::flock(&self.root, lock).is_err() {
            return Vec::new();
        }
        protected.iter().filter_map(|one| self.remove(&one.path)).collect()
    }

    /// Removes what is ours. Returns the directory if it was one.
    fn remove(&self, path: &Path) -> Option<OwnedFd> {
        let (found, kind) = self.find_ours(path)?;
        let is_directory = kind == FileType::Directory;
        let flags = if is_directory { AtFlags::REMOVEDIR } else { AtFlags::empty() };
        rustix::fs::unlinkat(&self.root, path, flags).ok()?;
        is_directory.then_some(found)
    }
}

impl Drop for PlaceHolders<'_> {
    fn drop(&mut self) {
        self.let_go();
    }
}

const NO_FOLLOW: AtFlags = AtFlags::SYMLINK_NOFOLLOW;
const NO_DEVICE: u64 = 0;

/// Nothing else has these permissions, and they are there from the first moment on.
const MARK: Mode = Mode::SVTX;

/// Whether this is what we put where nothing was.
pub(crate) fn is_mark(stat: &Stat) -> bool {
    let is_plain_file = FileType::from_raw_mode(stat.st_mode) == FileType::RegularFile;
    let is_empty = !is_plain_file || stat.st_size == 0;
    // A directory may have its group from the one above, and the bit that says so.
    Mode::from_raw_mode(stat.st_mode) - Mode::SGID == MARK && is_empty
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

    fn names(project: &Fixture) -> Vec<String> {
        let entries = std::fs::read_dir(project.root()).unwrap();
        let mut names: Vec<String> =
            entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
        names.sort();
        names
    }

    fn set_mode(path: &Path, mode: u32) {
        use std::os::unix::fs::PermissionsExt as _;
        std::fs::set_permissions(path, std::fs::Permissions::from_mode(mode)).unwrap();
    }

    #[test]
    fn places_are_held_until_the_last_command_ends() {
        let project = Fixture::new("//- /.git/HEAD\nx\n");
        let root = open(&project);
        let protected = Protected::defaults();
        let first = PlaceHolders::hold(&root, &protected).unwrap();
        let second = PlaceHolders::hold(&root, &protected).unwrap();
        drop(first);
        assert!(project.path(".vscode").is_dir() && project.path(".envrc").exists());
        drop(second);
        assert_eq!(names(&project), [".git"]);
    }

    #[test]
    fn what_somebody_else_made_stays() {
        for mode in [0o000, 0o644, 0o1777] {
            let project = Fixture::new("//- /.envrc\n//- /.vscode/\n");
            let names = [".envrc", ".vscode"].map(|name| project.path(name));
            names.iter().for_each(|path| set_mode(path, mode));
            drop(PlaceHolders::hold(&open(&project), &Protected::defaults()).unwrap());
            assert!(names.iter().all(|path| path.exists()), "{mode:o}");
        }
    }

    #[test]
    fn what_was_put_into_a_place_meanwhile_stays() {
        let project = Fixture::new("");
        let protected = Protected::defaults();
        let places = PlaceHolders::hold(&open(&project), &protected).unwrap();
        set_mode(&project.path(".vscode"), 0o1700);
        std::fs::write(project.path(".vscode/new"), "x").unwrap();
        set_mode(&project.path(".vscode"), 0o1000);
        // Most programs save by renaming. Without that it does not work, whoever tries.
        assert!(std::fs::write(project.path(".envrc"), "x").is_err());
        std::fs::write(project.path("new"), "x").unwrap();
        std::fs::rename(project.path("new"), project.path(".envrc")).unwrap();
        places.release();
        set_mode(&project.path(".vscode"), 0o700);
        assert_eq!(names(&project), [".envrc", ".vscode"]);
        assert_eq!(project.read(".envrc"), "x");
    }

    #[test]
    fn what_a_killed_process_left_goes_with_the_next_command() {
        let project = Fixture::new("");
        let protected = Protected::defaults();
        let killed = PlaceHolders::hold(&open(&project), &protected).unwrap();
        // Its lock goes with it, and nothing else does.
        let killed = std::mem::ManuallyDrop::new(killed);
        rustix::fs::flock(&killed.root, FlockOperation::Unlock).unwrap();
        assert_eq!(names(&project).len(), protected.len());
        drop(PlaceHolders::hold(&open(&project), &protected).unwrap());
        assert!(names(&project).is_empty());
    }

    #[test]
    fn a_project_that_hands_its_group_on_is_left_as_it_was() {
        let project = Fixture::new("");
        set_mode(project.root(), 0o2755);
        let protected = Protected::defaults();
        let places = PlaceHolders::hold(&open(&project), &protected).unwrap();
        assert_eq!(names(&project).len(), protected.len());
        let directories = places.release();
        assert_eq!(directories.len(), 4);
        assert!(names(&project).is_empty());
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
