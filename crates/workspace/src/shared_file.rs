//! A file that several processes add to, such as the history of what was typed.

use std::fs::{File, OpenOptions};
use std::io::{self, Read as _, Write as _};
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::{MetadataExt as _, OpenOptionsExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};

use rustix::fs::{FlockOperation, OFlags, flock};

use crate::Error;
use crate::path_text::bytes_to_text;
use crate::state_dir::FILE_MODE;
use crate::user_file::replace_user_file;

/// The permission bits of a mode.
const PERMISSIONS: u32 = 0o777;
/// How often the file is opened anew because another process has replaced it meanwhile.
const MAX_REOPENINGS: usize = 100;

/// A file that no other process changes as long as this value lives, provided that all lock it.
#[derive(Debug)]
pub struct LockedFile {
    file: File,
    path: PathBuf,
}

impl LockedFile {
    /// Opens the file at an absolute path and waits until no other process holds it. It is made if it
    /// is not there, and only its owner may read it. Its directory must exist.
    pub fn open(path: &Path) -> Result<LockedFile, Error> {
        let failed = |error: io::Error| Error::from_io(shown(path), error);
        for _ in 0..MAX_REOPENINGS {
            let flags = OFlags::NOFOLLOW | OFlags::NONBLOCK;
            let opened = OpenOptions::new()
                .read(true)
                .append(true)
                .create(true)
                .mode(FILE_MODE)
                .custom_flags(flags.bits().cast_signed())
                .open(path);
            let file = opened.map_err(failed)?;
            let meta = file.metadata().map_err(failed)?;
            if !meta.is_file() {
                let reason = "it is not a regular file".to_owned();
                return Err(Error::State { path: shown(path), reason });
            }
            flock(&file, FlockOperation::LockExclusive).map_err(|errno| failed(errno.into()))?;
            // A lock belongs to the file that was opened; the name may lead to another one by now.
            let is_same = std::fs::symlink_metadata(path)
                .is_ok_and(|now| (now.dev(), now.ino()) == (meta.dev(), meta.ino()));
            if !is_same {
                continue;
            }
            if meta.mode() & PERMISSIONS != FILE_MODE {
                let private = std::fs::Permissions::from_mode(FILE_MODE);
                file.set_permissions(private).map_err(failed)?;
            }
            return Ok(LockedFile { file, path: path.to_owned() });
        }
        let reason = "other processes replace it all the time".to_owned();
        Err(Error::State { path: shown(path), reason })
    }

    /// What it holds. More than `max` bytes are refused.
    pub fn read(&mut self, max: u64) -> Result<Vec<u8>, Error> {
        let failed = |error: io::Error| Error::from_io(shown(&self.path), error);
        let mut bytes = Vec::new();
        (&self.file).take(max.saturating_add(1)).read_to_end(&mut bytes).map_err(failed)?;
        if bytes.len() as u64 > max {
            let reason = format!("it holds more than {max} bytes");
            return Err(Error::State { path: shown(&self.path), reason });
        }
        Ok(bytes)
    }

    /// Adds to its end, in one write.
    pub fn append(mut self, bytes: &[u8]) -> Result<(), Error> {
        self.file.write_all(bytes).map_err(|error| Error::from_io(shown(&self.path), error))
    }

    /// Makes `bytes` its content. Whatever happens, it then holds these or what it held before.
    pub fn replace(self, bytes: &[u8]) -> Result<(), Error> {
        replace_user_file(&self.path, bytes)
    }
}

fn shown(path: &Path) -> String {
    bytes_to_text(path.as_os_str().as_bytes()).into_owned()
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;
    use std::thread;

    use testkit::Fixture;

    use super::*;

    #[test]
    fn nothing_is_lost_between_those_that_append_and_those_that_replace() {
        let directory = Fixture::new("");
        let path = directory.path("shared");
        let add = |line: String, replaces: bool| {
            let mut file = LockedFile::open(&path).unwrap();
            let before = file.read(1 << 20).unwrap();
            match replaces {
                true => file.replace(&[before, line.into_bytes()].concat()).unwrap(),
                false => file.append(line.as_bytes()).unwrap(),
            }
        };
        thread::scope(|scope| {
            for name in ["a", "b", "c"] {
                let add = &add;
                scope.spawn(move || {
                    (0..40).for_each(|n| add(format!("{name}{n}\n"), n % 3 == 0));
                });
            }
        });
        let text = directory.read("shared");
        for name in ["a", "b", "c"] {
            let own: Vec<&str> = text.lines().filter(|line| line.starts_with(name)).collect();
            let expected: Vec<String> = (0..40).map(|n| format!("{name}{n}")).collect();
            assert_eq!(own, expected);
        }
        assert_eq!(std::fs::read_dir(directory.root()).unwrap().count(), 1, "nothing is left over");
    }

    #[test]
    fn it_becomes_private_and_a_link_or_a_directory_is_refused() {
        let directory = Fixture::new("//- /wide mode=644\nx\n");
        let wide = directory.path("wide");
        LockedFile::open(&wide).unwrap().append(b"y\n").unwrap();
        assert_eq!(directory.read("wide"), "x\ny\n");
        assert_eq!(std::fs::metadata(&wide).unwrap().mode() & PERMISSIONS, 0o600);
        LockedFile::open(&wide).unwrap().replace(b"z\n").unwrap();
        assert_eq!(std::fs::metadata(&wide).unwrap().mode() & PERMISSIONS, 0o600);
        assert!(LockedFile::open(&wide).unwrap().read(1).is_err(), "it is too long");
        symlink(&wide, directory.path("link")).unwrap();
        assert!(LockedFile::open(&directory.path("link")).is_err());
        assert!(LockedFile::open(&directory.path("missing/file")).is_err());
        assert!(LockedFile::open(directory.root()).is_err());
    }
}
