//! The standard input of a server, and how much of it was read.

use std::io::{ErrorKind, PipeReader, PipeWriter, Read as _, Write as _};
use std::os::fd::AsFd as _;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::Receiver;
use std::sync::{Mutex, TryLockError};

use rustix::event::{PollFd, PollFlags, Timespec};
use rustix::fs::OFlags;

use crate::locked::locked;

/// Bytes that are taken back at a time; as many as a pipe usually holds.
const PIECE: usize = 64 * 1024;
/// How long is waited for a writer that has more to write: it is woken as soon as there is room.
const WRITER_PATIENCE: Timespec = Timespec { tv_sec: 0, tv_nsec: 10_000_000 };

/// Both ends of the pipe: ours, and the one that the program reads from, so that what it has not read can be taken
/// back when it has ended. Otherwise a process that it left behind could read a call that the next server is given too.
pub(super) struct Input {
    written: Mutex<Written>,
    /// None once everything was taken back.
    unread: Mutex<Option<PipeReader>>,
    /// Nothing more is written.
    is_over: AtomicBool,
}

struct Written {
    pipe: PipeWriter,
    bytes: u64,
    /// How many of these were read, once that cannot change any more.
    read: Option<u64>,
}

impl Input {
    pub(super) fn new(pipe: PipeWriter, unread: PipeReader) -> Self {
        Self {
            written: Mutex::new(Written { pipe, bytes: 0, read: None }),
            unread: Mutex::new(Some(unread)),
            is_over: AtomicBool::new(false),
        }
    }

    /// Writes what comes until the program has ended.
    pub(super) fn write(&self, lines: Receiver<Vec<u8>>) {
        for line in lines {
            let mut left = line.as_slice();
            while !left.is_empty() {
                let mut written = locked(&self.written);
                if self.is_over.load(Ordering::SeqCst) {
                    return;
                }
                match written.pipe.write(left) {
                    Ok(count) => {
                        written.bytes += count as u64;
                        left = &left[count..];
                    }
                    Err(error) if error.kind() == ErrorKind::Interrupted => {}
                    Err(_) => return,
                }
            }
        }
    }

    /// Takes what was not read out of the pipe, for good. After a failure all counts as read.
    pub(super) fn take_back(&self) {
        self.is_over.store(true, Ordering::SeqCst);
        let Some(mut pipe) = locked(&self.unread).take() else { return };
        let mut taken = 0;
        loop {
            // Before the pipe is looked at: who holds it later finds that it is over.
            let written = match self.written.try_lock() {
                Ok(written) => Some(written),
                Err(TryLockError::Poisoned(poisoned)) => Some(poisoned.into_inner()),
                Err(TryLockError::WouldBlock) => None,
            };
            let Some(count) = drained(&mut pipe) else { return };
            taken += count;
            if let Some(mut written) = written {
                written.read = written.bytes.checked_sub(taken);
                return;
            }
            let mut waits = [PollFd::new(&pipe, PollFlags::IN)];
            _ = rustix::event::poll(&mut waits, Some(&WRITER_PATIENCE));
        }
    }

    /// Bytes that were read before the program ended. None if that is not known.
    pub(super) fn read_bytes(&self) -> Option<u64> {
        // A writer that still waits was not taken back from.
        self.written.try_lock().ok()?.read
    }
}

/// Empties a pipe, and says how much was in it.
fn drained(pipe: &mut PipeReader) -> Option<u64> {
    let flags = rustix::fs::fcntl_getfl(pipe.as_fd()).ok()?;
    rustix::fs::fcntl_setfl(pipe.as_fd(), flags | OFlags::NONBLOCK).ok()?;
    let (mut piece, mut total) = (vec![0; PIECE], 0);
    loop {
        match pipe.read(&mut piece) {
            Ok(0) => return Some(total),
            Ok(count) => total += count as u64,
            Err(error) if error.kind() == ErrorKind::WouldBlock => return Some(total),
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(_) => return None,
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::sync::mpsc::sync_channel;

    use super::*;

    fn input() -> (PipeReader, Input) {
        let (read, pipe) = std::io::pipe().unwrap();
        let unread = read.try_clone().unwrap();
        (read, Input::new(pipe, unread))
    }

    #[test]
    fn what_stays_in_the_pipe_was_not_read_and_never_will_be() {
        let (mut read, input) = input();
        let (lines, waiting) = sync_channel(4);
        for line in ["one\n", "two\n", "three\n"] {
            lines.send(line.as_bytes().to_vec()).unwrap();
        }
        drop(lines);
        input.write(waiting);
        read.read_exact(&mut [0; 5]).unwrap();
        assert_eq!(input.read_bytes(), None, "it could read on");
        input.take_back();
        assert_eq!(input.read_bytes(), Some(5));
        // A process that was left behind has the same end, and finds nothing there.
        drop(input);
        let mut rest = Vec::new();
        read.read_to_end(&mut rest).unwrap();
        assert_eq!(rest, b"");
    }

    #[test]
    fn a_line_that_does_not_fit_into_the_pipe_is_taken_back_with_what_follows() {
        let (read, input) = input();
        let input = Arc::new(input);
        let (lines, waiting) = sync_channel(2);
        lines.send(vec![b'x'; 5 * PIECE]).unwrap();
        lines.send(vec![b'y'; PIECE]).unwrap();
        let writer = Arc::clone(&input);
        let writing = std::thread::spawn(move || writer.write(waiting));
        // Some of it is there, and the writer waits for room.
        let mut waits = [PollFd::new(&read, PollFlags::IN)];
        rustix::event::poll(&mut waits, None).unwrap();
        input.take_back();
        writing.join().unwrap();
        assert_eq!(input.read_bytes(), Some(0));
        assert!(lines.send(Vec::new()).is_err(), "nothing more is written");
        assert_eq!(rustix::io::ioctl_fionread(&read).unwrap(), 0);
    }
}
