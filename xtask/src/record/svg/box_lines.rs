//! Characters that draw boxes, as lines that meet from row to row.

use std::fmt::Write as _;

use super::number;

/// From which sides lines come to the middle: left, right, top, bottom; and whether they meet in a
/// curve.
const LINES: [(char, [bool; 4], bool); 15] = [
    ('─', [true, true, false, false], false),
    ('│', [false, false, true, true], false),
    ('╭', [false, true, false, true], true),
    ('╮', [true, false, false, true], true),
    ('╰', [false, true, true, false], true),
    ('╯', [true, false, true, false], true),
    ('┌', [false, true, false, true], false),
    ('┐', [true, false, false, true], false),
    ('└', [false, true, true, false], false),
    ('┘', [true, false, true, false], false),
    ('├', [false, true, true, true], false),
    ('┤', [true, false, true, true], false),
    ('┬', [true, true, false, true], false),
    ('┴', [true, true, true, false], false),
    ('┼', [true, true, true, true], false),
];

/// Whether a character is one of them.
pub(super) fn is_line(c: char) -> bool {
    LINES.iter().any(|(line, ..)| *line == c)
}

/// The path of such characters, which stand side by side from `x` on.
pub(super) fn path(text: &str, x: f64, width: f64, height: f64) -> String {
    let mut out = String::new();
    let mut at = x;
    let mut rest = text;
    while let Some(first) = rest.chars().next() {
        // Long lines are one piece.
        let dashes = rest.chars().take_while(|c| *c == '─').count();
        if dashes > 0 {
            let length = dashes as f64 * width;
            let _ = write!(out, "M{} {}h{}", number(at), number(height / 2.0), number(length));
            at += length;
            rest = &rest[dashes * '─'.len_utf8()..];
        } else {
            one(first, at, width, height, &mut out);
            at += width;
            rest = &rest[first.len_utf8()..];
        }
    }
    out
}

fn one(c: char, x: f64, width: f64, height: f64, out: &mut String) {
    let Some((_, [left, right, top, bottom], is_curve)) = LINES.iter().find(|(it, ..)| *it == c)
    else {
        return;
    };
    let (middle_x, middle_y) = (x + width / 2.0, height / 2.0);
    let side = if *left { x } else { x + width };
    let end = if *top { 0.0 } else { height };
    if *is_curve {
        let _ = write!(
            out,
            "M{} {}Q{} {} {} {}",
            number(side),
            number(middle_y),
            number(middle_x),
            number(middle_y),
            number(middle_x),
            number(end),
        );
        return;
    }
    let arms = [
        (*left, x, middle_y),
        (*right, x + width, middle_y),
        (*top, middle_x, 0.0),
        (*bottom, middle_x, height),
    ];
    for (_, to_x, to_y) in arms.into_iter().filter(|(is_there, ..)| *is_there) {
        let (from_x, from_y) = (number(middle_x), number(middle_y));
        let _ = write!(out, "M{from_x} {from_y}L{} {}", number(to_x), number(to_y));
    }
}
