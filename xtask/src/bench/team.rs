//! `cargo xtask bench team`: what a service for many people costs, for each append, session and watcher. The figures are
//! those that `docs/scaling.md` reckons with.

mod appends;
mod sessions;

use std::process::ExitCode;

use anyhow::Result;
use testkit::Fixture;

use self::appends::{AppendFigures, appends};
use self::sessions::{SessionFigures, measure};
use super::Effort;
use super::verdict::{Verdict, at_most, pronounce};
use super::web::program::Toolkiln;
use crate::house::House;

/// A session in which nothing happens must leave room for hundreds of others.
const IDLE_SESSION_KB: f64 = 512.0;
/// The same while it works.
const RUNNING_SESSION_KB: f64 = 1_024.0;
const MS_PER_MINUTE: f64 = 60_000.0;
/// Between an append and the next step of a turn.
const APPEND_P99_MS: f64 = 100.0;

/// Measures, prints and judges; the exit code says whether every target was reached.
pub(crate) fn run(effort: Effort, profile: &str) -> Result<ExitCode> {
    let house = House::find()?;
    let binary = house.build(profile)?;
    let stores = appends(&house, effort, profile)?;
    let project = Fixture::new("//- /src/f0.rs\nfn f0() {}\n");
    let program = Toolkiln::new(&binary, &project)?;
    let figures = measure(&program, &project, effort)?;
    println!("\n{}\n{}", appends_table(&stores), sessions_table(&figures));
    println!("{profile} build; everything on this machine, the scripted model included.\n");
    Ok(pronounce(&judge(&stores, &figures)))
}

fn appends_table(all: &[AppendFigures]) -> String {
    let mut text = String::from(
        "| store | writers | appends a second | p50, ms | p99, ms |\n|---|---|---|---|---|\n",
    );
    for AppendFigures { store, writers, rate, p50_ms, p99_ms } in all {
        text += &format!("| {store} | {writers} | {rate:.0} | {p50_ms:.2} | {p99_ms:.2} |\n");
    }
    text
}

fn sessions_table(figures: &SessionFigures) -> String {
    let rows = [
        ("memory of a service without sessions, MB", figures.empty_mb),
        ("memory of a session that is open and idle, KB", figures.idle_kb),
        ("memory of a session that waits for its model, KB", figures.running_kb),
        ("memory of a watcher, KB", figures.watcher_kb),
        ("processor time of a turn with one call, ms", figures.turn_ms),
        (
            "sessions that a core carries, with such a turn a minute each",
            MS_PER_MINUTE / figures.turn_ms,
        ),
        ("processor time of an event, ms", figures.event_ms),
        ("processor time of an event for each watcher, µs", figures.watcher_event_us),
    ];
    let mut text = String::from("| a service on SQLite | measured |\n|---|---|\n");
    for (what, value) in rows {
        text += &format!("| {what} | {value:.2} |\n");
    }
    text
}

fn judge(stores: &[AppendFigures], figures: &SessionFigures) -> Vec<Verdict> {
    let mut verdicts: Vec<Verdict> = stores
        .iter()
        .map(|store| {
            let what = format!("append on {} with {} writers, p99", store.store, store.writers);
            at_most(&what, store.p99_ms, APPEND_P99_MS, "ms")
        })
        .collect();
    verdicts.push(at_most("an idle session", figures.idle_kb, IDLE_SESSION_KB, "KB"));
    verdicts.push(at_most("a running session", figures.running_kb, RUNNING_SESSION_KB, "KB"));
    verdicts
}
