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
