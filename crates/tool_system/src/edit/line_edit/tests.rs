use proptest::prelude::*;

use super::*;

fn edited(body: &str, edit: LineEdit<'_>) -> (String, usize, isize) {
    let result = edit_lines(body.as_bytes(), edit, None).unwrap();
    (String::from_utf8(result.body).unwrap(), result.total_lines, result.delta)
}

#[test]
fn content_takes_the_endings_of_the_file() {
    use LineEdit::{Delete, Insert, Replace};
    let insert = |after, content| Insert { after, content };
    let replace = |start, end, content| Replace { start, end, content };
    let table = [
        ("a\nb\n", insert(1, "x"), "a\nx\nb\n", 1),
        ("a\nb\n", insert(0, "x\n"), "x\na\nb\n", 1),
        ("a\r\nb\r\n", insert(2, "x\ny"), "a\r\nb\r\nx\r\ny\r\n", 2),
        ("a\nb", insert(2, "x\n"), "a\nb\nx", 1),
        ("a\r\nb", insert(2, "x\ny\n"), "a\r\nb\r\nx\r\ny", 2),
        ("a\rb\r", insert(1, "x\ny"), "a\rx\ry\rb\r", 2),
        ("", insert(0, "x\ny"), "x\ny\n", 2),
        ("a", insert(0, "x"), "x\na", 1),
        ("a\n", insert(1, "\n"), "a\n\n", 1),
        ("a\nb\nc\n", Delete { start: 2, end: 3 }, "a\n", -2),
        ("a\nb", Delete { start: 2, end: 2 }, "a\n", -1),
        ("a\r\nb\nc", Delete { start: 1, end: 1 }, "b\nc", -1),
        ("a\r\nb\nc\n", replace(1, 2, "x\nb\ny"), "x\r\nb\ny\nc\n", 1),
        ("a\nb", replace(2, 2, "x\ny\n"), "a\nx\ny", 1),
        ("a\nb\n", replace(2, 2, "x"), "a\nx\n", 0),
        ("a", replace(1, 1, "x\r\ny"), "x\ny", 1),
        ("a\n", replace(1, 1, "x\n\n"), "x\n\n", 1),
        ("a\nb", replace(2, 2, "\n"), "a\n\n", 0),
        ("a", insert(1, "\n"), "a\n\n", 1),
    ];
    for (body, edit, expected, delta) in table {
        let total = expected.split_inclusive(['\n', '\r']).count();
        let total =
            if expected.contains("\r\n") { LineMap::of(expected.as_bytes()).len() } else { total };
        assert_eq!(edited(body, edit), (expected.to_owned(), total, delta), "{edit:?} on {body:?}");
    }
}

#[test]
fn a_wrong_range_is_told_the_valid_one() {
    let body = b"a\nb\n";
    for edit in [
        LineEdit::Delete { start: 2, end: 3 },
        LineEdit::Delete { start: 0, end: 1 },
        LineEdit::Replace { start: 2, end: 1, content: "x" },
        LineEdit::Insert { after: 3, content: "x" },
    ] {
        let error = edit_lines(body, edit, None).unwrap_err();
        assert_eq!(error.code, ErrorCode::InvalidRange, "{edit:?}");
        assert!(error.message.contains("to 2"), "{}", error.message);
    }
    let empty = edit_lines(b"", LineEdit::Delete { start: 1, end: 1 }, None).unwrap_err();
    assert!(empty.message.contains("the file is empty"), "{}", empty.message);
}

#[test]
fn empty_content_is_refused() {
    let error = edit_lines(b"a\n", LineEdit::Insert { after: 1, content: "" }, None).unwrap_err();
    assert_eq!(error.code, ErrorCode::InvalidArguments);
}

#[test]
fn lines_that_are_not_as_believed_are_shown() {
    let edit = LineEdit::Delete { start: 1, end: 2 };
    for right in ["a\nb", "a\nb\n", "a\r\nb"] {
        edit_lines(b"a\r\nb\nc", edit, Some(right)).unwrap();
    }
    let error = edit_lines(b"a\r\nb\nc", edit, Some("a\nx")).unwrap_err();
    assert_eq!(error.code, ErrorCode::Conflict);
    assert_eq!(error.details["actual"], "a\nb");
    assert!(error.message.contains("in line 2"), "{}", error.message);
    edit_lines(b"\nc", LineEdit::Delete { start: 1, end: 1 }, Some("")).unwrap();
}

proptest! {
    #[test]
    fn everything_outside_the_lines_stays(
        body in "([a-c\u{e9}\r]{0,3}(\n|\r\n)){0,8}[ab]{0,2}",
        content in "[xy\n]{1,6}",
        at in 0..9_usize,
        len in 0..4_usize,
    ) {
        let body = body.as_bytes();
        let map = LineMap::of(body);
        let total = map.len();
        let (at, len) = (at.min(total), len.min(total - at.min(total)));
        let edit = match len {
            0 => LineEdit::Insert { after: at, content: &content },
            1 => LineEdit::Delete { start: at + 1, end: at + 1 },
            _ => LineEdit::Replace { start: at + 1, end: at + len, content: &content },
        };
        let result = edit_lines(body, edit, None).unwrap();
        prop_assert!(result.body.starts_with(&body[..map.start_of(at)]));
        prop_assert!(result.body.ends_with(&body[map.start_of(at + len)..]));
        prop_assert_eq!(
            result.total_lines.cast_signed() - total.cast_signed(), result.delta
        );
    }
}
