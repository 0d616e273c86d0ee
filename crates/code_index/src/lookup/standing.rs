//! Which of several definitions is meant first.

use workspace::RelPath;

use super::symbol_name::Fit;
use crate::Language;

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
pub(crate) struct Standing {
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
        let is_test =
            stem.starts_with("test_") || stem.ends_with("_test") || stem.ends_with("_spec");
        if is_test || ASIDE.contains(&stem) || part.contains(".test.") || part.contains(".spec.") {
            worst = 1;
        }
    }
    worst
}

/// Whether the head of a definition says that it cannot be seen from elsewhere.
pub(crate) fn is_private(language: Language, name: &str, signature: &str) -> bool {
    let has =
        |word: &str| signature.split(|c: char| !c.is_alphanumeric()).any(|found| found == word);
    match language {
        Language::Rust => !has("pub"),
        Language::C | Language::Cpp => has("static"),
        Language::Go => !name.chars().next().is_some_and(char::is_uppercase),
        Language::JavaScript | Language::TypeScript | Language::Tsx => {
            !has("export") && !has("exports")
        }
        Language::Python | Language::Ruby | Language::Bash => name.starts_with('_'),
        Language::Java | Language::CSharp | Language::Php => has("private") || has("protected"),
    }
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
