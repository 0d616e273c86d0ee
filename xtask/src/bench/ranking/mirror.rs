//! Where the history of a repository is: in a directory of the user's, or cloned once.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result};

use crate::bench::corpus::git;
use crate::fetch::output;

/// The git directory of `owner/name`: in `given`, which may hold it under any usual name, or else
/// in `cache`, where it is cloned to.
pub(crate) fn find(
    given: Option<&Path>,
    cache: &Path,
    name: &str,
    commit: &str,
) -> Result<PathBuf> {
    let mut places: Vec<PathBuf> = Vec::new();
    if let Some(given) = given {
        let (_, short) = name.split_once('/').context("a repository is `owner/name`")?;
        let joined = name.replace('/', "+");
        for stem in [joined.as_str(), name, short] {
            places.push(given.join(stem).join("repo"));
            places.push(given.join(stem));
            places.push(given.join(format!("{stem}.git")));
        }
    }
    let cloned = cache.join(name.replace('/', "+"));
    places.push(cloned.clone());
    if let Some(place) = places.into_iter().find(|place| has_commit(place, commit)) {
        return Ok(place);
    }
    if cloned.exists() {
        fs::remove_dir_all(&cloned).context("cannot remove an unfinished clone")?;
    }
    fs::create_dir_all(cache).context("cannot make the directory for histories")?;
    let address = format!("https://github.com/{name}");
    let mut clone = git(cache);
    // A repository that is gone must not ask for a password.
    clone.env("GIT_TERMINAL_PROMPT", "0").args(["clone", "--bare", "--quiet", &address]);
    output(clone.arg(&cloned)).with_context(|| format!("cannot clone {address}"))?;
    Ok(cloned)
}

/// Whether `place` itself, and not a repository around it, has the commit.
fn has_commit(place: &Path, commit: &str) -> bool {
    let is_git = place.join("HEAD").is_file() || place.join(".git").exists();
    is_git && output(git(place).args(["cat-file", "-e", commit])).is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_history_is_found_under_the_usual_names() {
        let project = testkit::Fixture::new("//- /given/a+b/text.txt\nx\n");
        let place = project.path("given/a+b");
        let run = |arguments: &[&str]| {
            let identity = ["-c", "user.name=x", "-c", "user.email=x@example.org"];
            output(git(&place).args(identity).args(arguments)).expect("git works")
        };
        run(&["init", "--quiet"]);
        run(&["commit", "--quiet", "--allow-empty", "-m", "first"]);
        let commit = String::from_utf8(run(&["rev-parse", "HEAD"])).expect("a name");
        let found = |name: &str| {
            let given = project.path("given");
            // Where it is not given there is nothing to clone: the name is not one of a repository.
            find(Some(&given), &project.path("cache"), name, commit.trim())
        };
        assert_eq!(found("a/b").expect("it is there"), place);
        assert!(found("unowned").is_err());
    }
}
