use serde_json::json;

use super::*;
use crate::edit::difference::DifferenceKind;

const PROGRAM: &str = "use std::fmt;\n\nfn main() {\n    let total = compute(3, 4);\n    println!(\"{total}\");\n}\n\nfn compute(left: u32, right: u32) -> u32 {\n    left + right\n}\n";

fn miss(body: &str, search: &str, replace: &str) -> Miss {
    Miss::of_text(&Text::decode(body.as_bytes()), search, Some(replace))
}

#[test]
fn the_nearest_place_and_its_first_difference_are_named() {
    let search = "    let total = compute(3, 5);\n    println!(\"{total}\");\n";
    let replace = "    let total = compute(3, 5);\n    println!(\"sum {total}\");\n";
    let found = miss(PROGRAM, search, replace);
    let best = &found.candidates[0];
    assert_eq!((best.start_line, best.end_line), (4, 5));
    let difference = best.difference.as_ref().unwrap();
    assert_eq!((difference.line, difference.column), (4, 28));
    assert_eq!((difference.file_has.as_str(), difference.asked_for.as_str()), ("4);", "5);"));
    assert_eq!(difference.kind, DifferenceKind::Content);
    let actual = "    let total = compute(3, 4);\n    println!(\"{total}\");\n";
    assert_eq!(found.corrected_search.as_deref(), Some(actual));
    assert_eq!(
        found.corrected_replace.as_deref(),
        Some("    let total = compute(3, 4);\n    println!(\"sum {total}\");\n")
    );
    assert_eq!(found.content_hash, ContentHash::of(PROGRAM.as_bytes()));
}

#[test]
fn the_corrected_call_is_ready_to_send() {
    let found = miss(PROGRAM, "fn compute(left: u32, right: u64) -> u32", "fn sum()");
    let call = json!({"path": "a.rs", "find": "…", "replace": "fn sum()"});
    let corrected = found.corrected_call(call.as_object().unwrap(), "find", "replace").unwrap();
    assert_eq!(corrected["find"], "fn compute(left: u32, right: u32) -> u32");
    assert_eq!(corrected["path"], "a.rs");
}

#[test]
fn a_line_too_many_in_the_file_is_bridged() {
    let body = "one\ntwo\nextra\nthree\nfour\n";
    let found = miss(body, "one\ntwo\nthree\nfour\n", "x\n");
    assert_eq!(found.corrected_search.as_deref(), Some("one\ntwo\nextra\nthree\nfour\n"));
    assert_eq!((found.candidates[0].start_line, found.candidates[0].end_line), (1, 5));
}

#[test]
fn a_change_made_before_is_recognised() {
    let found = miss(PROGRAM, "fn add(left: u32", "fn compute(left: u32");
    assert_eq!((found.already_applied, found.already_applied_line), (true, Some(8)));
    assert_eq!(found.corrected_search, None);
    assert!(
        !miss(PROGRAM, "nothing like it at all", "}").candidates.iter().any(|c| c.similarity > 0.9)
    );
    assert!(!miss(PROGRAM, "zzz", "").already_applied);
}

#[test]
fn nothing_similar_gives_no_candidate() {
    let found = miss(PROGRAM, "0123456789 @@@@@@@@@@", "x");
    assert_eq!(found.candidates, []);
    assert!(found.describe().contains("Read the file again"));
    assert_eq!(miss("", "abc", "x").candidates, []);
}

#[test]
fn patterns_get_hints_of_their_own() {
    let text = Text::decode(b"call(x)\r\nEnd\r\n");
    let notes = |pattern| Miss::of_pattern(&text, pattern).notes.join(" ");
    assert!(notes("call(x)").contains("is_regex=false"));
    assert!(notes(r"x\)\nEnd").contains(r"\r?\n"));
    assert!(notes("^end").contains("(?i)"));
}

#[test]
fn work_is_bounded_on_large_files() {
    let line = "let value = compute_something(with, several, arguments);\n";
    let body: String = (0..60_000).map(|at| format!("{at} {line}")).collect();
    let search: String = (0..300).map(|at| format!("{at}0 {line}")).collect();
    let started = std::time::Instant::now();
    let found = miss(&body, &search, "x");
    assert!(!found.notes.is_empty());
    let one_line = "x".repeat(5_000_000);
    miss(&one_line, "xyx", "abc");
    miss(&one_line, &"y\n".repeat(3000), "abc");
    // Generous, because tests run unoptimised beside others.
    assert!(started.elapsed() < std::time::Duration::from_secs(20), "{:?}", started.elapsed());
}
