//! Whatever breaks, no acknowledged event is lost, none is there twice, and the order of each log is unbroken: clients
//! in processes of their own, faults at random, and a checker of the whole history, in the manner of Jepsen.
//!
//! `TOOLKILN_SOAK_RUNS` says how many runs `soak` makes, and `TOOLKILN_SOAK_SEED` with which one it begins.

mod checker;
pub(crate) mod random;
mod writer;

use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::time::{Duration, Instant};

use protocol::{Content, LogEntry, SessionEvent};
use store::{Exchange as _, PostgresDatabase, SessionId, Store as _};
use testkit::{FaultProxy, Postgres};

use self::checker::{History, ItemEnd, Placed, violations};
use self::random::Random;
use self::writer::{Said, Writer};
use crate::events::opened;
use crate::stage::{CONNECTIONS, PROJECT, replica};

const WRITERS: usize = 3;
const SESSIONS: usize = 3;
/// How many faults there are in one run, and those of the short one in the suite.
const FAULTS: usize = 12;
const FAULTS_IN_SHORT: [Fault; 5] =
    [Fault::Cut(0), Fault::Pause(1), Fault::KillWriter(2), Fault::KillServer, Fault::Heal];
/// Lines of clients between two faults.
const LINES_BETWEEN: u64 = 60;
/// The next fault comes after this long if the one before has silenced all clients. Longer than a replica needs to be
/// declared dead now and then, so that takeovers are among what happens.
const SILENCES_MS: [u64; 4] = [50, 300, 1500, 6000];
/// All clients write again within this time after the last fault.
const WATCHDOG: Duration = Duration::from_secs(90);
const SOAK_LANES: u64 = 3;

/// What can break.
#[derive(Clone, Copy, Debug)]
enum Fault {
    Pause(usize),
    Cut(usize),
    Refuse(usize),
    Delay(usize, u64),
    KillWriter(usize),
    KillServer,
    Heal,
}

impl Fault {
    fn any(random: &mut Random) -> Self {
        let writer = random.below(WRITERS as u64) as usize;
        match random.below(16) {
            0..=3 => Self::Pause(writer),
            4..=6 => Self::Cut(writer),
            7 => Self::Refuse(writer),
            8..=9 => Self::Delay(writer, random.below(30)),
            10..=12 => Self::KillWriter(writer),
            13 => Self::KillServer,
            _ => Self::Heal,
        }
    }
}

struct Run<'a> {
    server: &'a mut Postgres,
    database: &'a testkit::PostgresDatabase,
    proxies: Vec<FaultProxy>,
    writers: Vec<Option<Writer>>,
    sessions: Vec<SessionId>,
    sender: Sender<Said>,
    said: Receiver<Said>,
    /// Processes that were started, so that each has another name.
    started: u64,
    random: Random,
    history: History,
}

impl Run<'_> {
    fn start_writer(&mut self, number: usize) {
        self.started += 1;
        let url = self.database.url_through(self.proxies[number].port());
        let name = format!("w{}", self.started);
        let seed = self.random.next();
        let writer = Writer::start(&url, &name, &self.sessions, seed, self.sender.clone());
        self.writers[number] = Some(writer);
    }

    fn perform(&mut self, fault: Fault) {
        match fault {
            Fault::Pause(number) => self.proxies[number].pause(),
            Fault::Cut(number) => self.proxies[number].cut(),
            Fault::Refuse(number) => {
                self.proxies[number].refuse(true);
                self.proxies[number].cut();
            }
            Fault::Delay(number, ms) => self.proxies[number].delay(Duration::from_millis(ms)),
            Fault::KillWriter(number) => {
                if let Some(writer) = self.writers[number].take() {
                    writer.kill();
                }
                self.start_writer(number);
            }
            Fault::KillServer => {
                self.server.kill();
                self.server.restart();
            }
            Fault::Heal => self.heal(),
        }
    }

    fn heal(&mut self) {
        for proxy in &self.proxies {
            proxy.resume();
            proxy.refuse(false);
            proxy.delay(Duration::ZERO);
        }
    }

    /// Takes what clients say until they have said enough or nothing for too long.
    fn listen(&mut self, lines: u64, silence: Duration) {
        for _ in 0..lines {
            match self.said.recv_timeout(silence) {
                Ok(line) => self.take(line),
                Err(RecvTimeoutError::Timeout) => return,
                Err(RecvTimeoutError::Disconnected) => unreachable!("we hold a sender"),
            }
        }
    }

    fn take(&mut self, line: Said) {
        match line {
            Said::Tries { session, text } => drop(self.history.tried.insert((session, text))),
            Said::Wrote { session, sequence, text } => {
                self.history.acknowledged.push(Placed { session, sequence, text });
            }
            Said::Put { session, key } => drop(self.history.put.insert((session, key))),
        }
    }

    /// Waits until every client has written once more.
    fn recover(&mut self) {
        let mut silent: Vec<String> = Vec::new();
        for number in 0..WRITERS {
            // With a name of its own, so that what it writes is known to come after the faults.
            if let Some(writer) = self.writers[number].take() {
                writer.kill();
            }
            self.start_writer(number);
            silent.push(format!("w{}.", self.started));
        }
        let deadline = Instant::now() + WATCHDOG;
        while !silent.is_empty() {
            let left = deadline.saturating_duration_since(Instant::now());
            let line = self.said.recv_timeout(left);
            let line = line.unwrap_or_else(|_| panic!("{silent:?} did not write any more"));
            if let Said::Wrote { text, .. } = &line {
                silent.retain(|name| !text.contains(name.as_str()));
            }
            self.take(line);
        }
    }

    fn stop(&mut self) {
        self.writers.iter_mut().filter_map(Option::take).for_each(Writer::stop);
        while let Ok(line) = self.said.try_recv() {
            self.take(line);
        }
    }
}

fn text_of(entry: &LogEntry) -> Option<String> {
    match &entry.event {
        SessionEvent::UserMessage { content } => match content.first() {
            Some(Content::Text { text }) => Some(text.to_string()),
            _ => None,
        },
        _ => None,
    }
}

/// Reads what is there, as a watcher does.
async fn watch(reader: &PostgresDatabase, sessions: &[SessionId], seen: &mut Vec<Placed>) {
    for id in sessions {
        let after = seen.iter().filter(|it| it.session == id.as_str()).map(|it| it.sequence).max();
        // A server that is being started again is looked at later.
        let Ok(entries) = reader.entries_after(id, after.unwrap_or(1), 1000).await else { return };
        let placed = entries.iter().filter_map(|entry| {
            let (session, sequence) = (id.to_string(), entry.sequence);
            Some(Placed { session, sequence, text: text_of(entry)? })
        });
        seen.extend(placed);
    }
}

/// One run with its own database; returns what must not be, and how much was written.
fn run(server: &mut Postgres, seed: u64, faults: Option<&[Fault]>) -> (Vec<String>, usize) {
    let runtime =
        tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap();
    let database = server.database();
    let reader = runtime.block_on(replica(&database, "reader"));
    let store = reader.store(PROJECT);
    let begin = async || store.create(&opened()).await.unwrap();
    let sessions: Vec<SessionId> = (0..SESSIONS).map(|_| runtime.block_on(begin())).collect();
    let (sender, said) = channel();
    let mut run = Run {
        proxies: (0..WRITERS).map(|_| FaultProxy::to(database.server_address())).collect(),
        writers: (0..WRITERS).map(|_| None).collect(),
        sessions: sessions.clone(),
        server,
        database: &database,
        sender,
        said,
        started: 0,
        random: Random::new(seed),
        history: History::default(),
    };
    (0..WRITERS).for_each(|number| run.start_writer(number));
    run.listen(LINES_BETWEEN, Duration::from_secs(10));
    let mut seen = Vec::new();
    let any = (0..FAULTS).map(|_| Fault::any(&mut run.random));
    for fault in faults.map_or_else(|| any.collect(), <[Fault]>::to_vec) {
        run.perform(fault);
        let silence = SILENCES_MS[run.random.below(SILENCES_MS.len() as u64) as usize];
        run.listen(LINES_BETWEEN, Duration::from_millis(silence));
        runtime.block_on(watch(&reader, &sessions, &mut seen));
    }
    run.heal();
    run.recover();
    run.stop();
    let Run { mut history, .. } = run;
    history.seen = seen;
    runtime.block_on(read_end(&reader, &database, &sessions, &mut history));
    (violations(&history), history.acknowledged.len())
}

/// The logs and the inboxes in the end.
async fn read_end(
    reader: &PostgresDatabase,
    database: &testkit::PostgresDatabase,
    sessions: &[SessionId],
    history: &mut History,
) {
    for id in sessions {
        // The first question on each connection that the server has forgotten fails.
        let mut loaded = reader.store(PROJECT).load(id).await;
        for _ in 0..CONNECTIONS {
            if loaded.is_err() {
                loaded = reader.store(PROJECT).load(id).await;
            }
        }
        let loaded = loaded.unwrap();
        assert_eq!(loaded.damage, Vec::<String>::new());
        let log = loaded.entries.iter().map(|entry| (entry.sequence, text_of(entry))).collect();
        history.logs.insert(id.to_string(), log);
    }
    for line in database.sql("SELECT session, key, state FROM inbox").lines() {
        let words: Vec<&str> = line.split('|').collect();
        let end = if words[2] == "done" { ItemEnd::Done } else { ItemEnd::Waiting };
        history.items.insert((words[0].to_owned(), words[1].to_owned()), end);
    }
}

fn server() -> Option<Postgres> {
    // Killed processes lose nothing that the system has taken from them, so that nothing waits for the disk.
    Postgres::start(&["fsync=off", "full_page_writes=off"])
}

#[test]
fn a_short_history_with_faults_has_no_violations() {
    let Some(mut server) = server() else { return };
    let seed = 20_261_118;
    let (found, written) = run(&mut server, seed, Some(&FAULTS_IN_SHORT));
    assert_eq!(found, Vec::<String>::new(), "seed {seed}");
    assert!(written > 0);
}

#[test]
#[allow(clippy::print_stderr, reason = "a soak says how far it is")]
fn soak() {
    let number = |name: &str| std::env::var(name).ok().and_then(|text| text.parse::<u64>().ok());
    let Some(runs) = number("TOOLKILN_SOAK_RUNS") else { return };
    let first = number("TOOLKILN_SOAK_SEED").unwrap_or(1);
    let next = std::sync::atomic::AtomicU64::new(0);
    std::thread::scope(|scope| {
        for _ in 0..SOAK_LANES.min(runs) {
            scope.spawn(|| {
                let Some(mut server) = server() else { return };
                loop {
                    let number = next.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
                    if number >= runs {
                        return;
                    }
                    let seed = first + number;
                    let begun = Instant::now();
                    let (found, written) = run(&mut server, seed, None);
                    assert_eq!(found, Vec::<String>::new(), "seed {seed}");
                    let time = begun.elapsed().as_secs();
                    eprintln!(
                        "run {number} of {runs}, seed {seed}: {written} appended in {time} s"
                    );
                }
            });
        }
    });
}
