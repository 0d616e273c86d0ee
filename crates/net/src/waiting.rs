//! Waiting for sockets, as long as the connection is wanted.

use std::os::fd::AsFd;
use std::time::Instant;

use rustix::event::{PollFd, PollFlags, Timespec};
use rustix::io::Errno;

/// Why a connection ends before its time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stop {
    /// It is no longer wanted.
    Ended,
    /// Its time is over.
    TimedOut,
    /// The other side has closed the connection.
    Broken,
}

/// Waits for one of `fds`, but not beyond `ended`, and returns which are ready.
pub fn wait(
    fds: &[PollFd<'_>],
    ended: impl AsFd,
    deadline: Option<Instant>,
) -> Result<Vec<bool>, Stop> {
    let mut all = fds.to_vec();
    all.push(PollFd::new(&ended, PollFlags::IN));
    let timeout = deadline.map(|deadline| {
        let left = deadline.saturating_duration_since(Instant::now());
        Timespec {
            tv_sec: i64::try_from(left.as_secs()).unwrap_or(i64::MAX),
            tv_nsec: left.subsec_nanos().into(),
        }
    });
    let count = match rustix::event::poll(&mut all, timeout.as_ref()) {
        Err(Errno::INTR) => return Ok(vec![false; fds.len()]),
        polled => polled.map_err(|_| Stop::Broken)?,
    };
    let mut ready: Vec<bool> = all.iter().map(|fd| !fd.revents().is_empty()).collect();
    match ready.pop() {
        Some(false) if count == 0 => Err(Stop::TimedOut),
        Some(false) => Ok(ready),
        _ => Err(Stop::Ended),
    }
}
