//! The list of completions as the text changes and keys are pressed.

use crossterm::event::{KeyCode, KeyEvent};

use super::completion::{CompletionKind, CompletionPopup, PopupItem, WordInProgress};
use super::edit_buffer::TextChip;
use super::history_walk::HistoryWalk;
use super::{CTRL, InputAction, InputBox, NONE, mention_of};

#[derive(Clone, Copy, PartialEq, Eq)]
enum TakenBy {
    Tab,
    Enter,
}

impl InputBox {
    /// The text or the cursor changed: the list follows.
    pub(super) fn edited(&mut self) -> InputAction {
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
    pub(super) fn popup_key(&mut self, event: KeyEvent) -> Option<InputAction> {
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
}
