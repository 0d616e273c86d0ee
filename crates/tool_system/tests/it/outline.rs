//! `outline`: structure within a budget.

use protocol::{ErrorCode, estimate_tokens};
use serde_json::json;

use crate::harness::Bench;

const FILE: &str = "//- /src/shape.ts\nexport interface Shape {\n  area(): number;\n}\nexport class Circle implements Shape {\n  private r = 1;\n  area() { const x = 1; return x; }\n}\nfunction helper() {}\n";

#[tokio::test]
async fn a_file_is_shown_as_a_tree_with_line_numbers() {
    let bench = Bench::new(FILE);
    let shown = bench.ok("outline", json!({"path": "src/shape.ts"})).await;
    insta::assert_snapshot!(shown["outline"].as_str().unwrap(), @r"
    1: export interface Shape
      2: area(): number
    4: export class Circle implements Shape
      5: private r = 1
      6: area()
    8: function helper()
    ");
    let flat = bench.ok("outline", json!({"path": "src/shape.ts", "depth": 1})).await;
    assert_eq!(flat["total"], 3);
}

#[tokio::test]
async fn a_directory_shows_each_file_within_the_budget() {
    let many: String = (0..40).map(|n| format!("pub fn f{n}() {{}}\n")).collect();
    let bench = Bench::new(&format!(
        "{FILE}//- /src/many.rs\n{many}//- /tests/t.py\ndef test_it():\n    pass\n"
    ));
    let shown = bench.ok("outline", json!({"path": ".", "max_tokens": 120})).await;
    let text = shown["outline"].as_str().unwrap();
    assert!(estimate_tokens(text) <= 160, "{text}");
    for part in ["src/many.rs", "src/shape.ts", "tests/t.py", "more"] {
        assert!(text.contains(part), "{part}: {text}");
    }
    let again = bench.ok("outline", json!({"path": ".", "max_tokens": 120})).await;
    assert_eq!(shown, again);
    let small = bench.ok("outline", json!({"max_tokens": 1})).await;
    assert!(small["outline"].as_str().unwrap().contains("…2 more files"), "{small:#}");
}

#[tokio::test]
async fn a_long_file_keeps_what_matters_and_counts_the_rest() {
    let many: String = (0..200).map(|n| format!("fn f{n}() {{}}\n")).collect();
    let bench = Bench::new(&format!("//- /a.rs\n{many}pub struct Last;\n"));
    let shown = bench.ok("outline", json!({"path": "a.rs", "max_tokens": 100})).await;
    let text = shown["outline"].as_str().unwrap();
    assert!(text.contains("201: pub struct Last") && text.contains("more"), "{text}");
    assert_eq!(shown["total"], 201);
}

#[tokio::test]
async fn other_files_are_labelled_and_what_is_no_text_is_refused() {
    let bench = Bench::new("//- /README.md\n# Title\n## Use\n//- /Makefile\nall:\n\tcc x.c\n");
    let shown = bench.ok("outline", json!({"path": "README.md"})).await;
    assert_eq!(
        (&shown["by"], &shown["outline"]),
        (&json!("headings"), &json!("1: # Title\n  2: ## Use\n"))
    );
    assert_eq!(bench.ok("outline", json!({"path": "Makefile"})).await["by"], "text");
    let empty = bench.ok("outline", json!({})).await;
    assert!(empty["message"].as_str().unwrap().contains("list_directory"), "{empty:#}");
    bench.project.write("x.bin", b"\0\0\0");
    assert_eq!(
        bench.err("outline", json!({"path": "x.bin"})).await.code,
        ErrorCode::InvalidArguments
    );
    bench.project.write("big.rs", "fn f() {}\n".repeat(200_000));
    assert_eq!(bench.err("outline", json!({"path": "big.rs"})).await.code, ErrorCode::FileTooLarge);
    assert_eq!(
        bench.err("outline", json!({"path": "gone.rs"})).await.code,
        ErrorCode::FileNotFound
    );
}
