//! Ranked search: every scenario of the specification, and what users try besides.

use protocol::ErrorCode;
use serde_json::{Value, json};
use tool_system::{Limits, Vocabulary};

use crate::harness::{Bench, each};

const PROJECT: &str = "
//- /src/session.rs
/// Sessions of users.
pub struct UserSession {
    id: u64,
}

pub fn create_session(user: &User) -> UserSession {
    UserSession { id: user.id }
}
//- /src/main.rs
fn main() {
    let session = create_session(&user);
    drop(session);
}
//- /web/session.ts
export class Session { user: User }
//- /generated/session.rs
pub struct UserSession;
//- /tests/session.rs
use session::UserSession;
fn user_session() { UserSession }
//- /notes.txt
A user session is a session of a user.
//- /.gitignore
ignored/
//- /ignored/session.rs
pub struct UserSession;
";

fn paths(found: &Value) -> Vec<&str> {
    each(&found["results"], "path")
}

#[tokio::test]
async fn an_identifier_is_found_where_it_is_defined_with_its_lines() {
    let bench = Bench::new(PROJECT);
    let found = bench.ok("search", json!({"query": "UserSession", "max_results": 1})).await;
    let best = &found["results"][0];
    assert_eq!((&best["path"], &best["line"]), (&json!("src/session.rs"), &json!(2)));
    let snippet = "1: /// Sessions of users.\n2: pub struct UserSession {\n3:     id: u64,\n4: }\n\
                   5: \n6: pub fn create_session(user: &User) -> UserSession {";
    assert_eq!(best["snippet"], snippet);
    let all = bench.ok("search", json!({"query": "UserSession"})).await;
    let score = |place: usize| all["results"][place]["score"].as_f64().unwrap();
    assert_eq!(best["score"], all["results"][0]["score"]);
    assert!(score(0) > 1.5 * score(1), "{all}");
}

#[tokio::test]
async fn search_with_file_type_filter() {
    let bench = Bench::new(PROJECT);
    let found = bench.ok("search", json!({"query": "session", "file_type": "ts"})).await;
    assert_eq!(paths(&found), ["web/session.ts"]);
    let found = bench.ok("search", json!({"query": "user session", "file_type": "rust"})).await;
    let scores: Vec<_> =
        found["results"].as_array().unwrap().iter().map(|file| file["score"].as_f64()).collect();
    assert!(scores.is_sorted_by(|a, b| a >= b), "{scores:?}");
    assert_eq!(paths(&found)[0], "src/session.rs");
    assert!(paths(&found).iter().all(|path| path.ends_with(".rs")), "{found}");
}

#[tokio::test]
async fn exclude_directories() {
    let bench = Bench::new(PROJECT);
    let arguments = json!({"query": "user session", "exclude_dirs": ["generated", "src/"]});
    let found = bench.ok("search", arguments).await;
    let mut found = paths(&found);
    found.sort_unstable();
    assert_eq!(found, ["notes.txt", "tests/session.rs", "web/session.ts"]);
}

#[tokio::test]
async fn limit_results() {
    let bench = Bench::new(PROJECT);
    let found = bench.ok("search", json!({"query": "session", "max_results": 2})).await;
    assert_eq!((paths(&found).len(), &found["total"]), (2, &json!(6)));
    let message = found["message"].as_str().unwrap();
    assert!(message.starts_with("6 files fit, showing the best 2. Refine"), "{message}");
    let all = bench.ok("search", json!({"query": "session"})).await;
    assert_eq!(all["message"], "6 files fit.");
    assert_eq!(paths(&all)[..2], paths(&found)[..]);
}

#[tokio::test]
async fn a_limit_above_the_maximum_becomes_the_maximum() {
    for limits in [
        Limits { max_results: 3, ..Limits::default() },
        Limits { max_unpaged_results: 3, ..Limits::default() },
    ] {
        let bench = Bench::limited(PROJECT, limits);
        let found = bench.ok("search", json!({"query": "session", "max_results": 9999})).await;
        assert_eq!(paths(&found).len(), 3);
    }
}

#[tokio::test]
async fn what_others_wrote_and_tests_come_after_the_code_itself() {
    let bench = Bench::new(PROJECT);
    let found = bench.ok("search", json!({"query": "UserSession", "file_type": "rs"})).await;
    assert_eq!(paths(&found)[0], "src/session.rs");
    assert!(!paths(&found).contains(&"ignored/session.rs"));
}

#[tokio::test]
async fn nothing_found_is_an_answer_and_no_word_is_an_error() {
    let bench = Bench::new(PROJECT);
    let found = bench.ok("search", json!({"query": "zebra"})).await;
    assert_eq!((&found["total"], &found["results"]), (&json!(0), &json!([])));
    let message = found["message"].as_str().unwrap();
    assert!(message.starts_with("Nothing like `zebra` in 6 files."), "{message}");
    let error = bench.err("search", json!({"query": "=>"})).await;
    assert_eq!(error.code, ErrorCode::InvalidArguments);
    let error = bench.err("search", json!({"query": "x", "path": "nowhere"})).await;
    assert_eq!(error.code, ErrorCode::FileNotFound);
}

#[tokio::test]
async fn a_ranked_search_that_runs_out_of_time_says_so() {
    let bench = Bench::limited(PROJECT, Limits { search_ms: 0, ..Limits::default() });
    let found = bench.ok("search", json!({"query": "session"})).await;
    assert!(found["warnings"][0].as_str().unwrap().starts_with("Time ran out"), "{found}");
}

#[tokio::test]
async fn the_workspace_calls_it_search_code_and_asks_in_everyday_words() {
    let bench = Bench::speaking(Vocabulary::Workspace, PROJECT);
    let question = "where do we make a session for an account?";
    let found = bench.ok("search_code", json!({"query": question, "maxResults": 1})).await;
    assert_eq!(paths(&found), ["src/session.rs"]);
    let words = bench.ok("search_code", json!({"query": "account", "fileType": "ts"})).await;
    assert_eq!(paths(&words), ["web/session.ts"], "a user is another word for an account");
    let standard = Bench::new(PROJECT);
    let words = standard.ok("search", json!({"query": "account"})).await;
    assert_eq!(words["total"], 0, "words are taken as they are unless asked in everyday words");
    let refused = standard.err("search", json!({"query": "account", "natural": true})).await;
    assert_eq!(refused.code, ErrorCode::InvalidArguments);
}
