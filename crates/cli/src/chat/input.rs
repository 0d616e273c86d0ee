//! What the user types: a line editor at a terminal, plain lines elsewhere.

mod completion;
mod ctrl_c;

use std::cell::Cell;
use std::io::{self, BufRead, IsTerminal as _};
use std::path::PathBuf;

use rustyline::completion::{Completer, Pair};
use rustyline::config::Configurer as _;
use rustyline::error::ReadlineError;
use rustyline::highlight::Highlighter;
use rustyline::hint::{Hint, Hinter};
use rustyline::history::FileHistory;
use rustyline::validate::Validator;
use rustyline::{
    Cmd, ColorMode, CompletionType, Config, Context, Editor, EventHandler, Helper, KeyCode,
    KeyEvent, Modifiers,
};

use completion::Completion;
pub(crate) use ctrl_c::{CtrlC, Moment, Reaction};
pub(crate) use terminal::mentions;

use crate::environment;
use crate::line_questions::question;
use terminal::Ink;

/// Messages that are remembered.
const HISTORY_ENTRIES: usize = 1000;
/// More candidates than this are asked about before they are listed.
const LISTED_WITHOUT_ASKING: usize = 40;

/// Stands before a line that goes on.
const CONTINUATION_PROMPT: &str = "… ";

/// Gives the paths that begin with, or look like, what was typed after `@`.
pub(crate) type FindFiles = Box<dyn Fn(&str) -> Vec<String> + Send>;

/// What an editor needs to know.
pub(crate) struct InputOptions {
    /// The file that remembers messages; its directory must exist.
    pub(crate) history: Option<PathBuf>,
    pub(crate) colour: bool,
    pub(crate) find_files: FindFiles,
}

/// What came from the user.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Entered {
    /// A line, or several.
    Text(String),
    /// Ctrl-C. What was typed is thrown away.
    Interrupt {
        /// Whether nothing was typed.
        at_empty_prompt: bool,
    },
    /// Ctrl-D, or the end of the input.
    End,
}

/// Where messages come from.
pub(crate) enum Input {
    /// A terminal.
    Keys(Box<LineEditor>),
    /// A file or a pipe.
    Lines(io::BufReader<io::Stdin>),
}

impl Input {
    /// Reads standard input, with a line editor if it is a terminal.
    pub(crate) fn open(options: InputOptions) -> io::Result<Self> {
        if io::stdin().is_terminal() {
            return Ok(Input::Keys(Box::new(LineEditor::new(options)?)));
        }
        Ok(Input::Lines(io::BufReader::new(io::stdin())))
    }

    /// Waits for the next message.
    pub(crate) fn read(&mut self, prompt: &str) -> io::Result<Entered> {
        match self {
            Input::Keys(editor) => editor.read(prompt),
            Input::Lines(lines) => Ok(read_lines(lines)?.map_or(Entered::End, Entered::Text)),
        }
    }
}

/// The next line; a backslash at its end adds the line after it.
fn read_lines(input: &mut impl BufRead) -> io::Result<Option<String>> {
    let mut text = String::new();
    loop {
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

/// A line editor with history, completion and several lines.
pub(crate) struct LineEditor {
    editor: Editor<Assistant, FileHistory>,
    history: Option<PathBuf>,
}

impl LineEditor {
    fn new(options: InputOptions) -> io::Result<Self> {
        let mut config = Config::builder()
            .history_ignore_space(true)
            .completion_type(CompletionType::List)
            .completion_show_all_if_ambiguous(true)
            .completion_prompt_limit(LISTED_WITHOUT_ASKING)
            .build();
        if !options.colour || environment::no_colour() {
            config.set_color_mode(ColorMode::Disabled);
        }
        let mut editor = Editor::with_config(config).map_err(to_io)?;
        editor.set_max_history_size(HISTORY_ENTRIES).map_err(to_io)?;
        editor.set_history_ignore_dups(true).map_err(to_io)?;
        editor.set_helper(Some(Assistant {
            completion: Completion::new(options.find_files),
            is_empty: Cell::new(true),
        }));
        editor.bind_sequence(
            KeyEvent(KeyCode::Enter, Modifiers::ALT),
            EventHandler::Simple(Cmd::Newline),
        );
        let mut input = Self { editor, history: options.history };
        input.load_history();
        Ok(input)
    }

    /// A backslash at the end asks for another line, as in a shell.
    fn read(&mut self, prompt: &str) -> io::Result<Entered> {
        question::none_is_open();
        let mut text = String::new();
        loop {
            let prompt = if text.is_empty() { prompt } else { CONTINUATION_PROMPT };
            match self.editor.readline(prompt) {
                Ok(line) => match line.strip_suffix('\\') {
                    Some(line) => {
                        text.push_str(line);
                        text.push('\n');
                    }
                    None => {
                        text.push_str(&line);
                        break;
                    }
                },
                Err(ReadlineError::Interrupted) => {
                    let helper = self.editor.helper();
                    let at_empty_line = helper.is_none_or(|helper| helper.is_empty.get());
                    let at_empty_prompt = text.is_empty() && at_empty_line;
                    return Ok(Entered::Interrupt { at_empty_prompt });
                }
                Err(ReadlineError::Eof) if text.is_empty() => return Ok(Entered::End),
                Err(ReadlineError::Eof) => break,
                Err(error) => return Err(to_io(error)),
            }
        }
        self.remember(&text);
        Ok(Entered::Text(text))
    }

    /// A history that is not there or cannot be read does not stop the input.
    fn load_history(&mut self) {
        if let Some(path) = &self.history {
            let _ = self.editor.load_history(path);
        }
    }

    /// Keeps a message for the next time. If that fails once, it is not tried again.
    fn remember(&mut self, text: &str) {
        if text.trim().is_empty() {
            return;
        }
        let added = self.editor.add_history_entry(text);
        if let (Ok(true), Some(path)) = (added, &self.history)
            && self.editor.append_history(path).is_err()
        {
            self.history = None;
        }
    }
}

fn to_io(error: ReadlineError) -> io::Error {
    match error {
        ReadlineError::Io(error) => error,
        other => io::Error::other(other.to_string()),
    }
}

/// What the editor asks while the user types.
struct Assistant {
    completion: Completion,
    /// Whether the line was empty when it was last looked at. An interrupt does not tell.
    is_empty: Cell<bool>,
}

impl Helper for Assistant {}
impl Validator for Assistant {}

impl Completer for Assistant {
    type Candidate = Pair;

    fn complete(
        &self,
        line: &str,
        at: usize,
        _context: &Context<'_>,
    ) -> rustyline::Result<(usize, Vec<Pair>)> {
        let (start, candidates) = self.completion.candidates(line, at);
        let pairs = candidates
            .into_iter()
            .map(|candidate| Pair { display: candidate.shown, replacement: candidate.inserted });
        Ok((start, pairs.collect()))
    }
}

impl Hinter for Assistant {
    type Hint = UsageHint;

    fn hint(&self, line: &str, at: usize, _context: &Context<'_>) -> Option<UsageHint> {
        self.is_empty.set(line.is_empty());
        if at < line.len() { None } else { self.completion.usage_hint(line).map(UsageHint) }
    }
}

impl Highlighter for Assistant {
    fn highlight_hint<'h>(&self, hint: &'h str) -> std::borrow::Cow<'h, str> {
        Ink::DIM.paint(hint).into()
    }
}

/// What may follow a command. It is shown and never inserted.
struct UsageHint(String);

impl Hint for UsageHint {
    fn display(&self) -> &str {
        &self.0
    }

    fn completion(&self) -> Option<&str> {
        None
    }
}

#[cfg(test)]
mod tests {
    use testkit::Fixture;

    use super::*;

    #[test]
    fn lines_of_a_pipe_are_messages_and_a_backslash_joins_them() {
        let mut input = io::Cursor::new("one\r\ntwo \\\nthree\n\nlast\\");
        let mut read = || read_lines(&mut input).unwrap();
        assert_eq!(read().as_deref(), Some("one"));
        assert_eq!(read().as_deref(), Some("two \nthree"));
        assert_eq!(read().as_deref(), Some(""));
        assert_eq!(read().as_deref(), Some("last\n"));
        assert_eq!(read(), None);
    }

    #[test]
    fn the_history_is_kept_for_its_owner_only() {
        let directory = Fixture::new("");
        let path = directory.path("history");
        let open = || {
            let options = InputOptions {
                history: Some(path.clone()),
                colour: false,
                find_files: Box::new(|_| Vec::new()),
            };
            LineEditor::new(options).unwrap()
        };
        let mut first = open();
        for text in ["one", "two\nlines \\", "two\nlines \\", " secret", ""] {
            first.remember(text);
        }
        let remembered: Vec<String> = open().editor.history().iter().cloned().collect();
        assert_eq!(remembered, ["one", "two\nlines \\"]);
        let mode = rustix::fs::stat(&path).unwrap().st_mode;
        assert_eq!(mode & 0o777, 0o600);
    }

    #[test]
    fn a_history_that_cannot_be_written_is_given_up() {
        let directory = Fixture::new("");
        let options = InputOptions {
            history: Some(directory.path("missing/history")),
            colour: false,
            find_files: Box::new(|_| Vec::new()),
        };
        let mut editor = LineEditor::new(options).unwrap();
        editor.remember("one");
        assert_eq!(editor.history, None);
    }
}
