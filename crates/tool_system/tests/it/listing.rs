//! Directory listings.

use std::os::unix::ffi::OsStrExt as _;

use protocol::ErrorCode;
use serde_json::json;
use tool_system::Vocabulary;

use crate::harness::{Bench, each};

const PROJECT: &str = r#"
//- /src/main.rs
fn main() {}
//- /src/lib/mod.rs
//- /README.md
hello
//- /.env
SECRET=1
//- /.gitignore
target
//- /target/debug/out
//- /latest symlink=src/main.rs
//- /outside symlink=/etc/passwd
"#;

#[tokio::test]
async fn a_listing_shows_type_size_and_time_and_links_as_links() {
    let bench = Bench::new(PROJECT);
    let listed = bench.ok("list_directory", json!({})).await;
    let entries = &listed["entries"];
    assert_eq!(each(entries, "name"), ["README.md", "latest", "outside", "src", "target"]);
    assert_eq!(each(entries, "type"), ["file", "symlink", "symlink", "directory", "directory"]);
    assert_eq!(entries[0]["size"], 6);
    assert_eq!(entries[1]["target"], "src/main.rs");
    assert_eq!(entries[2]["target"], "/etc/passwd");
    let modified = entries[0]["modified"].as_str().unwrap();
    assert!(modified.len() == 20 && modified.ends_with('Z'), "{modified}");
}

#[tokio::test]
async fn recursive_listings_leave_out_what_is_ignored_and_say_so() {
    let bench = Bench::new(PROJECT);
    let listed = bench.ok("list_directory", json!({"path": ".", "recursive": true})).await;
    let names = each(&listed["entries"], "name");
    assert_eq!(
        names,
        ["README.md", "latest", "outside", "src", "src/lib", "src/lib/mod.rs", "src/main.rs"]
    );
    assert_eq!(listed["message"], "1 ignored entry left out.");
    let listed = bench.ok("list_directory", json!({"path": "src", "recursive": true})).await;
    assert_eq!(each(&listed["entries"], "name"), ["lib", "lib/mod.rs", "main.rs"]);
}

#[tokio::test]
async fn hidden_entries_come_on_request() {
    let bench = Bench::new(PROJECT);
    let listed = bench.ok("list_directory", json!({"include_hidden": true})).await;
    assert!(each(&listed["entries"], "name").contains(&".env"));
}

#[tokio::test]
async fn long_listings_come_in_pages_of_a_hundred() {
    let files: String = (0..250).map(|file| format!("//- /f{file:03}\n")).collect();
    let bench = Bench::new(&files);
    let first = bench.ok("list_directory", json!({})).await;
    assert_eq!(first["entries"].as_array().unwrap().len(), 100);
    assert_eq!((&first["total"], &first["next_page"]), (&json!(250), &json!(2)));
    assert_eq!(first["message"], "Entries 1-100 of 250; page=2 continues.");
    let last = bench.ok("list_directory", json!({"page": 3})).await;
    let names = each(&last["entries"], "name");
    assert_eq!((names.len(), names[49]), (50, "f249"));
    assert!(last.get("next_page").is_none());
    let error = bench.err("list_directory", json!({"page": 4})).await;
    assert_eq!(error.code, ErrorCode::InvalidRange);
}

#[tokio::test]
async fn names_that_are_not_utf8_can_be_listed_and_then_read() {
    let bench = Bench::new("//- /a/\n");
    let name = std::ffi::OsStr::from_bytes(b"caf\xE9 \x07.txt");
    std::fs::write(bench.project.root().join(name), "menu\n").unwrap();
    let listed = bench.ok("list_directory", json!({})).await;
    let shown = each(&listed["entries"], "name")[1].to_owned();
    assert_eq!(shown, "caf\\xE9 \\x07.txt");
    let read = bench.ok("read_file", json!({"path": shown})).await;
    assert_eq!(read["content"], "     1\tmenu");
}

#[tokio::test]
async fn the_other_vocabularies_have_their_names_and_spellings() {
    let bench = Bench::speaking(Vocabulary::Workspace, PROJECT);
    let listed = bench.ok("list_directory", json!({"path": "src", "includeHidden": true})).await;
    assert_eq!(each(&listed["entries"], "name"), ["lib", "main.rs"]);
    assert_eq!(
        bench.err("list_directory", json!({})).await.message,
        "`path` is required: a string"
    );
    let bench = Bench::speaking(Vocabulary::Explorer, PROJECT);
    let listed = bench.ok("list_files", json!({"path": ".", "recursive": true})).await;
    assert_eq!(listed["total"], 7);
}

#[tokio::test]
async fn what_is_no_directory_is_said_to_be_what_it_is() {
    let bench = Bench::new(PROJECT);
    let error = bench.err("list_directory", json!({"path": "README.md"})).await;
    assert_eq!(error.code, ErrorCode::NotADirectory);
    let error = bench.err("list_directory", json!({"path": "/etc"})).await;
    assert_eq!(error.code, ErrorCode::InvalidPath);
}
