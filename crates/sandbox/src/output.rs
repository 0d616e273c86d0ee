//! What is kept of an output stream: its beginning and its end.

use std::collections::VecDeque;

use serde::{Deserialize, Serialize};

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Stream {
    /// The standard output.
    Stdout,
    /// The standard error.
    Stderr,
}

/// A piece of output, handed on as it comes.
#[derive(Clone, Copy, Debug)]
pub struct OutputChunk<'a> {
    pub stream: Stream,
    /// The bytes; a character may be cut at the ends.
    pub bytes: &'a [u8],
}

/// The beginning and the end of a stream.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct KeptOutput {
    /// The first bytes.
    pub head: Vec<u8>,
    /// The last bytes; they follow the head if nothing is left out.
    pub tail: Vec<u8>,
    /// How many bytes the stream had.
    pub total_bytes: u64,
    /// How many line ends the stream had.
    #[serde(default)]
    pub total_lines: u64,
}

impl KeptOutput {
    /// How many bytes between head and tail are not kept.
    pub fn left_out(&self) -> u64 {
        self.total_bytes - (self.head.len() + self.tail.len()) as u64
    }

    /// All bytes that are kept.
    pub fn bytes(&self) -> Vec<u8> {
        [self.head.as_slice(), &self.tail].concat()
    }

    /// What is kept, as text, with a line in place of what is not. It is cut where lines end, unless
    /// they are longer than what is kept.
    pub fn text(&self) -> String {
        if self.left_out() == 0 {
            return String::from_utf8_lossy(&self.bytes()).into_owned();
        }
        let head_end = self.head.iter().rposition(|byte| *byte == b'\n').map(|at| at + 1);
        let tail_start = self.tail.iter().position(|byte| *byte == b'\n').map(|at| at + 1);
        let head = &self.head[..head_end.unwrap_or(self.head.len())];
        let tail = &self.tail[tail_start.filter(|at| *at < self.tail.len()).unwrap_or(0)..];
        let bytes = self.total_bytes - (head.len() + tail.len()) as u64;
        let lines = self.total_lines.saturating_sub(line_ends(head) + line_ends(tail));
        let end = if head.ends_with(b"\n") { "" } else { "\n" };
        let (head, tail) = (String::from_utf8_lossy(head), String::from_utf8_lossy(tail));
        format!("{head}{end}[… {lines} lines ({bytes} bytes) left out …]\n{tail}")
    }
}

fn line_ends(bytes: &[u8]) -> u64 {
    bytes.iter().filter(|byte| **byte == b'\n').count() as u64
}

/// Takes a stream and keeps its ends in bounded space.
#[derive(Debug)]
pub(crate) struct Keeper {
    head: Vec<u8>,
    tail: VecDeque<u8>,
    head_room: usize,
    tail_room: usize,
    total_bytes: u64,
    total_lines: u64,
}

impl Keeper {
    /// Keeps at most `room` bytes, three quarters of them from the beginning.
    pub(crate) fn new(room: usize) -> Keeper {
        let tail_room = room / 4;
        Keeper {
            head: Vec::new(),
            tail: VecDeque::new(),
            head_room: room - tail_room,
            tail_room,
            total_bytes: 0,
            total_lines: 0,
        }
    }

    pub(crate) fn take(&mut self, bytes: &[u8]) {
        self.total_bytes += bytes.len() as u64;
        self.total_lines += line_ends(bytes);
        let for_head = bytes.len().min(self.head_room - self.head.len());
        let (head, rest) = bytes.split_at(for_head);
        self.head.extend_from_slice(head);
        let last = &rest[rest.len().saturating_sub(self.tail_room)..];
        let too_many = (self.tail.len() + last.len()).saturating_sub(self.tail_room);
        self.tail.drain(..too_many);
        self.tail.extend(last);
    }

    pub(crate) fn finish(self) -> KeptOutput {
        let Keeper { head, tail, total_bytes, total_lines, .. } = self;
        KeptOutput { head, tail: tail.into(), total_bytes, total_lines }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn keep(room: usize, pieces: &[&[u8]]) -> KeptOutput {
        let mut keeper = Keeper::new(room);
        pieces.iter().for_each(|piece| keeper.take(piece));
        keeper.finish()
    }

    #[test]
    fn what_does_not_fit_is_counted_and_named() {
        let kept = keep(8, &[b"abcd", b"efgh", b"ijkl"]);
        assert_eq!((kept.head.as_slice(), kept.tail.as_slice()), (&b"abcdef"[..], &b"kl"[..]));
        assert_eq!(kept.text(), "abcdef\n[… 0 lines (4 bytes) left out …]\nkl");
        assert_eq!(keep(8, &[b"abc", b"defgh"]).text(), "abcdefgh");
    }

    #[test]
    fn what_does_not_fit_is_cut_where_lines_end() {
        let kept = keep(16, &[b"one\ntwo\nthree\n", b"four\nfive\nsix\n"]);
        assert_eq!(kept.text(), "one\ntwo\n[… 3 lines (16 bytes) left out …]\nsix\n");
    }

    proptest! {
        #[test]
        fn head_and_tail_are_those_of_the_whole(
            room in 0_usize..40,
            pieces in prop::collection::vec(prop::collection::vec(any::<u8>(), 0..30), 0..8),
        ) {
            let whole = pieces.concat();
            let slices: Vec<&[u8]> = pieces.iter().map(Vec::as_slice).collect();
            let kept = keep(room, &slices);
            prop_assert_eq!(kept.total_bytes, whole.len() as u64);
            prop_assert!(whole.starts_with(&kept.head));
            prop_assert!(whole.ends_with(&kept.tail));
            prop_assert_eq!(kept.bytes().len(), whole.len().min(room));
        }
    }
}
