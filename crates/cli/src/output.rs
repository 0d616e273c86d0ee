//! Results go to standard output, words for people to standard error.

use std::io::{self, IsTerminal, Write};

use serde_json::Value;

/// Prints a result: indented for a person at a terminal, on one line for a program.
pub(crate) fn json(value: &Value) -> io::Result<()> {
    let indented = io::stdout().is_terminal();
    result(&if indented { format!("{value:#}") } else { value.to_string() })
}

/// Prints a line of results. A reader that has had enough is no error.
pub(crate) fn result(line: &str) -> io::Result<()> {
    match writeln!(io::stdout().lock(), "{line}") {
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(()),
        other => other,
    }
}

/// Prints a line for people. If nobody can read it, there is nobody to tell.
pub(crate) fn to_people(line: &str) {
    let _ = writeln!(io::stderr().lock(), "{line}");
}
