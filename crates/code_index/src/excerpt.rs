//! The part of a line that is worth showing.

/// Stands where something was left out.
const CUT: char = '…';
/// The focus has one part in this many of the excerpt before it.
const LEAD: usize = 4;

/// A line as it is shown.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Excerpt {
    pub(crate) text: String,
    /// Whether something of the line was left out.
    pub(crate) is_cut: bool,
}

/// The text of [`Excerpt::of`] alone.
pub(crate) fn excerpt(line: &[u8], focus: usize, max_chars: usize) -> String {
    Excerpt::of(line, focus, max_chars).text
}

impl Excerpt {
    /// The line as text, at most `max_chars` of it: all if it fits, else the part around the byte
    /// `focus`. Bytes that are no characters are shown as U+FFFD.
    pub(crate) fn of(line: &[u8], focus: usize, max_chars: usize) -> Excerpt {
        let line = line.strip_suffix(b"\n").unwrap_or(line);
        let line = line.strip_suffix(b"\r").unwrap_or(line);
        let focus = focus.min(line.len());
        let from = if line.len() <= max_chars { 0 } else { focus.saturating_sub(max_chars / LEAD) };
        // No character is longer than four bytes, so this bounds the work on a line of any length.
        let to = line.len().min(from.saturating_add(max_chars.saturating_mul(4)));
        let text = String::from_utf8_lossy(&line[from..to]);
        let complete = from == 0 && to == line.len();
        if complete && text.chars().count() <= max_chars {
            return Excerpt { text: text.into_owned(), is_cut: false };
        }
        let mut shown = String::new();
        if from > 0 {
            shown.push(CUT);
        }
        let mut characters = text.chars().skip_while(|first| from > 0 && *first == '\u{FFFD}');
        shown.extend(characters.by_ref().take(max_chars));
        if characters.next().is_some() || to < line.len() {
            shown.push(CUT);
        }
        Excerpt { text: shown, is_cut: true }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_short_line_is_shown_whole_without_its_ending() {
        let whole = |text: &str| Excerpt { text: text.into(), is_cut: false };
        assert_eq!(Excerpt::of(b"let x = 1;\r\n", 4, 100), whole("let x = 1;"));
        assert_eq!(Excerpt::of(b"caf\xE9\n", 0, 100), whole("caf\u{FFFD}"));
    }

    #[test]
    fn a_long_line_is_shown_around_the_focus() {
        let line = [vec![b'a'; 1000], b"NEEDLE".to_vec(), vec![b'b'; 1000]].concat();
        let Excerpt { text, is_cut } = Excerpt::of(&line, 1000, 40);
        assert!(text.contains("NEEDLE") && text.starts_with('…') && text.ends_with('…'));
        assert!(text.chars().count() <= 42 && is_cut, "{text}");
    }

    #[test]
    fn wide_characters_are_never_cut_apart() {
        let line = "日".repeat(500);
        let shown = excerpt(line.as_bytes(), 751, 20);
        assert!(shown.trim_matches('…').chars().all(|character| character == '日'), "{shown}");
    }
}
