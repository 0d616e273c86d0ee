//! Waiting for sockets, but not beyond the end of the command.

use std::io::{ErrorKind, Read as _, Write as _};
use std::net::TcpStream;
use std::os::fd::AsFd as _;
use std::time::Instant;

use net::{Stop, wait};
use rustix::event::{PollFd, PollFlags};

use crate::cancel::Canceller;

/// Waits for one socket.
pub(super) fn wait_for(
    socket: &TcpStream,
    flags: PollFlags,
    ended: &Canceller,
    deadline: Instant,
) -> Result<(), Stop> {
    wait(&[PollFd::from_borrowed_fd(socket.as_fd(), flags)], ended, Some(deadline)).map(drop)
}

/// Reads some bytes; none at the end of the stream.
pub(super) fn read(
    mut socket: &TcpStream,
    buffer: &mut [u8],
    ended: &Canceller,
    deadline: Instant,
) -> Result<usize, Stop> {
    loop {
        wait_for(socket, PollFlags::IN, ended, deadline)?;
        match socket.read(buffer) {
            Ok(count) => return Ok(count),
            Err(error) if is_early(error.kind()) => {}
            Err(_) => return Err(Stop::Broken),
        }
    }
}

pub(super) fn write_all(
    mut socket: &TcpStream,
    mut bytes: &[u8],
    ended: &Canceller,
    deadline: Instant,
) -> Result<(), Stop> {
    while !bytes.is_empty() {
        wait_for(socket, PollFlags::OUT, ended, deadline)?;
        match socket.write(bytes) {
            Ok(count) => bytes = &bytes[count..],
            Err(error) if is_early(error.kind()) => {}
            Err(_) => return Err(Stop::Broken),
        }
    }
    Ok(())
}

/// Whether it only has to be tried again.
pub(super) fn is_early(kind: ErrorKind) -> bool {
    matches!(kind, ErrorKind::WouldBlock | ErrorKind::Interrupted)
}

/// The longest head of a request or an answer.
pub(super) const HEAD_BYTES: usize = 16 * 1024;

/// Reads up to and with an empty line. What came after it is returned beside.
pub(super) fn read_head(
    socket: &TcpStream,
    ended: &Canceller,
    deadline: Instant,
) -> Result<(Vec<u8>, Vec<u8>), NoHead> {
    let mut head = Vec::new();
    let mut buffer = [0; PIECE_BYTES];
    loop {
        let count = read(socket, &mut buffer, ended, deadline)?;
        // The end may have begun with what was there before.
        let from = head.len().saturating_sub(EMPTY_LINE.len());
        head.extend_from_slice(&buffer[..count]);
        let found = head[from..].windows(EMPTY_LINE.len()).position(|bytes| bytes == EMPTY_LINE);
        match found.map(|at| from + at + EMPTY_LINE.len()) {
            Some(end) if end <= HEAD_BYTES => {
                let rest = head.split_off(end);
                return Ok((head, rest));
            }
            None if count == 0 => return Err(NoHead::Stopped(Stop::Broken)),
            None if head.len() < HEAD_BYTES => {}
            _ => return Err(NoHead::TooLong),
        }
    }
}

/// Read at once; most heads are shorter.
const PIECE_BYTES: usize = 4 * 1024;
const EMPTY_LINE: &[u8] = b"\r\n\r\n";

/// Why there is no head.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum NoHead {
    TooLong,
    Stopped(Stop),
}

impl From<Stop> for NoHead {
    fn from(stop: Stop) -> NoHead {
        NoHead::Stopped(stop)
    }
}
