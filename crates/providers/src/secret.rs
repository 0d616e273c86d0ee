//! A key that cannot be printed.

use std::fmt;

/// A text that is sent and never shown. It has no `Display` and cannot be serialised, so that it
/// ends up in no log by accident.
#[derive(Clone, PartialEq, Eq)]
pub struct Secret(String);

/// The text cannot be a key. It is not repeated here.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("a key is one word of printable ASCII characters")]
pub struct NoKey;

impl Secret {
    /// A key as it was read from a variable or a file; white space around it does not belong to it.
    pub fn new(text: &str) -> Result<Self, NoKey> {
        let text = text.trim();
        let is_word = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_graphic());
        if is_word { Ok(Self(text.to_owned())) } else { Err(NoKey) }
    }

    /// The key itself, to be sent to its provider and nowhere else.
    pub fn expose(&self) -> &str {
        &self.0
    }

    /// `text` without the key: servers repeat what they refuse. A short key, such as the placeholder
    /// of a local server, is hidden where it stands alone and not inside other words.
    pub(crate) fn hide_in(&self, text: &str) -> String {
        if self.0.len() >= LONG_KEY {
            return text.replace(&self.0, HIDDEN);
        }
        let mut hidden = String::with_capacity(text.len());
        let mut rest = text;
        while let Some(at) = rest.find(&self.0) {
            let (before, found) = rest.split_at(at);
            let after = &found[self.0.len()..];
            hidden.push_str(before);
            let in_word = |c: char| c.is_alphanumeric() || c == '_';
            let stands_alone = !hidden.ends_with(in_word) && !after.starts_with(in_word);
            if stands_alone {
                hidden.push_str(HIDDEN);
                rest = after;
            } else {
                // What follows its first character may be the key again.
                let next = found.chars().next().map_or(found.len(), char::len_utf8);
                hidden.push_str(&found[..next]);
                rest = &found[next..];
            }
        }
        hidden + rest
    }
}

const HIDDEN: &str = "***";
/// From this length on a key is not part of an ordinary word.
const LONG_KEY: usize = 12;

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(HIDDEN)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_is_never_shown() {
        let key = Secret::new(" sk-1\n").expect("there is a key");
        assert_eq!(format!("{key:?} {:?}", Some(&key)), "*** Some(***)");
        assert_eq!(key.expose(), "sk-1");
        assert_eq!(key.hide_in("bad key sk-1!"), "bad key ***!");
    }

    #[test]
    fn a_short_key_is_hidden_alone_and_not_in_other_words() {
        let hidden = |key: &str, text: &str| Secret::new(key).unwrap().hide_in(text);
        assert_eq!(
            hidden("no", "no, unknown key \"no\" for node no"),
            "***, unknown key \"***\" for node ***"
        );
        assert_eq!(hidden("aa", "aaa aa"), "aaa ***");
        assert_eq!(hidden("k", "Bearer k"), "Bearer ***");
        let long = "abcdefabcdef";
        assert_eq!(hidden(long, "xabcdefabcdefx"), "x***x");
    }

    #[test]
    fn what_is_no_key_is_refused_and_not_repeated() {
        for bad in ["", " \n", "sk 1", "sk-ä", "sk\u{1b}1", "sk\r\nx: y"] {
            let error = Secret::new(bad).expect_err("no key").to_string();
            assert_eq!(error, "a key is one word of printable ASCII characters");
        }
    }
}
