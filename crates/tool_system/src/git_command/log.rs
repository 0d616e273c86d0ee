//! `git log` in a form whose fields cannot be mistaken.

use schemars::JsonSchema;
use serde::Serialize;

/// Fields end with the unit separator, commits with the record separator.
pub(crate) const FORMAT: &str = "--format=%H%x1f%an%x1f%aI%x1f%s%x1f%b%x1e";

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
    printed.split('\x1e').filter_map(commit).collect()
}

fn commit(record: &str) -> Option<Commit> {
    let mut fields = record.split('\x1f').map(|field| field.trim().to_owned());
    let commit = Commit {
        commit: fields.next().filter(|hash| !hash.is_empty())?,
        author: fields.next()?,
        date: fields.next()?,
        subject: fields.next()?,
        body: fields.next()?,
    };
    Some(commit)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commits_are_split_whatever_their_texts_hold() {
        let printed = "12ab\x1fAda\x1f2026-01-02T03:04:05Z\x1fAdd a\x1fWhy\n\nmore\n\x1e\n34cd\x1fBob\x1f2026-01-01T00:00:00Z\x1f\"x\" | y\x1f\x1e\n56";
        let found = commits(printed);
        assert_eq!(found.len(), 2);
        assert_eq!((found[0].subject.as_str(), found[0].body.as_str()), ("Add a", "Why\n\nmore"));
        assert_eq!((found[1].commit.as_str(), found[1].body.as_str()), ("34cd", ""));
        assert!(commits("").is_empty());
    }
}
