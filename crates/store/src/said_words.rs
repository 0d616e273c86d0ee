//! The words of a text as PostgreSQL's search takes them, by the rules of SQLite's `unicode61`: runs of letters and
//! digits, without case and diacritics. Pure.
//!
//! The words are made here and not by the database, so that neither its locale nor its version changes what is found.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use unicode_normalization::UnicodeNormalization as _;
use unicode_normalization::char::is_combining_mark;

/// Longer words are cut; the database takes at most 2046 bytes.
const LONGEST_WORD: usize = 512;
/// The last position that the database tells from others, and how many it keeps for one word.
const LAST_POSITION: usize = 16_383;
const POSITIONS_OF_A_WORD: usize = 255;
/// The database keeps the words of one text within a megabyte; their positions count too.
const MOST_BYTES: usize = 512 * 1024;

/// The words of a text, in order.
fn words(text: &str) -> Vec<String> {
    let mut words = Vec::new();
    let mut word = String::new();
    // A mark alone is no word, and one inside of a word does not end it.
    for letter in text.nfd().filter(|letter| !is_combining_mark(*letter)).chain([' ']) {
        if letter.is_alphanumeric() {
            word.extend(letter.to_lowercase().filter(|it| !is_combining_mark(*it)));
        } else if !word.is_empty() {
            // Composed again, since letters such as those of Hangul are taken apart as well.
            let mut whole: String = word.nfc().collect();
            whole.truncate(whole.floor_char_boundary(LONGEST_WORD));
            words.push(whole);
            word.clear();
        }
    }
    words
}

/// A text as a `tsvector`.
pub(crate) fn vector(text: &str) -> String {
    let mut places: BTreeMap<String, Vec<usize>> = BTreeMap::new();
    for (place, word) in (1..).zip(words(text)) {
        let known = places.entry(word).or_default();
        if known.len() < POSITIONS_OF_A_WORD {
            known.push(place.min(LAST_POSITION));
        }
    }
    let mut vector = String::new();
    for (word, places) in places {
        if vector.len() > MOST_BYTES {
            break;
        }
        let places: Vec<String> = places.iter().map(ToString::to_string).collect();
        let _ = write!(vector, "'{word}':{} ", places.join(","));
    }
    vector
}

/// A question for all of some words as a `tsquery`: what stands without space between is one phrase, and the last
/// word may go on. None if there are no words.
pub(crate) fn query(text: &str) -> Option<String> {
    let parts = text.split_whitespace().map(words).filter(|part| !part.is_empty());
    let phrase = |part: Vec<String>| {
        let quoted: Vec<String> = part.iter().map(|word| format!("'{word}'")).collect();
        quoted.join(" <-> ")
    };
    let phrases: Vec<String> = parts.map(phrase).collect();
    let all = phrases.iter().map(|phrase| format!("({phrase})")).collect::<Vec<_>>().join(" & ");
    // The mark of a beginning belongs to the last word, within its brackets.
    (!phrases.is_empty()).then(|| format!("{}:*)", all.trim_end_matches(')')))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_have_no_case_and_no_marks() {
        let table = [
            ("A Größe of RED", "a große of red"),
            ("foo_bar-baz.rs:12", "foo bar baz rs 12"),
            ("Café e\u{301}te\u{301} İ", "cafe ete i"),
            ("한국어 中文 'quo\\ted'", "한국어 中文 quo ted"),
            (" -- \0 ", ""),
        ];
        for (text, expected) in table {
            assert_eq!(words(text).join(" "), expected, "{text}");
        }
    }

    #[test]
    fn vectors_and_queries_are_in_the_databases_own_language() {
        assert_eq!(vector("red and Red"), "'and':2 'red':1,3 ");
        assert_eq!(query("RED blu").as_deref(), Some("('red') & ('blu':*)"));
        assert_eq!(
            query("store.rs red-bl").as_deref(),
            Some("('store' <-> 'rs') & ('red' <-> 'bl':*)")
        );
        assert_eq!(query(" & | ! "), None);
        let long = vector(&"word ".repeat(20_000));
        assert!(long.len() < 2_000, "{}", long.len());
        assert_eq!(words(&"x".repeat(5_000))[0].len(), LONGEST_WORD);
    }
}
