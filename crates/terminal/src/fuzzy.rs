//! Which of many texts are meant by a few letters.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use nucleo_matcher::pattern::{AtomKind, CaseMatching, Normalization, Pattern};
use nucleo_matcher::{Config, Matcher, Utf32Str};

/// A text that holds the letters of a query.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct FuzzyHit {
    /// Its place among the texts that were asked about.
    pub(crate) index: usize,
    /// Which characters of it were meant, in order.
    pub(crate) characters: Vec<u32>,
}

/// The texts that hold the letters of `query` in order, the best first; all, as they come, if it is
/// empty. A query of several words finds the texts that hold each of them.
pub(crate) fn rank<'a>(query: &str, texts: impl Iterator<Item = &'a str>) -> Vec<FuzzyHit> {
    if query.trim().is_empty() {
        let hit = |(index, _)| FuzzyHit { index, characters: Vec::new() };
        return texts.enumerate().map(hit).collect();
    }
    let mut matcher = Matcher::new(Config::DEFAULT.match_paths());
    let pattern = Pattern::new(query, CaseMatching::Smart, Normalization::Smart, AtomKind::Fuzzy);
    let mut hits = Vec::new();
    let mut buffer = Vec::new();
    for (index, text) in texts.enumerate() {
        let mut characters = Vec::new();
        let haystack = Utf32Str::new(text, &mut buffer);
        if let Some(score) = pattern.indices(haystack, &mut matcher, &mut characters) {
            characters.sort_unstable();
            characters.dedup();
            hits.push((score, text.len(), FuzzyHit { index, characters }));
        }
    }
    // Of equally good ones the shorter is more likely, and then the one that came first.
    hits.sort_by(|a, b| b.0.cmp(&a.0).then(a.1.cmp(&b.1)));
    hits.into_iter().map(|(_, _, hit)| hit).collect()
}

/// The places of the `most` texts that hold the letters of `query` best, the best first, by the same order
/// as the lists on the screen. It is for many texts: nothing is kept of those that do not count.
pub fn best_matches<'a>(
    query: &str,
    texts: impl Iterator<Item = &'a str>,
    most: usize,
) -> Vec<usize> {
    let mut matcher = Matcher::new(Config::DEFAULT.match_paths());
    let pattern = Pattern::new(query, CaseMatching::Smart, Normalization::Smart, AtomKind::Fuzzy);
    let mut buffer = Vec::new();
    let scored = texts.enumerate().filter_map(|(index, text)| {
        let score = pattern.score(Utf32Str::new(text, &mut buffer), &mut matcher)?;
        Some((Reverse(score), text.len(), index))
    });
    // The largest is the worst that is kept.
    let mut best = BinaryHeap::with_capacity(most + 1);
    for hit in scored {
        best.push(hit);
        if best.len() > most {
            best.pop();
        }
    }
    best.into_sorted_vec().into_iter().map(|(_, _, index)| index).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_best_of_many_are_those_that_a_list_shows_first() {
        let texts: Vec<String> =
            (0..200).map(|n| format!("src/part{}/cart{n}.ts", n % 7)).collect();
        let texts = || texts.iter().map(String::as_str).chain(["cart.ts", "README.md"]);
        for query in ["cart", "cart7", "p3c1", "README", "zzz", ""] {
            let ranked: Vec<usize> = rank(query, texts()).iter().map(|hit| hit.index).collect();
            let best = best_matches(query, texts(), 5);
            if !query.is_empty() {
                assert_eq!(best, ranked[..ranked.len().min(5)], "{query}");
            }
            assert_eq!(best.len(), ranked.len().min(5), "{query}");
        }
    }

    #[test]
    fn names_come_before_scattered_letters() {
        let texts = ["src/canary_rotation.ts", "src/cart.ts", "test/cart.test.ts", "README.md"];
        let names = |query: &str| {
            let hits = rank(query, texts.into_iter());
            hits.iter().map(|hit| texts[hit.index]).collect::<Vec<_>>()
        };
        assert_eq!(names("cart")[..2], ["src/cart.ts", "test/cart.test.ts"]);
        assert_eq!(names("readme"), ["README.md"]);
        assert_eq!(names(""), texts);
        assert!(names("zzz").is_empty());
        assert_eq!(names("test cart"), ["test/cart.test.ts"]);
    }
}
