//! What a file is, judged by its name, and how much a match in it is worth.

use workspace::RelPath;

use crate::test_files::has_test_name;

const TEST: f32 = 0.5;
const EXAMPLE: f32 = 0.75;
const DOCUMENT: f32 = 0.6;
const DATA: f32 = 0.5;
const FOREIGN: f32 = 0.3;
/// Files that name everything around them and define little of it.
const INDEX: f32 = 0.8;
const INDEX_NAMES: &[&str] = &["__init__", "index", "lib", "mod"];
/// Lines longer than this on average are not written by people.
const MINIFIED_LINE: usize = 250;
/// A mark for generated files, looked for at the beginning only.
const GENERATED: &[u8] = b"@generated";
const HEAD: usize = 1024;

const FOREIGN_DIRECTORIES: &[&str] = &[
    "vendor",
    "vendored",
    "third_party",
    "third-party",
    "node_modules",
    "bower_components",
    "dist",
    "generated",
    "gen",
    "deps",
    "external",
];
const TEST_DIRECTORIES: &[&str] =
    &["test", "tests", "__tests__", "spec", "specs", "testing", "fixtures", "testdata"];
const EXAMPLE_DIRECTORIES: &[&str] =
    &["example", "examples", "bench", "benches", "demo", "samples"];
const DOCUMENTS: &[&str] = &["md", "markdown", "rst", "txt", "adoc", "org", "html"];
const DATA_FILES: &[&str] =
    &["json", "csv", "xml", "svg", "yaml", "yml", "toml", "lock", "snap", "po"];
const FOREIGN_ENDINGS: &[&str] = &[
    ".min.js",
    ".min.css",
    ".map",
    ".lock",
    "-lock.json",
    "-lock.yaml",
    ".pb.go",
    "_pb2.py",
    ".generated.ts",
    ".g.dart",
    ".g.cs",
    ".designer.cs",
];

/// The factor for a file at `path` with this content. Tests count fully if they are asked for.
pub(super) fn standing(path: &RelPath, content: &[u8], about_tests: bool) -> f32 {
    let text = path.to_text().to_lowercase();
    let (directories, name) = text.rsplit_once('/').unwrap_or(("", &text));
    let within = |names: &[&str]| directories.split('/').any(|name| names.contains(&name));
    if within(FOREIGN_DIRECTORIES)
        || FOREIGN_ENDINGS.iter().any(|ending| name.ends_with(ending))
        || is_generated(content)
    {
        return FOREIGN;
    }
    let extension = name.rsplit_once('.').map_or("", |(_, extension)| extension);
    let stem = name.split('.').next().unwrap_or(name);
    let is_test =
        within(TEST_DIRECTORIES) || has_test_name(path) || ["test", "tests"].contains(&stem);
    let kind = if DOCUMENTS.contains(&extension) {
        DOCUMENT
    } else if DATA_FILES.contains(&extension) {
        DATA
    } else if within(EXAMPLE_DIRECTORIES) {
        EXAMPLE
    } else if INDEX_NAMES.contains(&stem) {
        INDEX
    } else {
        1.0
    };
    if is_test && !about_tests { kind * TEST } else { kind }
}

fn is_generated(content: &[u8]) -> bool {
    let head = &content[..content.len().min(HEAD)];
    let lines = memchr::memchr_iter(b'\n', content).count() + 1;
    content.len() / lines > MINIFIED_LINE || memchr::memmem::find(head, GENERATED).is_some()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_others_wrote_or_what_only_tests_stands_back() {
        let table = [
            ("src/main.rs", 1.0),
            ("src/latest.rs", 1.0),
            ("tests/it/main.rs", TEST),
            ("src/main_test.go", TEST),
            ("src/App.test.tsx", TEST),
            ("vendor/x/main.go", FOREIGN),
            ("web/app.min.js", FOREIGN),
            ("Cargo.lock", FOREIGN),
            ("README.md", DOCUMENT),
            ("examples/a.rs", EXAMPLE),
            ("src/lib.rs", INDEX),
        ];
        for (path, expected) in table {
            let path = RelPath::parse(path).unwrap();
            assert_eq!(standing(&path, b"line\n", false), expected, "{path}");
        }
        let path = RelPath::parse("tests/a.rs").unwrap();
        assert_eq!(standing(&path, b"", true), 1.0);
        assert_eq!(standing(&path, b"// @generated\n", true), FOREIGN);
        assert_eq!(standing(&path, &[b'x'; 5000], true), FOREIGN);
    }
}
