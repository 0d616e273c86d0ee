//! What models are shown of files that are read.

use proptest::prelude::*;
use serde_json::json;
use tool_system::{Caller, ExecutorOptions, Limits, Vocabulary};

use crate::harness::{Bench, Setup};

const PROJECT: &str = "\
//- /src/main.rs
use std::fmt;

fn main() {
    println!(\"a \\\"quoted\\\" word\");

}
//- /src/lib.rs
pub mod a;
//- /empty.txt
//- /dos.txt base64=b25lDQp0d28NCg==
//- /image.bin base64=AAECAwQF
";

#[tokio::test]
async fn a_file_is_shown_as_it_is_with_its_line_numbers() {
    let bench = Bench::new(PROJECT);
    insta::assert_snapshot!(bench.text("read_file", json!({"path": "src/main.rs"})).await, @r#"
    1⇥use std::fmt;

    3⇥fn main() {
    4⇥    println!("a \"quoted\" word");

    6⇥}
    "#);
    let plain = json!({"path": "src/lib.rs", "line_numbers": false});
    assert_eq!(bench.text("read_file", plain).await, "pub mod a;\n");
    let end = json!({"path": "src/main.rs", "line_numbers": false, "offset": 6});
    assert_eq!(bench.text("read_file", end).await, "}\n[of 6]");
}

#[tokio::test]
async fn a_part_of_a_file_says_of_how_many_lines_it_is() {
    let bench = Bench::new(PROJECT);
    let part =
        |offset: u32, limit: u32| json!({"path": "src/main.rs", "offset": offset, "limit": limit});
    insta::assert_snapshot!(bench.text("read_file", part(2, 2)).await, @r"
    2⇥
    3⇥fn main() {
    [of 6]
    ");
    insta::assert_snapshot!(bench.text("read_file", part(5, 100)).await, @r"
    5⇥
    6⇥}
    [of 6]
    ");
    let limits = Limits { read_lines: 4, ..Limits::default() };
    let bench = Bench::limited(PROJECT, limits);
    insta::assert_snapshot!(bench.text("read_file", json!({"path": "src/main.rs"})).await, @r#"
    1⇥use std::fmt;

    3⇥fn main() {
    4⇥    println!("a \"quoted\" word");
    [lines 1-4 of 6; next offset=5]
    "#);
}

#[tokio::test]
async fn what_is_special_about_a_file_is_noted() {
    let bench = Bench::new(PROJECT);
    let read = async |path: &str| bench.text("read_file", json!({"path": path})).await;
    insta::assert_snapshot!(read("empty.txt").await, @"[The file is empty]");
    insta::assert_snapshot!(read("dos.txt").await, @r"
    1⇥one
    2⇥two
    [CRLF line endings]
    ");
    insta::assert_snapshot!(read("image.bin").await, @r#"
    image.bin is a binary file: application/octet-stream, 6 bytes.
    [Its bytes can be read with encoding="base64"]
    "#);
    let base64 = json!({"path": "image.bin", "encoding": "base64", "limit": 3});
    insta::assert_snapshot!(bench.text("read_file", base64).await, @r"
    AAEC
    [Bytes 1-3 of 6. Continue with offset=4]
    ");
}

#[tokio::test]
async fn a_line_that_is_cut_says_how_it_is_read() {
    let limits = Limits { read_line_bytes: 4, read_lines: 2, ..Limits::default() };
    let bench = Bench::limited("//- /a.txt\nabcdefgh\nx\ny\n", limits);
    insta::assert_snapshot!(bench.text("read_file", json!({"path": "a.txt"})).await, @r#"
    1⇥abcd… [4 of 8 bytes of this line]
    2⇥x
    [lines 1-2 of 3; next offset=3; line 1 is cut: encoding="base64" with offset and limit in bytes reads it]
    "#);
}

#[tokio::test]
async fn a_repetition_and_what_the_executor_cuts_are_noted() {
    let limits = Limits { result_bytes: 800, ..Limits::default() };
    let options = ExecutorOptions { limits, ..Default::default() };
    let caller = Caller { detect_repeats: true, ..Default::default() };
    let lines: String = (1..=100).map(|n| format!("line {n}\n")).collect();
    let bench = Bench::with(&format!("//- /a.txt\n{lines}"), Setup { options, caller }, Vec::new());
    let cut = bench.text("read_file", json!({"path": "a.txt"})).await;
    let (content, notes) = cut.rsplit_once('\n').unwrap();
    let shown = content.lines().count();
    assert!(content.ends_with(&format!("{shown}⇥line {shown}")), "{cut}");
    assert!(
        notes.contains(&format!("lines 1-{shown} of 100; next offset={}", shown + 1)),
        "{notes}"
    );
    assert!(
        notes.contains("characters of content shown; more: read_file path=\"result:"),
        "{notes}"
    );
    assert!(notes.contains(&format!("offset={}]", shown + 1)), "{notes}");
    let again = bench.text("read_file", json!({"path": "a.txt"})).await;
    assert!(
        again.ends_with("; the same call was answered before in this turn; nothing has changed]")
    );
}

#[tokio::test]
async fn several_files_stand_below_their_paths() {
    let bench = Bench::new(PROJECT);
    let paths = ["src/lib.rs", "empty.txt", "image.bin", "src/man.rs", "src/main.rs"];
    insta::assert_snapshot!(bench.text("read", json!({"file_paths": paths, "limit": 3})).await, @r"
    src/lib.rs:
    1⇥pub mod a;
    empty.txt:
    [empty]
    image.bin:
    [binary file: application/octet-stream, 6 bytes]
    src/main.rs:
    1⇥use std::fmt;

    3⇥fn main() {
    [of 6]
    [src/man.rs does not exist]
    ");
    insta::assert_snapshot!(bench.text("read", json!({"file_paths": ["src/lib.rs"]})).await, @"1⇥pub mod a;");
}

#[tokio::test]
async fn files_that_no_longer_fit_are_named_with_the_way_to_read_on() {
    let limits = Limits { read_tokens: 40, read_lines: 8, ..Limits::default() };
    let lines: String = (1..=9).map(|n| format!("word {n}\n")).collect();
    let bench =
        Bench::limited(&format!("//- /a.txt\nx\n//- /b.txt\n{lines}//- /c.txt\nx\n"), limits);
    let paths = ["a.txt", "b.txt", "c.txt"];
    insta::assert_snapshot!(bench.text("read", json!({"file_paths": paths})).await, @r"
    a.txt:
    1⇥x
    b.txt:
    1⇥word 1
    2⇥word 2
    3⇥word 3
    4⇥word 4
    5⇥word 5
    6⇥word 6
    7⇥word 7
    [Stopped within b.txt: the answer is full. Continue that file with offset=8; not read: c.txt]
    ");
    let limits = Limits { read_lines: 2, ..Limits::default() };
    let bench = Bench::limited(&format!("//- /b.txt\n{lines}"), limits);
    insta::assert_snapshot!(bench.text("read", json!({"file_paths": ["b.txt"]})).await, @r"
    1⇥word 1
    2⇥word 2
    [lines 1-2 of 9; next offset=3]
    ");
}

#[tokio::test]
async fn people_are_told_what_is_read() {
    let bench = Bench::new(PROJECT);
    let mut told = Vec::new();
    for (tool, arguments) in [
        ("read_file", json!({"path": "src/main.rs"})),
        ("read_file", json!({"path": "src/lib.rs"})),
        ("read_file", json!({"path": "src/main.rs", "offset": 2, "limit": 3})),
        ("read_file", json!({"path": "src/main.rs", "offset": 6})),
        ("read_file", json!({"path": "src/main.rs", "limit": 2})),
        ("read_file", json!({"path": "empty.txt"})),
        ("read_file", json!({"path": "image.bin"})),
        ("read", json!({"file_paths": ["src/lib.rs"]})),
        ("read", json!({"file_paths": ["src/lib.rs", "src/main.rs"]})),
        ("read", json!({"file_paths": ["src/lib.rs", "gone.rs", "empty.txt"]})),
        ("read_file", json!({"path": 7, "offset": "x"})),
    ] {
        told.push(bench.told(tool, arguments).await);
    }
    insta::assert_snapshot!(told.join("\n"), @r"
    Read src/main.rs → Read src/main.rs, 6 lines
    Read src/lib.rs → Read src/lib.rs, 1 line
    Read src/main.rs, lines 2 to 4 → Read src/main.rs, lines 2 to 4
    Read src/main.rs, from line 6 → Read src/main.rs, line 6
    Read src/main.rs, the first 2 lines → Read src/main.rs, lines 1 to 2
    Read empty.txt → Read empty.txt, empty
    Read image.bin → Read image.bin, application/octet-stream
    Read src/lib.rs → –
    Read src/lib.rs and 1 more → Read 2 files
    Read src/lib.rs and 2 more → Read 2 of 3 files
    – → –
    ");
}

#[tokio::test]
async fn other_vocabularies_have_json_alone() {
    let bench = Bench::speaking(Vocabulary::Ally, PROJECT);
    let call = protocol::ToolCall::new(
        "c1",
        "read",
        json!({"file_paths": ["src/lib.rs"]}).as_object().unwrap().clone(),
    );
    let report = bench.executor.report(&call, &Default::default(), bench.executor.approver()).await;
    assert_eq!(report.text, None);
    assert!(report.result.is_ok());
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn every_line_that_is_shown_can_be_told_and_what_is_left_out_can_be_reached(
        lines in proptest::collection::vec("[a-z0-9\\[\\]: =]{0,12}|", 1..40),
        offset in 1_usize..12,
        limit in proptest::option::of(1_usize..30),
        read_lines in 1_u64..30,
    ) {
        let offset = offset.min(lines.len());
        let limits = Limits { read_lines, ..Limits::default() };
        let bench = Bench::limited("", limits);
        bench.project.write("a.txt", lines.join("\n") + "\n");
        let mut arguments = json!({"path": "a.txt", "offset": offset});
        if let Some(limit) = limit {
            arguments["limit"] = limit.into();
        }
        let runtime = tokio::runtime::Runtime::new().unwrap();
        let text = runtime.block_on(bench.text("read_file", arguments));
        let (content, note) = match text.rsplit_once("\n[") {
            Some((content, note)) if note.ends_with(']') && !note.contains('⇥') => (content, note),
            _ => (text.as_str(), ""),
        };
        let mut number = offset - 1;
        for line in content.split('\n') {
            number += 1;
            match line.split_once('⇥') {
                Some((own, shown)) => {
                    prop_assert_eq!(own, number.to_string());
                    prop_assert_eq!(shown, &lines[number - 1]);
                }
                None => prop_assert!(line.is_empty() && lines[number - 1].is_empty()),
            }
        }
        let asked = limit.unwrap_or(read_lines as usize);
        prop_assert_eq!(number, lines.len().min(offset + asked - 1));
        let is_whole = offset == 1 && number == lines.len();
        prop_assert_eq!(is_whole, note.is_empty(), "{}", text);
        if limit.is_none() && number < lines.len() {
            let next = format!("next offset={}]", number + 1);
            prop_assert!(note.ends_with(&next), "{}", text);
        } else if !is_whole {
            prop_assert_eq!(note, format!("of {}]", lines.len()));
        }
    }
}

#[tokio::test]
async fn a_line_that_is_cut_is_told_with_and_without_numbers_wherever_it_stands() {
    let limits = Limits { read_line_bytes: 20, read_bytes: 60, ..Limits::default() };
    let files = format!("//- /a.txt\n{}\n{}", "x".repeat(90), "more\n".repeat(30));
    let bench = Bench::limited(&files, limits);
    for line_numbers in [true, false] {
        let arguments = json!({"path": "a.txt", "line_numbers": line_numbers});
        let told = bench.text("read_file", arguments.clone()).await;
        let note = told.lines().last().unwrap().to_lowercase();
        assert!(note.contains("offset=") && note.contains("line 1 is "), "{told}");
        let message = bench.ok("read_file", arguments).await["message"].to_string();
        assert!(message.contains("Line 1 is longer than what is shown"), "{message}");
    }
}

#[tokio::test]
async fn a_line_that_holds_the_mark_of_a_cut_is_not_taken_for_one() {
    let bench = Bench::new("//- /a.txt\nfree… [4 of 90 bytes of this line]\n");
    let told = bench.text("read_file", json!({"path": "a.txt"})).await;
    assert_eq!(told, "1⇥free… [4 of 90 bytes of this line]");
}
