//! `git status --porcelain=v2 --branch -z`.

use schemars::JsonSchema;
use serde::Serialize;
use workspace::bytes_to_text;

/// The state of a working tree.
#[derive(Debug, Default, PartialEq, Eq, Serialize, JsonSchema)]
pub(crate) struct Status {
    /// The branch; absent if a commit is checked out instead.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) branch: Option<String>,
    /// The commit; absent before the first.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) commit: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) upstream: Option<String>,
    pub(crate) ahead: u64,
    pub(crate) behind: u64,
    pub(crate) clean: bool,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) staged: Vec<StatusEntry>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) unstaged: Vec<StatusEntry>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) conflicts: Vec<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) untracked: Vec<String>,
}

/// A file that differs.
#[derive(Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub(crate) struct StatusEntry {
    pub(crate) path: String,
    pub(crate) change: &'static str,
    /// The name it had.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) from: Option<String>,
}

/// Reads the records. Those that are cut or unknown are left out.
pub(crate) fn status(printed: &str) -> Status {
    let mut status = Status::default();
    let mut records = printed.split('\0');
    while let Some(record) = records.next() {
        let (kind, rest) = record.split_once(' ').unwrap_or((record, ""));
        match kind {
            "#" => status.header(rest),
            "1" => status.changed(rest, 7, None),
            "2" => status.changed(rest, 8, records.next()),
            "u" => status.conflicts.extend(nth_part(rest, 9)),
            "?" => status.untracked.push(spelled(rest)),
            _ => {}
        }
    }
    status.clean = status.staged.is_empty()
        && status.unstaged.is_empty()
        && status.conflicts.is_empty()
        && status.untracked.is_empty();
    status
}

impl Status {
    fn header(&mut self, header: &str) {
        let (name, value) = header.split_once(' ').unwrap_or((header, ""));
        let known = |value: &str, unknown: &str| (value != unknown).then(|| value.to_owned());
        match name {
            "branch.oid" => self.commit = known(value, "(initial)"),
            "branch.head" => self.branch = known(value, "(detached)"),
            "branch.upstream" => self.upstream = Some(value.to_owned()),
            "branch.ab" => {
                let mut counts = value
                    .split(' ')
                    .map(|count| count.trim_start_matches(['+', '-']).parse().unwrap_or(0));
                self.ahead = counts.next().unwrap_or(0);
                self.behind = counts.next().unwrap_or(0);
            }
            _ => {}
        }
    }

    /// A record whose path stands after `skipped` other fields.
    fn changed(&mut self, record: &str, skipped: usize, from: Option<&str>) {
        let Some(path) = nth_part(record, skipped) else { return };
        let mut letters = record.chars();
        let sides = [&mut self.staged, &mut self.unstaged];
        for side in sides {
            let letter = letters.next().unwrap_or('.');
            if let Some(change) = change(letter) {
                let from = from.filter(|_| matches!(letter, 'R' | 'C')).map(spelled);
                side.push(StatusEntry { path: path.clone(), change, from });
            }
        }
    }
}

fn nth_part(record: &str, index: usize) -> Option<String> {
    record.splitn(index + 1, ' ').nth(index).map(spelled)
}

/// A path as all tools write it: in one line, whatever its name holds.
fn spelled(path: &str) -> String {
    bytes_to_text(path.as_bytes()).into_owned()
}

fn change(letter: char) -> Option<&'static str> {
    Some(match letter {
        'M' => "modified",
        'T' => "type changed",
        'A' => "added",
        'D' => "deleted",
        'R' => "renamed",
        'C' => "copied",
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn every_kind_of_record_is_read() {
        let zeros = "0000000000000000000000000000000000000000";
        let printed = [
            "# branch.oid 1b2c",
            "# branch.head main",
            "# branch.upstream origin/main",
            "# branch.ab +2 -1",
            &format!("1 M. N... 100644 100644 100644 {zeros} {zeros} src/a b.rs"),
            &format!("1 .M N... 100644 100644 100644 {zeros} {zeros} src/c.rs"),
            &format!("1 AD N... 100644 100644 100644 {zeros} {zeros} both"),
            &format!("2 R. N... 100644 100644 100644 {zeros} {zeros} R100 new name"),
            "old name",
            &format!("u UU N... 100644 100644 100644 100644 {zeros} {zeros} {zeros} torn"),
            "? notes.txt",
            "",
        ]
        .join("\0");
        insta::assert_json_snapshot!(status(&printed), @r#"
        {
          "branch": "main",
          "commit": "1b2c",
          "upstream": "origin/main",
          "ahead": 2,
          "behind": 1,
          "clean": false,
          "staged": [
            {
              "path": "src/a b.rs",
              "change": "modified"
            },
            {
              "path": "both",
              "change": "added"
            },
            {
              "path": "new name",
              "change": "renamed",
              "from": "old name"
            }
          ],
          "unstaged": [
            {
              "path": "src/c.rs",
              "change": "modified"
            },
            {
              "path": "both",
              "change": "deleted"
            }
          ],
          "conflicts": [
            "torn"
          ],
          "untracked": [
            "notes.txt"
          ]
        }
        "#);
    }

    #[test]
    fn a_new_repository_has_no_commit_and_a_detached_one_no_branch() {
        let new = status("# branch.oid (initial)\0# branch.head main\0");
        assert_eq!((new.commit, new.clean), (None, true));
        assert_eq!(status("# branch.oid 12\0# branch.head (detached)\0").branch, None);
    }

    proptest! {
        #[test]
        fn anything_can_be_read(text in "([12u?#] |M|\\.|branch\\.ab |é|[ \\x00a-z]){0,40}") {
            status(&text);
        }
    }
}
