//! Splitting what was typed into words: as a shell does for commands, as a reader does for
//! sentences.

/// A word of a command or of a sentence.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Word {
    /// The word without its quotes; in a sentence also without the punctuation around it.
    pub(crate) text: String,
    /// Whether any part of it was quoted. In a sentence a quoted text is one word, however long.
    pub(crate) quoted: bool,
    /// Where the first `=` outside quotes is.
    pub(crate) equals: Option<usize>,
    /// Where the word begins in what was typed.
    pub(crate) start: usize,
}

impl Word {
    fn spoken(text: &str, quoted: bool) -> Self {
        Self { text: text.to_owned(), quoted, ..Self::default() }
    }

    /// Whether this is one of the words in `list`, which are separated by bars.
    pub(crate) fn is_any_of(&self, list: &str) -> bool {
        !self.quoted && list.split('|').any(|word| self.text.eq_ignore_ascii_case(word))
    }

    /// Whether this is not a plain English word: `DatabaseService`, `read_all`, `x2`, or quoted.
    pub(crate) fn is_name(&self) -> bool {
        self.quoted || self.text.chars().any(|char| !char.is_lowercase() && char != '-')
    }

    /// Whether this can name a file: `main.js`, `src/lib.rs`, `Makefile`, or anything quoted.
    pub(crate) fn is_path(&self) -> bool {
        let dotted = self.text.contains('.') && self.text.chars().any(char::is_alphanumeric);
        self.quoted
            || dotted
            || self.text.contains('/')
            || self.is_any_of("makefile|dockerfile|license|readme|justfile|gemfile")
    }
}

/// A quote was opened and never closed.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct OpenQuote(pub(crate) char);

/// Splits a command. Quotes work as in a shell; in double quotes `\n` and `\t` are line break and
/// tab. Outside quotes a backslash stands for itself unless a quote or a space follows, so that
/// patterns like `\bfn\b` need no quotes.
pub(crate) fn command_words(text: &str) -> Result<Vec<Word>, OpenQuote> {
    let mut words = Vec::new();
    let mut chars = text.char_indices().peekable();
    while let Some(&(start, first)) = chars.peek() {
        if first.is_whitespace() {
            chars.next();
            continue;
        }
        let mut word = Word { start, ..Word::default() };
        while let Some((_, char)) = chars.next_if(|(_, char)| !char.is_whitespace()) {
            match char {
                '"' | '\'' => {
                    word.quoted = true;
                    take_quoted(&mut chars, char, &mut word.text)?;
                    continue;
                }
                '\\' => {
                    let escaped = chars.next_if(|(_, next)| matches!(next, '"' | '\'' | ' '));
                    word.text.push(escaped.map_or('\\', |(_, next)| next));
                    continue;
                }
                '=' => word.equals = word.equals.or(Some(word.text.len())),
                _ => {}
            }
            word.text.push(char);
        }
        words.push(word);
    }
    Ok(words)
}

fn take_quoted(
    chars: &mut impl Iterator<Item = (usize, char)>,
    quote: char,
    text: &mut String,
) -> Result<(), OpenQuote> {
    loop {
        let (_, char) = chars.next().ok_or(OpenQuote(quote))?;
        match char {
            _ if char == quote => return Ok(()),
            '\\' if quote == '"' => match chars.next().ok_or(OpenQuote(quote))?.1 {
                'n' => text.push('\n'),
                't' => text.push('\t'),
                next @ ('"' | '\\') => text.push(next),
                next => text.extend(['\\', next]),
            },
            _ => text.push(char),
        }
    }
}

/// Splits a sentence. An apostrophe inside a word opens no quote; `what's` is two words and
/// `project's` is `project`.
pub(crate) fn sentence_words(text: &str) -> Vec<Word> {
    let mut words = Vec::new();
    let mut rest = text.trim_start();
    while !rest.is_empty() {
        // `@"a path"` mentions a file in the chat.
        rest = rest.strip_prefix('@').filter(|mention| mention.starts_with('"')).unwrap_or(rest);
        if let Some((quoted, after)) = quoted_part(rest) {
            words.push(Word::spoken(quoted, true));
            rest = after;
        } else {
            let (word, after) = rest.split_at(rest.find(char::is_whitespace).unwrap_or(rest.len()));
            push_spoken(&mut words, word);
            rest = after;
        }
        rest = rest.trim_start();
    }
    words
}

/// The quoted text at the beginning of `text`, if its closing quote ends a word.
fn quoted_part(text: &str) -> Option<(&str, &str)> {
    const QUOTES: [(char, char); 5] =
        [('"', '"'), ('\'', '\''), ('`', '`'), ('“', '”'), ('‘', '’')];
    let (body, close) =
        QUOTES.iter().find_map(|(open, close)| Some((text.strip_prefix(*open)?, *close)))?;
    let mut parts = body.match_indices(close).map(|(end, _)| (&body[..end], &body[end..]));
    let (quoted, after) = parts.find_map(|(quoted, after)| {
        let after = after.strip_prefix(close)?;
        (!after.starts_with(char::is_alphanumeric)).then_some((quoted, after))
    })?;
    let after = after.trim_start_matches([',', ';', '.', '?', '!', ':']);
    (!quoted.is_empty()).then_some((quoted, after))
}

fn push_spoken(words: &mut Vec<Word>, raw: &str) {
    let text = raw.trim_end_matches([',', ';', '?', '!', ':']);
    // A dot at the end is a full stop, unless there are only dots: `.` and `..` are directories.
    let undotted = text.trim_end_matches('.');
    let text = if undotted.is_empty() || undotted.ends_with('/') { text } else { undotted };
    let text = mentioned(text).replace('’', "'");
    let lower = text.to_lowercase();
    let stem = if lower.ends_with("'s") { &text[..text.len() - 2] } else { &text };
    if !text.is_empty() {
        words.push(Word::spoken(stem, false));
    }
    if matches!(lower.as_str(), "what's" | "where's" | "who's" | "that's" | "it's") {
        words.push(Word::spoken("is", false));
    }
}

/// `@src/main.rs` mentions a file; `@scope/package` is the name of a package.
fn mentioned(word: &str) -> &str {
    let path = word.strip_prefix('@').filter(|path| {
        let name = path.rsplit('/').next().unwrap_or(path);
        name.trim_start_matches('.').contains('.')
    });
    path.unwrap_or(word)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn commands_are_split_as_a_shell_would() {
        let cases: [(&str, &[&str]); 9] = [
            ("", &[]),
            ("  a  b ", &["a", "b"]),
            (r#"a="two words" b"#, &["a=two words", "b"]),
            (r#"'it is' "so""#, &["it is", "so"]),
            (r"\bfn\b two\ words", &[r"\bfn\b", "two words"]),
            (r#""a\nb\t\"c\" \d""#, &["a\nb\t\"c\" \\d"]),
            (r"'a\nb'", &[r"a\nb"]),
            (r#""" x"#, &["", "x"]),
            ("a\nb", &["a", "b"]),
        ];
        for (text, expected) in cases {
            let words = command_words(text).unwrap();
            let found: Vec<_> = words.iter().map(|word| word.text.as_str()).collect();
            assert_eq!(found, expected, "{text}");
        }
        assert_eq!(command_words("grep don't"), Err(OpenQuote('\'')));
        assert_eq!(command_words(r#""a\"#), Err(OpenQuote('"')));
    }

    #[test]
    fn only_an_equals_sign_outside_quotes_counts() {
        let equals = |text| command_words(text).unwrap()[0].equals;
        assert_eq!(equals("path=src"), Some(4));
        assert_eq!(equals("'a=b'"), None);
        assert_eq!(equals("'a=b'=c"), Some(3));
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
            match command_words(&text) {
                Ok(words) => for word in words {
                    let begins = text[word.start..].chars().next();
                    prop_assert!(begins.is_some_and(|char| !char.is_whitespace()));
                    let is_equals = |at: usize| word.text[at..].starts_with('=');
                    prop_assert!(word.equals.is_none_or(is_equals), "{word:?}");
                },
                Err(OpenQuote(quote)) => prop_assert!(text.contains(quote)),
            }
            for word in sentence_words(&text) {
                let is_one = word.quoted || !word.text.contains(char::is_whitespace);
                prop_assert!(is_one && (!word.text.is_empty() || text.contains("'s") || text.contains("’s")));
                let plain = text.replace('’', "'");
                prop_assert!(word.text == "is" || plain.contains(&word.text.replace('’', "'")));
            }
        }

        #[test]
        fn a_quoted_text_comes_back(text in "[^\\\\\"]*") {
            let words = command_words(&format!("x=\"{text}\"")).unwrap();
            prop_assert_eq!(&words[0].text[2..], text);
        }
    }
}
