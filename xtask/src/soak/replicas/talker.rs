//! A client that says something, waits for the end of the turn and for a while, and says something again.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::sleep;
use std::time::{Duration, Instant};

use serde_json::json;

use super::cluster::Cluster;
use super::watcher::SessionLog;

/// How long it waits before the next message.
const THINKING: Duration = Duration::from_secs(10);
/// How long a message may take to be taken, and a turn to end, with a replica that dies in between.
const PATIENCE: Duration = Duration::from_secs(60);
/// After how long a message that failed is sent again.
const AGAIN: Duration = Duration::from_millis(200);

pub(super) struct Talker {
    number: usize,
    log: Arc<SessionLog>,
}

impl Talker {
    pub(super) fn new(number: usize, log: Arc<SessionLog>) -> Self {
        Self { number, log }
    }

    /// Talks until it is over. Answers with what went wrong.
    pub(super) fn talk(&mut self, cluster: &Cluster, is_over: &AtomicBool) -> Vec<String> {
        let mut problems = Vec::new();
        // Not all at once.
        sleep(THINKING * (self.number % 100) as u32 / 100);
        for turn in 0.. {
            if is_over.load(Ordering::SeqCst) {
                break;
            }
            match self.say(cluster, turn) {
                None => problems.push(format!("{}: message {turn} is not taken", self.log.session)),
                Some(after) => {
                    if !self.log.wait_for_turn(after, PATIENCE) {
                        problems.push(format!("{}: turn {turn} does not end", self.log.session));
                    }
                }
            }
            sleep(THINKING);
        }
        problems
    }

    /// Sends a message until it is taken. Answers with its place in the log, or one before it.
    fn say(&self, cluster: &Cluster, turn: usize) -> Option<u64> {
        let target = format!("POST /api/sessions/{}/messages", self.log.session);
        let key = format!("idempotency-key: {}-{turn}", self.number);
        let body = json!({"text": format!("Look again, for the time {turn}")});
        let before = self.log.last();
        let end = Instant::now() + PATIENCE;
        for attempt in 0.. {
            let slot = self.number + turn + attempt;
            if let Ok((200, sent)) = cluster.request(slot, &target, &key, Some(&body)).answer() {
                return Some(sent["sequence"].as_u64().unwrap_or(before));
            }
            if Instant::now() > end {
                break;
            }
            sleep(AGAIN);
        }
        None
    }
}
