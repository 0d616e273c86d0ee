//! Measures what opening and writing cost.
//!
//! `cargo run --release -p store --example store_speed -- [DIRECTORY]`
//!
//! One JSON object per line; medians, and the 95th of 100 where it says so.
#![allow(clippy::print_stdout, reason = "a measuring program reports on the terminal")]
#![allow(clippy::disallowed_methods, reason = "it makes the files that it opens")]

use std::path::PathBuf;
use std::time::{Duration, Instant};

use protocol::{
    AgentRole, Content, ModelAnswer, Opened, SessionEvent, Settings, StopReason, ToolCall, Usage,
};
use serde_json::json;
use store::{ListFilter, SqliteStore, StatsFilter, Store as _};

const ROUNDS: usize = 2000;
const OPENINGS: usize = 50;
const SESSIONS: usize = 100;
const TURNS: usize = 125;

fn opened() -> Opened {
    let settings =
        Settings { provider: "offline".into(), model: "m".into(), role: AgentRole::Actor };
    Opened { root: "/project".into(), settings, forked_from: None }
}

/// Eight events, one of them with a result of some size.
fn turn() -> Vec<SessionEvent> {
    let arguments = json!({"path": "src/main.rs"}).as_object().cloned().unwrap_or_default();
    let answer = |content: Vec<Content>| {
        SessionEvent::ModelAnswered(ModelAnswer {
            content,
            broken: Vec::new(),
            stop: StopReason::EndOfTurn,
            usage: Usage { input: 900, output: 80, ..Usage::default() },
            cost_usd: Some(0.01),
            duration_ms: 1500,
        })
    };
    vec![
        SessionEvent::UserMessage { content: vec![Content::Text { text: "look".into() }] },
        SessionEvent::ModelAsked { estimated_tokens: 900 },
        answer(vec![Content::ToolUse(ToolCall::new("c", "read_file", arguments))]),
        SessionEvent::CallStarted { call_id: "c".into(), title: None },
        SessionEvent::CallEnded {
            call_id: "c".into(),
            result: Ok(json!({"content": "fn main() {}\n".repeat(80)})),
            text: None,
            images: Vec::new(),
            title: None,
            found_tools: Vec::new(),
            duration_ms: 3,
        },
        SessionEvent::ModelAsked { estimated_tokens: 1200 },
        answer(vec![Content::Text { text: "It is short.".repeat(20).into() }]),
        SessionEvent::TurnEnded(protocol::TurnEnd::Done),
    ]
}

fn report(name: &str, mut times: Vec<Duration>) {
    times.sort_unstable();
    let at = |percent: usize| times[(times.len() - 1) * percent / 100].as_secs_f64() * 1e6;
    println!("{}", json!({"name": name, "median_us": at(50).round(), "p95_us": at(95).round()}));
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let parent = std::env::args().nth(1).map_or_else(std::env::temp_dir, PathBuf::from);
    let dir = tempfile::tempdir_in(parent)?;

    let mut times = Vec::new();
    for number in 0..OPENINGS {
        let start = Instant::now();
        let store = SqliteStore::open(dir.path().join(format!("{number}.db"))).await?;
        times.push(start.elapsed());
        store.close().await?;
    }
    report("make a file", times);

    let file = dir.path().join("sessions.db");
    let store = SqliteStore::open(&file).await?;
    let id = store.create(&opened()).await?;
    let lease = store.claim(&id).await?;
    for count in [1, 5] {
        let mut times = Vec::new();
        for _ in 0..ROUNDS {
            let events =
                vec![SessionEvent::TextDelta { text: "some words ".repeat(8).into() }; count];
            let start = Instant::now();
            store.append(&id, events).await?;
            times.push(start.elapsed());
        }
        report(&format!("append {count}"), times);
    }
    drop(lease);

    for _ in 0..SESSIONS {
        let id = store.create(&opened()).await?;
        for _ in 0..TURNS {
            store.append(&id, turn()).await?;
        }
    }
    drop(store);
    let mut times = Vec::new();
    for _ in 0..OPENINGS {
        let start = Instant::now();
        let store = SqliteStore::open(&file).await?;
        times.push(start.elapsed());
        store.close().await?;
    }
    report("open a file of 100000 events", times);

    let store = SqliteStore::open(&file).await?;
    let start = Instant::now();
    let list = store.list(&ListFilter::default()).await?;
    report(&format!("list {} sessions", list.len()), vec![start.elapsed()]);
    let start = Instant::now();
    let loaded = store.load(&list[0].id).await?;
    report(&format!("load {} entries", loaded.entries.len()), vec![start.elapsed()]);
    let start = Instant::now();
    store.stats(&StatsFilter::default()).await?;
    report("statistics of all", vec![start.elapsed()]);
    let start = Instant::now();
    store.favourites().await?;
    report("favourites, first time", vec![start.elapsed()]);
    let start = Instant::now();
    store.favourites().await?;
    report("favourites, again", vec![start.elapsed()]);
    Ok(())
}
