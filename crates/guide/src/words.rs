//! Splitting what was typed into words, for commands and for sentences.

/// A word of a command or of a sentence.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct InputWord {
    /// What stands before `=`, as in `path=src` or `--path=src`.
    pub(crate) name: Option<String>,
    /// The word without its quotes; in a sentence also without the punctuation around it.
    pub(crate) text: String,
    /// A quoted text is one word, however long.
    pub(crate) quoted: bool,
    /// Where the word begins in what was typed.
    pub(crate) start: usize,
}

impl InputWord {
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

    /// The word with its name, if what looks like one is part of the text.
    pub(crate) fn whole(&self) -> String {
        self.name.iter().map(|name| format!("{name}=")).collect::<String>() + &self.text
    }
}

/// Splits at blanks. A quote opens at the beginning of a word or behind `name=`, so that `don't`
/// has none.
pub(crate) fn words(text: &str) -> Vec<InputWord> {
    let mut words = Vec::new();
    let mut rest = text.trim_start();
    while !rest.is_empty() {
        let start = text.len() - rest.len();
        let is_name = |name: &str| match name.strip_prefix("--") {
            Some(flag) => !flag.is_empty() && flag.chars().all(|char| is_word(char) || char == '-'),
            None => name.chars().all(is_word),
        };
        let named = rest.split_once('=').filter(|(name, _)| !name.is_empty() && is_name(name));
        let (name, value) = named.map_or((None, rest), |(name, value)| (Some(name), value));
        let (text, quoted, after) = match quoted_part(value) {
            Some((text, after)) => (text, true, after),
            None => {
                let end = value.find(char::is_whitespace).unwrap_or(value.len());
                (value[..end].to_owned(), false, &value[end..])
            }
        };
        words.push(InputWord { name: name.map(str::to_owned), text, quoted, start });
        rest = after.trim_start();
    }
    words
}

fn is_word(char: char) -> bool {
    char.is_alphanumeric() || char == '_'
}

/// The quoted text at the beginning of `text`, if its closing quote ends a word, and what follows
/// it. In double quotes `\n` and `\t` are line break and tab. `@"a path"` mentions a file in the chat.
fn quoted_part(text: &str) -> Option<(String, &str)> {
    const QUOTES: [(char, char); 5] =
        [('"', '"'), ('\'', '\''), ('`', '`'), ('“', '”'), ('‘', '’')];
    let text = text.strip_prefix('@').filter(|text| text.starts_with('"')).unwrap_or(text);
    let (body, close) =
        QUOTES.iter().find_map(|(open, close)| Some((text.strip_prefix(*open)?, *close)))?;
    let mut quoted = String::new();
    let mut chars = body.chars();
    while let Some(char) = chars.next() {
        if char == close && !chars.as_str().starts_with(char::is_alphanumeric) {
            let after = chars.as_str().trim_start_matches([',', ';', '.', '?', '!', ':']);
            return Some((quoted, after));
        }
        let escaped = chars.as_str().chars().next().filter(|_| char == '\\' && close == '"');
        let meant = match escaped {
            Some('n') => '\n',
            Some('t') => '\t',
            Some(next @ ('"' | '\\')) => next,
            _ => {
                quoted.push(char);
                continue;
            }
        };
        quoted.push(meant);
        chars.next();
    }
    None
}

/// Splits a sentence: punctuation goes, `what's` is two words and `project's` is `project`.
pub(crate) fn sentence_words(text: &str) -> Vec<InputWord> {
    let mut spoken = Vec::new();
    for word in words(text) {
        if word.quoted {
            spoken.push(InputWord { text: word.whole(), name: None, ..word });
            continue;
        }
        let whole = word.whole().replace('’', "'");
        let text = mentioned(without_punctuation(&whole));
        let lower = text.to_lowercase();
        let stem = if lower.ends_with("'s") { &text[..text.len() - 2] } else { text };
        if !stem.is_empty() {
            spoken.push(InputWord {
                text: stem.to_owned(),
                start: word.start,
                ..InputWord::default()
            });
        }
        if matches!(lower.as_str(), "what's" | "where's" | "who's" | "that's" | "it's") {
            spoken.push(InputWord {
                text: "is".to_owned(),
                start: word.start,
                ..InputWord::default()
            });
        }
    }
    spoken
}

/// A dot at the end is a full stop, unless there are only dots: `.` and `..` are directories.
fn without_punctuation(word: &str) -> &str {
    let word = word.trim_end_matches([',', ';', '?', '!', ':']);
    let undotted = word.trim_end_matches('.');
    if undotted.is_empty() || undotted.ends_with('/') { word } else { undotted }
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
mod tests;
