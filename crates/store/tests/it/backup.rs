//! Backups as `docs/operation.md` tells to make them, and what comes back from them.

use std::path::Path;
use std::process::Command;
use std::sync::Arc;

use protocol::SessionEvent;
use sqlx::Connection as _;
use sqlx::sqlite::SqliteConnection;
use store::{CheckMode, ListFilter, SessionId, Store};
use tempfile::TempDir;

use crate::events::session_with;
use crate::stage::{FILE, PROJECT, new_file, open_file, replica};

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

async fn assert_whole(store: &dyn Store) {
    let report = store.check(None, CheckMode::Look).await.unwrap();
    assert!(report.findings.is_empty(), "{:?}", report.findings);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_backup_of_a_store_that_is_written_to_holds_everything_up_to_a_moment() {
    let (dir, store) = new_file().await;
    let id = session_with(&store, 3).await;
    let kept = TempDir::new().unwrap();
    let (from, to) = (dir.path().join(FILE), kept.path().join(FILE));
    let backing_up = async { back_up(&from, &to).await };
    written_meanwhile(Arc::new(store.clone()), &id, backing_up).await;
    assert_is_beginning(&open_file(&kept).await, &store, &id).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_dump_of_a_database_that_is_written_to_holds_everything_up_to_a_moment() {
    let Some(server) = testkit::Postgres::shared() else { return };
    let database = server.database();
    let store = replica(&database, "a").await.store(PROJECT);
    let id = session_with(&store, 3).await;
    let kept = TempDir::new().unwrap();
    let file = kept.path().join("toolkiln.dump");
    let (program, url) = (server.program("pg_dump"), database.url().to_owned());
    let dump = file.clone();
    let dumping = tokio::task::spawn_blocking(move || {
        run(Command::new(program).args(["--format=custom", "--file"]).arg(dump).arg(url));
    });
    written_meanwhile(Arc::new(store.clone()), &id, async { dumping.await.unwrap() }).await;

    let empty = server.database();
    let mut restore = Command::new(server.program("pg_restore"));
    restore.args([
        "--exit-on-error",
        "--single-transaction",
        "--no-owner",
        "--dbname",
        empty.url(),
    ]);
    run(restore.arg(&file));
    // The tables are known to be up to date, so that nothing is made anew.
    let restored = replica(&empty, "b").await.store(PROJECT);
    assert_is_beginning(&restored, &store, &id).await;
    // What is derived from the log is there too: words to search for, and the list.
    for database in [&restored, &store] {
        let found = database.search("question", 10).await.unwrap().messages;
        assert!(found.iter().any(|message| message.session == id), "{found:?}");
        let listed = database.list(&ListFilter::default()).await.unwrap();
        assert!(listed.iter().any(|info| info.id == id));
    }
}

#[track_caller]
fn run(command: &mut Command) {
    let done = command.output().unwrap();
    assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
}

/// Writes to a session while something else is done.
async fn written_meanwhile(
    store: Arc<dyn Store>,
    id: &SessionId,
    meanwhile: impl Future<Output = ()>,
) {
    let lease = store.claim(id).await.unwrap();
    let (writer, written) = (Arc::clone(&store), id.clone());
    let writing = tokio::spawn(async move {
        for number in 0..WRITTEN_MEANWHILE {
            writer.append(&written, vec![piece(number)]).await.unwrap();
        }
    });
    meanwhile.await;
    writing.await.unwrap();
    lease.release().await;
}

/// Whether a store holds a session as it was at some moment, and can be worked with.
async fn assert_is_beginning(restored: &dyn Store, store: &dyn Store, id: &SessionId) {
    assert_whole(restored).await;
    let (old, new) = (restored.load(id).await.unwrap(), store.load(id).await.unwrap());
    assert_eq!((&old.damage, &new.damage), (&Vec::new(), &Vec::new()));
    assert!(old.entries.len() + WRITTEN_MEANWHILE >= new.entries.len());
    assert_eq!(old.entries[..], new.entries[..old.entries.len()]);
    // What was restored is worked with like any other store. The session itself is held, as it was in that moment, for
    // as long as its process lives.
    let other = restored.fork(id, None).await.unwrap();
    let lease = restored.claim(&other).await.unwrap();
    assert_eq!(restored.append(&other, vec![piece(0)]).await.unwrap().len(), 1);
    lease.release().await;
}

#[tokio::test]
async fn the_files_of_a_store_that_is_closed_are_a_backup() {
    let (dir, store) = new_file().await;
    let id = session_with(&store, 2).await;
    let known = store.load(&id).await.unwrap();
    store.close().await.unwrap();
    let kept = TempDir::new().unwrap();
    for file in std::fs::read_dir(dir.path()).unwrap() {
        let file = file.unwrap();
        std::fs::copy(file.path(), kept.path().join(file.file_name())).unwrap();
    }
    let restored = open_file(&kept).await;
    assert_whole(&restored).await;
    assert_eq!(restored.load(&id).await.unwrap(), known);
    assert_eq!(restored.list(&ListFilter::default()).await.unwrap().len(), 1);
}

#[tokio::test]
async fn a_session_goes_from_one_store_to_another_as_text() {
    let (_dir, store) = new_file().await;
    let id = session_with(&store, 2).await;
    let text = store.export(&id).await.unwrap();
    let (_elsewhere, other) = new_file().await;
    let imported = other.import(&text).await.unwrap();
    assert_eq!(imported.damage, Vec::<String>::new());
    let (there, here) = (other.load(&imported.id).await.unwrap(), store.load(&id).await.unwrap());
    let events = |loaded: &store::Loaded| {
        loaded.entries.iter().map(|entry| entry.event.clone()).collect::<Vec<_>>()
    };
    assert_eq!(events(&there), events(&here));
}
