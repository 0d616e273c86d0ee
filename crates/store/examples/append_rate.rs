//! How fast sessions are written: `append_rate PLACE WRITERS APPENDS`.
//!
//! PLACE is a file for SQLite, or the address of a database of PostgreSQL: `postgres://user@host:port/database`. Each writer has a session of its own, which it claims, and appends one
//! event of the size of a short answer after the other, as a turn does. Prints one line of JSON: appends a second of all
//! writers together, and how long one append took.

// An example is a program of its own: it prints.
#![allow(clippy::print_stdout)]

use std::error::Error;
use std::sync::Arc;
use std::time::{Duration, Instant};

use protocol::{AgentRole, Opened, SessionEvent, Settings};
use store::{PostgresDatabase, PostgresOptions, SqliteStore, Store, StoreError};

/// The bytes of an event, which is about what a provider sends at a time.
const PIECE: &str = "a piece of an answer, as long as they usually are; ";

#[tokio::main(flavor = "multi_thread", worker_threads = 2)]
async fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [place, writers, appends] = arguments.as_slice() else {
        return Err("usage: append_rate PLACE WRITERS APPENDS".into());
    };
    let (writers, appends): (usize, usize) = (writers.parse()?, appends.parse()?);
    let store = opened(place).await?;
    let begun = Instant::now();
    let writing: Vec<_> =
        (0..writers).map(|_| tokio::spawn(write(Arc::clone(&store), appends))).collect();
    let mut times = Vec::with_capacity(writers * appends);
    for writer in writing {
        times.extend(writer.await??);
    }
    let seconds = begun.elapsed().as_secs_f64();
    times.sort_unstable();
    let rate = times.len() as f64 / seconds;
    let at = |percent: usize| {
        let rank = (times.len() * percent).div_ceil(100).max(1) - 1;
        times.get(rank).map_or(0.0, |time| time.as_secs_f64() * 1_000.0)
    };
    println!(
        r#"{{"appends_per_second":{rate:.1},"p50_ms":{:.3},"p99_ms":{:.3},"appends":{}}}"#,
        at(50),
        at(99),
        times.len()
    );
    Ok(())
}

async fn opened(place: &str) -> Result<Arc<dyn Store>, StoreError> {
    if place.starts_with("postgres://") {
        let database = PostgresDatabase::open(PostgresOptions::new(place, "append_rate")).await?;
        return Ok(Arc::new(database.store("bench")));
    }
    Ok(Arc::new(SqliteStore::open(place).await?))
}

async fn write(store: Arc<dyn Store>, appends: usize) -> Result<Vec<Duration>, StoreError> {
    let settings =
        Settings { provider: "bench".into(), model: "none".into(), role: AgentRole::Actor };
    let opened = Opened { root: "/bench".into(), settings, forked_from: None };
    let session = store.create(&opened).await?;
    let lease = store.claim(&session).await?;
    let mut times = Vec::with_capacity(appends);
    for _ in 0..appends {
        let event = SessionEvent::TextDelta { text: PIECE.into() };
        let start = Instant::now();
        store.append(&session, vec![event]).await?;
        times.push(start.elapsed());
    }
    lease.release().await;
    Ok(times)
}
