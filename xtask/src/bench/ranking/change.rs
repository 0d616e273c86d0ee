//! A commit as a case: its subject is the query, the source files that it changed are the answers.
//!
//! Everything here is read from the commit itself, so that the list of cases names commits only.

use std::path::Path;

use anyhow::{Context as _, Result};

use crate::bench::corpus::git;
use crate::fetch::output;

/// How names of source files end.
const SOURCE: &[&str] = &[
    "bash", "c", "cc", "cjs", "cpp", "cs", "cts", "cxx", "dart", "ex", "exs", "go", "h", "hh",
    "hpp", "java", "js", "jsx", "kt", "kts", "lua", "m", "mjs", "mm", "mts", "php", "py", "pyi",
    "rb", "rs", "scala", "sh", "svelte", "swift", "ts", "tsx", "vue", "zig",
];
/// Words of subjects that are about no particular code: versions, formatting, texts, other commits.
const OF_NO_PLACE: &[&str] = &[
    "bump",
    "changelog",
    "ci",
    "cleanup",
    "clippy",
    "copyright",
    "dependabot",
    "dependencies",
    "dependency",
    "deps",
    "eslint",
    "fmt",
    "format",
    "formatting",
    "gofmt",
    "license",
    "lint",
    "linting",
    "lints",
    "merge",
    "nit",
    "nits",
    "pre-commit",
    "prettier",
    "refresh",
    "release",
    "rename",
    "revert",
    "rustfmt",
    "spelling",
    "translation",
    "translations",
    "typo",
    "typos",
    "upgrade",
    "version",
    "whitespace",
];
/// Words that stand before the number of an issue.
const BEFORE_ISSUES: &[&str] = &[
    "close", "closed", "closes", "fix", "fixed", "fixes", "gh", "issue", "pr", "ref", "refs",
    "resolve", "resolved", "resolves", "see",
];
/// Directories of tests. What lies there may be an answer, but a case needs other code, too.
const TEST_DIRECTORIES: &[&str] =
    &["__tests__", "playground", "spec", "specs", "test", "testdata", "testing", "tests"];
/// The longest prefix such as `fix(parser):`.
const MAX_PREFIX: usize = 40;
/// Words of three letters or more that a query has.
const WORDS: std::ops::RangeInclusive<usize> = 3..=14;
const WORD_LETTERS: usize = 3;
const MAX_ANSWERS: usize = 10;
const MAX_FILES: usize = 20;
/// Changed lines, not counting white space, below which a commit is no change of behaviour.
const MIN_LINES: u64 = 4;

/// What a commit says and did.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Change {
    pub(crate) commit: String,
    pub(crate) parent: String,
    pub(crate) subject: String,
    /// The paths that it changed, each with the letter git has for how.
    changed: Vec<(char, String)>,
}

/// Reads commits from the newest on, without merges; from `start`, at most `count`.
pub(crate) fn read(mirror: &Path, start: &str, count: usize) -> Result<Vec<Change>> {
    let mut log = git(mirror);
    log.args(["log", "--no-merges", "--no-renames", "--raw", "-z", "--abbrev=40"]);
    log.args(["--format=%x01%H%x02%P%x02%s%x02", &format!("-{count}"), start, "--"]);
    let text = output(&mut log)?;
    Ok(String::from_utf8_lossy(&text).split('\x01').filter_map(parsed).collect())
}

/// One commit of such a log; none if it has no parent, or several.
fn parsed(entry: &str) -> Option<Change> {
    let mut fields = entry.splitn(4, '\x02');
    let (commit, parent, subject) = (fields.next()?, fields.next()?, fields.next()?);
    if parent.is_empty() || parent.contains(' ') {
        return None;
    }
    let mut rest = fields.next()?.split('\0');
    let mut changed = Vec::new();
    while let Some(facts) = rest.next() {
        if let Some((_, facts)) = facts.split_once(':') {
            let letter = facts.rsplit(' ').next()?.chars().next()?;
            changed.push((letter, rest.next()?.to_owned()));
        }
    }
    let (commit, parent, subject) = (commit.to_owned(), parent.to_owned(), subject.to_owned());
    Some(Change { commit, parent, subject, changed })
}

impl Change {
    /// What is searched for.
    pub(crate) fn query(&self) -> String {
        cleaned(&self.subject)
    }

    /// The files that the search should lead to: source files that were there before.
    pub(crate) fn answers(&self) -> Vec<&str> {
        let was_there = self.changed.iter().filter(|(letter, _)| matches!(letter, 'M' | 'D'));
        was_there.map(|(_, path)| path.as_str()).filter(|path| is_source(path)).collect()
    }

    /// Whether the commit makes a case, as far as its subject and the names of files tell.
    pub(crate) fn is_case(&self) -> bool {
        let lower = self.subject.to_lowercase();
        let mut words = lower.split(|c: char| !(c.is_alphanumeric() || c == '_' || c == '-'));
        let query = self.query();
        let said = query.split(|c: char| !(c.is_alphanumeric() || c == '_'));
        let said = said.filter(|word| word.len() >= WORD_LETTERS).count();
        let answers = self.answers();
        !words.any(|word| OF_NO_PLACE.contains(&word))
            && WORDS.contains(&said)
            && self.changed.len() <= MAX_FILES
            && (1..=MAX_ANSWERS).contains(&answers.len())
            && !answers.iter().all(|path| is_test(path))
    }

    /// Whether the answers were changed by more than white space.
    pub(crate) fn is_substantial(&self, mirror: &Path) -> Result<bool> {
        let mut diff = git(mirror);
        diff.args(["diff", "--no-renames", "-w", "--numstat", &self.parent, &self.commit, "--"]);
        let text = output(diff.args(self.answers()))?;
        let text = String::from_utf8_lossy(&text);
        let counts = text.lines().flat_map(|line| line.split('\t').take(2));
        Ok(counts.filter_map(|count| count.parse::<u64>().ok()).sum::<u64>() >= MIN_LINES)
    }
}

/// A subject without prefixes such as `fix(parser):`, numbers of issues and loose punctuation.
fn cleaned(subject: &str) -> String {
    let mut rest = subject.trim();
    while let Some((_, after)) = rest.strip_prefix('[').and_then(|rest| rest.split_once(']')) {
        rest = after.trim_start();
    }
    if let Some((prefix, after)) = rest.split_once(": ")
        && is_prefix(prefix)
    {
        rest = after;
    }
    let rest = without_numbered_groups(rest);
    let mut words: Vec<&str> = Vec::new();
    for word in rest.split_whitespace() {
        let bare = word.trim_matches(|c: char| !c.is_alphanumeric() && c != '#');
        let number = bare.rsplit_once('#').map_or("", |(_, number)| number);
        if !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit()) {
            let is_lead = |word: &&str| {
                let lower = word.to_lowercase();
                BEFORE_ISSUES.contains(&lower.trim_end_matches([':', '-']))
            };
            words.pop_if(|word| is_lead(&&**word));
            continue;
        }
        words.push(word);
    }
    words.join(" ").trim_matches([' ', '.', ',', ';', '-']).to_owned()
}

/// Whether what stands before a colon is one word, perhaps with a scope: `fix`, `feat(cli)!`.
fn is_prefix(text: &str) -> bool {
    let text = text.strip_suffix('!').unwrap_or(text);
    let kind = match text.split_once('(') {
        Some((kind, scope)) if scope.ends_with(')') => kind,
        Some(_) => return false,
        None => text,
    };
    let is_part = |c: char| c.is_alphanumeric() || "_/.,*@+&-".contains(c);
    text.len() <= MAX_PREFIX && !kind.is_empty() && kind.chars().all(is_part)
}

/// A text without its parentheses that hold the number of an issue.
fn without_numbered_groups(text: &str) -> String {
    let mut kept = String::new();
    let mut rest = text;
    while let Some((before, after)) = rest.split_once('(') {
        kept.push_str(before);
        match after.split_once(')') {
            Some((group, after)) if has_issue(group) => rest = after,
            _ => {
                kept.push('(');
                rest = after;
            }
        }
    }
    kept + rest
}

fn has_issue(text: &str) -> bool {
    text.split('#').skip(1).any(|after| after.starts_with(|c: char| c.is_ascii_digit()))
}

/// Whether a path is that of a source file.
pub(crate) fn is_source(path: &str) -> bool {
    let name = path.rsplit('/').next().unwrap_or(path);
    name.rsplit_once('.').is_some_and(|(_, ending)| SOURCE.contains(&ending))
}

/// Whether a path is that of a test, by the usual names of files and directories.
pub(crate) fn is_test(path: &str) -> bool {
    let (directories, name) = path.rsplit_once('/').unwrap_or(("", path));
    let stem = name.split('.').next().unwrap_or(name);
    directories.split('/').any(|directory| TEST_DIRECTORIES.contains(&directory))
        || name.contains(".test.")
        || name.contains(".spec.")
        || stem.starts_with("test_")
        || ["_test", "_tests", "_spec", "Test", "Tests"].iter().any(|end| stem.ends_with(end))
}

/// The commits of a history that make cases, at most `wanted`, spread evenly over the newest
/// `newest` ones of them.
pub(crate) fn choose(mirror: &Path, wanted: usize, newest: usize) -> Result<Vec<Change>> {
    /// More than this many commits are not looked at.
    const LOOKED_AT: usize = 6000;
    let all = read(mirror, "HEAD", LOOKED_AT).context("cannot read the history")?;
    let cases: Vec<Change> = all.into_iter().filter(Change::is_case).take(newest).collect();
    let step = (cases.len() / wanted.max(1)).max(1);
    let mut chosen = Vec::new();
    for slice in cases.chunks(step) {
        // A mirror may lack the largest files; what cannot be compared is no case.
        let is_good = |change: &&Change| change.is_substantial(mirror).unwrap_or(false);
        chosen.extend(slice.iter().find(is_good).cloned());
    }
    chosen.truncate(wanted);
    Ok(chosen)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn subjects_are_cleaned() {
        let table = [
            ("fix(parser)!: handle empty input (#123)", "handle empty input"),
            ("sync: add `try_lock` to Mutex", "add `try_lock` to Mutex"),
            ("[docs] [core] Explain (again) the loop.", "Explain (again) the loop"),
            ("Handle (some) cases, fixes #12", "Handle (some) cases"),
            ("Fix crash when clicking: the view moves", "Fix crash when clicking: the view moves"),
            ("Use a/b#12 and C# again", "Use and C# again"),
            ("", ""),
        ];
        for (subject, expected) in table {
            assert_eq!(cleaned(subject), expected, "{subject}");
        }
    }

    fn change(subject: &str, changed: &[(char, &str)]) -> Change {
        let changed = changed.iter().map(|(letter, path)| (*letter, (*path).to_owned())).collect();
        let subject = subject.to_owned();
        Change { commit: "c".into(), parent: "p".into(), subject, changed }
    }

    #[test]
    fn a_case_has_words_and_source_files_that_were_there() {
        type Row = (&'static str, &'static [(char, &'static str)], bool);
        let table: [Row; 8] = [
            ("Handle empty input in parser", &[('M', "src/parser.rs")], true),
            ("Handle empty input in parser", &[('A', "src/parser.rs")], false),
            ("Handle empty input in parser", &[('M', "README.md")], false),
            ("Handle empty input in parser", &[('M', "tests/parser.rs")], false),
            ("Handle it", &[('M', "src/parser.rs")], false),
            ("Bump the parser and its grammar", &[('M', "src/parser.rs")], false),
            ("Handle all empty input", &[('M', "a.rs"); MAX_ANSWERS + 1], false),
            ("Handle all empty input", &[('M', "a.md"); MAX_FILES + 1], false),
        ];
        for (subject, changed, expected) in table {
            assert_eq!(change(subject, changed).is_case(), expected, "{subject} {changed:?}");
        }
        let answers = [('M', "a.rs"), ('D', "b.go"), ('A', "c.rs"), ('M', "Cargo.toml")];
        assert_eq!(change("", &answers).answers(), ["a.rs", "b.go"]);
    }

    #[test]
    fn a_log_is_read_whatever_the_names_hold() {
        let entry = "c\x02p\x02Say: it\x02\0:100644 100644 1 2 M\0a b.rs\0:0 1 2 3 A\0c.rs\0";
        let read = parsed(entry).expect("it is a commit");
        assert_eq!(read.changed, [('M', "a b.rs".to_owned()), ('A', "c.rs".to_owned())]);
        assert_eq!((read.subject.as_str(), read.query()), ("Say: it", "it".to_owned()));
        assert!(parsed("c\x02p q\x02merge\x02").is_none());
        assert!(parsed("c\x02\x02first\x02").is_none());
    }
}
