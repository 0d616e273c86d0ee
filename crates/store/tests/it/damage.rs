//! Damaged files: what can be read is read, and nothing is made up.

use std::path::Path;

use protocol::{LogEntry, SessionEvent};
use sqlx::Connection as _;
use sqlx::sqlite::SqliteConnection;
use store::{CheckMode, ListFilter, SessionId, SqliteStore, Store as _, StoreError};
use tempfile::TempDir;

use crate::events::{done, opened, session_with};
use crate::stage::{FILE, new_file, open_file};

/// What SQLite reads and writes at once.
const PAGE: usize = 4096;

async fn sql(dir: &TempDir, text: &'static str) {
    let path = dir.path().join(FILE);
    let mut conn = SqliteConnection::connect(path.to_str().unwrap()).await.unwrap();
    sqlx::raw_sql(text).execute(&mut conn).await.unwrap();
    conn.close().await.unwrap();
}

async fn damaged_session(text: &'static str) -> (TempDir, SqliteStore, SessionId) {
    let (dir, store) = new_file().await;
    let id = session_with(&store, 1).await;
    store.close().await.unwrap();
    sql(&dir, text).await;
    let store = open_file(&dir).await;
    (dir, store, id)
}

fn numbers(entries: &[LogEntry]) -> Vec<u64> {
    entries.iter().map(|entry| entry.sequence).collect()
}

#[tokio::test]
async fn damaged_rows_are_named_and_a_repair_explains_itself() {
    let (_dir, store, id) = damaged_session(
        "UPDATE events SET data = '{\"type\":' WHERE sequence = 3;
         UPDATE events SET data = replace(data, 'question', 'answer!!') WHERE sequence = 2;
         UPDATE events SET kind = x'ff00' WHERE sequence = 7;
         DELETE FROM events WHERE sequence IN (5, 9)",
    )
    .await;
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
    entry 7 is damaged: its field `kind` is unreadable -> moved to the table `damaged`; the log goes on without it
    entry 5 is missing -> noted as lost; the log goes on without it
    entry 9 is missing -> noted as lost; the log goes on without it
    ");

    let loaded = store.load(&id).await.unwrap();
    assert_eq!(loaded.damage, Vec::<String>::new());
    assert_eq!(numbers(&loaded.entries), [1, 4, 6, 8, 10]);
    assert!(
        matches!(&loaded.entries[4].event, SessionEvent::Repaired { notes } if notes.len() == 5)
    );
    assert_eq!(store.append(&id, vec![done()]).await.unwrap()[0].sequence, 11);
    assert_eq!(store.check(None, CheckMode::Repair).await.unwrap().findings, []);
    assert_eq!(store.list(&ListFilter::default()).await.unwrap()[0].turns, 0);
}

#[tokio::test]
async fn an_event_of_a_newer_version_is_kept_and_carried_on() {
    let (_dir, store, id) = damaged_session("SELECT 1").await;
    let text = store.export(&id).await.unwrap();
    let newer = r#"{"sequence":10,"at":5,"type":"sung","data":{"song":"la"}}"#;
    let imported = store.import(&format!("{text}{newer}\n")).await.unwrap();
    assert_eq!(imported.damage, Vec::<String>::new());
    let loaded = store.load(&imported.id).await.unwrap();
    assert_eq!((loaded.entries.len(), loaded.damage.len()), (9, 1));
    assert!(loaded.damage[0].contains("`sung`"), "{:?}", loaded.damage);
    let report = store.check(Some(&imported.id), CheckMode::Repair).await.unwrap();
    assert_eq!(report.findings[0].repaired, None);
    let again = store.export(&imported.id).await.unwrap();
    assert_eq!(again.lines().last().unwrap(), newer);
    assert_eq!(store.append(&imported.id, vec![done()]).await.unwrap()[0].sequence, 11);
}

#[tokio::test]
async fn a_lost_opening_and_a_lost_summary_are_made_up_for_by_each_other() {
    let (_dir, store, id) = damaged_session("DELETE FROM events WHERE sequence = 1").await;
    let loaded = store.load(&id).await.unwrap();
    assert_eq!(loaded.entries[0].event, SessionEvent::Opened(opened()));
    store.check(None, CheckMode::Repair).await.unwrap();
    let loaded = store.load(&id).await.unwrap();
    assert_eq!(loaded.damage, Vec::<String>::new());
    assert_eq!(loaded.entries[0].event, SessionEvent::Opened(opened()));

    let (_dir, store, id) = damaged_session("DELETE FROM sessions").await;
    assert_eq!(store.load(&id).await.unwrap().entries.len(), 9);
    let lease = store.claim(&id).await.unwrap();
    assert_eq!(store.append(&id, vec![done()]).await.unwrap()[0].sequence, 10);
    drop(lease);
    assert_eq!(store.load(&id).await.unwrap().damage, Vec::<String>::new());
    let (_dir, store, _) = damaged_session("DELETE FROM sessions").await;
    let report = store.check(None, CheckMode::Repair).await.unwrap();
    assert_eq!((report.sessions, report.findings.len()), (1, 1));
    assert!(report.findings[0].repaired.is_some(), "{:?}", report.findings);
    assert_eq!(store.list(&ListFilter::default()).await.unwrap()[0].turns, 1);
}

#[tokio::test]
async fn a_file_that_is_no_database_is_left_alone() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join(FILE);
    let text = "This is a letter, not a database.\n".repeat(50);
    std::fs::write(&path, &text).unwrap();
    let store = open_file(&dir).await;
    let note = &store.notes()[0];
    assert!(note.contains("left as it is") && note.contains("sessions-2.db"), "{note}");
    let id = session_with(&store, 1).await;
    store.close().await.unwrap();
    assert_eq!(std::fs::read_to_string(&path).unwrap(), text);
    let store = open_file(&dir).await;
    assert_eq!(store.notes(), Vec::<String>::new());
    assert_eq!(store.load(&id).await.unwrap().entries.len(), 9);
    let earlier = store.check(None, CheckMode::Look).await.unwrap().earlier;
    assert_eq!(earlier.len(), 1);
}

#[tokio::test]
async fn a_database_of_something_else_is_left_alone() {
    let dir = tempfile::tempdir().unwrap();
    std::fs::write(dir.path().join(FILE), "").unwrap();
    sql(&dir, "CREATE TABLE letters (text)").await;
    let store = open_file(&dir).await;
    assert!(store.notes()[0].contains("something else"), "{:?}", store.notes());
    session_with(&store, 1).await;
}

#[tokio::test]
async fn a_file_whose_tables_have_other_names_is_left_alone() {
    let (_dir, store, id) = damaged_session("ALTER TABLE events RENAME TO event5").await;
    assert!(store.notes()[0].contains("no such table"), "{:?}", store.notes());
    // The list knew how it began.
    assert_eq!(store.load(&id).await.unwrap().entries.len(), 1);
}

#[tokio::test]
async fn a_file_that_is_damaged_inside_is_left_behind_by_a_repair() {
    let (bytes, logs) = template().await;
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join(FILE);
    let text = br#""question 7""#;
    let at = bytes.windows(text.len()).position(|window| window == text).unwrap();
    let page = at / PAGE * PAGE;
    let mut damaged = bytes.clone();
    damaged[page..page + PAGE].fill(0);
    std::fs::write(&path, &damaged).unwrap();

    let (store, other) = (open_file(&dir).await, open_file(&dir).await);
    let (id, written) = &logs[1];
    let before = store.load(id).await.unwrap();
    assert_eq!((&before.entries, before.damage.len()), (written, 0));
    let report = store.check(None, CheckMode::Repair).await.unwrap();
    let repaired = report.findings[0].repaired.as_ref().unwrap();
    assert!(repaired.contains("2 sessions") && repaired.contains("sessions-2.db"), "{repaired}");
    assert_eq!(store.load(id).await.unwrap(), before);
    let (id, written) = &logs[0];
    let loaded = store.load(id).await.unwrap();
    assert_eq!(loaded.damage, Vec::<String>::new());
    let left = loaded.entries.len() - 1;
    assert!(left > written.len() / 2 && left < written.len(), "{left}");
    assert!(matches!(loaded.entries[left].event, SessionEvent::Repaired { .. }));
    store.append(id, vec![done()]).await.unwrap();

    assert!(matches!(other.claim(id).await, Err(StoreError::Moved { .. })));
    assert!(matches!(other.create(&opened()).await, Err(StoreError::Moved { .. })));
    drop((store, other));
    assert_eq!(open_file(&dir).await.load(id).await.unwrap().entries.len(), left + 2);
}

/// A file with two sessions of some size, and their logs.
async fn template() -> (Vec<u8>, Vec<(SessionId, Vec<LogEntry>)>) {
    let (dir, store) = new_file().await;
    let ids = [session_with(&store, 30).await, session_with(&store, 30).await];
    let mut logs = Vec::new();
    for id in ids {
        logs.push((id.clone(), store.load(&id).await.unwrap().entries));
    }
    store.close().await.unwrap();
    (std::fs::read(dir.path().join(FILE)).unwrap(), logs)
}

/// Every entry that is there is as it was written; whatever is not there is named. Returns how many
/// entries were there.
async fn hold_to_the_truth(dir: &Path, logs: &[(SessionId, Vec<LogEntry>)], what: &str) -> usize {
    let store = match SqliteStore::open(dir.join(FILE)).await {
        Ok(store) => store,
        Err(StoreError::Damaged { .. }) => return 0,
        Err(error) => panic!("{what}: {error}"),
    };
    let mut there = 0;
    for (id, written) in logs {
        let loaded = match store.load(id).await {
            Ok(loaded) => loaded,
            Err(error) => {
                let expected = matches!(
                    error,
                    StoreError::NotFound { .. }
                        | StoreError::Damaged { .. }
                        | StoreError::Newer { .. }
                );
                assert!(expected, "{what}: {error:?}");
                continue;
            }
        };
        let is_true = |entry: &LogEntry| {
            let position = usize::try_from(entry.sequence).unwrap();
            written.get(position - 1) == Some(entry)
                || matches!(&entry.event, SessionEvent::Opened(_))
        };
        assert!(loaded.entries.iter().all(is_true), "{what}");
        let is_whole = loaded.entries.len() == written.len();
        assert!(is_whole || !loaded.damage.is_empty() || !store.notes().is_empty(), "{what}");
        there += loaded.entries.len();
    }
    // A repair may fail with an explanation, but then it says so.
    let repaired = store.check(None, CheckMode::Repair).await;
    assert!(!matches!(&repaired, Err(StoreError::Busy { .. })), "{what}: {repaired:?}");
    there
}

#[tokio::test]
async fn changed_bytes_anywhere_never_become_something_that_was_said() {
    let (bytes, logs) = template().await;
    let total: usize = logs.iter().map(|(_, log)| log.len()).sum();
    let mut there = Vec::new();
    for step in 0..150 {
        let at = (step * 7919 + step * step * 31) % bytes.len();
        let mut damaged = bytes.clone();
        for byte in damaged.iter_mut().skip(at).take(1 + step % 9) {
            *byte ^= 1 << (step % 8);
        }
        let dir = tempfile::tempdir().unwrap();
        std::fs::write(dir.path().join(FILE), &damaged).unwrap();
        there.push(hold_to_the_truth(dir.path(), &logs, &format!("changed at {at}")).await);
    }
    // Most changes hit one entry or none.
    let nearly_all = there.iter().filter(|&&count| count + 2 >= total).count();
    assert!(nearly_all > there.len() / 2, "{there:?}");
}

#[tokio::test]
async fn a_file_cut_anywhere_gives_what_is_left_of_it() {
    let (bytes, logs) = template().await;
    let mut there = Vec::new();
    for step in 0..40 {
        let length = bytes.len() * step / 40 + step * 13 % 97;
        let dir = tempfile::tempdir().unwrap();
        std::fs::write(dir.path().join(FILE), &bytes[..length]).unwrap();
        there.push(hold_to_the_truth(dir.path(), &logs, &format!("cut at {length}")).await);
    }
    assert!(there.iter().any(|&count| count > 0), "{there:?}");
}
