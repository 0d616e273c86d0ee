//! Which of several definitions is meant first.

use workspace::RelPath;

use super::symbol_name::Fit;
use crate::Language;
use crate::symbols::{Symbol, SymbolKind};
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
const FOREIGN: [&str; 17] = [
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
    "umd",
    "bundles",
];
/// Ends of the names of files that programs write.
const GENERATED: [&str; 14] = [
    ".min.js",
    ".min.mjs",
    ".min.cjs",
    ".bundle.js",
    ".umd.js",
    ".g.cs",
    ".g.i.cs",
    ".designer.cs",
    ".generated.cs",
    ".pb.cc",
    ".pb.h",
    ".pb.go",
    "_pb2.py",
    "_pb2_grpc.py",
];
/// Ends of the names of files that only declare what others define.
const DECLARING: [&str; 3] = [".d.ts", ".d.cts", ".d.mts"];

/// A script of more bytes whose lines are longer than [`BUILT_LINE_BYTES`] on average was made by a
/// program.
const BUILT_FILE_BYTES: usize = 5000;
const BUILT_LINE_BYTES: usize = 500;
/// What bundlers write at the beginning of a script, and how far that is looked for.
const BUNDLE_HEADS: [&[u8]; 3] =
    [b"(global, factory)", b"webpackUniversalModuleDefinition", b"__webpack_modules__"];
const BUNDLE_HEAD_BYTES: usize = 2048;

/// The place of a definition among others; the least comes first.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct DefinitionRank {
    pub(crate) by_text: bool,
    pub(crate) fit: Fit,
    pub(crate) group: DefinitionGroup,
    pub(crate) remoteness: u8,
    pub(crate) standing: KindStanding,
    pub(crate) is_private: bool,
    /// Whether the file is not named after it.
    pub(crate) is_elsewhere: bool,
    pub(crate) depth: usize,
    pub(crate) path: RelPath,
    pub(crate) line: u32,
}

/// What a symbol does for its name, wherever it stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum DefinitionGroup {
    Definition,
    Declaration,
    Field,
    Local,
    Import,
}

/// Which of two definitions of a file is meant first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum KindStanding {
    /// A function or a type.
    Main,
    /// What a type has with its own name.
    Constructor,
    /// A constant, a variable or a module.
    Value,
    /// What only can be reached through something else.
    Nested,
}

impl DefinitionGroup {
    pub(crate) fn of(kind: SymbolKind) -> DefinitionGroup {
        match kind {
            SymbolKind::Declaration => DefinitionGroup::Declaration,
            SymbolKind::Field => DefinitionGroup::Field,
            SymbolKind::Local => DefinitionGroup::Local,
            SymbolKind::Import => DefinitionGroup::Import,
            _ => DefinitionGroup::Definition,
        }
    }
}

impl KindStanding {
    pub(crate) fn of(symbol: &Symbol, language: Language) -> KindStanding {
        let container = symbol.container.as_deref();
        let innermost = container.and_then(|path| path.rsplit('.').next());
        let is_nested = container.is_some() && language.spec().top_level_first;
        match symbol.kind.rank() {
            _ if is_nested => KindStanding::Nested,
            0 if innermost == Some(&symbol.name) => KindStanding::Constructor,
            0 => KindStanding::Main,
            _ => KindStanding::Value,
        }
    }
}

/// Whether a file is named after something else than `name`, up to its first dot.
pub(crate) fn is_elsewhere(path: &RelPath, name: &str) -> bool {
    let file = path.file_name().unwrap_or_default();
    let stem = file.split(|byte| *byte == b'.').next().unwrap_or_default();
    !stem.eq_ignore_ascii_case(name.as_bytes())
}

/// The remoteness of a file by its path and, where the language has bundles, by its text.
pub(crate) fn remoteness_of(path: &RelPath, text: &[u8], language: Language) -> u8 {
    match remoteness(path) {
        2 => 2,
        _ if language.spec().top_level_first && is_bundle(text) => 2,
        by_path => by_path,
    }
}

/// Whether a script was made from others: its lines are too long to be written, or it begins as
/// bundlers begin.
fn is_bundle(text: &[u8]) -> bool {
    let head = &text[..text.len().min(BUNDLE_HEAD_BYTES)];
    BUNDLE_HEADS.iter().any(|mark| memchr::memmem::find(head, mark).is_some())
        || text.len() > BUILT_FILE_BYTES
            && memchr::memchr_iter(b'\n', text).count() * BUILT_LINE_BYTES < text.len()
}

/// 0 for the project's own code, 1 for tests, examples, documents and declarations, 2 for foreign and
/// generated code.
pub(crate) fn remoteness(path: &RelPath) -> u8 {
    let mut worst = 0;
    for part in path.components() {
        let part = String::from_utf8_lossy(part).to_ascii_lowercase();
        let stem = part.split_once('.').map_or(part.as_str(), |(stem, _)| stem);
        let ends_in = |endings: &[&str]| endings.iter().any(|ending| part.ends_with(ending));
        if FOREIGN.contains(&part.as_str()) || part.starts_with("dist-") || ends_in(&GENERATED) {
            return 2;
        }
        if ASIDE.contains(&stem) || is_usual_test_name(&part) || ends_in(&DECLARING) {
            worst = 1;
        }
    }
    if has_test_name(path) { 1 } else { worst }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scripts_made_from_others_are_bundles() {
        let long = format!("{}\n", "var a=1;".repeat(700));
        let written = "var a = 1;\n".repeat(700);
        let table = [
            (long.as_str(), true),
            (&*written, false),
            ("!function(a){}(this)", false),
            ("(function (global, factory) {\n  typeof exports === 'object'", true),
            ("", false),
        ];
        let path = RelPath::parse("lib/a.js").unwrap();
        for (text, expected) in table {
            assert_eq!(is_bundle(text.as_bytes()), expected, "{text}");
            let remote = remoteness_of(&path, text.as_bytes(), Language::JavaScript);
            assert_eq!(remote == 2, expected, "{text}");
            assert_eq!(remoteness_of(&path, text.as_bytes(), Language::C), 0, "{text}");
        }
    }

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
            ("lib/app.bundle.js", 2),
            ("umd/react.js", 2),
            ("dist-module/jquery.js", 2),
            ("index.d.ts", 1),
            ("Forms/MainForm.Designer.cs", 2),
            ("obj/App.g.cs", 2),
            ("Forms/Designer.cs", 0),
            ("proto/a.pb.h", 2),
        ];
        for (path, expected) in table {
            assert_eq!(remoteness(&RelPath::parse(path).unwrap()), expected, "{path}");
        }
    }
}
