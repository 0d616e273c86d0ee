//! An opened regular file and bounded reading from it.

use std::fs::File;
use std::io::Read;
use std::os::fd::OwnedFd;

use rustix::fs::{OFlags, fstat};

use crate::{EntryKind, EntryMeta, Error, LineWindow, ReadLines, RelPath};

/// How files are opened for reading. `O_NONBLOCK` makes the open of a named pipe or a device
/// return at once, so that what was opened can be looked at; it has no effect on regular files.
pub(crate) const READ_FLAGS: OFlags = OFlags::RDONLY.union(OFlags::NONBLOCK).union(OFlags::NOCTTY);

/// A regular file that is open for reading, with what was known of it when it was opened.
#[derive(Debug)]
pub struct OpenFile {
    pub file: File,
    /// What the system said about the opened descriptor.
    pub meta: EntryMeta,
    path: RelPath,
}

impl OpenFile {
    /// Accepts a descriptor only if it is a regular file.
    pub(crate) fn from_descriptor(fd: OwnedFd, path: RelPath) -> Result<OpenFile, Error> {
        let stat = fstat(&fd).map_err(|errno| Error::from_errno(&path, errno))?;
        let meta = EntryMeta::from_stat(&stat);
        if meta.kind != EntryKind::File {
            return Err(Error::NotAFile { path: path.to_text(), kind: meta.kind });
        }
        Ok(OpenFile { file: File::from(fd), meta, path })
    }

    /// The path it was opened by.
    pub fn path(&self) -> &RelPath {
        &self.path
    }

    /// Everything from the current position to the end, refused if that is more than `max` bytes,
    /// even when the file grows while it is read.
    pub fn read_all(&mut self, max: u64) -> Result<Vec<u8>, Error> {
        let too_large = || Error::TooLarge { path: self.path.to_text(), limit: max };
        if self.meta.size > max {
            return Err(too_large());
        }
        // One byte more than expected, so that an unchanged file is read without growing.
        let expected = usize::try_from(self.meta.size).unwrap_or(0).saturating_add(1);
        let mut bytes = Vec::with_capacity(expected);
        (&self.file)
            .take(max.saturating_add(1))
            .read_to_end(&mut bytes)
            .map_err(|error| Error::from_io(self.path.to_text(), error))?;
        if bytes.len() as u64 > max {
            return Err(too_large());
        }
        Ok(bytes)
    }

    /// Reads a window of lines from the current position: see [`LineWindow`].
    pub fn read_lines(
        &mut self,
        window: &LineWindow,
        cancelled: &dyn Fn() -> bool,
    ) -> Result<ReadLines, Error> {
        let read = window.read(&mut &self.file, Some(self.meta.size), cancelled);
        match read {
            Ok(Some(lines)) => Ok(lines),
            Ok(None) => Err(Error::Cancelled { path: self.path.to_text() }),
            Err(error) => Err(Error::from_io(self.path.to_text(), error)),
        }
    }
}
