//! `apply_changes`: many files, one approval, all or nothing.

use protocol::ErrorCode;
use serde_json::{Value, json};

use crate::harness::{Bench, strings};

const PROJECT: &str = r"
//- /a.rs
fn main() {
    old();
    other();
}
//- /b.rs
use old;

mod x;
//- /c.rs
gone
";

fn blocks(blocks: &[(&str, &str, &str)]) -> Value {
    let changes = blocks
        .iter()
        .map(|(path, search, replace)| json!({"path": path, "search": search, "replace": replace}));
    json!({"changes": changes.collect::<Vec<_>>()})
}

#[tokio::test]
async fn everything_at_once_with_one_approval() {
    let bench = Bench::writable(PROJECT);
    let done = bench
        .ok(
            "apply_changes",
            json!({"changes": [
                {"path": "a.rs", "search": "old();", "replace": "new();"},
                {"path": "b.rs", "line": 1, "content": "use new;"},
                {"path": "c.rs", "delete": true},
                {"path": "deep/er/d.rs", "content": "fresh\n"},
            ]}),
        )
        .await;
    assert_eq!(bench.project.read("a.rs"), "fn main() {\n    new();\n    other();\n}\n");
    assert_eq!(bench.project.read("b.rs"), "use new;\n\nmod x;\n");
    assert_eq!(bench.project.read("deep/er/d.rs"), "fresh\n");
    assert!(!bench.project.path("c.rs").exists());
    assert_eq!(strings(&done["files"]), ["a.rs", "b.rs", "c.rs", "deep/er/d.rs"]);
    assert_eq!(bench.approver.asked().len(), 1);
    bench.ok("undo", json!({})).await;
    assert_eq!(bench.project.read("c.rs"), "gone\n");
    assert!(!bench.project.path("deep").exists());
}

#[tokio::test]
async fn one_miss_changes_nothing_and_helps() {
    let bench = Bench::writable(PROJECT);
    let arguments = blocks(&[("a.rs", "old();", "new();"), ("b.rs", "use odl;", "use new;")]);
    let error = bench.err("apply_changes", arguments).await;
    assert!(error.message.contains("b.rs"), "{error}");
    assert!(serde_json::to_string(&error).unwrap().contains("use old;"), "{error:?}");
    assert!(bench.project.read("a.rs").contains("old();"));
    assert!(bench.approver.asked().is_empty());
}

#[tokio::test]
async fn an_inexact_match_says_how_it_was_found() {
    let bench = Bench::writable(PROJECT);
    let done = bench
        .ok("apply_changes", blocks(&[("a.rs", "old();\nother();", "new();\nother();")]))
        .await;
    assert_eq!(bench.project.read("a.rs"), "fn main() {\n    new();\n    other();\n}\n");
    assert!(done["applied"][0]["how"].as_str().unwrap().contains("indentation"), "{done:#}");
}

#[tokio::test]
async fn several_blocks_in_one_file_and_a_move_with_an_edit() {
    let bench = Bench::writable(PROJECT);
    let done = json!({"changes": [
        {"path": "a.rs", "search": "old();", "replace": "new();"},
        {"path": "a.rs", "search": "other();", "replace": "more();"},
        {"path": "b.rs", "search": "use old;", "replace": "use new;", "move_to": "moved/b.rs"},
    ]});
    bench.ok("apply_changes", done).await;
    assert_eq!(bench.project.read("a.rs"), "fn main() {\n    new();\n    more();\n}\n");
    assert_eq!(bench.project.read("moved/b.rs"), "use new;\n\nmod x;\n");
    assert!(!bench.project.path("b.rs").exists());
}

#[tokio::test]
async fn a_v4a_patch_and_a_unified_patch_do_the_same() {
    let v4a = "*** Begin Patch\n*** Update File: a.rs\n@@ fn main() {\n-    old();\n+    new();\n     other();\n*** Delete File: c.rs\n*** Add File: d.rs\n+hello\n*** End Patch";
    let unified = "--- a/a.rs\n+++ b/a.rs\n@@ -1,4 +1,4 @@\n fn main() {\n-    old();\n+    new();\n     other();\n }\n--- a/c.rs\n+++ /dev/null\n@@ -1 +0,0 @@\n-gone\n--- /dev/null\n+++ b/d.rs\n@@ -0,0 +1 @@\n+hello\n";
    for patch in [v4a, unified] {
        let bench = Bench::writable(PROJECT);
        bench.ok("apply_changes", json!({"patch": patch})).await;
        assert_eq!(bench.project.read("a.rs"), "fn main() {\n    new();\n    other();\n}\n");
        assert_eq!(bench.project.read("d.rs"), "hello\n");
        assert!(!bench.project.path("c.rs").exists());
        assert_eq!(bench.approver.asked().len(), 1);
    }
}

#[tokio::test]
async fn a_patch_sets_modes_and_is_refused_with_placeholders() {
    use std::os::unix::fs::PermissionsExt as _;
    let bench = Bench::writable(PROJECT);
    let patch = "diff --git a/a.rs b/a.rs\nold mode 100644\nnew mode 100755\ndiff --git a/run.sh b/run.sh\nnew file mode 100755\n--- /dev/null\n+++ b/run.sh\n@@ -0,0 +1 @@\n+#!/bin/sh\n";
    bench.ok("apply_changes", json!({"patch": patch})).await;
    for name in ["a.rs", "run.sh"] {
        let mode = std::fs::metadata(bench.project.path(name)).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o755, "{name}");
    }
    let lazy =
        "--- a/b.rs\n+++ b/b.rs\n@@ -1 +1,2 @@\n use old;\n+// ... rest of the code unchanged\n";
    let error = bench.err("apply_changes", json!({"patch": lazy})).await;
    assert_eq!(error.code, ErrorCode::InvalidArguments, "{error}");
}

#[tokio::test]
async fn what_makes_no_sense_is_refused() {
    let bench = Bench::writable(PROJECT);
    for arguments in [
        json!({}),
        json!({"changes": []}),
        json!({"changes": [{"path": "a.rs"}]}),
        json!({"changes": [{"path": "a.rs", "delete": true}, {"path": "a.rs", "search": "old", "replace": "x"}]}),
        json!({"changes": [{"path": "a.rs", "search": "old", "replace": "x"}], "patch": "x"}),
        json!({"changes": [{"path": "a.rs", "search": "old", "replace": "x"}, {"path": "./a.rs", "content": "y"}]}),
        json!({"changes": [{"path": "a.rs", "content": "fn main() {}\n// ... rest of the code unchanged\n"}]}),
        json!({"patch": "not a patch"}),
    ] {
        let error = bench.err("apply_changes", arguments.clone()).await;
        assert_eq!(error.code, ErrorCode::InvalidArguments, "{arguments}: {error}");
    }
    assert!(bench.approver.asked().is_empty());
}

#[tokio::test]
async fn a_search_text_that_occurs_once_is_replaced_byte_for_byte() {
    let bench = Bench::writable(PROJECT);
    let arguments = blocks(&[
        ("a.rs", "d();\n    oth", "d(1);\n    anoth"),
        ("b.rs", "old;\n\nmod x;\n", "new;"),
    ]);
    let done = bench.ok("apply_changes", arguments).await;
    assert_eq!(bench.project.read("a.rs"), "fn main() {\n    old(1);\n    another();\n}\n");
    assert_eq!(bench.project.read("b.rs"), "use new;");
    assert_eq!(done["applied"][0]["how"], "exact match");
    bench.ok("undo", json!({})).await;
    assert_eq!(bench.project.read("b.rs"), "use old;\n\nmod x;\n");
}
