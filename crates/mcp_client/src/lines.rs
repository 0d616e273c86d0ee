//! Lines of bounded length from pieces of a stream.

use memchr::memchr;

/// Bytes of one message. A larger one is dropped while it comes.
pub(crate) const MAX_LINE: usize = 16 << 20;
/// Bytes of one message after which its end is no longer waited for.
const MAX_SKIPPED: usize = 512 << 20;
/// A buffer that has grown beyond this is freed once its line is taken.
const KEPT_BYTES: usize = 1 << 20;

/// What a stream holds.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Line<'b> {
    Whole(&'b [u8]),
    /// It has become longer than it may. Said once; the rest is skipped.
    TooLong,
}

/// Splits a stream into lines and never holds more than the longest line allowed.
#[derive(Debug)]
pub(crate) struct LineSplitter {
    limit: usize,
    begun: Vec<u8>,
    /// The rest of a line that is too long is skipped.
    skips: bool,
    /// Bytes of it so far.
    skipped: usize,
}

impl LineSplitter {
    pub(crate) fn new(limit: usize) -> Self {
        Self { limit, begun: Vec::new(), skips: false, skipped: 0 }
    }

    /// Whether the line that is skipped is so long that it may never end.
    pub(crate) fn is_endless(&self) -> bool {
        self.skips && self.skipped > MAX_SKIPPED
    }

    /// Takes the next piece of the stream.
    pub(crate) fn feed(&mut self, mut bytes: &[u8], mut take: impl FnMut(Line<'_>)) {
        while let Some(at) = memchr(b'\n', bytes) {
            let (rest, after) = (&bytes[..at], &bytes[at + 1..]);
            bytes = after;
            if self.skips {
                self.skips = false;
            } else if self.begun.len() + rest.len() > self.limit {
                self.begun = Vec::new();
                take(Line::TooLong);
            } else if self.begun.is_empty() {
                take(Line::Whole(rest));
            } else {
                self.begun.extend_from_slice(rest);
                take(Line::Whole(&self.begun));
                self.begun.clear();
                self.begun.shrink_to(KEPT_BYTES);
            }
        }
        if self.skips {
            self.skipped = self.skipped.saturating_add(bytes.len());
            return;
        }
        if self.begun.len() + bytes.len() > self.limit {
            self.begun = Vec::new();
            self.skips = true;
            self.skipped = 0;
            return take(Line::TooLong);
        }
        self.begun.extend_from_slice(bytes);
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn lines(limit: usize, pieces: &[&[u8]]) -> Vec<String> {
        let mut splitter = LineSplitter::new(limit);
        let mut lines = Vec::new();
        for piece in pieces {
            splitter.feed(piece, |line| {
                lines.push(match line {
                    Line::Whole(line) => String::from_utf8_lossy(line).into_owned(),
                    Line::TooLong => "(too long)".to_owned(),
                });
            });
            assert!(splitter.begun.len() <= limit);
        }
        lines
    }

    #[test]
    fn a_line_that_is_too_long_is_told_once_and_the_next_is_read_again() {
        assert_eq!(lines(4, &[b"ab\ncd", b"ef\nrest"]), ["ab", "cdef"]);
        assert_eq!(lines(4, &[b"abcde", b"fgh", b"\nok\n"]), ["(too long)", "ok"]);
        assert_eq!(lines(4, &[b"abc", b"de\nok\n"]), ["(too long)", "ok"]);
    }

    proptest! {
        #[test]
        fn how_a_stream_is_cut_makes_no_difference(
            bytes in prop::collection::vec(prop::sample::select(b"ab\n".to_vec()), 0..60),
            cuts in prop::collection::vec(0_usize..60, 0..6),
        ) {
            let mut cuts: Vec<usize> = cuts.into_iter().map(|cut| cut.min(bytes.len())).collect();
            cuts.extend([0, bytes.len()]);
            cuts.sort_unstable();
            let pieces: Vec<&[u8]> = cuts.windows(2).map(|cut| &bytes[cut[0]..cut[1]]).collect();
            let mut whole = bytes.clone();
            whole.push(b'\n');
            let mut cut = pieces;
            cut.push(b"\n");
            prop_assert_eq!(lines(5, &cut), lines(5, &[&whole]));
        }
    }
}
