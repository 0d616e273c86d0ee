//! What a call does and what it came to, in three parts that a screen can put into columns.

use schemars::JsonSchema;
use serde::Serialize;

/// `Searched`, `toFixed|round`, `14 matches in 6 files`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Headline {
    /// The first word of what the call does or did.
    pub verb: String,
    /// What it is done to; may be empty.
    pub object: String,
    /// What came of it; empty if there is nothing to say, or not yet.
    pub result: String,
}

/// Tools begin the words about what a search has found with it. It says less than what was searched for.
const FOUND: &str = "Found";
/// It says nothing beside what is searched for.
const FOR: &str = "for ";

impl Headline {
    /// The parts of a call that is called `title` when it begins, and `summary` once it has ended.
    pub(crate) fn of(title: &str, summary: Option<&str>) -> Headline {
        let (verb, object) = first_word(title);
        let object =
            if verb == "Searched" { object.strip_prefix(FOR).unwrap_or(object) } else { object };
        let line = |verb: &str, object: &str, result: &str| Headline {
            verb: verb.to_owned(),
            object: object.to_owned(),
            result: result.trim_matches(SEPARATORS).to_owned(),
        };
        let Some(summary) = summary else { return line(verb, object, "") };
        let (ended, rest) = first_word(summary);
        if ended == FOUND {
            return line(verb, object, rest);
        }
        let after = rest
            .strip_prefix(object)
            .filter(|after| after.is_empty() || after.starts_with(SEPARATORS));
        if let Some(result) = after.filter(|_| !object.is_empty()) {
            return line(ended, object, result);
        }
        let before = rest.strip_suffix(object).filter(|before| before.ends_with(SEPARATORS));
        if let Some(result) = before.filter(|_| !object.is_empty()) {
            return line(ended, object, result);
        }
        match rest.split_once(": ").or_else(|| rest.split_once(", ")) {
            Some((object, result)) => line(ended, object, result),
            None => line(ended, rest, ""),
        }
    }
}

const SEPARATORS: [char; 4] = [' ', ',', ':', '·'];

fn first_word(text: &str) -> (&str, &str) {
    let (word, rest) = text.split_once(' ').unwrap_or((text, ""));
    (word.trim_end_matches([':', ',']), rest.trim_start())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn titles_and_summaries_have_three_parts() {
        let table = [
            ("Searched for a|b in src", None, ("Searched", "a|b in src", "")),
            (
                "Searched for a|b",
                Some("Found 14 matches in 6 files"),
                ("Searched", "a|b", "14 matches in 6 files"),
            ),
            ("Read a.rs", Some("Read a.rs, 42 lines"), ("Read", "a.rs", "42 lines")),
            ("Read a.rs", Some("Read a.rs"), ("Read", "a.rs", "")),
            ("Run make", Some("Ran make, exit 2: 1 failed"), ("Ran", "make", "exit 2: 1 failed")),
            ("Edit a.rs", Some("Edited a.rs, +2 −1"), ("Edited", "a.rs", "+2 −1")),
            ("Edit a.rs", Some("Edited 2 files, +2 −1"), ("Edited", "2 files", "+2 −1")),
            (
                "Delegate: look around",
                Some("Delegated, done in 3 turns: look around"),
                ("Delegated", "look around", "done in 3 turns"),
            ),
            (
                "Install x",
                Some("Installing x failed, exit 1"),
                ("Installing", "x", "failed, exit 1"),
            ),
            ("Git status", Some("Git status: clean"), ("Git", "status", "clean")),
            ("Edit a", Some("Edited abc.rs"), ("Edited", "abc.rs", "")),
            ("grep", None, ("grep", "", "")),
            ("Plan 2 steps", Some("Plan: all 2 done"), ("Plan", "all 2 done", "")),
            ("", None, ("", "", "")),
        ];
        for (title, summary, (verb, object, result)) in table {
            let headline = Headline::of(title, summary);
            let parts = (&*headline.verb, &*headline.object, &*headline.result);
            assert_eq!(parts, (verb, object, result), "{title} / {summary:?}");
        }
    }
}
