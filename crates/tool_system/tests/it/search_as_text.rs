//! What models are shown of searches and listings.

use serde_json::json;
use tool_system::Limits;

use crate::harness::Bench;

const PROJECT: &str = "\
//- /src/tool.rs
use std::fmt;

pub async fn execute(args: Args) -> Result {
    run(args)
}

fn run(args: Args) {}
//- /src/args/rule text.rs
fn run() {}
//- /src/args/tools.rs
//! Nothing.
//- /Cargo.toml
[package]
//- /docs/guide.md
Call `run` to run a tool.
";

fn many(files: usize) -> String {
    (0..files)
        .map(|n| format!("//- /part{}/f{n:02}.txt\nneedle {n}\nneedle again\n", n % 3))
        .collect()
}

#[tokio::test]
async fn matches_stand_below_the_path_of_their_file() {
    let bench = Bench::new(PROJECT);
    insta::assert_snapshot!(bench.text("grep", json!({"pattern": "run"})).await, @r"
    docs/guide.md
    1⇥Call `run` to run a tool.
    src/args/rule text.rs
    1⇥fn run() {}
    src/tool.rs
    4⇥    run(args)
    7⇥fn run(args: Args) {}
    ");
    let around = json!({"pattern": "run", "path": "src/tool.rs", "context": 2});
    insta::assert_snapshot!(bench.text("grep", around).await, @r"
    src/tool.rs
    2-⇥
    3-⇥pub async fn execute(args: Args) -> Result {
    4⇥    run(args)
    5-⇥}
    6-⇥
    7⇥fn run(args: Args) {}
    ");
    let lines = json!({"pattern": r"run\(args\)\s*\}", "multiline": true});
    insta::assert_snapshot!(bench.text("grep", lines).await, @r"
    src/tool.rs
    4⇥    run(args)
    5⇥}
    ");
}

#[tokio::test]
async fn files_with_matches_stand_beside_their_directory() {
    let bench = Bench::new(PROJECT);
    let mode = |mode: &str| json!({"pattern": "run", "mode": mode});
    insta::assert_snapshot!(bench.text("grep", mode("files")).await, @r#"
    docs/guide.md
    src/tool.rs
    src/args/: "rule text.rs"
    "#);
    insta::assert_snapshot!(bench.text("grep", mode("count")).await, @r#"
    docs/guide.md:1
    src/tool.rs:2
    src/args/: "rule text.rs":1
    "#);
}

#[tokio::test]
async fn a_part_of_the_files_is_counted_in_files() {
    let bench = Bench::new(&many(3));
    for (mode, count) in [("files", ""), ("count", ":2")] {
        let mut told = Vec::new();
        let mut arguments = json!({"pattern": "needle", "mode": mode, "max_results": 1});
        for _ in testkit::at_most(10, "the pages of three files") {
            let text = bench.text("grep", arguments.clone()).await;
            let cursor = text.split_once("cursor=\"").map(|(_, rest)| rest.trim_end_matches("\"]"));
            arguments["cursor"] = cursor.into();
            let is_last = cursor.is_none();
            told.push(text);
            if is_last {
                break;
            }
        }
        let expected = [
            format!(
                "part0/f00.txt{count}\n[1 of 3 files with 6 matches; more: cursor=\":part0/f00.txt\"]"
            ),
            format!(
                "part1/f01.txt{count}\n[1 more of 3 files with 6 matches; more: cursor=\":part1/f01.txt\"]"
            ),
            format!("part2/f02.txt{count}\n[the last 1 of 3 files with 6 matches]"),
        ];
        assert_eq!(told, expected, "{mode}");
    }
}

#[tokio::test]
async fn nothing_found_is_said_in_two_words_unless_a_filter_may_be_to_blame() {
    let bench = Bench::new(PROJECT);
    assert_eq!(bench.text("grep", json!({"pattern": "nowhere"})).await, "No matches");
    let table = [
        (json!({"pattern": "nowhere", "path": "src"}), "No matches among 3 files"),
        (
            json!({"pattern": "run", "file_type": "py"}),
            "No matches among 5 files. All of them are excluded: see path, file_type, include and exclude",
        ),
    ];
    for (arguments, expected) in table {
        assert_eq!(bench.text("grep", arguments).await, expected);
    }
}

#[tokio::test]
async fn a_part_of_the_matches_leads_to_the_next() {
    let bench = Bench::new(&many(3));
    let page = async |cursor: Option<&str>| {
        let mut arguments = json!({"pattern": "needle", "max_results": 2});
        if let Some(cursor) = cursor {
            arguments["cursor"] = cursor.into();
        }
        bench.text("grep", arguments).await
    };
    insta::assert_snapshot!(page(None).await, @r#"
    part0/f00.txt
    1⇥needle 0
    2⇥needle again
    [2 of 6 matches in 3 files; more: cursor="2:part0/f00.txt"]
    "#);
    insta::assert_snapshot!(page(Some("2:part0/f00.txt")).await, @r#"
    part1/f01.txt
    1⇥needle 1
    2⇥needle again
    [2 more of 6 matches in 3 files; more: cursor="2:part1/f01.txt"]
    "#);
    insta::assert_snapshot!(page(Some("2:part1/f01.txt")).await, @r"
    part2/f02.txt
    1⇥needle 2
    2⇥needle again
    [the last 2 of 6 matches in 3 files]
    ");
}

#[tokio::test]
async fn what_a_search_skips_is_noted() {
    let limits = Limits { grep_file_bytes: 30, grep_line_chars: 12, ..Limits::default() };
    let bench = Bench::limited(
        "//- /big.txt\nneedle and much more than thirty bytes of it\n//- /a.txt\n0123456789 needle 9876\n",
        limits,
    );
    insta::assert_snapshot!(bench.text("grep", json!({"pattern": "needle"})).await, @r"
    a.txt
    1⇥…89 needle 98…
    [Skipped files over 30 bytes: big.txt (1 in all); 1 long line is cut to about 12 characters around the match, marked by `…`; read_file shows them whole]
    ");
}

#[tokio::test]
async fn files_are_shown_by_their_directories_and_the_rest_is_counted() {
    let bench = Bench::new(PROJECT);
    insta::assert_snapshot!(bench.text("glob", json!({"pattern": "*"})).await, @r#"
    Cargo.toml
    docs/guide.md
    src/tool.rs
    src/args/: "rule text.rs" tools.rs
    "#);
    insta::assert_snapshot!(bench.text("glob", json!({"pattern": "*.py"})).await, @"No files match `*.py` among 5.");
    let bench = Bench::new(&many(9));
    insta::assert_snapshot!(bench.text("glob", json!({"pattern": "*", "max_results": 2})).await, @r#"
    part0/: f00.txt f03.txt
    [2 of 9 files; more: cursor=":part0/f03.txt"; rest: part0/ 1, part1/ 3, part2/ 3]
    "#);
    let last = json!({"pattern": "*", "max_results": 2, "cursor": ":part2/f05.txt"});
    insta::assert_snapshot!(bench.text("glob", last).await, @r"
    part2/f08.txt
    [the last 1 of 9 files]
    ");
    let by_time = json!({"pattern": "part0/*", "sort": "modified"});
    let mut lines: Vec<String> =
        bench.text("glob", by_time).await.lines().map(str::to_owned).collect();
    lines.sort();
    assert_eq!(lines, ["part0/f00.txt", "part0/f03.txt", "part0/f06.txt"]);
}

#[tokio::test]
async fn a_directory_is_one_line_of_names() {
    let bench = Bench::new(PROJECT);
    std::os::unix::fs::symlink("tool.rs", bench.project.path("src/link")).unwrap();
    insta::assert_snapshot!(bench.text("list_directory", json!({})).await, @"Cargo.toml docs/ src/");
    insta::assert_snapshot!(bench.text("list_directory", json!({"path": "src"})).await, @"args/ link->tool.rs tool.rs");
    insta::assert_snapshot!(bench.text("list_directory", json!({"recursive": true})).await, @r#"
    Cargo.toml
    docs/guide.md
    src/: link->tool.rs tool.rs
    src/args/: "rule text.rs" tools.rs
    "#);
    let detailed = bench.text("list_directory", json!({"path": "docs", "details": true})).await;
    let words: Vec<&str> = detailed.split('⇥').collect();
    assert_eq!((words[0], words[2], words.len()), ("26", "guide.md", 3), "{detailed}");
    std::fs::create_dir(bench.project.path("void")).unwrap();
    insta::assert_snapshot!(bench.text("list_directory", json!({"path": "void"})).await, @"[The directory is empty]");
}

#[tokio::test]
async fn a_long_listing_leads_to_its_next_page() {
    let limits = Limits { list_page: 4, ..Limits::default() };
    let bench = Bench::limited(&many(7), limits);
    insta::assert_snapshot!(bench.text("list_directory", json!({"recursive": true})).await, @r"
    part0/: f00.txt f03.txt f06.txt
    [4 of 10 entries; more: page=2; rest: part1/ 3, part2/ 3]
    ");
    insta::assert_snapshot!(bench.text("list_directory", json!({"recursive": true, "page": 3})).await, @r"
    part2/: f02.txt f05.txt
    [the last 2 of 10 entries]
    ");
}

#[tokio::test]
async fn the_best_files_are_shown_with_their_best_line() {
    let bench = Bench::new(PROJECT);
    insta::assert_snapshot!(bench.text("search", json!({"query": "execute", "max_results": 1})).await, @r"
    src/tool.rs:3 in 3-5
    3⇥pub async fn execute(args: Args) -> Result {
    4⇥    run(args)
    5⇥}
    7⇥fn run(args: Args) {}
    ");
    insta::assert_snapshot!(bench.text("search", json!({"query": "zebra"})).await, @"Nothing like `zebra` in 5 files. Try other words for it, or grep.");
    let bench = Bench::new(&many(3));
    let cut = bench.text("search", json!({"query": "needle", "max_results": 1})).await;
    assert!(cut.ends_with("\n[1 of 3 files; more: max_results=3]"), "{cut}");
}

#[tokio::test]
async fn the_function_around_the_best_line_is_named_and_later_files_show_less() {
    let body = |n: usize| {
        let before: String = (0..20).map(|line| format!("    step_{line}();\n")).collect();
        format!(
            "//- /f{n}.rs\npub fn run_{n}(args: Args) {{\n{before}    needle(\n        {n});\n    after();\n}}\n"
        )
    };
    let bench = Bench::new(&(0..5).map(body).collect::<String>());
    insta::assert_snapshot!(bench.text("search", json!({"query": "needle"})).await, @r"
    f0.rs:22 in 1-25 pub fn run_0(args: Args)
    21⇥    step_19();
    22⇥    needle(
    23⇥        0);
    24⇥    after();
    25⇥}
    f1.rs:22 in 1-25 pub fn run_1(args: Args)
    21⇥    step_19();
    22⇥    needle(
    23⇥        1);
    24⇥    after();
    25⇥}
    f2.rs:22 in 1-25 pub fn run_2(args: Args)
    21⇥    step_19();
    22⇥    needle(
    23⇥        2);
    24⇥    after();
    25⇥}
    f3.rs:22 in 1-25 pub fn run_3(args: Args)
    21⇥    step_19();
    22⇥    needle(
    23⇥        3);
    f4.rs:22 in 1-25 pub fn run_4(args: Args)
    21⇥    step_19();
    22⇥    needle(
    23⇥        4);
    ");
    let found = bench.ok("search", json!({"query": "needle", "max_results": 1})).await;
    assert_eq!(found["results"][0]["within"], "1-25: pub fn run_0(args: Args)");
}

#[tokio::test]
async fn a_definition_of_one_line_is_not_said_twice() {
    let bench = Bench::new("//- /settings.py\nRETRY_TIMES = 2\nOTHER = 3\n");
    insta::assert_snapshot!(bench.text("search", json!({"query": "retry times"})).await, @r"
    settings.py:1
    1⇥RETRY_TIMES = 2
    2⇥OTHER = 3
    ");
}

#[tokio::test]
async fn an_answer_shows_lines_within_a_budget_and_names_the_rest() {
    let line = format!("needle {}\n", "word ".repeat(36));
    let file = |n: usize| format!("//- /f{n:02}.txt\n{}", line.repeat(6));
    let bench = Bench::new(&(0..40).map(file).collect::<String>());
    let text = bench.text("search", json!({"query": "needle", "max_results": 40})).await;
    assert!(protocol::estimate_tokens(&text) < 2_200, "{}", protocol::estimate_tokens(&text));
    assert!(text.contains("\nf39.txt:1") && text.contains("[no lines of the last "), "{text}");
}

#[tokio::test]
async fn people_are_told_what_was_searched() {
    let bench = Bench::new(PROJECT);
    let mut told = Vec::new();
    for (tool, arguments) in [
        ("grep", json!({"pattern": "run"})),
        ("grep", json!({"pattern": "nowhere", "path": "src"})),
        ("glob", json!({"pattern": "*.rs", "path": "src"})),
        ("glob", json!({"pattern": "*.py"})),
        ("list_directory", json!({})),
        ("list_directory", json!({"path": "src", "page": 1})),
        ("search", json!({"query": "execute"})),
        ("search", json!({"query": "zebra"})),
    ] {
        told.push(bench.told(tool, arguments).await);
    }
    insta::assert_snapshot!(told.join("\n"), @r"
    Searched for run → Found 4 matches in 3 files
    Searched for nowhere in src → Found no matches
    Looked for files *.rs in src → Found 3 files
    Looked for files *.py → Found no files
    Listed the project's root → Listed the project's root, 3 entries
    Listed src → Listed src, 2 entries
    Searched for execute → Found 1 file
    Searched for zebra → Found nothing like it
    ");
}

#[tokio::test]
async fn names_and_cursors_are_quoted_as_the_arguments_of_a_call() {
    // The space before AM is one that does not break, as in the names of screenshots.
    let bench =
        Bench::new("//- /a\u{202f}AM.txt\nx\n//- /b at 9\u{202f}AM.txt\nx\n//- /c.txt\nx\n");
    let names = bench.text("glob", json!({"pattern": "*"})).await;
    assert_eq!(names, "./: a\u{202f}AM.txt \"b at 9\u{202f}AM.txt\" c.txt");
    for tool in ["glob", "grep"] {
        let pattern = if tool == "glob" { "*" } else { "x" };
        let told = bench.text(tool, json!({"pattern": pattern, "max_results": 1})).await;
        let (_, cursor) = told.split_once("cursor=").unwrap();
        let cursor = &cursor[..=cursor.rfind('"').unwrap()];
        let cursor: String = serde_json::from_str(cursor).unwrap();
        let next = json!({"pattern": pattern, "max_results": 1, "cursor": cursor});
        let told = bench.text(tool, next).await;
        assert!(told.contains("b at 9") && !told.contains("a\u{202f}AM.txt\n"), "{told}");
    }
}
