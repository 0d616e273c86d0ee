//! Text that is being edited: a sequence of units and a cursor between two of them.
//!
//! A unit is a grapheme or a chip, so the cursor can stand nowhere else than at the edge of one.

use std::sync::Arc;

use unicode_segmentation::UnicodeSegmentation as _;

use super::edit_history::{EditHistory, EditKind};

/// Bytes of a text that is edited letter by letter. A longer one is for an external editor.
pub(super) const MOST_EDITED: usize = 20_000;

/// A piece of text that is shown as one label and moves, and goes, as one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct TextChip {
    pub(crate) label: String,
    /// What stands for it when the text is sent.
    pub(crate) text: String,
}

/// What the cursor steps over at once.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum EditUnit {
    Grapheme(String),
    Chip(Arc<TextChip>),
}

impl EditUnit {
    pub(crate) fn is_newline(&self) -> bool {
        matches!(self, EditUnit::Grapheme(text) if text == "\n")
    }

    pub(crate) fn is_blank(&self) -> bool {
        matches!(self, EditUnit::Grapheme(text) if text.chars().all(char::is_whitespace))
    }

    /// Whether it belongs to a word for the keys that move by words. A chip is a word of its own.
    fn is_word(&self) -> bool {
        match self {
            EditUnit::Grapheme(text) => text.chars().any(|c| c.is_alphanumeric() || c == '_'),
            EditUnit::Chip(_) => true,
        }
    }

    /// What it stands for.
    fn expanded(&self) -> &str {
        match self {
            EditUnit::Grapheme(text) => text,
            EditUnit::Chip(chip) => &chip.text,
        }
    }
}

/// A text as it was left: what is typed and not sent, with its chips.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Draft {
    pub(crate) units: Vec<EditUnit>,
    pub(crate) cursor: usize,
}

impl Draft {
    /// A draft of plain text with the cursor at its end.
    ///
    /// A text that is too long to be edited here becomes one unit.
    pub fn of(text: &str) -> Self {
        let units = if text.len() > MOST_EDITED {
            let label = format!("[text of {} lines]", text.lines().count());
            vec![EditUnit::Chip(Arc::new(TextChip { label, text: text.to_owned() }))]
        } else {
            units_of(text)
        };
        Self { cursor: units.len(), units }
    }

    /// Whether there is nothing in it.
    pub fn is_empty(&self) -> bool {
        self.units.is_empty()
    }

    /// The text with everything that was collapsed.
    pub fn expanded(&self) -> String {
        self.units.iter().map(EditUnit::expanded).collect()
    }

    /// The text as it is shown, on one line.
    pub fn one_line(&self) -> String {
        let shown = |unit: &EditUnit| match unit {
            EditUnit::Grapheme(text) if text == "\n" => " ⏎ ".to_owned(),
            EditUnit::Grapheme(text) => text.clone(),
            EditUnit::Chip(chip) => chip.label.clone(),
        };
        self.units.iter().map(shown).collect()
    }
}

pub(super) fn units_of(text: &str) -> Vec<EditUnit> {
    text.graphemes(true).map(|grapheme| EditUnit::Grapheme(grapheme.to_owned())).collect()
}

/// A draft with what editing needs: undo, and what was cut last.
#[derive(Clone, Debug, Default)]
pub(crate) struct EditBuffer {
    draft: Draft,
    changes: EditHistory,
    killed: Vec<EditUnit>,
}

/// Where a movement or a deletion ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum EditTarget {
    Back,
    Forward,
    WordBack,
    /// Back to the last blank, as in a shell.
    BlankBack,
    WordForward,
    LineStart,
    LineEnd,
}

impl EditBuffer {
    pub(crate) fn draft(&self) -> &Draft {
        &self.draft
    }

    pub(crate) fn units(&self) -> &[EditUnit] {
        &self.draft.units
    }

    pub(crate) fn cursor(&self) -> usize {
        self.draft.cursor
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.draft.is_empty()
    }

    /// Takes the draft out and forgets its changes.
    pub(crate) fn take(&mut self) -> Draft {
        self.changes = EditHistory::default();
        std::mem::take(&mut self.draft)
    }

    /// Replaces the whole text. It can be undone.
    pub(crate) fn replace(&mut self, draft: Draft) {
        self.changes.before(EditKind::Other, &self.draft);
        self.draft = draft;
    }

    /// Shows another text without making it a change, as when walking through history.
    pub(crate) fn show(&mut self, draft: Draft) {
        self.draft = draft;
        self.changes = EditHistory::default();
    }

    pub(crate) fn move_to(&mut self, at: usize) {
        self.draft.cursor = at.min(self.draft.units.len());
        self.changes.break_group();
    }

    pub(crate) fn go(&mut self, target: EditTarget) {
        self.move_to(self.target(target));
    }

    /// Adds typed or pasted text at the cursor.
    pub(crate) fn insert(&mut self, text: &str) {
        if text.is_empty() {
            return;
        }
        let kind = if text.chars().all(char::is_whitespace) {
            EditKind::TypeBlank
        } else {
            EditKind::Type
        };
        self.changes.before(kind, &self.draft);
        self.insert_units(units_of(text));
    }

    /// Puts a chip in the place of the units from `start` to the cursor.
    pub(crate) fn insert_chip(&mut self, start: usize, chip: TextChip) {
        self.changes.before(EditKind::Other, &self.draft);
        self.remove(start.min(self.cursor())..self.cursor());
        self.insert_units(vec![EditUnit::Chip(Arc::new(chip))]);
    }

    /// Puts text in the place of the units from `start` to the cursor.
    pub(crate) fn replace_back_to(&mut self, start: usize, text: &str) {
        self.changes.before(EditKind::Other, &self.draft);
        self.remove(start.min(self.cursor())..self.cursor());
        self.insert_units(units_of(text));
    }

    /// Removes what lies between the cursor and the target.
    pub(crate) fn delete(&mut self, target: EditTarget) {
        self.removed_to(target, EditKind::Delete);
    }

    /// Removes what lies between the cursor and the target, and keeps it for [`Self::yank`]. At the end of a line
    /// the line break goes.
    pub(crate) fn kill(&mut self, target: EditTarget) {
        let goes_nowhere = self.target(target) == self.cursor();
        let target = match target {
            EditTarget::LineEnd if goes_nowhere => EditTarget::Forward,
            EditTarget::LineStart if goes_nowhere => EditTarget::Back,
            target => target,
        };
        let killed = self.removed_to(target, EditKind::Other);
        if !killed.is_empty() {
            self.killed = killed;
        }
    }

    /// Inserts what was cut last.
    pub(crate) fn yank(&mut self) {
        if !self.killed.is_empty() {
            self.changes.before(EditKind::Other, &self.draft);
            self.insert_units(self.killed.clone());
        }
    }

    pub(crate) fn undo(&mut self) {
        self.changes.undo(&mut self.draft);
    }

    pub(crate) fn redo(&mut self) {
        self.changes.redo(&mut self.draft);
    }

    fn removed_to(&mut self, target: EditTarget, kind: EditKind) -> Vec<EditUnit> {
        let (cursor, end) = (self.cursor(), self.target(target));
        if cursor == end {
            return Vec::new();
        }
        self.changes.before(kind, &self.draft);
        let removed = self.remove(cursor.min(end)..cursor.max(end));
        self.rejoin();
        removed
    }

    fn remove(&mut self, range: std::ops::Range<usize>) -> Vec<EditUnit> {
        self.draft.cursor = range.start;
        self.draft.units.drain(range).collect()
    }

    fn insert_units(&mut self, units: Vec<EditUnit>) {
        let (at, count) = (self.draft.cursor, units.len());
        self.draft.units.splice(at..at, units);
        self.draft.cursor = at + count;
        self.rejoin();
        // Both ends of what was inserted can join their neighbours, and a line break may lie between.
        let behind = self.draft.units.len() - self.draft.cursor;
        self.draft.cursor = at.min(self.draft.cursor);
        self.rejoin();
        self.draft.cursor = self.draft.units.len() - behind;
    }

    /// Finds the graphemes around the cursor anew: an accent joins the letter before it. The cursor goes behind
    /// a grapheme that grew around it.
    fn rejoin(&mut self) {
        let ends = |unit: &EditUnit| unit.is_newline() || matches!(unit, EditUnit::Chip(_));
        let units = &self.draft.units;
        let cursor = self.draft.cursor;
        let start = units[..cursor].iter().rposition(ends).map_or(0, |at| at + 1);
        let end = units[cursor..].iter().position(ends).map_or(units.len(), |at| cursor + at);
        let before: usize = units[start..cursor].iter().map(|unit| unit.expanded().len()).sum();
        let text: String = units[start..end].iter().map(EditUnit::expanded).collect();
        let joined = units_of(&text);
        let mut passed = 0;
        let within = joined
            .iter()
            .take_while(|unit| {
                let is_before = passed < before;
                passed += unit.expanded().len();
                is_before
            })
            .count();
        self.draft.units.splice(start..end, joined);
        self.draft.cursor = start + within;
    }

    fn target(&self, target: EditTarget) -> usize {
        let (units, cursor) = (self.units(), self.cursor());
        let back_over = |from: usize, is: &dyn Fn(&EditUnit) -> bool| {
            units[..from].iter().rposition(|unit| !is(unit)).map_or(0, |at| at + 1)
        };
        let forward_over = |from: usize, is: &dyn Fn(&EditUnit) -> bool| {
            units[from..].iter().position(|unit| !is(unit)).map_or(units.len(), |at| from + at)
        };
        let is_chip = |at: usize| matches!(units.get(at), Some(EditUnit::Chip(_)));
        let in_word = |unit: &EditUnit| unit.is_word() && !matches!(unit, EditUnit::Chip(_));
        match target {
            EditTarget::Back => cursor.saturating_sub(1),
            EditTarget::Forward => (cursor + 1).min(units.len()),
            EditTarget::WordBack => {
                let end = back_over(cursor, &|unit| !unit.is_word());
                if end > 0 && is_chip(end - 1) { end - 1 } else { back_over(end, &in_word) }
            }
            EditTarget::BlankBack => {
                let end = back_over(cursor, &EditUnit::is_blank);
                back_over(end, &|unit| !unit.is_blank())
            }
            EditTarget::WordForward => {
                let start = forward_over(cursor, &|unit| !unit.is_word());
                if is_chip(start) { start + 1 } else { forward_over(start, &in_word) }
            }
            EditTarget::LineStart => back_over(cursor, &|unit| !unit.is_newline()),
            EditTarget::LineEnd => forward_over(cursor, &|unit| !unit.is_newline()),
        }
    }
}
