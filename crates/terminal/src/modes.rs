//! The modes of a terminal while keys are read one by one, and the way back.
//!
//! Whatever ends the process (a normal exit, a panic, a signal that is handled), the terminal is left as
//! it was found: the modes are kept in one place, and whoever comes first puts them back.

use std::io::{self, Write as _};
use std::sync::{Mutex, PoisonError};

use rustix::termios::{OptionalActions, Termios, tcgetattr, tcsetattr};

/// Pasted text comes in brackets, and keys such as Shift-Enter are told apart where that is possible.
const ENTER: &str = "\x1b[?2004h\x1b[>1u";
/// Also ends a frame that was being written: plain text, a visible cursor, the update is complete.
const LEAVE: &str = "\x1b[<u\x1b[?2004l\x1b[0m\x1b[?25h\x1b[?2026l";

/// The modes before keys were read one by one; nothing while they are not.
static BEFORE: Mutex<Option<Termios>> = Mutex::new(None);

/// Reads keys one by one, without echo, until it is dropped.
#[derive(Debug)]
pub struct KeyModes(());

impl KeyModes {
    /// Changes the modes of the terminal at standard input.
    pub fn enter() -> io::Result<Self> {
        let mut before = BEFORE.lock().unwrap_or_else(PoisonError::into_inner);
        let found = tcgetattr(io::stdin())?;
        // It tells Ctrl-J from Enter only if it knows that the modes are raw.
        crossterm::terminal::enable_raw_mode()?;
        let mut raw = found.clone();
        raw.make_raw();
        tcsetattr(io::stdin(), OptionalActions::Now, &raw)?;
        before.get_or_insert(found);
        write_to_terminal(ENTER)?;
        Ok(Self(()))
    }

    /// Sets the modes as they are, by which the kernel tells again that keys can be read. It does nothing once the
    /// terminal is as it was found.
    pub fn tell_again() -> io::Result<()> {
        let before = BEFORE.lock().unwrap_or_else(PoisonError::into_inner);
        if before.is_some() {
            tcsetattr(io::stdin(), OptionalActions::Now, &tcgetattr(io::stdin())?)?;
        }
        Ok(())
    }

    /// What is put back when this is dropped.
    pub fn found(&self) -> FoundModes {
        FoundModes(BEFORE.lock().unwrap_or_else(PoisonError::into_inner).clone())
    }
}

/// The modes that the terminal had before keys were read one by one.
#[derive(Clone, Debug)]
pub struct FoundModes(Option<Termios>);

impl FoundModes {
    /// Sets them again, after a program that may have left others behind.
    pub fn put_back(&self) {
        if let Some(found) = &self.0 {
            // A terminal that is gone cannot be told.
            let _ = tcsetattr(io::stdin(), OptionalActions::Now, found);
        }
    }
}

impl Drop for KeyModes {
    fn drop(&mut self) {
        put_back(&mut BEFORE.lock().unwrap_or_else(PoisonError::into_inner));
    }
}

/// Leaves the terminal as it was found, if it was changed. Signal handlers and panic hooks call it too, so
/// it does nothing if it is in use.
pub fn restore() {
    if let Ok(mut before) = BEFORE.try_lock() {
        put_back(&mut before);
    }
}

fn put_back(before: &mut Option<Termios>) {
    if let Some(found) = before.take() {
        // A terminal that is gone cannot be told.
        let _ = write_to_terminal(LEAVE);
        let _ = tcsetattr(io::stdin(), OptionalActions::Drain, &found);
    }
}

fn write_to_terminal(sequence: &str) -> io::Result<()> {
    let mut out = io::stderr().lock();
    out.write_all(sequence.as_bytes())?;
    out.flush()
}
