//! Picking files or hunks of a proposal.

use std::collections::BTreeMap;

use crossterm::event::{KeyCode, KeyEvent};

use super::PanelFile;
use crate::input::first_visible;
use crate::live_lines::{InkLine, cut_painted};
use crate::{Ink, LiveStyle};

/// Rows of the list, which leaves room for the lines of a hunk.
const MOST_ROWS: usize = 8;

/// What came of a key.
pub(super) enum PickStep {
    Stay,
    Back,
    /// The key does nothing here.
    NotMeant,
    /// Enter, and nothing is picked.
    None,
    /// Enter, and everything is picked.
    All,
    /// Enter: of these files only these parts.
    Some(BTreeMap<String, Vec<usize>>),
}

#[derive(Debug)]
struct PickRow {
    path: String,
    title: String,
    /// The hunks that the row stands for.
    parts: std::ops::Range<usize>,
    preview: Vec<String>,
    picked: bool,
}

/// A list in which each row is picked or not. At first, all are.
#[derive(Debug)]
pub(super) struct PartPicker {
    rows: Vec<PickRow>,
    selected: usize,
}

impl PartPicker {
    pub(super) fn files(files: &[PanelFile]) -> Self {
        let row = |file: &PanelFile| PickRow {
            path: file.path.clone(),
            title: format!("{}  +{} −{}", file.path, file.added, file.removed),
            parts: 0..file.parts.len(),
            preview: file.parts.iter().flat_map(|part| part.lines.clone()).collect(),
            picked: true,
        };
        Self { rows: files.iter().map(row).collect(), selected: 0 }
    }

    pub(super) fn hunks(files: &[PanelFile]) -> Self {
        let rows = files.iter().flat_map(|file| {
            file.parts.iter().enumerate().map(|(at, part)| PickRow {
                path: file.path.clone(),
                title: format!("{}  {}", file.path, part.title),
                parts: at..at + 1,
                preview: part.lines.clone(),
                picked: true,
            })
        });
        Self { rows: rows.collect(), selected: 0 }
    }

    pub(super) fn key(&mut self, event: KeyEvent) -> PickStep {
        let last = self.rows.len().saturating_sub(1);
        match event.code {
            KeyCode::Up => self.selected = self.selected.saturating_sub(1),
            KeyCode::Down => self.selected = (self.selected + 1).min(last),
            KeyCode::Home => self.selected = 0,
            KeyCode::End => self.selected = last,
            KeyCode::Char(' ') => {
                if let Some(row) = self.rows.get_mut(self.selected) {
                    row.picked = !row.picked;
                }
            }
            KeyCode::Char('a') => {
                // All, or none if all are picked already.
                let picked = !self.rows.iter().all(|row| row.picked);
                self.rows.iter_mut().for_each(|row| row.picked = picked);
            }
            KeyCode::Esc => return PickStep::Back,
            KeyCode::Enter => return self.picked(),
            _ => return PickStep::NotMeant,
        }
        PickStep::Stay
    }

    fn picked(&self) -> PickStep {
        if self.rows.iter().all(|row| row.picked) {
            return PickStep::All;
        }
        if !self.rows.iter().any(|row| row.picked) {
            return PickStep::None;
        }
        let mut parts: BTreeMap<String, Vec<usize>> = BTreeMap::new();
        for row in &self.rows {
            let of_file = parts.entry(row.path.clone()).or_default();
            if row.picked {
                of_file.extend(row.parts.clone());
            }
        }
        let is_whole =
            |path: &String| self.rows.iter().filter(|row| row.path == *path).all(|row| row.picked);
        parts.retain(|path, _| !is_whole(path));
        PickStep::Some(parts)
    }

    /// The list, and as much of the chosen row's lines as fits into `most` rows.
    pub(super) fn draw(&self, style: LiveStyle, most: usize) -> Vec<String> {
        let shown = MOST_ROWS.min(most.max(1));
        let first = first_visible(self.selected, self.rows.len(), shown);
        let row = |(at, row): (usize, &PickRow)| {
            let mut line = InkLine::new();
            let ink = if at == self.selected { Ink::BOLD } else { Ink::PLAIN };
            line.push(ink, if at == self.selected { "› " } else { "  " });
            line.push(Ink::GREEN, if row.picked { "[x] " } else { "[ ] " });
            line.push(ink, &row.title);
            line.paint(style)
        };
        let mut lines: Vec<String> =
            self.rows.iter().enumerate().skip(first).take(shown).map(row).collect();
        let room = most.saturating_sub(lines.len());
        let preview = self.rows.get(self.selected).map_or(&[][..], |row| &row.preview);
        lines.extend(preview.iter().take(room).map(|line| cut_painted(line, style.width)));
        lines
    }
}
