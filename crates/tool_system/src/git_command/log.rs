//! `git log` in a form whose fields cannot be mistaken.

use schemars::JsonSchema;
use serde::Serialize;

/// Fields begin with a letter and end with NUL, which no text of a commit can hold.
pub(crate) const FORMAT: &str = "--format=c%H%x00a%an%x00d%aI%x00s%s%x00b%b%x00";

/// One commit.
#[derive(Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub(crate) struct Commit {
    pub(crate) commit: String,
    pub(crate) author: String,
    pub(crate) date: String,
    pub(crate) subject: String,
    #[serde(skip_serializing_if = "String::is_empty")]
    pub(crate) body: String,
}

/// The commits, in the order in which they were printed. One that is cut is left out.
pub(crate) fn commits(printed: &str) -> Vec<Commit> {
    let fields: Vec<&str> = printed.split('\0').map(str::trim).collect();
    fields.windows(5).filter_map(commit).collect()
}

fn commit(fields: &[&str]) -> Option<Commit> {
    let [hash, author, date, subject, body] = fields else { return None };
    let text = |field: &str, letter: char| Some(field.strip_prefix(letter)?.trim().to_owned());
    Some(Commit {
        commit: text(hash, 'c')?,
        author: text(author, 'a')?,
        date: text(date, 'd')?,
        subject: text(subject, 's')?,
        body: text(body, 'b')?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commits_are_split_whatever_their_texts_hold() {
        // The first body holds the characters that separate fields elsewhere.
        let printed = "c12ab\0aAda\0d2026-01-02T03:04:05Z\0sAdd a\0bWhy\x1e\n\nc99\x1fmore\n\0\nc34cd\0aBob\0d2026-01-01T00:00:00Z\0s\"x\" | y\0b\0\nc56\0aA";
        let found = commits(printed);
        assert_eq!(found.len(), 2);
        assert_eq!(found[0].subject, "Add a");
        assert_eq!(found[0].body, "Why\x1e\n\nc99\x1fmore");
        assert_eq!((found[1].commit.as_str(), found[1].body.as_str()), ("34cd", ""));
        assert!(commits("").is_empty());
    }
}
