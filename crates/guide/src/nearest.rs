//! Did you mean: the known word that a misspelled one is closest to, and the known requests that an
//! unknown one is closest to.

use crate::words::sentence_words;

/// How alike two words must be, of 1, for one to be meant by the other: `gerp` and `grep` are just
/// alike enough.
const ALIKE: f64 = 0.75;
/// Longer words are texts that were pasted.
const LONGEST_WORD: usize = 40;

pub(crate) fn nearest<'a>(word: &str, known: impl Iterator<Item = &'a str>) -> Option<&'a str> {
    // Comparing takes time by the product of the lengths.
    if word.len() > LONGEST_WORD {
        return None;
    }
    let word = word.to_lowercase();
    let rated = known.map(|known| (strsim::normalized_damerau_levenshtein(&word, known), known));
    let alike = rated.filter(|(likeness, _)| *likeness >= ALIKE);
    alike.max_by(|(one, _), (other, _)| one.total_cmp(other)).map(|(_, known)| known)
}

/// Words of a request that are compared; comparing more takes long and tells nothing.
const COMPARED_WORDS: usize = 40;
/// Words that say nothing about what is asked for.
const EMPTY_WORDS: &str =
    "a|all|an|and|for|i|if|in|is|it|me|my|of|on|please|that|the|this|to|what|with|you";

/// The known requests, those first that share the most words with what was said.
pub(crate) fn nearest_requests<'a>(
    said: &str,
    known: impl Iterator<Item = &'a str>,
) -> Vec<&'a str> {
    let telling = |text: &str| {
        let words = sentence_words(text).into_iter().filter(|word| !word.is_any_of(EMPTY_WORDS));
        words.take(COMPARED_WORDS).map(|word| word.text.to_lowercase()).collect::<Vec<_>>()
    };
    let said = telling(said);
    let shared = |request: &str| {
        let words = telling(request);
        said.iter().filter(|word| nearest(word, words.iter().map(String::as_str)).is_some()).count()
    };
    let mut known: Vec<&str> = known.collect();
    // The sort is stable: of equally near ones the first in the list stays first.
    known.sort_by_cached_key(|request| std::cmp::Reverse(shared(request)));
    known
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn requests_with_the_same_words_come_first_and_else_the_order_stays() {
        let known = ["Find all TODO comments", "Show me src/main.rs", "Rename one to other"];
        let nearest = |said| nearest_requests(said, known.into_iter());
        assert_eq!(nearest("can you rename all of it")[0], known[2]);
        assert_eq!(nearest("show the main file")[0], known[1]);
        assert_eq!(nearest("a poem about kilns"), known);
    }

    #[test]
    fn a_text_that_was_pasted_is_near_to_nothing() {
        let pasted = "grep".repeat(1_000_000);
        assert_eq!(nearest(&pasted, ["grep", &pasted].into_iter()), None);
        assert_eq!(nearest_requests(&pasted, ["Show me a.rs"].into_iter()), ["Show me a.rs"]);
    }

    #[test]
    fn one_slip_is_forgiven_and_another_word_is_not() {
        let known = ["grep", "read_file", "pattern"];
        let cases = [
            ("gerp", Some("grep")),
            ("GREP", Some("grep")),
            ("read_fil", Some("read_file")),
            ("patern", Some("pattern")),
            ("glob", None),
            ("x", None),
            ("", None),
        ];
        for (word, expected) in cases {
            assert_eq!(nearest(word, known.into_iter()), expected, "{word}");
        }
    }
}
