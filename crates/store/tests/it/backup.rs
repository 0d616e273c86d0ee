//! Backups as `docs/operation.md` tells to make them, and what comes back from them.

use std::path::Path;

use protocol::SessionEvent;
use sqlx::Connection as _;
use sqlx::sqlite::SqliteConnection;
use store::{CheckMode, ListFilter, SqliteStore, Store as _};
use tempfile::TempDir;

use crate::events::{FILE, new_store, open, session_with};

/// Events that are written while the backup is made.
const WRITTEN_MEANWHILE: usize = 400;

/// What `sqlite3 FROM "VACUUM INTO 'TO'"` does.
async fn back_up(from: &Path, to: &Path) {
    let mut conn = SqliteConnection::connect(from.to_str().unwrap()).await.unwrap();
    sqlx::query("VACUUM INTO ?").bind(to.to_str().unwrap()).execute(&mut conn).await.unwrap();
    conn.close().await.unwrap();
}

fn piece(number: usize) -> SessionEvent {
    SessionEvent::TextDelta { text: format!("piece {number}").as_str().into() }
}

async fn assert_whole(store: &SqliteStore) {
    let report = store.check(None, CheckMode::Look).await.unwrap();
    assert!(report.findings.is_empty(), "{:?}", report.findings);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_backup_of_a_store_that_is_written_to_holds_everything_up_to_a_moment() {
    let (dir, store) = new_store().await;
    let id = session_with(&store, 3).await;
    let lease = store.claim(&id).await.unwrap();
    let before = store.load(&id).await.unwrap().entries.len();
    let (writer, written) = (store.clone(), id.clone());
    let writing = tokio::spawn(async move {
        for number in 0..WRITTEN_MEANWHILE {
            writer.append(&written, vec![piece(number)]).await.unwrap();
        }
    });
    let kept = TempDir::new().unwrap();
    back_up(&dir.path().join(FILE), &kept.path().join(FILE)).await;
    writing.await.unwrap();
    lease.release().await;

    let restored = open(&kept).await;
    assert_whole(&restored).await;
    let (old, new) = (restored.load(&id).await.unwrap(), store.load(&id).await.unwrap());
    assert_eq!((&old.damage, &new.damage), (&Vec::new(), &Vec::new()));
    assert!(old.entries.len() >= before);
    assert_eq!(old.entries[..], new.entries[..old.entries.len()]);
    // What was restored is worked with like any other store. The session itself is held, as it was in that moment, for
    // as long as its process lives.
    let other = restored.fork(&id, None).await.unwrap();
    let lease = restored.claim(&other).await.unwrap();
    assert_eq!(restored.append(&other, vec![piece(0)]).await.unwrap().len(), 1);
    lease.release().await;
}

#[tokio::test]
async fn the_files_of_a_store_that_is_closed_are_a_backup() {
    let (dir, store) = new_store().await;
    let id = session_with(&store, 2).await;
    let known = store.load(&id).await.unwrap();
    store.close().await.unwrap();
    let kept = TempDir::new().unwrap();
    for file in std::fs::read_dir(dir.path()).unwrap() {
        let file = file.unwrap();
        std::fs::copy(file.path(), kept.path().join(file.file_name())).unwrap();
    }
    let restored = open(&kept).await;
    assert_whole(&restored).await;
    assert_eq!(restored.load(&id).await.unwrap(), known);
    assert_eq!(restored.list(&ListFilter::default()).await.unwrap().len(), 1);
}

#[tokio::test]
async fn a_session_goes_from_one_store_to_another_as_text() {
    let (_dir, store) = new_store().await;
    let id = session_with(&store, 2).await;
    let text = store.export(&id).await.unwrap();
    let (_elsewhere, other) = new_store().await;
    let imported = other.import(&text).await.unwrap();
    assert_eq!(imported.damage, Vec::<String>::new());
    let (there, here) = (other.load(&imported.id).await.unwrap(), store.load(&id).await.unwrap());
    let events = |loaded: &store::Loaded| {
        loaded.entries.iter().map(|entry| entry.event.clone()).collect::<Vec<_>>()
    };
    assert_eq!(events(&there), events(&here));
}
