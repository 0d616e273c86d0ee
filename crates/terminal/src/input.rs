//! What is typed: a box of several lines with history, completion and messages that wait.
//!
//! All of it is a state machine over key events. It reads no file and no clock; what it needs from outside it
//! asks for by an [`InputAction`].

mod completion;
mod drawing;
mod edit_buffer;
mod edit_history;
mod edit_keys;
mod history_walk;
mod input_history;
mod mentions;
mod message_queue;
mod pasted;
#[cfg(test)]
mod tests;
mod text_layout;

use crossterm::event::{KeyCode, KeyEvent, KeyEventKind, KeyModifiers};

pub(crate) use completion::first_visible;
pub use completion::{CandidateKind, CommandHint, CompletionKind, MentionCandidate};
use completion::{CompletionPopup, PopupItem, WordInProgress};
pub use edit_buffer::Draft;
use edit_buffer::TextChip;
pub(crate) use edit_buffer::{EditBuffer, EditUnit};
pub(crate) use edit_keys::types_a_character;
use history_walk::{HistorySearch, HistoryWalk};
pub use input_history::{HistoryWrite, InputHistory};
pub use mentions::{Mention, mention_can_begin, mention_of, mentions};
pub use message_queue::MessageQueue;
pub(crate) use pasted::cleaned;
use pasted::{Pasted, pasted};
use text_layout::TextLayout;
pub(crate) use text_layout::wrapped;

const CTRL: KeyModifiers = KeyModifiers::CONTROL;
const NONE: KeyModifiers = KeyModifiers::NONE;

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
    /// Candidates are wanted; see [`InputBox::set_candidates`].
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
    /// Ctrl-Z.
    Suspend,
    /// Ctrl-L.
    Redraw,
    /// Edit this in the user's editor, then call [`InputBox::set_text`].
    EditExternally(String),
}

/// The input box.
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
            (KeyCode::Char('z'), CTRL) => InputAction::Suspend,
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
            let first = self.buffer.units().iter().find(|unit| !unit.is_blank());
            matches!(first, Some(EditUnit::Grapheme(text)) if text == mark)
        };
        // A mark without anything behind it says nothing yet and is sent as it is.
        let has_more = self.buffer.units().iter().filter(|unit| !unit.is_blank()).nth(1).is_some();
        match has_more {
            true if starts("!") => SubmissionKind::Shell,
            true if starts("/") => SubmissionKind::Command,
            _ => SubmissionKind::Message,
        }
    }

    /// The text or the cursor changed: the list follows.
    fn edited(&mut self) -> InputAction {
        self.wanted_column = None;
        if self.buffer.is_empty() {
            self.is_taken_back = false;
            self.walk = HistoryWalk::default();
        }
        let word = WordInProgress::before(self.buffer.units(), self.buffer.cursor());
        if word.as_ref().map(|word| word.start) != self.closed_word {
            self.closed_word = None;
        }
        let Some(word) = word.filter(|_| self.closed_word.is_none()) else {
            self.popup = None;
            return InputAction::Changed;
        };
        let (query, kind) = (word.query.clone(), word.kind);
        let known = self
            .popup
            .take()
            .filter(|popup| popup.word.kind == kind && popup.word.start == word.start);
        let is_same = known.as_ref().is_some_and(|popup| popup.word.query == query);
        let items = match kind {
            CompletionKind::Mention => Vec::new(),
            CompletionKind::Command => {
                self.commands.iter().cloned().map(PopupItem::Command).collect()
            }
        };
        let mut popup = known.unwrap_or_else(|| CompletionPopup::new(word.clone(), items));
        popup.set_word(word);
        self.popup = Some(popup);
        match kind {
            CompletionKind::Mention if !is_same => InputAction::Complete { query, kind },
            _ => InputAction::Changed,
        }
    }

    /// What a key means while the list is open; `None` if it is for the text.
    fn popup_key(&mut self, event: KeyEvent) -> Option<InputAction> {
        let popup = self.popup.as_mut()?;
        match (event.code, event.modifiers) {
            (KeyCode::Up, NONE) | (KeyCode::Char('p'), CTRL) => popup.step(false),
            (KeyCode::Down, NONE) | (KeyCode::Char('n'), CTRL) => popup.step(true),
            (KeyCode::Esc, _) => {
                self.closed_word = Some(popup.word.start);
                self.popup = None;
            }
            (KeyCode::Tab, NONE) => return Some(self.take_selected(TakenBy::Tab)),
            (KeyCode::Enter, NONE) => return Some(self.take_selected(TakenBy::Enter)),
            _ => return None,
        }
        Some(InputAction::Changed)
    }

    fn take_selected(&mut self, key: TakenBy) -> InputAction {
        let Some(popup) = self.popup.take() else { return InputAction::Nothing };
        let start = popup.word.start;
        match popup.selected_item() {
            Some(PopupItem::Command(command)) => {
                let takes_none = command.arguments.is_empty();
                let text = format!("/{}{}", command.name, if takes_none { "" } else { " " });
                let is_typed = popup.word.query == command.name;
                if key == TakenBy::Enter && is_typed {
                    return self.send();
                }
                self.buffer.replace_back_to(start, &text);
                if key == TakenBy::Enter && takes_none { self.send() } else { self.finished(start) }
            }
            Some(PopupItem::Mention(found)) if key == TakenBy::Tab && found.can_be_entered() => {
                let inside = format!("@{}/", found.text.trim_end_matches('/'));
                self.buffer.replace_back_to(start, &inside);
                self.edited()
            }
            Some(PopupItem::Mention(found)) => {
                let text = mention_of(found.target.as_ref().unwrap_or(&found.text));
                let label = mention_of(&found.text);
                self.buffer.insert_chip(start, TextChip { label, text });
                self.buffer.insert(" ");
                self.edited()
            }
            None => InputAction::Nothing,
        }
    }

    /// A command was completed; its list does not open again.
    fn finished(&mut self, start: usize) -> InputAction {
        self.closed_word = Some(start);
        self.edited()
    }

    fn layout(&self) -> TextLayout {
        TextLayout::new(self.buffer.units(), self.text_width)
    }

    /// Up and Down: by a row of the text, and beyond its ends through queue and history.
    fn vertical(&mut self, direction: Vertical) -> InputAction {
        let layout = self.layout();
        let units = self.buffer.units();
        let row = layout.row_of(self.buffer.cursor());
        let next = match direction {
            Vertical::Up => row.checked_sub(1),
            Vertical::Down => Some(row + 1).filter(|row| *row < layout.rows.len()),
        };
        if let Some(next) = next {
            let here = layout.column_of(units, self.buffer.cursor());
            let column = *self.wanted_column.get_or_insert(here);
            let at = layout.at_column(units, next, column);
            self.buffer.move_to(at);
            self.popup = None;
            return InputAction::Changed;
        }
        if direction == Vertical::Up
            && self.buffer.is_empty()
            && !self.walk.is_walking()
            && let Some(submission) = self.queue.take_last()
        {
            self.buffer.show(submission.draft);
            self.buffer.move_to(usize::MAX);
            self.is_taken_back = true;
            return InputAction::Changed;
        }
        let entries = self.history.entries();
        match self.walk.step(entries, direction == Vertical::Up, self.buffer.draft()) {
            Some(draft) => {
                self.buffer.show(draft);
                self.wanted_column = None;
                self.popup = None;
                InputAction::Changed
            }
            None => InputAction::Nothing,
        }
    }

    fn search_key(&mut self, mut search: HistorySearch, event: KeyEvent) -> InputAction {
        match (event.code, event.modifiers) {
            (KeyCode::Esc, _) | (KeyCode::Char('c' | 'g'), CTRL) => return InputAction::Changed,
            (KeyCode::Enter, _) | (KeyCode::Tab, _) => {
                self.leave_search(search);
                return InputAction::Changed;
            }
            (KeyCode::Char('r'), CTRL) | (KeyCode::Up, _) => search.older(&self.history),
            (KeyCode::Down, _) => search.newer(&self.history),
            (KeyCode::Backspace, _) | (KeyCode::Char('h'), CTRL) => search.shorter(&self.history),
            (KeyCode::Char(c), _) if types_a_character(event) => search.add(c, &self.history),
            _ => {
                // Any other key takes the entry and then does what it does.
                self.leave_search(search);
                return self.key(event);
            }
        }
        self.search = Some(search);
        InputAction::Changed
    }

    /// Takes the entry that the search has found, if it has.
    fn leave_search(&mut self, search: HistorySearch) {
        if let Some(found) = search.found(&self.history) {
            self.buffer.replace(Draft::of(found));
            self.closed_word = Some(0);
        }
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Vertical {
    Up,
    Down,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum TakenBy {
    Tab,
    Enter,
}
