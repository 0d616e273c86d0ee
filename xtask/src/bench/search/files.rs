//! Files by name, beside `git ls-files` and `fd`.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context as _, Result};
use serde_json::json;

use super::result_set::by_path;
use super::rivals::{output, timed};
use crate::bench::Effort;
use crate::bench::client::Client;
use crate::bench::corpus::git;
use crate::bench::stats::Times;
use crate::bench::verdict::{Verdict, at_least};

const PATTERN: &str = "**/*.c";
const TIMES_FASTER_THAN_GIT: f64 = 3.0;
const TIMES_FASTER_THAN_FD: f64 = 8.0;
/// Questions to ours in each round.
const IN_A_ROUND: usize = 3;

/// A program that lists the same files.
struct Rival {
    name: &'static str,
    times_faster: f64,
    command: Box<dyn Fn() -> Command>,
}

/// Measures, prints and judges.
pub(crate) fn measure(
    effort: Effort,
    root: &Path,
    fd: Option<PathBuf>,
    client: &mut Client,
) -> Result<Vec<Verdict>> {
    let rounds = match effort {
        Effort::Full => 11,
        Effort::Quick => 5,
    };
    let rivals = rivals(root, fd);
    let mut ours = Vec::new();
    let mut theirs = vec![Vec::new(); rivals.len()];
    let arguments = json!({"pattern": PATTERN, "exclude": []});
    let mut answer = client.ask("glob", &arguments)?.0;
    for _ in 0..rounds {
        for _ in 0..IN_A_ROUND {
            let (next, time) = client.ask("glob", &arguments)?;
            answer = next;
            ours.push(time);
        }
        for (rival, times) in rivals.iter().zip(&mut theirs) {
            times.push(timed(&mut (rival.command)())?.1);
        }
    }
    let total = answer["total"].as_u64().context("the answer has no total")?;
    let shown = answer["files"].as_array().context("the answer has no files")?;
    let shown: Vec<&str> = shown.iter().filter_map(|file| file.as_str()).collect();
    let ours = Times::new(ours).median();
    println!("glob {PATTERN}: {total} files, p50 {ours:.2} ms");

    let mut verdicts = Vec::new();
    for (rival, times) in rivals.iter().zip(theirs) {
        let Rival { name, times_faster, command } = rival;
        let time = Times::new(times).median();
        println!("{name}: p50 {time:.2} ms");
        let what = format!("glob {PATTERN}, faster than {name}");
        verdicts.push(at_least(&what, time / ours, *times_faster, "×"));
        let files = listed(root, &output(&mut command())?);
        verdicts.push(same_files(name, total, &shown, &files));
    }
    Ok(verdicts)
}

fn rivals(root: &Path, fd: Option<PathBuf>) -> Vec<Rival> {
    let mut rivals = Vec::new();
    let root = root.to_owned();
    if root.join(".git").exists() {
        let root = root.clone();
        let command = move || {
            let mut command = git(&root);
            command.args(["-c", "core.quotePath=off", "ls-files", "--", "*.c"]);
            command
        };
        rivals.push(Rival {
            name: "git ls-files",
            times_faster: TIMES_FASTER_THAN_GIT,
            command: Box::new(command),
        });
    } else {
        println!("SKIPPED: git ls-files (the directory is not a git repository)");
    }
    if let Some(fd) = fd {
        let command = move || {
            let mut command = Command::new(&fd);
            command.args(["--no-require-git", "--no-ignore-parent", "--no-global-ignore-file"]);
            command.args(["--color", "never", "--extension", "c", "."]).current_dir(&root);
            command
        };
        rivals.push(Rival {
            name: "fd",
            times_faster: TIMES_FASTER_THAN_FD,
            command: Box::new(command),
        });
    }
    rivals
}

/// The files of a list, by path. Links are no files, though the rivals name them.
fn listed(root: &Path, output: &[u8]) -> Vec<String> {
    let text = String::from_utf8_lossy(output);
    let names = text.lines().map(|line| line.strip_prefix("./").unwrap_or(line));
    let is_file =
        |name: &&str| root.join(name).symlink_metadata().is_ok_and(|metadata| metadata.is_file());
    let mut files: Vec<String> = names.filter(is_file).map(str::to_owned).collect();
    files.sort_by(|a, b| by_path(a, b));
    files
}

fn same_files(name: &str, total: u64, shown: &[&str], theirs: &[String]) -> Verdict {
    let what = format!("glob {PATTERN}: same files as {name}");
    if total != theirs.len() as u64 {
        let what = format!("{what}, but {total}, not {}", theirs.len());
        return Verdict { what, passed: false };
    }
    match shown.iter().zip(theirs).find(|(ours, theirs)| ours != theirs) {
        None => Verdict { what, passed: true },
        Some((ours, theirs)) => {
            Verdict { what: format!("{what}, but {ours}, not {theirs}"), passed: false }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_are_ordered_and_hold_no_links() {
        let project = testkit::Fixture::new("//- /a/x.c\n//- /a-b.c\n//- /link.c symlink=a/x.c\n");
        let files = listed(project.root(), b"./a-b.c\nlink.c\na/x.c\nmissing.c\n");
        assert_eq!(files, ["a/x.c", "a-b.c"]);
    }

    #[test]
    fn other_files_are_no_success() {
        let theirs = ["a.c".to_owned(), "b.c".to_owned()];
        assert!(same_files("fd", 2, &["a.c"], &theirs).passed);
        assert!(!same_files("fd", 3, &["a.c"], &theirs).passed);
        assert!(!same_files("fd", 2, &["b.c"], &theirs).passed);
    }
}
