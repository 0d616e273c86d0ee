//! A question at the terminal that can be withdrawn while it waits for its answer: otherwise the
//! thread that waits would take the next line, which is meant for another reader.

use std::io;
use std::os::fd::{AsFd as _, OwnedFd};
use std::sync::{Mutex, PoisonError};

use rustix::event::{EventfdFlags, PollFd, PollFlags, eventfd, poll};
use rustix::io::Errno;
use rustix::termios::{QueueSelector, tcflush};

use crate::output;

/// Held while a question waits. A call that was cancelled may be left behind with its question still
/// open, and must not take the line that is meant for what comes next.
static OPEN: Mutex<()> = Mutex::new(());

/// Waits until no question is open any more.
pub(crate) fn none_is_open() {
    drop(OPEN.lock().unwrap_or_else(PoisonError::into_inner));
}

/// The longest line that is taken as an answer.
const MAX_LINE: usize = 64 * 1024;

/// Tells the one who waits that the question is withdrawn.
pub(crate) struct Withdrawn(OwnedFd);

/// Withdraws the question when it is dropped.
pub(crate) struct Withdraws(OwnedFd);

/// Both ends of a question.
pub(crate) fn withdrawable() -> io::Result<(Withdrawn, Withdraws)> {
    let signal = eventfd(0, EventfdFlags::CLOEXEC)?;
    Ok((Withdrawn(signal.try_clone()?), Withdraws(signal)))
}

impl Drop for Withdraws {
    fn drop(&mut self) {
        // It can only fail if the counter is full, and then it has been told already.
        let _ = rustix::io::write(&self.0, &1u64.to_ne_bytes());
    }
}

/// Asks on standard error and waits for a line on standard input; `None` at its end or when the
/// question is withdrawn. What was typed before the question was there is no answer to it and is
/// thrown away. (What the line editor of a chat has read ahead stays in its own buffer and becomes
/// the next message.)
pub(crate) fn prompt(question: &str, withdrawn: &Withdrawn) -> Option<String> {
    let _open = OPEN.lock().unwrap_or_else(PoisonError::into_inner);
    // It only fails where there is no terminal, and then there is no question.
    let _ = tcflush(io::stdin(), QueueSelector::IFlush);
    output::prompt(question);
    let line = read_line(withdrawn).ok().flatten();
    if line.is_none() {
        output::to_user("");
    }
    line
}

/// Reads past the buffer of the standard library: what it holds could not be waited for.
fn read_line(withdrawn: &Withdrawn) -> io::Result<Option<String>> {
    let stdin = io::stdin();
    let mut line = Vec::new();
    while line.len() < MAX_LINE {
        let mut waits = [
            PollFd::new(&withdrawn.0, PollFlags::IN),
            PollFd::from_borrowed_fd(stdin.as_fd(), PollFlags::IN),
        ];
        match poll(&mut waits, None) {
            Err(Errno::INTR) => continue,
            other => other?,
        };
        if !waits[0].revents().is_empty() {
            return Ok(None);
        }
        // A byte at a time: what comes after the line is left for the next reader.
        let mut byte = [0];
        match rustix::io::read(stdin.as_fd(), &mut byte) {
            Err(Errno::INTR) => {}
            Ok(0) if line.is_empty() => return Ok(None),
            Ok(0) => break,
            Ok(_) if byte[0] == b'\n' => break,
            Ok(_) => line.push(byte[0]),
            Err(error) => return Err(error.into()),
        }
    }
    Ok(Some(String::from_utf8_lossy(&line).trim().to_owned()))
}
