//! The only place that writes to the standard streams. Results go to standard output, messages
//! for the user to standard error.
//!
//! Whatever text comes here, from whatever source, no control, bidirectional or invisible character
//! in it reaches a terminal: it is written out as an escape. The only sequences that a terminal obeys
//! are those of [`Ink`] and of links, which [`Printer::inked`] recognises to the letter, and the two that
//! this file writes itself.

use std::io::{self, IsTerminal, Write};
use std::os::fd::AsFd;
use std::process::ExitCode;
use std::sync::atomic::{AtomicI32, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use serde_json::Value;

use crate::chat::safe_text::{harmless, harmless_but, harmless_json};
use crate::environment;
use crate::interrupt::terminal_is_gone;
use terminal::{Ink, OutputStyle, ScreenSize};

/// Clears the screen and its memory, and goes to the top.
const CLEAR: &str = "\x1b[H\x1b[2J\x1b[3J";
/// Goes to the beginning of the line.
const RETURN: &str = "\r";

/// One of the two streams that are written to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Stream {
    Out,
    Err,
}

/// While the screen is drawn as a whole, whatever is written waits here for the next frame.
static WAITING: Mutex<Option<String>> = Mutex::new(None);

fn waiting() -> MutexGuard<'static, Option<String>> {
    WAITING.lock().unwrap_or_else(PoisonError::into_inner)
}

/// From now on nothing is written to the terminal but by the one who draws it.
pub(crate) fn hold_back() {
    waiting().get_or_insert_default();
}

pub(crate) fn waiting_bytes() -> usize {
    waiting().as_ref().map_or(0, String::len)
}

/// Takes the whole lines that wait.
pub(crate) fn take_lines() -> String {
    let mut waiting = waiting();
    let Some(text) = waiting.as_mut() else { return String::new() };
    let rest = text.split_off(text.rfind('\n').map_or(0, |end| end + 1));
    std::mem::replace(text, rest)
}

/// The line that has no end yet.
pub(crate) fn unfinished_line() -> String {
    let waiting = waiting();
    let text = waiting.as_deref().unwrap_or_default();
    text.rsplit('\n').next().unwrap_or_default().to_owned()
}

/// Writes again as soon as something is to be written, first of all what has waited.
pub(crate) fn let_go() {
    let text = waiting().take();
    if let Some(text) = text {
        let _ = Stream::Err.write(&text);
    }
}

impl Stream {
    fn write(self, text: &str) -> io::Result<()> {
        if let Some(waiting) = waiting().as_mut() {
            waiting.push_str(text);
            return Ok(());
        }
        unless_closed(match self {
            Stream::Out => io::stdout().lock().write_all(text.as_bytes()),
            Stream::Err => io::stderr().lock().write_all(text.as_bytes()),
        })
    }

    fn flush(self) -> io::Result<()> {
        if waiting().is_some() {
            return Ok(());
        }
        unless_closed(match self {
            Stream::Out => io::stdout().lock().flush(),
            Stream::Err => io::stderr().lock().flush(),
        })
    }

    pub(crate) fn is_terminal(self) -> bool {
        match self {
            Stream::Out => io::stdout().is_terminal(),
            Stream::Err => io::stderr().is_terminal(),
        }
    }

    /// The columns of the terminal; none if it is a file or a pipe.
    pub(crate) fn width(self) -> Option<usize> {
        let style = self.style();
        (!style.is_pipe).then_some(style.width)
    }

    /// How text may look there: at the width of the terminal, with colours if the user does not mind.
    pub(crate) fn style(self) -> OutputStyle {
        match self {
            Stream::Out => style(&io::stdout()),
            Stream::Err => style(&io::stderr()),
        }
    }
}

fn style(stream: &(impl AsFd + io::IsTerminal)) -> OutputStyle {
    if !stream.is_terminal() {
        return OutputStyle::PIPE;
    }
    let columns = rustix::termios::tcgetwinsize(stream).map_or(0, |size| size.ws_col.into());
    let style = OutputStyle::terminal(columns);
    if environment::no_colour() { style.without_colours() } else { style }
}

/// The size of the terminal that is drawn on; a usual one if it does not say.
pub(crate) fn screen_size() -> ScreenSize {
    let size = rustix::termios::tcgetwinsize(io::stderr());
    let (columns, rows) = size.map_or((0, 0), |size| (size.ws_col.into(), size.ws_row.into()));
    let or = |found: usize, default| if found == 0 { default } else { found };
    ScreenSize { columns: or(columns, 80), rows: or(rows, 24) }
}

/// A stream as a writer of text that is made harmless on its way.
#[derive(Debug)]
pub(crate) struct Printer {
    stream: Stream,
    text: PrintedText,
    /// The last character that was written.
    before: Option<char>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum PrintedText {
    /// Words with inks.
    Inked,
    /// JSON, which stays valid and means the same.
    Json,
}

impl Printer {
    /// For what was drawn with inks.
    pub(crate) fn inked(stream: Stream) -> Self {
        Self { stream, text: PrintedText::Inked, before: None }
    }

    pub(crate) fn json(stream: Stream) -> Self {
        Self { stream, text: PrintedText::Json, before: None }
    }
}

impl Write for Printer {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let text = String::from_utf8_lossy(bytes);
        self.stream.write(&match self.text {
            PrintedText::Inked => harmless_but(&text, &mut self.before, Ink::length_at_start),
            PrintedText::Json => harmless_json(&text),
        })?;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.stream.flush()
    }
}

/// The terminal, for the one who draws it. One that is gone takes everything: what ends the chat then is the signal
/// for that, not a failure to draw.
#[derive(Debug)]
pub(crate) struct DrawnTerminal;

impl Write for DrawnTerminal {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match io::stderr().write(bytes) {
            Err(_) if terminal_is_gone() => Ok(bytes.len()),
            written => written,
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        io::stderr().flush()
    }
}

/// The exit code for a call that cannot be understood; the argument parser uses the same.
const USAGE: u8 = 2;

/// Says why a command cannot be carried out.
pub(crate) fn failure(error: &anyhow::Error) -> ExitCode {
    to_user(&format!("toolkiln: {error:#}"));
    ExitCode::from(USAGE)
}

/// Prints a result: indented at a terminal, on one line for a program.
pub(crate) fn json(value: &Value) -> io::Result<()> {
    let indented = Stream::Out.is_terminal();
    json_text(&if indented { format!("{value:#}") } else { value.to_string() })
}

/// Prints a result that is JSON already.
pub(crate) fn json_text(text: &str) -> io::Result<()> {
    Stream::Out.write(&format!("{}\n", harmless_json(text)))
}

/// Prints a line of results.
pub(crate) fn result(line: &str) -> io::Result<()> {
    Stream::Out.write(&format!("{}\n", harmless(line)))
}

/// The exit code if the reader has had enough: what was asked for was shown as far as it was read.
static CLOSED: AtomicI32 = AtomicI32::new(0);

/// As shells tell a program that wrote to a closed pipe.
const BROKEN_PIPE: i32 = 141;

/// From now on work is done and not only shown: if the reader leaves, it breaks off.
pub(crate) fn work_begins() {
    CLOSED.store(BROKEN_PIPE, Ordering::Relaxed);
}

/// The reader may have had enough, as in `toolkiln … | head`. Then the process ends, and says nothing.
fn unless_closed<T>(written: io::Result<T>) -> io::Result<T> {
    match written {
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => {
            std::process::exit(CLOSED.load(Ordering::Relaxed))
        }
        other => other,
    }
}

/// Prints a line for the user. A failure is ignored: there is no other way to report it.
pub(crate) fn to_user(line: &str) {
    painted(OutputStyle::PIPE, [(Ink::PLAIN, line)]);
}

/// Prints lines for the user, each in its ink.
pub(crate) fn painted<'a>(style: OutputStyle, lines: impl IntoIterator<Item = (Ink, &'a str)>) {
    for (ink, line) in lines {
        let line = style.paint(ink, &harmless(line));
        let _ = Stream::Err.write(&format!("{line}\n"));
    }
}

/// Prints a question for the user, to be answered on the same line.
pub(crate) fn prompt(text: &str) {
    let _ = Stream::Err.write(&harmless(text)).and_then(|()| Stream::Err.flush());
}

/// Prints how far something is, over what was printed so before.
pub(crate) fn progress(text: &str) {
    let _ = Stream::Err.write(&format!("{RETURN}{}", harmless(text)));
}

pub(crate) fn clear_screen() {
    let _ = Stream::Err.write(CLEAR);
}

/// Lets a panic be told like everything else.
pub(crate) fn catch_panics() {
    std::panic::set_hook(Box::new(|panic| to_user(&format!("toolkiln: {panic}"))));
}
