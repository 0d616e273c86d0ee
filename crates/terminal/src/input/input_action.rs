//! What the caller learns from the input box.

use super::completion::CompletionKind;
use super::edit_buffer::Draft;
use super::input_history::HistoryWrite;

/// What a text is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SubmissionKind {
    /// Something for the model.
    Message,
    /// Something for Toolkiln, such as `/model`.
    Command,
    /// A command line to run, typed after `!`.
    Shell,
}

/// A text that was sent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Submission {
    /// What it is for.
    pub kind: SubmissionKind,
    /// The whole text, without the mark of a shell command.
    pub text: String,
    /// The text as it was typed, to be edited again.
    pub draft: Draft,
    /// What to write to the history file.
    pub history: Option<HistoryWrite>,
}

/// What the caller has to do after a key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum InputAction {
    /// The key means nothing here.
    Nothing,
    /// Only what is drawn has changed.
    Changed,
    /// Candidates are wanted; see [`super::InputBox::set_candidates`].
    Complete {
        /// What was typed after the mark.
        query: String,
        /// What is looked for.
        kind: CompletionKind,
    },
    /// A text was sent and the box is empty.
    Send(Submission),
    /// Esc: stop what runs.
    Stop,
    /// Ctrl-C in an empty box. With text in it, Ctrl-C clears the box.
    Interrupt,
    /// Ctrl-D in an empty box.
    Leave,
    /// Ctrl-L.
    Redraw,
    /// Edit this in the user's editor, then call [`super::InputBox::set_text`].
    EditExternally(String),
}
