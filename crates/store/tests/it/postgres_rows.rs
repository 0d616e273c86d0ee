//! What is particular to sessions in PostgreSQL: its rows, its projects, its errors.

use protocol::{LogEntry, SessionEvent};
use store::{CheckMode, ListFilter, PostgresDatabase, PostgresOptions, Store as _, StoreError};

use crate::events::{done, opened, says, session_with, turn};
use crate::stage::{PROJECT, replica};

fn numbers(entries: &[LogEntry]) -> Vec<u64> {
    entries.iter().map(|entry| entry.sequence).collect()
}

#[tokio::test]
async fn damaged_rows_are_named_and_a_repair_explains_itself() {
    let Some(server) = testkit::Postgres::shared() else { return };
    let database = server.database();
    let store = replica(&database, "a").await.store(PROJECT);
    let id = session_with(&store, 1).await;
    database.sql(
        "UPDATE events SET data = '{\"type\":' WHERE sequence = 3;
         UPDATE events SET data = replace(data, 'question', 'answer!!') WHERE sequence = 2;
         UPDATE events SET data = NULL, packed = 'no deflate stream' WHERE sequence = 7;
         DELETE FROM events WHERE sequence IN (5, 9)",
    );
    let loaded = store.load(&id).await.unwrap();
    assert_eq!(numbers(&loaded.entries), [1, 4, 6, 8]);
    for sequence in 1..=9 {
        let alone = store.entry(&id, sequence).await.unwrap();
        assert_eq!(alone.as_ref(), loaded.entries.iter().find(|it| it.sequence == sequence));
    }
    let looked = store.check(Some(&id), CheckMode::Look).await.unwrap();
    assert!(looked.findings.iter().all(|finding| finding.repaired.is_none()));
    let report = store.check(None, CheckMode::Repair).await.unwrap();
    let texts: Vec<String> = report
        .findings
        .iter()
        .map(|it| format!("{} -> {}", it.problem, it.repaired.as_deref().unwrap_or("nothing")))
        .collect();
    insta::assert_snapshot!(texts.join("\n"), @r"
    entry 2 is damaged: it does not match its checksum -> moved to the table `damaged`; the log goes on without it
    entry 3 is damaged: it does not match its checksum -> moved to the table `damaged`; the log goes on without it
    entry 7 is damaged: its field `data` is unreadable -> moved to the table `damaged`; the log goes on without it
    entry 5 is missing -> noted as lost; the log goes on without it
    entry 9 is missing -> noted as lost; the log goes on without it
    ");
    let loaded = store.load(&id).await.unwrap();
    assert_eq!(loaded.damage, Vec::<String>::new());
    assert_eq!(numbers(&loaded.entries), [1, 4, 6, 8, 10]);
    assert_eq!(store.append(&id, vec![done()]).await.unwrap()[0].sequence, 11);
    assert_eq!(store.check(None, CheckMode::Repair).await.unwrap().findings, []);
    assert_eq!(store.list(&ListFilter::default()).await.unwrap()[0].turns, 0);
    assert_eq!(store.search("answer", 9).await.unwrap().messages, []);
}

#[tokio::test]
async fn a_lost_opening_is_made_up_for_by_the_list() {
    let Some(server) = testkit::Postgres::shared() else { return };
    let database = server.database();
    let store = replica(&database, "a").await.store(PROJECT);
    let id = session_with(&store, 1).await;
    database.sql("DELETE FROM events WHERE sequence = 1");
    assert_eq!(store.load(&id).await.unwrap().entries[0].event, SessionEvent::Opened(opened()));
    store.check(None, CheckMode::Repair).await.unwrap();
    let loaded = store.load(&id).await.unwrap();
    assert_eq!(loaded.damage, Vec::<String>::new());
    assert_eq!(loaded.entries[0].event, SessionEvent::Opened(opened()));
}

#[tokio::test]
async fn projects_do_not_see_each_others_sessions() {
    let Some(server) = testkit::Postgres::shared() else { return };
    let database = server.database();
    let replica = replica(&database, "a").await;
    let (ours, theirs) = (replica.store("ours"), replica.store("theirs"));
    let id = session_with(&ours, 1).await;
    let own = session_with(&theirs, 1).await;
    let is_hidden = |error: StoreError| matches!(error, StoreError::NotFound { .. });
    assert!(is_hidden(theirs.load(&id).await.unwrap_err()));
    assert!(is_hidden(theirs.find(id.as_str()).await.unwrap_err()));
    assert!(is_hidden(theirs.append(&id, vec![says("x")]).await.unwrap_err()));
    assert!(is_hidden(theirs.claim(&id).await.unwrap_err()));
    assert!(is_hidden(theirs.rename(&id, "x").await.unwrap_err()));
    assert!(is_hidden(theirs.delete(&id).await.unwrap_err()));
    assert!(is_hidden(theirs.fork(&id, None).await.unwrap_err()));
    assert!(is_hidden(theirs.export(&id).await.unwrap_err()));
    assert!(is_hidden(theirs.check(Some(&id), CheckMode::Look).await.unwrap_err()));
    assert_eq!(theirs.entry(&id, 1).await.unwrap(), None);
    assert_eq!(theirs.info(&id).await.unwrap(), None);
    // Also while this process has the lease through its own store.
    let lease = ours.claim(&id).await.unwrap();
    assert!(is_hidden(theirs.append(&id, vec![says("x")]).await.unwrap_err()));
    lease.release().await;
    for store in [&ours, &theirs] {
        assert_eq!(store.list(&ListFilter::default()).await.unwrap().len(), 1);
        assert_eq!(store.stats(&Default::default()).await.unwrap().sessions.len(), 1);
        assert_eq!(store.favourites().await.unwrap().tools[0].calls, 1);
        assert_eq!(store.search("question", 9).await.unwrap().messages.len(), 1);
        assert_eq!(store.check(None, CheckMode::Look).await.unwrap().sessions, 1);
    }
    theirs.clear_favourites().await.unwrap();
    assert_eq!(ours.favourites().await.unwrap().tools[0].calls, 1);
    theirs.delete(&own).await.unwrap();
    assert_eq!(ours.load(&id).await.unwrap().entries.len(), 9);
}

#[tokio::test]
async fn nothing_stays_of_a_deleted_session() {
    let Some(server) = testkit::Postgres::shared() else { return };
    let database = server.database();
    let store = replica(&database, "a").await.store(PROJECT);
    let id = store.create(&opened()).await.unwrap();
    store.append(&id, turn("unmistakable")).await.unwrap();
    store.favourites().await.unwrap();
    store.delete(&id).await.unwrap();
    for table in ["sessions", "events", "said", "learned", "learned_through", "inbox", "standing"] {
        assert_eq!(database.sql(&format!("SELECT count(*) FROM {table}")), "0", "{table}");
    }
    assert!(matches!(store.append(&id, turn("x")).await, Err(StoreError::NotFound { .. })));
}

#[tokio::test]
async fn a_title_with_a_zero_is_kept_in_the_log_and_shown_without() {
    let Some(server) = testkit::Postgres::shared() else { return };
    let database = server.database();
    let store = replica(&database, "a").await.store(PROJECT);
    let id = session_with(&store, 0).await;
    store.rename(&id, "a\0b").await.unwrap();
    let renamed = SessionEvent::Renamed { title: "a\0b".into() };
    assert_eq!(store.load(&id).await.unwrap().entries[1].event, renamed);
    let listed = store.list(&ListFilter::default()).await.unwrap();
    assert_eq!(listed[0].title.as_deref(), Some("a\u{fffd}b"));
    assert_eq!(store.find("a\0b").await.unwrap(), id);
}

#[tokio::test]
async fn a_server_that_is_not_there_is_named_without_its_password() {
    let free = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let url = format!("postgres://me:secret@127.0.0.1:{free}/team");
    let error = PostgresDatabase::open(PostgresOptions::new(url, "a")).await.unwrap_err();
    assert!(matches!(&error, StoreError::Unreachable { .. }), "{error:?}");
    let text = error.to_string();
    assert!(text.contains(&format!("`team` at 127.0.0.1:{free}")), "{text}");
    assert!(!text.contains("secret"), "{text}");
}

#[tokio::test]
async fn a_database_of_a_newer_version_is_left_alone() {
    let Some(server) = testkit::Postgres::shared() else { return };
    let database = server.database();
    drop(replica(&database, "a").await);
    database.sql("INSERT INTO migrations (number, name) VALUES (999, '999_later')");
    let error = PostgresDatabase::open(PostgresOptions::new(database.url(), "b")).await;
    assert!(matches!(error, Err(StoreError::Newer { found: 999, .. })), "{error:?}");
}
