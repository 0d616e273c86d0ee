//! Partitions by month, and what is removed when it is old.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};

use serde_json::json;
use store::{
    Exchange as _, ListFilter, PostgresOptions, Removed, SessionId, Store as _, StoreError,
};

use crate::events::{done, opened, turn};
use crate::stage::{PROJECT, replica, replica_with};

/// The fifteenth of some months, in milliseconds since 1970.
const MONTHS: [(&str, i64); 4] = [
    ("2025_12", 1_765_756_800_000),
    ("2026_01", 1_768_435_200_000),
    ("2026_02", 1_771_113_600_000),
    ("2026_03", 1_773_532_800_000),
];

/// In which partition each session lies.
fn places(database: &testkit::PostgresDatabase) -> BTreeMap<String, String> {
    let rows = database.sql("SELECT DISTINCT session, tableoid::regclass FROM events");
    let row = |line: &str| {
        let (session, table) = line.split_once('|').unwrap();
        (session.to_owned(), table.to_owned())
    };
    rows.lines().map(row).collect()
}

fn age(database: &testkit::PostgresDatabase, id: &SessionId, days: u32) {
    database.sql(&format!(
        "UPDATE sessions SET written = now() - interval '{days} days' WHERE id = '{id}'"
    ));
}

#[tokio::test]
async fn old_months_go_as_a_whole_and_old_sessions_one_by_one() {
    let Some(server) = testkit::Postgres::shared() else { return };
    let database = server.database();
    let clock = Arc::new(AtomicI64::new(0));
    let time = clock.clone();
    let options = PostgresOptions::new(database.url(), "a");
    let replica = replica_with(options.with_clock(move || time.load(Ordering::Relaxed))).await;
    let store = replica.store(PROJECT);
    let mut sessions = Vec::new();
    for (month, at) in MONTHS {
        for _ in 0..2 {
            clock.store(at, Ordering::Relaxed);
            let id = store.create(&opened()).await.unwrap();
            store.append(&id, turn(month)).await.unwrap();
            assert_eq!(places(&database)[id.as_str()], format!("events_{month}"));
            age(&database, &id, 40);
            sessions.push(id);
        }
    }
    // One of January was written to lately; one of February is held, one of March has something in its inbox.
    age(&database, &sessions[2], 3);
    let _lease = store.claim(&sessions[4]).await.unwrap();
    replica.put(&sessions[6], "k", json!(1)).await.unwrap();
    assert_eq!(replica.remove_older_than(50).await.unwrap(), Removed::default());
    let removed = replica.remove_older_than(30).await.unwrap();
    assert_eq!(removed, Removed { sessions: 5, partitions: 1 });
    let left: Vec<SessionId> = [2, 4, 6].map(|number| sessions[number].clone()).to_vec();
    let mut listed: Vec<SessionId> =
        store.list(&ListFilter::default()).await.unwrap().into_iter().map(|it| it.id).collect();
    listed.sort();
    assert_eq!(listed, left);
    assert_eq!(database.sql("SELECT to_regclass('events_2025_12')"), "");
    for table in ["events", "said"] {
        assert_eq!(database.sql(&format!("SELECT count(DISTINCT session) FROM {table}")), "3");
    }
    for id in &left {
        assert_eq!(store.load(id).await.unwrap().damage, Vec::<String>::new());
    }
    assert!(matches!(store.load(&sessions[0]).await, Err(StoreError::NotFound { .. })));
    // Another session of a month that is gone begins it anew.
    clock.store(MONTHS[0].1, Ordering::Relaxed);
    let id = store.create(&opened()).await.unwrap();
    store.append(&id, vec![done()]).await.unwrap();
    assert_eq!(store.load(&id).await.unwrap().entries.len(), 2);
}

#[tokio::test]
async fn partitions_are_made_ahead_and_take_over_what_came_before_them() {
    let Some(server) = testkit::Postgres::shared() else { return };
    let database = server.database();
    let month = "date_trunc('month', now() AT TIME ZONE 'UTC') - interval '1 month'";
    let begin = database.sql(&format!("SELECT (extract(epoch FROM {month}) * 1000)::bigint"));
    let begin: i64 = begin.parse().unwrap();
    let options = PostgresOptions::new(database.url(), "behind").with_clock(move || begin);
    let behind = replica_with(options).await;
    let made =
        database.sql("SELECT count(*) FROM pg_inherits WHERE inhparent = 'events'::regclass");
    assert_eq!(made, "5", "four months, and one for all others");
    let names = "SELECT string_agg('events_' || to_char(now() AT TIME ZONE 'UTC' \
         + make_interval(months => n), 'YYYY_MM'), ',' ORDER BY n) FROM generate_series(-1, 2) AS n";
    let names = database.sql(names);
    for name in names.split(',') {
        assert_eq!(database.sql(&format!("SELECT to_regclass('{name}')")), name);
    }
    let (first, _) = names.split_once(',').unwrap();
    database.sql(&format!("DROP TABLE {first}"));
    let id = behind.store(PROJECT).create(&opened()).await.unwrap();
    assert_eq!(places(&database)[id.as_str()], "events_other");
    let other = replica(&database, "other").await;
    assert_eq!(places(&database)[id.as_str()], first);
    other.store(PROJECT).append(&id, vec![done()]).await.unwrap();
    assert_eq!(behind.store(PROJECT).load(&id).await.unwrap().entries.len(), 2);
}

/// What decides is the clock of the database: replicas agree whatever theirs say.
#[tokio::test]
async fn wrong_clocks_of_replicas_decide_nothing() {
    let Some(server) = testkit::Postgres::shared() else { return };
    let database = server.database();
    // The first of 1970, and the year 2100, from one call to the next.
    let jumps = Arc::new(AtomicI64::new(0));
    let clock = move || match jumps.fetch_add(1, Ordering::Relaxed) % 3 {
        0 => 0,
        1 => 4_102_444_800_000,
        _ => 1,
    };
    let wrong = PostgresOptions::new(database.url(), "wrong").with_clock(clock);
    let (wrong, right) = (replica_with(wrong).await, replica(&database, "right").await);
    let mut ids = Vec::new();
    for _ in 0..4 {
        let id = wrong.store(PROJECT).create(&opened()).await.unwrap();
        let lease = wrong.store(PROJECT).claim(&id).await.unwrap();
        for _ in 0..3 {
            wrong.append_taking(&id, turn("x"), &[]).await.unwrap();
        }
        // It lives, whatever it takes the time for.
        let refused = right.store(PROJECT).claim(&id).await;
        assert!(matches!(refused, Err(StoreError::InUse { .. })), "{refused:?}");
        ids.push((id, lease));
    }
    assert_eq!(right.orphans(&[PROJECT.to_owned()], 9).await.unwrap(), []);
    assert_eq!(right.remove_older_than(1).await.unwrap(), Removed::default());
    assert_eq!(wrong.remove_older_than(1).await.unwrap(), Removed::default());
    for (id, lease) in ids {
        lease.release().await;
        let _lease = right.store(PROJECT).claim(&id).await.unwrap();
        right.append_taking(&id, vec![done()], &[]).await.unwrap();
        let loaded = right.store(PROJECT).load(&id).await.unwrap();
        assert_eq!(loaded.damage, Vec::<String>::new());
        let is_gapless = (1..).zip(&loaded.entries).all(|(at, entry)| entry.sequence == at);
        assert!(is_gapless && loaded.entries.len() == 26);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_append_to_a_month_that_is_being_removed_goes_first() {
    let Some(server) = testkit::Postgres::shared() else { return };
    let database = server.database();
    let (month, at) = MONTHS[0];
    let options = PostgresOptions::new(database.url(), "a").with_clock(move || at);
    let replica = replica_with(options).await;
    let id = replica.store(PROJECT).create(&opened()).await.unwrap();
    age(&database, &id, 40);
    // The halves of the statement that appends: first the session, then the table of its month.
    let mut append = replica.pool().begin().await.unwrap();
    let head = "UPDATE sessions SET last = 2, written = now() WHERE id = $1";
    sqlx::query(head).bind(id.as_str()).execute(&mut *append).await.unwrap();
    let removing = {
        let replica = replica.clone();
        tokio::spawn(async move { replica.remove_older_than(30).await })
    };
    let waits = "SELECT count(*) FROM pg_locks WHERE NOT granted AND pid IN \
                 (SELECT pid FROM pg_stat_activity WHERE datname = current_database())";
    for _ in testkit::in_time("the removal that waits for the append") {
        if database.sql(waits) != "0" {
            break;
        }
        tokio::task::yield_now().await;
    }
    let row = "INSERT INTO events (session, sequence, at, kind, data, checksum) \
               SELECT session, 2, at, kind, data, checksum FROM events WHERE session = $1";
    sqlx::query(row).bind(id.as_str()).execute(&mut *append).await.unwrap();
    append.commit().await.unwrap();
    assert_eq!(removing.await.unwrap().unwrap(), Removed::default());
    assert_eq!(places(&database)[id.as_str()], format!("events_{month}"));
}
