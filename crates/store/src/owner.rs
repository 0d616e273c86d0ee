//! Which process has a session, and whether it still lives.

use std::fmt;

use rustix::fs::{Mode, OFlags, open};
use rustix::process::{Pid, test_kill_process};

use crate::StoreError;
use crate::id::random_bits;

/// Of a process on another machine nothing is known but what it writes. Its lease is abandoned after
/// this long without a write.
const ABANDONED_AFTER_MS: i64 = 15 * 60 * 1000;

/// Enough for one line of `/proc/<pid>/stat`.
const STAT_BYTES: usize = 1024;
/// Where the state and the start time stand in that line, counted from behind the name.
const STATE_FIELD: usize = 0;
const START_FIELD: usize = 19;

/// A process that has a session.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize)]
pub struct Holder {
    /// The name of its machine.
    pub host: String,
    /// Its process id there.
    pub pid: u32,
    /// Since when it has the session: milliseconds since 1970, UTC.
    pub since: i64,
}

impl fmt::Display for Holder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.pid == std::process::id() && self.host == host() {
            return write!(f, "this process ({})", self.pid);
        }
        write!(f, "process {} on {}", self.pid, self.host)
    }
}

/// One opened store, as it signs its leases.
#[derive(Clone, Debug)]
pub(crate) struct Owner {
    /// Differs between stores, also within one process.
    pub(crate) token: i64,
    pub(crate) host: String,
    pub(crate) pid: u32,
    /// When the process began, in ticks since the machine did. A process id alone may be reused.
    pub(crate) start: Option<i64>,
}

impl Owner {
    pub(crate) fn this_process() -> Result<Self, StoreError> {
        let pid = std::process::id();
        let token = i64::from_ne_bytes(random_bits()?.to_ne_bytes());
        let start = process_start(pid).and_then(Result::ok);
        Ok(Self { token, host: host(), pid, start })
    }
}

/// A lease as it is written down.
#[derive(Clone, Debug)]
pub(crate) struct SignedLease {
    pub(crate) owner: i64,
    pub(crate) holder: Holder,
    pub(crate) start: Option<i64>,
    /// When the session was last written to.
    pub(crate) active: i64,
}

impl SignedLease {
    /// Whether the process that signed it may still be writing.
    pub(crate) fn is_alive(&self, now: i64) -> bool {
        if self.holder.host != host() {
            return now.saturating_sub(self.active.max(self.holder.since)) < ABANDONED_AFTER_MS;
        }
        match (process_start(self.holder.pid), self.start) {
            (Some(Ok(start)), Some(signed)) => start == signed,
            (Some(Err(Dead)), _) => false,
            (Some(Ok(_)) | None, _) => answers(self.holder.pid),
        }
    }
}

struct Dead;

/// When a process began; none where the system does not say.
fn process_start(pid: u32) -> Option<Result<i64, Dead>> {
    let flags = OFlags::RDONLY | OFlags::CLOEXEC;
    open("/proc/self/stat", flags, Mode::empty()).ok()?;
    let Ok(file) = open(format!("/proc/{pid}/stat"), flags, Mode::empty()) else {
        return Some(Err(Dead));
    };
    let mut line = [0; STAT_BYTES];
    let Ok(length) = rustix::io::read(&file, &mut line) else { return Some(Err(Dead)) };
    parse_stat(&String::from_utf8_lossy(&line[..length]))
}

/// The name of the program, in parentheses, may hold anything; what follows has fixed places.
fn parse_stat(line: &str) -> Option<Result<i64, Dead>> {
    let (_, rest) = line.rsplit_once(')')?;
    let fields: Vec<&str> = rest.split_whitespace().collect();
    if matches!(*fields.get(STATE_FIELD)?, "Z" | "X") {
        return Some(Err(Dead));
    }
    fields.get(START_FIELD)?.parse().ok().map(Ok)
}

fn answers(pid: u32) -> bool {
    let pid = i32::try_from(pid).ok().and_then(Pid::from_raw);
    let Some(pid) = pid else { return false };
    // A process of another user refuses the signal, but it is there.
    !matches!(test_kill_process(pid), Err(rustix::io::Errno::SRCH))
}

fn host() -> String {
    rustix::system::uname().nodename().to_string_lossy().into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lease(host: &str, pid: u32, start: Option<i64>) -> SignedLease {
        let holder = Holder { host: host.to_owned(), pid, since: 1_000 };
        SignedLease { owner: 1, holder, start, active: 5_000 }
    }

    #[test]
    fn a_living_process_is_known_by_its_start_and_not_by_its_id_alone() {
        let me = Owner::this_process().unwrap();
        assert!(lease(&me.host, me.pid, me.start).is_alive(0));
        assert!(lease(&me.host, me.pid, None).is_alive(0));
        assert!(!lease(&me.host, me.pid, me.start.map(|start| start + 1)).is_alive(0));
        assert!(!lease(&me.host, u32::MAX, Some(1)).is_alive(0));
        assert!(!lease(&me.host, u32::MAX, None).is_alive(0));
    }

    #[test]
    fn another_machine_is_believed_for_a_while() {
        let foreign = lease("somewhere.else.invalid", 1, None);
        assert!(foreign.is_alive(5_000 + ABANDONED_AFTER_MS - 1));
        assert!(!foreign.is_alive(5_000 + ABANDONED_AFTER_MS));
        assert_eq!(foreign.holder.to_string(), "process 1 on somewhere.else.invalid");
    }

    #[test]
    fn the_line_about_a_process_is_read_behind_its_name() {
        let line = |state: &str| {
            format!("7 (a ) b) {state} 1 1 1 0 -1 4 1 0 0 0 1 1 0 0 20 0 1 0 4242 99 1")
        };
        assert!(matches!(parse_stat(&line("S")), Some(Ok(4242))));
        assert!(matches!(parse_stat(&line("Z")), Some(Err(Dead))));
        assert!(parse_stat("7 (a").is_none());
    }
}
