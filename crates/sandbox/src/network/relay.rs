//! Copies bytes between two sockets until both sides are done.

use std::io::{Read as _, Write as _};
use std::net::{Shutdown, TcpStream};
use std::os::fd::AsFd as _;
use std::time::{Duration, Instant};

use net::{Stop, wait};
use rustix::event::{PollFd, PollFlags};

use super::waiting::is_early;
use crate::cancel::Canceller;

/// Read at once in each direction; two such buffers exist for every open connection.
const BUFFER_BYTES: usize = 32 * 1024;

struct RelayDirection<'s> {
    from: &'s TcpStream,
    to: &'s TcpStream,
    buffer: Vec<u8>,
    /// What of the buffer waits to be written.
    waiting: std::ops::Range<usize>,
    /// How much may still be read; none if there is no limit.
    left: Option<u64>,
    state: RelayState,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum RelayState {
    Reading,
    /// There is nothing more to read.
    Finishing,
    Done,
}

/// Which socket of a direction is closed.
enum Side {
    From,
    To,
}

impl<'s> RelayDirection<'s> {
    fn new(
        from: &'s TcpStream,
        to: &'s TcpStream,
        first: Vec<u8>,
        left: Option<u64>,
    ) -> RelayDirection<'s> {
        let waiting = 0..first.len();
        let mut flow =
            RelayDirection { from, to, buffer: first, waiting, left, state: RelayState::Reading };
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
            self.state = RelayState::Finishing;
        }
    }

    /// Moves what can be moved without waiting. Returns whether anything was, or which side is gone.
    fn pump(&mut self) -> Result<bool, Side> {
        let mut moved = false;
        while self.state != RelayState::Done {
            let is_writing = !self.waiting.is_empty();
            let done = if is_writing {
                let bytes = &self.buffer[self.waiting.clone()];
                let mut to = self.to;
                to.write(bytes).map(|count| self.waiting.start += count)
            } else if self.state == RelayState::Finishing {
                self.state = RelayState::Done;
                // With a limit, the other direction is still needed for the answer, and some servers
                // take an end of the stream for a client that has disconnected.
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
                        self.state = RelayState::Finishing;
                    }
                    self.keep_to_limit();
                })
            };
            match done {
                Ok(()) => moved = true,
                Err(error) if is_early(error.kind()) => break,
                Err(_) if is_writing => return Err(Side::To),
                Err(_) => return Err(Side::From),
            }
        }
        Ok(moved)
    }

    fn waits_for(&self) -> Option<PollFd<'s>> {
        match (self.state, self.waiting.is_empty()) {
            (RelayState::Done, _) => None,
            (_, false) => Some(PollFd::from_borrowed_fd(self.to.as_fd(), PollFlags::OUT)),
            (_, true) => Some(PollFd::from_borrowed_fd(self.from.as_fd(), PollFlags::IN)),
        }
    }
}

/// What was already read from each side, and how much more of the client's is passed on.
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
    let mut there = RelayDirection::new(client, server, begun.by_client, begun.client_limit);
    let mut back = RelayDirection::new(server, client, begun.by_server, None);
    let mut deadline = Instant::now() + idle;
    loop {
        let sent = match there.pump() {
            // A server that no longer reads may still be answering.
            Err(Side::To) => {
                there.state = RelayState::Done;
                true
            }
            pumped => pumped.map_err(|_| Stop::Broken)?,
        };
        let received = back.pump().map_err(|_| Stop::Broken)?;
        if sent || received {
            deadline = Instant::now() + idle;
        }
        let fds: Vec<PollFd<'_>> =
            [&there, &back].into_iter().filter_map(RelayDirection::waits_for).collect();
        if fds.is_empty() {
            return Ok(());
        }
        wait(&fds, ended, Some(deadline))?;
    }
}

#[cfg(test)]
mod tests {
    use std::net::TcpListener;

    use super::*;

    fn pair() -> (TcpStream, TcpStream) {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let near =
            TcpStream::connect(listener.local_addr().expect("an address")).expect("a socket");
        near.set_nonblocking(true).expect("a socket");
        (near, listener.accept().expect("a connection").0)
    }

    #[test]
    fn an_answer_arrives_though_the_server_does_not_hear_the_rest() {
        let ((client, mut far_client), (server, mut far_server)) = (pair(), pair());
        far_server.write_all(b"no").expect("it is kept");
        drop(far_server);
        server.shutdown(Shutdown::Write).expect("a socket");
        let begun =
            Begun { by_client: b"body".to_vec(), by_server: Vec::new(), client_limit: None };
        let ended = Canceller::new().expect("a handle");
        assert_eq!(relay(&client, &server, begun, &ended, Duration::from_secs(60)), Ok(()));
        let mut answer = String::new();
        far_client.read_to_string(&mut answer).expect("it ends");
        assert_eq!(answer, "no");
    }

    #[test]
    fn silence_ends_a_connection() {
        let ((client, _far_client), (server, _far_server)) = (pair(), pair());
        let begun = Begun { by_client: Vec::new(), by_server: Vec::new(), client_limit: None };
        let ended = Canceller::new().expect("a handle");
        let relayed = relay(&client, &server, begun, &ended, Duration::from_millis(1));
        assert_eq!(relayed, Err(Stop::TimedOut));
    }
}
