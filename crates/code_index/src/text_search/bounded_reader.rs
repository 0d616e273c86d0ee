//! Reading that ends in time.

use std::io::{self, Read};
use std::time::Instant;

/// Reads a file until it is too long, too late or cancelled. The search engine asks for the next
/// piece every few thousand lines, so that a slow pattern is stopped between two of them.
pub(super) struct BoundedReader<'a> {
    pub(super) file: &'a std::fs::File,
    pub(super) deadline: Instant,
    /// Bytes that may still come.
    pub(super) left: u64,
    pub(super) cancel: &'a (dyn Fn() -> bool + Sync),
}

impl BoundedReader<'_> {
    /// Reads a file of `size` bytes into `text`, and says whether that was all of it. A file that
    /// still has its size costs one call to the system.
    pub(super) fn read_small(&mut self, size: u64, text: &mut Vec<u8>) -> io::Result<bool> {
        if Instant::now() >= self.deadline {
            return Err(io::ErrorKind::TimedOut.into());
        }
        let size = usize::try_from(size).map_err(io::Error::other)?;
        // One byte more shows whether the file has grown.
        text.resize(size + 1, 0);
        let mut length = 0;
        loop {
            let count = self.file.read(&mut text[length..])?;
            length += count;
            if count == 0 || length >= size {
                self.left = self.left.saturating_sub(length as u64);
                text.truncate(length);
                return Ok(length <= size);
            }
        }
    }
}

impl Read for BoundedReader<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if (self.cancel)() {
            return Err(io::Error::other("cancelled"));
        }
        if Instant::now() >= self.deadline {
            return Err(io::ErrorKind::TimedOut.into());
        }
        let count = self.file.read(buffer)?;
        self.left = match self.left.checked_sub(count as u64) {
            Some(left) => left,
            None => return Err(io::ErrorKind::FileTooLarge.into()),
        };
        Ok(count)
    }
}
