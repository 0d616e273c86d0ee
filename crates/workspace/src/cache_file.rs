//! Large files of Toolkiln's own that can be made again: written in pieces, read through a mapping.

use std::fs::File;
use std::io;
use std::ops::Deref;
use std::os::fd::{AsFd, OwnedFd};
use std::time::{Duration, SystemTime};

use memmap2::Mmap;
use rustix::fs::{AtFlags, RawDir, statat};
use rustix::io::Errno;

use crate::meta::EntryMeta;
use crate::ops::{Name, Ops};
use crate::read::READ_FLAGS;
use crate::resolve::open_name;
use crate::root::DIR_FLAGS;
use crate::state_dir::FILE_MODE;
use crate::temp_name::{TempStem, is_temp_name};
use crate::{Error, OpenFile, RelPath, StateDir};

/// A draft that was not written to for so long was left behind by a crash.
const ABANDONED: Duration = Duration::from_secs(60 * 60);

/// Bytes for reading the names in a directory.
const NAME_BYTES: usize = 8 * 1024;

/// A file that is being written and takes its name when it is complete. Dropped before that, it
/// leaves nothing.
#[derive(Debug)]
pub struct CacheDraft {
    file: File,
    dir: OwnedFd,
    temp: String,
    name: RelPath,
    shown: String,
    ops: Ops,
    published: bool,
}

impl StateDir {
    /// Begins the next content of a file.
    pub fn draft(&self, name: &str) -> Result<CacheDraft, Error> {
        let name = self.plain(name)?;
        self.remove_abandoned();
        let begun = TempStem::random().and_then(|stem| {
            let temp = stem.name(0);
            let dir = open_name(self.as_fd(), ".", DIR_FLAGS)?;
            let file = self.ops().create(dir.as_fd(), temp.as_bytes(), FILE_MODE)?;
            Ok((File::from(file), dir, temp))
        });
        let (file, dir, temp) = begun.map_err(|errno| self.failed(&name, errno))?;
        let shown = format!("{}/{name}", self.shown());
        Ok(CacheDraft { file, dir, temp, name, shown, ops: self.ops().clone(), published: false })
    }

    /// A file without a name, for what does not fit into memory. It goes when it is closed.
    pub fn scratch(&self) -> Result<File, Error> {
        let failed = |errno| self.failed(&RelPath::root(), errno);
        let temp = TempStem::random().map_err(failed)?.name(0);
        let at = Name { dir: self.as_fd(), name: temp.as_bytes() };
        let file = self.ops().create(at.dir, at.name, FILE_MODE).map_err(failed)?;
        self.ops().unlink(at).map_err(failed)?;
        Ok(File::from(file))
    }

    /// A file's content, mapped into memory; none if it does not exist.
    pub fn map(&self, name: &str) -> Result<Option<Mapped>, Error> {
        let name = self.plain(name)?;
        match open_name(self.as_fd(), name.as_path(), READ_FLAGS) {
            Ok(fd) => {
                let file = OpenFile::from_descriptor(fd, name)?;
                let mapped = Mapped::new(&file.file);
                mapped.map(Some).map_err(|error| Error::from_io(self.shown().to_owned(), error))
            }
            Err(Errno::NOENT) => Ok(None),
            Err(errno) => Err(self.failed(&name, errno)),
        }
    }

    /// Removes what a crash left behind. A failure is ignored.
    fn remove_abandoned(&self) {
        let Ok(dir) = open_name(self.as_fd(), ".", DIR_FLAGS) else { return };
        let mut buffer = Vec::with_capacity(NAME_BYTES);
        let mut names = RawDir::new(&dir, buffer.spare_capacity_mut());
        while let Some(Ok(entry)) = names.next() {
            let name = entry.file_name();
            let is_old = || {
                let stat = statat(&dir, name, AtFlags::SYMLINK_NOFOLLOW).ok()?;
                let modified = EntryMeta::from_stat(&stat).modified;
                Some(SystemTime::now().duration_since(modified).ok()? > ABANDONED)
            };
            if is_temp_name(name.to_bytes()) && is_old() == Some(true) {
                let _ = self.ops().unlink(Name { dir: dir.as_fd(), name: name.to_bytes() });
            }
        }
    }
}

impl CacheDraft {
    /// Gives the file its name, in place of what had it before, once it is on the disk.
    pub fn publish(mut self) -> Result<(), Error> {
        let from = Name { dir: self.dir.as_fd(), name: self.temp.as_bytes() };
        let to = Name { dir: self.dir.as_fd(), name: self.name.as_bytes() };
        let done = self.ops.sync(&self.file).and_then(|()| self.ops.rename_over(from, to));
        self.published = done.is_ok();
        done.map_err(|errno| Error::from_io(self.shown.clone(), errno.into()))
    }
}

impl Drop for CacheDraft {
    fn drop(&mut self) {
        if !self.published {
            // Whatever is left is removed with the next draft.
            let at = Name { dir: self.dir.as_fd(), name: self.temp.as_bytes() };
            let _ = self.ops.unlink(at);
        }
    }
}

impl io::Write for CacheDraft {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.file.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.flush()
    }
}

/// The content of a file, in memory as far as it is looked at.
#[derive(Debug)]
pub struct Mapped(Mmap);

impl Mapped {
    #[allow(unsafe_code, reason = "the system cannot promise that no process truncates the file")]
    fn new(file: &File) -> io::Result<Mapped> {
        // SAFETY: the mapping is only sound while no process changes the file. It lies in a directory
        // that only its owner can open, and Toolkiln never changes a published file: it is
        // replaced by another under its name, which leaves the mapped one as it is.
        Ok(Mapped(unsafe { Mmap::map(file) }?))
    }
}

impl Deref for Mapped {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        &self.0
    }
}

impl AsRef<[u8]> for Mapped {
    fn as_ref(&self) -> &[u8] {
        &self.0
    }
}
