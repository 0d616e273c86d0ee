//! The repository as the rules see it.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;

/// The root of the repository.
pub(crate) fn root() -> PathBuf {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    here.ancestors().nth(2).expect("testkit stands in crates/").to_owned()
}

/// A file's text, or a message that says it is missing.
pub(crate) fn read(relative: &str) -> Result<String, String> {
    fs::read_to_string(root().join(relative)).map_err(|error| format!("{relative}: {error}"))
}

/// Every file whose name ends with one of `endings`, as paths relative to the root, sorted.
pub(crate) fn files_ending(endings: &[&str]) -> Vec<String> {
    let root = root();
    let mut found = Vec::new();
    walk(&root, &mut found);
    let mut files: Vec<String> = found
        .iter()
        .map(|path| path.strip_prefix(&root).expect("below the root").display().to_string())
        .filter(|path| endings.iter().any(|ending| path.ends_with(ending)))
        .collect();
    files.sort();
    assert!(!files.is_empty(), "no file ends with {endings:?}: the walk itself is broken");
    files
}

fn walk(directory: &Path, found: &mut Vec<PathBuf>) {
    // Cargo marks its target directories with this tag, whatever their name is.
    if directory.join("CACHEDIR.TAG").exists() {
        return;
    }
    let entries = fs::read_dir(directory).expect("a directory of the repository can be read");
    for entry in entries {
        let entry = entry.expect("a directory of the repository can be read");
        let kind = entry.file_type().expect("an entry has a type");
        let name = entry.file_name();
        if kind.is_dir() {
            if name != ".git" && name != "target" && name != "node_modules" {
                walk(&entry.path(), found);
            }
        } else if kind.is_file() {
            found.push(entry.path());
        }
    }
}

/// The answer of `cargo metadata`.
pub(crate) fn cargo_metadata(arguments: &[&str]) -> Value {
    let output = Command::new("cargo")
        .args(["metadata", "--locked", "--format-version", "1"])
        .args(arguments)
        .current_dir(root())
        .output()
        .expect("cargo can be started");
    let problem = String::from_utf8_lossy(&output.stderr);
    assert!(
        output.status.success(),
        "cargo metadata {arguments:?}: {problem}\nTo repair it: cargo fetch, and commit Cargo.lock\n"
    );
    serde_json::from_slice(&output.stdout).expect("cargo metadata prints JSON")
}

/// Fails with all problems at once and the way to repair them.
#[track_caller]
pub(crate) fn assert_none(problems: &[String], repair: &str) {
    assert!(problems.is_empty(), "\n  {}\n\nTo repair it: {repair}\n", problems.join("\n  "));
}
