use super::*;

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
    #[test]
    fn any_text_is_judged_without_panic(text in "[a-z(){};:,.*&=<>/\\\\\"'# \\n\\[\\]@$!-]{0,60}") {
        for language in Language::ALL {
            let word = Word::new("a");
            let _ = chance_in(language, text.as_bytes(), &word);
        }
    }
}
