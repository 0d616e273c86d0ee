use serde_json::json;

use super::*;

#[test]
fn lines_that_were_found_are_counted_by_file() {
    let text =
        "a.rs\n1\t  x\n2-\tbeside\nb.rs (by text)\n7\ty\n[2 of 9 matches; more: cursor=\"c\"]";
    let expected = "    a.rs (2)\n      1: x\n      2: beside\n    b.rs (1)\n      7: y\n    \
                    [2 of 9 matches; more: cursor=\"c\"]";
    assert_eq!(describe(&json!(text)), expected);
    let matches = json!([
        {"path": "a.rs", "line": 1, "text": "  x"},
        {"path": "a.rs", "line": 2, "snippet": "1: no\n2: beside"},
        {"path": "b.rs", "line": 7, "statement": "y"},
    ]);
    let note = json!({"hint": "2 of 9 matches; more: cursor=\"c\""});
    assert_eq!(describe(&json!({"matches": matches, "truncation": [note]})), expected);
}

#[test]
fn long_results_say_how_much_is_missing() {
    let rows: Vec<String> = (1..=70).map(|row| row.to_string()).collect();
    let text = describe(&json!(rows.join("\n")));
    assert!(text.ends_with("    60\n    …and 10 more lines"), "{text}");
    let long = describe(&json!({"x": "é".repeat(5000)}));
    assert!(long.chars().count() < 400, "{}", long.len());
}

#[test]
fn what_has_no_known_form_is_shown_as_it_is() {
    assert_eq!(describe(&json!({"answer": 42})), "    {\n      \"answer\": 42\n    }");
    assert_eq!(describe(&json!("plain")), "plain");
    assert_eq!(describe(&json!({"files": [], "message": "No files."})), "No files.");
}

#[test]
fn lines_of_a_file_are_shown_as_they_are() {
    let text = "1\tuse std::io;\n\n3\tfn f() {}";
    assert_eq!(describe(&json!(text)), "    1\tuse std::io;\n    \n    3\tfn f() {}");
    assert_eq!(describe(&json!("3\tfn f()")), "    3\tfn f()");
    let of_ally = json!({"content": "=== a ===\n     1\tx"});
    assert_eq!(describe(&of_ally), "    === a ===\n         1\tx");
    let several = "a.rs:\n1\tx\n\n3\ty\nb.rs:\n1\tz";
    assert!(describe(&json!(several)).starts_with("    a.rs:\n    1\tx\n"));
}

#[test]
fn names_with_blanks_are_one_name() {
    assert_eq!(
        names_in("Cargo.toml \"my dir\"/ src/\n[3 of 9]"),
        ["Cargo.toml", "my dir/", "src/"]
    );
    let entries = json!([{"name": "my dir", "type": "directory"}, {"name": "a", "type": "file"}]);
    assert_eq!(names_in(&text_of(&json!({"entries": entries}))), ["my dir/", "a"]);
}

#[test]
fn paths_are_read_from_lists_by_directory() {
    let text = "./: Cargo.toml \"a b.rs\"\nmy dir/x.rs\nsrc/: a.rs \"b c.rs\"\n[9 of 99 files]";
    let expected = ["Cargo.toml", "a b.rs", "my dir/x.rs", "src/a.rs", "src/b c.rs"];
    assert_eq!(paths_in(text), expected);
    assert_eq!(paths_in(&text_of(&json!({"files": expected}))), expected);
    assert_eq!(paths_in("No files match `**/x`."), [""; 0]);
}

#[test]
fn files_are_read_back_from_what_tools_show() {
    let cases = [
        (json!("1\ta\n\n3\tb"), ("a\n\nb\n", true)),
        (json!("3\tx\n[of 495]"), ("x\n", false)),
        (json!("1\tx\n[lines 1-1 of 9; next offset=2]"), ("x\n", false)),
        (json!("[empty]"), ("", true)),
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
        (json!({"content": "     1\ta", "truncation": [{}]}), ("a\n", false)),
        (json!(null), ("", true)),
    ];
    for (value, (text, whole)) in cases {
        let file = FileLines::of(&value);
        assert_eq!((file.text().as_str(), file.whole), (text, whole), "{value}");
    }
}
