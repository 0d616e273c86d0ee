//! Did you mean: the known word that a misspelled one is closest to.

/// How alike two words must be, of 1, for one to be meant by the other: `gerp` and `grep` are just
/// alike enough.
const ALIKE: f64 = 0.75;

pub(crate) fn nearest<'a>(word: &str, known: impl Iterator<Item = &'a str>) -> Option<&'a str> {
    let word = word.to_lowercase();
    let rated = known.map(|known| (strsim::normalized_damerau_levenshtein(&word, known), known));
    let alike = rated.filter(|(likeness, _)| *likeness >= ALIKE);
    alike.max_by(|(one, _), (other, _)| one.total_cmp(other)).map(|(_, known)| known)
}

#[cfg(test)]
mod tests {
    use super::*;

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
