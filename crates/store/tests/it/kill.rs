//! `kill -9` at any moment: what a process has said it wrote is there.

use std::io::{BufRead as _, BufReader};
use std::path::Path;
use std::process::{Command, Stdio};

use protocol::SessionEvent;
use store::{SessionId, SqliteStore, Store as _};

use crate::events::{FILE, new_store, open, opened};

const FILE_VARIABLE: &str = "STORE_TEST_FILE";
const SESSION_VARIABLE: &str = "STORE_TEST_SESSION";
const KILLS: usize = 36;

/// Not a test of its own: the process that the test below starts and kills.
#[tokio::test]
#[allow(clippy::print_stdout, reason = "it tells the test what it wrote")]
async fn writes_until_it_is_killed() {
    let Ok(file) = std::env::var(FILE_VARIABLE) else { return };
    let id: SessionId = std::env::var(SESSION_VARIABLE).unwrap().parse().unwrap();
    let store = SqliteStore::open(file).await.unwrap();
    // The process before was killed while it had the session.
    let _lease = store.claim(&id).await.unwrap();
    for round in 0_usize.. {
        let text = "x".repeat(round * 37 % 3000);
        let delta = || SessionEvent::TextDelta { text: text.clone().into() };
        let entries = store.append(&id, vec![delta(); 1 + round % 5]).await.unwrap();
        println!("\nwrote {}", entries.last().unwrap().sequence);
    }
}

/// Starts the writer, lets it write a number of times, kills it, and returns what it has said.
fn write_and_kill(file: &Path, id: &SessionId, times: usize) -> u64 {
    let mut child = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "kill::writes_until_it_is_killed", "--nocapture"])
        .env(FILE_VARIABLE, file)
        .env(SESSION_VARIABLE, id.as_str())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let lines = BufReader::new(child.stdout.take().unwrap()).lines();
    let mut said = lines.map_while(Result::ok).filter_map(|line| {
        line.strip_prefix("wrote ").map(|number| number.parse::<u64>().unwrap())
    });
    let last = said.by_ref().take(times).last().unwrap();
    child.kill().unwrap();
    child.wait().unwrap();
    // It went on until the signal came; that counts too.
    said.last().unwrap_or(last)
}

#[tokio::test]
async fn nothing_that_was_said_to_be_written_is_lost() {
    let (dir, store) = new_store().await;
    let id = store.create(&opened()).await.unwrap();
    drop(store);
    for kill in 0..KILLS {
        let said = write_and_kill(&dir.path().join(FILE), &id, 1 + kill * 7 % 40);
        let loaded = open(&dir).await.load(&id).await.unwrap();
        assert_eq!(loaded.damage, Vec::<String>::new());
        assert!(loaded.entries.len() as u64 >= said, "{} < {said}", loaded.entries.len());
        let is_gapless = (1..).zip(&loaded.entries).all(|(at, entry)| entry.sequence == at);
        assert!(is_gapless);
    }
    let store = open(&dir).await;
    let report = store.check(None, store::CheckMode::Look).await.unwrap();
    assert_eq!(report.findings, []);
}
