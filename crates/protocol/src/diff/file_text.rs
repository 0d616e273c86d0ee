//! The bytes of a file as lines, without changing a byte.

use std::ops::Range;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// How much of a file is looked at for NUL bytes.
const HEAD_BYTES: usize = 8 * 1024;
const UTF8_BOM: &[u8] = b"\xEF\xBB\xBF";
const UTF16_LE_BOM: &[u8] = b"\xFF\xFE";
const UTF16_BE_BOM: &[u8] = b"\xFE\xFF";
/// Begins like UTF-16, but is four bytes per character.
const UTF32_LE_BOM: &[u8] = b"\xFF\xFE\0\0";

/// How the lines of a text end.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum LineEndingStyle {
    /// All with a line feed.
    Lf,
    /// All with a carriage return and a line feed.
    CrLf,
    /// Some so, some so.
    Mixed,
}

/// How bytes become characters. Everything that is not marked otherwise is taken for UTF-8; bytes
/// that are not are shown as such.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum DiffEncoding {
    Utf8,
    Utf16Le,
    Utf16Be,
}

/// A file's bytes, cut into lines that keep their endings.
#[derive(Debug)]
pub(super) struct FileText<'a> {
    pub(super) bytes: &'a [u8],
    pub(super) encoding: DiffEncoding,
    lines: Vec<Range<usize>>,
    /// How the lines end, if any does.
    pub(super) endings: Option<LineEndingStyle>,
}

impl DiffEncoding {
    /// The encoding that a byte order mark names.
    pub(super) fn of(bytes: &[u8]) -> Self {
        if bytes.starts_with(UTF32_LE_BOM) {
            DiffEncoding::Utf8
        } else if bytes.starts_with(UTF16_LE_BOM) {
            DiffEncoding::Utf16Le
        } else if bytes.starts_with(UTF16_BE_BOM) {
            DiffEncoding::Utf16Be
        } else {
            DiffEncoding::Utf8
        }
    }

    pub(super) fn name(self) -> &'static str {
        match self {
            DiffEncoding::Utf8 => "UTF-8",
            DiffEncoding::Utf16Le => "UTF-16LE",
            DiffEncoding::Utf16Be => "UTF-16BE",
        }
    }

    fn unit(self, bytes: [u8; 2]) -> u16 {
        match self {
            DiffEncoding::Utf16Be => u16::from_be_bytes(bytes),
            _ => u16::from_le_bytes(bytes),
        }
    }

    /// The two-byte units of some bytes, if they come in such.
    pub(super) fn units(self, bytes: &[u8]) -> Option<Vec<u16>> {
        let pairs = bytes.chunks_exact(2).map(|pair| self.unit([pair[0], pair[1]]));
        (self != DiffEncoding::Utf8).then(|| pairs.collect())
    }
}

/// Whether the beginning of a file shows that it is not text.
pub(super) fn is_binary(bytes: &[u8]) -> bool {
    let head = &bytes[..bytes.len().min(HEAD_BYTES)];
    DiffEncoding::of(bytes) == DiffEncoding::Utf8 && head.contains(&0)
}

impl<'a> FileText<'a> {
    pub(super) fn new(bytes: &'a [u8], encoding: DiffEncoding) -> Self {
        let mut text = Self { bytes, encoding, lines: split(bytes, encoding), endings: None };
        text.endings = text.find_endings();
        text
    }

    pub(super) fn len(&self) -> usize {
        self.lines.len()
    }

    /// A line with its ending.
    pub(super) fn line(&self, index: usize) -> &'a [u8] {
        &self.bytes[self.lines[index].clone()]
    }

    /// The bytes of a run of lines.
    pub(super) fn run(&self, lines: &Range<usize>) -> &'a [u8] {
        let at = |index: usize| self.lines.get(index).map_or(self.bytes.len(), |line| line.start);
        &self.bytes[at(lines.start)..at(lines.end)]
    }

    /// A line cut into its text and its ending.
    pub(super) fn content(&self, index: usize) -> (&'a [u8], Ending) {
        let line = self.line(index);
        let strip = |text: &'a [u8], sign: u8| text.strip_suffix(&self.encoding.sign(sign)[..]);
        match self.encoding {
            DiffEncoding::Utf8 => match line {
                [text @ .., b'\r', b'\n'] => (text, Ending::CrLf),
                [text @ .., b'\n'] => (text, Ending::Lf),
                text => (text, Ending::None),
            },
            _ => match strip(line, b'\n') {
                None => (line, Ending::None),
                Some(text) => match strip(text, b'\r') {
                    None => (text, Ending::Lf),
                    Some(text) => (text, Ending::CrLf),
                },
            },
        }
    }

    /// The byte order mark at the beginning, empty if there is none.
    pub(super) fn byte_order_mark(&self) -> &'a [u8] {
        let length = match self.encoding {
            DiffEncoding::Utf8 if self.bytes.starts_with(UTF8_BOM) => UTF8_BOM.len(),
            DiffEncoding::Utf8 => 0,
            encoding if DiffEncoding::of(self.bytes) == encoding => UTF16_LE_BOM.len(),
            _ => 0,
        };
        &self.bytes[..length]
    }

    fn find_endings(&self) -> Option<LineEndingStyle> {
        let mut seen = None;
        for index in 0..self.len() {
            let this = match self.content(index).1 {
                Ending::None => continue,
                Ending::Lf => LineEndingStyle::Lf,
                Ending::CrLf => LineEndingStyle::CrLf,
            };
            match seen {
                Some(other) if other != this => return Some(LineEndingStyle::Mixed),
                _ => seen = Some(this),
            }
        }
        seen
    }
}

/// What a line ends with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Ending {
    None,
    Lf,
    CrLf,
}

impl DiffEncoding {
    /// An ASCII character in a two-byte encoding.
    fn sign(self, ascii: u8) -> [u8; 2] {
        match self {
            DiffEncoding::Utf16Be => [0, ascii],
            _ => [ascii, 0],
        }
    }
}

fn split(bytes: &[u8], encoding: DiffEncoding) -> Vec<Range<usize>> {
    let ends: Vec<usize> = match encoding {
        DiffEncoding::Utf8 => memchr::memchr_iter(b'\n', bytes).map(|at| at + 1).collect(),
        _ => {
            let feed = encoding.sign(b'\n');
            let pairs = bytes.chunks_exact(2).enumerate().filter(|(_, pair)| *pair == feed);
            pairs.map(|(at, _)| at * 2 + 2).collect()
        }
    };
    let rest = (ends.last().copied().unwrap_or(0) < bytes.len()).then_some(bytes.len());
    let mut start = 0;
    let line = |end| std::mem::replace(&mut start, end)..end;
    ends.into_iter().chain(rest).map(line).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_keep_their_bytes_in_every_encoding() {
        let utf16 = b"\xFF\xFEa\0\r\0\n\0\x0A\x01b\0";
        let cases: [(&[u8], usize); 5] =
            [(b"", 0), (b"a", 1), (b"a\nb", 2), (b"a\r\n\n", 2), (utf16, 2)];
        for (bytes, count) in cases {
            let text = FileText::new(bytes, DiffEncoding::of(bytes));
            let joined: Vec<u8> = (0..text.len()).flat_map(|at| text.line(at).to_vec()).collect();
            assert_eq!(joined, bytes);
            assert_eq!(text.len(), count, "{bytes:?}");
            assert_eq!(text.run(&(0..text.len())), bytes);
        }
    }

    #[test]
    fn endings_are_told_apart() {
        let endings = |bytes| FileText::new(bytes, DiffEncoding::Utf8).endings;
        assert_eq!(endings(b"a"), None);
        assert_eq!(endings(b"a\nb"), Some(LineEndingStyle::Lf));
        assert_eq!(endings(b"a\r\n"), Some(LineEndingStyle::CrLf));
        assert_eq!(endings(b"a\r\nb\n"), Some(LineEndingStyle::Mixed));
    }
}
