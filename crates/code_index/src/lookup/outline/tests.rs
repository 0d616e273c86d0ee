use std::time::Duration;

use super::*;

fn drawn(path: &str, text: &str) -> String {
    let until = Instant::now() + Duration::from_secs(20);
    let (path, text) = (RelPath::parse(path).unwrap(), text.as_bytes());
    let outline = outline_text(Language::of_file(&path, text), &path, text, until);
    assert!(outline.complete);
    let lines = outline
        .entries
        .iter()
        .map(|entry| format!("{:>3} {}{}\n", entry.line, "  ".repeat(entry.depth), entry.text));
    lines.collect::<String>() + outline.by
}

#[test]
fn members_stand_under_their_types() {
    let text = "pub struct Foo {\n    a: u8,\n}\n\nimpl Foo {\n    pub fn new() -> Foo {\n        let x = 1;\n        Foo { a: x }\n    }\n    fn b(&self) {}\n}\n\nfn main() {}\n";
    insta::assert_snapshot!(drawn("a.rs", text), @r"
      1 pub struct Foo
      2   a: u8
      0 Foo:
      6   pub fn new() -> Foo
     10   fn b(&self)
     13 fn main()
    symbols
    ");
    let text = "class A:\n    x = 1\n    def f(self):\n        def inner():\n            pass\n\nLIMIT = 3\n";
    insta::assert_snapshot!(drawn("a.py", text), @r"
      1 class A:
      2   x = 1
      3   def f(self):
      4     def inner():
      7 LIMIT = 3
    symbols
    ");
}

#[test]
fn files_without_a_grammar_show_headings_keys_or_their_first_lines() {
    insta::assert_snapshot!(drawn("a.md", "# Top\ntext\n```\n# not a heading\n```\n## Below\n"), @r"
      1 # Top
      6   ## Below
    headings
    ");
    insta::assert_snapshot!(drawn("a.toml", "name = 1\n[table]\nx = 2\n[[list]]\ny = 3\n"), @r"
      1 name
      2 [table]
      4 [[list]]
    keys
    ");
    insta::assert_snapshot!(drawn("a.json", "{\"b\": 1,\n \"a\": {\"c\": 2}}"), @r"
      1 b
      2 a
    keys
    ");
    insta::assert_snapshot!(drawn("notes.txt", "first\n\nsecond\n"), @r"
      1 first
      3 second
    text
    ");
}
