//! Undo and redo of what is typed. Letters of a word go together.

use super::edit_buffer::Draft;

/// Steps that can be undone.
const MOST_STEPS: usize = 200;

/// Changes of one kind in a row are undone together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum EditKind {
    Type,
    TypeBlank,
    Delete,
    /// Always a step of its own.
    Other,
}

#[derive(Clone, Debug, Default)]
pub(super) struct EditHistory {
    undo: Vec<Draft>,
    redo: Vec<Draft>,
    last: Option<EditKind>,
}

impl EditHistory {
    /// Remembers the text as it is before a change.
    pub(super) fn before(&mut self, kind: EditKind, draft: &Draft) {
        let goes_on = match (self.last, kind) {
            (_, EditKind::Other) => false,
            // A blank ends a word and belongs to it.
            (Some(EditKind::Type), EditKind::TypeBlank) => true,
            (last, kind) => last == Some(kind),
        };
        if !goes_on {
            if self.undo.len() == MOST_STEPS {
                self.undo.remove(0);
            }
            self.undo.push(draft.clone());
        }
        self.redo.clear();
        self.last = Some(kind);
    }

    /// The next change is a step of its own.
    pub(super) fn break_group(&mut self) {
        self.last = None;
    }

    pub(super) fn undo(&mut self, draft: &mut Draft) {
        Self::step(&mut self.undo, &mut self.redo, draft);
        self.last = None;
    }

    pub(super) fn redo(&mut self, draft: &mut Draft) {
        Self::step(&mut self.redo, &mut self.undo, draft);
        self.last = None;
    }

    fn step(from: &mut Vec<Draft>, to: &mut Vec<Draft>, draft: &mut Draft) {
        if let Some(other) = from.pop() {
            to.push(std::mem::replace(draft, other));
        }
    }
}
