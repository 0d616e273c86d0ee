use insta::assert_snapshot;
use serde_json::json;

use super::*;

#[test]
fn long_listings_say_how_much_is_missing() {
    let matches: Vec<Value> = (1..=30)
        .map(|line| json!({"path": if line < 25 { "a.rs" } else { "b.rs" }, "line": line, "text": "  x"}))
        .collect();
    let result = json!({"matches": matches, "total": 120, "files": 9, "message": "Found 120 matches in 9 files, showing the first 30, …and 90 more. Refine."});
    let text = describe(&result);
    assert!(
        text.starts_with("Found 120 matches in 9 files.\n\n    a.rs (24)\n      1: x\n"),
        "{text}"
    );
    assert!(text.ends_with("      20: x\n    b.rs (6)\n    …and 100 more"), "{text}");
}

#[test]
fn a_cut_result_says_where_the_rest_is() {
    let note = json!({"field": "files", "unit": "items", "total": 9, "shown": 1, "handle": "result:1", "hint": "…"});
    let result = json!({"files": ["a.rs"], "total": 9, "truncation": [note]});
    assert_snapshot!(describe(&result), @"
        a.rs
        …and 8 more

    The result was too large: `files` holds 1 of 9 items. `/read_file path=result:1` shows all of it.
    ");
}

#[test]
fn what_has_no_known_shape_is_shown_as_it_is() {
    assert_snapshot!(describe(&json!({"answer": 42, "of": [1]})), @r#"
    {
      "answer": 42,
      "of": [
        1
      ]
    }
    "#);
    assert_eq!(describe(&json!("plain")), "    plain");
    assert_eq!(describe(&Value::Null), "Done.");
    let long = describe(&json!({"x": "é".repeat(5000)}));
    assert!(long.chars().count() < MAX_JSON, "{}", long.len());
}

#[test]
fn files_are_read_back_from_what_tools_show() {
    let lines = |value: Value| {
        let file = FileLines::of(&value);
        (file.text(), file.whole)
    };
    let cases = [
        (
            json!({"content": "     1\ta\n     2\t\n     3\tb", "size": 5, "total_lines": 3}),
            ("a\n\nb\n", true),
        ),
        (json!({"content": "     1\ta", "size": 1, "total_lines": 1}), ("a", true)),
        (json!({"content": "     3\tx", "size": 99, "total_lines": 8}), ("x\n", false)),
        (json!({"content": "1\n2", "size": 3, "totalLines": 2}), ("1\n2", true)),
        (json!({"content": "=== a ===\n     1\ta"}), ("a\n", true)),
        (
            json!({"content": "=== a ===\n     1\ta\n[Lines 1-1 of 9. Continue with offset=2.]"}),
            ("a\n", false),
        ),
        (json!({"content": "     1\ta", "truncation": []}), ("a\n", false)),
        (json!(null), ("", true)),
    ];
    for (value, (text, whole)) in cases {
        assert_eq!(lines(value.clone()), (text.to_owned(), whole), "{value}");
    }
}
