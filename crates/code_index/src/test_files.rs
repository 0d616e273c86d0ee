//! Whether a file holds tests, judged by its name.

use workspace::RelPath;

use crate::Language;

/// Names of tests in all languages, in lower case, up to the first dot and with one `*`.
const USUAL: [&str; 5] = ["test_*", "tests_*", "*_test", "*_tests", "*_spec"];
/// What stands between the first part of a test's name and its extension.
const USUAL_MIDDLES: [&str; 2] = [".test.", ".spec."];

/// Whether the name of the file at `path` is that of a test: a usual one, or one that the row of its
/// language has. Directories do not count.
pub(crate) fn has_test_name(path: &RelPath) -> bool {
    let name = String::from_utf8_lossy(path.file_name().unwrap_or_default());
    let patterns = Language::of(path).map_or(&[][..], |language| language.spec().test_names);
    is_usual_test_name(&name) || patterns.iter().any(|pattern| fits(pattern, stem(&name)))
}

/// Whether a file or directory of this name holds tests in any language: `test_a.py`, `a_test.go`,
/// `a.spec.ts`.
pub(crate) fn is_usual_test_name(name: &str) -> bool {
    let name = name.to_ascii_lowercase();
    USUAL.iter().any(|pattern| fits(pattern, stem(&name)))
        || USUAL_MIDDLES.iter().any(|middle| name.contains(middle))
}

fn stem(name: &str) -> &str {
    name.split('.').next().unwrap_or_default()
}

fn fits(pattern: &str, stem: &str) -> bool {
    let (start, end) = pattern.split_once('*').unwrap_or((pattern, ""));
    stem.len() > start.len() + end.len() && stem.starts_with(start) && stem.ends_with(end)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tests_are_told_by_their_names() {
        let table = [
            ("test_a.py", true),
            ("src/a_test.go", true),
            ("src/a_tests.rs", true),
            ("spec/a_spec.rb", true),
            ("src/App.test.tsx", true),
            ("src/app.spec.d.ts", true),
            ("src/UserTest.java", true),
            ("src/UserTests.cs", true),
            ("src/UserTest.php", true),
            ("tests/a.rs", false),
            ("src/latest.rs", false),
            ("src/Latest.java", false),
            ("src/UserTest.py", false),
            ("src/contest.ts", false),
            ("src/a.testing.ts", false),
            ("test.rs", false),
        ];
        for (path, expected) in table {
            assert_eq!(has_test_name(&RelPath::parse(path).unwrap()), expected, "{path}");
        }
    }
}
