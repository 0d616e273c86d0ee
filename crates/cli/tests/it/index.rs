//! `toolkiln index`: an index is built, found again and told about.

use std::fs;

use testkit::Fixture;

use crate::run::{Ran, command, finish, run};

fn project() -> Fixture {
    Fixture::new("//- /src/main.rs\nfn main() { needle() }\n//- /src/lib.rs\nfn needle() {}\n")
}

/// The binary with a place for its cache, beside the project.
fn run_with_cache(project: &Fixture, arguments: &[&str]) -> Ran {
    let cache = project.root().with_file_name("cache");
    let mut command = command(None);
    command.env("XDG_CACHE_HOME", cache).args(arguments).arg("--root").arg(project.root());
    finish(&mut command)
}

#[test]
fn an_index_is_built_and_its_state_told() {
    let project = project();
    let none = run_with_cache(&project, &["index", "--status"]);
    assert_eq!(none.code, 0, "{}", none.stderr);
    assert!(none.stdout.starts_with("No index."), "{}", none.stdout);
    assert!(!project.root().with_file_name("cache").exists(), "looking makes nothing");

    let built = run_with_cache(&project, &["index", "--symbols", "--json"]);
    assert_eq!(built.code, 0, "{}", built.stderr);
    assert!(built.stderr.contains("Indexed 2 files"), "{}", built.stderr);
    assert!(built.stderr.contains("Found 2 symbols in 2 files"), "{}", built.stderr);
    assert_eq!(built.json()["index"]["files"], 2);

    fs::write(project.root().join("src/new.rs"), "fn needle_too() {}\n").unwrap();
    let status = run_with_cache(&project, &["index", "--status", "--json"]).json();
    assert_eq!(status["files"], 3);
    assert!(status["changed"].as_u64().unwrap() >= 1, "{status}");
    let found = run_with_cache(&project, &["call", "grep", r#"{"pattern": "needle"}"#]).json();
    assert_eq!(found["total"], 3, "{found}");
}

#[test]
fn without_a_place_for_it_searches_work_and_building_says_why_not() {
    let project = project();
    let built = run(&project, &["index"]);
    assert_eq!((built.code, built.stdout.as_str()), (2, ""));
    assert!(built.stderr.contains("XDG_CACHE_HOME"), "{}", built.stderr);
    assert_eq!(run(&project, &["call", "grep", r#"{"pattern": "needle"}"#]).json()["total"], 2);
}
