//! `kill -9` at any moment: what a process has said it wrote is there.

use std::io::{BufRead as _, BufReader};
use std::process::{Command, Stdio};

use protocol::SessionEvent;
use store::{SessionId, StoreError};

use crate::events::opened;
use crate::stage::{Stage, on_both};

const PLACE_VARIABLE: &str = "STORE_TEST_PLACE";
const SESSION_VARIABLE: &str = "STORE_TEST_SESSION";
const KILLS: usize = 36;

/// Not a test of its own: the process that the test below starts and kills.
#[tokio::test]
#[allow(clippy::print_stdout, reason = "it tells the test what it wrote")]
async fn writes_until_it_is_killed() {
    let Ok(place) = std::env::var(PLACE_VARIABLE) else { return };
    let id: SessionId = std::env::var(SESSION_VARIABLE).unwrap().parse().unwrap();
    let store = Stage::open_at(&place).await;
    // The process before was killed while it had the session.
    let _lease = loop {
        match store.claim(&id).await {
            Ok(lease) => break lease,
            // A file knows at once; a server takes some seconds to know that it was killed.
            Err(StoreError::InUse { .. }) if place.starts_with("postgres") => {}
            Err(error) => panic!("{error}"),
        }
    };
    for round in 0_usize.. {
        let text = "x".repeat(round * 37 % 3000);
        let delta = || SessionEvent::TextDelta { text: text.clone().into() };
        let entries = store.append(&id, vec![delta(); 1 + round % 5]).await.unwrap();
        println!("\nwrote {}", entries.last().unwrap().sequence);
    }
}

/// Starts the writer, lets it write a number of times, kills it, and returns what it has said.
fn write_and_kill(place: &str, id: &SessionId, times: usize) -> u64 {
    let mut child = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "kill::writes_until_it_is_killed", "--nocapture"])
        .env(PLACE_VARIABLE, place)
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

on_both! {
    async fn nothing_that_was_said_to_be_written_is_lost(stage) {
        let store = stage.open().await;
        let id = store.create(&opened()).await.unwrap();
        let kills = match stage {
            Stage::Sqlite(_) => KILLS,
            // After each the next writer has to wait until the one before is declared dead.
            Stage::Postgres(_) => 2,
        };
        for kill in 0..kills {
            let said = write_and_kill(&stage.place(), &id, 1 + kill * 7 % 40);
            let loaded = store.load(&id).await.unwrap();
            assert_eq!(loaded.damage, Vec::<String>::new());
            assert!(loaded.entries.len() as u64 >= said, "{} < {said}", loaded.entries.len());
            let is_gapless = (1..).zip(&loaded.entries).all(|(at, entry)| entry.sequence == at);
            assert!(is_gapless);
        }
        let report = stage.open().await.check(None, store::CheckMode::Look).await.unwrap();
        assert_eq!(report.findings, []);
    }
}
