//! Nothing unfinished is committed.

use crate::repository::{assert_none, files_ending, read};
use crate::rust_text;

/// Put together here so that this file does not hold what it looks for.
const MACROS: [&str; 3] =
    [concat!("to", "do!"), concat!("unimple", "mented!"), concat!("db", "g!")];
const IGNORED_TEST: &str = concat!("#[", "ignore");
const MARKS: [&str; 3] = [concat!("TO", "DO"), concat!("FIX", "ME"), concat!("XX", "X")];

#[test]
fn nothing_is_left_over() {
    let mut problems = Vec::new();
    for path in files_ending(&[".rs", ".js"]) {
        let source = read(&path).expect("a source file is UTF-8");
        let found =
            if path.ends_with(".rs") { in_rust(&source) } else { in_line_comments(&source) };
        problems.extend(found.into_iter().map(|what| format!("{path}: {what}")));
    }
    assert_none(
        &problems,
        "finish it, or delete it and open an issue; a test that cannot run is repaired or removed",
    );
}

fn in_rust(source: &str) -> Vec<String> {
    let text = rust_text::split(source);
    let mut found = Vec::new();
    for name in MACROS {
        let is_called = text.code.match_indices(name).any(|(at, _)| {
            !text.code[..at].ends_with(|before: char| before.is_alphanumeric() || before == '_')
        });
        if is_called {
            found.push(format!("`{name}`"));
        }
    }
    if text.code.contains(IGNORED_TEST) {
        found.push(format!("`{IGNORED_TEST}]`"));
    }
    for (line, comment) in text.comments {
        if is_marked(&comment) {
            found.push(format!("line {line}: `{comment}`"));
        }
    }
    found
}

/// Enough for languages whose strings we do not take apart.
fn in_line_comments(source: &str) -> Vec<String> {
    let lines = source.lines().enumerate();
    let comments =
        lines.filter_map(|(at, line)| Some((at + 1, line.trim().strip_prefix("//")?.trim())));
    let marked = comments.filter(|(_, comment)| is_marked(comment));
    marked.map(|(line, comment)| format!("line {line}: `{comment}`")).collect()
}

fn is_marked(comment: &str) -> bool {
    MARKS.iter().any(|mark| {
        comment.strip_prefix(mark).is_some_and(|rest| !rest.starts_with(char::is_alphanumeric))
    })
}

#[test]
fn left_overs_are_found_in_code_and_comments_only() {
    let [unfinished, _, debug] = MACROS;
    let [mark, ..] = MARKS;
    let faulty = [
        format!("fn f() {{ {unfinished}() }}"),
        format!("std::{debug}(x)"),
        format!("{IGNORED_TEST}]\nfn t() {{}}"),
        format!("{IGNORED_TEST} = \"slow\"]\nfn t() {{}}"),
        format!("/// {mark}: more"),
        format!("let a = 1; // {mark}"),
    ];
    for source in faulty {
        assert_eq!(in_rust(&source).len(), 1, "{source}");
    }
    let fine = [
        format!("let text = \"{unfinished}() // {mark}: x\";"),
        format!("// The word {mark} in a sentence."),
        format!("// {mark}S is another word."),
        format!("my_{unfinished}()"),
    ];
    for source in fine {
        assert_eq!(in_rust(&source), [""; 0], "{source}");
    }
    assert_eq!(in_line_comments(&format!("a\n  // {mark} b\n")).len(), 1);
}
