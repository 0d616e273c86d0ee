//! Several replicas of `toolkiln serve` on one real PostgreSQL: whichever is asked, and whichever dies.

mod audit;
mod draining;
mod dying;
mod people;
mod rules;
mod sharing;
mod worktrees;

use std::process::Stdio;
use std::sync::OnceLock;

use serde_json::{Value, json};

use testkit::{Fixture, ModelServer, Postgres, PostgresDatabase, Reply};

use crate::run::command;
use crate::web::service::{HttpAnswer, Seen, Service, Watcher, state};

const PROJECT: &str = "//- /notes.txt\nzero\n";

/// A project that several replicas serve.
struct Replicas {
    project: Fixture,
    database: PostgresDatabase,
    model: ModelServer,
    /// The token of the first admin.
    admin: OnceLock<String>,
}

impl Replicas {
    /// None where there is no PostgreSQL.
    fn new(replies: impl IntoIterator<Item = Reply>) -> Option<Self> {
        let database = Postgres::shared()?.database();
        let (project, model) = (Fixture::new(PROJECT), ModelServer::start(replies));
        Some(Self { project, database, model, admin: OnceLock::new() })
    }

    fn start(&self) -> Service {
        self.start_with(&[])
    }

    fn start_with(&self, more: &[&str]) -> Service {
        let mut command = command(None);
        let served = format!("app={}", self.project.root().display());
        command.env("XDG_STATE_HOME", state(&self.project)).env("ANTHROPIC_API_KEY", "test-key");
        command.env("TOOLKILN_DATABASE", self.database.url());
        command.args(["serve", "--listen", "127.0.0.1:0", "--project", &served]);
        command.args(["--provider", "anthropic", "--base-url", &self.model.base_url()]).args(more);
        Service::run_for_team(command.stderr(Stdio::null()), &self.admin)
    }
}

fn adding() -> Reply {
    let line = json!({"path": "notes.txt", "content": "one\n"});
    Reply::text("I add one. ").and_call("append_file", line)
}

fn texts(items: &[Value]) -> Vec<&str> {
    items.iter().filter_map(|item| item["text"].as_str()).collect()
}

/// Whether the last turn of a session has ended, as a client sees it.
fn has_ended(seen: &Seen, session: &str) -> bool {
    seen.items_of(session).last().is_some_and(|item| item["kind"] == "turn")
}

fn is_in(seen: &Seen, session: &str, state: &str) -> bool {
    seen.states.get(session).is_some_and(|known| known == state)
}

/// What a client of a replica has is what each replica tells.
#[track_caller]
fn has_all(watcher: &Watcher, session: &str, replicas: &[&Service]) {
    for replica in replicas {
        assert_eq!(watcher.seen.items_of(session), replica.items(session));
    }
}

fn answered(replica: &Service, session: &str, question: &str, approve: bool) -> HttpAnswer {
    let path = format!("/api/approvals/{session}/{question}");
    replica.try_post(&path, json!({"approve": approve}))
}

/// The name of the only open question.
fn question(watcher: &Watcher) -> String {
    watcher.seen.questions[0]["question"].as_str().unwrap().to_owned()
}
