//! Bytes between two sockets, until both sides have said all.

use std::io::{Read as _, Write as _};
use std::net::{Shutdown, TcpStream};
use std::os::fd::AsFd as _;
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags};

use super::waiting::{Stop, is_early, wait};
use crate::cancel::Canceller;

const BUFFER_BYTES: usize = 32 * 1024;

/// One direction.
struct Flow<'s> {
    from: &'s TcpStream,
    to: &'s TcpStream,
    buffer: Vec<u8>,
    /// What of the buffer waits to be written.
    waiting: std::ops::Range<usize>,
    /// How much may still be read; none if there is no limit.
    left: Option<u64>,
    state: State,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum State {
    Reading,
    /// There is nothing more to read.
    Finishing,
    Done,
}

impl<'s> Flow<'s> {
    fn new(from: &'s TcpStream, to: &'s TcpStream, first: Vec<u8>, left: Option<u64>) -> Flow<'s> {
        let waiting = 0..first.len();
        let mut flow = Flow { from, to, buffer: first, waiting, left, state: State::Reading };
        flow.keep_to_limit();
        flow
    }

    /// Counts what was read, and drops what is too much.
    fn keep_to_limit(&mut self) {
        let Some(left) = &mut self.left else { return };
        let most = usize::try_from(*left).unwrap_or(usize::MAX);
        self.waiting.end = self.waiting.end.min(self.waiting.start.saturating_add(most));
        *left -= self.waiting.len() as u64;
        if *left == 0 {
            self.state = State::Finishing;
        }
    }

    /// Moves what can be moved without waiting. Tells whether anything was.
    fn pump(&mut self) -> Result<bool, Stop> {
        let mut moved = false;
        while self.state != State::Done {
            let done = if !self.waiting.is_empty() {
                let bytes = &self.buffer[self.waiting.clone()];
                let mut to = self.to;
                to.write(bytes).map(|count| self.waiting.start += count)
            } else if self.state == State::Finishing {
                self.state = State::Done;
                // With a limit, the other direction is still needed for the answer, and some servers
                // take an end of the stream for a client that went away.
                if self.left.is_none() {
                    let _ = self.to.shutdown(Shutdown::Write);
                }
                Ok(())
            } else {
                self.buffer.resize(BUFFER_BYTES, 0);
                let mut from = self.from;
                from.read(&mut self.buffer).map(|count| {
                    self.waiting = 0..count;
                    if count == 0 {
                        self.state = State::Finishing;
                    }
                    self.keep_to_limit();
                })
            };
            match done {
                Ok(()) => moved = true,
                Err(error) if is_early(error.kind()) => break,
                Err(_) => return Err(Stop::Broken),
            }
        }
        Ok(moved)
    }

    fn waits_for(&self) -> Option<PollFd<'s>> {
        match (self.state, self.waiting.is_empty()) {
            (State::Done, _) => None,
            (_, false) => Some(PollFd::from_borrowed_fd(self.to.as_fd(), PollFlags::OUT)),
            (_, true) => Some(PollFd::from_borrowed_fd(self.from.as_fd(), PollFlags::IN)),
        }
    }
}

/// What each side has already said, and how much more of the client's is passed on.
pub(super) struct Begun {
    pub(super) by_client: Vec<u8>,
    pub(super) by_server: Vec<u8>,
    pub(super) client_limit: Option<u64>,
}

/// Passes bytes on in both directions until both have ended, or nothing came for `idle`.
pub(super) fn relay(
    client: &TcpStream,
    server: &TcpStream,
    begun: Begun,
    ended: &Canceller,
    idle: Duration,
) -> Result<(), Stop> {
    let mut there = Flow::new(client, server, begun.by_client, begun.client_limit);
    let mut back = Flow::new(server, client, begun.by_server, None);
    let mut deadline = Instant::now() + idle;
    loop {
        let moved = [there.pump()?, back.pump()?];
        if moved.contains(&true) {
            deadline = Instant::now() + idle;
        }
        let fds: Vec<PollFd<'_>> =
            [&there, &back].into_iter().filter_map(Flow::waits_for).collect();
        if fds.is_empty() {
            return Ok(());
        }
        wait(&fds, ended, Some(deadline))?;
    }
}
