//! Reading opened files.

use std::fs::{File, OpenOptions};
use std::io::Write;

use protocol::{ContentHash, ErrorCode, ToolError};
use workspace::{HASH_LIMIT, LineWindow};

use crate::tree::{Tree, rel};

const WINDOW: LineWindow =
    LineWindow { first_line: 1, max_lines: 3, max_bytes: 1000, max_line_bytes: 100 };

#[test]
fn a_file_is_read_up_to_the_limit() {
    let tree = Tree::with(&[("a", "12345")]);
    let workspace = tree.open();
    let read = |max| workspace.open_file(&rel("a")).unwrap().read_all(max);
    assert_eq!(read(5).unwrap(), b"12345");
    let error = ToolError::from(read(4).unwrap_err());
    assert_eq!(
        (error.code, error.message.as_str()),
        (ErrorCode::FileTooLarge, "a is larger than 4 bytes")
    );
}

#[test]
fn growing_while_open_does_not_pass_the_limit() {
    let tree = Tree::with(&[("a", "12345")]);
    let mut file = tree.open().open_file(&rel("a")).unwrap();
    let mut writer = OpenOptions::new().append(true).open(tree.path("a")).unwrap();
    writer.write_all(b"678").unwrap();
    assert!(file.read_all(6).is_err());
}

#[test]
fn a_window_of_a_file_comes_with_its_hash() {
    let content = "one\ntwo\r\nthree\nfour\n";
    let tree = Tree::with(&[("a", content)]);
    let mut file = tree.open().open_file(&rel("a")).unwrap();
    let window = LineWindow { first_line: 2, ..WINDOW };
    let read = file.read_lines(&window, &|| false).unwrap();
    let lines: Vec<&[u8]> = read.lines.iter().map(|line| line.bytes.as_slice()).collect();
    assert_eq!(lines, [&b"two"[..], b"three", b"four"]);
    assert_eq!(read.hash, Some(ContentHash::of(content.as_bytes())));
    assert!(read.ended_at_eof);
}

#[test]
fn a_sparse_giant_gives_a_bounded_answer() {
    let tree = Tree::with(&[("a", "first\nsecond\nthird\nfourth\n")]);
    let file = OpenOptions::new().write(true).open(tree.path("a")).unwrap();
    file.set_len(HASH_LIMIT * 128).unwrap();
    let mut file = tree.open().open_file(&rel("a")).unwrap();
    let read = file.read_lines(&WINDOW, &|| false).unwrap();
    assert_eq!(read.lines.len(), 3);
    assert_eq!((read.total_lines, read.hash), (None, None));
    assert!(!read.ended_at_eof);
}

#[test]
fn a_cancelled_read_says_so() {
    let tree = Tree::with(&[("a", "text")]);
    let mut file = tree.open().open_file(&rel("a")).unwrap();
    let error = ToolError::from(file.read_lines(&WINDOW, &|| true).unwrap_err());
    assert_eq!(error.code, ErrorCode::Cancelled);
}

#[test]
fn the_opened_file_stays_the_same_when_its_name_is_reused() {
    let tree = Tree::with(&[("a", "old")]);
    let mut file = tree.open().open_file(&rel("a")).unwrap();
    std::fs::remove_file(tree.path("a")).unwrap();
    File::create(tree.path("a")).unwrap();
    assert_eq!(file.read_all(100).unwrap(), b"old");
    assert_eq!(file.path(), &rel("a"));
}
