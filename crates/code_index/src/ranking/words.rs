//! Words within text: the parts of identifiers, and what is left of a word without its ending.

/// The shortest stem. Below it, words that have nothing to do with each other become the same.
const MIN_STEM: usize = 4;
/// Endings that are taken off, longest first.
const STRIPPED: &[&str] =
    &["ations", "ation", "ions", "ings", "ing", "ion", "ers", "ors", "ies", "ied", "er", "or"];
/// Endings that are taken off after those.
const STRIPPED_LAST: &[&str] = &["ed", "es", "s", "e", "y"];
/// What may follow a stem for a word to be the same one in another form.
const ENDINGS: &[&str] = &[
    "", "s", "e", "es", "d", "ed", "ing", "ings", "er", "ers", "or", "ors", "ion", "ions", "ation",
    "ations", "y", "ies", "ied",
];

/// The parts of `camelCase`, `snake_case`, `kebab-case` and `HTTPServer2`, as they are written.
pub(super) fn parts(text: &str) -> Vec<&str> {
    let bytes = text.as_bytes();
    let mut parts = Vec::new();
    let mut start = 0;
    for at in 0..=bytes.len() {
        if at == bytes.len() || !is_word(bytes[at]) {
            if start < at {
                parts.push(&text[start..at]);
            }
            start = at + 1;
        } else if at > start && begins_part(bytes, at) {
            parts.push(&text[start..at]);
            start = at;
        }
    }
    parts
}

/// How many parts [`parts`] finds in a text.
pub(super) fn count_parts(text: &[u8]) -> usize {
    let begins = |at: &usize| is_word(text[*at]) && begins_part(text, *at);
    (0..text.len()).filter(begins).count()
}

/// Whether a byte belongs to a word. Bytes beyond ASCII do: they are letters more often than not. For
/// the others see [`is_separator`].
pub(super) fn is_word(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte >= 0x80
}

/// Whether a byte belongs to an identifier.
pub(super) fn is_identifier(byte: u8) -> bool {
    is_word(byte) || byte == b'_' || byte == b'$'
}

/// Whether a part of an identifier begins at `at`. Characters of scripts without spaces are parts of
/// their own, since nothing tells where a word of several begins.
pub(super) fn begins_part(text: &[u8], at: usize) -> bool {
    let Some(before) = at.checked_sub(1).map(|before| text[before]) else { return true };
    if !is_word(before) {
        return true;
    }
    let Some(&here) = text.get(at) else { return true };
    if before >= 0x80 && follows_separator(text, at) {
        return true;
    }
    if is_unspaced(text, at)
        || before >= 0x80 && !is_continuation(here) && follows_unspaced(text, at)
    {
        return true;
    }
    let next_is_lower = text.get(at + 1).is_some_and(u8::is_ascii_lowercase);
    here.is_ascii_uppercase() && (!before.is_ascii_uppercase() || next_is_lower)
        || here.is_ascii_digit() != before.is_ascii_digit()
}

/// Whether a character of a script without spaces begins at `at`: Chinese, Japanese, and Korean, whose
/// words carry their particles.
pub(super) fn is_unspaced(text: &[u8], at: usize) -> bool {
    let byte = |at: usize| text.get(at).copied().unwrap_or_default();
    let next = byte(at + 1);
    // The bytes that begin U+2E80 to U+9FFF, U+AC00 to U+D7FF, U+F900 to U+FAFF, U+FF40 to U+FFBF and
    // U+20000 to U+3FFFF.
    let begins = match byte(at) {
        0xE2 => next >= 0xBA,
        0xE3..=0xE9 | 0xEB..=0xED => true,
        0xEA => next >= 0xB0,
        0xEF => matches!(next, 0xA4..=0xAB | 0xBD..=0xBE),
        0xF0 => next >= 0xA0,
        _ => false,
    };
    // In other encodings the same bytes are letters such as `é`.
    begins && is_continuation(next) && is_continuation(byte(at + 2))
}

/// Whether the character before `at` is of such a script.
fn follows_unspaced(text: &[u8], at: usize) -> bool {
    lead_before(text, at).is_some_and(|lead| is_unspaced(text, lead))
}

/// Where the character before `at` begins.
fn lead_before(text: &[u8], at: usize) -> Option<usize> {
    (at.saturating_sub(4)..at).rev().find(|at| !is_continuation(text[*at]))
}

/// Whether the character before `at` is a separator.
pub(super) fn follows_separator(text: &[u8], at: usize) -> bool {
    lead_before(text, at).is_some_and(|lead| is_separator(&text[..at], lead))
}

/// Whether a character beyond ASCII begins at `at` that does not belong to a word: a quotation mark, a dash, an
/// arrow, a mark of the byte order and the like. Joiners, which stand within words, are none.
pub(super) fn is_separator(text: &[u8], at: usize) -> bool {
    let length = match text.get(at) {
        Some(0xC2..=0xC3) => 2,
        Some(0xE2 | 0xE3 | 0xEF) => 3,
        Some(0xF0) => 4,
        _ => return false,
    };
    let character = text.get(at..at + length).and_then(|bytes| std::str::from_utf8(bytes).ok());
    let Some(character) = character.and_then(|text| text.chars().next()) else { return false };
    let is_latin_letter = matches!(character, 'ª' | 'µ' | 'º');
    !is_latin_letter
        && matches!(character,
            '\u{80}'..='\u{BF}' | '×' | '÷'
            | '\u{2000}'..='\u{200B}' | '\u{200E}'..='\u{206F}'
            | '\u{2190}'..='\u{2BFF}'
            | '\u{3000}'..='\u{3004}' | '\u{3008}'..='\u{3020}' | '\u{3030}'
            | '\u{FEFF}' | '\u{FF01}'..='\u{FF0F}' | '\u{FF1A}'..='\u{FF20}'
            | '\u{FF3B}'..='\u{FF40}' | '\u{FF5B}'..='\u{FF65}'
            | '\u{1F000}'..='\u{1FAFF}')
}

/// Whether a byte of UTF-8 continues a character.
fn is_continuation(byte: u8) -> bool {
    matches!(byte, 0x80..=0xBF)
}

/// Where the part of an identifier that holds `at` ends.
pub(super) fn part_end(text: &[u8], at: usize) -> usize {
    let ends = |at: &usize| {
        let byte = text[*at];
        !is_word(byte) || begins_part(text, *at) || byte >= 0x80 && is_separator(text, *at)
    };
    (at..text.len()).find(ends).unwrap_or(text.len())
}

/// A word in lower case without the endings of its forms: `executor`, `executes` and `executing`
/// are all `execut`. It is the beginning of all of them and no word itself.
pub(super) fn stem(word: &str) -> String {
    let mut stem = word.to_lowercase();
    if !stem.is_ascii() {
        return stem;
    }
    let strip = |stem: &mut String, endings: &[&'static str]| {
        let ending = endings
            .iter()
            .find(|ending| stem.len() >= MIN_STEM + ending.len() && stem.ends_with(**ending));
        if let Some(ending) = ending {
            stem.truncate(stem.len() - ending.len());
        }
        ending.copied()
    };
    if stem.ends_with("ss") || stem.ends_with("us") || stem.ends_with("is") {
        return stem;
    }
    let ending = strip(&mut stem, STRIPPED).or_else(|| strip(&mut stem, STRIPPED_LAST));
    if matches!(ending, Some("ing" | "ings" | "ed")) {
        undoubled(&mut stem);
    }
    stem
}

/// `runn`, from `running`, is `run`; but `call`, `pass` and `fizz` are what they are.
fn undoubled(stem: &mut String) {
    if let [.., before, last] = stem.as_bytes()
        && before == last
        && stem.len() > MIN_STEM - 1
        && !matches!(last, b'l' | b's' | b'z' | b'e' | b'o')
        && last.is_ascii_alphabetic()
    {
        stem.pop();
    }
}

/// Whether what follows a stem in a text makes it a form of the same word.
pub(super) fn is_ending(rest: &[u8], last_of_stem: u8) -> bool {
    let is_known = |rest: &[u8]| {
        rest.len() <= 6 && ENDINGS.iter().any(|ending| rest.eq_ignore_ascii_case(ending.as_bytes()))
    };
    is_known(rest)
        || rest.len() > 1 && rest[0].eq_ignore_ascii_case(&last_of_stem) && is_known(&rest[1..])
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn identifiers_come_apart_at_their_humps_and_separators() {
        let table: [(&str, &[&str]); 10] = [
            ("camelCase", &["camel", "Case"]),
            ("snake_case", &["snake", "case"]),
            ("kebab-case", &["kebab", "case"]),
            ("HTTPServer", &["HTTP", "Server"]),
            ("parseJSON2Text", &["parse", "JSON", "2", "Text"]),
            ("__init__", &["init"]),
            ("", &[]),
            ("größeÄndern", &["größeÄndern"]),
            ("ab検索cd", &["ab", "検", "索", "cd"]),
            ("검색2", &["검", "색", "2"]),
        ];
        for (text, expected) in table {
            assert_eq!(parts(text), expected, "{text}");
            assert_eq!(count_parts(text.as_bytes()), expected.len(), "{text}");
        }
    }

    #[test]
    fn letters_of_other_encodings_are_no_script_without_spaces() {
        // `déjà` and `über` in Latin-1.
        for text in [&b"d\xE9j\xE0"[..], b"\xFCber", b"\xE9\xE9", b"\xF0\xA0"] {
            assert_eq!(count_parts(text), 1, "{text:?}");
        }
    }

    #[test]
    fn forms_of_a_word_have_one_stem_which_begins_them_all() {
        let table: [(&str, &[&str]); 8] = [
            ("execut", &["execute", "executes", "executed", "executing", "executor"]),
            ("quer", &["queries", "query"]),
            ("run", &["running", "run"]),
            ("pars", &["parse", "parser", "parsers", "parsing"]),
            ("permiss", &["permission", "permissions"]),
            ("class", &["class"]),
            ("user", &["user", "users"]),
            ("match", &["matching", "matched", "matches", "matcher"]),
        ];
        for (expected, words) in table {
            for word in words {
                assert_eq!(stem(word), expected, "{word}");
                let rest = &word.as_bytes()[expected.len()..];
                assert!(is_ending(rest, expected.as_bytes()[expected.len() - 1]), "{word}");
            }
        }
    }

    proptest! {
        #[test]
        fn nothing_is_lost_or_torn_apart(text in "[a-zA-Z0-9_ éß日-]{0,24}") {
            let kept: String = parts(&text).concat();
            let words: String = text.chars().filter(|c| c.is_alphanumeric()).collect();
            prop_assert_eq!(kept, words);
            stem(&text);
        }
    }
}
