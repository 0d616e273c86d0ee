//! Keys that mean the same wherever text is edited: those of a shell.

use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};

use super::edit_buffer::{EditBuffer, EditTarget};

const CTRL: KeyModifiers = KeyModifiers::CONTROL;
const ALT: KeyModifiers = KeyModifiers::ALT;
const NONE: KeyModifiers = KeyModifiers::NONE;

impl EditBuffer {
    /// Does what the key means for text; `false` if it means nothing here.
    pub(crate) fn key(&mut self, event: KeyEvent) -> bool {
        use EditTarget::{Back, BlankBack, Forward, LineEnd, LineStart, WordBack, WordForward};
        // Shift tells nothing that the character does not tell.
        let modifiers = event.modifiers - KeyModifiers::SHIFT;
        match (event.code, modifiers) {
            (KeyCode::Char(c), NONE) if !c.is_control() => self.insert(c.encode_utf8(&mut [0; 4])),
            (KeyCode::Left, NONE) | (KeyCode::Char('b'), CTRL) => self.go(Back),
            (KeyCode::Right, NONE) | (KeyCode::Char('f'), CTRL) => self.go(Forward),
            (KeyCode::Left, CTRL | ALT) | (KeyCode::Char('b'), ALT) => self.go(WordBack),
            (KeyCode::Right, CTRL | ALT) | (KeyCode::Char('f'), ALT) => self.go(WordForward),
            (KeyCode::Home, NONE) | (KeyCode::Char('a'), CTRL) => self.go(LineStart),
            (KeyCode::End, NONE) | (KeyCode::Char('e'), CTRL) => self.go(LineEnd),
            (KeyCode::Home, CTRL) => self.move_to(0),
            (KeyCode::End, CTRL) => self.move_to(usize::MAX),
            (KeyCode::Backspace, NONE) | (KeyCode::Char('h'), CTRL) => self.delete(Back),
            (KeyCode::Delete, NONE) | (KeyCode::Char('d'), CTRL) => self.delete(Forward),
            (KeyCode::Char('w'), CTRL) => self.kill(BlankBack),
            (KeyCode::Backspace, ALT | CTRL) => self.kill(WordBack),
            (KeyCode::Char('d'), ALT) | (KeyCode::Delete, ALT | CTRL) => self.kill(WordForward),
            (KeyCode::Char('k'), CTRL) => self.kill(LineEnd),
            (KeyCode::Char('u'), CTRL) => self.kill(LineStart),
            (KeyCode::Char('y'), CTRL) => self.yank(),
            // A terminal sends the same byte for Ctrl-_, Ctrl-/ and Ctrl-7.
            (KeyCode::Char('_' | '/' | '7' | '-'), CTRL) => self.undo(),
            (KeyCode::Char('_' | '/'), ALT) => self.redo(),
            _ => return false,
        }
        true
    }
}

/// Whether a key puts a character into a text.
pub(crate) fn types_a_character(event: KeyEvent) -> bool {
    matches!(event.code, KeyCode::Char(c) if !c.is_control())
        && (event.modifiers - KeyModifiers::SHIFT).is_empty()
}
