//! Content search: every scenario of the specification, and what users try besides.

use protocol::ErrorCode;
use serde_json::json;
use tool_system::{Limits, Vocabulary};

use crate::harness::{Bench, each};

const PROJECT: &str = r#"
//- /src/tool.rs
use std::fmt;

pub async fn execute(args: Args) -> Result {
    run(args)
}
//- /src/other.ts
// Async FN that would execute
export const x = 1;
//- /docs/guide.md
Call `async fn execute` to run a tool.
//- /.gitignore
generated/
//- /generated/big.rs
async fn execute() {}
//- /node_modules/lib/index.js
async fn execute
//- /image.bin base64=AGFzeW5jIGZuIGV4ZWN1dGUK
"#;

#[tokio::test]
async fn search_for_code_pattern() {
    let bench = Bench::speaking(Vocabulary::Ally, PROJECT);
    let found =
        bench.ok("grep", json!({"pattern": "async fn.*execute", "case_sensitive": true})).await;
    insta::assert_json_snapshot!(found, @r#"
    {
      "matches": [
        {
          "path": "docs/guide.md",
          "line": 1,
          "text": "Call `async fn execute` to run a tool."
        },
        {
          "path": "src/tool.rs",
          "line": 3,
          "text": "pub async fn execute(args: Args) -> Result {",
          "before": [
            ""
          ],
          "after": [
            "    run(args)"
          ]
        }
      ],
      "total": 2,
      "files": 2,
      "message": "Found 2 matches in 2 files."
    }
    "#);
}

#[tokio::test]
async fn case_insensitive_search() {
    let bench = Bench::new(PROJECT);
    for arguments in [
        json!({"pattern": "ASYNC fn.*execute", "case_sensitive": false}),
        json!({"pattern": "ASYNC fn.*execute"}),
    ] {
        let found = bench.ok("grep", arguments).await;
        assert_eq!(
            each(&found["matches"], "path"),
            ["docs/guide.md", "src/other.ts", "src/tool.rs"]
        );
    }
}

#[tokio::test]
async fn filter_by_file_type() {
    let bench = Bench::new(PROJECT);
    for file_type in ["rs", ".rs", "*.rs"] {
        let found = bench.ok("grep", json!({"pattern": "execute", "file_type": file_type})).await;
        assert_eq!(each(&found["matches"], "path"), ["src/tool.rs"]);
    }
}

#[tokio::test]
async fn no_matches_found() {
    let bench = Bench::new(PROJECT);
    let found = bench.ok("grep", json!({"pattern": "nowhere_to_be_found"})).await;
    insta::assert_json_snapshot!(found, @r#"
    {
      "matches": [],
      "total": 0,
      "files": 0,
      "message": "No matches for `nowhere_to_be_found` among 4 files."
    }
    "#);
}

#[tokio::test]
async fn invalid_regex_pattern() {
    let bench = Bench::new(PROJECT);
    let error = bench.err("grep", json!({"pattern": "foo(bar"})).await;
    assert_eq!(error.code, ErrorCode::InvalidPattern);
    assert!(error.message.contains("`foo(bar` is not a valid regular expression"), "{error:?}");
    assert!(error.message.contains("unclosed group"), "{error:?}");
    assert!(error.suggestion.unwrap().contains(r"foo\(bar"));
}

#[tokio::test]
async fn an_invalid_pattern_is_answered_with_what_is_wrong_where_and_what_would_be_right() {
    let bench = Bench::new(PROJECT);
    let table = [
        ("foo(bar", "unclosed group, at character 4", r"Did you mean `foo(bar)`?"),
        ("*.rs", "nothing to repeat, at character 1", "looks like a glob"),
        ("foo(?=bar)", "look-around is not supported", "`foo(?:bar)` finds the same lines"),
        (r"(\w)\1", "back-references are not supported", "Write the repeated text out"),
        (r"a\nb", "a line never contains its line break", "Set multiline to true"),
    ];
    for (pattern, reason, advice) in table {
        let error = bench.err("grep", json!({"pattern": pattern})).await;
        assert_eq!(error.code, ErrorCode::InvalidPattern, "{pattern}");
        assert!(error.message.contains(reason), "{pattern}: {}", error.message);
        let suggestion = error.suggestion.unwrap();
        assert!(suggestion.contains(advice), "{pattern}: {suggestion}");
    }
}

fn many_matches(files: usize, lines: usize) -> String {
    (0..files).map(|file| format!("//- /f{file:04}.txt\n{}", "needle\n".repeat(lines))).collect()
}

#[tokio::test]
async fn grep_default_limit() {
    let project = many_matches(20, 10);
    let standard = Bench::new(&project).ok("grep", json!({"pattern": "needle"})).await;
    assert_eq!(standard["matches"].as_array().unwrap().len(), 100);
    let bench = Bench::speaking(Vocabulary::Ally, &project);
    let found = bench.ok("grep", json!({"pattern": "needle", "context": 0})).await;
    assert_eq!(found["matches"].as_array().unwrap().len(), 50);
    assert_eq!(found["total"], 200);
    let message = found["message"].as_str().unwrap();
    assert!(
        message.starts_with("Found 200 matches in 20 files, showing the first 50, …and 150 more.")
    );
    assert!(message.contains("Refine the pattern"));
    let paths = each(&found["matches"], "path");
    assert!(paths.is_sorted() && paths[0] == "f0000.txt" && paths[49] == "f0004.txt");
}

#[tokio::test]
async fn custom_result_limit() {
    let bench = Bench::new(&many_matches(60, 10));
    let count = async |asked: u64| {
        let found = bench.ok("grep", json!({"pattern": "needle", "max_results": asked})).await;
        found["matches"].as_array().unwrap().len()
    };
    assert_eq!(count(3).await, 3);
    assert_eq!(count(120).await, 120);
    assert_eq!(count(9999).await, 500);
}

#[tokio::test]
async fn file_size_limits_for_grep() {
    let bench = Bench::new("//- /small.txt\nneedle\n");
    bench.project.write("large.txt", "needle\n".repeat(200_000));
    let found = bench.ok("grep", json!({"pattern": "needle"})).await;
    assert_eq!(each(&found["matches"], "path"), ["small.txt"]);
    assert_eq!(found["warnings"][0], "Skipped files over 1048576 bytes: large.txt (1 in all).");
}

#[tokio::test]
async fn search_depth_limits() {
    let limits = Limits { walk_depth: 3, ..Limits::default() };
    let bench = Bench::limited("//- /a/b/in.txt\nneedle\n//- /a/b/c/d/out.txt\nneedle\n", limits);
    let found = bench.ok("grep", json!({"pattern": "needle"})).await;
    assert_eq!(each(&found["matches"], "path"), ["a/b/in.txt"]);
    let warning = found["warnings"][0].as_str().unwrap();
    assert!(
        warning.starts_with("Did not go deeper than 3 levels, for example into a/b/c"),
        "{warning}"
    );
}

#[tokio::test]
async fn regex_timeout_protection() {
    // No time at all per file: each is given up, and the search still answers.
    let limits = Limits { regex_ms_per_file: 0, ..Limits::default() };
    let bench = Bench::limited("//- /a.txt\nneedle\n//- /b.txt\nneedle\n", limits);
    let found = bench.ok("grep", json!({"pattern": "needle"})).await;
    assert_eq!(found["total"], 0);
    assert_eq!(
        found["warnings"][0],
        "Gave up on files that took over 0 ms: a.txt, b.txt (2 in all)."
    );
}

#[tokio::test]
async fn a_search_that_runs_out_of_time_says_so_and_gives_what_it_has() {
    let limits = Limits { search_ms: 0, ..Limits::default() };
    let bench = Bench::limited("//- /a.txt\nneedle\n", limits);
    let found = bench.ok("grep", json!({"pattern": "needle"})).await;
    assert!(found["warnings"][0].as_str().unwrap().starts_with("Time ran out"), "{found}");
}

#[tokio::test]
async fn a_match_in_a_line_without_end_is_shown_in_part() {
    let bench = Bench::new("//- /a.txt\nx\n");
    let line = format!("{}needle{}", "a".repeat(300_000), "b".repeat(300_000));
    bench.project.write("min.js", line);
    let found = bench.ok("grep", json!({"pattern": "needle"})).await;
    let text = found["matches"][0]["text"].as_str().unwrap();
    assert!(text.contains("needle") && text.chars().count() < 500, "{}", text.len());
}

#[tokio::test]
async fn the_path_may_be_a_file_or_a_directory_and_a_wrong_one_is_explained() {
    let bench = Bench::new(PROJECT);
    let found = bench.ok("grep", json!({"pattern": "execute", "path": "src/tool.rs"})).await;
    assert_eq!(found["total"], 1);
    let found = bench.ok("grep", json!({"pattern": "execute", "path": "docs"})).await;
    assert_eq!(each(&found["matches"], "path"), ["docs/guide.md"]);
    let error = bench.err("grep", json!({"pattern": "x", "path": "scr"})).await;
    assert_eq!(error.code, ErrorCode::FileNotFound);
    assert_eq!(error.suggestion.unwrap(), "Did you mean src?");
    let error = bench.err("grep", json!({"pattern": "x", "path": "../other"})).await;
    assert_eq!(error.code, ErrorCode::InvalidPath);
}

#[tokio::test]
async fn overlapping_context_belongs_to_the_right_match() {
    let bench = Bench::new("//- /a.txt\n1\nhit a\n2\nhit b\n3\n4\n5\n6\nhit c\n");
    let found = bench.ok("grep", json!({"pattern": "hit", "context": 1})).await;
    let around: Vec<_> = found["matches"]
        .as_array()
        .unwrap()
        .iter()
        .map(|found| format!("{} {} {}", found["before"], found["text"], found["after"]))
        .collect();
    assert_eq!(
        around,
        [r#"["1"] "hit a" ["2"]"#, r#"null "hit b" ["3"]"#, r#"["6"] "hit c" null"#]
    );
}

#[tokio::test]
async fn utf16_files_are_searched_and_binary_files_are_not() {
    let bench = Bench::new("//- /a.txt\nnothing\n");
    let wide: Vec<u8> = "\u{FEFF}wide needle\n".encode_utf16().flat_map(u16::to_le_bytes).collect();
    bench.project.write("wide.txt", wide);
    bench.project.write("data.bin", b"needle\n\0\0\0");
    let found = bench.ok("grep", json!({"pattern": "needle"})).await;
    assert_eq!(each(&found["matches"], "path"), ["wide.txt"]);
}

#[tokio::test]
async fn the_explorer_calls_it_search_files_and_minds_case() {
    let bench = Bench::speaking(Vocabulary::Explorer, PROJECT);
    let found = bench
        .ok("search_files", json!({"pattern": "Async FN", "path": "src", "filePattern": "*.ts"}))
        .await;
    assert_eq!(each(&found["matches"], "path"), ["src/other.ts"]);
    let found = bench.ok("search_files", json!({"pattern": "ASYNC FN"})).await;
    assert_eq!(found["total"], 0);
}

#[tokio::test]
async fn several_file_types_and_languages_are_understood() {
    let bench = Bench::new(PROJECT);
    for (file_type, expected) in [
        ("rs,ts", vec!["src/other.ts", "src/tool.rs"]),
        ("rust", vec!["src/tool.rs"]),
        ("markdown, rust", vec!["docs/guide.md", "src/tool.rs"]),
    ] {
        let found = bench.ok("grep", json!({"pattern": "execute", "file_type": file_type})).await;
        assert_eq!(each(&found["matches"], "path"), expected, "{file_type}");
    }
    let found = bench.ok("grep", json!({"pattern": "execute", "file_type": "zig"})).await;
    assert_eq!(
        found["message"],
        "No matches for `execute` among 4 files. All of them are excluded: see path, file_type, \
         include and exclude."
    );
}

#[tokio::test]
async fn several_globs_include_and_exclude() {
    let bench = Bench::new(PROJECT);
    for (include, expected) in [
        ("*.rs,*.ts", vec!["src/other.ts", "src/tool.rs"]),
        ("*.{rs,md}", vec!["docs/guide.md", "src/tool.rs"]),
        ("src/**,!*.ts", vec!["src/tool.rs"]),
    ] {
        let found = bench.ok("grep", json!({"pattern": "execute", "include": include})).await;
        assert_eq!(each(&found["matches"], "path"), expected, "{include}");
    }
    let arguments = json!({"pattern": "execute", "exclude": ["docs", "*.ts", "node_modules"]});
    let found = bench.ok("grep", arguments).await;
    assert_eq!(each(&found["matches"], "path"), ["src/tool.rs"]);
}

#[tokio::test]
async fn files_only_and_counts_per_file() {
    let bench = Bench::new("//- /a.txt\nx\nx\n//- /b.txt\nx\n//- /c.txt\ny\n");
    let found = bench.ok("grep", json!({"pattern": "x", "mode": "files"})).await;
    assert_eq!(found["matches"], json!([{"path": "a.txt"}, {"path": "b.txt"}]));
    let found = bench.ok("grep", json!({"pattern": "x", "mode": "count"})).await;
    assert_eq!(
        found,
        json!({
            "matches": [{"path": "a.txt", "count": 2}, {"path": "b.txt", "count": 1}],
            "total": 3,
            "files": 2,
            "message": "Found 2 files with 3 matches.",
        })
    );
}

#[tokio::test]
async fn a_match_may_go_over_lines_if_asked() {
    let bench = Bench::new("//- /a.rs\nstruct A {\n    id: u64,\n}\n");
    let arguments = json!({"pattern": r"struct \w+ \{\s*id", "multiline": true, "context": 0});
    let found = bench.ok("grep", arguments).await;
    let expected = json!([{"path": "a.rs", "line": 1, "text": "struct A {\n    id: u64,"}]);
    assert_eq!(found["matches"], expected);
}
