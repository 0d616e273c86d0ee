use proptest::prelude::*;

use super::*;

fn run(body: &str, find: &str, replacement: &str, is_regex: bool) -> Result<Replaced, ToolError> {
    let what = Replacement { find, replace: replacement, is_regex, expected: None };
    replace(&Text::decode(body.as_bytes()), &what)
}

fn literal(body: &str, find: &str, replacement: &str) -> (String, usize) {
    let done = run(body, find, replacement, false).unwrap();
    (String::from_utf8(done.body).unwrap(), done.count)
}

fn regex(body: &str, find: &str, replacement: &str) -> (String, usize) {
    let done = run(body, find, replacement, true).unwrap();
    (String::from_utf8(done.body).unwrap(), done.count)
}

#[test]
fn every_occurrence_is_replaced_and_endings_are_kept() {
    let table = [
        ("a b a", "a", "x", "x b x", 2),
        ("a $1 b", "$1", "$2", "a $2 b", 1),
        ("a\r\nb\r\n", "a\nb", "c\nd\ne", "c\r\nd\r\ne\r\n", 1),
        ("a\r\nb\na\nb\n", "a\nb", "a\nx", "a\r\nx\na\nx\n", 2),
        ("a\r\nb\r\n", "a\r\nb", "c\r\nd", "c\r\nd\r\n", 1),
        ("a\nb\n", "a\r\nb", "c\r\nd", "c\nd\n", 1),
        ("a\r\nb\n", "\r\n", "\n", "a\nb\n", 1),
        ("a\r\nb\n", "\n", "\r\n", "a\r\nb\r\n", 2),
        ("x\ra\r", "a", "b\nc", "x\rb\rc\r", 1),
        ("a", "a", "", "", 1),
        ("a\nb", "b", "c\n", "a\nc\n", 1),
    ];
    for (body, find, new, expected, count) in table {
        assert_eq!(literal(body, find, new), (expected.to_owned(), count), "{find:?} in {body:?}");
    }
}

#[test]
fn groups_and_anchors_work_in_every_line() {
    let table = [
        ("let a = 1;\nlet b = 2;\n", r"^let (\w+) = (?<v>\d+);$", "${1}: $v", "a: 1\nb: 2\n", 2),
        ("a\r\nb\r\n", "^(.+)$", "<$1>", "<a>\r\n<b>\r\n", 2),
        ("a\nb\n", "^", "# ", "# a\n# b\n", 2),
        ("a\nb", "$", ";", "a;\nb;", 2),
        ("a,b\r\n", ",", "\n", "a\r\nb\r\n", 1),
        ("a\r\nb\r\n", r"\r\n", "\n", "a\nb\n", 2),
        ("price", "price", "$$5", "$5", 1),
    ];
    for (body, find, new, expected, count) in table {
        assert_eq!(regex(body, find, new), (expected.to_owned(), count), "{find:?} in {body:?}");
    }
}

#[test]
fn no_occurrence_is_a_success_with_help() {
    let done = run("fn main() {\n    run();\n}\n", "fn mian() {", "fn start() {", false).unwrap();
    assert_eq!((done.count, done.body.as_slice()), (0, &b"fn main() {\n    run();\n}\n"[..]));
    assert_eq!(done.miss.unwrap().candidates[0].start_line, 1);
    let again = run("let total = 2;\n", "let sum = 2;", "let total = 2;", false).unwrap();
    assert!(again.miss.unwrap().already_applied);
}

#[test]
fn a_text_that_does_not_occur_literally_is_found_carefully_in_one_place_or_refused() {
    let table = [
        (
            "f {\n    a();  \n    b();\n}\n",
            "    a();\n    b();\n",
            "    c();\n",
            "f {\n    c();\n}\n",
            Grade::TrailingWhitespace,
        ),
        (
            "f {\n    a();\n}\n",
            "\ta();",
            "\tc();\n\td();",
            "f {\n    c();\n    d();\n}\n",
            Grade::Indentation,
        ),
        (
            "say \u{201C}hi\u{201D}\n",
            "say \"hi\"",
            "say \"ho\"",
            "say \"ho\"\n",
            Grade::Punctuation,
        ),
        ("a\nb", "b\n", "c\n", "a\nc", Grade::LineEnding),
    ];
    for (body, find, new, expected, grade) in table {
        let done = run(body, find, new, false).unwrap();
        assert_eq!((done.count, done.grade), (1, Some(grade)), "{find:?}");
        assert_eq!(String::from_utf8(done.body).unwrap(), expected, "{find:?}");
    }
    let twice = run("  a();\nb\n    a();\n", "\ta();", "\tx();", false).unwrap_err();
    assert_eq!(twice.details["lines"], serde_json::json!([1, 3]));
    // What occurs literally, in a pattern, or must not occur at all is taken as it is.
    assert_eq!(run("a\n a\n", "a", "b", false).unwrap().grade, None);
    assert_eq!(run("    a\n", "\ta", "\tb", true).unwrap().count, 0);
    let none = Replacement { find: "\ta", replace: "\tb", is_regex: false, expected: Some(0) };
    assert_eq!(replace(&Text::decode(b"    a\n"), &none).unwrap().count, 0);
    // Nothing to do is help, not an error.
    let again = run("    a\n    b\n", "\ta", "\ta\n\tb", false).unwrap();
    assert_eq!((again.count, again.miss.unwrap().already_applied), (0, true));
}

#[test]
fn a_second_application_is_noticed() {
    let done = run("foo bar", "foo", "foo bar", false).unwrap();
    assert_eq!((done.count, done.inside_replacement), (1, 1));
}

#[test]
fn another_count_than_expected_is_a_conflict() {
    let text = Text::decode(b"a\na\n");
    let what = Replacement { find: "a", replace: "b", is_regex: false, expected: Some(1) };
    let error = replace(&text, &what).unwrap_err();
    assert_eq!(error.code, ErrorCode::Conflict);
    assert_eq!(error.details["lines"], serde_json::json!([1, 2]));
    assert_eq!(replace(&text, &Replacement { expected: Some(2), ..what }).unwrap().count, 2);
}

#[test]
fn a_wrong_pattern_is_explained() {
    for (pattern, hint) in [("a(", r"a\("), ("(?=x)a", "Look-around"), ("a{1000000}", "too large")]
    {
        let error = run("a", pattern, "", true).unwrap_err();
        assert_eq!(error.code, ErrorCode::InvalidPattern, "{pattern}");
        assert!(error.suggestion.as_ref().unwrap().contains(hint), "{error:?}");
    }
    assert_eq!(run("a", "", "x", false).unwrap_err().code, ErrorCode::InvalidArguments);
    assert_eq!(run("a", "(a)", "$1b", true).unwrap_err().code, ErrorCode::InvalidArguments);
}

#[test]
fn bytes_that_are_no_characters_survive() {
    let text = Text::decode(b"\xFF\0 old \xFE\r\nold\n");
    for is_regex in [false, true] {
        let what = Replacement { find: "old", replace: "new", is_regex, expected: None };
        assert_eq!(replace(&text, &what).unwrap().body, b"\xFF\0 new \xFE\r\nnew\n");
    }
}

proptest! {
    #[test]
    fn everything_outside_the_spans_stays(
        body in prop::collection::vec(
            prop::sample::select(vec![&b"a"[..], b"b", b"\n", b"\r\n", b"\r", b"\xFF", b"\xC3\xA9"]),
            0..24,
        ),
        find in "[ab\n]{1,3}",
        new in "[abx\n]{0,3}",
        is_regex: bool,
    ) {
        let body = body.concat();
        let text = Text::decode(&body);
        let what = Replacement { find: &find, replace: &new, is_regex, expected: None };
        let done = replace(&text, &what).unwrap();
        let mut rest = (0, 0);
        for changed in &done.changed {
            prop_assert_eq!(
                &text.body()[rest.0..changed.before.start],
                &done.body[rest.1..changed.after.start]
            );
            rest = (changed.before.end, changed.after.end);
        }
        prop_assert_eq!(&text.body()[rest.0..], &done.body[rest.1..]);
        prop_assert_eq!(done.count, done.changed.len());
        prop_assert_eq!(done.miss.is_some(), done.count == 0);
    }
}
