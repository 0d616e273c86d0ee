//! Where a name stands, and what it does there.

use super::{Parsers, later};
use crate::Language;

/// Line, column and role of each place of a name.
fn places(language: Language, text: &str, name: &str) -> String {
    let found = Parsers::new().occurrences(language, text.as_bytes(), name, later());
    let mut lines = String::new();
    for one in found {
        assert_eq!(&text[one.at.start as usize..one.at.end as usize], name);
        lines += &format!("{}:{} {}\n", one.line, one.column, one.role.name());
    }
    lines
}

#[test]
#[cfg(feature = "rust")]
fn roles_in_rust() {
    let text = "use a::foo;\n// foo\nfn foo() { foo(); \"foo\"; bar!(foo, food); }\n/* é foo */\n";
    insta::assert_snapshot!(places(Language::Rust, text, "foo"), @r"
    1:8 import
    2:4 comment
    3:4 definition
    3:12 reference
    3:20 text
    3:31 reference
    4:7 comment
    ");
}

#[test]
#[cfg(feature = "typescript")]
fn code_inside_of_text_is_code() {
    let text = "const a = `a ${a} a`;\nexport const V = () => <p title=\"a\">a {a}</p>;\n";
    insta::assert_snapshot!(places(Language::Tsx, text, "a"), @r"
    1:7 definition
    1:12 text
    1:16 reference
    1:19 text
    2:34 text
    2:37 text
    2:40 reference
    ");
}

#[test]
#[cfg(feature = "python")]
fn imports_in_python() {
    let text = "from m import a, b as c\nimport a.b\nf'{a} a'\ndef a(): a = a\n";
    insta::assert_snapshot!(places(Language::Python, text, "a"), @r"
    1:15 import
    2:8 import
    3:4 reference
    3:7 text
    4:5 definition
    4:10 definition
    4:14 reference
    ");
}

#[test]
#[cfg(feature = "c")]
fn bodies_count_in_c() {
    let text = "int f(int x)\n{\n\treturn f(x) + f(x - 1);\n}\n#define F f\n";
    insta::assert_snapshot!(places(Language::C, text, "f"), @r"
    1:5 definition
    3:9 reference
    3:16 reference
    5:11 reference
    ");
}

#[test]
#[cfg(feature = "c")]
fn strings_and_messages_are_no_code_for_the_preprocessor() {
    let text = concat!(
        "#define S(a) #a \"a\" a\n",
        "#define T a + \\\n  a // a\n",
        "#error a\n",
        "#  warning \"a\" a\n",
        "#pragma omp private(a) \"a\"\n",
    );
    insta::assert_snapshot!(places(Language::C, text, "a"), @r"
    1:11 reference
    1:15 reference
    1:18 text
    1:21 reference
    2:11 reference
    3:3 reference
    3:8 comment
    4:8 text
    5:13 text
    5:16 text
    6:21 reference
    6:25 text
    ");
}

#[test]
#[cfg(feature = "csharp")]
fn messages_and_formats_in_csharp_are_text() {
    let text = concat!(
        "#region a\n#error a\n#warning a\n",
        "class C { string s = $\"{a:a}\"; }\n",
        "#endregion a\n",
    );
    insta::assert_snapshot!(places(Language::CSharp, text, "a"), @r"
    1:9 text
    2:8 text
    3:10 text
    4:25 reference
    4:27 text
    5:12 text
    ");
}

#[test]
#[cfg(feature = "python")]
fn a_format_in_python_is_text_around_code() {
    insta::assert_snapshot!(places(Language::Python, "f'{a:a}' + f'{a:>{a}}'\n", "a"), @r"
    1:4 reference
    1:6 text
    1:15 reference
    1:19 reference
    ");
}

#[test]
#[cfg(feature = "ruby")]
fn what_follows_the_end_of_a_ruby_program_is_text() {
    insta::assert_snapshot!(places(Language::Ruby, "a\n__END__\na\n", "a"), @r"
    1:1 reference
    3:1 text
    ");
}
