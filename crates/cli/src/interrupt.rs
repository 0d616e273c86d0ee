//! Ctrl-C and other signals while something is being worked on.

use std::io;
use std::sync::atomic::{AtomicBool, AtomicI32, Ordering};
use std::sync::{Arc, mpsc};
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use sandbox::signal_is_ignored;
use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

/// Fires `cancel` at the first Ctrl-C, and ends the process at the second: a user who asks twice does
/// not want to wait.
pub(crate) fn on_interrupt(cancel: CancellationToken) -> Interrupt {
    Interrupt(tokio::spawn(async move {
        if tokio::signal::ctrl_c().await.is_ok() {
            cancel.cancel();
            if tokio::signal::ctrl_c().await.is_ok() {
                leave(INTERRUPTED);
            }
        }
    }))
}

/// Ends the process and leaves the terminal as it was found.
fn leave(code: i32) -> ! {
    terminal::restore();
    std::process::exit(code)
}

/// As shells tell a program that was ended with Ctrl-C.
const INTERRUPTED: i32 = 130;

/// Ctrl-C is listened to until this is dropped.
pub(crate) struct Interrupt(JoinHandle<()>);

impl Drop for Interrupt {
    fn drop(&mut self) {
        self.0.abort();
    }
}

/// As shells tell a program that was ended with SIGTERM.
const TERMINATED: i32 = 143;
/// And with SIGHUP, because its terminal is gone.
const HUNG_UP: i32 = 129;

/// What is under way may take so long to end after the terminal is gone: no second signal can be asked for.
const ALONE_TIME: Duration = Duration::from_secs(5);

/// Signals that end a run: the first cancels what is under way, the second does not wait for that, the
/// third ends the process.
#[derive(Clone, Debug)]
pub(crate) struct StopSignal {
    /// Fires at the first signal.
    pub(crate) cancel: CancellationToken,
    /// Fires at the second.
    pub(crate) at_once: CancellationToken,
    code: Arc<AtomicI32>,
    /// Whether Ctrl-C is for another program that has the terminal.
    leaves_interrupts: Arc<AtomicBool>,
}

impl StopSignal {
    /// Listens from now on, for the rest of the process, on a thread of its own: the working thread may be
    /// held up by a reader that does not read what is written.
    pub(crate) fn listen() -> io::Result<Self> {
        Self::listen_to(Hearing::Signals)
    }

    /// The same; the end of the terminal at standard input counts as SIGHUP, even where that signal is ignored or goes
    /// to another process.
    pub(crate) fn listen_at_terminal() -> io::Result<Self> {
        Self::listen_to(Hearing::SignalsAndTerminal)
    }

    fn listen_to(hearing: Hearing) -> io::Result<Self> {
        let stop = Self {
            cancel: CancellationToken::new(),
            at_once: CancellationToken::new(),
            code: Arc::default(),
            leaves_interrupts: Arc::default(),
        };
        let told = stop.clone();
        let (begun, listening) = mpsc::sync_channel(1);
        std::thread::Builder::new().name("signals".to_owned()).spawn(move || {
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
            match runtime {
                Ok(runtime) => runtime.block_on(told.hear_all(hearing, &begun)),
                Err(error) => drop(begun.send(Err(error))),
            }
        })?;
        listening.recv().unwrap_or_else(|gone| Err(io::Error::other(gone)))?;
        Ok(stop)
    }

    async fn hear_all(&self, hearing: Hearing, begun: &mpsc::SyncSender<io::Result<()>>) {
        let listeners = || -> io::Result<_> {
            let interrupts = signal(SignalKind::interrupt())?;
            let terminations = signal(SignalKind::terminate())?;
            // Whoever starts us with `nohup` wants us to go on.
            let hang_ups = match signal_is_ignored(SignalKind::hangup().as_raw_value()) {
                true => None,
                false => Some(signal(SignalKind::hangup())?),
            };
            let terminal = match hearing {
                Hearing::Signals => None,
                Hearing::SignalsAndTerminal => Some(watch_terminal()?),
            };
            Ok((interrupts, terminations, hang_ups, terminal))
        };
        let (mut interrupts, mut terminations, mut hang_ups, terminal) = match listeners() {
            Ok(listeners) => listeners,
            Err(error) => return drop(begun.send(Err(error))),
        };
        let _ = begun.send(Ok(()));
        let mut is_alone = false;
        loop {
            let code = tokio::select! {
                Some(()) = interrupts.recv() => {
                    if self.leaves_interrupts.load(Ordering::Relaxed) {
                        continue;
                    }
                    INTERRUPTED
                }
                Some(()) = terminations.recv() => TERMINATED,
                // The kernel sends it when the terminal goes away, which is heard of anyway.
                Some(()) = heard(&mut hang_ups), if !is_alone => HUNG_UP,
                () = gone(terminal.as_ref()), if !is_alone => {
                    is_alone = true;
                    if self.exit_code().map(i32::from) == Some(HUNG_UP) {
                        continue;
                    }
                    HUNG_UP
                }
                () = tokio::time::sleep(ALONE_TIME), if is_alone => leave(HUNG_UP),
                else => return,
            };
            self.hear(code);
        }
    }

    fn hear(&self, code: i32) {
        if self.at_once.is_cancelled() {
            leave(code);
        }
        if self.cancel.is_cancelled() {
            self.at_once.cancel();
        }
        self.code.store(code, Ordering::Relaxed);
        self.cancel.cancel();
    }

    /// Ctrl-C reaches every program at the terminal. While another one has it, it is not meant for this one.
    pub(crate) fn leave_interrupts(&self, leaves: bool) {
        self.leaves_interrupts.store(leaves, Ordering::Relaxed);
    }

    /// The exit code for the signal that came last, if any came.
    pub(crate) fn exit_code(&self) -> Option<u8> {
        u8::try_from(self.code.load(Ordering::Relaxed)).ok().filter(|code| *code != 0)
    }
}

/// What ends a run besides what the user does there.
#[derive(Clone, Copy, Debug)]
enum Hearing {
    Signals,
    SignalsAndTerminal,
}

/// Fires when the terminal is gone. A thread waits for that: it is no signal for every process.
fn watch_terminal() -> io::Result<CancellationToken> {
    let gone = CancellationToken::new();
    let told = gone.clone();
    std::thread::Builder::new().name("terminal".to_owned()).spawn(move || {
        while !is_hung_up(None) {}
        told.cancel();
    })?;
    Ok(gone)
}

/// Whether the other side of the terminal at standard input is closed.
pub(crate) fn terminal_is_gone() -> bool {
    is_hung_up(Some(&Timespec { tv_sec: 0, tv_nsec: 0 }))
}

/// Waits at most so long for the end of the terminal. Nothing that is typed ends the wait.
fn is_hung_up(patience: Option<&Timespec>) -> bool {
    let stdin = io::stdin();
    poll(&mut [PollFd::new(&stdin, PollFlags::empty())], patience).is_ok_and(|count| count > 0)
}

async fn gone(terminal: Option<&CancellationToken>) {
    match terminal {
        Some(terminal) => terminal.cancelled().await,
        None => std::future::pending().await,
    }
}

async fn heard(signals: &mut Option<Signal>) -> Option<()> {
    match signals {
        Some(signals) => signals.recv().await,
        None => std::future::pending().await,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn the_first_signal_cancels_and_the_second_does_not_wait() {
        let stop = StopSignal::listen().unwrap();
        assert_eq!((stop.cancel.is_cancelled(), stop.exit_code()), (false, None));
        stop.hear(TERMINATED);
        assert!(stop.cancel.is_cancelled() && !stop.at_once.is_cancelled());
        stop.hear(INTERRUPTED);
        assert!(stop.at_once.is_cancelled());
        assert_eq!(stop.exit_code(), Some(130));
    }
}
