//! `find_references`: names, not text.

use serde_json::{Value, json};

use crate::harness::{Bench, each};

const PROJECT: &str = r#"
//- /a.rs
use b::parse;
// parse everything
fn main() { parse("parse"); parse("x"); }
//- /b.rs
pub fn parse(text: &str) {}
//- /c.lua
parse("x")
//- /d.rs
fn parser() { parse_all(); }
"#;

fn roles(file: &Value) -> Vec<(u64, Option<&str>)> {
    let lines = file["lines"].as_array().unwrap().iter();
    lines.map(|line| (line["line"].as_u64().unwrap(), line["role"].as_str())).collect()
}

#[tokio::test]
async fn uses_are_grouped_by_file_with_roles_and_counts() {
    let bench = Bench::new(PROJECT);
    let found = bench.ok("find_references", json!({"symbol": "parse"})).await;
    assert_eq!(each(&found["files"], "path"), ["a.rs", "b.rs", "c.lua"]);
    assert_eq!((&found["total"], &found["total_files"]), (&json!(5), &json!(3)));
    assert_eq!(roles(&found["files"][0]), [(1, Some("import")), (3, None)]);
    assert_eq!(found["files"][0]["count"], 3);
    assert_eq!(roles(&found["files"][1]), [(1, Some("definition"))]);
    assert_eq!(found["files"][2]["by"], "text");
    assert_eq!(found["message"], "Found 5 references to `parse` in 3 files.");
}

#[tokio::test]
async fn comments_and_strings_count_only_if_asked() {
    let bench = Bench::new(PROJECT);
    let asked = json!({"symbol": "parse", "path": "a.rs", "include_comments": true});
    let found = bench.ok("find_references", asked).await;
    assert_eq!(roles(&found["files"][0]), [(1, Some("import")), (2, Some("comment")), (3, None)]);
    assert_eq!(found["total"], 5);
}

#[tokio::test]
async fn limits_and_misses_are_told() {
    let bench = Bench::new(PROJECT);
    let found = bench.ok("find_references", json!({"symbol": "parse", "max_results": 1})).await;
    assert_eq!(roles(&found["files"][0]).len(), 1);
    assert!(found["message"].as_str().unwrap().contains("…and 3 more"), "{found:#}");
    let none = bench.ok("find_references", json!({"symbol": "nothing_like_it"})).await;
    assert_eq!(none["total"], 0);
    let qualified = bench.ok("find_references", json!({"symbol": "B.parse"})).await;
    assert!(qualified["message"].as_str().unwrap().contains("matched by name"), "{qualified:#}");
}
