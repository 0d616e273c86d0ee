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

    /// `text` without the key: servers repeat what they refuse.
    pub(crate) fn hide_in(&self, text: &str) -> String {
        text.replace(&self.0, HIDDEN)
    }
}

const HIDDEN: &str = "***";

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
    fn what_is_no_key_is_refused_and_not_repeated() {
        for bad in ["", " \n", "sk 1", "sk-ä", "sk\u{1b}1", "sk\r\nx: y"] {
            let error = Secret::new(bad).expect_err("no key").to_string();
            assert_eq!(error, "a key is one word of printable ASCII characters");
        }
    }
}
