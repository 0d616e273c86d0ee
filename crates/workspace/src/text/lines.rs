//! Lines and their endings.

use serde::Serialize;

/// How one line ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum LineEnding {
    /// Unix.
    Lf,
    /// Windows.
    CrLf,
    /// Classic Mac.
    Cr,
    /// The last line of a file that does not end with a line ending.
    None,
}

impl LineEnding {
    /// The bytes of the ending.
    pub fn as_bytes(self) -> &'static [u8] {
        match self {
            LineEnding::Lf => b"\n",
            LineEnding::CrLf => b"\r\n",
            LineEnding::Cr => b"\r",
            LineEnding::None => b"",
        }
    }
}

/// How many lines of a text end in which way.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize)]
pub struct LineEndingCounts {
    /// Lines that end in LF alone.
    pub lf: usize,
    /// Lines that end in CR LF.
    pub crlf: usize,
    /// Lines that end in CR; counted only in a text without any LF.
    pub cr: usize,
    /// Whether the last line has an ending. False for an empty text.
    pub final_newline: bool,
}

impl LineEndingCounts {
    pub(crate) fn of(body: &[u8]) -> LineEndingCounts {
        let mut endings = LineEndingCounts::default();
        for (_, ending) in Lines::new(body) {
            match ending {
                LineEnding::Lf => endings.lf += 1,
                LineEnding::CrLf => endings.crlf += 1,
                LineEnding::Cr => endings.cr += 1,
                LineEnding::None => {}
            }
            endings.final_newline = ending != LineEnding::None;
        }
        endings
    }

    /// The ending to give new lines: the most frequent one, or LF if there is none yet.
    pub fn dominant(&self) -> LineEnding {
        match self {
            LineEndingCounts { cr, .. } if *cr > 0 => LineEnding::Cr,
            LineEndingCounts { lf, crlf, .. } if crlf > lf => LineEnding::CrLf,
            _ => LineEnding::Lf,
        }
    }
}

/// Iterator over the lines of a text as (content, ending).
#[derive(Debug, Clone)]
pub struct Lines<'a> {
    rest: &'a [u8],
    /// LF, or CR in a text without any LF: there, and only there, a lone CR ends a line.
    terminator: u8,
}

impl<'a> Lines<'a> {
    pub(crate) fn new(body: &'a [u8]) -> Lines<'a> {
        let terminator = if memchr::memchr(b'\n', body).is_some() { b'\n' } else { b'\r' };
        Lines { rest: body, terminator }
    }
}

impl<'a> Iterator for Lines<'a> {
    type Item = (&'a [u8], LineEnding);

    fn next(&mut self) -> Option<Self::Item> {
        if self.rest.is_empty() {
            return None;
        }
        let Some(at) = memchr::memchr(self.terminator, self.rest) else {
            return Some((std::mem::take(&mut self.rest), LineEnding::None));
        };
        let line = &self.rest[..at];
        self.rest = &self.rest[at + 1..];
        if self.terminator == b'\r' {
            return Some((line, LineEnding::Cr));
        }
        Some(match line.strip_suffix(b"\r") {
            Some(content) => (content, LineEnding::CrLf),
            None => (line, LineEnding::Lf),
        })
    }
}
