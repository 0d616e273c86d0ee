//! File search: every scenario of the specification, and what users try besides.

use std::time::{Duration, SystemTime};

use protocol::ErrorCode;
use serde_json::json;
use tool_system::Vocabulary;

use crate::harness::{Bench, strings};

const PROJECT: &str = r#"
//- /src/App.tsx
//- /src/App.test.ts
//- /src/deep/er/View.tsx
//- /src/deep/er/View.test.ts
//- /src/gen/Api.tsx
//- /test/App.test.ts
//- /node_modules/lib/Lib.tsx
//- /dist/App.tsx
//- /.hidden/Secret.tsx
//- /.gitignore
ignored.tsx
//- /ignored.tsx
"#;

#[tokio::test]
async fn find_files_by_extension() {
    let bench = Bench::new(PROJECT);
    for pattern in ["**/*.tsx", "*.tsx"] {
        let found = bench.ok("glob", json!({"pattern": pattern})).await;
        insta::allow_duplicates!(insta::assert_json_snapshot!(found, @r#"
        {
          "files": [
            "src/App.tsx",
            "src/deep/er/View.tsx",
            "src/gen/Api.tsx"
          ],
          "total": 3,
          "message": "Found 3 files."
        }
        "#));
    }
}

#[tokio::test]
async fn find_test_files() {
    let bench = Bench::new(PROJECT);
    let found = bench.ok("glob", json!({"pattern": "src/**/*.test.ts"})).await;
    assert_eq!(strings(&found["files"]), ["src/App.test.ts", "src/deep/er/View.test.ts"]);
}

#[tokio::test]
async fn exclude_directories() {
    let bench = Bench::new(PROJECT);
    let found =
        bench.ok("glob", json!({"pattern": "**/*.tsx", "exclude": ["node_modules", "dist"]})).await;
    assert_eq!(
        strings(&found["files"]),
        ["src/App.tsx", "src/deep/er/View.tsx", "src/gen/Api.tsx"]
    );
    let found =
        bench.ok("glob", json!({"pattern": "**/*.tsx", "exclude": ["src/gen", "deep"]})).await;
    assert_eq!(
        strings(&found["files"]),
        ["dist/App.tsx", "node_modules/lib/Lib.tsx", "src/App.tsx"]
    );
}

#[tokio::test]
async fn invalid_glob_pattern() {
    let bench = Bench::new(PROJECT);
    let error = bench.err("glob", json!({"pattern": "src/[a"})).await;
    assert_eq!(error.code, ErrorCode::InvalidPattern);
    assert!(error.message.contains("`src/[a` is not a valid glob"), "{error:?}");
    assert!(error.suggestion.unwrap().contains("**/*.tsx"));
}

#[tokio::test]
async fn no_matching_files() {
    let bench = Bench::new(PROJECT);
    let found = bench.ok("glob", json!({"pattern": "*.zig"})).await;
    assert_eq!(
        found,
        json!({"files": [], "total": 0, "message": "No files match `*.zig` among 6."})
    );
}

#[tokio::test]
async fn glob_default_limit() {
    let files: String = (0..150).map(|file| format!("//- /f{file:03}.txt\n")).collect();
    let bench = Bench::new(&files);
    let found = bench.ok("glob", json!({"pattern": "*.txt"})).await;
    let shown = strings(&found["files"]);
    assert_eq!((shown.len(), shown[99]), (100, "f099.txt"));
    assert_eq!(found["total"], 150);
    let message = found["message"].as_str().unwrap();
    assert!(message.starts_with("Found 150 files, showing the first 100, …and 50 more. Refine"));
}

#[tokio::test]
async fn negative_patterns_hidden_files_and_start_directories() {
    let bench = Bench::new(PROJECT);
    let found = bench.ok("glob", json!({"pattern": "!*.test.ts", "path": "src"})).await;
    assert_eq!(
        strings(&found["files"]),
        ["src/App.tsx", "src/deep/er/View.tsx", "src/gen/Api.tsx"]
    );
    let found = bench.ok("glob", json!({"pattern": "Secret.tsx", "hidden": true})).await;
    assert_eq!(strings(&found["files"]), [".hidden/Secret.tsx"]);
    let found = bench.ok("glob", json!({"pattern": "er/*.tsx", "path": "src/deep"})).await;
    assert_eq!(strings(&found["files"]), ["src/deep/er/View.tsx"]);
    assert_eq!(
        bench.err("glob", json!({"pattern": "*", "path": "nope"})).await.code,
        ErrorCode::FileNotFound
    );
}

#[tokio::test]
async fn the_explorer_calls_it_find_files() {
    let bench = Bench::speaking(Vocabulary::Explorer, PROJECT);
    let found = bench.ok("find_files", json!({"pattern": "App.*", "path": "src"})).await;
    assert_eq!(strings(&found["files"]), ["src/App.test.ts", "src/App.tsx"]);
}

#[tokio::test]
async fn several_patterns_and_braces() {
    let bench = Bench::new(PROJECT);
    for pattern in ["*.tsx,*.test.ts,!gen/**,!src/gen/**", "src/**/*.{tsx,test.ts},test/*"] {
        let found = bench
            .ok("glob", json!({"pattern": pattern, "exclude": ["dist", "node_modules", "gen"]}))
            .await;
        assert_eq!(
            strings(&found["files"]),
            [
                "src/App.test.ts",
                "src/App.tsx",
                "src/deep/er/View.test.ts",
                "src/deep/er/View.tsx",
                "test/App.test.ts"
            ],
            "{pattern}"
        );
    }
}

#[tokio::test]
async fn the_latest_change_comes_first_if_asked() {
    let bench = Bench::new("//- /a.txt\n//- /b.txt\n//- /c.txt\n//- /d.txt\n");
    let noon = SystemTime::UNIX_EPOCH + Duration::from_secs(1_000_000_000);
    for (name, minutes) in [("a.txt", 1), ("b.txt", 3), ("c.txt", 2), ("d.txt", 2)] {
        let file = std::fs::File::options().append(true).open(bench.project.path(name)).unwrap();
        file.set_modified(noon + Duration::from_secs(60 * minutes)).unwrap();
    }
    let arguments = json!({"pattern": "*.txt", "sort": "modified", "max_results": 2});
    let found = bench.ok("glob", arguments.clone()).await;
    assert_eq!(strings(&found["files"]), ["b.txt", "c.txt"]);
    let mut next = arguments;
    next["cursor"] = found["next_cursor"].clone();
    let found = bench.ok("glob", next).await;
    assert_eq!(strings(&found["files"]), ["d.txt", "a.txt"]);
    assert_eq!(found["message"], "Found 4 files, showing 3 to 4, the last.");
    assert_eq!(found.get("next_cursor"), None);
}

#[tokio::test]
async fn a_regular_expression_for_a_glob_is_noticed() {
    let bench = Bench::new(PROJECT);
    let found = bench.ok("glob", json!({"pattern": r".*\.tsx$"})).await;
    assert!(found["message"].as_str().unwrap().contains("looks like a regular expression"));
}
