//! The keys as they come, and the last moment at which there were none.
//!
//! A thread waits for the terminal and reads it. A key has three places on its way: the kernel, that thread, and the
//! channel. The keyboard is empty only if all three are, looked at in this order: a key can go on meanwhile, but
//! not past the place that is looked at next.

use std::future::poll_fn;
use std::io;
use std::os::unix::net::UnixStream;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::Poll;
use std::time::{Duration, Instant};

use crossterm::event::{self, Event};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use terminal::KeyModes;
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};

/// When the keyboard was looked at.
#[derive(Clone, Copy, Debug)]
pub(super) struct KeyboardLooks {
    /// The last time at all.
    pub(super) last: Instant,
    /// The last time that it was empty. A key that comes later was pressed later.
    pub(super) empty: Instant,
}

impl KeyboardLooks {
    pub(super) fn at(now: Instant) -> Self {
        Self { last: now, empty: now }
    }
}

/// Reads the terminal until it is dropped.
pub(super) struct Keyboard {
    events: UnboundedReceiver<io::Result<Event>>,
    /// The thread has taken something from the terminal that is not in the channel yet.
    is_reading: Arc<AtomicBool>,
    /// Dropping it ends the thread.
    _open: UnixStream,
}

impl Keyboard {
    pub(super) fn start() -> io::Result<Self> {
        let (open, end) = UnixStream::pair()?;
        let (sender, events) = unbounded_channel();
        let is_reading = Arc::new(AtomicBool::new(false));
        let reading = Arc::clone(&is_reading);
        std::thread::Builder::new().name("keyboard".to_owned()).spawn(move || {
            if let Err(error) = read_keys(&end, &reading, &sender) {
                let _ = sender.send(Err(error));
            }
        })?;
        Ok(Self { events, is_reading, _open: open })
    }

    /// Whether the next key has been read already.
    pub(super) fn has_more(&self) -> bool {
        !self.events.is_empty()
    }

    /// Whether a key is on its way, read or not.
    pub(super) fn is_pressed(&self) -> bool {
        self.has_more() || self.is_reading.load(Ordering::SeqCst) || is_readable()
    }

    /// The next key, paste or change of size. Notes when there was none.
    pub(super) async fn next(&mut self, looks: &mut KeyboardLooks) -> io::Result<Event> {
        let next = poll_fn(|context| {
            looks.last = Instant::now();
            let is_quiet = !is_readable() && !self.is_reading.load(Ordering::SeqCst);
            // Not by the runtime, which may say that there is nothing to let other tasks run.
            if let Ok(event) = self.events.try_recv() {
                return Poll::Ready(Some(event));
            }
            if is_quiet {
                looks.empty = looks.last;
            }
            self.events.poll_recv(context)
        });
        match next.await {
            Some(event) => event,
            None => std::future::pending().await,
        }
    }
}

/// Whether keys wait in the kernel.
fn is_readable() -> bool {
    let input = io::stdin();
    let mut ready = [PollFd::new(&input, PollFlags::IN)];
    // If it cannot be known, there may be keys.
    poll(&mut ready, Some(&Timespec { tv_sec: 0, tv_nsec: 0 })).map_or(true, |count| count > 0)
}

fn read_keys(
    end: &UnixStream,
    is_reading: &AtomicBool,
    sender: &UnboundedSender<io::Result<Event>>,
) -> io::Result<()> {
    let input = io::stdin();
    loop {
        let mut ready = [PollFd::new(&input, PollFlags::IN), PollFd::new(end, PollFlags::IN)];
        match poll(&mut ready, None) {
            Err(rustix::io::Errno::INTR) => continue,
            other => other?,
        };
        if !ready[1].revents().is_empty() {
            return Ok(());
        }
        if ready[0].revents().intersects(PollFlags::HUP | PollFlags::ERR) {
            // The end of the terminal is heard of elsewhere.
            return Ok(());
        }
        is_reading.store(true, Ordering::SeqCst);
        while event::poll(Duration::ZERO)? || is_readable() {
            // What is read is read in pieces, and the kernel tells of keys only when they come.
            if !event::poll(Duration::ZERO)? {
                KeyModes::tell_again()?;
            }
            if sender.send(Ok(event::read()?)).is_err() {
                return Ok(());
            }
        }
        is_reading.store(false, Ordering::SeqCst);
    }
}
