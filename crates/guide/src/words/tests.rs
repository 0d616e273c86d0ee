use proptest::prelude::*;

use super::*;

#[test]
fn commands_are_split_at_blanks_outside_quotes() {
    let cases: [(&str, &[&str]); 10] = [
        ("", &[]),
        ("  a  b ", &["a", "b"]),
        (r#"a="two words" b"#, &["a=two words", "b"]),
        (r#"'it is' "so""#, &["it is", "so"]),
        (r"\bfn\b", &[r"\bfn\b"]),
        (r#""a\nb\t\"c\" \d""#, &["a\nb\t\"c\" \\d"]),
        (r"'a\nb'", &[r"a\nb"]),
        (r#""" x"#, &["", "x"]),
        ("a\nb", &["a", "b"]),
        ("don't \"open", &["don't", "\"open"]),
    ];
    for (text, expected) in cases {
        let found: Vec<_> = words(text).iter().map(InputWord::whole).collect();
        assert_eq!(found, expected, "{text}");
    }
}

#[test]
fn only_an_equals_sign_outside_quotes_counts() {
    let name = |text| words(text)[0].name.clone();
    assert_eq!(name("path=src").as_deref(), Some("path"));
    assert_eq!(name("'a=b'"), None);
    assert_eq!(name("=b"), None);
    assert_eq!(name("a-b=c"), None);
}

#[test]
fn sentences_lose_their_punctuation_and_keep_what_is_quoted() {
    let cases: [(&str, &[&str]); 10] = [
        ("explain @src/main.rs.", &["explain", "src/main.rs"]),
        ("who uses @scope/x, @\"a b.rs\"?", &["who", "uses", "@scope/x", "a b.rs"]),
        ("What's the project's name?", &["What", "is", "the", "project", "name"]),
        ("Read ./src/main.rs, please.", &["Read", "./src/main.rs", "please"]),
        ("list the files in .", &["list", "the", "files", "in", "."]),
        ("search for \"a b\", now", &["search", "for", "a b", "now"]),
        ("replace `it's` with “that”!", &["replace", "it's", "with", "that"]),
        ("don't panic...", &["don't", "panic"]),
        ("a ? b", &["a", "b"]),
        ("say \"unclosed", &["say", "\"unclosed"]),
    ];
    for (text, expected) in cases {
        let words = sentence_words(text);
        let found: Vec<_> = words.iter().map(|word| word.text.as_str()).collect();
        assert_eq!(found, expected, "{text}");
    }
}

proptest! {
    #[test]
    fn words_are_where_they_say_and_nothing_is_added(
        text in "\\PC*|[ \"'`\\\\=’“”a.?]{0,20}"
    ) {
        for word in words(&text) {
            let begins = text[word.start..].chars().next();
            prop_assert!(begins.is_some_and(|char| !char.is_whitespace()));
        }
        for word in sentence_words(&text) {
            prop_assert!(word.quoted || !word.text.is_empty() && !word.text.contains(char::is_whitespace));
            // Quotes around the value of `name="value"` are not part of the word.
            let unquoted = |text: &str| text.replace(['"', '\'', '`', '’', '“', '”'], "");
            let is_there = unquoted(&text).contains(&unquoted(&word.text));
            prop_assert!(text.contains('\\') || word.text == "is" || is_there);
        }
    }

    #[test]
    fn a_quoted_text_comes_back(text in "[^\\\\\"]*") {
        let words = words(&format!("x=\"{text}\""));
        prop_assert_eq!(&words[0].text, &text);
    }
}
