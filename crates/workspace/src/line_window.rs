//! A window of lines from a file of any size, in bounded memory.

use std::io::{self, Read};

use protocol::ContentHash;

use crate::LineEnding;

/// Files up to this size are read to the end, to know their hash and how many lines they have.
/// Beyond it, reading stops as soon as the window is complete.
pub const HASH_LIMIT: u64 = 64 * 1024 * 1024;

/// The fixed buffer that everything is read through.
const BUFFER_BYTES: usize = 64 * 1024;

/// Which lines are wanted, and how much of them.
///
/// Lines end at LF (a CR before it belongs to the ending), so that numbers agree with what other
/// tools say. A file with CR endings only is one line here, unlike in [`crate::Text`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LineWindow {
    /// Number of the first line wanted; the first line of a file is 1, and 0 means the same.
    pub first_line: u64,
    /// The most lines returned.
    pub max_lines: usize,
    /// The most bytes of content returned in all lines together.
    pub max_bytes: usize,
    /// The most bytes returned of one line; the rest of it is skipped and its length reported.
    pub max_line_bytes: usize,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WindowLine {
    /// Its number; the first line of a file is 1.
    pub number: u64,
    /// Its content without the ending. A cut never leaves part of a UTF-8 character.
    pub bytes: Vec<u8>,
    /// How it ends.
    pub ending: LineEnding,
    /// If only the beginning is in `bytes`: the length of the whole line.
    pub cut: Option<u64>,
}

/// What a window showed, and what is known of the whole.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ReadLines {
    /// The lines, in order.
    pub lines: Vec<WindowLine>,
    /// How many lines there are in all, if the file was read to its end.
    pub total_lines: Option<u64>,
    /// How many bytes there are in all, if the file was read to its end.
    pub total_bytes: Option<u64>,
    /// Whether nothing follows the last line returned.
    pub ended_at_eof: bool,
    /// Whether `max_bytes` ended the window before `max_lines` or the end of the file did.
    pub byte_limited: bool,
    /// The hash of the whole content, if the file was read to its end and is within
    /// [`HASH_LIMIT`].
    pub hash: Option<ContentHash>,
}

impl LineWindow {
    /// Reads the window from `source`, whose size is `size` as far as known. Returns none if
    /// `cancelled` said so, which is asked once per buffer.
    pub fn read(
        &self,
        source: &mut impl Read,
        size: Option<u64>,
        cancelled: &dyn Fn() -> bool,
    ) -> io::Result<Option<ReadLines>> {
        let mut scan = Scan::new(self, size);
        let mut buffer = vec![0; BUFFER_BYTES];
        while !scan.satisfied() {
            if cancelled() {
                return Ok(None);
            }
            match source.read(&mut buffer) {
                Ok(0) => return Ok(Some(scan.finish_at_eof())),
                Ok(count) => scan.take(&buffer[..count]),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        Ok(Some(scan.read))
    }
}

/// The state of one pass through a file.
struct Scan<'w> {
    window: &'w LineWindow,
    /// The size given beforehand, or what has been seen if that turns out to be more.
    size: u64,
    seen: u64,
    hasher: blake3::Hasher,
    read: ReadLines,
    returned_bytes: usize,
    /// Whether the window takes no more lines.
    full: bool,
    /// Number of the line that is being read.
    number: u64,
    /// Length of that line so far, and its kept beginning, if it is in the window.
    line_len: u64,
    kept: Vec<u8>,
    last_byte: Option<u8>,
}

impl<'w> Scan<'w> {
    fn new(window: &'w LineWindow, size: Option<u64>) -> Scan<'w> {
        Scan {
            window,
            size: size.unwrap_or(0),
            seen: 0,
            hasher: blake3::Hasher::new(),
            read: ReadLines::default(),
            returned_bytes: 0,
            full: window.max_lines == 0,
            number: 1,
            line_len: 0,
            kept: Vec::new(),
            last_byte: None,
        }
    }

    /// Whether nothing more would be learned that is worth the reading.
    fn satisfied(&self) -> bool {
        self.full && self.size > HASH_LIMIT
    }

    fn take(&mut self, mut chunk: &[u8]) {
        self.seen += chunk.len() as u64;
        self.size = self.size.max(self.seen);
        if self.size <= HASH_LIMIT {
            self.hasher.update(chunk);
        }
        while !chunk.is_empty() {
            if self.full || self.number < self.window.first_line {
                chunk = self.skip_lines(chunk);
                continue;
            }
            let (content, rest) = match memchr::memchr(b'\n', chunk) {
                Some(at) => (&chunk[..at], Some(&chunk[at + 1..])),
                None => (chunk, None),
            };
            self.extend_line(content);
            if rest.is_some() {
                self.end_line(LineEnding::Lf);
            }
            chunk = rest.unwrap_or_default();
        }
    }

    /// Counts lines that are not returned and returns what is left when the window begins.
    fn skip_lines<'c>(&mut self, chunk: &'c [u8]) -> &'c [u8] {
        for at in memchr::memchr_iter(b'\n', chunk) {
            self.number += 1;
            self.line_len = 0;
            if !self.full && self.number == self.window.first_line {
                self.last_byte = None;
                return &chunk[at + 1..];
            }
        }
        let after_last = memchr::memrchr(b'\n', chunk).map_or(0, |at| at + 1);
        self.line_len += (chunk.len() - after_last) as u64;
        &[]
    }

    fn extend_line(&mut self, content: &[u8]) {
        // One byte more than can be returned, because a CR before LF is not content.
        let most = self.window.max_line_bytes.min(self.window.max_bytes).saturating_add(1);
        let room = most.saturating_sub(self.kept.len());
        self.kept.extend_from_slice(&content[..room.min(content.len())]);
        self.line_len += content.len() as u64;
        self.last_byte = content.last().copied().or(self.last_byte);
    }

    fn end_line(&mut self, ending: LineEnding) {
        let has_cr = ending == LineEnding::Lf && self.last_byte == Some(b'\r');
        let (ending, len) = match has_cr {
            true => (LineEnding::CrLf, self.line_len - 1),
            false => (ending, self.line_len),
        };
        let mut bytes = std::mem::take(&mut self.kept);
        bytes.truncate(usize::try_from(len).unwrap_or(usize::MAX));
        let room = self.window.max_bytes - self.returned_bytes;
        // A window that could not show even one line would stop all progress.
        let limit = match self.read.lines.is_empty() {
            true => self.window.max_line_bytes.min(room),
            false => self.window.max_line_bytes,
        };
        cut_at_character(&mut bytes, limit);
        if bytes.len() > room {
            self.read.byte_limited = true;
            self.full = true;
        } else {
            self.returned_bytes += bytes.len();
            let cut = (bytes.len() as u64 != len).then_some(len);
            self.read.lines.push(WindowLine { number: self.number, bytes, ending, cut });
            self.full = self.read.lines.len() >= self.window.max_lines;
        }
        self.number += 1;
        self.line_len = 0;
        self.last_byte = None;
    }

    fn finish_at_eof(mut self) -> ReadLines {
        if self.line_len > 0 {
            match self.full || self.number < self.window.first_line {
                true => self.number += 1,
                false => self.end_line(LineEnding::None),
            }
        }
        let total = self.number - 1;
        let last_returned = self.read.lines.last().map_or(0, |line| line.number);
        self.read.ended_at_eof = match self.read.lines.is_empty() {
            true => !self.read.byte_limited && self.window.first_line > total,
            false => last_returned == total,
        };
        self.read.total_lines = (self.size <= HASH_LIMIT).then_some(total);
        self.read.total_bytes = Some(self.seen);
        if self.size <= HASH_LIMIT {
            let hash = self.hasher.finalize();
            self.read.hash = Some(ContentHash::from_bytes(*hash.as_bytes()));
        }
        self.read
    }
}

/// Shortens `bytes` to at most `limit`, and a little more if that would split a character.
fn cut_at_character(bytes: &mut Vec<u8>, limit: usize) {
    if bytes.len() <= limit {
        return;
    }
    let mut end = limit;
    while end > limit.saturating_sub(MAX_CONTINUATION_BYTES) && is_continuation(bytes[end]) {
        end -= 1;
    }
    // More continuation bytes in a row than UTF-8 allows: not UTF-8, nothing to respect.
    bytes.truncate(if is_continuation(bytes[end]) { limit } else { end });
}

/// A UTF-8 character has at most this many bytes after its first.
const MAX_CONTINUATION_BYTES: usize = 3;

fn is_continuation(byte: u8) -> bool {
    byte & 0b1100_0000 == 0b1000_0000
}

#[cfg(test)]
mod tests;
