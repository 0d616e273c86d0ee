//! Keys that lead out of the text: to messages that wait and to those of before.

use crossterm::event::{KeyCode, KeyEvent};

use super::edit_buffer::Draft;
use super::history_walk::HistorySearch;
use super::text_layout::TextLayout;
use super::{CTRL, InputAction, InputBox, types_a_character};

#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Vertical {
    Up,
    Down,
}

impl InputBox {
    fn layout(&self) -> TextLayout {
        TextLayout::new(self.buffer.units(), self.text_width)
    }

    /// Up and Down: by a row of the text, and beyond its ends through queue and history.
    pub(super) fn vertical(&mut self, direction: Vertical) -> InputAction {
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

    pub(super) fn search_key(&mut self, mut search: HistorySearch, event: KeyEvent) -> InputAction {
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
    pub(super) fn leave_search(&mut self, search: HistorySearch) {
        if let Some(found) = search.found(&self.history) {
            self.buffer.replace(Draft::of(found));
            self.closed_word = Some(0);
        }
    }
}
