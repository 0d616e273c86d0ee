//! The list below the input box: commands after a slash; files, directories and symbols after an `@`.

use super::edit_buffer::EditUnit;
use super::mentions::mention_can_begin;
use crate::fuzzy::{FuzzyHit, rank};
use crate::live_lines::InkLine;
use crate::{Ink, LiveStyle, columns};

/// Rows of the list.
const MOST_ROWS: usize = 8;

/// What is looked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CompletionKind {
    /// A file, a directory or a symbol, after `@`.
    Mention,
    /// A command, after `/`. Its candidates are known: [`super::InputBox::set_commands`].
    Command,
}

/// What a candidate is, which decides what taking it does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CandidateKind {
    /// A file that can be attached.
    File,
    /// A directory: Tab looks inside.
    Directory,
    /// A symbol; its target tells where it is.
    Symbol,
}

/// Something that can be mentioned.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MentionCandidate {
    /// What is matched and shown.
    pub text: String,
    /// What is mentioned to attach it, if that is not the text, such as the file of a symbol.
    pub target: Option<String>,
    /// What it is.
    pub kind: CandidateKind,
    /// Shown behind it, such as the place of a symbol.
    pub detail: String,
}

impl MentionCandidate {
    /// Whether its path can be completed further. A path with blanks is mentioned in quotes, as a whole.
    pub(super) fn can_be_entered(&self) -> bool {
        self.kind == CandidateKind::Directory && !self.text.contains(char::is_whitespace)
    }
}

/// A command as it is listed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CommandHint {
    /// Its name, without the slash.
    pub name: String,
    /// What may follow, such as `[NAME]`; empty if nothing can.
    pub arguments: String,
    /// What it does, in a few words.
    pub about: String,
}

/// The unfinished word before the cursor.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct WordInProgress {
    pub(super) kind: CompletionKind,
    /// The unit that its mark is.
    pub(super) start: usize,
    /// What was typed after the mark.
    pub(super) query: String,
}

impl WordInProgress {
    pub(super) fn before(units: &[EditUnit], cursor: usize) -> Option<Self> {
        let is_word = |unit: &EditUnit| matches!(unit, EditUnit::Grapheme(_)) && !unit.is_blank();
        let typed = &units[..cursor];
        let start = typed.iter().rposition(|unit| !is_word(unit)).map_or(0, |at| at + 1);
        let text = |from: usize| -> String {
            let grapheme = |unit: &EditUnit| match unit {
                EditUnit::Grapheme(text) => text.clone(),
                EditUnit::Chip(_) => String::new(),
            };
            typed[from..].iter().map(grapheme).collect()
        };
        let word = text(start);
        if start == 0 && word.starts_with('/') {
            let query = word[1..].to_owned();
            return Some(Self { kind: CompletionKind::Command, start, query });
        }
        let is_mark = |at: &usize| matches!(&typed[*at], EditUnit::Grapheme(text) if text == "@");
        let begins = |at: &usize| {
            let before: String = match at.checked_sub(1).map(|at| &typed[at]) {
                Some(EditUnit::Grapheme(text)) => text.clone(),
                Some(EditUnit::Chip(_)) => " ".into(),
                None => String::new(),
            };
            mention_can_begin(&before)
        };
        let at = (start..cursor).rev().find(|at| is_mark(at) && begins(at))?;
        let query = text(at + 1).trim_start_matches('"').to_owned();
        Some(Self { kind: CompletionKind::Mention, start: at, query })
    }
}

/// One row of the list.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum PopupItem {
    Mention(MentionCandidate),
    Command(CommandHint),
}

impl PopupItem {
    fn matched(&self) -> &str {
        match self {
            PopupItem::Mention(candidate) => &candidate.text,
            PopupItem::Command(command) => &command.name,
        }
    }
}

/// The open list.
#[derive(Clone, Debug)]
pub(super) struct CompletionPopup {
    pub(super) word: WordInProgress,
    items: Vec<PopupItem>,
    hits: Vec<FuzzyHit>,
    selected: usize,
}

impl CompletionPopup {
    pub(super) fn new(word: WordInProgress, items: Vec<PopupItem>) -> Self {
        let mut popup = Self { word, items, hits: Vec::new(), selected: 0 };
        popup.rank();
        popup
    }

    /// The word grew or shrank; what is known stays until new candidates come.
    pub(super) fn set_word(&mut self, word: WordInProgress) {
        if word != self.word {
            self.word = word;
            self.rank();
        }
    }

    pub(super) fn set_items(&mut self, items: Vec<PopupItem>) {
        let chosen = self.selected_item().cloned().filter(|_| self.selected > 0);
        self.items = items;
        self.rank();
        // The row that the user moved to stays the chosen one.
        let is_chosen = |hit: &FuzzyHit| Some(&self.items[hit.index]) == chosen.as_ref();
        self.selected = self.hits.iter().position(is_chosen).unwrap_or(0);
    }

    pub(super) fn is_empty(&self) -> bool {
        self.hits.is_empty()
    }

    pub(super) fn selected_item(&self) -> Option<&PopupItem> {
        self.hits.get(self.selected).map(|hit| &self.items[hit.index])
    }

    /// Moves the selection, around the ends.
    pub(super) fn step(&mut self, forward: bool) {
        let count = self.hits.len().max(1);
        self.selected = (self.selected + if forward { 1 } else { count - 1 }) % count;
    }

    fn rank(&mut self) {
        self.hits = rank(&self.word.query, self.items.iter().map(PopupItem::matched));
        self.selected = 0;
    }

    pub(super) fn draw(&self, style: LiveStyle) -> Vec<String> {
        let first = first_visible(self.selected, self.hits.len(), MOST_ROWS);
        let visible = self.hits.iter().enumerate().skip(first).take(MOST_ROWS);
        let name = |item: &PopupItem| match item {
            PopupItem::Mention(candidate) => candidate.text.clone(),
            PopupItem::Command(CommandHint { name, arguments, .. }) => {
                format!("/{name} {arguments}").trim_end().to_owned()
            }
        };
        let widths = visible.clone().map(|(_, hit)| columns(&name(&self.items[hit.index])));
        // Descriptions stand in a column of their own unless names need the room.
        let column = widths.max().unwrap_or(0).min(style.width / 2);
        let row = |(at, hit): (usize, &FuzzyHit)| {
            let item = &self.items[hit.index];
            let chosen = at == self.selected;
            let ink = if chosen { Ink::CYAN.and(Ink::BOLD) } else { Ink::PLAIN };
            let mut line = InkLine::new();
            line.push(ink, if chosen { "  › " } else { "    " });
            let about = match item {
                PopupItem::Mention(candidate) => &candidate.detail,
                PopupItem::Command(command) => &command.about,
            };
            line.push(ink, &name(item));
            if !about.is_empty() {
                line.fill(Ink::PLAIN, " ", 4 + column).push(Ink::DIM, "  ").push(Ink::DIM, about);
            }
            line.paint(style)
        };
        visible.map(row).collect()
    }
}

/// The first of `count` rows that is shown so that `selected` is among `most`.
pub(crate) fn first_visible(selected: usize, count: usize, most: usize) -> usize {
    let wanted = (selected + 1).saturating_sub(most.div_ceil(2));
    wanted.min(count.saturating_sub(most))
}
