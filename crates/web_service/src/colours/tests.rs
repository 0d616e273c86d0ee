use super::*;

fn spans(language: &str, text: &str) -> String {
    let lines: Vec<&str> = text.lines().collect();
    let spans = text_spans(&ColourCache::default(), language, &lines);
    let lines = spans.iter().map(|line| serde_json::to_string(line).unwrap());
    lines.collect::<Vec<_>>().join("\n")
}

#[test]
fn lines_are_told_in_the_units_of_javascript() {
    let text = "let 数 = \"😀\"; // ok\n\nlet hidden\u{202E} = 'a';";
    insta::assert_snapshot!(spans("js", text), @r#"
    [[3,"keyword"],[5,null],[4,"text"],[2,null],[5,"comment"]]
    []
    [[3,"keyword"],[7,null],[1,"hidden"],[3,null],[3,"text"]]
    "#);
}

#[test]
fn a_text_of_no_language_still_shows_what_is_hidden() {
    assert_eq!(spans("", "a\u{200B}b\nplain"), r#"[[1,null],[1,"hidden"]]"#.to_owned() + "\n[]");
}

#[test]
fn a_text_that_is_too_long_has_marks_only() {
    let line = "let x = 1;\u{202E}\n";
    let long = line.repeat(MOST_TEXT / line.len() + 1);
    assert!(spans("js", &long).starts_with("[[10,null],[1,\"hidden\"]]\n"));
}

#[test]
fn changed_words_and_escapes_are_told_in_the_same_units() {
    use protocol::{Base, Change, ContentHash, FileBytes};
    let (old, new) = ("let a = '😀' + one;\n", "let a = '😀' + two\u{202E};  \n");
    let hash = ContentHash::of(old.as_bytes());
    let base = Base::File { hash, size: old.len() as u64, mode: 0o644 };
    let content = FileBytes(new.as_bytes().to_vec());
    let change = Change::Write { path: "a.js".into(), base, content, mode: None };
    let diff = FileDiff::of(&change, Some(old.as_bytes()));
    let values = diff_values(&ColourCache::default(), &[diff]).unwrap();
    let lines = values[0]["hunks"][0]["lines"].as_array().unwrap().iter();
    let told = lines.map(|line| format!("{} {} {}", line["text"], line["spans"], line["words"]));
    insta::assert_snapshot!(told.collect::<Vec<_>>().join("\n"), @r#"
    "let a = '😀' + one;" [[3,"keyword"],[5,null],[4,"text"]] [[15,19]]
    "let a = '😀' + two\\u{202E};  " [[3,"keyword"],[5,null],[4,"text"],[6,null],[8,"hidden"],[1,null],[2,"trailing_space"]] [[15,29]]
    "#);
}
