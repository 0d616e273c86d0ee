use proptest::prelude::*;

use super::*;

fn run(body: &str, search: &str, replace: &str) -> Result<BlocksApplied, ToolError> {
    let text = Text::decode(body.as_bytes());
    apply_blocks(&text, &[EditBlock { search, replace, line: None }])
}

fn applied(body: &str, search: &str, replace: &str) -> (String, Grade) {
    let done = run(body, search, replace)
        .unwrap_or_else(|error| panic!("{search:?} in {body:?}: {}", error.full_message()));
    (String::from_utf8(done.body).unwrap(), done.blocks[0].grade)
}

#[test]
fn each_grade_keeps_the_bytes_of_lines_that_stay() {
    use Grade::{Exact, Indentation, LineEnding, Punctuation, TrailingWhitespace};
    let table = [
        ("a\nb\nc\n", "b", "x", "a\nx\nc\n", Exact),
        ("a\nb\nc\n", "a\nb\n", "a\nx\n", "a\nx\nc\n", Exact),
        ("a\nb\nc\n", "b\n", "", "a\nc\n", Exact),
        ("f(a, b)\n", "a, b", "b", "f(b)\n", Exact),
        ("a\r\nb\r\n", "a\nb\n", "a\nx\nb\n", "a\r\nx\r\nb\r\n", LineEnding),
        ("a\nb\nc", "b\nc\n", "x\nc\n", "a\nx\nc", LineEnding),
        ("a\nb", "b\n", "", "a\n", LineEnding),
        ("a\r\nb", "b\n", "b\nc\n", "a\r\nb\r\nc", LineEnding),
        ("a\r\nb\nc\r\n", "a\nb\nc\n", "a\nx\nc\n", "a\r\nx\nc\r\n", LineEnding),
        ("a  \nb\t\r\nc\n", "a\nb\nc\n", "a\nb\nx\n", "a  \nb\t\r\nx\n", TrailingWhitespace),
        ("a \nb", "a\nb\n", "a\nx\n", "a \nx", TrailingWhitespace),
        ("a\nb\n", "a \nb \n", "a \nx\n", "a\nx\n", TrailingWhitespace),
        (
            "fn f() {\n    a();\n\n    b();\n}\n",
            "a();\n\nb();\n",
            "a();\nif c {\n    b();\n}\n",
            "fn f() {\n    a();\n    if c {\n        b();\n    }\n}\n",
            Indentation,
        ),
        (
            "\tif a {\r\n\t\tb();\r\n\t}\r\n",
            "    if a {\n        b();\n    }\n",
            "    if a {\n        c();\n            d();\n    }\n",
            "\tif a {\r\n\t\tc();\r\n\t\t\td();\r\n\t}\r\n",
            Indentation,
        ),
        (
            "if a:\n    b\n    c\n",
            "  if a:\n      b\n",
            "  if a:\n      if x:\n          b\n",
            "if a:\n    if x:\n        b\n    c\n",
            Indentation,
        ),
        (
            "f {\n    a();\n}\n",
            "\ta();\n",
            "\tif x {\n\t\ta();\n\t}\n",
            "f {\n    if x {\n        a();\n    }\n}\n",
            Indentation,
        ),
        ("f:\n    a\n", "\ta", "\ta\n\tb", "f:\n    a\n    b\n", Indentation),
        ("f:\n    a\n", "a", "a\n    b", "f:\n    a\n    b\n", Exact),
        ("f:\n    a\n    b\n", "a\n    b", "a\n    c", "f:\n    a\n    c\n", Exact),
        (
            "say \u{201C}hi\u{201D}\nand \u{2013} go\u{2026}\nend\n",
            "say \"hi\"\nand - go...\nend\n",
            "say \"hi\"\nand - go...\nstop\n",
            "say \u{201C}hi\u{201D}\nand \u{2013} go\u{2026}\nstop\n",
            Punctuation,
        ),
        ("  a\u{A0}b\n  c\n", "a b\nc\n", "a b\nd\n", "  a\u{A0}b\n  d\n", Punctuation),
        ("a\rb\rc\r", "a\nb\n", "a\nx\ny\n", "a\rx\ry\rc\r", LineEnding),
    ];
    for (body, search, replace, expected, grade) in table {
        assert_eq!(applied(body, search, replace), (expected.to_owned(), grade), "{search:?}");
    }
}

#[test]
fn what_is_not_clear_is_refused() {
    let table = [
        ("a\nb\n", "", "x", ErrorCode::InvalidArguments),
        ("a\n\nb\n", " \n", "x", ErrorCode::InvalidArguments),
        ("a\nb\n", "a", "a", ErrorCode::InvalidArguments),
        // Several exact places, several inexact ones.
        ("a\nb\na\n", "a\n", "x\n", ErrorCode::InvalidArguments),
        ("---", "--", "x", ErrorCode::InvalidArguments),
        ("  a \n  a  \n", "a;\na\n", "x\n", ErrorCode::Conflict),
        ("  a();\nb\n    a();\n", "\ta();\n", "\tx();\n", ErrorCode::InvalidArguments),
        // A stale line is a miss, whatever else fits.
        ("a\nb\nc\n", "a\nB\nc\n", "a\nx\nc\n", ErrorCode::Conflict),
        ("a\nc\n", "a\nb\nc\n", "x\n", ErrorCode::Conflict),
        // Several exact places, whole words or not, also where they overlap.
        ("ab\na\n", "a", "x", ErrorCode::InvalidArguments),
        ("b = 25\nb = 26\n", "b = 2", "b = 3", ErrorCode::InvalidArguments),
        ("aaa\n", "aa", "a", ErrorCode::InvalidArguments),
        ("a\n\n\nb\n\n\nc\n", "\n\n\n", "\n", ErrorCode::InvalidArguments),
        // Only a part of a line, and not exactly.
        ("x.a(); \nb\n", "a();\nb\n", "b\n", ErrorCode::Conflict),
        // Indentation that differs from line to line.
        ("  a\n  b\n", "    a\nb\n", "x\n", ErrorCode::Conflict),
        // Two blanks in a file that indents by four: half a level or one?
        ("f:\n    a\n    b\n", "a\nb\n", "a\nif c:\n  b\n", ErrorCode::Conflict),
    ];
    for (body, search, replace, code) in table {
        match run(body, search, replace) {
            Ok(done) => panic!("{search:?} in {body:?}: {done:?}"),
            Err(error) => assert_eq!(error.code, code, "{search:?}: {}", error.full_message()),
        }
    }
}

#[test]
fn a_hint_decides_between_exact_places_only() {
    let text = Text::decode(b"a\nb\na\nb\n");
    let block = EditBlock { search: "a\nb\n", replace: "x\n", line: Some(3) };
    assert_eq!(apply_blocks(&text, &[block]).unwrap().body, b"a\nb\nx\n");
    let far = apply_blocks(&text, &[EditBlock { line: Some(9), ..block }]).unwrap_err();
    assert_eq!(far.details["lines"], serde_json::json!([1, 3]));
    let inexact = Text::decode(b"a \nb\na \nb\n");
    assert!(apply_blocks(&inexact, &[block]).is_err());
}

#[test]
fn several_blocks_are_all_applied_to_the_original_or_none() {
    let text = Text::decode(b"a\nb\nc\nd\n");
    let block = |search, replace| EditBlock { search, replace, line: None };
    let done = apply_blocks(&text, &[block("c\n", "a\n"), block("a\n", "c\nc\n")]).unwrap();
    assert_eq!(done.body, b"c\nc\nb\na\nd\n");
    assert_eq!(done.blocks[0].changed.new_lines.start, 4);
    let overlap = apply_blocks(&text, &[block("b\nc\n", "x\n"), block("c\nd\n", "y\n")]);
    assert!(overlap.unwrap_err().message.contains("overlap at line 3"));
    let miss = apply_blocks(&text, &[block("a\n", "x\n"), block("q\n", "y\n")]).unwrap_err();
    assert!(miss.message.starts_with("block 2 of 2"), "{}", miss.message);
}

#[test]
fn what_stands_exactly_once_is_replaced_byte_for_byte() {
    let table = [
        // It begins or ends inside a line, or inside a word.
        ("b = 25\n", "b = 2", "b = 3", "b = 35\n"),
        ("a\nb = 2 + c\n", "a\nb = 2", "x\ny", "x\ny + c\n"),
        ("x.a();\nb\n", "a();\nb\n", "b\n", "x.b\n"),
        ("ab\ncd\n", "b\nc", "", "ad\n"),
        // Final newlines and blank lines.
        ("a\nb\nc\n", "b\n", "x", "a\nxc\n"),
        ("a\nb\n", "b\n", "b", "a\nb"),
        ("a\nb", "b", "b\n", "a\nb\n"),
        ("a\n\n\nb\n", "\n\n\n", "\n", "a\nb\n"),
        ("a\n \nb\n", " \n", "", "a\nb\n"),
        ("a\nb\n\n\n", "b\n\n\n", "b\n", "a\nb\n"),
        // Nothing is indented that was not asked to be.
        ("f:\n    a\n", "a", "a\nb", "f:\n    a\nb\n"),
        // The replacement holds the search text, and stands there: it is still what was asked.
        ("a\nb\nx\n", "b\n", "b\nx\n", "a\nb\nx\nx\n"),
        ("b2\n", "b", "b2", "b22\n"),
        // Line endings that the search text names are replaced as they are named.
        ("a\r\nb\nc\r\n", "b\nc\r\n", "x\ny\n", "a\r\nx\ny\n"),
        ("a\r\nb\r\n", "a\r\n", "a\n", "a\nb\r\n"),
        ("a\rb\nc\n", "a\rb", "x\ry", "x\ry\nc\n"),
        ("a\r\nb\r\n", "b", "x\r\ny", "a\r\nx\r\ny\r\n"),
        ("a\r\nb\nc", "\nb", "\nx\ny", "a\r\nx\ny\nc"),
        // Those that it does not name are the file's, if they are all alike.
        ("a\r\nb\nc\r\n", "c", "x\ny", "a\r\nb\nx\ny\r\n"),
        ("a\r\nb\r\n", "b", "x\ny", "a\r\nx\r\ny\r\n"),
        ("a\rb\r", "b", "x\ny", "a\rx\ry\r"),
        // An exact place comes before one that lacks the last line ending.
        ("b\nb", "b\n", "x\n", "x\nb"),
    ];
    for (body, search, replace, expected) in table {
        let expected = (expected.to_owned(), Grade::Exact);
        assert_eq!(applied(body, search, replace), expected, "{search:?} in {body:?}");
    }
}

#[test]
fn apart_from_line_endings_a_block_may_begin_and_end_inside_lines_too() {
    let table = [
        ("ab\r\ncd\r\n", "b\nc", "x\ny", "ax\r\nyd\r\n"),
        ("ab\r\ncd\r\n", "\nc", "\nx\n", "ab\r\nx\r\nd\r\n"),
        ("a\r\nb\r\nc\r\n", "b\n", "x", "a\r\nxc\r\n"),
        ("a\r\n\r\n\r\nb\r\n", "\n\n\n", "\n", "a\r\nb\r\n"),
        ("a\nb\n", "a\r\nb", "x\r\ny", "x\ny\n"),
        ("a\r\nb\r\nx\r\n", "b\n", "b\nx\n", "a\r\nb\r\nx\r\nx\r\n"),
    ];
    for (body, search, replace, expected) in table {
        let expected = (expected.to_owned(), Grade::LineEnding);
        assert_eq!(applied(body, search, replace), expected, "{search:?} in {body:?}");
    }
}

#[test]
fn of_several_exact_places_only_a_hint_decides() {
    let text = Text::decode(b"ab\na\nab\n");
    let block = EditBlock { search: "a", replace: "x", line: None };
    let error = apply_blocks(&text, &[block]).unwrap_err();
    assert_eq!(error.details["lines"], serde_json::json!([1, 2, 3]));
    let hinted = EditBlock { line: Some(3), ..block };
    assert_eq!(apply_blocks(&text, &[hinted]).unwrap().body, b"ab\na\nxb\n");
}

#[test]
fn already_applied_is_said_only_if_the_search_text_is_absent() {
    for (search, replace) in [("b\n", "long enough\n"), ("b \n", "x\nb\n"), ("\tb\n", "\tb\n\tx\n")]
    {
        let once = applied("a\n    b\nc\n", search, replace).0;
        let again = run(&once, search, replace).unwrap_err();
        assert_eq!(again.code, ErrorCode::Conflict, "{search:?}");
        assert_eq!(again.details["already_applied"], true, "{search:?}");
    }
    // It is there twice: that the replacement is there as well is beside the point.
    let error = run("b = 25\nb = 26\nb = 3\n", "b = 2", "b = 3").unwrap_err();
    assert!(!error.details.contains_key("already_applied"), "{error:?}");
}

/// A line of a small program, so that lines repeat and differ in the ways that grades overlook.
fn line() -> impl Strategy<Value = String> {
    let content =
        prop::sample::select(vec!["a();", "b();", "if c {", "}", "x \u{2013} y", "", "é"]);
    let indentation = prop::sample::select(vec!["", "  ", "    ", "\t"]);
    let trailing = prop::sample::select(vec!["", "", "", " ", "\t"]);
    (indentation, content, trailing)
        .prop_map(|(indentation, content, trailing)| format!("{indentation}{content}{trailing}"))
}

fn ending() -> impl Strategy<Value = &'static str> {
    prop::sample::select(vec!["\n", "\n", "\r\n"])
}

/// The line without anything that some grade overlooks.
fn bare(line: &[u8]) -> Vec<u8> {
    super::super::grade::fold_lookalikes(line).trim_ascii().to_vec()
}

proptest! {
    #[test]
    fn blocks_match_only_what_they_name_and_touch_nothing_else(
        lines in prop::collection::vec((line(), ending()), 1..12),
        search in prop::collection::vec(line(), 1..4),
        replace in prop::collection::vec(line(), 0..4),
        from_file in any::<Option<prop::sample::Index>>(),
        open: bool,
    ) {
        let mut body: String = lines.iter().map(|(line, end)| format!("{line}{end}")).collect();
        if open {
            body.truncate(body.trim_end_matches(['\r', '\n']).len());
        }
        let search = match from_file {
            Some(at) => lines[at.index(lines.len())..].iter().take(3).map(|(line, _)| line.trim().to_owned()).collect(),
            None => search,
        };
        let text = Text::decode(body.as_bytes());
        let (search, replace) = (search.join("\n") + "\n", replace.join("\n") + "\n");
        let block = EditBlock { search: &search, replace: &replace, line: None };
        if let Ok(done) = apply_blocks(&text, &[block]) {
            let changed = &done.blocks[0].changed;
            prop_assert!(done.body.starts_with(&body.as_bytes()[..changed.before.start]));
            prop_assert!(done.body.ends_with(&body.as_bytes()[changed.before.end..]));
            let found: Vec<Vec<u8>> =
                LineMap::of(&body.as_bytes()[changed.before.clone()]).contents().map(bare).collect();
            let asked: Vec<Vec<u8>> = whole_lines(&search).into_iter().map(bare).collect();
            prop_assert_eq!(found, asked);
            let made: Vec<Vec<u8>> =
                LineMap::of(&done.body[changed.after.clone()]).contents().map(bare).collect();
            let wanted: Vec<Vec<u8>> = whole_lines(&replace).into_iter().map(bare).collect();
            prop_assert_eq!(made, wanted);
            if !open && done.body.len() == changed.after.end && !done.body.is_empty() {
                prop_assert!(done.body.ends_with(b"\n"));
            }
        }
    }

    #[test]
    fn a_text_that_occurs_once_is_spliced_byte_for_byte(
        body in "[ab \n]{1,30}",
        from in any::<prop::sample::Index>(),
        to in any::<prop::sample::Index>(),
        replace in "[abx \n]{0,8}",
    ) {
        let (from, to) = (from.index(body.len()), to.index(body.len() + 1));
        let (from, to) = (from.min(to), from.max(to));
        let search = &body[from..to];
        prop_assume!(!search.is_empty() && search != replace);
        let count = (0..body.len()).filter(|at| body[*at..].starts_with(search)).count();
        match run(&body, search, &replace) {
            Ok(done) => {
                prop_assert_eq!(count, 1);
                let spliced = format!("{}{replace}{}", &body[..from], &body[to..]);
                prop_assert_eq!(String::from_utf8(done.body).unwrap(), spliced);
            }
            Err(error) => prop_assert!(count > 1, "{}", error),
        }
    }

    #[test]
    fn mixed_endings_are_spliced_byte_for_byte(
        body in "([ab]{0,2}(\n|\r\n|\r)){1,10}[ab]?",
        from in any::<prop::sample::Index>(),
        to in any::<prop::sample::Index>(),
        replace in "[ax\r\n]{0,6}",
    ) {
        let (from, to) = (from.index(body.len()), to.index(body.len() + 1));
        let (from, to) = (from.min(to), from.max(to));
        let search = &body[from..to];
        let count = (0..body.len()).filter(|at| body[*at..].starts_with(search)).count();
        let has_lf = body.replace("\r\n", "").contains('\n');
        prop_assume!(count == 1 && has_lf && !search.is_empty() && search != replace);
        let spliced = format!("{}{replace}{}", &body[..from], &body[to..]);
        prop_assert_eq!(applied(&body, search, &replace), (spliced, Grade::Exact));
    }

    #[test]
    fn a_file_with_cr_lf_is_changed_like_the_same_file_with_lf(
        body in "([ab ]{0,2}\n){1,10}[ab]{0,2}",
        from in any::<prop::sample::Index>(),
        to in any::<prop::sample::Index>(),
        replace in "[abx \n]{0,8}",
    ) {
        let (from, to) = (from.index(body.len()), to.index(body.len() + 1));
        let (from, to) = (from.min(to), from.max(to));
        let search = &body[from..to];
        let count = (0..body.len()).filter(|at| body[*at..].starts_with(search)).count();
        prop_assume!(count == 1 && !search.is_empty() && search != replace);
        let spliced = format!("{}{replace}{}", &body[..from], &body[to..]).replace('\n', "\r\n");
        match run(&body.replace('\n', "\r\n"), search, &replace) {
            Ok(done) => prop_assert_eq!(String::from_utf8(done.body).unwrap(), spliced),
            // With a last line that lacks its ending, there can be one more place.
            Err(error) => prop_assert_eq!(error.code, ErrorCode::InvalidArguments),
        }
    }

    #[test]
    fn a_block_that_takes_its_text_away_is_not_applied_twice(
        lines in prop::collection::vec("[a-d]{1,2}", 2..8),
        at in any::<prop::sample::Index>(),
        new in "[x-z]{2,3}",
        crlf: bool,
    ) {
        let end = if crlf { "\r\n" } else { "\n" };
        let body: String = lines.iter().map(|line| format!("{line}{end}")).collect();
        let (search, replace) = (format!("{}\n", &lines[at.index(lines.len())]), format!("{new}\n"));
        if let Ok(done) = run(&body, &search, &replace) {
            let once = String::from_utf8(done.body).unwrap();
            let again = run(&once, &search, &replace);
            prop_assert!(again.is_err() || once.contains(search.trim_end()));
        }
    }

    #[test]
    fn every_encoding_survives(
        encoding in 0..4_usize,
        before in "[a-cé]{0,4}(\r\n|\n)",
        after in "[a-cé]{0,4}",
    ) {
        let content = format!("{before}needle\r\n{after}");
        let bytes = match encoding {
            0 => content.clone().into_bytes(),
            1 => [b"\xEF\xBB\xBF".to_vec(), content.clone().into_bytes()].concat(),
            2 => [vec![0xFF, 0xFE], content.encode_utf16().flat_map(u16::to_le_bytes).collect()].concat(),
            _ => [content.clone().into_bytes(), b"\xC3\xA9 \xFF\0".to_vec()].concat(),
        };
        let text = Text::decode(&bytes);
        let block = EditBlock { search: "needle\n", replace: "pin\nneedles\n", line: None };
        let done = apply_blocks(&text, &[block]).unwrap();
        let edited = text.encode_body(&done.body).unwrap();
        let back = Text::decode(&edited);
        prop_assert_eq!(back.encoding(), text.encoding());
        let found = memchr::memmem::find(back.body(), b"pin\r\nneedles\r\n").unwrap();
        prop_assert_eq!(&back.body()[..found], before.as_bytes());
        prop_assert!(back.body()[found + 14..].starts_with(after.as_bytes()));
    }
}
