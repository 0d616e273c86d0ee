//! What a file is, judged by its name, and how much a match in it is worth.

use workspace::RelPath;

use super::question::AsksFor;
use super::weights::RankingWeights;
use crate::Language;
use crate::test_files::has_test_name;

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
const PROSE: &[&str] = &["md", "mdx", "markdown", "rst", "txt", "adoc", "org", "html", "htm"];
/// Names of prose that often has no extension.
const PROSE_NAMES: &[&str] = &[
    "authors",
    "changelog",
    "changes",
    "copying",
    "licence",
    "license",
    "news",
    "notice",
    "readme",
];
/// Extensions of code in languages that have no row of their own.
const OTHER_CODE: &[&str] = &[
    "asm", "astro", "awk", "clj", "cljc", "cljs", "coffee", "cr", "cu", "d", "dart", "el", "elm",
    "erl", "ex", "exs", "f", "f90", "fish", "frag", "fs", "fsi", "fsx", "glsl", "gql", "gradle",
    "graphql", "groovy", "hcl", "hrl", "hs", "idl", "jl", "kt", "kts", "lhs", "lisp", "lua", "m",
    "ml", "mli", "mm", "move", "nim", "nix", "pas", "pl", "pm", "prisma", "proto", "ps1", "psm1",
    "pyx", "qml", "r", "rkt", "s", "sc", "scala", "scm", "sol", "sql", "st", "sv", "svelte",
    "swift", "tcl", "tf", "thrift", "v", "vala", "vb", "vert", "vhd", "vim", "vue", "wat", "wgsl",
    "zig", "zsh",
];
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

/// What a file is to a search for code.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Standing {
    Code,
    Test,
    /// Prose, data, and what is generated or foreign.
    BehindCode,
}

impl Standing {
    /// What the file at `path` with this content is. What the query asks for is as good as code.
    pub(super) fn of(path: &[u8], content: &[u8], asks_for: &AsksFor) -> Standing {
        let standing = Standing::by_path(path, asks_for);
        if standing != Standing::BehindCode && is_generated(content) {
            return Standing::BehindCode;
        }
        standing
    }

    /// The same without the content.
    pub(super) fn by_path(path: &[u8], asks_for: &AsksFor) -> Standing {
        let text = String::from_utf8_lossy(path).to_lowercase();
        let (directories, name) = text.rsplit_once('/').unwrap_or(("", &text));
        let within = |names: &[&str]| directories.split('/').any(|name| names.contains(&name));
        if asks_for.files.iter().any(|asked| is_called(&text, asked)) {
            return Standing::Code;
        }
        if within(FOREIGN_DIRECTORIES)
            || FOREIGN_ENDINGS.iter().any(|ending| name.ends_with(ending))
        {
            return Standing::BehindCode;
        }
        let extension = name.rsplit_once('.').map_or("", |(_, extension)| extension);
        let stem = name.split('.').next().unwrap_or(name);
        if PROSE.contains(&extension) || PROSE_NAMES.contains(&stem) && extension.is_empty() {
            return if asks_for.prose { Standing::Code } else { Standing::BehindCode };
        }
        let path = RelPath::from_bytes(path).unwrap_or_else(|_| RelPath::root());
        if Language::of(&path).is_none() && !OTHER_CODE.contains(&extension) {
            return if asks_for.data { Standing::Code } else { Standing::BehindCode };
        }
        let is_test =
            within(TEST_DIRECTORIES) || has_test_name(&path) || ["test", "tests"].contains(&stem);
        match is_test {
            true if asks_for.tests => Standing::Code,
            true => Standing::Test,
            false => Standing::Code,
        }
    }

    /// By how much a score is lowered.
    pub(super) fn factor(self, weights: &RankingWeights) -> f32 {
        match self {
            Standing::Code => 1.0,
            Standing::Test => weights.test,
            Standing::BehindCode => weights.behind_code,
        }
    }
}

/// Whether a path ends in what was asked for, from the beginning of a name on.
fn is_called(path: &str, asked: &str) -> bool {
    let asked = asked.trim_start_matches("./");
    let before = path.strip_suffix(asked);
    !asked.is_empty() && before.is_some_and(|before| before.is_empty() || before.ends_with('/'))
}

fn is_generated(content: &[u8]) -> bool {
    let head = &content[..content.len().min(HEAD)];
    if memchr::memmem::find(head, GENERATED).is_some() {
        return true;
    }
    // Lines are counted only where the first ones are long: that costs a look at the whole text.
    let lines_of = |text: &[u8]| memchr::memchr_iter(b'\n', text).count() + 1;
    head.len() / lines_of(head) > MINIFIED_LINE && content.len() / lines_of(content) > MINIFIED_LINE
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_others_wrote_or_what_only_tests_stands_back() {
        let table = [
            ("src/main.rs", Standing::Code),
            ("src/latest.rs", Standing::Code),
            ("src/Main.kt", Standing::Code),
            ("Makefile.in", Standing::BehindCode),
            ("tests/it/main.rs", Standing::Test),
            ("src/main_test.go", Standing::Test),
            ("src/App.test.tsx", Standing::Test),
            ("vendor/x/main.go", Standing::BehindCode),
            ("web/app.min.js", Standing::BehindCode),
            ("Cargo.lock", Standing::BehindCode),
            ("README.md", Standing::BehindCode),
            ("LICENSE", Standing::BehindCode),
            ("src/license.rs", Standing::Code),
            ("data/cities.json", Standing::BehindCode),
            ("src/lib.rs", Standing::Code),
        ];
        for (path, expected) in table {
            let standing = Standing::of(path.as_bytes(), b"line\n", &AsksFor::default());
            assert_eq!(standing, expected, "{path}");
        }
        let of = |content: &[u8]| Standing::of(b"a.rs", content, &AsksFor::default());
        assert_eq!(of(b"// @generated\n"), Standing::BehindCode);
        assert_eq!(of(&[b'x'; 5000]), Standing::BehindCode);
    }

    #[test]
    fn what_is_asked_for_stands_with_the_code() {
        let asks = |tests, prose, data, file: &str| {
            let files = if file.is_empty() { vec![] } else { vec![file.to_owned()] };
            AsksFor { tests, prose, data, files }
        };
        let table = [
            ("tests/a.rs", asks(true, false, false, ""), true),
            ("tests/a.rs", asks(false, true, true, ""), false),
            ("README.md", asks(false, true, false, ""), true),
            ("ci.yml", asks(false, false, true, ""), true),
            ("sub/Cargo.toml", asks(false, false, false, "cargo.toml"), true),
            ("sub/Cargo.toml", asks(false, false, false, "sub/cargo.toml"), true),
            ("sub/mycargo.toml", asks(false, false, false, "cargo.toml"), false),
        ];
        for (path, asks_for, expected) in table {
            let standing = Standing::of(path.as_bytes(), b"", &asks_for);
            assert_eq!(standing == Standing::Code, expected, "{path} {asks_for:?}");
        }
    }
}
