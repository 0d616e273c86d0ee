//! What replicas tell each other: inboxes, leases with epochs, hints.

use std::sync::Arc;
use std::time::Duration;

use protocol::SessionEvent;
use serde_json::json;
use store::{
    Exchange, Hint, ItemState, PostgresDatabase, PostgresOptions, Put, SessionId, Store as _,
    StoreError,
};
use testkit::FaultProxy;
use tokio::sync::broadcast;
use tokio::time::timeout;

use crate::events::{done, says, session_with};
use crate::stage::{PROJECT, replica, replica_with};

/// Longer than anything that must come takes on a machine with other work.
const WATCHDOG: Duration = Duration::from_secs(60);

fn texts(entries: &[protocol::LogEntry]) -> Vec<String> {
    let text = |entry: &protocol::LogEntry| match &entry.event {
        SessionEvent::UserMessage { content } => match &content[0] {
            protocol::Content::Text { text } => Some(text.to_string()),
            _ => None,
        },
        _ => None,
    };
    entries.iter().filter_map(text).collect()
}

/// Waits for a hint, past others.
async fn heard(hints: &mut broadcast::Receiver<Hint>, wanted: &Hint) {
    let wait = async {
        loop {
            if hints.recv().await.is_ok_and(|hint| hint == *wanted) {
                return;
            }
        }
    };
    timeout(WATCHDOG, wait).await.unwrap_or_else(|_| panic!("{wanted:?} did not come"));
}

/// Declares a replica dead, as its silence would. It does not know until its next beat.
fn declare_dead(database: &testkit::PostgresDatabase, replica: &PostgresDatabase) {
    let id = replica.this_replica().id;
    database.sql(&format!("DELETE FROM replicas WHERE id = '{id}'"));
}

/// Two replicas and a session.
struct Pair {
    database: testkit::PostgresDatabase,
    one: PostgresDatabase,
    other: PostgresDatabase,
    id: SessionId,
}

async fn pair() -> Option<Pair> {
    let database = testkit::Postgres::shared()?.database();
    let (one, other) = (replica(&database, "one").await, replica(&database, "other").await);
    let id = session_with(&one.store(PROJECT), 0).await;
    Some(Pair { database, one, other, id })
}

#[tokio::test]
async fn the_first_item_with_a_key_wins_for_ever() {
    let Some(Pair { database: _database, one, other, id }) = pair().await else { return };
    let first = one.put(&id, "answer:7", json!({"yes": true})).await.unwrap();
    assert!(first.is_first);
    let again = Put { is_first: false, ..first };
    assert_eq!(other.put(&id, "answer:7", json!({"yes": false})).await.unwrap(), again);
    let second = other.put(&id, "say", json!("\0 zero")).await.unwrap();
    assert!(second.is_first && second.number > first.number);
    let items = other.inbox(&id).await.unwrap();
    let told: Vec<_> = items.iter().map(|it| (it.number, it.key.as_str(), &it.item)).collect();
    let expected = [
        (first.number, "answer:7", &json!({"yes": true})),
        (second.number, "say", &json!("\0 zero")),
    ];
    assert_eq!(told, expected);
    assert!(items.iter().all(|item| item.at > 0));
    let _lease = one.store(PROJECT).claim(&id).await.unwrap();
    one.append_taking(&id, vec![done()], &[first.number]).await.unwrap();
    assert_eq!(other.put(&id, "answer:7", json!({})).await.unwrap(), again);
    let missing = "1hf7yat00zzzzzzzzzzz".parse().unwrap();
    assert!(matches!(one.put(&missing, "k", json!(1)).await, Err(StoreError::NotFound { .. })));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn of_many_that_put_the_same_key_at_once_one_is_first() {
    let Some(Pair { database: _database, one, other, id }) = pair().await else { return };
    let mut tasks = Vec::new();
    for number in 0..16 {
        let (replica, id) = (if number % 2 == 0 { &one } else { &other }.clone(), id.clone());
        tasks
            .push(tokio::spawn(async move { replica.put(&id, "k", json!(number)).await.unwrap() }));
    }
    let mut puts = Vec::new();
    for task in tasks {
        puts.push(task.await.unwrap());
    }
    assert_eq!(puts.iter().filter(|put| put.is_first).count(), 1);
    assert!(puts.iter().all(|put| put.number == puts[0].number));
    assert_eq!(one.inbox(&id).await.unwrap().len(), 1);
}

#[tokio::test]
async fn an_item_is_done_with_the_append_that_takes_it_or_not_at_all() {
    let Some(Pair { database: _database, one, other, id }) = pair().await else { return };
    let put = async |key: &str| other.put(&id, key, json!(key)).await.unwrap().number;
    let (a, b, c) = (put("a").await, put("b").await, put("c").await);
    let lease = one.store(PROJECT).claim(&id).await.unwrap();
    let written = one.append_taking(&id, vec![says("a"), done()], &[b, a, a]).await.unwrap();
    assert_eq!(written.last().unwrap().sequence, 3);
    let state = async |number| other.item_state(&id, number).await.unwrap();
    assert_eq!(state(a).await, Some(ItemState::Done { through: 3 }));
    assert_eq!(state(b).await, Some(ItemState::Done { through: 3 }));
    assert_eq!((state(c).await, state(c + 99).await), (Some(ItemState::Waiting), None));
    // One of two is gone, so nothing happens to the other one either.
    assert!(other.withdraw(&id, c).await.unwrap());
    let d = put("d").await;
    let gone = one.append_taking(&id, vec![says("again")], &[d, c]).await.unwrap_err();
    assert!(matches!(gone, StoreError::ItemGone { number, .. } if number == c), "{gone}");
    let twice = one.append_taking(&id, vec![says("again")], &[a]).await.unwrap_err();
    assert!(matches!(twice, StoreError::ItemGone { number, .. } if number == a), "{twice}");
    assert_eq!(state(d).await, Some(ItemState::Waiting));
    assert_eq!(one.entries_after(&id, 0, 99).await.unwrap().len(), 3);
    one.refuse(&id, d, "no such model").await.unwrap();
    let refused = ItemState::Refused { reason: "no such model".into() };
    assert_eq!((state(c).await, state(d).await), (Some(ItemState::Withdrawn), Some(refused)));
    assert!(matches!(one.refuse(&id, d, "x").await, Err(StoreError::ItemGone { .. })));
    for settled in [a, c, d] {
        assert!(!other.withdraw(&id, settled).await.unwrap());
    }
    // Items can only be taken and refused by the replica that holds the session.
    let e = put("e").await;
    for refused in [
        other.append_taking(&id, vec![done()], &[e]).await.map(drop),
        other.refuse(&id, e, "x").await,
        other.set_standing(&id, json!(1)).await,
    ] {
        assert!(matches!(refused, Err(StoreError::LeaseLost { .. })), "{refused:?}");
    }
    assert_eq!(one.inbox(&id).await.unwrap().len(), 1);
    lease.release().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_item_is_withdrawn_or_taken_and_never_both() {
    let Some(Pair { database: _database, one, other, id }) = pair().await else { return };
    let _lease = one.store(PROJECT).claim(&id).await.unwrap();
    for round in 0..30 {
        let number = other.put(&id, &round.to_string(), json!(round)).await.unwrap().number;
        let (taking, withdrawing) = (one.clone(), other.clone());
        let (first, second) = (id.clone(), id.clone());
        let taken = tokio::spawn(async move {
            taking.append_taking(&first, vec![done()], &[number]).await.is_ok()
        });
        let withdrawn =
            tokio::spawn(async move { withdrawing.withdraw(&second, number).await.unwrap() });
        let (taken, withdrawn) = (taken.await.unwrap(), withdrawn.await.unwrap());
        assert!(taken != withdrawn, "round {round}: {taken} {withdrawn}");
        let state = one.item_state(&id, number).await.unwrap().unwrap();
        assert_eq!(matches!(state, ItemState::Done { .. }), taken);
    }
}

#[tokio::test]
async fn an_epoch_keeps_out_whoever_had_the_session_before() {
    let Some(Pair { database, one, other, id }) = pair().await else { return };
    let epoch = || database.sql("SELECT epoch FROM sessions").parse::<i64>().unwrap();
    let stale = one.store(PROJECT).claim(&id).await.unwrap();
    one.append_taking(&id, vec![says("first")], &[]).await.unwrap();
    let waiting = other.put(&id, "k", json!(1)).await.unwrap().number;
    assert!(matches!(other.store(PROJECT).claim(&id).await, Err(StoreError::InUse { .. })));
    assert_eq!(other.holder(&id).await.unwrap(), Some(one.this_replica()));
    declare_dead(&database, &one);
    let lease = other.store(PROJECT).claim(&id).await.unwrap();
    assert_eq!((epoch(), other.holder(&id).await.unwrap()), (2, Some(other.this_replica())));
    other.set_standing(&id, json!("other")).await.unwrap();
    other.append_taking(&id, vec![says("second")], &[]).await.unwrap();
    for refused in [
        one.store(PROJECT).append(&id, vec![says("late")]).await.map(drop),
        one.append_taking(&id, vec![says("late")], &[waiting]).await.map(drop),
        one.refuse(&id, waiting, "late").await,
        one.set_standing(&id, json!("late")).await,
    ] {
        assert!(matches!(refused, Err(StoreError::LeaseLost { .. })), "{refused:?}");
    }
    // Giving back a lease that is lost changes nothing.
    stale.release().await;
    other.append_taking(&id, vec![says("third")], &[waiting]).await.unwrap();
    assert_eq!(
        one.standing(std::slice::from_ref(&id)).await.unwrap(),
        [(id.clone(), json!("other"))]
    );
    let log = one.entries_after(&id, 0, 99).await.unwrap();
    assert_eq!(texts(&log), ["first", "second", "third"]);
    lease.release().await;
    assert_eq!((epoch(), other.holder(&id).await.unwrap()), (2, None));
    let _lease = one.store(PROJECT).claim(&id).await.unwrap();
    assert_eq!(epoch(), 3, "an epoch never comes back");
}

#[tokio::test]
async fn the_database_refuses_a_writer_that_does_not_know_that_it_is_late() {
    let Some(Pair { database, one, other: _other, id }) = pair().await else { return };
    let writes: [&str; 2] = ["epoch = epoch + 1", "replica = 'another'"];
    for change in writes {
        let lease = one.store(PROJECT).claim(&id).await.unwrap();
        one.append_taking(&id, vec![done()], &[]).await.unwrap();
        database.sql(&format!("UPDATE sessions SET {change}"));
        let late = one.append_taking(&id, vec![says("late")], &[]).await;
        assert!(matches!(late, Err(StoreError::LeaseLost { .. })), "{change}: {late:?}");
        lease.release().await;
        database.sql("UPDATE sessions SET replica = NULL");
    }
    assert_eq!(texts(&one.entries_after(&id, 0, 99).await.unwrap()), Vec::<String>::new());
    assert!(!one.lost().is_cancelled());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn of_many_that_claim_at_once_one_has_the_session() {
    let Some(Pair { database: _database, one, other, id }) = pair().await else { return };
    for _ in 0..10 {
        let claims = (0..8).map(|number| {
            let store = if number % 2 == 0 { &one } else { &other }.store(PROJECT);
            let id = id.clone();
            tokio::spawn(async move { store.claim(&id).await.ok() })
        });
        let claims: Vec<_> = claims.collect();
        let mut leases = Vec::new();
        for claim in claims {
            leases.extend(claim.await.unwrap());
        }
        assert_eq!(leases.len(), 1);
        leases.remove(0).release().await;
    }
}

#[tokio::test]
async fn sessions_of_a_dead_replica_are_orphans_if_they_were_at_work_or_have_items() {
    let Some(Pair { database, one, other, id }) = pair().await else { return };
    let store = one.store(PROJECT);
    let begin = async |events: Vec<SessionEvent>| {
        let id = session_with(&store, 0).await;
        let lease = store.claim(&id).await.unwrap();
        store.append(&id, events).await.unwrap();
        (id, lease)
    };
    let (working, _first) = begin(vec![says("x")]).await;
    let (idle, _second) = begin(vec![says("x"), done()]).await;
    let (asked, _third) = begin(vec![says("x"), done()]).await;
    one.put(&asked, "k", json!(1)).await.unwrap();
    let elsewhere = session_with(&one.store("elsewhere"), 0).await;
    one.put(&elsewhere, "k", json!(1)).await.unwrap();
    let found = async |projects: &[&str], limit| {
        let projects: Vec<String> = projects.iter().map(|&it| it.to_owned()).collect();
        let found = other.orphans(&projects, limit).await.unwrap();
        found.into_iter().map(|(_, id)| id).collect::<Vec<_>>()
    };
    assert_eq!(found(&[PROJECT], 9).await, [], "their replica lives");
    assert_eq!(found(&["elsewhere"], 9).await, vec![elsewhere.clone()], "no replica has it");
    one.put(&id, "k", json!(1)).await.unwrap();
    assert_eq!(found(&[PROJECT], 9).await, vec![id.clone()]);
    declare_dead(&database, &one);
    let all = [id.clone(), working.clone(), asked.clone()];
    let mut seen = found(&[PROJECT], 9).await;
    seen.sort();
    assert_eq!(seen, all, "and not {idle}");
    assert_eq!(found(&[PROJECT, "elsewhere"], 2).await.len(), 2);
    assert_eq!(found(&[], 9).await, []);
    let _lease = other.store(PROJECT).claim(&working).await.unwrap();
    assert!(!found(&[PROJECT], 9).await.contains(&working));
}

#[tokio::test]
async fn a_replica_that_was_dead_for_the_database_learns_it_from_its_next_beat() {
    let Some(Pair { database, one, other, id }) = pair().await else { return };
    let _lease = one.store(PROJECT).claim(&id).await.unwrap();
    let (lost, before) = (one.lost(), one.this_replica().id);
    // The row of a process that was stopped for long. Its own clock knows nothing of it.
    let age = "UPDATE replicas SET seen = seen - interval '10 seconds'";
    database.sql(&format!("{age} WHERE id = '{before}'"));
    timeout(WATCHDOG, lost.cancelled()).await.expect("it is lost");
    let late = one.store(PROJECT).append(&id, vec![says("late")]).await;
    assert!(matches!(late, Err(StoreError::LeaseLost { .. })), "{late:?}");
    other.store(PROJECT).claim(&id).await.unwrap();
}

#[tokio::test]
async fn a_replica_that_says_goodbye_leaves_its_sessions_to_others_at_once() {
    let Some(Pair { database, one, other, id }) = pair().await else { return };
    let busy = session_with(&one.store(PROJECT), 0).await;
    let lost = one.lost();
    let _leases = [
        one.store(PROJECT).claim(&id).await.unwrap(),
        one.store(PROJECT).claim(&busy).await.unwrap(),
    ];
    one.append_taking(&busy, vec![says("x")], &[]).await.unwrap();
    one.leave().await.unwrap();
    assert!(lost.is_cancelled());
    assert_eq!(other.replicas().await.unwrap(), [other.this_replica()]);
    assert_eq!(other.holder(&id).await.unwrap(), None);
    let orphans = other.orphans(&[PROJECT.to_owned()], 9).await.unwrap();
    assert_eq!(orphans, [(PROJECT.to_owned(), busy.clone())]);
    let late = one.append_taking(&busy, vec![done()], &[]).await;
    assert!(matches!(late, Err(StoreError::LeaseLost { .. })), "{late:?}");
    // Without a lease, an idle session can be written by whoever comes.
    other.store(PROJECT).append(&id, vec![done()]).await.unwrap();
    let _lease = other.store(PROJECT).claim(&busy).await.unwrap();
    assert_eq!(database.sql("SELECT name FROM replicas"), "other");
}

#[tokio::test]
async fn a_watcher_reads_on_from_its_position() {
    let Some(Pair { database, one, other, id }) = pair().await else { return };
    let store = one.store(PROJECT);
    for number in 0..9 {
        store.append(&id, vec![says(&number.to_string())]).await.unwrap();
    }
    let page = other.entries_after(&id, 4, 3).await.unwrap();
    assert_eq!(page.iter().map(|it| it.sequence).collect::<Vec<_>>(), [5, 6, 7]);
    assert_eq!(other.entries_after(&id, 10, 3).await.unwrap(), []);
    assert_eq!(other.entries_after(&id, u64::MAX, 3).await.unwrap(), []);
    // A page of damaged entries is not the end.
    database.sql("UPDATE events SET checksum = 0 WHERE sequence IN (5, 6, 7)");
    let page = other.entries_after(&id, 4, 3).await.unwrap();
    assert_eq!(page.iter().map(|it| it.sequence).collect::<Vec<_>>(), [8, 9, 10]);
}

#[tokio::test]
async fn others_are_told_of_what_is_written() {
    let Some(Pair { database: _database, one, other, id }) = pair().await else { return };
    let mut hints = other.hints();
    one.put(&id, "k", json!(1)).await.unwrap();
    heard(&mut hints, &Hint::Inbox { session: id.clone() }).await;
    let _lease = one.store(PROJECT).claim(&id).await.unwrap();
    one.append_taking(&id, vec![says("x"), done()], &[]).await.unwrap();
    heard(&mut hints, &Hint::Log { session: id.clone(), sequence: 3 }).await;
    one.set_standing(&id, json!(1)).await.unwrap();
    heard(&mut hints, &Hint::Standing { session: id.clone() }).await;
    // Whoever writes hears it as well, and needs no connection for it.
    let mut own = one.hints();
    one.append_taking(&id, vec![done()], &[]).await.unwrap();
    heard(&mut own, &Hint::Log { session: id.clone(), sequence: 4 }).await;
}

#[tokio::test]
async fn after_a_lost_connection_hints_are_said_to_be_missed() {
    let Some(server) = testkit::Postgres::shared() else { return };
    let database = server.database();
    let proxy = FaultProxy::to(database.server_address());
    let options = PostgresOptions::new(database.url_through(proxy.port()), "behind");
    let behind = replica_with(options).await;
    let mut hints = behind.hints();
    let lost = behind.lost();
    proxy.cut();
    heard(&mut hints, &Hint::Missed).await;
    let id = session_with(&behind.store(PROJECT), 0).await;
    let other = replica(&database, "other").await;
    let _lease = other.store(PROJECT).claim(&id).await.unwrap();
    other.append_taking(&id, vec![done()], &[]).await.unwrap();
    heard(&mut hints, &Hint::Log { session: id, sequence: 2 }).await;
    assert!(!lost.is_cancelled(), "one beat that is lost is not the end");
}

#[tokio::test]
async fn a_replica_that_cannot_renew_stops_by_itself_and_joins_again() {
    let Some(server) = testkit::Postgres::shared() else { return };
    let database = server.database();
    let proxy = FaultProxy::to(database.server_address());
    let options = PostgresOptions::new(database.url_through(proxy.port()), "behind");
    let behind = Arc::new(replica_with(options).await);
    let other = replica(&database, "other").await;
    let id = session_with(&other.store(PROJECT), 0).await;
    let (lost, before) = (behind.lost(), behind.this_replica());
    let stale = behind.store(PROJECT).claim(&id).await.unwrap();
    proxy.pause();
    timeout(WATCHDOG, lost.cancelled()).await.unwrap();
    // It has stopped before any other replica could take over, by the clock of the database.
    let age = "SELECT max(clock_timestamp() - seen) FROM replicas WHERE name = 'behind'";
    let age = database.sql(&format!("SELECT extract(epoch FROM ({age})) < 5.5"));
    assert_eq!(age, "t");
    let stopped = behind.append_taking(&id, vec![says("late")], &[]).await;
    assert!(matches!(stopped, Err(StoreError::LeaseLost { .. })), "{stopped:?}");
    let claimed = async {
        loop {
            if let Ok(lease) = other.store(PROJECT).claim(&id).await {
                return lease;
            }
        }
    };
    let _lease = timeout(WATCHDOG, claimed).await.unwrap();
    proxy.resume();
    let mut hints = behind.hints();
    let back = async {
        while behind.lost().is_cancelled() {
            let _ = hints.recv().await;
        }
    };
    timeout(WATCHDOG, back).await.unwrap();
    assert_ne!(behind.this_replica().id, before.id);
    stale.release().await;
    assert_eq!(other.holder(&id).await.unwrap(), Some(other.this_replica()));
    let own = session_with(&behind.store(PROJECT), 0).await;
    let _own = behind.store(PROJECT).claim(&own).await.unwrap();
    behind.append_taking(&own, vec![done()], &[]).await.unwrap();
    assert_eq!(texts(&other.entries_after(&id, 0, 9).await.unwrap()), Vec::<String>::new());
}
