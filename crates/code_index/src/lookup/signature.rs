//! What to show of a definition: its first lines, and the lines around them.

use crate::excerpt::excerpt;

/// Characters of a signature.
const MAX_CHARS: usize = 240;
/// Lines that a signature may be put together from.
const MAX_LINES: usize = 8;

/// The lines of a text, by number.
pub(crate) struct TextLines<'a> {
    text: &'a [u8],
    starts: Vec<usize>,
}

impl<'a> TextLines<'a> {
    pub(crate) fn new(text: &'a [u8]) -> Self {
        let newlines = memchr::memchr_iter(b'\n', text).map(|newline| newline + 1);
        let starts = std::iter::once(0).chain(newlines.filter(|&start| start < text.len()));
        Self { text, starts: starts.collect() }
    }

    /// The number of the line, from 1, in which a byte stands.
    pub(crate) fn line_of(&self, at: usize) -> u32 {
        self.starts.partition_point(|&start| start <= at).max(1) as u32
    }

    /// A line by its number, from 1, with its ending; none beyond the last.
    pub(crate) fn line(&self, number: u32) -> Option<&'a [u8]> {
        let index = (number as usize).checked_sub(1)?;
        let start = *self.starts.get(index)?;
        let end = self.starts.get(index + 1).copied().unwrap_or(self.text.len());
        Some(&self.text[start..end])
    }

    /// Up to `count` lines before line `number`, and after it, each cut to `max_chars`.
    pub(crate) fn context(
        &self,
        number: u32,
        count: u32,
        max_chars: usize,
    ) -> (Vec<String>, Vec<String>) {
        let shown = |numbers: std::ops::Range<u32>| -> Vec<String> {
            numbers.filter_map(|line| Some(excerpt(self.line(line)?, 0, max_chars))).collect()
        };
        let from = number.saturating_sub(count).max(1);
        (shown(from..number), shown(number + 1..(number + 1).saturating_add(count)))
    }
}

/// The head of the definition whose name begins at `name_at`, on one line: from the beginning of
/// its line to where the body begins.
pub(crate) fn signature(text: &[u8], name_at: usize, name_end: usize) -> String {
    let name_at = name_at.min(text.len());
    let start = memchr::memrchr(b'\n', &text[..name_at]).map_or(0, |newline| newline + 1);
    // In C the type may stand on the line above.
    let above = text[..start].trim_ascii_end();
    let above_start = memchr::memrchr(b'\n', above).map_or(0, |newline| newline + 1);
    let line_above = &above[above_start..];
    let is_type = name_at == start && is_only_words(line_above) && above.len() + 2 >= start;
    let start = if is_type { above_start } else { start };
    let mut end = name_end.clamp(name_at, text.len());
    let mut depth = 0u32;
    let mut lines = 0;
    while let Some(&byte) = text.get(end) {
        match byte {
            b'(' | b'[' => depth += 1,
            b')' | b']' => depth = depth.saturating_sub(1),
            b'{' | b';' if depth == 0 => break,
            b'\n' => {
                lines += 1;
                if depth == 0 || lines >= MAX_LINES {
                    break;
                }
            }
            _ => {}
        }
        if end - start > MAX_CHARS * 4 {
            break;
        }
        end += 1;
    }
    let mut head = Vec::with_capacity(end - start);
    for word in text[start..end].split(u8::is_ascii_whitespace).filter(|word| !word.is_empty()) {
        if !head.is_empty() {
            head.push(b' ');
        }
        head.extend_from_slice(word);
    }
    let focus = if head.len() > MAX_CHARS { name_at.saturating_sub(start) } else { 0 };
    let head = head.strip_suffix(b",").unwrap_or(&head);
    excerpt(head.trim_ascii_end(), focus.min(head.len()), MAX_CHARS)
}

/// Whether a line could be the type of a function that begins on the next line.
fn is_only_words(line: &[u8]) -> bool {
    let is_type_byte = |byte: &u8| {
        byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b' ' | b'*' | b'\t' | b'\r')
    };
    line.first().is_some_and(u8::is_ascii_alphabetic) && line.iter().all(is_type_byte)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(text: &str, name: &str) -> String {
        let at = text.find(name).unwrap();
        signature(text.as_bytes(), at, at + name.len())
    }

    #[test]
    fn a_signature_ends_where_the_body_begins() {
        assert_eq!(
            of("    pub fn foo(a: u8) -> u8 {\n        1\n", "foo"),
            "pub fn foo(a: u8) -> u8"
        );
        assert_eq!(
            of("static int\nfoo(int a,\n    int b)\n{\n", "foo"),
            "static int foo(int a, int b)"
        );
        assert_eq!(of("def foo(\n    a,\n    b,\n):\n    pass\n", "foo"), "def foo( a, b, ):");
        assert_eq!(of("int x;\nint foo;\n", "foo"), "int foo");
        assert_eq!(of("    a: u8,\n", "a"), "a: u8");
        assert_eq!(of("const FOO: [u8; 3] = [1, 2, 3];", "FOO"), "const FOO: [u8; 3] = [1, 2, 3]");
        assert_eq!(of("#define FOO 1\r\n#define BAR 2\r\n", "FOO"), "#define FOO 1");
    }

    #[test]
    fn a_huge_line_is_cut_around_the_name() {
        let text = format!("{}function needle(a){{}}{}", "x=1;".repeat(5000), "y=2;".repeat(5000));
        let shown = of(&text, "needle");
        assert!(shown.contains("needle") && shown.chars().count() <= MAX_CHARS + 2, "{shown}");
    }

    #[test]
    fn lines_are_found_by_number_and_by_place() {
        let lines = TextLines::new(b"a\nb\r\nc");
        assert_eq!((lines.line_of(0), lines.line_of(2), lines.line_of(5)), (1, 2, 3));
        assert_eq!(lines.context(2, 5, 80), (vec!["a".to_owned()], vec!["c".to_owned()]));
        assert_eq!(lines.line(4), None);
        assert_eq!(TextLines::new(b"").context(1, 2, 80), (vec![], vec![]));
    }
}
