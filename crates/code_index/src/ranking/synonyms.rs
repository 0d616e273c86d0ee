//! Words that programmers use for the same thing.
//!
//! Questions in everyday words seldom use the very word that the code does. The table is small on
//! purpose: each group is one idea, and a word that means several things is in none or in the one
//! where it is most often meant.

use super::words::stem;

const GROUPS: &[&[&str]] = &[
    &["access", "permission", "privilege", "role", "allow"],
    &["approve", "approval", "confirm", "consent"],
    &["argument", "arg", "parameter", "param"],
    &["auth", "authenticate", "authentication", "login", "signin", "credential"],
    &["begin", "start", "launch", "init", "initialize", "boot"],
    &["cancel", "abort", "interrupt"],
    &["change", "update", "modify", "edit", "alter"],
    &["check", "validate", "verify", "ensure"],
    &["combine", "merge", "join"],
    &["command", "shell", "process", "exec"],
    &["compare", "diff", "difference"],
    &["concurrent", "parallel", "thread", "worker"],
    &["config", "configuration", "setting", "option", "preference"],
    &["copy", "clone", "duplicate"],
    &["count", "total", "number"],
    &["create", "make", "build", "construct", "new"],
    &["database", "db", "sql", "sqlite"],
    &["decode", "parse", "deserialize"],
    &["delete", "remove", "erase", "drop", "unlink"],
    &["deny", "refuse", "reject", "forbid"],
    &["directory", "folder", "dir"],
    &["display", "show", "render", "print"],
    &["encode", "serialize", "format"],
    &["end", "stop", "terminate", "finish", "shutdown", "close"],
    &["environment", "env"],
    &["error", "fail", "failure", "exception", "fault"],
    &["fetch", "load", "read", "retrieve", "get"],
    &["find", "search", "lookup", "locate", "query"],
    &["ignore", "exclude", "skip"],
    &["include", "import", "require"],
    &["limit", "max", "maximum", "bound", "threshold", "cap"],
    &["list", "enumerate"],
    &["log", "trace", "journal"],
    &["message", "msg"],
    &["move", "rename"],
    &["network", "http", "socket"],
    &["password", "secret", "token"],
    &["repeat", "retry", "loop"],
    &["save", "store", "write", "persist"],
    &["schedule", "timer", "interval", "cron"],
    &["send", "emit", "dispatch", "publish"],
    &["receive", "listen", "subscribe"],
    &["size", "length", "len"],
    &["sort", "order", "rank"],
    &["split", "divide", "tokenize"],
    &["timeout", "deadline", "expire"],
    &["undo", "revert", "rollback", "restore"],
    &["user", "account"],
    &["wait", "sleep", "block"],
];

/// Other words for `word`, if it is known.
pub(super) fn synonyms(word: &str) -> Vec<&'static str> {
    let wanted = stem(word);
    let group = GROUPS.iter().find(|group| group.iter().any(|known| stem(known) == wanted));
    let others = group.into_iter().flat_map(|group| group.iter());
    others.copied().filter(|other| stem(other) != wanted).collect()
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;

    #[test]
    fn a_word_leads_to_the_others_of_its_group_in_any_form() {
        assert!(synonyms("deletes").contains(&"remove"));
        assert!(synonyms("removing").contains(&"delete"));
        assert!(synonyms("zebra").is_empty());
    }

    #[test]
    fn a_word_is_in_one_group_only() {
        let mut seen = BTreeMap::new();
        for (index, group) in GROUPS.iter().enumerate() {
            for word in *group {
                let before = seen.insert(stem(word), index);
                assert!(before.is_none_or(|before| before == index), "{word} is in two groups");
            }
        }
    }
}
