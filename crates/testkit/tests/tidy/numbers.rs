//! No number without a name: a limit stands in `limits.rs` or is a constant that says why.

use crate::repository::{assert_none, files_ending, read};
use crate::rust_text;

/// Crates whose numbers are not looked at: they do not ship, or their numbers are those of the ranking and
/// of postings, which `docs/ranking.md` and the bench explain.
const UNCHECKED: [&str; 2] = ["code_index", "testkit"];
/// The table of all limits of tools.
const LIMITS: &str = "crates/tool_system/src/limits.rs";
/// Numbers below are counts that a reader can check. Powers of ten, like 1024, convert units.
const SMALLEST: u64 = 1025;

#[test]
fn a_large_number_is_a_constant() {
    let mut problems = Vec::new();
    for path in checked_files().iter().filter(|path| *path != LIMITS) {
        let source = read(path).expect("a source file is UTF-8");
        for (line, number) in bare_numbers(&source) {
            problems.push(format!("{path}:{line}: {number}"));
        }
    }
    assert_none(
        &problems,
        "give the number a name and its reason as a constant, or a row in limits.rs",
    );
}

#[test]
fn a_constant_says_why() {
    let mut problems = Vec::new();
    for path in checked_files() {
        let source = read(&path).expect("a source file is UTF-8");
        problems.extend(unexplained(&source).into_iter().map(|line| format!("{path}:{line}")));
    }
    assert_none(&problems, "say above the constant what it bounds and why it is that much");
}

fn checked_files() -> Vec<String> {
    let is_checked = |path: &String| {
        let mut parts = path.split('/');
        parts.next() == Some("crates")
            && parts.next().is_some_and(|name| !UNCHECKED.contains(&name))
            && parts.next() == Some("src")
            && !path.ends_with("tests.rs")
            && !path.contains("/tests/")
    };
    files_ending(&[".rs"]).into_iter().filter(is_checked).collect()
}

/// Numbers outside of constants, with their lines.
fn bare_numbers(source: &str) -> Vec<(usize, String)> {
    let code = rust_text::split(&rust_text::shipped(source)).code;
    let mut found = Vec::new();
    let mut in_constant = false;
    for (at, line) in code.lines().enumerate() {
        in_constant |= is_constant(line);
        if !in_constant && !line.trim_start().starts_with("#[") {
            let words = line.split(|c: char| !c.is_alphanumeric() && c != '_');
            let numbers = words.filter(|word| {
                let digits = word.replace('_', "");
                let converts = digits.starts_with('1') && digits[1..].bytes().all(|it| it == b'0');
                digits.parse::<u64>().is_ok_and(|number| number >= SMALLEST && !converts)
            });
            found.extend(numbers.map(|number| (at + 1, number.to_owned())));
        }
        in_constant &= !line.trim_end().ends_with(';');
    }
    found
}

fn is_constant(line: &str) -> bool {
    let line = line.trim_start();
    let line = line.strip_prefix("pub").map_or(line, |rest| {
        let rest =
            rest.strip_prefix('(').and_then(|rest| rest.split_once(')')).map_or(rest, |it| it.1);
        rest.trim_start()
    });
    (line.starts_with("const ") && !line.starts_with("const fn")) || line.starts_with("static ")
}

/// Constants of a number or a time with no comment above them or above the first of their group.
fn unexplained(source: &str) -> Vec<usize> {
    let mut lines = Vec::new();
    let mut is_explained = false;
    for (at, line) in rust_text::shipped(source).lines().enumerate() {
        let text = line.trim();
        if text.starts_with("//") {
            is_explained = true;
        } else if is_constant(text) {
            let kind = text.split_once(": ").map_or("", |(_, rest)| rest);
            let is_number = ["u8", "u16", "u32", "u64", "usize", "i32", "i64", "f64", "Duration"]
                .iter()
                .any(|name| kind.strip_prefix(name).is_some_and(|rest| rest.starts_with(" =")));
            if is_number && !is_explained {
                lines.push(at + 1);
            }
        } else if !text.starts_with("#[") {
            is_explained = false;
        }
    }
    lines
}

#[test]
fn bare_numbers_and_unexplained_constants_are_found() {
    let source = "const A: u64 = 4096;\nfn f() { g(4096, 1000, x4096, \"5000\") } // 7000\n\
                  const B: [u64; 2] = [\n    4096,\n];\nh(20_000);\n#[cfg(test)]\nmod t { f(9999) }";
    assert_eq!(bare_numbers(source), [(2, "4096".into()), (6, "20_000".into())]);
    assert_eq!(unexplained(source), [1]);
    assert!(unexplained("/// Why.\nconst A: u64 = 1;\nconst B: usize = 2;\n").is_empty());
}
