//! Rules about single source files: format, length, name, opening lines.

use std::collections::BTreeSet;
use std::process::Command;

use crate::repository::{assert_none, files_ending, read, root};

const MOST_LINES: usize = 500;
const EXCUSE: &str = "// Long because: ";
/// An excuse has to stand where a reader begins.
const LINES_FOR_AN_EXCUSE: usize = 5;
const MOST_LINES_OF_MAIN: usize = 60;

/// `cargo fmt` follows `mod` items only; this also reaches files that are included another way.
#[test]
fn every_rust_file_is_formatted() {
    let output = Command::new("rustfmt")
        .args(["--check", "--files-with-diff", "--color", "never", "--edition", "2024"])
        .arg("--config-path")
        .arg(root().join("rustfmt.toml"))
        .args(files_ending(&[".rs"]))
        .current_dir(root())
        .output()
        .expect("rustfmt can be started (`rustup component add rustfmt`)");
    let names = String::from_utf8_lossy(&output.stdout);
    // A file is named once for itself and once for each file that declares it.
    let names: BTreeSet<&str> = names.lines().collect();
    let names: Vec<&str> = names.into_iter().collect();
    assert!(
        output.status.success(),
        "{}\nTo repair it: rustfmt --edition 2024 {}\n",
        String::from_utf8_lossy(&output.stderr),
        names.join(" "),
    );
}

#[test]
fn no_source_file_is_too_long() {
    let mut problems = Vec::new();
    for path in files_ending(&[".rs", ".js"]) {
        let text = read(&path).expect("a source file is UTF-8");
        let count = text.lines().count();
        let is_excused =
            text.lines().take(LINES_FOR_AN_EXCUSE).any(|line| line.starts_with(EXCUSE));
        if count > MOST_LINES && !is_excused {
            problems.push(format!("{path}: {count} lines"));
        }
    }
    let repair = format!(
        "split the file by what its parts are about, or, if it truly is one thing, say why in its \
         first {LINES_FOR_AN_EXCUSE} lines: `{EXCUSE}…`"
    );
    assert_none(&problems, &repair);
}

#[test]
fn file_names_say_what_is_inside() {
    let paths = files_ending(&[".rs"]);
    let problems: Vec<String> = paths.into_iter().filter(|path| says_nothing(path)).collect();
    assert_none(
        &problems,
        "name the file after the one thing it holds; move what does not belong to it where it is \
         used, and replace a predecessor instead of standing beside it",
    );
}

fn says_nothing(path: &str) -> bool {
    let mut parts: Vec<&str> = path.split('/').collect();
    let file = parts.pop().unwrap_or_default();
    let stem = file.strip_suffix(".rs").unwrap_or(file);
    let is_second_version = stem
        .rsplit_once("_v")
        .is_some_and(|(_, n)| !n.is_empty() && n.bytes().all(|b| b.is_ascii_digit()));
    let is_empty_word =
        |name: &str| matches!(name, "utils" | "util" | "common" | "helpers" | "types" | "core");
    is_second_version || is_empty_word(stem) || parts.into_iter().any(is_empty_word)
}

#[test]
fn names_that_say_nothing_are_recognised() {
    for path in ["a/utils.rs", "common.rs", "helpers/mod.rs", "types.rs", "edit_v2.rs", "core/x.rs"]
    {
        assert!(says_nothing(path), "{path}");
    }
    for path in ["crates/cli/src/main.rs", "tool_types.rs", "mov.rs", "ipv4.rs", "score.rs"] {
        assert!(!says_nothing(path), "{path}");
    }
}

#[test]
fn every_library_opens_with_its_purpose() {
    let libraries = files_ending(&["/src/lib.rs"]);
    let opens_well = |path: &String| read(path).is_ok_and(|text| text.starts_with("//!"));
    let problems: Vec<String> = libraries.into_iter().filter(|path| !opens_well(path)).collect();
    assert_none(
        &problems,
        "begin the file with `//!` lines: what lives here and what it must never know",
    );
}

#[test]
fn main_reads_like_a_table_of_contents() {
    let path = "crates/cli/src/lib.rs";
    let count = read(path).expect("the binary has a main file").lines().count();
    assert!(
        count < MOST_LINES_OF_MAIN,
        "{path} has {count} lines. To repair it: keep the modules and the way into them there, below \
         {MOST_LINES_OF_MAIN} lines, and move each command to a module of its own"
    );
}
