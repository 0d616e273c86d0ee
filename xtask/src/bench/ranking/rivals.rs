//! The programs that people would ask instead: counting with ripgrep, and `probe`, which ranks
//! blocks of code.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context as _, Result, ensure};
use serde_json::Value;

use super::figures::LOOKED_AT;
use crate::bench::peers::built_program;
use crate::house::House;
use crate::step::one_line;

const RIPGREP_VERSION: &str = "15.2.0";
/// `probe` of crates.io. The package of npm needs a repository that is not in the registry.
const PROBE_VERSION: &str = "0.6.0";
/// Shorter words are in every file.
const WORD_LETTERS: usize = 3;
/// How long it may take for a query, a hundred times what the target for ours is.
const PROBE_SECONDS: &str = "4";

/// Blocks of code that `probe` is asked for: several may be of one file.
const BLOCKS: usize = 200;

/// Ripgrep, built once.
pub(crate) fn ripgrep(house: &House) -> Result<PathBuf> {
    built_program(house, "ripgrep", RIPGREP_VERSION, "rg")
}

/// `probe`, built once.
pub(crate) fn probe(house: &House) -> Result<PathBuf> {
    built_program(house, "probe-code", PROBE_VERSION, "probe")
}

/// The files with most hits of the words of a query.
pub(crate) fn counted(program: &Path, root: &Path, query: &str) -> Result<Vec<String>> {
    let words = query.split(|c: char| !(c.is_alphanumeric() || c == '_'));
    let words: Vec<&str> = words.filter(|word| word.len() >= WORD_LETTERS).collect();
    let mut command = Command::new(program);
    command.args(["--no-config", "--no-require-git", "--no-ignore-parent", "--no-ignore-global"]);
    command.args(["--no-messages", "--count-matches", "--ignore-case", "--fixed-strings"]);
    command.args(["--null", "--with-filename", "--max-filesize", "1M"]);
    for word in words {
        command.args(["--regexp", word]);
    }
    let output = command.arg(".").current_dir(root).output().context("cannot start ripgrep")?;
    // It says with 1 that nothing was found.
    ensure!(matches!(output.status.code(), Some(0 | 1)), "ripgrep: {}", output.status);
    Ok(most_first(&String::from_utf8_lossy(&output.stdout)))
}

/// The paths of `./path NUL count` lines by count.
fn most_first(printed: &str) -> Vec<String> {
    let lines = printed.lines().filter_map(|line| {
        let (path, count) = line.split_once('\0')?;
        Some((count.parse::<u64>().ok()?, path.strip_prefix("./").unwrap_or(path)))
    });
    let mut counted: Vec<(u64, &str)> = lines.collect();
    counted.sort_by(|a, b| b.0.cmp(&a.0).then_with(|| a.1.cmp(b.1)));
    counted.into_iter().map(|(_, path)| path.to_owned()).take(LOOKED_AT).collect()
}

/// The files that `probe` finds, in the order of their best blocks. A query that it gives up has none.
pub(crate) fn probed(program: &Path, root: &Path, query: &str) -> Result<Vec<String>> {
    // Punctuation would be read as operators.
    let words: Vec<&str> = query
        .split(|c: char| !(c.is_alphanumeric() || c == '_'))
        .filter(|word| !word.is_empty() && !["AND", "OR", "NOT"].contains(word))
        .collect();
    let mut command = Command::new(program);
    command.args(["search", &words.join(" "), ".", "--format", "json", "--allow-tests"]);
    command.args(["--max-results", &BLOCKS.to_string()]).current_dir(root);
    command.args(["--timeout", PROBE_SECONDS]);
    let output = command.output().context("cannot start probe")?;
    if !output.status.success() {
        println!("probe gives up: {}", one_line(&String::from_utf8_lossy(&output.stderr)));
        return Ok(Vec::new());
    }
    files_of(&String::from_utf8_lossy(&output.stdout), root)
}

/// The paths of an answer of `probe`, each once.
fn files_of(printed: &str, root: &Path) -> Result<Vec<String>> {
    // What it says about itself may stand around the object.
    let (Some(start), Some(end)) = (printed.find('{'), printed.rfind('}')) else {
        return Ok(Vec::new());
    };
    let answer: Value = serde_json::from_str(&printed[start..=end]).context("probe's answer")?;
    let root = format!("{}/", root.display());
    let mut seen = BTreeMap::new();
    let mut files = Vec::new();
    for result in answer["results"].as_array().into_iter().flatten() {
        let Some(path) = result["file"].as_str() else { continue };
        let path = path.strip_prefix(&root).unwrap_or(path);
        let path = path.strip_prefix("./").unwrap_or(path);
        if seen.insert(path.to_owned(), ()).is_none() {
            files.push(path.to_owned());
        }
    }
    Ok(files)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_are_put_in_order() {
        assert_eq!(
            most_first("./b.rs\x002\n./a.rs\x002\nc d.rs\x0010\n"),
            ["c d.rs", "a.rs", "b.rs"]
        );
    }

    #[test]
    fn a_file_of_several_blocks_is_named_once() {
        let printed = "Searching\n{\"results\": [{\"file\": \"/r/a.rs\"}, {\"file\": \"./b.rs\"}, \
                       {\"file\": \"a.rs\"}]}\n";
        assert_eq!(files_of(printed, Path::new("/r")).expect("it is read"), ["a.rs", "b.rs"]);
        assert!(files_of("nothing", Path::new("/r")).expect("no result").is_empty());
    }
}
