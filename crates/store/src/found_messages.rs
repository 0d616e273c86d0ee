//! Messages that hold some words.

use serde::Deserialize;
use serde_json::Value;

use crate::SessionId;

/// Characters of an excerpt before the word that was looked for, and in all.
const BEFORE: usize = 60;
const EXCERPT: usize = 200;
/// Bytes of a message that can be found; what is pasted into one may be much longer.
const MOST_TEXT: usize = 64 * 1024;

/// The kinds of events whose words are looked for.
pub(crate) const SAID_KINDS: [&str; 3] = ["user_message", "user_added", "model_answered"];

/// The messages that hold some words, one of each session, the newest first.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FoundMessages {
    /// The newest message of each session.
    pub messages: Vec<FoundMessage>,
    /// Whether there are more, or some sessions were not looked at yet.
    pub more: bool,
}

/// A message that holds what was looked for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FoundMessage {
    pub session: SessionId,
    /// The entry of its log.
    pub sequence: u64,
    /// When it was written: milliseconds since 1970, UTC.
    pub at: i64,
    /// The part around the first word that was looked for, on one line.
    pub excerpt: String,
}

/// The text of a stored message or answer; none if it has none.
pub(crate) fn text_of(data: &str) -> Option<String> {
    #[derive(Deserialize)]
    struct Event {
        data: Said,
    }
    #[derive(Deserialize)]
    struct Said {
        content: Vec<Value>,
    }
    let event: Event = serde_json::from_str(data).ok()?;
    let texts = event.data.content.iter().filter_map(|part| part.get("text")?.as_str());
    let mut text = texts.collect::<Vec<_>>().join("\n");
    text.truncate(text.floor_char_boundary(MOST_TEXT));
    Some(text).filter(|text| !text.trim().is_empty())
}

/// What the index is asked for: all words, the last of which may go on.
pub(crate) fn index_query(words: &str) -> Option<String> {
    // The index reads its questions up to the first zero.
    let words = words.split(|c: char| c.is_whitespace() || c == '\0');
    let words = words.filter(|word| !word.is_empty());
    let quoted = words.map(|word| format!("\"{}\"", word.replace('"', "\"\"")));
    let quoted: Vec<String> = quoted.collect();
    (!quoted.is_empty()).then(|| format!("{}*", quoted.join(" ")))
}

/// The part of a text around the first of some words, on one line.
pub(crate) fn excerpt(text: &str, words: &str) -> String {
    let lower = text.to_lowercase();
    let found = words.split_whitespace().find_map(|word| lower.find(&word.to_lowercase()));
    // Small letters may take other bytes, so that the place is counted in characters.
    let at = found.map_or(0, |at| lower[..at].chars().count());
    let start = at.saturating_sub(BEFORE);
    let part: String = text.chars().skip(start).take(EXCERPT).collect();
    let line = part.split_whitespace().collect::<Vec<_>>().join(" ");
    let before = if start > 0 { "…" } else { "" };
    let after = if text.chars().nth(start + EXCERPT).is_some() { "…" } else { "" };
    format!("{before}{line}{after}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_asked_for_as_they_are() {
        assert_eq!(index_query(" a  \"b\" OR"), Some(r#""a" """b""" "OR"*"#.to_owned()));
        assert_eq!(index_query(" \0 "), None);
    }

    #[test]
    fn an_excerpt_is_around_the_first_word() {
        assert_eq!(excerpt("one\n two", "TWO"), "one two");
        assert_eq!(excerpt("one", "absent"), "one");
        let long = format!("{} needle {}", "ä ".repeat(300), "z ".repeat(300));
        let shown = excerpt(&long, "needle");
        assert!(shown.starts_with("…ä ä") && shown.ends_with("z…"), "{shown}");
        assert!(shown.contains("needle") && shown.chars().count() <= EXCERPT + 2, "{shown}");
    }
}
