//! Which of several definitions is meant first.

use workspace::RelPath;

use super::symbol_name::Fit;
use crate::test_files::{has_test_name, is_usual_test_name};

/// Parts of a path that hold tests, examples and the like.
const ASIDE: [&str; 22] = [
    "test",
    "tests",
    "__tests__",
    "spec",
    "specs",
    "testing",
    "testdata",
    "fixtures",
    "fixture",
    "example",
    "examples",
    "sample",
    "samples",
    "bench",
    "benches",
    "benchmarks",
    "doc",
    "docs",
    "selftests",
    "mock",
    "mocks",
    "demo",
];
/// Parts of a path that hold what others wrote or what was built.
const FOREIGN: [&str; 15] = [
    "vendor",
    "vendored",
    "third_party",
    "third-party",
    "thirdparty",
    "node_modules",
    "external",
    "deps",
    "dist",
    "build",
    "out",
    "target",
    "generated",
    "site-packages",
    "venv",
];

/// The place of a definition among others; the least comes first.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct DefinitionRank {
    pub(crate) by_text: bool,
    pub(crate) fit: Fit,
    pub(crate) kind_rank: u8,
    pub(crate) remoteness: u8,
    pub(crate) is_private: bool,
    pub(crate) depth: usize,
    pub(crate) path: RelPath,
    pub(crate) line: u32,
}

/// 0 for the project's own code, 1 for tests, examples and documents, 2 for foreign code.
pub(crate) fn remoteness(path: &RelPath) -> u8 {
    let mut worst = 0;
    for part in path.components() {
        let part = String::from_utf8_lossy(part).to_ascii_lowercase();
        let stem = part.split_once('.').map_or(part.as_str(), |(stem, _)| stem);
        if FOREIGN.contains(&part.as_str()) || part.ends_with(".min.js") {
            return 2;
        }
        if ASIDE.contains(&stem) || is_usual_test_name(&part) {
            worst = 1;
        }
    }
    if has_test_name(path) { 1 } else { worst }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn own_code_comes_before_tests_and_foreign_code() {
        let table = [
            ("src/main.rs", 0),
            ("latest/contest.py", 0),
            ("tests/it/main.rs", 1),
            ("src/foo_test.go", 1),
            ("src/app.spec.ts", 1),
            ("src/UserTest.java", 1),
            ("docs/a.py", 1),
            ("vendor/x/y.go", 2),
            ("web/node_modules/test/a.js", 2),
            ("static/jquery.min.js", 2),
        ];
        for (path, expected) in table {
            assert_eq!(remoteness(&RelPath::parse(path).unwrap()), expected, "{path}");
        }
    }
}
