//! Text of a model or a tool, made harmless: nothing in it is obeyed by a terminal, reorders a line
//! or hides a second text. What languages need, such as joiners between their letters and unusual
//! spaces, stays.

use protocol::{SharedText, visible};

/// Text that comes in pieces. Wherever it is cut, the same comes out.
#[derive(Debug, Default)]
pub struct SafeText {
    /// A carriage return came last; whether it is part of a line end is not known yet.
    return_held: bool,
    before: Option<char>,
}

impl SafeText {
    /// The next piece, with `\n` at the end of every line and everything harmful written out.
    pub fn push(&mut self, text: &str) -> String {
        let mut safe = String::with_capacity(text.len());
        for c in text.chars() {
            if std::mem::take(&mut self.return_held) && c != '\n' {
                safe.push_str(&written_out('\r'));
            }
            match c {
                '\r' => self.return_held = true,
                c if is_harmful(c, self.before) => safe.push_str(&written_out(c)),
                c => safe.push(c),
            }
            self.before = Some(c);
        }
        safe
    }

    /// Adds the next piece to `safe`. What need not be changed is shared with `text`.
    pub(crate) fn add(&mut self, text: &SharedText, safe: &mut SharedText) {
        safe.push_with(text, |piece| Some(self.push(piece)).filter(|pushed| pushed != piece));
    }

    /// What is still to come when the text has ended.
    pub fn finish(&mut self) -> String {
        if std::mem::take(&mut self.return_held) { written_out('\r') } else { String::new() }
    }
}

/// A whole text with everything harmful written out.
pub fn harmless(text: &str) -> String {
    harmless_but(text, &mut None, |_| None)
}

/// Whether nothing in a text has to be written out.
pub(crate) fn is_harmless(text: &str) -> bool {
    harmless(text) == text
}

/// A text behind the character `before` with everything harmful written out, but for the sequences
/// whose length `passes` tells at their beginning.
pub fn harmless_but(
    text: &str,
    before: &mut Option<char>,
    passes: impl Fn(&str) -> Option<usize>,
) -> String {
    let mut safe = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(c) = rest.chars().next() {
        let passed = if c == '\x1b' { passes(rest) } else { None };
        let length = passed.unwrap_or(c.len_utf8());
        if passed.is_none() && is_harmful(c, *before) {
            safe.push_str(&written_out(c));
        } else {
            safe.push_str(&rest[..length]);
        }
        *before = Some(c);
        rest = &rest[length..];
    }
    safe
}

/// JSON that means the same and holds nothing harmful.
pub fn harmless_json(json: &str) -> String {
    let mut safe = String::with_capacity(json.len());
    for c in json.chars() {
        if is_harmful(c, None) {
            for unit in c.encode_utf16(&mut [0; 2]) {
                safe.push_str(&format!("\\u{unit:04x}"));
            }
        } else {
            safe.push(c);
        }
    }
    safe
}

/// A whole text, made harmless.
pub fn safe(text: &str) -> String {
    let mut guard = SafeText::default();
    let mut safe = guard.push(text);
    safe.push_str(&guard.finish());
    safe
}

/// A whole text, made harmless. What need not be changed is shared.
pub(crate) fn safe_shared(text: &SharedText) -> SharedText {
    let mut guard = SafeText::default();
    let mut safe = SharedText::new();
    guard.add(text, &mut safe);
    safe.push_str(&guard.finish());
    safe
}

/// A text made harmless and put on one line.
pub fn one_line(text: &str) -> String {
    let words: Vec<&str> = text.split_whitespace().collect();
    safe(&words.join(" "))
}

/// A line of a program's output: the colours that it set are left out, and of a line that it
/// wrote over only the last state is kept.
pub fn output_line(line: &str) -> String {
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

/// Whether a terminal would obey a character, or a reader not see it. What joins letters of scripts
/// that need it, and emoji, is at home there; unusual spaces are seen.
fn is_harmful(c: char, before: Option<char>) -> bool {
    match c {
        '\n' | '\t' | ' '..='~' => false,
        '\u{200C}' | '\u{200D}' => !before.is_some_and(|c| joins(c) || is_picture(c)),
        '\u{FE0E}' | '\u{FE0F}' => {
            let keycap = |c: char| matches!(c, '0'..='9' | '#' | '*');
            !before.is_some_and(|c| is_picture(c) || keycap(c))
        }
        '\u{2028}' | '\u{2029}' => true,
        c if c.is_control() => true,
        c if c.is_whitespace() || c == '\u{2800}' => false,
        c => *written_out(c) != *c.encode_utf8(&mut [0; 4]),
    }
}

/// Letters whose shapes depend on invisible joiners: of the Arabic family, of India and its
/// neighbours, and Mongolian.
fn joins(c: char) -> bool {
    matches!(c, '\u{0620}'..='\u{08FF}' | '\u{0900}'..='\u{0DFF}' | '\u{0F00}'..='\u{109F}'
        | '\u{1780}'..='\u{17B3}' | '\u{1820}'..='\u{18AA}' | '\u{FB50}'..='\u{FDCF}'
        | '\u{FE70}'..='\u{FEFC}')
}

fn is_picture(c: char) -> bool {
    matches!(c, '\u{FE0F}' | '\u{00A9}' | '\u{00AE}' | '\u{203C}' | '\u{2049}'
        | '\u{2122}'..='\u{2BFF}' | '\u{3030}'..='\u{303D}' | '\u{3297}'..='\u{3299}'
        | '\u{1F000}'..='\u{1FAFF}')
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
            ("a\u{200C}b\u{200D}c\u{200B}d", "a\\u{200C}b\\u{200D}c\\u{200B}d"),
            ("\u{200E}\u{061C}\u{FEFF}\u{3164}", "\\u{200E}\\u{061C}\\u{FEFF}\\u{3164}"),
            (
                "👩\u{200D}💻 ❤\u{FE0F} 1\u{FE0F}\u{20E3} x\u{FE0F}",
                "👩\u{200D}💻 ❤\u{FE0F} 1\u{FE0F}\u{20E3} x\\u{FE0F}",
            ),
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
        fn json_means_the_same_and_holds_nothing_harmful(text in any::<String>()) {
            let json = serde_json::to_string(&text).unwrap();
            let safe = harmless_json(&json);
            prop_assert!(safe.chars().all(|c| !is_harmful(c, None)));
            prop_assert_eq!(serde_json::from_str::<String>(&safe).unwrap(), text);
        }

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
