//! The part of a line that is worth showing.

/// Stands where something was left out.
const CUT: char = '…';
/// The focus has one part in this many of the excerpt before it.
const LEAD: usize = 4;

/// The line as text, at most `max_chars` of it: all if it fits, else the part around the byte
/// `focus`. Bytes that are no characters are shown as U+FFFD.
pub(crate) fn excerpt(line: &[u8], focus: usize, max_chars: usize) -> String {
    let line = line.strip_suffix(b"\n").unwrap_or(line);
    let line = line.strip_suffix(b"\r").unwrap_or(line);
    let focus = focus.min(line.len());
    let from = if line.len() <= max_chars { 0 } else { focus.saturating_sub(max_chars / LEAD) };
    // No character is longer than four bytes, so this bounds the work on a line of any length.
    let to = line.len().min(from.saturating_add(max_chars.saturating_mul(4)));
    let text = String::from_utf8_lossy(&line[from..to]);
    let complete = from == 0 && to == line.len();
    if complete && text.chars().count() <= max_chars {
        return text.into_owned();
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
    shown
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_short_line_is_shown_whole_without_its_ending() {
        assert_eq!(excerpt(b"let x = 1;\r\n", 4, 100), "let x = 1;");
        assert_eq!(excerpt(b"caf\xE9\n", 0, 100), "caf\u{FFFD}");
    }

    #[test]
    fn a_long_line_is_shown_around_the_focus() {
        let line = [vec![b'a'; 1000], b"NEEDLE".to_vec(), vec![b'b'; 1000]].concat();
        let shown = excerpt(&line, 1000, 40);
        assert!(shown.contains("NEEDLE") && shown.starts_with('…') && shown.ends_with('…'));
        assert!(shown.chars().count() <= 42, "{shown}");
    }

    #[test]
    fn wide_characters_are_never_cut_apart() {
        let line = "日".repeat(500);
        let shown = excerpt(line.as_bytes(), 751, 20);
        assert!(shown.trim_matches('…').chars().all(|character| character == '日'), "{shown}");
    }
}
