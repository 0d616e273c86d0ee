//! The words of a query, before they are taken apart.

use super::words::is_identifier;

/// The most bytes of a word that count. What is longer is no name, and each place where a word may
/// stand is compared with all of it.
const MAX_WORD_BYTES: usize = 200;
const APOSTROPHES: [char; 2] = ['\'', '’'];
/// What stands behind an apostrophe and is no word: `user's`, `we'll`.
const SHORTENED: &[&str] = &["d", "ll", "m", "re", "s", "t", "ve"];

/// The words and identifiers of a query that say something by themselves.
pub(super) fn tokens(query: &str) -> impl Iterator<Item = &str> {
    separated(query).flat_map(without_shortened).filter_map(bare)
}

/// All of its words and identifiers.
pub(super) fn all_tokens(query: &str) -> impl Iterator<Item = &str> {
    separated(query).flat_map(|token| token.split(APOSTROPHES)).filter_map(bare)
}

/// A query at everything that is neither letter nor digit nor within a word.
fn separated(query: &str) -> impl Iterator<Item = &str> {
    let is_part = |character: char| {
        character == '-'
            || APOSTROPHES.contains(&character)
            || u8::try_from(character).map_or(character.is_alphanumeric(), is_identifier)
    };
    query.split(move |character| !is_part(character))
}

/// A token without what surrounds it, at most as long as a name; nothing if nothing is left.
fn bare(token: &str) -> Option<&str> {
    let token = token.trim_matches(['-', '_', '$']);
    Some(&token[..token.floor_char_boundary(MAX_WORD_BYTES)]).filter(|token| !token.is_empty())
}

/// What apostrophes separate, without what they shorten: nothing is left of `doesn't`.
fn without_shortened(word: &str) -> impl Iterator<Item = &str> {
    let pieces: Vec<&str> = word.split(APOSTROPHES).collect();
    let is_shortened = |at: usize| {
        let is_one = |piece: &&str| SHORTENED.iter().any(|end| end.eq_ignore_ascii_case(piece));
        at > 0 && !pieces[at - 1].is_empty() && is_one(&pieces[at])
    };
    let says = |at: &usize| {
        let denies = pieces[*at].ends_with(['n', 'N'])
            && pieces.get(at + 1).is_some_and(|next| next.eq_ignore_ascii_case("t"));
        !denies && !is_shortened(*at)
    };
    let said: Vec<&str> = (0..pieces.len()).filter(says).map(|at| pieces[at]).collect();
    said.into_iter()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_an_apostrophe_shortens_is_no_word() {
        let table: [(&str, &[&str], &[&str]); 7] = [
            ("the user's cache", &["the", "user", "cache"], &["the", "user", "s", "cache"]),
            ("users’ cache", &["users", "cache"], &["users", "cache"]),
            ("it doesn't parse", &["it", "parse"], &["it", "doesn", "t", "parse"]),
            (
                "we'll 'quote' O'Brien",
                &["we", "quote", "O", "Brien"],
                &["we", "ll", "quote", "O", "Brien"],
            ),
            ("don't", &[], &["don", "t"]),
            ("'s'", &["s"], &["s"]),
            ("'' -_$", &[], &[]),
        ];
        for (query, telling, all) in table {
            assert_eq!(tokens(query).collect::<Vec<_>>(), telling, "{query}");
            assert_eq!(all_tokens(query).collect::<Vec<_>>(), all, "{query}");
        }
    }
}
