//! Splitting what was typed into words: as a shell would for commands, as a reader would for
//! sentences.

/// A word of a command.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Word {
    /// The word without its quotes.
    pub(super) text: String,
    /// Whether any part of it was quoted.
    pub(super) quoted: bool,
    /// Where the first `=` outside quotes is.
    pub(super) equals: Option<usize>,
    /// Where the word begins in what was typed.
    pub(super) start: usize,
}

/// A quote was opened and never closed.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct OpenQuote(pub(super) char);

/// Splits a command. Quotes work as in a shell; in double quotes `\n` and `\t` are line break and
/// tab. Outside quotes a backslash stands for itself unless a quote or a space follows, so that
/// patterns like `\bfn\b` need no quotes.
pub(super) fn command_words(text: &str) -> Result<Vec<Word>, OpenQuote> {
    let mut words = Vec::new();
    let mut chars = text.char_indices().peekable();
    while let Some(&(start, first)) = chars.peek() {
        if first.is_whitespace() {
            chars.next();
            continue;
        }
        let mut word = Word { text: String::new(), quoted: false, equals: None, start };
        while let Some((_, char)) = chars.next_if(|(_, char)| !char.is_whitespace()) {
            match char {
                '"' | '\'' => {
                    word.quoted = true;
                    take_quoted(&mut chars, char, &mut word.text)?;
                }
                '\\' => {
                    let escaped = chars.next_if(|(_, next)| matches!(next, '"' | '\'' | ' '));
                    word.text.push(escaped.map_or('\\', |(_, next)| next));
                }
                _ => {
                    if char == '=' && word.equals.is_none() {
                        word.equals = Some(word.text.len());
                    }
                    word.text.push(char);
                }
            }
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
    while let Some((_, char)) = chars.next() {
        match char {
            _ if char == quote => return Ok(()),
            '\\' if quote == '"' => match chars.next() {
                Some((_, 'n')) => text.push('\n'),
                Some((_, 't')) => text.push('\t'),
                Some((_, next @ ('"' | '\\'))) => text.push(next),
                Some((_, next)) => text.extend(['\\', next]),
                None => return Err(OpenQuote(quote)),
            },
            _ => text.push(char),
        }
    }
    Err(OpenQuote(quote))
}

/// A word of a sentence.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Spoken {
    /// The word as written, without quotes and without the punctuation around it.
    pub(super) text: String,
    /// The same in lower case.
    pub(super) lower: String,
    /// Whether it was quoted; a quoted text is one word, however long.
    pub(super) quoted: bool,
}

impl Spoken {
    fn new(text: &str, quoted: bool) -> Self {
        Self { text: text.to_owned(), lower: text.to_lowercase(), quoted }
    }

    /// Whether this is no plain English word: `DatabaseService`, `read_all`, `x2`, or quoted.
    pub(super) fn is_name(&self) -> bool {
        self.quoted || self.text.chars().any(|char| !char.is_lowercase() && char != '-')
    }

    /// Whether this can name a file: `main.js`, `src/lib.rs`, `Makefile`, or anything quoted.
    pub(super) fn is_path(&self) -> bool {
        let known = ["makefile", "dockerfile", "license", "readme", "justfile", "gemfile"];
        let dotted = self.text.contains('.') && self.text.chars().any(char::is_alphanumeric);
        self.quoted || dotted || self.text.contains('/') || known.contains(&self.lower.as_str())
    }
}

/// Pairs of quotes around a part of a sentence.
const QUOTES: [(char, char); 5] = [('"', '"'), ('\'', '\''), ('`', '`'), ('“', '”'), ('‘', '’')];

/// Splits a sentence. An apostrophe inside a word opens no quote; `what's` is two words and
/// `project's` is `project`.
pub(super) fn sentence_words(text: &str) -> Vec<Spoken> {
    let mut words = Vec::new();
    let mut rest = text.trim_start();
    while let Some(first) = rest.chars().next() {
        // `@"a path"` mentions a file at some doors.
        if rest.starts_with("@\"") {
            rest = &rest[1..];
            continue;
        }
        if let Some((quoted, after)) = quoted_part(rest, first) {
            words.push(Spoken::new(quoted, true));
            rest = after;
        } else {
            let end = rest.find(char::is_whitespace).unwrap_or(rest.len());
            push_spoken(&mut words, &rest[..end]);
            rest = &rest[end..];
        }
        rest = rest.trim_start();
    }
    words
}

/// The quoted text at the beginning of `text`, if its closing quote ends a word.
fn quoted_part(text: &str, first: char) -> Option<(&str, &str)> {
    let (_, close) = QUOTES.iter().find(|(open, _)| *open == first)?;
    let body = &text[first.len_utf8()..];
    let ends_word = |after: &str| !after.starts_with(char::is_alphanumeric);
    let mut candidates = body.match_indices(*close);
    let (end, found) = candidates.find(|(at, found)| ends_word(&body[at + found.len()..]))?;
    let after = &body[end + found.len()..];
    (end > 0).then(|| (&body[..end], after.trim_start_matches([',', ';', '.', '?', '!', ':'])))
}

/// `@src/main.rs` mentions a file; `@scope/package` is the name of a package.
fn mentioned(word: &str) -> &str {
    let path = word.strip_prefix('@').filter(|path| {
        let name = path.rsplit('/').next().unwrap_or(path);
        name.trim_start_matches('.').contains('.')
    });
    path.unwrap_or(word)
}

fn push_spoken(words: &mut Vec<Spoken>, raw: &str) {
    let text = raw.trim_end_matches([',', ';', '?', '!', ':']);
    // A dot at the end is a full stop, unless there are only dots: `.` and `..` are directories.
    let undotted = text.trim_end_matches('.');
    let text = if undotted.is_empty() || undotted.ends_with('/') { text } else { undotted };
    let text = mentioned(text).replace('’', "'");
    match text.to_lowercase().as_str() {
        "" => {}
        "what's" | "where's" | "who's" | "that's" | "it's" => {
            let (word, _) = text.split_once('\'').unwrap_or((&text, ""));
            words.extend([Spoken::new(word, false), Spoken::new("is", false)]);
        }
        lower => {
            let without = if lower.ends_with("'s") { &text[..text.len() - 2] } else { &text };
            words.push(Spoken::new(without, false));
        }
    }
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
        fn any_text_can_be_split(text in "\\PC*|[ \"'`\\\\=’“”a.?]{0,20}") {
            let _ = command_words(&text);
            sentence_words(&text);
        }

        #[test]
        fn a_quoted_text_comes_back(text in "[^\\\\\"]*") {
            let words = command_words(&format!("x=\"{text}\"")).unwrap();
            prop_assert_eq!(&words[0].text[2..], text);
        }
    }
}
