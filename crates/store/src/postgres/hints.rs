//! Tells other replicas that something was written. Hints are sent after the commit and outside of its
//! transaction: `NOTIFY` inside would make all transactions that use it wait for each other.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use sqlx::PgPool;
use tokio::sync::{Notify, broadcast};

use crate::{Hint, SessionId};

/// The channel of `LISTEN` and `NOTIFY`; each database has its own.
pub(super) const CHANNEL: &str = "toolkiln";
/// How long hints are collected before they are sent together. Deltas of an answer come faster than that.
const COLLECT: Duration = Duration::from_millis(4);
/// More hints are sent with several statements.
const SENT_AT_ONCE: usize = 500;

/// What is to be told.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
enum HintTopic {
    Log(SessionId),
    Inbox(SessionId),
    Standing(SessionId),
    Questions,
}

/// Collects hints and sends them to the other replicas.
pub(super) struct HintSender {
    waiting: Mutex<HashMap<HintTopic, u64>>,
    some: Notify,
    local: broadcast::Sender<Hint>,
}

impl HintSender {
    pub(super) fn new(local: broadcast::Sender<Hint>) -> Self {
        Self { waiting: Mutex::default(), some: Notify::new(), local }
    }

    /// Tells readers in this process at once, and other replicas soon.
    pub(super) fn tell(&self, hint: Hint) {
        if let Some((key, sequence)) = key_of(&hint) {
            let mut waiting = self.waiting.lock().unwrap_or_else(PoisonError::into_inner);
            match waiting.entry(key) {
                Entry::Occupied(mut known) => *known.get_mut() = sequence.max(*known.get()),
                Entry::Vacant(place) => {
                    place.insert(sequence);
                }
            }
            drop(waiting);
            self.some.notify_one();
        }
        let _ = self.local.send(hint);
    }

    fn take(&self) -> Vec<String> {
        let waiting =
            std::mem::take(&mut *self.waiting.lock().unwrap_or_else(PoisonError::into_inner));
        waiting.into_iter().map(|(topic, at)| payload(&topic, at)).collect()
    }
}

/// Sends what is collected, until the sender is gone.
pub(super) async fn send(sender: std::sync::Weak<HintSender>, pool: PgPool) {
    loop {
        let Some(waiting) = sender.upgrade() else { return };
        if tokio::time::timeout(Duration::from_secs(1), waiting.some.notified()).await.is_err() {
            // Looks from time to time whether anyone is left who could tell something.
            continue;
        }
        drop(waiting);
        tokio::time::sleep(COLLECT).await;
        let Some(payloads) = sender.upgrade().map(|sender| sender.take()) else { return };
        send_all(&pool, &payloads).await;
    }
}

/// Only hints: if they do not arrive, readers find out later by themselves.
async fn send_all(pool: &PgPool, payloads: &[String]) {
    for some in payloads.chunks(SENT_AT_ONCE) {
        let query = "SELECT pg_notify($1, payload) FROM unnest($2::text[]) AS payload";
        let _ = sqlx::query(query).bind(CHANNEL).bind(some).execute(pool).await;
    }
}

fn key_of(hint: &Hint) -> Option<(HintTopic, u64)> {
    match hint {
        Hint::Log { session, sequence } => Some((HintTopic::Log(session.clone()), *sequence)),
        Hint::Inbox { session } => Some((HintTopic::Inbox(session.clone()), 0)),
        Hint::Standing { session } => Some((HintTopic::Standing(session.clone()), 0)),
        Hint::Questions => Some((HintTopic::Questions, 0)),
        Hint::Missed => None,
    }
}

fn payload(topic: &HintTopic, sequence: u64) -> String {
    match topic {
        HintTopic::Log(session) => format!("{session}:{sequence}"),
        HintTopic::Inbox(session) => format!("inbox:{session}"),
        HintTopic::Standing(session) => format!("standing:{session}"),
        HintTopic::Questions => "questions:".to_owned(),
    }
}

/// Reads what [`payload`] wrote. Whatever else is said on the channel is not for us.
pub(super) fn parse_hint(payload: &str) -> Option<Hint> {
    let (first, second) = payload.split_once(':')?;
    match first {
        "inbox" => Some(Hint::Inbox { session: second.parse().ok()? }),
        "questions" => Some(Hint::Questions),
        "standing" => Some(Hint::Standing { session: second.parse().ok()? }),
        session => {
            Some(Hint::Log { session: session.parse().ok()?, sequence: second.parse().ok()? })
        }
    }
}

/// Begins to send, on the runtime of the caller.
pub(super) fn start(sender: &Arc<HintSender>, pool: &PgPool) {
    tokio::spawn(send(Arc::downgrade(sender), pool.clone()));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hints_of_one_session_are_sent_once_and_read_back() {
        let (local, mut heard) = broadcast::channel(16);
        let sender = HintSender::new(local);
        let session: SessionId = "1hf7yat00zzzzzzzzzzz".parse().unwrap();
        let log = |sequence| Hint::Log { session: session.clone(), sequence };
        let inbox = Hint::Inbox { session: session.clone() };
        let standing = Hint::Standing { session: session.clone() };
        let questions = Hint::Questions;
        let told = [
            log(7),
            log(9),
            log(8),
            inbox.clone(),
            standing.clone(),
            questions.clone(),
            questions.clone(),
            Hint::Missed,
        ];
        told.iter().for_each(|hint| sender.tell(hint.clone()));
        for hint in told {
            assert_eq!(heard.try_recv().unwrap(), hint);
        }
        let mut sent: Vec<_> =
            sender.take().iter().map(|payload| format!("{:?}", parse_hint(payload))).collect();
        sent.sort();
        let mut expected =
            [inbox, log(9), questions, standing].map(|hint| format!("{:?}", Some(hint)));
        expected.sort();
        assert_eq!(sent, expected);
        assert!(sender.take().is_empty());
    }

    #[test]
    fn other_messages_on_the_channel_are_passed_over() {
        for payload in
            ["", ":", "inbox:", "inbox:x", "1hf7yat00zzzzzzzzzzz", "1hf7yat00zzzzzzzzzzz:x"]
        {
            assert_eq!(parse_hint(payload), None, "{payload}");
        }
    }
}
