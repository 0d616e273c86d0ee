//! Ignore rules, by example and against ripgrep's own walker.

use std::os::unix::ffi::OsStrExt;

use ignore::WalkBuilder;
use proptest::prelude::*;
use workspace::{RelPath, WalkOptions};

use crate::tree::{Tree, rel};
use crate::walking::collect;

fn visible(tree: &Tree, start: &str) -> Vec<String> {
    let options = WalkOptions { start: rel(start), ..WalkOptions::default() };
    collect(&tree.open(), &options).1
}

#[test]
fn inner_rules_and_stronger_files_win() {
    let tree = Tree::with(&[
        (".gitignore", "*.log\n/target\nbuild/\n!.wanted\n"),
        (".ignore", "!keep.log\n"),
        (".git/info/exclude", "*.tmp\n*.log\n!target\n"),
        ("a.log", ""),
        ("keep.log", ""),
        ("a.tmp", ""),
        (".wanted", ""),
        (".other", ""),
        ("target/x", ""),
        ("build", "a file, so build/ does not match"),
        ("sub/.gitignore", "!b.log\nlocal\n"),
        ("sub/b.log", ""),
        ("sub/c.log", ""),
        ("sub/local", ""),
        ("sub/target/x", ""),
        ("sub/build/x", ""),
        ("local", ""),
    ]);
    let expected =
        [".wanted", "build", "keep.log", "local", "sub", "sub/b.log", "sub/target", "sub/target/x"];
    assert_eq!(visible(&tree, "."), expected);
    // Rules of the directories above hold for a walk that begins further down.
    assert_eq!(visible(&tree, "sub"), ["sub/b.log", "sub/target", "sub/target/x"]);
    // What is named as the start is walked even though it is ignored.
    assert_eq!(visible(&tree, "sub/build"), ["sub/build/x"]);
}

#[test]
fn rules_can_be_switched_off() {
    let tree = Tree::with(&[(".gitignore", "*\n"), ("a", "")]);
    let options = WalkOptions { respect_ignore: false, ..WalkOptions::default() };
    assert_eq!(collect(&tree.open(), &options).1, ["a"]);
    assert!(visible(&tree, ".").is_empty());
}

#[test]
fn a_linked_rule_file_has_no_effect() {
    let tree = Tree::with(&[("a", ""), ("rules", "a\n")]);
    tree.link(".gitignore", "rules");
    std::fs::write(tree.outside().join("rules"), "a\n").unwrap();
    tree.link(".ignore", "../outside/rules");
    assert_eq!(visible(&tree, "."), ["a", "rules"]);
}

#[test]
fn a_byte_order_mark_and_windows_endings_do_not_hide_a_rule() {
    let tree = Tree::with(&[(".gitignore", "\u{FEFF}a\r\nb\r\n"), ("a", ""), ("b", ""), ("c", "")]);
    assert_eq!(visible(&tree, "."), ["c"]);
}

#[test]
fn an_oversized_rule_file_counts_up_to_its_last_whole_line() {
    const LIMIT: usize = 256 * 1024;
    let filler = "#\n".repeat(LIMIT / 2 - 3);
    // The limit falls inside the last line, behind `abc`.
    let tree =
        Tree::with(&[(".gitignore", &format!("{filler}x\n\nabcd\n")), ("x", ""), ("abc", "")]);
    assert_eq!(visible(&tree, "."), ["abc"]);
}

/// What ripgrep would visit, without `.git`, which we never enter.
fn reference(tree: &Tree, hidden: bool) -> Vec<String> {
    let root = tree.root();
    let walk = WalkBuilder::new(&root)
        .require_git(false)
        .git_global(false)
        .parents(false)
        .hidden(!hidden)
        .build();
    let mut paths: Vec<RelPath> = walk
        .map(|entry| entry.unwrap().into_path())
        .filter_map(|path| path.strip_prefix(&root).map(ToOwned::to_owned).ok())
        .filter(|path| !path.as_os_str().is_empty())
        .filter(|path| !path.components().any(|part| part.as_os_str().as_bytes() == b".git"))
        .map(|path| RelPath::parse(path.to_str().unwrap()).unwrap())
        .collect();
    paths.sort();
    paths.iter().map(RelPath::to_text).collect()
}

fn name() -> impl Strategy<Value = &'static str> {
    prop::sample::select(vec!["a", "b", "ab", "a.o", "b.o", "x.txt", ".h", "build", "#c", "é"])
}

fn dir() -> impl Strategy<Value = String> {
    let name = prop::sample::select(vec!["a", "b", "ab", "build", ".h", "é"]);
    prop::collection::vec(name, 0..4)
        .prop_map(|names| names.iter().map(|n| format!("{n}/")).collect())
}

fn pattern() -> impl Strategy<Value = String> {
    let piece = prop::sample::select(vec![
        "a", "b", "ab", "*", "**", "?", "*.o", "a*", "[ab]", "[!a]", "x.txt", ".h", ".*", "build",
        "{a,b}", "\\#c", "é", "a.?", "[", " ",
    ]);
    let prefix = prop::sample::select(vec!["", "", "", "!", "!", "/", "!/", "**/", "#"]);
    let suffix = prop::sample::select(vec!["", "", "", "/", "/**", "/*", " ", "\r"]);
    (prefix, prop::collection::vec(piece, 1..4), suffix)
        .prop_map(|(prefix, pieces, suffix)| format!("{prefix}{}{suffix}", pieces.join("/")))
}

fn rule_file() -> impl Strategy<Value = (String, String)> {
    let file =
        prop::sample::select(vec![".gitignore", ".gitignore", ".ignore", ".git/info/exclude"]);
    (dir(), file, prop::collection::vec(pattern(), 0..6))
        .prop_map(|(dir, file, lines)| (format!("{dir}{file}"), lines.join("\n")))
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(150))]

    #[test]
    fn we_visit_what_ripgrep_visits(
        dirs in prop::collection::vec(dir(), 1..6),
        files in prop::collection::vec((dir(), name()), 0..20),
        rules in prop::collection::vec(rule_file(), 1..5),
        hidden: bool,
        threads in 1_usize..4,
    ) {
        let tree = Tree::new();
        for dir in dirs.iter().filter(|dir| !dir.is_empty()) {
            tree.write(dir, "");
        }
        for (path, lines) in &rules {
            tree.write(path, lines);
        }
        for (dir, name) in files {
            let path = format!("{dir}{name}");
            if !tree.path(&path).exists() && std::fs::create_dir_all(tree.path(&dir)).is_ok() {
                std::fs::write(tree.path(&path), "").unwrap();
            }
        }
        let options = WalkOptions { hidden, threads, ..WalkOptions::default() };
        prop_assert_eq!(collect(&tree.open(), &options).1, reference(&tree, hidden));
    }
}
