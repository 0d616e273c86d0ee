//! `cargo xtask soak replicas`: three replicas on one PostgreSQL with many sessions and watchers, first without faults, to
//! measure how long an entry takes from the database to those who watch, then with replicas killed every few seconds.
//! Whatever happens, every turn ends and every watcher gets the whole log, each entry once and in order.

mod cluster;
mod http;
mod talker;
mod watcher;

use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, bail, ensure};

use self::cluster::Cluster;
use self::talker::Talker;
use self::watcher::{Figures, SessionLog, Watcher};
use crate::house::House;

/// Replicas of the service.
const REPLICAS: usize = 3;
/// How often one is killed, and for how long it stays away.
const KILL_EVERY: Duration = Duration::from_secs(5);
const AWAY: Duration = Duration::from_secs(2);
/// Nothing is measured before.
const WARM_UP: Duration = Duration::from_secs(15);
/// How long everything may take to come to rest after the last fault.
const REST: Duration = Duration::from_secs(90);
/// From the append to the watcher, where there are no faults.
const TARGET: Duration = Duration::from_millis(100);
/// Threads that only wait need little.
const STACK: usize = 256 * 1024;

/// How much is done.
pub(crate) struct Load {
    seconds: u64,
    sessions: usize,
    watchers: usize,
    profile: &'static str,
}

impl Load {
    /// What the words of the command line say.
    pub(crate) fn parse(words: &[&str]) -> Result<Self> {
        let mut load = Self { seconds: 60, sessions: 200, watchers: 1_000, profile: "release" };
        let mut words = words.iter();
        while let Some(word) = words.next() {
            let mut number = || -> Result<usize> {
                let value = words.next().with_context(|| format!("{word} needs a number"))?;
                value.parse().with_context(|| format!("{word} {value} is not a number"))
            };
            match *word {
                "--seconds" => load.seconds = number()? as u64,
                "--sessions" => load.sessions = number()?,
                "--watchers" => load.watchers = number()?,
                "--debug" => load.profile = "debug",
                other => bail!("`{other}` is not an option of `soak replicas`"),
            }
        }
        ensure!(
            load.sessions > 0 && load.watchers >= load.sessions,
            "each session needs a watcher"
        );
        Ok(load)
    }
}

/// Runs both parts.
pub(crate) fn run(load: &Load) -> Result<ExitCode> {
    let house = House::find()?;
    let binary = house.build(load.profile)?;
    let cluster = Arc::new(Cluster::start(&binary, REPLICAS)?);
    let crowd = Crowd::gather(&cluster, load)?;
    let time = Duration::from_secs(load.seconds);
    println!("{} sessions and {} watchers at {REPLICAS} replicas", load.sessions, load.watchers);

    // Every session has had its first turn then, and every watcher its place.
    thread::sleep(WARM_UP);
    crowd.figures.take();
    thread::sleep(time);
    let quiet = crowd.figures.take();
    println!("without faults, {} s: {}", load.seconds, quiet.summary());

    let end = Instant::now() + time;
    let mut kills = 0;
    while Instant::now() < end {
        let victim = kills % REPLICAS;
        cluster.kill(victim)?;
        thread::sleep(AWAY);
        cluster.revive(victim)?;
        kills += 1;
        thread::sleep(KILL_EVERY - AWAY);
    }
    let faulty = crowd.figures.take();
    println!("{kills} replicas killed, {} s: {}", load.seconds, faulty.summary());
    let problems = crowd.come_to_rest(&cluster)?;
    problems.iter().take(20).for_each(|problem| println!("  {problem}"));
    let is_fast = quiet.percentile(99) <= TARGET;
    if !is_fast {
        println!("the target without faults is a p99 of {} ms", TARGET.as_millis());
    }
    Ok(if problems.is_empty() && is_fast { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// Those who talk and those who watch.
struct Crowd {
    logs: Vec<Arc<SessionLog>>,
    figures: Arc<Figures>,
    is_over: Arc<AtomicBool>,
    talkers: Vec<thread::JoinHandle<Vec<String>>>,
    watchers: Vec<thread::JoinHandle<Watcher>>,
}

impl Crowd {
    fn gather(cluster: &Arc<Cluster>, load: &Load) -> Result<Self> {
        let logs: Result<Vec<_>> = (0..load.sessions)
            .map(|number| Ok(Arc::new(SessionLog::new(cluster.begin(number % REPLICAS)?))))
            .collect();
        let (logs, figures) = (logs?, Arc::new(Figures::default()));
        let is_over = Arc::new(AtomicBool::new(false));
        let mut watchers = Vec::new();
        for number in 0..load.watchers {
            let log = Arc::clone(&logs[number % logs.len()]);
            let is_first = number < logs.len();
            let mut watcher = Watcher::new(number, log, is_first);
            let (cluster, figures) = (Arc::clone(cluster), Arc::clone(&figures));
            let is_over = Arc::clone(&is_over);
            watchers.push(spawn(move || {
                watcher.watch(&cluster, &figures, &is_over);
                watcher
            })?);
        }
        let mut talkers = Vec::new();
        for (number, log) in logs.iter().enumerate() {
            let mut talker = Talker::new(number, Arc::clone(log));
            let (cluster, is_over) = (Arc::clone(cluster), Arc::clone(&is_over));
            talkers.push(spawn(move || talker.talk(&cluster, &is_over))?);
        }
        Ok(Self { logs, figures, is_over, talkers, watchers })
    }

    /// Lets all clients finish. Answers with what is wrong.
    fn come_to_rest(self, cluster: &Cluster) -> Result<Vec<String>> {
        self.is_over.store(true, Ordering::SeqCst);
        let mut problems = Vec::new();
        let mut turns = 0;
        for talker in self.talkers {
            problems.extend(talker.join().unwrap_or_else(|_| vec!["a talker panicked".into()]));
        }
        let end = Instant::now() + REST;
        for log in &self.logs {
            match cluster.at_rest(&log.session, end) {
                Ok(last) => log.ends_at(last),
                Err(error) => {
                    problems.push(format!("{}: {error:#}", log.session));
                    log.ends_at(0);
                }
            }
            turns += log.turns();
        }
        let mut entries = 0;
        for watcher in self.watchers {
            match watcher.join() {
                Ok(watcher) => {
                    entries += watcher.last();
                    problems.extend(watcher.problems());
                }
                Err(_) => problems.push("a watcher panicked".to_owned()),
            }
        }
        println!("{turns} turns ended, {entries} entries watched, {} problems", problems.len());
        Ok(problems)
    }
}

fn spawn<T: Send + 'static>(
    run: impl FnOnce() -> T + Send + 'static,
) -> Result<thread::JoinHandle<T>> {
    thread::Builder::new().stack_size(STACK).spawn(run).context("a thread cannot be started")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_load_is_said_by_options() {
        let load = Load::parse(&["--seconds", "5", "--watchers", "300", "--debug"]).unwrap();
        assert_eq!(
            (load.seconds, load.sessions, load.watchers, load.profile),
            (5, 200, 300, "debug")
        );
        for bad in [&["--seconds"][..], &["--seconds", "x"], &["--fast"], &["--sessions", "0"]] {
            assert!(Load::parse(bad).is_err(), "{bad:?}");
        }
    }
}
