//! Accepting some hunks: what was shown is what is written.

use proptest::prelude::*;

use super::*;

/// The new text as a user would make it by hand from the hunks on the screen.
fn by_hand(before: &str, hunks: &[Hunk], accepted: &[usize]) -> String {
    let old: Vec<&str> = before.split_inclusive('\n').collect();
    let mut result = String::new();
    let mut next = 0;
    for (number, hunk) in hunks.iter().enumerate() {
        let start = hunk.old_start - usize::from(hunk.old_lines > 0);
        result.extend(old[next..start].iter().copied());
        next = start + hunk.old_lines;
        if !accepted.contains(&number) {
            result.extend(old[start..next].iter().copied());
            continue;
        }
        for line in hunk.lines.iter().filter(|line| line.kind != LineKind::Remove) {
            result += &line.text;
            result += if line.no_newline { "" } else { "\n" };
        }
    }
    result.extend(old[next..].iter().copied());
    result
}

fn subset(choice: u64, count: usize) -> Vec<usize> {
    (0..count).filter(|number| choice >> (number % 64) & 1 == 1).collect()
}

/// Lines that repeat a lot, so that there is more than one way to align two texts.
fn any_text() -> impl Strategy<Value = String> {
    let line = prop::sample::select(vec!["a\n", "b\n", "c\n", "\n", "}\n", "x y\n"]);
    (prop::collection::vec(line, 0..60), prop::sample::select(vec!["", "end"]))
        .prop_map(|(lines, rest)| lines.concat() + rest)
}

/// Bytes of every sort: mixed endings, NUL, byte order marks, halves of characters.
fn any_bytes() -> impl Strategy<Value = Vec<u8>> {
    let piece = prop::sample::select(vec![
        &b"\n"[..],
        b"\r\n",
        b"\r",
        b"a",
        b"b\n",
        b"\xEF\xBB\xBF",
        b"\xFF\xFE",
        b"\xFE\xFF",
        b"\0\n",
        b"\n\0",
        b"a\0",
        b"\xE9",
        b"\xC3",
        b"\0",
    ]);
    prop::collection::vec(piece, 0..40).prop_map(|pieces| pieces.concat())
}

/// A text of distinct lines, and for some of them what they become.
fn distinct_edits() -> impl Strategy<Value = (String, String)> {
    let edit = prop_oneof![8 => Just(0u8), 1 => Just(1), 1 => Just(2), 1 => Just(3)];
    prop::collection::vec(edit, 1..120).prop_map(|edits| {
        let (mut before, mut after) = (String::new(), String::new());
        for (number, edit) in edits.into_iter().enumerate() {
            let line = format!("line {number}\n");
            before += &line;
            after += &match edit {
                0 => line,
                1 => String::new(),
                2 => format!("changed {number}\n"),
                _ => format!("{line}inserted {number}\n"),
            };
        }
        (before, after)
    })
}

/// What a hunk changes, without where it lands.
fn essence(hunk: &Hunk) -> (usize, Vec<(LineKind, String)>) {
    let lines = hunk.lines.iter().map(|line| (line.kind, line.text.clone()));
    (hunk.old_start, lines.collect())
}

proptest! {
    #[test]
    fn all_hunks_give_the_new_bytes_and_none_the_old(before in any_bytes(), after in any_bytes()) {
        let all: Vec<usize> = (0..write(&before, &after).parts()).collect();
        prop_assert_eq!(&apply_selected(&before, &after, &all), &after);
        prop_assert_eq!(&apply_selected(&before, &after, &[]), &before);
    }

    #[test]
    fn what_is_shown_is_what_is_written(
        before in any_text(),
        after in any_text(),
        choice in any::<u64>(),
    ) {
        let hunks = write(before.as_bytes(), after.as_bytes()).hunks;
        let accepted = subset(choice, hunks.len());
        let result = apply_selected(before.as_bytes(), after.as_bytes(), &accepted);
        prop_assert_eq!(String::from_utf8(result).unwrap(), by_hand(&before, &hunks, &accepted));
    }

    #[test]
    fn the_result_differs_from_before_in_exactly_the_accepted_hunks(
        (before, after) in distinct_edits(),
        choice in any::<u64>(),
    ) {
        let hunks = write(before.as_bytes(), after.as_bytes()).hunks;
        let accepted = subset(choice, hunks.len());
        let result = apply_selected(before.as_bytes(), after.as_bytes(), &accepted);
        let again = write(before.as_bytes(), &result).hunks;
        let expected: Vec<_> = accepted.iter().map(|number| essence(&hunks[*number])).collect();
        prop_assert_eq!(again.iter().map(essence).collect::<Vec<_>>(), expected);
    }
}

#[test]
fn binary_content_is_accepted_as_a_whole() {
    assert_eq!(apply_selected(b"\0a", b"\0b", &[0]), b"\0b");
    assert_eq!(apply_selected(b"\0a", b"\0b", &[]), b"\0a");
    assert_eq!(apply_selected(b"a\n", b"b\n", &[7]), b"a\n");
}

/// Shuffled and repeated lines are the worst case of every diff algorithm.
#[test]
fn many_lines_in_another_order_take_no_more_than_a_moment() {
    const LINES: usize = 20_000;
    const STRIDE: usize = 7919;
    let text = |step: usize| -> String {
        (0..LINES).map(|n| format!("{}\n", n * step % LINES % 500)).collect()
    };
    let (before, after) = (text(1), text(STRIDE));
    let hunks = write(before.as_bytes(), after.as_bytes()).hunks;
    let all: Vec<usize> = (0..hunks.len()).collect();
    assert_eq!(apply_selected(before.as_bytes(), after.as_bytes(), &all), after.as_bytes());
}
