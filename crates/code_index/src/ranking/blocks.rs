//! Where functions, types and paragraphs begin, judged by the shape of the text.
//!
//! Hits that stand in one block belong together. As with definitions, this is a guess for ranking
//! that works without a grammar and costs a look at the lines between two hits.

/// Hits that are further apart are in different blocks, whatever stands between them: about eighty
/// lines, longer than most functions.
const MAX_DISTANCE: usize = 3000;
/// The deepest column where a block begins: the methods of a class.
const MAX_INDENT: usize = 4;
/// What a tab counts.
const TAB: usize = 4;

/// How lines begin that define something.
const HEADS: &[&[u8]] = &[
    b"abstract ",
    b"async ",
    b"class ",
    b"const ",
    b"def ",
    b"enum ",
    b"export ",
    b"final ",
    b"fn ",
    b"func ",
    b"function ",
    b"impl",
    b"interface ",
    b"internal ",
    b"macro",
    b"mod ",
    b"module ",
    b"override ",
    b"private ",
    b"protected ",
    b"pub",
    b"static ",
    b"struct ",
    b"trait ",
    b"type ",
    b"unsafe ",
];
/// How comments and attributes begin, which belong to what follows them.
const COMMENTS: &[&[u8]] = &[b"//", b"/*", b"#", b"@", b"--"];

/// Whether another block begins somewhere behind `from`, up to the line that holds `to`.
pub(super) fn begins_between(text: &[u8], from: usize, to: usize) -> bool {
    if to.saturating_sub(from) > MAX_DISTANCE {
        return true;
    }
    let between = text.get(from..to.min(text.len())).unwrap_or_default();
    memchr::memchr_iter(b'\n', between).any(|newline| begins_at(text, from + newline + 1))
}

/// Whether the line that starts at `start` begins a block: not deep, and after a blank line or the
/// end of another block.
fn begins_at(text: &[u8], start: usize) -> bool {
    // Most lines are deep, which their first bytes tell.
    let rest = text.get(start..).unwrap_or_default();
    let deep = rest.len().min(MAX_INDENT + 1);
    if rest[..deep].iter().all(|byte| *byte == b' ') {
        return false;
    }
    let line = line_at(text, start);
    let Some(indent) = indent(line).filter(|indent| *indent <= MAX_INDENT) else { return false };
    let before = &text[..start.saturating_sub(1)];
    let before = &before[memchr::memrchr(b'\n', before).map_or(0, |newline| newline + 1)..];
    let ends = match self::indent(before) {
        None => true,
        Some(indent) => {
            let before = before.trim_ascii();
            indent <= MAX_INDENT && (before.starts_with(b"}") || before == b"end")
        }
    };
    let line = line.trim_ascii_start();
    let is_head = || HEADS.iter().chain(COMMENTS).any(|head| line.starts_with(head));
    ends && (indent == 0 || is_head())
}

pub(super) fn line_at(text: &[u8], start: usize) -> &[u8] {
    let rest = text.get(start..).unwrap_or_default();
    &rest[..memchr::memchr(b'\n', rest).unwrap_or(rest.len())]
}

/// The column where a line begins; none if it is blank.
pub(super) fn indent(line: &[u8]) -> Option<usize> {
    let mut column = 0;
    for byte in line {
        match byte {
            b' ' => column += 1,
            b'\t' => column += TAB,
            b'\r' => {}
            _ => return Some(column),
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn together(text: &str, first: &str, second: &str) -> bool {
        let (from, to) = (text.find(first).unwrap(), text.find(second).unwrap());
        !begins_between(text.as_bytes(), from, to)
    }

    #[test]
    fn functions_methods_and_paragraphs_are_blocks() {
        let rust = "fn alpha() {\n    beta();\n\n    gamma();\n}\n/// Delta\nfn epsilon() {}\n";
        let python = "class A:\n    def alpha(self):\n        beta\n\n        gamma\n\n    def delta(self):\n        pass\n";
        let prose = "alpha beta\ngamma\n\ndelta\n";
        for text in [rust, python, prose] {
            let text = text.to_lowercase();
            assert!(together(&text, "alpha", "beta"), "{text}");
            assert!(together(&text, "beta", "gamma"), "{text}");
            assert!(!together(&text, "gamma", "delta"), "{text}");
        }
        assert!(together(rust, "Delta", "epsilon"), "a comment belongs to what follows");
    }

    #[test]
    fn what_is_far_apart_is_not_together() {
        let text = format!("alpha\n{}beta\n", "    x\n".repeat(MAX_DISTANCE / 6));
        assert!(!together(&text, "alpha", "beta"));
    }

    proptest! {
        #[test]
        fn any_two_places_of_any_text_can_be_asked_about(
            text in "[ a}\\n\\t#é]{0,60}", from in 0_usize..80, to in 0_usize..80,
        ) {
            let between = begins_between(text.as_bytes(), from, to);
            let middle = (from + to) / 2;
            // A block that begins in one part begins in the whole.
            if from <= middle && middle <= to && begins_between(text.as_bytes(), from, middle) {
                prop_assert!(between);
            }
        }
    }
}
