//! Text of a model or a tool, made harmless: nothing in it is obeyed by a terminal, reorders a line
//! or hides a second text. What languages need, such as joiners and unusual spaces, stays.

use protocol::visible;

/// Text that comes in pieces. Wherever it is cut, the same comes out.
#[derive(Debug, Default)]
pub(crate) struct SafeText {
    /// A carriage return came last; whether it is part of a line end is not known yet.
    return_held: bool,
}

impl SafeText {
    /// The next piece, with `\n` at the end of every line and everything harmful written out.
    pub(crate) fn push(&mut self, text: &str) -> String {
        let mut safe = String::with_capacity(text.len());
        for c in text.chars() {
            if std::mem::take(&mut self.return_held) && c != '\n' {
                safe.push_str(&written_out('\r'));
            }
            match c {
                '\r' => self.return_held = true,
                c if is_harmful(c) => safe.push_str(&written_out(c)),
                c => safe.push(c),
            }
        }
        safe
    }

    /// What is still to come when the text has ended.
    pub(crate) fn finish(&mut self) -> String {
        if std::mem::take(&mut self.return_held) { written_out('\r') } else { String::new() }
    }
}

/// A whole text, made harmless.
pub(crate) fn safe(text: &str) -> String {
    let mut guard = SafeText::default();
    let mut safe = guard.push(text);
    safe.push_str(&guard.finish());
    safe
}

/// A text made harmless and put on one line.
pub(crate) fn one_line(text: &str) -> String {
    let words: Vec<&str> = text.split_whitespace().collect();
    safe(&words.join(" "))
}

/// A line of a program's output: the colours that it set are left out, and of a line that it
/// wrote over only the last state is kept.
pub(crate) fn output_line(line: &str) -> String {
    let line = line.trim_end_matches(['\r', '\n']);
    let last = line.rsplit('\r').next().unwrap_or(line);
    safe(&without_colours(last))
}

fn without_colours(line: &str) -> String {
    let mut kept = String::with_capacity(line.len());
    let mut rest = line;
    while let Some(start) = rest.find("\x1b[") {
        kept.push_str(&rest[..start]);
        let body = &rest[start + 2..];
        let end = body.find(|c: char| !c.is_ascii_digit() && c != ';');
        match end {
            Some(end) if body[end..].starts_with('m') => rest = &body[end + 1..],
            _ => {
                kept.push('\x1b');
                rest = &rest[start + 1..];
            }
        }
    }
    kept.push_str(rest);
    kept
}

fn is_harmful(c: char) -> bool {
    match c {
        '\n' | '\t' => false,
        // Line separators, directions and tags; a terminal may obey the first two, and nobody sees the third.
        '\u{2028}'..='\u{202E}' | '\u{2066}'..='\u{2069}' | '\u{E0000}'..='\u{E007F}' => true,
        c => c.is_control(),
    }
}

fn written_out(c: char) -> String {
    visible(c.encode_utf8(&mut [0; 4]))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn what_a_terminal_would_obey_is_written_out() {
        let table = [
            ("plain\ttext\n", "plain\ttext\n"),
            ("\x1b]0;title\x07", "\\x1B]0;title\\x07"),
            ("\u{9b}2J", "\\u{009B}2J"),
            ("a\r\nb\rc\r", "a\nb\\rc\\r"),
            ("\u{202E}evil", "\\u{202E}evil"),
            ("هاي\u{200C}هاي\u{00A0}!", "هاي\u{200C}هاي\u{00A0}!"),
        ];
        for (text, expected) in table {
            assert_eq!(safe(text), expected, "{text:?}");
        }
        assert_eq!(one_line(" a\n  b\u{7} "), "a b\\x07");
    }

    #[test]
    fn the_output_of_programs_loses_colours_and_overwritten_text() {
        let table = [
            ("\x1b[1;32m   Compiling\x1b[0m x", "   Compiling x"),
            ("10%\r20%\r30%\r\n", "30%"),
            ("\x1b[2J\x1b[", "\\x1B[2J\\x1B["),
        ];
        for (line, expected) in table {
            assert_eq!(output_line(line), expected, "{line:?}");
        }
    }

    proptest! {
        #[test]
        fn no_control_survives_and_no_cut_matters(text in any::<String>(), cut in any::<prop::sample::Index>()) {
            let whole = safe(&text);
            prop_assert!(whole.chars().all(|c| matches!(c, '\n' | '\t') || !c.is_control()));
            let at = text.char_indices().map(|(at, _)| at).nth(cut.index(text.chars().count().max(1)));
            let (left, right) = text.split_at(at.unwrap_or(0));
            let mut guard = SafeText::default();
            let pieces = guard.push(left) + &guard.push(right) + &guard.finish();
            prop_assert_eq!(pieces, whole);
        }
    }
}
