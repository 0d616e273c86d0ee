//! The list of cases: repositories, and commits of theirs.

use anyhow::{Context as _, Result, bail, ensure};

/// Repository and half, then commits, one a line. The list holds references only: what a commit
/// says and changes is read from its repository.
pub(crate) const LIST: &str = include_str!("cases.txt");

/// What a repository's cases are for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Half {
    /// Weights may be fitted to these.
    Tune,
    /// Weights are not fitted to these: they say how good the ranking is.
    Judge,
}

/// A repository with its cases.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Repository {
    /// `owner/name`.
    pub(crate) name: String,
    pub(crate) half: Half,
    pub(crate) commits: Vec<String>,
}

/// Reads the list.
pub(crate) fn parse(list: &str) -> Result<Vec<Repository>> {
    let mut repositories: Vec<Repository> = Vec::new();
    for line in list.lines().filter(|line| !line.is_empty() && !line.starts_with('#')) {
        if let Some((half, name)) = line.split_once(' ') {
            let half = match half {
                "tune" => Half::Tune,
                "judge" => Half::Judge,
                _ => bail!("`{line}` begins with neither `tune` nor `judge`"),
            };
            repositories.push(Repository { name: name.to_owned(), half, commits: Vec::new() });
        } else {
            let is_commit = line.len() == 40 && line.bytes().all(|byte| byte.is_ascii_hexdigit());
            ensure!(is_commit, "`{line}` is neither a repository nor a commit");
            let repository = repositories.last_mut();
            repository.context("a commit stands before any repository")?.commits.push(line.into());
        }
    }
    Ok(repositories)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    /// Repositories that others judge by.
    const KEPT_OUT: [&str; 8] =
        ["ripgrep", "goose", "crush", "cline", "gemini-cli", "helix", "zed", "toad"];

    #[test]
    fn the_list_is_large_and_keeps_out_what_others_judge_by() {
        let repositories = parse(LIST).expect("the list is readable");
        let cases: BTreeSet<&String> = repositories.iter().flat_map(|one| &one.commits).collect();
        let all: usize = repositories.iter().map(|one| one.commits.len()).sum();
        assert!(all >= 300 && cases.len() == all, "{all} cases, {} of them different", cases.len());
        for half in [Half::Tune, Half::Judge] {
            assert!(repositories.iter().filter(|one| one.half == half).count() >= 4);
        }
        let names: BTreeSet<&str> = repositories.iter().map(|one| one.name.as_str()).collect();
        assert_eq!(names.len(), repositories.len());
        for name in names {
            let (_, name) = name.split_once('/').expect("owner and name");
            assert!(!KEPT_OUT.contains(&name), "{name}");
        }
    }

    #[test]
    fn a_list_that_is_no_list_is_refused() {
        let commit = "a".repeat(40);
        for list in [commit.as_str(), "judge a/b\nabc", "other a/b"] {
            assert!(parse(list).is_err(), "{list}");
        }
        let read = parse(&format!("# words\ntune a/b\n{commit}\n\njudge c/d\n")).expect("a list");
        assert_eq!((read[0].commits.len(), read[1].half), (1, Half::Judge));
    }
}
