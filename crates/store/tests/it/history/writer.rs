//! A client in a process of its own, which can be killed: claims sessions, appends, puts and takes items, and says what
//! it tries and what it was told.

use std::io::{BufRead as _, BufReader, Read as _};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::Sender;
use std::thread::JoinHandle;

use serde_json::json;
use store::{Exchange as _, PostgresDatabase, PostgresOptions, SessionId, Store as _, StoreError};

use super::random::Random;
use crate::events::says;
use crate::stage::PROJECT;

const URL: &str = "STORE_HISTORY_URL";
const NAME: &str = "STORE_HISTORY_NAME";
const SESSIONS: &str = "STORE_HISTORY_SESSIONS";
const SEED: &str = "STORE_HISTORY_SEED";
/// Ends a line, so that one that was cut off by the end of the process is known.
const END: &str = " .";

/// A line of a client.
#[derive(Debug)]
pub(crate) enum Said {
    /// It tries to write a text.
    Tries { session: String, text: String },
    /// It was told that a text is written.
    Wrote { session: String, sequence: u64, text: String },
    /// It was told that an item is in the inbox.
    Put { session: String, key: String },
}

/// A running client.
pub(crate) struct Writer {
    child: Child,
    reader: Option<JoinHandle<()>>,
}

impl Writer {
    pub(crate) fn start(
        url: &str,
        name: &str,
        sessions: &[SessionId],
        seed: u64,
        said: Sender<Said>,
    ) -> Self {
        let ids: Vec<&str> = sessions.iter().map(SessionId::as_str).collect();
        let mut child = Command::new(std::env::current_exe().unwrap())
            .args(["--exact", "history::writer::works_until_it_is_told_to_stop", "--nocapture"])
            .env(URL, url)
            .env(NAME, name)
            .env(SESSIONS, ids.join(","))
            .env(SEED, seed.to_string())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let stdout = BufReader::new(child.stdout.take().unwrap());
        let reader = std::thread::spawn(move || {
            let lines = stdout.lines().map_while(Result::ok);
            // Whoever listened may have seen enough.
            lines.filter_map(|line| parse(&line)).for_each(|line| drop(said.send(line)));
        });
        Self { child, reader: Some(reader) }
    }

    /// `kill -9`, and everything that it had said before.
    pub(crate) fn kill(mut self) {
        let _ = self.child.kill();
        self.wait();
    }

    /// Lets it end what it does.
    pub(crate) fn stop(mut self) {
        drop(self.child.stdin.take());
        self.wait();
    }

    fn wait(&mut self) {
        let _ = self.child.wait();
        if let Some(reader) = self.reader.take() {
            reader.join().unwrap();
        }
    }
}

impl Drop for Writer {
    fn drop(&mut self) {
        let _ = self.child.kill();
        self.wait();
    }
}

fn parse(line: &str) -> Option<Said> {
    let words: Vec<&str> = line.strip_suffix(END)?.split(' ').collect();
    let own = |word: &str| word.to_owned();
    match words[..] {
        ["@try", session, text] => Some(Said::Tries { session: own(session), text: own(text) }),
        ["@wrote", session, sequence, text] => {
            let sequence = sequence.parse().ok()?;
            Some(Said::Wrote { session: own(session), sequence, text: own(text) })
        }
        ["@put", session, key] => Some(Said::Put { session: own(session), key: own(key) }),
        _ => None,
    }
}

/// Not a test of its own: the process that the tests start and kill.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn works_until_it_is_told_to_stop() {
    let Ok(url) = std::env::var(URL) else { return };
    let variable = |name| std::env::var(name).unwrap();
    let sessions = variable(SESSIONS).split(',').map(|id| id.parse().unwrap()).collect();
    let random = Random::new(variable(SEED).parse().unwrap());
    let is_over = Arc::new(AtomicBool::new(false));
    let over = Arc::clone(&is_over);
    std::thread::spawn(move || {
        let _ = std::io::stdin().read_to_end(&mut Vec::new());
        over.store(true, Ordering::Relaxed);
    });
    let name = variable(NAME);
    let database = loop {
        let mut options = PostgresOptions::new(&url, &name);
        options.connections = 4;
        match PostgresDatabase::open(options).await {
            Ok(database) => break database,
            Err(_) if is_over.load(Ordering::Relaxed) => return,
            // The way to the database is broken at the moment, or it is being started again.
            Err(_) => tokio::time::sleep(std::time::Duration::from_millis(50)).await,
        }
    };
    let mut client = Client { database, name, sessions, random, claims: 0, texts: 0 };
    while !is_over.load(Ordering::Relaxed) {
        client.work().await;
    }
}

struct Client {
    database: PostgresDatabase,
    name: String,
    sessions: Vec<SessionId>,
    random: Random,
    claims: u64,
    texts: u64,
}

impl Client {
    /// Claims a session and writes to it for a while, or asks its holder for something.
    async fn work(&mut self) {
        let id = self.sessions[self.random.below(self.sessions.len() as u64) as usize].clone();
        match self.database.store(PROJECT).claim(&id).await {
            Ok(lease) => {
                self.claims += 1;
                for _ in 0..1 + self.random.below(8) {
                    if self.write(&id).await.is_err() {
                        break;
                    }
                }
                match self.random.below(4) {
                    // As after a bug that forgets to release: the next claim of this process takes it.
                    0 => drop(lease),
                    _ => lease.release().await,
                }
            }
            Err(_) => self.put(&id).await,
        }
    }

    async fn write(&mut self, id: &SessionId) -> Result<(), StoreError> {
        let items = match self.random.below(2) {
            0 => self.database.inbox(id).await?,
            _ => Vec::new(),
        };
        let mut texts: Vec<String> = Vec::new();
        for item in &items {
            texts.push(format!("item-{}@{}", item.key, self.text()));
        }
        for _ in 0..1 + self.random.below(3) {
            texts.push(self.text());
        }
        texts.iter().for_each(|text| say(&format!("@try {id} {text}")));
        let events = texts.iter().map(|text| says(text)).collect();
        let done: Vec<i64> = items.iter().map(|item| item.number).collect();
        let entries = self.database.append_taking(id, events, &done).await?;
        for (entry, text) in entries.iter().zip(&texts) {
            say(&format!("@wrote {id} {} {text}", entry.sequence));
        }
        Ok(())
    }

    fn text(&mut self) -> String {
        self.texts += 1;
        format!("{}.{}-{}", self.name, self.claims, self.texts)
    }

    async fn put(&mut self, id: &SessionId) {
        self.texts += 1;
        let key = format!("{}_{}", self.name, self.texts);
        if self.database.put(id, &key, json!(key)).await.is_ok() {
            say(&format!("@put {id} {key}"));
        }
    }
}

#[allow(clippy::print_stdout, reason = "it tells the test what it does")]
fn say(line: &str) {
    // The harness may have left a line of its own unfinished.
    println!("\n{line}{END}");
}
