//! What is typed: a box of several lines with history, completion and messages that wait.
//!
//! All of it is a state machine over key events. It reads no file and no clock; what it needs from outside it
//! asks for by an [`InputAction`].

mod completion;
mod drawing;
mod edit_buffer;
mod edit_history;
mod edit_keys;
mod history_keys;
mod history_walk;
mod input_action;
mod input_history;
mod mentions;
mod message_queue;
mod pasted;
mod popup_keys;
#[cfg(test)]
mod tests;
mod text_layout;

use crossterm::event::{KeyCode, KeyEvent, KeyEventKind, KeyModifiers};

pub(crate) use completion::first_visible;
pub use completion::{CandidateKind, CommandHint, CompletionKind, MentionCandidate};
use completion::{CompletionPopup, PopupItem};
pub use edit_buffer::Draft;
pub(crate) use edit_buffer::{EditBuffer, EditUnit};
pub(crate) use edit_keys::types_a_character;
use history_keys::Vertical;
use history_walk::{HistorySearch, HistoryWalk};
pub use input_action::{InputAction, Submission, SubmissionKind};
pub use input_history::{HistoryWrite, InputHistory};
pub use mentions::{Mention, mention_can_begin, mention_of, mentions};
pub use message_queue::MessageQueue;
pub(crate) use pasted::cleaned;
use pasted::{Pasted, pasted};
pub(crate) use text_layout::wrapped;

const CTRL: KeyModifiers = KeyModifiers::CONTROL;
const NONE: KeyModifiers = KeyModifiers::NONE;

#[derive(Debug, Default)]
pub struct InputBox {
    buffer: EditBuffer,
    history: InputHistory,
    walk: HistoryWalk,
    search: Option<HistorySearch>,
    popup: Option<CompletionPopup>,
    /// The word whose list was closed with Esc; it opens no list again.
    closed_word: Option<usize>,
    commands: Vec<CommandHint>,
    queue: MessageQueue,
    /// The text was taken back from the queue.
    is_taken_back: bool,
    note: Option<String>,
    /// Ctrl-X was pressed, the first of two keys.
    after_ctrl_x: bool,
    /// Columns of text at the last drawing, by which the arrows move.
    text_width: usize,
    /// The column that Up and Down try to keep.
    wanted_column: Option<usize>,
    first_row: usize,
}

impl InputBox {
    /// An empty box with the history of earlier sessions.
    pub fn new(history: InputHistory) -> Self {
        Self { history, text_width: drawing::text_width(80), ..Self::default() }
    }

    /// The commands that are offered after a slash.
    pub fn set_commands(&mut self, commands: Vec<CommandHint>) {
        self.commands = commands;
    }

    /// Whether nothing is typed. Only then can a key answer a question.
    pub fn is_empty(&self) -> bool {
        self.buffer.is_empty() && self.search.is_none()
    }

    /// The whole text, with everything that was collapsed.
    pub fn text(&self) -> String {
        self.buffer.draft().expanded()
    }

    /// Replaces the text, as after an external editor.
    pub fn set_text(&mut self, text: &str) {
        self.buffer.replace(Draft::of(cleaned(text).trim_end_matches('\n')));
        self.popup = None;
        self.note = None;
    }

    /// Shows a line below the box until the next key, such as why a file cannot be attached.
    pub fn note(&mut self, text: &str) {
        self.note = Some(text.to_owned());
    }

    /// The messages that wait.
    pub fn queue(&self) -> &MessageQueue {
        &self.queue
    }

    /// The messages that wait, to add to them or to take the next one.
    pub fn queue_mut(&mut self) -> &mut MessageQueue {
        &mut self.queue
    }

    /// Gives candidates for the word that is typed after `@`. They are ranked here; late ones do no harm.
    pub fn set_candidates(&mut self, candidates: Vec<MentionCandidate>) {
        if let Some(popup) = &mut self.popup
            && popup.word.kind == CompletionKind::Mention
        {
            popup.set_items(candidates.into_iter().map(PopupItem::Mention).collect());
        }
    }

    /// Takes what the terminal pasted.
    pub fn paste(&mut self, text: &str) -> InputAction {
        self.note = None;
        if let Some(search) = self.search.take() {
            self.leave_search(search);
        }
        match pasted(text) {
            Pasted::Text(text) => self.buffer.insert(&text),
            Pasted::Chip(chip) => self.buffer.insert_chip(self.buffer.cursor(), chip),
        }
        self.edited()
    }

    /// Takes a key.
    pub fn key(&mut self, event: KeyEvent) -> InputAction {
        if event.kind == KeyEventKind::Release {
            return InputAction::Nothing;
        }
        self.note = None;
        let follows_ctrl_x = std::mem::take(&mut self.after_ctrl_x);
        if let Some(search) = self.search.take() {
            return self.search_key(search, event);
        }
        if self.popup.as_ref().is_some_and(|popup| !popup.is_empty())
            && let Some(action) = self.popup_key(event)
        {
            return action;
        }
        match (event.code, event.modifiers) {
            (KeyCode::Char('e'), CTRL) if follows_ctrl_x => {
                InputAction::EditExternally(self.text())
            }
            (KeyCode::Char('x'), CTRL) => {
                self.after_ctrl_x = true;
                InputAction::Changed
            }
            (KeyCode::Char('g'), CTRL) => InputAction::EditExternally(self.text()),
            (KeyCode::Char('c'), CTRL) if self.buffer.is_empty() => InputAction::Interrupt,
            (KeyCode::Char('c'), CTRL) => self.clear(),
            (KeyCode::Char('d'), CTRL) if self.buffer.is_empty() => InputAction::Leave,
            (KeyCode::Char('l'), CTRL) => InputAction::Redraw,
            (KeyCode::Char('r'), CTRL) => {
                self.search = Some(HistorySearch::default());
                self.popup = None;
                InputAction::Changed
            }
            (KeyCode::Esc, _) if self.is_taken_back => self.clear(),
            (KeyCode::Esc, _) => InputAction::Stop,
            (KeyCode::Char('j'), CTRL) => self.newline(),
            (KeyCode::Enter, NONE) => self.enter(),
            (KeyCode::Enter, _) => self.newline(),
            (KeyCode::Up, NONE) | (KeyCode::Char('p'), CTRL) => self.vertical(Vertical::Up),
            (KeyCode::Down, NONE) | (KeyCode::Char('n'), CTRL) => self.vertical(Vertical::Down),
            (KeyCode::Backspace, NONE) if self.buffer.is_empty() => self.withdraw(),
            _ => {
                if self.buffer.key(event) {
                    self.edited()
                } else {
                    InputAction::Nothing
                }
            }
        }
    }

    /// Removes the message that was queued last.
    fn withdraw(&mut self) -> InputAction {
        match self.queue.take_last() {
            Some(_) => InputAction::Changed,
            None => InputAction::Nothing,
        }
    }

    /// Empties the box. Undo brings the text back.
    fn clear(&mut self) -> InputAction {
        self.buffer.replace(Draft::default());
        self.is_taken_back = false;
        self.edited()
    }

    fn newline(&mut self) -> InputAction {
        self.buffer.insert("\n");
        self.edited()
    }

    /// Sends, unless a backslash before the cursor asks for another line.
    fn enter(&mut self) -> InputAction {
        let before = self.buffer.cursor().checked_sub(1);
        if let Some(EditUnit::Grapheme(text)) = before.map(|at| &self.buffer.units()[at])
            && text == "\\"
        {
            self.buffer.replace_back_to(self.buffer.cursor() - 1, "\n");
            return self.edited();
        }
        self.send()
    }

    fn send(&mut self) -> InputAction {
        let text = self.text();
        if text.trim().is_empty() {
            return InputAction::Nothing;
        }
        let history = self.history.add(&text);
        let kind = self.kind();
        let draft = self.buffer.take();
        self.walk = HistoryWalk::default();
        self.is_taken_back = false;
        self.edited();
        let text = match kind {
            SubmissionKind::Shell => text.trim_start()[1..].trim().to_owned(),
            SubmissionKind::Command => text.trim().to_owned(),
            SubmissionKind::Message => text,
        };
        InputAction::Send(Submission { kind, text, draft, history })
    }

    /// What the text would be sent as.
    fn kind(&self) -> SubmissionKind {
        let starts = |mark: &str| {
            // As in a shell, a blank before it makes it plain text.
            matches!(self.buffer.units().first(), Some(EditUnit::Grapheme(text)) if text == mark)
        };
        // A mark without anything behind it says nothing yet and is sent as it is.
        let has_more = self.buffer.units().iter().filter(|unit| !unit.is_blank()).nth(1).is_some();
        match has_more {
            true if starts("!") => SubmissionKind::Shell,
            true if starts("/") => SubmissionKind::Command,
            _ => SubmissionKind::Message,
        }
    }
}
