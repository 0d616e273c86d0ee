//! Which paths ignore rules leave out.

use workspace::Ignored;

use crate::tree::{Tree, rel};

const FILES: [(&str, &str); 9] = [
    (".gitignore", "/target\n*.log\nnode_modules/\n"),
    (".git/info/exclude", "private\n"),
    ("target/debug/app", "x"),
    ("src/main.rs", "fn main() {}"),
    ("packages/a/node_modules/b/index.js", "x"),
    ("packages/a/.gitignore", "/dist\n!keep.log\n"),
    ("packages/a/dist/out.js", "x"),
    ("private/diary", "x"),
    ("packages/b/index.js", "x"),
];

#[test]
fn paths_are_judged_by_the_rules_around_them_whether_or_not_they_exist() {
    let tree = Tree::with(&FILES);
    let workspace = tree.open();
    let mut ignored = Ignored::new(&workspace);
    let cases = [
        ("src/main.rs", false, false),
        ("src/debug.log", false, true),
        ("target", true, true),
        ("target", false, true),
        ("target/debug/deps/new.o", false, true),
        ("src/target", true, false),
        ("node_modules", true, true),
        ("node_modules", false, false),
        ("packages/a/dist/out.js", false, true),
        ("packages/a/keep.log", false, false),
        ("packages/b/dist/out.js", false, false),
        ("private/diary", false, true),
        (".git/index.log", false, true),
        (".git", true, false),
    ];
    for (text, is_dir, expected) in cases {
        assert_eq!(ignored.covers(&rel(text), is_dir), expected, "{text}");
    }
}
