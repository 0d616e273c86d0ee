//! How long a ranked search takes on the largest of the trees, with an index and everything warm.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context as _, Result};
use serde_json::{Value, json};

use crate::bench::client::Client;
use crate::bench::search::server::{Home, wait_until_idle, wait_until_quick};
use crate::bench::stats::Times;
use crate::bench::verdict::{Verdict, at_least, at_most, below};

/// What a search may take on a tree of this size.
const SEARCH_MS: f64 = 40.0;
/// Files of the tree for which that holds. A smaller one says nothing.
const MIN_FILES: f64 = 1500.0;
const ROUNDS: usize = 5;
/// Where the index chooses which files are read, so many of the first ten files have to be those
/// that come first when every file is read.
const SAME_FILES: f64 = 0.95;
const SETTLED_WITHIN: Duration = Duration::from_secs(120);

/// A tree with queries about it.
pub(crate) struct Largest {
    pub(crate) root: PathBuf,
    pub(crate) files: usize,
    pub(crate) queries: Vec<String>,
}

/// The larger of two trees.
pub(crate) fn larger(known: Option<Largest>, tree: Largest) -> Option<Largest> {
    match known {
        Some(known) if known.files >= tree.files => Some(known),
        _ => Some(tree),
    }
}

/// The ordinary files below a directory.
pub(crate) fn count(directory: &Path) -> Result<usize> {
    let mut files = 0;
    let entries = fs::read_dir(directory).with_context(|| directory.display().to_string())?;
    for entry in entries {
        let entry = entry?;
        let kind = entry.file_type()?;
        if kind.is_dir() && entry.file_name() != ".git" {
            files += count(&entry.path())?;
        }
        files += usize::from(kind.is_file());
    }
    Ok(files)
}

/// Asks each query a few times.
pub(crate) fn measure(binary: &Path, cache: &Path, largest: &Largest) -> Result<Vec<Verdict>> {
    let home = Home::empty(cache.join("indexed-home"))?;
    home.build_index(binary, &largest.root)?;
    let mut client = home.server(binary, &largest.root)?;
    wait_until_quick(&mut client)?;
    wait_until_idle(&client, SETTLED_WITHIN)?;
    let mut times = Vec::new();
    for round in 0..=ROUNDS {
        for query in &largest.queries {
            let (_, time) = client.ask("search", &json!({"query": query}))?;
            // The first round is what makes it warm.
            if round > 0 {
                times.push(time);
            }
        }
    }
    let times = Times::new(times);
    println!(
        "{} files, {} queries: p50 {:.1} ms, p95 {:.1} ms",
        largest.files,
        largest.queries.len(),
        times.median(),
        times.percentile(95)
    );
    let same = same_files(binary, cache, largest, &mut client)?;
    println!("{:.1} % of the first ten files are the same without an index", 100.0 * same);
    let files = largest.files as f64;
    let mut verdicts = vec![
        at_least("first ten files that are the same without an index", same, SAME_FILES, ""),
        below("search with an index, p50", times.median(), SEARCH_MS, "ms"),
        below("search with an index, p95", times.percentile(95), SEARCH_MS, "ms"),
    ];
    if files < MIN_FILES {
        verdicts.push(at_most("files that the tree lacks", MIN_FILES - files, 0.0, ""));
    }
    Ok(verdicts)
}

/// The share of the files of all answers that a server without an index answers, too.
fn same_files(binary: &Path, cache: &Path, largest: &Largest, indexed: &mut Client) -> Result<f64> {
    let home = Home::empty(cache.join("walking-home"))?.without_index()?;
    let mut walking = home.server(binary, &largest.root)?;
    let (mut all, mut same) = (0.0_f64, 0.0);
    for query in &largest.queries {
        let (expected, _) = walking.ask("search", &json!({"query": query}))?;
        let (answered, _) = indexed.ask("search", &json!({"query": query}))?;
        let (expected, answered) = (paths(&expected)?, paths(&answered)?);
        all += expected.len() as f64;
        same += expected.iter().filter(|path| answered.contains(path)).count() as f64;
    }
    Ok(same / all.max(1.0))
}

/// The paths of an answer of `search`, best first.
pub(crate) fn paths(answer: &Value) -> Result<Vec<String>> {
    let results = answer["results"].as_array().context("`search` has no results")?;
    let paths = results.iter().map(|result| result["path"].as_str().map(str::to_owned));
    paths.collect::<Option<Vec<_>>>().context("a result has no path")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_of_a_tree_are_counted() {
        let project = testkit::Fixture::new("//- /a\nx\n//- /d/b\nx\n//- /.git/c\nx\n");
        assert_eq!(count(&project.path("")).expect("it can be read"), 2);
    }

    #[test]
    fn the_larger_tree_is_kept() {
        let tree = |files| Largest { root: PathBuf::new(), files, queries: Vec::new() };
        let kept = larger(larger(larger(None, tree(2)), tree(3)), tree(1));
        assert_eq!(kept.map(|tree| tree.files), Some(3));
    }
}
