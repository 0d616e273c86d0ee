//! What the database adds up is what a fold over the logs gives, whatever is in them and in whatever pieces they are read.

use std::sync::Arc;

use proptest::prelude::*;
use proptest::test_runner::TestRunner;
use protocol::{Compaction, Usage};
use serde_json::{Value, json};

use super::oracle::LogStats;
use crate::jsonl::Header;
use crate::row::Row;
use crate::{
    DayStats, DaysFilter, DecisionFilter, ListFilter, PostgresDatabase, PostgresOptions, SessionId,
    SqliteStore, Stats, StatsFilter, Store,
};

const HOUR_MS: i64 = 60 * 60 * 1000;
/// Random logs that are tried on each database.
const CASES: u32 = 24;
const MOST_EVENTS: usize = 60;

/// Numbers that choose an event: its kind, a call, a tool, and one more thing.
type Choice = (u8, u8, u8, u8);

fn event((kind, call, tool, more): Choice) -> Value {
    let id = format!("c{}", call % 3);
    let tool = ["grep", "bash", "edit_lines"][usize::from(tool % 3)];
    let cost = [None, Some(0.25), Some(1.5)][usize::from(more % 3)];
    let usage =
        json!({"input": 3 * u64::from(more), "output": 1, "cache_read": 2, "cache_write": 0});
    let (name, data) = match kind % 11 {
        0 => ("user_message", json!({"content": [{"type": "text", "text": "do"}]})),
        1 | 2 => {
            let use_of = |number: u8| {
                json!({"type": "tool_use", "id": format!("c{}", call.wrapping_add(number) % 3), "name": tool,
                       "arguments": {"x": more % 2}})
            };
            let content: Vec<Value> = (0..more % 3).map(use_of).collect();
            let stop = if content.is_empty() { "end_of_turn" } else { "tool_use" };
            (
                "model_answered",
                json!({"content": content, "stop": stop, "usage": usage,
                "cost_usd": cost, "duration_ms": more}),
            )
        }
        3 => (
            "model_failed",
            json!({"kind": "overloaded", "message": "busy", "usage": usage, "cost_usd": cost}),
        ),
        4 => {
            let proposal = json!({"changes": [{"op": "write", "path": "src/a.rs"}]});
            ("approval_asked", json!({"stepId": id, "tool": tool, "proposal": proposal}))
        }
        5 => {
            let edited = (more % 5 == 0).then(|| json!({}));
            let response = json!({"approved": more % 2 == 0, "modifiedArgs": edited, "by": "ada"});
            ("approval_answered", json!({"call_id": id, "response": response}))
        }
        6 | 7 => {
            let code = ["TIMEOUT", "REJECTED", "APPROVAL_REQUIRED"][usize::from(more % 3)];
            let result = match more % 2 {
                0 => json!({"ok": "text ".repeat(usize::from(more))}),
                _ => json!({"error": {"code": code, "message": "no"}}),
            };
            let duration = u64::from(more) * 1_000;
            ("call_ended", json!({"call_id": id, "result": result, "duration_ms": duration}))
        }
        8 => {
            let (usage, cost_usd) = (serde_json::from_value(usage).unwrap(), cost);
            let compaction = Compaction { usage, cost_usd, ..Compaction::default() };
            ("compacted", json!(compaction))
        }
        9 => {
            let model = ["small", "large"][usize::from(more % 2)];
            ("settings_changed", json!({"provider": "p", "model": model, "role": "actor"}))
        }
        _ => {
            let mut entry = event((call, tool.len() as u8, more, call));
            entry["sequence"] = json!(1);
            entry["at"] = json!(0);
            ("nested", json!({"call_id": id, "entry": entry}))
        }
    };
    json!({"type": name, "data": data})
}

/// Rows that begin with an opening, some hours apart.
fn rows(choices: &[Choice], hours: i64) -> Vec<Row> {
    let settings = json!({"provider": "p", "model": "small", "role": "actor"});
    let opened = json!({"type": "opened", "data": {"root": "/", "settings": settings}});
    let events = std::iter::once(opened).chain(choices.iter().map(|choice| event(*choice)));
    let row = |(sequence, event): (u64, Value)| {
        // What an entry is stands first in its text.
        let kind = event["type"].as_str().unwrap().to_owned();
        let data = format!(r#"{{"type":"{kind}","data":{}}}"#, event["data"]);
        let at = (sequence as i64 - 20) * hours * HOUR_MS / 3;
        Row { sequence, at, kind, data }
    };
    (1..).zip(events).map(row).collect()
}

fn export(rows: &[Row]) -> String {
    let header = Header::new(SessionId::generate().unwrap(), None, 0);
    crate::jsonl::write(header, rows, &[]).unwrap()
}

/// Both filters with the same meaning.
async fn agree(store: &dyn Store, logs: &[(SessionId, Vec<Row>)], filter: &DaysFilter) {
    let mut expected = LogStats::new(filter);
    let listed = store.list(&ListFilter::default()).await.unwrap();
    let is_wanted = |id: &SessionId| filter.sessions.as_ref().is_none_or(|ids| ids.contains(id));
    for info in listed.into_iter().filter(|info| is_wanted(&info.id)) {
        let (_, log) = logs.iter().find(|(id, _)| *id == info.id).unwrap();
        expected.add(info, log);
    }
    let (stats, days) = expected.finish();
    let DaysFilter { sessions, since, .. } = filter.clone();
    assert_eq!(store.stats(&StatsFilter { sessions, since }).await.unwrap(), stats);
    if since.is_none() {
        spent_all(store, &stats).await;
    }
    let mut told = store.days(filter).await.unwrap();
    for DayStats { all, tools, models, .. } in &mut told {
        let counts = tools.values_mut().chain(models.values_mut()).chain([all]);
        counts.for_each(|count| count.working_ms.sort_unstable());
    }
    assert_eq!(told, days);
}

/// What the events themselves say was spent, with nothing between them and the sum.
async fn spent_all(store: &dyn Store, stats: &Stats) {
    for counted in &stats.sessions {
        let entries = store.load(&counted.session).await.unwrap().entries;
        let spent = entries.iter().filter_map(|entry| entry.event.spent());
        let (mut usage, mut sum) = (Usage::default(), None);
        for (used, cost) in spent {
            usage += used;
            sum = cost.map(|cost| sum.unwrap_or_default() + cost).or(sum);
        }
        assert_eq!((counted.usage, counted.cost_usd), (usage, sum));
    }
}

async fn holds(store: Arc<dyn Store>, choices: &[Choice], more: &[Choice]) {
    let mut logs = Vec::new();
    for hours in [1, 5] {
        let rows = rows(choices, hours);
        let id = store.import(&export(&rows)).await.unwrap().id;
        logs.push((id, rows));
    }
    let all = DaysFilter { ahead_minutes: 90, ..DaysFilter::default() };
    agree(&*store, &logs, &all).await;
    // One session goes on after it was counted. Its entries have the time at which they were written.
    let events = more.iter().filter_map(|choice| serde_json::from_value(event(*choice)).ok());
    let (id, log) = &mut logs[0];
    for entry in store.append(id, events.collect()).await.unwrap() {
        log.push(Row::new(entry.sequence, entry.at, &entry.event).unwrap());
    }
    let only = Some(vec![logs[0].0.clone()]);
    for filter in [
        all.clone(),
        DaysFilter { since: Some(0), ahead_minutes: -300, sessions: None },
        DaysFilter { since: Some(i64::MAX), ..all.clone() },
        DaysFilter { sessions: only, ..all.clone() },
        DaysFilter { sessions: Some(Vec::new()), ..all },
    ] {
        agree(&*store, &logs, &filter).await;
    }
}

fn try_all(runtime: &tokio::runtime::Runtime, open: impl Fn() -> Arc<dyn Store>) {
    let choices = || prop::collection::vec(any::<Choice>(), 0..MOST_EVENTS);
    let mut runner = TestRunner::new(ProptestConfig { cases: CASES, ..Default::default() });
    let tried = runner.run(&(choices(), choices()), |(choices, more)| {
        runtime.block_on(holds(open(), &choices, &more));
        Ok(())
    });
    tried.unwrap();
}

#[test]
fn sqlite_adds_up_what_a_fold_does() {
    let runtime = tokio::runtime::Runtime::new().unwrap();
    let dir = tempfile::tempdir().unwrap();
    let next = std::cell::Cell::new(0);
    try_all(&runtime, || {
        let file = dir.path().join(format!("{}.db", next.replace(next.get() + 1)));
        Arc::new(runtime.block_on(SqliteStore::open(file)).unwrap())
    });
}

#[test]
fn postgresql_adds_up_what_a_fold_does() {
    let Some(server) = testkit::Postgres::shared() else { return };
    let runtime = tokio::runtime::Runtime::new().unwrap();
    let database = server.database();
    let options = PostgresOptions::new(database.url(), "replica");
    let opened = runtime.block_on(PostgresDatabase::open(options)).unwrap();
    let next = std::cell::Cell::new(0);
    try_all(&runtime, || Arc::new(opened.store(&format!("p{}", next.replace(next.get() + 1)))));
}

async fn decided(store: Arc<dyn Store>) {
    let answers: Vec<Choice> = (0..20).map(|number| (5, number, 0, number)).collect();
    let id = store.import(&export(&rows(&answers, 1))).await.unwrap().id;
    let fork = store.fork(&id, None).await.unwrap();
    let filter = DecisionFilter::all(100);
    let all = store.decisions(&filter).await.unwrap();
    assert_eq!(all.len(), answers.len(), "what a fork inherits is shown once");
    assert!(all.iter().all(|it| it.session == id && it.by.as_deref() == Some("ada")), "{fork}");
    assert!(all.is_sorted_by(|one, next| one.at > next.at), "the latest first");
    let mut paged = Vec::new();
    let mut behind = None;
    for _ in testkit::at_most(10, "the pages of 20 decisions") {
        let page = DecisionFilter { behind, limit: 3, ..filter.clone() };
        let page = store.decisions(&page).await.unwrap();
        let Some(last) = page.last() else { break };
        behind = Some((last.at, last.session.to_string(), last.sequence as i64));
        paged.extend(page);
    }
    assert_eq!(paged, all, "pages have everything once");
    let some = DecisionFilter { since: Some(all[9].at), before: Some(all[2].at), ..filter.clone() };
    assert_eq!(store.decisions(&some).await.unwrap(), all[3..=9]);
    let bob = DecisionFilter { by: Some("bob".into()), ..filter.clone() };
    assert_eq!(store.decisions(&bob).await.unwrap(), []);
    store.delete(&fork).await.unwrap();
    store.delete(&id).await.unwrap();
    assert_eq!(store.decisions(&filter).await.unwrap(), []);
}

#[tokio::test]
async fn decisions_come_in_pages_on_sqlite() {
    let dir = tempfile::tempdir().unwrap();
    decided(Arc::new(SqliteStore::open(dir.path().join("s.db")).await.unwrap())).await;
}

#[tokio::test]
async fn decisions_come_in_pages_on_postgresql() {
    let Some(server) = testkit::Postgres::shared() else { return };
    let database = server.database();
    let options = PostgresOptions::new(database.url(), "replica");
    let opened = PostgresDatabase::open(options).await.unwrap();
    let other = opened.store("other");
    other.import(&export(&rows(&[(5, 0, 0, 0)], 1))).await.unwrap();
    decided(Arc::new(opened.store("project"))).await;
    let filter = DecisionFilter::all(100);
    assert_eq!(other.decisions(&filter).await.unwrap().len(), 1, "each project has its own");
}
