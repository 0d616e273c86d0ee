//! A client that follows the log of a session, at whichever replica there is.

use std::io::BufRead as _;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::sleep;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use super::cluster::Cluster;

/// After how long a watcher that lost its replica tries another.
const AGAIN: Duration = Duration::from_millis(100);
/// Milliseconds that are told apart; all that takes longer is one.
const BUCKETS: usize = 20_000;

/// What is known of a session.
pub(super) struct SessionLog {
    pub(super) session: String,
    known: Mutex<Known>,
    changed: Condvar,
}

#[derive(Default)]
struct Known {
    last: u64,
    /// Where the last turn ended.
    ended: u64,
    turns: u64,
    /// The last entry there will be.
    end: Option<u64>,
}

impl SessionLog {
    pub(super) fn new(session: String) -> Self {
        Self { session, known: Mutex::default(), changed: Condvar::new() }
    }

    fn known(&self) -> MutexGuard<'_, Known> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn saw(&self, sequence: u64, is_end: bool) {
        let mut known = self.known();
        known.last = known.last.max(sequence);
        if is_end && sequence > known.ended {
            known.ended = sequence;
            known.turns += 1;
        }
        drop(known);
        self.changed.notify_all();
    }

    pub(super) fn last(&self) -> u64 {
        self.known().last
    }

    pub(super) fn turns(&self) -> u64 {
        self.known().turns
    }

    /// Waits until a turn has ended after this entry.
    pub(super) fn wait_for_turn(&self, after: u64, patience: Duration) -> bool {
        let waiting =
            self.changed.wait_timeout_while(self.known(), patience, |it| it.ended <= after);
        !waiting.unwrap_or_else(PoisonError::into_inner).1.timed_out()
    }

    /// Nothing comes after this entry.
    pub(super) fn ends_at(&self, last: u64) {
        self.known().end = Some(last);
    }

    fn end(&self) -> Option<u64> {
        self.known().end
    }
}

/// How long entries took.
pub(super) struct Figures {
    buckets: Vec<AtomicU64>,
}

impl Default for Figures {
    fn default() -> Self {
        Self { buckets: (0..BUCKETS).map(|_| AtomicU64::new(0)).collect() }
    }
}

impl Figures {
    fn note(&self, milliseconds: u64) {
        let at = usize::try_from(milliseconds).unwrap_or(BUCKETS).min(BUCKETS - 1);
        self.buckets[at].fetch_add(1, Ordering::Relaxed);
    }

    /// What was measured so far; measuring begins anew.
    pub(super) fn take(&self) -> Measured {
        Measured(self.buckets.iter().map(|bucket| bucket.swap(0, Ordering::Relaxed)).collect())
    }
}

/// How many entries took how many milliseconds.
pub(super) struct Measured(Vec<u64>);

impl Measured {
    /// The time within which so many of a hundred entries came.
    pub(super) fn percentile(&self, percent: u64) -> Duration {
        let wanted = self.count() * percent / 100;
        let mut seen = 0;
        let at = self.0.iter().position(|count| {
            seen += count;
            seen > wanted
        });
        Duration::from_millis(at.unwrap_or(0) as u64)
    }

    fn count(&self) -> u64 {
        self.0.iter().sum()
    }

    pub(super) fn summary(&self) -> String {
        let at = |percent| self.percentile(percent).as_millis();
        let max = self.0.iter().rposition(|count| *count > 0).unwrap_or(0);
        format!(
            "{} entries from the append to a watcher, p50 {} ms, p90 {} ms, p99 {} ms, max {max} ms",
            self.count(),
            at(50),
            at(90),
            at(99)
        )
    }
}

pub(super) struct Watcher {
    number: usize,
    log: Arc<SessionLog>,
    /// Whether the session's own knowledge comes from here.
    is_first: bool,
    last: u64,
    problems: Vec<String>,
}

impl Watcher {
    pub(super) fn new(number: usize, log: Arc<SessionLog>, is_first: bool) -> Self {
        Self { number, log, is_first, last: 0, problems: Vec::new() }
    }

    pub(super) fn last(&self) -> u64 {
        self.last
    }

    /// Watches until it is over and everything was seen, or until there is no more to wait for.
    pub(super) fn watch(&mut self, cluster: &Cluster, figures: &Figures, is_over: &AtomicBool) {
        let mut stop_at = None;
        for attempt in 0.. {
            self.follow(cluster, figures, self.number + attempt);
            if is_over.load(Ordering::SeqCst) {
                let end = *stop_at.get_or_insert_with(|| Instant::now() + super::REST);
                if self.has_all() || Instant::now() > end {
                    return;
                }
            }
            sleep(AGAIN);
        }
    }

    fn has_all(&self) -> bool {
        self.log.end().is_some_and(|end| self.last >= end)
    }

    /// Follows at one replica until it goes away, or everything was seen.
    fn follow(&mut self, cluster: &Cluster, figures: &Figures, slot: usize) {
        let target = format!("GET /api/sessions/{}/log?after={}", self.log.session, self.last);
        let Ok(mut lines) = cluster.request(slot, &target, "", None).stream() else { return };
        let connected = milliseconds();
        let (mut line, mut is_entry) = (String::new(), false);
        loop {
            line.clear();
            match lines.read_line(&mut line) {
                Ok(0) | Err(_) => return,
                Ok(_) => {}
            }
            if let Some(name) = line.strip_prefix("event: ") {
                is_entry = name.trim_end() == "entry";
            } else if let Some(data) = line.strip_prefix("data: ") {
                if is_entry {
                    self.entry(data, connected, figures);
                }
                if self.has_all() {
                    return;
                }
            }
        }
    }

    fn entry(&mut self, data: &str, connected: u64, figures: &Figures) {
        let (Some(sequence), Some(at)) = (number(data, "\"sequence\":"), number(data, "\"at\":"))
        else {
            return self.problems.push(format!("{}: no entry: {data}", self.log.session));
        };
        if sequence != self.last + 1 {
            let told = format!("{}: {sequence} after {}", self.log.session, self.last);
            self.problems.push(told);
        }
        self.last = sequence;
        // What was there before is not news.
        if at >= connected {
            figures.note(milliseconds().saturating_sub(at));
        }
        if self.is_first {
            self.log.saw(sequence, data.contains(r#""type":"turn_ended""#));
        }
    }

    /// What is wrong with what was seen.
    pub(super) fn problems(self) -> Vec<String> {
        let mut problems = self.problems;
        if let Some(end) = self.log.end().filter(|end| self.last < *end) {
            problems.push(format!("{}: a watcher has {} of {end}", self.log.session, self.last));
        }
        problems
    }
}

/// The first number after a name.
fn number(data: &str, name: &str) -> Option<u64> {
    let rest = &data[data.find(name)? + name.len()..];
    let digits = rest.find(|c: char| !c.is_ascii_digit()).unwrap_or(rest.len());
    rest[..digits].parse().ok()
}

fn milliseconds() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since.as_millis()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percentiles_are_taken_from_what_was_noted() {
        let figures = Figures::default();
        (1..=100).for_each(|milliseconds| figures.note(milliseconds));
        figures.note(u64::MAX);
        let measured = figures.take();
        assert_eq!(measured.percentile(50), Duration::from_millis(51));
        assert_eq!(measured.percentile(99), Duration::from_millis(100));
        assert_eq!(figures.take().count(), 0);
    }

    #[test]
    fn an_entry_tells_its_place_and_time() {
        let data = r#"{"sequence":17,"at":1700000000000,"type":"turn_ended","data":"done"}"#;
        assert_eq!(number(data, "\"sequence\":"), Some(17));
        assert_eq!(number(data, "\"at\":"), Some(1_700_000_000_000));
        assert_eq!(number("{}", "\"at\":"), None);
    }
}
