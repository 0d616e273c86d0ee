//! The first line of a hunk, and the names of files in a unified diff.

use super::{HunkLine, LineKind, PatchHunk, Position};

/// Reads `@@ -1,3 +1,4 @@ heading`, `@@ anchor` or `@@`. The heading after numbers is only for the
/// eye; a text without numbers is a line to look for.
pub(super) fn parse_hunk_header(line: &str, patch_line: usize) -> PatchHunk {
    let text = line.trim_start_matches("@@").trim();
    let position = parse_position(text);
    let anchor = text.strip_suffix("@@").unwrap_or(text).trim();
    let anchors = match position.is_none() && !anchor.is_empty() && anchor != "..." {
        true => vec![anchor.to_owned()],
        false => Vec::new(),
    };
    PatchHunk {
        patch_line,
        anchors,
        position: position.map(|(old, _)| old),
        ..PatchHunk::default()
    }
}

/// The hunks with every context line that looks like a header read as one; none if that makes no
/// other hunks.
pub(super) fn split_at_padded_headers(hunks: &[PatchHunk]) -> Option<Vec<PatchHunk>> {
    let is_header = |line: &HunkLine| {
        let text = line.content.trim();
        line.kind == LineKind::Context && (text == "@@" || text.starts_with("@@ "))
    };
    if !hunks.iter().flat_map(|hunk| &hunk.lines).any(is_header) {
        return None;
    }
    let mut split: Vec<PatchHunk> = Vec::new();
    for hunk in hunks {
        let PatchHunk { lines, at_end, .. } = hunk;
        let mut next = PatchHunk { lines: Vec::new(), at_end: false, ..hunk.clone() };
        for (offset, line) in lines.iter().enumerate() {
            if !is_header(line) {
                next.lines.push(line.clone());
                continue;
            }
            let patch_line = hunk.patch_line + offset;
            let header = parse_hunk_header(line.content.trim(), patch_line);
            if next.lines.is_empty() {
                // Several headers in a row are anchors within anchors.
                next.anchors.extend(header.anchors);
                next.position = header.position.or(next.position);
            } else {
                split.push(std::mem::replace(&mut next, header));
            }
        }
        split.push(PatchHunk { at_end: *at_end, ..next });
    }
    split.iter_mut().for_each(PatchHunk::add_at_end_unless_placed);
    split.iter().all(|hunk| !hunk.changes_nothing()).then_some(split)
}

/// The old and the new side of `-1,3 +1,4 @@`.
pub(super) fn parse_position(text: &str) -> Option<(Position, Position)> {
    let mut words = text.split_whitespace();
    let old = parse_side(words.next()?.strip_prefix('-')?)?;
    let new = parse_side(words.next()?.strip_prefix('+')?)?;
    Some((old, new))
}

fn parse_side(side: &str) -> Option<Position> {
    let (start, count) = side.split_once(',').unwrap_or((side, "1"));
    Some(Position { start: start.parse().ok()?, count: count.parse().ok()? })
}

/// The name after `--- `, `+++ ` or `rename from `: without a time stamp, and unquoted. `None` for
/// `/dev/null`.
pub(super) fn parse_name(text: &str) -> Option<String> {
    let text = text.trim_end_matches('\r');
    let name = match text.strip_prefix('"').and_then(|quoted| quoted.split_once("\"")) {
        Some(_) => unquote(text),
        None => text.split('\t').next().unwrap_or(text).trim_end().to_owned(),
    };
    (name != "/dev/null").then_some(name)
}

/// Undoes the quoting of C, which git uses for names with unusual characters.
fn unquote(text: &str) -> String {
    let mut bytes = Vec::new();
    let mut rest = text.as_bytes()[1..].iter().copied().peekable();
    while let Some(byte) = rest.next().filter(|byte| *byte != b'"') {
        if byte != b'\\' {
            bytes.push(byte);
            continue;
        }
        match rest.next() {
            Some(b'n') => bytes.push(b'\n'),
            Some(b't') => bytes.push(b'\t'),
            Some(b'r') => bytes.push(b'\r'),
            Some(digit @ b'0'..=b'7') => {
                let mut code = u32::from(digit - b'0');
                for _ in 0..2 {
                    if let Some(digit) = rest.next_if(|byte| matches!(byte, b'0'..=b'7')) {
                        code = code * 8 + u32::from(digit - b'0');
                    }
                }
                bytes.push(code.to_le_bytes()[0]);
            }
            Some(other) => bytes.push(other),
            None => {}
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

/// Old and new name without the `a/` and `b/` that git puts in front of them.
pub(super) fn without_prefixes(
    old: Option<String>,
    new: Option<String>,
) -> (Option<String>, Option<String>) {
    let strip = |name: &Option<String>, prefix: &str| match name {
        Some(name) => name.strip_prefix(prefix).map(|name| Some(name.to_owned())),
        None => Some(None),
    };
    match (strip(&old, "a/"), strip(&new, "b/")) {
        (Some(old), Some(new)) => (old, new),
        _ => (old, new),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_read_as_git_and_diff_write_them() {
        let name = |text: &str| parse_name(text);
        assert_eq!(name("a/src/x.rs").as_deref(), Some("a/src/x.rs"));
        assert_eq!(name("a/x\t2026-01-01 00:00:00").as_deref(), Some("a/x"));
        assert_eq!(name(r#""a/\303\251 \"q\".txt""#).as_deref(), Some("a/é \"q\".txt"));
        assert_eq!(name("/dev/null"), None);
        let some = |text: &str| Some(text.to_owned());
        assert_eq!(without_prefixes(some("a/x"), some("b/y")), (some("x"), some("y")));
        assert_eq!(without_prefixes(None, some("b/y")), (None, some("y")));
        assert_eq!(without_prefixes(some("a/x"), some("a/x")), (some("a/x"), some("a/x")));
    }

    #[test]
    fn hunks_have_numbers_or_an_anchor() {
        let hunk = parse_hunk_header("@@ -3,0 +4,2 @@ fn main() {", 7);
        assert_eq!(hunk.position, Some(Position { start: 3, count: 0 }));
        assert_eq!((hunk.anchors.len(), hunk.patch_line), (0, 7));
        assert_eq!(
            parse_hunk_header("@@ -3 +4 @@", 1).position,
            Some(Position { start: 3, count: 1 })
        );
        assert_eq!(parse_hunk_header("@@ def f():", 1).anchors, ["def f():"]);
        assert_eq!(parse_hunk_header("@@ -x @@", 1).anchors, ["-x"]);
        assert!(parse_hunk_header("@@ @@", 1).anchors.is_empty());
    }
}
