//! Many sessions that run at once, and whether any watcher has missed anything.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::mpsc;
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result};
use serde_json::Value;
use testkit::model_server::ModelCall;
use testkit::{Fixture, Gate, ModelServer, Reply};

use super::measures::megabytes;
use super::program::WebProgram;
use super::service::{StreamClient, WebServer, holds};

/// Sessions that run at once.
pub(super) const CROWD: usize = 200;
/// Pieces of the answer of each.
pub(super) const CROWD_PIECES: usize = 200;
/// Clients that follow them all.
pub(super) const CROWD_WATCHERS: usize = 10;
/// For all requests to reach the model.
const PATIENCE: Duration = Duration::from_secs(120);
/// Of the kernel's clock, on all systems that we know.
const TICKS_A_SECOND: f64 = 100.0;

/// What sessions that run at once took, from the model's first piece to the last event at the last watcher.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct CrowdFigures {
    pub(super) seconds: f64,
    /// Entries of all logs that were written in this time.
    pub(super) events: usize,
    /// How many processors the service has used.
    pub(super) cores: f64,
    /// The most memory that the service had.
    pub(super) peak_mb: f64,
    /// Entries that a watcher was not told of or was told of twice, and items that are not what the log says.
    pub(super) lost: u64,
}

/// Runs them. The model answers none before it was asked by all.
pub(super) fn crowd(program: &dyn WebProgram, project: &Fixture) -> Result<CrowdFigures> {
    let gate = Gate::new();
    let (asked, asks) = mpsc::channel();
    let model = {
        let gate = gate.clone();
        ModelServer::answering(move |_: &ModelCall| {
            // The receiver is gone when the measurement has failed.
            let _ = asked.send(());
            Reply::pieces((0..CROWD_PIECES).map(piece)).through(&gate)
        })
    };
    let (server, _) = WebServer::start(program, project, &model)?;
    let mut watchers = Vec::new();
    for _ in 0..CROWD_WATCHERS {
        watchers.push(server.watch("*")?);
    }
    let readers: Vec<_> =
        watchers.into_iter().map(|watcher| thread::spawn(|| told(watcher))).collect();
    let mut sessions = Vec::new();
    for _ in 0..CROWD {
        let session = server.begin()?;
        server.say(&session, "Tell me much")?;
        sessions.push(session);
    }
    for _ in 0..CROWD {
        asks.recv_timeout(PATIENCE).context("not all sessions have asked the model")?;
    }
    let (start, ticks) = (Instant::now(), server.processor_ticks()?);
    gate.open();
    let mut lines = Vec::new();
    for reader in readers {
        lines.push(reader.join().ok().context("a watcher has failed")??);
    }
    let seconds = start.elapsed().as_secs_f64();
    let cores = (server.processor_ticks()? - ticks) as f64 / TICKS_A_SECOND / seconds;
    let peak_mb = megabytes(server.memory()?.peak);
    let mut logs = HashMap::new();
    for session in &sessions {
        logs.insert(session.clone(), SessionTruth::ask(&server, session)?);
    }
    let events = logs.values().map(|log| log.events).sum();
    let lost = lines.iter().map(|lines| lost(lines, &logs)).sum::<Result<u64>>()?;
    Ok(CrowdFigures { seconds, events, cores, peak_mb, lost })
}

fn piece(number: usize) -> String {
    format!("piece {number} of an answer; ")
}

/// The batches of items that a watcher was sent, until every session has told that its turn is over. They
/// are looked at later: the watchers share the machine with the service.
fn told(mut watcher: StreamClient) -> Result<Vec<Vec<u8>>> {
    let mut over = HashSet::new();
    let mut lines = Vec::new();
    while over.len() < CROWD {
        let line = watcher.line()?;
        let Some(batch) = line.strip_prefix(b"data: ") else { continue };
        if !batch.starts_with(br#"{"session":"#) {
            continue;
        }
        if holds(batch, r#""kind":"turn""#) {
            let batch: Value = serde_json::from_slice(batch)?;
            over.insert(batch["session"].to_string());
        }
        lines.push(batch.to_vec());
    }
    Ok(lines)
}

/// What the service has written down of a session.
struct SessionTruth {
    last: u64,
    /// Entries from the model's first piece on.
    events: usize,
    items: Vec<Value>,
}

impl SessionTruth {
    fn ask(server: &WebServer<'_>, session: &str) -> Result<Self> {
        let log = server.ask("GET", &format!("/api/sessions/{session}/export"), None)?;
        // The first line is about the export.
        let entries: Result<Vec<Value>, _> =
            log.lines().skip(1).map(serde_json::from_str).collect();
        let entries = entries.context("the log")?;
        let is_piece = |entry: &Value| entry["type"] == "text_delta";
        let before = entries.iter().position(is_piece).context("no piece is in the log")?;
        let last = entries.last().and_then(|entry| entry["sequence"].as_u64());
        let path = format!("/api/sessions/{session}/timeline?limit=1000");
        let mut window = server.json("GET", &path, None)?;
        let Value::Array(items) = window["items"].take() else { anyhow::bail!("no items") };
        Ok(Self {
            last: last.context("no entry has a number")?,
            events: entries.len() - before,
            items,
        })
    }
}

/// What a watcher has of a session.
#[derive(Default)]
struct SeenSession {
    through: Option<u64>,
    items: BTreeMap<u64, Value>,
}

/// Counts what a watcher has missed, was told twice, or has otherwise than the log.
fn lost(lines: &[Vec<u8>], logs: &HashMap<String, SessionTruth>) -> Result<u64> {
    let mut seen: HashMap<String, SeenSession> = HashMap::new();
    let mut lost = 0;
    for line in lines {
        let batch: Value = serde_json::from_slice(line)?;
        let session = batch["session"].as_str().context("a batch has a session")?;
        let number = |name: &str| batch[name].as_u64().with_context(|| format!("no {name}"));
        let known = seen.entry(session.to_owned()).or_default();
        let after = number("after")?;
        lost += known.through.unwrap_or(after).abs_diff(after);
        known.through = Some(number("through")?);
        for item in batch["items"].as_array().into_iter().flatten() {
            known.items.insert(item["id"].as_u64().context("an item has an id")?, item.clone());
        }
        for grown in batch["grown"].as_array().into_iter().flatten() {
            let item = grown["id"].as_u64().and_then(|id| known.items.get_mut(&id));
            let Some(Value::String(text)) = item.and_then(|item| item.get_mut("text")) else {
                lost += 1;
                continue;
            };
            text.push_str(grown["text"].as_str().unwrap_or_default());
        }
    }
    for (session, log) in logs {
        let known = seen.remove(session).unwrap_or_default();
        lost += log.last.abs_diff(known.through.unwrap_or_default());
        let others = log.items.iter().zip(known.items.values()).filter(|(is, shown)| is != shown);
        lost += others.count() as u64;
        lost += log.items.len().abs_diff(known.items.len()) as u64;
    }
    Ok(lost)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn batch(after: u64, through: u64, items: Value, grown: Value) -> Vec<u8> {
        let batch = json!({"session": "s", "after": after, "through": through, "items": items, "grown": grown});
        batch.to_string().into_bytes()
    }

    #[test]
    fn what_is_missing_doubled_or_different_is_counted() {
        let item = |text: &str| json!({"id": 0, "text": text});
        let log = SessionTruth { last: 5, events: 3, items: vec![item("ab")] };
        let logs = HashMap::from([("s".to_owned(), log)]);
        let first = || batch(2, 4, json!([item("a")]), json!([]));
        let more = |after| batch(after, 5, json!([]), json!([{"id": 0, "text": "b"}]));
        let table = [
            ("all", vec![first(), more(4)], 0),
            ("nothing", vec![], 6),
            ("no end", vec![first()], 2),
            ("a gap", vec![batch(2, 3, json!([item("a")]), json!([])), more(4)], 1),
            ("twice", vec![first(), first(), more(4)], 2),
            ("another text", vec![batch(2, 5, json!([item("x")]), json!([]))], 1),
            ("no beginning", vec![more(4)], 2),
        ];
        for (name, lines, expected) in table {
            assert_eq!(lost(&lines, &logs).unwrap(), expected, "{name}");
        }
    }
}
