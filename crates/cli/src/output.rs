//! Results go to standard output, words for people to standard error.

use std::io::{self, IsTerminal, Write};

use serde_json::Value;

/// Prints a result: indented for a person at a terminal, on one line for a program.
pub(crate) fn json(value: &Value) -> io::Result<()> {
    let indented = io::stdout().is_terminal();
    result(&if indented { format!("{value:#}") } else { value.to_string() })
}

/// Prints a line of results.
pub(crate) fn result(line: &str) -> io::Result<()> {
    writeln!(stdout(), "{line}")
}

/// The standard output, for results.
pub(crate) fn stdout() -> UntilClosed<io::Stdout> {
    UntilClosed(io::stdout())
}

/// The standard error, for people.
pub(crate) fn stderr() -> UntilClosed<io::Stderr> {
    UntilClosed(io::stderr())
}

/// A stream whose reader may have had enough, as in `toolkiln … | head`. Then the process ends, and
/// says nothing.
pub(crate) struct UntilClosed<W>(W);

impl<W: Write> Write for UntilClosed<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        unless_closed(self.0.write(bytes))
    }

    fn flush(&mut self) -> io::Result<()> {
        unless_closed(self.0.flush())
    }
}

fn unless_closed<T>(written: io::Result<T>) -> io::Result<T> {
    match written {
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => std::process::exit(0),
        other => other,
    }
}

/// Prints a line for people. If nobody can read it, there is nobody to tell.
pub(crate) fn to_people(line: &str) {
    let _ = writeln!(io::stderr().lock(), "{line}");
}
