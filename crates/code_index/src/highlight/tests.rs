use proptest::prelude::*;

use super::*;

/// The text with its coloured parts in brackets, each with the first letter of its kind.
fn marked(language: &str, text: &str) -> String {
    let mut marked = String::new();
    let mut at = 0;
    for (range, kind) in highlight(language, text) {
        marked.push_str(&text[at..range.start]);
        let letter = &format!("{kind:?}")[..1].to_lowercase();
        marked.push_str(&format!("[{letter}:{}]", &text[range.clone()]));
        at = range.end;
    }
    marked + &text[at..]
}

#[test]
fn every_built_in_grammar_has_colours() {
    for language in Language::ALL {
        if language.grammar().is_some() {
            let compiled = compile(language);
            assert!(compiled.is_ok(), "{}: {:?}", language.name(), compiled.err());
        }
    }
}

#[test]
fn parts_of_code_are_told_apart() {
    let table = [
        ("rust", "let x = \"a\"; // b", "[k:let] x = [t:\"a\"]; [c:// b]"),
        ("src/a.rs", "fn f() -> u8 { 7 }", "[k:fn] [f:f]() -> [t:u8] { [c:7] }"),
        ("py", "def f(a):\n    return 'x'\n", "[k:def] [f:f](a):\n    [k:return] [t:'x']\n"),
        ("js", "const a = `b${c}`;", "[k:const] a = [t:`b]${c}[t:`];"),
        ("typescript", "let a: number = 1", "[k:let] a: [t:number] = [c:1]"),
        ("tsx", "let a: number = 1", "[k:let] a: [t:number] = [c:1]"),
        ("c++", "class A { int b; };", "[k:class] [t:A] { [t:int] b; };"),
        ("c", "int f(void) { return 0; }", "[t:int] [f:f]([t:void]) { [k:return] [c:0]; }"),
        ("go", "func f() int { return 1 }", "[k:func] [f:f]() [t:int] { [k:return] [c:1] }"),
        ("sh", "echo \"a\" # b", "[f:echo] [t:\"a\"] [c:# b]"),
        ("no such language", "let x = 1;", "let x = 1;"),
    ];
    for (language, text, expected) in table {
        assert_eq!(marked(language, text), expected, "{language}");
    }
}

#[test]
fn lines_are_read_with_those_before_them() {
    let mut colours = CodeColours::new("rust").expect("it is built in");
    let first = |parts: Vec<(Range<usize>, SyntaxKind)>| parts.first().map(|(_, kind)| *kind);
    assert_eq!(first(colours.push("/* a comment\n")), Some(SyntaxKind::Comment));
    assert_eq!(first(colours.push("fn of three lines\n")), Some(SyntaxKind::Comment));
    assert_eq!(first(colours.push("of text */\n")), Some(SyntaxKind::Comment));
    assert_eq!(first(colours.push("fn f() {}\n")), Some(SyntaxKind::Keyword));
}

#[test]
fn code_that_takes_too_much_work_has_no_more_colours() {
    let mut colours = CodeColours::new("sh").expect("it is built in");
    assert!(!colours.push("fn a() { if x {\n").is_empty());
    let lines = (0..500).filter(|_| !colours.push("fn a() { if x {\n").is_empty()).count();
    assert!(lines < 500 && colours.work <= MOST_WORK, "{lines} lines, {} steps", colours.work);
}

#[test]
fn what_lies_too_deep_in_brackets_has_no_colour() {
    let is_coloured = |depth: usize| {
        let text = format!("let x = {}7{};", "(".repeat(depth), ")".repeat(depth));
        let at = text.find('7').expect("it is in there");
        highlight("rust", &text).iter().any(|(range, _)| range.contains(&at))
    };
    assert!(is_coloured(100));
    assert!(!is_coloured(DEEPEST as usize));
}

#[test]
fn code_that_is_not_understood_in_its_whole_width_has_no_colours() {
    let is_coloured =
        |width: usize| !highlight("rust", &format!("fn f() {}", "(".repeat(width))).is_empty();
    assert!(is_coloured(100));
    assert!(!is_coloured(2 * WIDEST_ERROR as usize));
}

#[test]
fn languages_are_found_by_name_and_by_path() {
    let table = [
        ("Rust", Some(Language::Rust)),
        ("rs", Some(Language::Rust)),
        ("a/b.d.ts", Some(Language::TypeScript)),
        ("shell", Some(Language::Bash)),
        ("x/Rakefile", Some(Language::Ruby)),
        ("C#", Some(Language::CSharp)),
        ("", None),
        ("text", None),
    ];
    for (name, language) in table {
        assert_eq!(Language::called(name), language, "{name}");
    }
}

proptest! {
    #[test]
    fn ranges_are_in_order_and_on_borders_of_characters(
        pieces in prop::collection::vec("([a-z(){}'\"/* ä漢]{0,12}\n){0,3}", 0..6),
        language in prop::sample::select(vec!["rust", "python", "js", "sh", "cpp", "php"]),
    ) {
        let mut colours = CodeColours::new(language).expect("it is built in");
        for piece in &pieces {
            let mut end = 0;
            for (range, _) in colours.push(piece) {
                prop_assert!(range.start >= end && piece.get(range.clone()).is_some());
                end = range.end;
            }
        }
    }
}
