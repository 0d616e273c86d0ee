//! A file that the user keeps for Toolkiln outside of every project, such as the configuration.

use std::fs::{DirBuilder, canonicalize, symlink_metadata};
use std::io::ErrorKind;
use std::os::fd::AsFd as _;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::DirBuilderExt as _;
use std::path::{Path, PathBuf};

use rustix::fs::{AtFlags, CWD, FileType, Mode, OFlags, openat, statat};
use rustix::io::Errno;

use crate::Error;
use crate::ops::{Name, Ops};
use crate::path_text::bytes_to_text;
use crate::state_dir::FILE_MODE;
use crate::temp_name::TempStem;

/// The permission bits of a mode.
const PERMISSIONS: u32 = 0o777;
/// For directories that have to be made.
const DIR_MODE: u32 = 0o700;

/// The file that a path leads to through links: many users keep their configuration in a repository and
/// link to it. The path itself, if nothing is there yet.
pub fn real_user_file(path: &Path) -> Result<PathBuf, Error> {
    let shown = || bytes_to_text(path.as_os_str().as_bytes()).into_owned();
    match canonicalize(path) {
        Ok(real) => Ok(real),
        Err(error) if error.kind() == ErrorKind::NotFound => match symlink_metadata(path) {
            Ok(_) => {
                let reason = "it is a link to a file that does not exist".to_owned();
                Err(Error::State { path: shown(), reason })
            }
            Err(_) => Ok(path.to_owned()),
        },
        Err(error) => Err(Error::from_io(shown(), error)),
    }
}

/// Makes `bytes` the content of the file at an absolute path; directories that are missing are made.
/// Whatever happens, the file then holds these bytes or what it held before, and it keeps its
/// permissions. A link is refused, because replacing it would leave the file it leads to as it was;
/// [`real_user_file`] tells which that is.
pub fn replace_user_file(path: &Path, bytes: &[u8]) -> Result<(), Error> {
    let shown = bytes_to_text(path.as_os_str().as_bytes()).into_owned();
    let refuse = |reason: &str| Error::State { path: shown.clone(), reason: reason.to_owned() };
    let failed = |errno: Errno| Error::from_io(shown.clone(), errno.into());
    let (Some(dir), Some(name)) = (path.parent().filter(|_| path.is_absolute()), path.file_name())
    else {
        return Err(refuse("the path is not an absolute path of a file"));
    };
    let made = DirBuilder::new().recursive(true).mode(DIR_MODE).create(dir);
    made.map_err(|error| Error::from_io(shown.clone(), error))?;
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let dir = openat(CWD, dir, flags, Mode::empty()).map_err(failed)?;
    let mode = match statat(&dir, name, AtFlags::SYMLINK_NOFOLLOW) {
        Ok(stat) if FileType::from_raw_mode(stat.st_mode) == FileType::RegularFile => {
            stat.st_mode & PERMISSIONS
        }
        Ok(_) => return Err(refuse("it is a link or not a regular file; edit its target")),
        Err(Errno::NOENT) => FILE_MODE,
        Err(errno) => return Err(failed(errno)),
    };
    let ops = Ops::default();
    let temp = TempStem::random().map_err(failed)?.name(0);
    let temp = Name { dir: dir.as_fd(), name: temp.as_bytes() };
    let to = Name { dir: dir.as_fd(), name: name.as_bytes() };
    let file = ops.create(temp.dir, temp.name, mode).map_err(failed)?;
    let written = ops
        .set_mode(&file, mode)
        .and_then(|()| ops.write(&file, bytes))
        .and_then(|()| ops.sync(&file))
        .and_then(|()| ops.rename_over(temp, to));
    if let Err(errno) = written {
        // The first error is the one to report.
        let _ = ops.unlink(temp);
        return Err(failed(errno));
    }
    ops.sync(&dir).map_err(failed)
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::{PermissionsExt as _, symlink};

    use testkit::Fixture;

    use super::*;

    #[test]
    fn a_file_is_made_with_its_directories_and_keeps_its_permissions_when_it_is_replaced() {
        let home = Fixture::new("//- /a.txt\n\n");
        let path = home.path("config/toolkiln/config.toml");
        let mode = || fs::metadata(&path).unwrap().permissions().mode() & PERMISSIONS;
        replace_user_file(&path, b"one").unwrap();
        assert_eq!((fs::read_to_string(&path).unwrap().as_str(), mode()), ("one", 0o600));
        fs::set_permissions(&path, fs::Permissions::from_mode(0o644)).unwrap();
        replace_user_file(&path, b"two").unwrap();
        assert_eq!((fs::read_to_string(&path).unwrap().as_str(), mode()), ("two", 0o644));
        assert_eq!(fs::read_dir(path.parent().unwrap()).unwrap().count(), 1);
    }

    #[test]
    fn links_and_relative_paths_are_refused() {
        let home = Fixture::new("//- /dotfiles/config.toml\nold\n");
        let path = home.path("config.toml");
        symlink(home.path("dotfiles/config.toml"), &path).unwrap();
        let told = replace_user_file(&path, b"x").unwrap_err().to_string();
        assert!(told.contains("it is a link"), "{told}");
        assert_eq!(home.read("dotfiles/config.toml"), "old\n");
        replace_user_file(&real_user_file(&path).unwrap(), b"new\n").unwrap();
        assert_eq!((home.read("config.toml"), path.is_symlink()), ("new\n".to_owned(), true));
        fs::remove_file(home.path("dotfiles/config.toml")).unwrap();
        let told = real_user_file(&path).unwrap_err().to_string();
        assert!(told.contains("a link to a file that does not exist"), "{told}");
        let missing = home.path("missing/config.toml");
        assert_eq!(real_user_file(&missing).unwrap(), missing);
        assert!(replace_user_file(Path::new("config.toml"), b"x").is_err());
    }
}
