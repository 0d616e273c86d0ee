use std::cell::Cell;

use proptest::prelude::*;

use super::*;

const ALL: LineWindow =
    LineWindow { first_line: 1, max_lines: 1000, max_bytes: 1 << 20, max_line_bytes: 1 << 20 };

fn read(window: LineWindow, content: &[u8]) -> ReadLines {
    window.read(&mut &content[..], Some(content.len() as u64), &|| false).unwrap().unwrap()
}

fn shown(read: &ReadLines) -> Vec<(u64, String)> {
    let text = |line: &WindowLine| String::from_utf8(line.bytes.clone()).unwrap();
    read.lines.iter().map(|line| (line.number, text(line))).collect()
}

#[test]
fn lines_and_totals() {
    let table: &[(&str, &[&str], u64)] = &[
        ("", &[], 0),
        ("a", &["a"], 1),
        ("a\n", &["a"], 1),
        ("a\nb", &["a", "b"], 2),
        ("a\r\nb\n\n", &["a", "b", ""], 3),
        ("\n\n", &["", ""], 2),
        ("a\rb\n", &["a\rb"], 1),
        ("a\r", &["a\r"], 1),
    ];
    for (content, lines, total) in table {
        let read = read(ALL, content.as_bytes());
        let texts: Vec<String> = shown(&read).into_iter().map(|(_, text)| text).collect();
        assert_eq!(&texts, lines, "{content:?}");
        assert_eq!(read.total_lines, Some(*total), "{content:?}");
        assert_eq!(read.total_bytes, Some(content.len() as u64));
        assert_eq!(read.hash, Some(ContentHash::of(content.as_bytes())));
        assert!(read.ended_at_eof && !read.byte_limited);
    }
}

#[test]
fn endings_are_reported_line_by_line() {
    let read = read(ALL, b"a\r\nb\nc");
    let endings: Vec<LineEnding> = read.lines.iter().map(|line| line.ending).collect();
    assert_eq!(endings, [LineEnding::CrLf, LineEnding::Lf, LineEnding::None]);
}

#[test]
fn a_window_in_the_middle_knows_the_whole() {
    let content = b"one\ntwo\nthree\nfour\nfive";
    let window = LineWindow { first_line: 2, max_lines: 2, ..ALL };
    let middle = read(window, content);
    assert_eq!(shown(&middle), [(2, "two".into()), (3, "three".into())]);
    assert_eq!(middle.total_lines, Some(5));
    assert!(!middle.ended_at_eof);
    assert_eq!(middle.hash, Some(ContentHash::of(content)));

    let tail = read(LineWindow { first_line: 4, ..ALL }, content);
    assert_eq!(shown(&tail), [(4, "four".into()), (5, "five".into())]);
    assert!(tail.ended_at_eof);

    let beyond = read(LineWindow { first_line: 9, ..ALL }, content);
    assert_eq!((beyond.lines.len(), beyond.total_lines), (0, Some(5)));
    assert!(beyond.ended_at_eof);
}

#[test]
fn a_long_line_is_cut_between_characters() {
    let read_line = |content: &str, max_line_bytes| {
        let read = read(LineWindow { max_line_bytes, ..ALL }, content.as_bytes());
        (shown(&read)[0].1.clone(), read.lines[0].cut, read.lines[0].ending)
    };
    assert_eq!(read_line("abcdef\n", 6), ("abcdef".into(), None, LineEnding::Lf));
    assert_eq!(read_line("abcdef\r\n", 6), ("abcdef".into(), None, LineEnding::CrLf));
    assert_eq!(read_line("abcdef\r\nx", 5), ("abcde".into(), Some(6), LineEnding::CrLf));
    assert_eq!(read_line("aéé", 4), ("aé".into(), Some(5), LineEnding::None));
    assert_eq!(read_line("日本", 2), (String::new(), Some(6), LineEnding::None));
}

#[test]
fn bytes_that_are_no_characters_are_cut_anywhere() {
    let content = [0x80; 20];
    let read = read(LineWindow { max_line_bytes: 10, ..ALL }, &content);
    assert_eq!(read.lines[0].bytes.len(), 10);
}

#[test]
fn the_byte_limit_ends_the_window_between_lines() {
    let read_with = |max_bytes| read(LineWindow { max_bytes, ..ALL }, b"aaaa\nbbbb\ncccc\n");
    let two = read_with(9);
    assert_eq!(shown(&two), [(1, "aaaa".into()), (2, "bbbb".into())]);
    assert!(two.byte_limited && !two.ended_at_eof);
    assert_eq!(two.total_lines, Some(3));

    let cut = read_with(3);
    assert_eq!(shown(&cut), [(1, "aaa".into())]);
    assert_eq!(cut.lines[0].cut, Some(4));
    assert!(!read_with(12).byte_limited);
}

/// A source that makes up its content and counts what is taken from it.
struct Endless<'c> {
    left: u64,
    taken: &'c Cell<u64>,
    line_len: u64,
}

impl Read for Endless<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let count = buffer.len().min(usize::try_from(self.left).unwrap());
        for byte in &mut buffer[..count] {
            let at = self.taken.get();
            *byte = if at % self.line_len == self.line_len - 1 { b'\n' } else { b'x' };
            self.taken.set(at + 1);
        }
        self.left -= count as u64;
        Ok(count)
    }
}

#[test]
fn a_huge_file_is_left_as_soon_as_the_window_is_full() {
    let taken = Cell::new(0);
    let size = 1 << 30;
    let mut source = Endless { left: size, taken: &taken, line_len: 10 };
    let window = LineWindow { first_line: 100, max_lines: 5, ..ALL };
    let read = window.read(&mut source, Some(size), &|| false).unwrap().unwrap();
    assert_eq!(read.lines.len(), 5);
    assert_eq!((read.total_lines, read.hash, read.ended_at_eof), (None, None, false));
    assert!(taken.get() <= BUFFER_BYTES as u64);
}

#[test]
fn a_huge_line_takes_only_its_beginning() {
    let taken = Cell::new(0);
    let size = 8 << 20;
    let mut source = Endless { left: size, taken: &taken, line_len: size * 2 };
    let window = LineWindow { max_line_bytes: 100, ..ALL };
    let read = window.read(&mut source, Some(size), &|| false).unwrap().unwrap();
    assert_eq!(read.lines[0].bytes.len(), 100);
    assert!(read.lines[0].bytes.capacity() < 1 << 10);
    assert_eq!(read.lines[0].cut, Some(size));
    assert_eq!(read.total_lines, Some(1));
}

#[test]
fn cancelling_ends_the_reading() {
    assert_eq!(ALL.read(&mut &b"a\n"[..], None, &|| true).unwrap(), None);
}

proptest! {
    #[test]
    fn all_windows_together_are_the_file(
        content in "(a|é|\r|\n|\r\n){0,60}",
        step in 1_usize..5,
    ) {
        let mut rebuilt = Vec::new();
        let mut next = 1;
        // Each window but the last has a line, and no line is empty of bytes.
        for _ in testkit::at_most(content.len() + 1, "the windows of a file") {
            let window = LineWindow { first_line: next, max_lines: step, ..ALL };
            let part = read(window, content.as_bytes());
            for line in &part.lines {
                prop_assert_eq!(line.number, next);
                next += 1;
                rebuilt.extend_from_slice(&line.bytes);
                rebuilt.extend_from_slice(line.ending.as_bytes());
            }
            if part.ended_at_eof {
                break;
            }
        }
        prop_assert_eq!(rebuilt, content.as_bytes());
    }

    #[test]
    fn answers_are_bounded(
        content in "(aaaa|é|\n){0,80}",
        max_bytes in 0_usize..40,
        max_line_bytes in 0_usize..10,
        max_lines in 0_usize..10,
        first_line in 0_u64..10,
    ) {
        let window = LineWindow { first_line, max_lines, max_bytes, max_line_bytes };
        let read = read(window, content.as_bytes());
        prop_assert!(read.lines.len() <= max_lines);
        prop_assert!(read.lines.iter().all(|line| line.bytes.len() <= max_line_bytes));
        let total: usize = read.lines.iter().map(|line| line.bytes.len()).sum();
        prop_assert!(total <= max_bytes);
    }
}
