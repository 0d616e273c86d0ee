use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use workspace::{RelPath, Workspace};

use super::*;
use crate::symbols::Parsers;
use crate::{CodeBase, FileFilter, FileQuery, SearchScope, find_files};

/// The chance of the word between `|` marks.
fn chance(language: Language, marked: &str) -> Chance {
    let start = marked.find('|').unwrap();
    let text = marked.replace('|', "");
    let end = marked[start + 1..].find('|').unwrap() + start;
    chance_at(language, text.as_bytes(), start, end)
}

#[test]
fn in_c_uses_are_told_from_definitions() {
    let uses = [
        "x = dev->|foo|;",
        "\treturn |foo|(a);",
        "{\n\t|foo|(a, b);\n}",
        "\tif (x)\n\t\t|foo|(a);",
        "\tbar(a, |foo|);",
        "\tbar(a, |foo|(b));",
        "\tstruct |foo| *p = 0;",
        "static const struct |foo| bar = {",
        "\t.|foo| = bar,",
        "#ifdef |FOO|",
        "#define BAR(x) |foo|(x)",
        "// about |foo| (and more)",
        "/*\n * |foo| = bar, and so on\n */",
        "int a[] = { |FOO|, BAR };",
        "int f(int |foo|, int b)\n{",
        "\tcase |FOO|:",
        "EXPORT_SYMBOL(|foo|);",
        "\tx = (int)|foo|;",
    ];
    for text in uses {
        assert_eq!(chance(Language::C, text), Chance::No, "{text}");
    }
    let major = [
        "int |foo|(void)\n{",
        "static struct bar *\n|foo|(void)\n{",
        "static int __init |foo|(void)",
        "struct |foo| {",
        "struct bar __packed |foo| = { 0 };",
        "typedef unsigned int |foo|;",
        "typedef struct {\n\tint a;\n} |foo|;",
        "#define |FOO| 1",
        "#define |foo|(x) (x)",
        "# define |FOO|",
        "enum x {\n\tA,\n\t/* { */ |FOO| = 2,\n};",
        "enum { A, |B|, C };",
        "DEFINE_MUTEX(|foo|);",
        "static DEFINE_PER_CPU(int, |foo|);",
        "SYSCALL_DEFINE3(|foo|, int, a)",
        "int |foo|;",
        "int a, |foo|;",
        "void (*|foo|)(int);",
        "|main|()\n{",
        "__attribute__((weak)) int |foo|(void)",
    ];
    for text in major {
        assert_eq!(chance(Language::C, text), Chance::Major, "{text}");
    }
    for text in [
        "struct x {\n\tint |foo|;",
        "struct x {\n\tint (*|foo|)(int);",
        "struct x {\n\tchar *a, *|foo|;",
    ] {
        assert_eq!(chance(Language::C, text), Chance::Minor, "{text}");
    }
}

#[test]
fn elsewhere_uses_are_told_from_definitions() {
    use Language::*;
    let table = [
        (Rust, "pub fn |foo|() {}", Chance::Major),
        (Rust, "macro_rules! |foo| {", Chance::Major),
        (Rust, "enum X { A, |Foo|(u8) }", Chance::Major),
        (Rust, "struct X { |foo|: u8 }", Chance::Minor),
        (Rust, "use a::b::|foo|;", Chance::Minor),
        (Rust, "self.|foo|()", Chance::No),
        (Rust, "x = |foo|(1);", Chance::No),
        (Rust, "// the |foo| is", Chance::No),
        (Go, "func |Foo|() {", Chance::Major),
        (Go, "func (r *R) |Foo|() {", Chance::Major),
        (Go, "const (\n\t|Foo| = iota", Chance::Major),
        (Go, "x := pkg.|Foo|(1)", Chance::No),
        (Python, "def |foo|():", Chance::Major),
        (Python, "|FOO| = 1", Chance::Major),
        (Python, "class A:\n    a: int = ...\n    |foo|: int = ...", Chance::Major),
        (Python, "# Ends in a dot.\n|foo| = 1", Chance::Major),
        (Python, "x = 1  # see there.\n|foo| = 1", Chance::Major),
        (Python, "from a import (b, c,\n    |foo|\n)", Chance::Minor),
        (Rust, "// A mark.\nstruct X { // so.\n    |foo|: u8 }", Chance::Minor),
        (JavaScript, "class A {\n  // Does it.\n  |foo|(a) {", Chance::Major),
        (Bash, "  for ((|foo| = 1; foo < 3; foo++)); do", Chance::Minor),
        (Python, "        self.|foo| = 1", Chance::Minor),
        (Python, "from a import |foo|", Chance::Minor),
        (Python, "    x = |foo|(1)", Chance::No),
        (Python, "    a.|foo|(1)", Chance::No),
        (Ruby, "  def self.|foo|", Chance::Major),
        (Ruby, "  attr_reader :a, :|foo|", Chance::Major),
        (Ruby, "  x.|foo|", Chance::No),
        (Php, "public function |foo|() {", Chance::Major),
        (Php, "define('|FOO|', 1);", Chance::Major),
        (Php, "$this->|foo|();", Chance::No),
        (Bash, "|foo|() {", Chance::Major),
        (Bash, "echo $|foo|", Chance::No),
        (Java, "  public <T> List<T> |foo|(int a) {", Chance::Major),
        (Java, "  enum X { |A|, B }", Chance::Major),
        (Java, "    return |foo|(a);", Chance::No),
        (Java, "    x.|foo|(a);", Chance::No),
        (CSharp, "  int IThing.|Foo|() => 1;", Chance::Major),
        (CSharp, "    await x.|Foo|();", Chance::No),
        (JavaScript, "exports.|foo| = function () {}", Chance::Major),
        (JavaScript, "class A {\n  |foo|(a) {", Chance::Major),
        (JavaScript, "const { a, |foo| } = b", Chance::Minor),
        (JavaScript, "x.|foo|(a)", Chance::No),
        (JavaScript, "if (|foo|(a)) {", Chance::No),
        (TypeScript, "  private async |foo|<T>(a: T) {", Chance::Major),
        (TypeScript, "  |foo|?: string;", Chance::Major),
        (Tsx, "export const |Foo| = () => <div/>", Chance::Major),
    ];
    for (language, text, expected) in table {
        assert_eq!(chance(language, text), expected, "{language:?} {text}");
    }
}

proptest::proptest! {
    /// The chance in a text is the best one of its places, whatever stands around them.
    #[test]
    fn the_best_place_of_a_text_decides(text in "(a|b|fn |def |[(){};:,.*&=<>/\\\\\"'# \\n\\[\\]@$!-]){0,40}") {
        let word = WholeWord::new("a");
        for language in Language::ALL {
            let places = word.places(text.as_bytes());
            let best = places.map(|at| chance_at(language, text.as_bytes(), at, at + 1)).max();
            let found = chance_in(language, text.as_bytes(), &word);
            proptest::prop_assert_eq!(found, best.unwrap_or(Chance::No), "{:?}", language);
        }
    }
}

/// Every definition that the parser finds in this repository's own sources is let through.
#[test]
fn narrowing_hides_no_definition_of_this_repository() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let workspace = Arc::new(Workspace::open(&root).unwrap());
    let scope = SearchScope {
        start: RelPath::root(),
        filter: FileFilter::default(),
        hidden: false,
        max_depth: 32,
        max_entries: 100_000,
        deadline: Instant::now() + Duration::from_secs(600),
        max_results: usize::MAX,
        max_file_bytes: 1 << 20,
        file_time: Duration::from_secs(60),
    };
    let code = CodeBase::new(Arc::clone(&workspace));
    let files = find_files(&code, &FileQuery::default(), &scope, &|| false).unwrap().files;
    let mut parsers = Parsers::new();
    let mut definitions = BTreeMap::new();
    let mut hides = Vec::new();
    for path in files.into_iter().map(|file| file.path) {
        let Some(language) = Language::parsed(&path) else { continue };
        let text = workspace.open_file(&path).unwrap().read_all(1 << 20).unwrap();
        let found = parsers.symbols(language, &text, Instant::now() + Duration::from_secs(60));
        assert!(found.complete, "{path}");
        *definitions.entry(language.name()).or_insert(0) += found.symbols.len();
        for symbol in hidden(language, &text, &found.symbols) {
            hides.push(format!("{path}:{} {} {}", symbol.line, symbol.kind.name(), symbol.name));
        }
    }
    assert_eq!(hides, [""; 0]);
    assert!(definitions["Rust"] > 10_000 && definitions["Python"] > 5, "{definitions:?}");
}
