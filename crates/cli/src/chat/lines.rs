//! Messages as lines: from a pipe, a file, or a terminal that cannot be drawn on.

use std::io::{self, BufRead, IsTerminal as _};

use crate::line_questions::question;
use crate::output::{self, Stream};

/// Stands before a line that is typed.
pub(crate) const PROMPT: &str = "> ";
/// Stands before a line that goes on.
const CONTINUATION_PROMPT: &str = "… ";

/// Waits for the next message; none at the end.
pub(crate) fn read_message() -> io::Result<Option<String>> {
    let is_typed = io::stdin().is_terminal() && Stream::Err.is_terminal();
    if is_typed {
        question::none_is_open();
    }
    let prompt = |text: &str| {
        if is_typed {
            output::prompt(text);
        }
    };
    read_lines(&mut io::stdin().lock(), prompt)
}

/// The next line; a backslash at its end adds the line after it.
fn read_lines(input: &mut impl BufRead, prompt: impl Fn(&str)) -> io::Result<Option<String>> {
    let mut text = String::new();
    loop {
        prompt(if text.is_empty() { PROMPT } else { CONTINUATION_PROMPT });
        let start = text.len();
        if input.read_line(&mut text)? == 0 {
            return Ok((start > 0).then_some(text));
        }
        text.truncate(start + text[start..].trim_end_matches(['\n', '\r']).len());
        if !text[start..].ends_with('\\') {
            return Ok(Some(text));
        }
        text.pop();
        text.push('\n');
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_of_a_pipe_are_messages_and_a_backslash_joins_them() {
        let mut input = io::Cursor::new("one\r\ntwo \\\nthree\n\nlast\\");
        let mut read = || read_lines(&mut input, |_| {}).unwrap();
        assert_eq!(read().as_deref(), Some("one"));
        assert_eq!(read().as_deref(), Some("two \nthree"));
        assert_eq!(read().as_deref(), Some(""));
        assert_eq!(read().as_deref(), Some("last\n"));
        assert_eq!(read(), None);
    }
}
