//! What bounds searches: limits, truncation, time, and pages through everything there is.

use protocol::ErrorCode;
use serde_json::{Value, json};
use testkit::at_most;
use tool_system::{Limits, Vocabulary};

use crate::harness::{Bench, each, strings};

/// More than any search here has.
const MOST_PAGES: usize = 100;

fn numbered_files(files: usize, lines: usize) -> String {
    (0..files).map(|file| format!("//- /f{file:03}.txt\n{}", "needle\n".repeat(lines))).collect()
}

/// Asks again and again with the cursor of the last answer, and returns all answers.
async fn pages(bench: &Bench, tool: &str, mut arguments: Value) -> Vec<Value> {
    let mut pages = Vec::new();
    for _ in at_most(MOST_PAGES, &format!("the pages of {tool}")) {
        let page = bench.ok(tool, arguments.clone()).await;
        let next = page.get("next_cursor").cloned();
        pages.push(page);
        match next {
            Some(cursor) => arguments["cursor"] = cursor,
            None => break,
        }
    }
    pages
}

#[tokio::test]
async fn pages_of_grep_show_everything_once() {
    let bench = Bench::new(&numbered_files(7, 9));
    let pages = pages(&bench, "grep", json!({"pattern": "needle", "max_results": 20})).await;
    let shown: Vec<_> = pages
        .iter()
        .flat_map(|page| page["matches"].as_array().unwrap())
        .map(|found| format!("{}:{}", found["path"].as_str().unwrap(), found["line"]))
        .collect();
    let all = (0..7).flat_map(|file| (1..=9).map(move |line| format!("f{file:03}.txt:{line}")));
    assert_eq!(shown, all.collect::<Vec<_>>());
    assert!(pages.iter().all(|page| page["total"] == 63));
    let message = pages[1]["message"].as_str().unwrap();
    assert!(message.contains("showing 21 to 40, …and 23 more. Refine the pattern"), "{message}");
    assert_eq!(pages[3]["message"], "Found 63 matches in 7 files, showing 61 to 63, the last.");
}

#[tokio::test]
async fn pages_of_files_and_of_globs_show_everything_once() {
    let bench = Bench::new(&numbered_files(10, 1));
    let names: Vec<_> = (0..10).map(|file| format!("f{file:03}.txt")).collect();
    let arguments = json!({"pattern": "needle", "mode": "files", "max_results": 4});
    let found = pages(&bench, "grep", arguments).await;
    let shown: Vec<_> = found.iter().flat_map(|page| each(&page["matches"], "path")).collect();
    assert_eq!((shown.len(), shown), (10, names.iter().map(String::as_str).collect()));
    let found = pages(&bench, "glob", json!({"pattern": "*", "max_results": 3})).await;
    let shown: Vec<_> = found.iter().flat_map(|page| strings(&page["files"])).collect();
    assert_eq!((found.len(), shown), (4, names.iter().map(String::as_str).collect()));
}

#[tokio::test]
async fn a_cursor_that_no_search_gave_is_refused() {
    let bench = Bench::new("//- /a.txt\nx\n");
    for tool in ["grep", "glob"] {
        for cursor in [" ", "7", "x:y", "1:../up"] {
            let error = bench.err(tool, json!({"pattern": "x", "cursor": cursor})).await;
            assert_eq!(error.code, ErrorCode::InvalidArguments, "{tool} {cursor}");
            assert!(error.suggestion.unwrap().contains("next_cursor"), "{tool} {cursor}");
        }
    }
    // Models that fill in every argument mean the first page.
    let first = bench.ok("glob", json!({"pattern": "*", "cursor": ""})).await;
    assert_eq!(first["total"], 1);
    // By time and by path are different orders.
    let arguments = json!({"pattern": "x", "sort": "modified", "cursor": ":a.txt"});
    assert_eq!(bench.err("glob", arguments).await.code, ErrorCode::InvalidArguments);
}

#[tokio::test]
async fn glob_takes_as_many_as_asked_up_to_the_maximum() {
    let bench = Bench::new(&numbered_files(520, 0));
    for (asked, expected) in [(3, 3), (150, 150), (9999, 500)] {
        let found = bench.ok("glob", json!({"pattern": "*", "max_results": asked})).await;
        assert_eq!((strings(&found["files"]).len(), &found["total"]), (expected, &json!(520)));
    }
}

#[tokio::test]
async fn glob_stops_at_the_depth_limit_and_says_so() {
    let limits = Limits { walk_depth: 2, ..Limits::default() };
    let bench = Bench::limited("//- /a/in.txt\n//- /a/b/c/out.txt\n", limits);
    let found = bench.ok("glob", json!({"pattern": "*.txt"})).await;
    assert_eq!(strings(&found["files"]), ["a/in.txt"]);
    let warning = found["warnings"][0].as_str().unwrap();
    assert!(warning.starts_with("Did not go deeper than 2 levels"), "{warning}");
}

#[tokio::test]
async fn glob_out_of_time_says_so() {
    let limits = Limits { search_ms: 0, ..Limits::default() };
    let bench = Bench::limited("//- /a.txt\n", limits);
    let found = bench.ok("glob", json!({"pattern": "*.txt"})).await;
    assert!(found["warnings"][0].as_str().unwrap().starts_with("Time ran out"), "{found}");
}

#[tokio::test]
async fn a_search_for_words_skips_large_files_and_names_them() {
    let bench = Bench::new("//- /small.txt\nneedle\n");
    bench.project.write("large.txt", "needle\n".repeat(200_000));
    let found = bench.ok("search", json!({"query": "needle"})).await;
    assert_eq!(each(&found["results"], "path"), ["small.txt"]);
    assert_eq!(found["warnings"][0], "Skipped files over 1048576 bytes: large.txt (1 in all).");
}

#[tokio::test]
async fn cut_lines_are_explained() {
    let bench = Bench::new("//- /a.txt\nneedle\n");
    bench.project.write("min.js", format!("{}needle{}", "a".repeat(3000), "b".repeat(3000)));
    let found = bench.ok("grep", json!({"pattern": "needle"})).await;
    assert_eq!(found["total"], 2);
    assert_eq!(
        found["warnings"][0],
        "1 long line is cut to about 400 characters around the match, marked by `…`; read_file \
         shows them whole."
    );
}

#[tokio::test]
async fn files_over_a_limit_do_not_keep_others_from_being_searched() {
    let limits = Limits { grep_file_bytes: 10, ..Limits::default() };
    let files = "//- /a.txt\nneedle\n//- /b.txt\nneedle, and more\n//- /c.txt\nneedle\n";
    let bench = Bench::limited(files, limits);
    let found = bench.ok("grep", json!({"pattern": "needle"})).await;
    assert_eq!(each(&found["matches"], "path"), ["a.txt", "c.txt"]);
    assert_eq!(found["warnings"][0], "Skipped files over 10 bytes: b.txt (1 in all).");
}

/// "Find all TODO comments in the project": the search that the fourth test of the specification
/// expects, in the vocabulary it uses.
#[tokio::test]
async fn multi_file_search() {
    let bench = Bench::speaking(
        Vocabulary::Explorer,
        "
//- /src/a.js
// TODO: first
const todo = 1;
//- /src/b/c.py
x = 1  # TODO second
//- /README.md
TODO list
//- /.gitignore
out/
//- /out/d.js
// TODO: built
",
    );
    let found = bench.ok("search_files", json!({"pattern": "TODO"})).await;
    assert_eq!(each(&found["matches"], "path"), ["README.md", "src/a.js", "src/b/c.py"]);
    let lines: Vec<_> = found["matches"].as_array().unwrap().iter().map(|at| &at["line"]).collect();
    assert_eq!(lines, [&json!(1), &json!(1), &json!(1)]);
    assert_eq!(found["message"], "Found 3 matches in 3 files.");
}

#[tokio::test]
async fn what_a_search_without_pages_leaves_out_can_be_asked_for() {
    let mut files = String::from("//- /t.ts\nexport const needle = 1;\n");
    for file in 0..520 {
        files += &format!("//- /u{file:03}.ts\nimport {{needle}} from './t';\n");
    }
    let small = Limits { result_bytes: 8 * 1024, ..Limits::default() };
    let (bench, host) = (Bench::new(&files), Bench::limited(&files, small));
    for (tool, argument, key) in [
        ("find_importers", "target", "importers"),
        ("find_references", "symbol", "files"),
        ("search", "query", "results"),
    ] {
        let subject = if tool == "find_importers" { "t.ts" } else { "needle" };
        let arguments = json!({argument: subject, "max_results": 9999});
        let found = bench.ok(tool, arguments.clone()).await;
        assert!(found[key].as_array().unwrap().len() >= 520, "{tool}");
        // What is too long for an answer is behind a handle, and no note advises the same call.
        let told = host.text(tool, arguments).await;
        let note = told.lines().last().unwrap();
        assert!(note.contains("more: read_file path=\"result:"), "{tool}: {note}");
        assert!(!note.contains("max_results="), "{tool}: {note}");
    }
    let affected = bench.ok("impact", json!({"target": "t.ts", "max_results": 9999})).await;
    assert_eq!(affected["total"], 520);
}

#[tokio::test]
async fn a_query_of_any_shape_is_answered_shortly_or_refused() {
    let bench = Bench::new(
        "//- /src/config.rs\n// 設定ファイルを検索する\nfn parse_config(x: u8) {}\n//- /notes.txt\nx\n",
    );
    for query in ["", "   ", "::", "(.*)+$", "🚀", "\n\t"] {
        let error = bench.err("search", json!({"query": query})).await;
        assert_eq!(error.code, ErrorCode::InvalidArguments, "{query}");
        assert!(error.message.contains("has no words"), "{}", error.message);
    }
    for query in
        ["parse.*config(", "^fn\\s+parse_config\\b", "\\d{3} config [a-z", "検索", "設定を検索"]
    {
        let found = bench.ok("search", json!({"query": query})).await;
        assert_eq!(each(&found["results"], "path")[0], "src/config.rs", "{query}");
    }
    let letter = bench.ok("search", json!({"query": "x"})).await;
    assert_eq!(each(&letter["results"], "path"), ["src/config.rs", "notes.txt"]);
}

#[tokio::test]
async fn a_query_of_ten_thousand_words_says_that_most_do_not_count() {
    let bench = Bench::new("//- /src/config.rs\nfn parse_config() {}\n");
    let words: String = (0..10_000).map(|number| format!("zebra{number} ")).collect();
    let found = bench.ok("search", json!({"query": format!("parse config {words}")})).await;
    assert_eq!(each(&found["results"], "path"), ["src/config.rs"]);
    let warning = "The query is too long: its last 9990 words did not count.";
    assert_eq!(strings(&found["warnings"]), [warning]);
    let text = bench.text("search", json!({"query": words})).await;
    assert!(text.contains("Nothing like `zebra0 zebra1") && text.contains("9988 words"), "{text}");
    assert!(text.len() < 500, "{}", text.len());
    let giant = bench.text("search", json!({"query": "Zz".repeat(100_000)})).await;
    assert!(giant.starts_with("Nothing like `ZzZz") && giant.len() < 500, "{}", giant.len());
}
