//! Files, hunks and lines put on lines of a screen.

use code_index::line_pairs;
use protocol::{DiffKind, FileDiff, Hunk, LineKind, visible};

use super::SourceLine;
use super::line_text::{hunk_texts, kind_ink};
use crate::columns::{StyledText, columns, cut, fit, folded, width_of};
use crate::ink::Ink;
use crate::markdown::wrapped;

const BETWEEN_FILES: &str = "    ";
const BETWEEN_SIDES: &str = " │ ";
const INDENT: &str = "  ";

/// A line of the view and what it belongs to.
#[derive(Debug, Default)]
pub(super) struct DiffRow {
    pub(super) pieces: Vec<StyledText>,
    pub(super) file: Option<usize>,
    pub(super) hunk: Option<usize>,
    pub(super) source: Option<SourceLine>,
    /// Whether it is of the list of files at the top.
    pub(super) is_list: bool,
}

/// How rows are laid out.
#[derive(Clone, Copy, Debug)]
pub(super) struct Layout {
    pub(super) width: usize,
    /// Whether both sides stand beside each other.
    pub(super) is_split: bool,
}

impl Layout {
    pub(super) fn rows(self, diffs: &[FileDiff]) -> Vec<DiffRow> {
        let mut rows = self.list(diffs);
        for (file, diff) in diffs.iter().enumerate() {
            let mut own = Vec::new();
            if diffs.len() > 1 {
                own.push(DiffRow { pieces: cut(&title(diff), self.width), ..DiffRow::default() });
            }
            own.extend(self.notes(diff));
            let digits = number_width(diff);
            for (hunk_index, hunk) in diff.hunks.iter().enumerate() {
                if hunk_index > 0 {
                    let pieces = vec![StyledText::new(Ink::DIM, format!(" {:>digits$}", "⋮"))];
                    own.push(DiffRow { pieces, ..DiffRow::default() });
                }
                let view = HunkView { layout: self, file, hunk_index, hunk, digits };
                let texts = hunk_texts(&diff.path, hunk);
                own.extend(if self.is_split { view.split(&texts) } else { view.unified(&texts) });
            }
            rows.extend(own.into_iter().map(|row| DiffRow { file: Some(file), ..row }));
        }
        rows
    }

    /// All files with their counts, as many on a line as fit.
    fn list(self, diffs: &[FileDiff]) -> Vec<DiffRow> {
        let mut rows: Vec<DiffRow> = Vec::new();
        for (file, diff) in diffs.iter().enumerate() {
            let entry = title(diff);
            let more = columns(BETWEEN_FILES) + width_of(&entry);
            match rows.last_mut() {
                Some(row) if width_of(&row.pieces) + more <= self.width => {
                    row.pieces.push(StyledText::new(Ink::PLAIN, BETWEEN_FILES));
                    row.pieces.extend(entry);
                }
                _ => rows.push(DiffRow {
                    pieces: cut(&entry, self.width),
                    file: Some(file),
                    is_list: true,
                    ..DiffRow::default()
                }),
            }
        }
        rows
    }

    /// What a reader should know about a file besides its lines.
    fn notes(self, diff: &FileDiff) -> Vec<DiffRow> {
        let mode = |mode: Option<u32>| mode.map_or("none".to_owned(), |mode| format!("{mode:o}"));
        let modes = (diff.old_mode != diff.new_mode && diff.kind == DiffKind::Write)
            .then(|| format!("mode {} → {}", mode(diff.old_mode), mode(diff.new_mode)));
        let binary = diff.binary.as_ref().map(|binary| {
            let size = |blob: Option<&protocol::Blob>| blob.map_or(0, |blob| blob.size);
            let (old, new) = (size(binary.old.as_ref()), size(binary.new.as_ref()));
            format!("not shown as text: {old} → {new} bytes")
        });
        let plain = modes.into_iter().chain(binary).map(|text| (Ink::DIM, text));
        let warnings = diff.warnings.iter().map(|text| (Ink::YELLOW, visible(text)));
        let room = self.width - columns(INDENT);
        let lines = plain.chain(warnings).flat_map(|(ink, text)| {
            wrapped(&[StyledText::new(ink, text)], room).into_iter().map(|line| {
                let margin = StyledText::new(Ink::PLAIN, INDENT);
                let pieces = std::iter::once(margin).chain(line).collect();
                DiffRow { pieces, ..DiffRow::default() }
            })
        });
        lines.collect()
    }
}

/// `src/cart.ts  +4 −3`
fn title(diff: &FileDiff) -> Vec<StyledText> {
    let mut pieces = vec![StyledText::new(Ink::BOLD, visible(&diff.path))];
    let mut add = |ink, text: String| {
        let gap = if pieces.len() == 1 { "  " } else { " " };
        pieces.push(StyledText::new(Ink::PLAIN, gap));
        pieces.push(StyledText::new(ink, text));
    };
    match diff.kind {
        DiffKind::Write => {}
        DiffKind::Create => add(Ink::DIM, "new".to_owned()),
        DiffKind::Delete => add(Ink::DIM, "deleted".to_owned()),
        DiffKind::Move => {
            let from = diff.from_path.as_deref().map(visible).unwrap_or_default();
            add(Ink::DIM, format!("moved from {from}"));
        }
        DiffKind::Link => add(Ink::DIM, "link".to_owned()),
        DiffKind::MakeDir => add(Ink::DIM, "new directory".to_owned()),
        DiffKind::RemoveDir => add(Ink::DIM, "directory removed".to_owned()),
    }
    if diff.added > 0 {
        add(Ink::GREEN, format!("+{}", diff.added));
    }
    if diff.removed > 0 {
        add(Ink::RED, format!("−{}", diff.removed));
    }
    pieces
}

/// The digits of the largest line number.
fn number_width(diff: &FileDiff) -> usize {
    let ends = diff.hunks.iter().map(|hunk| {
        hunk.old_start
            .saturating_add(hunk.old_lines)
            .max(hunk.new_start.saturating_add(hunk.new_lines))
    });
    ends.max().unwrap_or(0).to_string().len().max(2)
}

struct HunkView<'a> {
    layout: Layout,
    file: usize,
    hunk_index: usize,
    hunk: &'a Hunk,
    digits: usize,
}

impl HunkView<'_> {
    fn unified(&self, texts: &[Vec<StyledText>]) -> Vec<DiffRow> {
        let mut rows = Vec::new();
        for (index, source) in self.sources().into_iter().enumerate() {
            let number = source.new.or(source.old);
            let lines = self.side(Some((index, number)), texts, self.layout.width);
            rows.extend(lines.into_iter().map(|pieces| self.row(pieces, source)));
        }
        rows
    }

    fn split(&self, texts: &[Vec<StyledText>]) -> Vec<DiffRow> {
        let half = (self.layout.width - columns(BETWEEN_SIDES)) / 2;
        let sources = self.sources();
        let mut rows = Vec::new();
        for (old, new) in line_pairs(self.hunk) {
            let Some(source) = new.or(old).map(|index| sources[index]) else { continue };
            let left = self.side(old.map(|at| (at, sources[at].old)), texts, half);
            let right = self.side(new.map(|at| (at, sources[at].new)), texts, half);
            for line in 0..left.len().max(right.len()) {
                let mut pieces = left.get(line).cloned().unwrap_or_default();
                let free = half - width_of(&pieces).min(half);
                pieces.push(StyledText::new(Ink::PLAIN, " ".repeat(free)));
                pieces.push(StyledText::new(Ink::DIM, BETWEEN_SIDES));
                pieces.extend(right.get(line).cloned().unwrap_or_default());
                rows.push(self.row(pieces, source));
            }
        }
        rows
    }

    fn row(&self, pieces: Vec<StyledText>, source: SourceLine) -> DiffRow {
        DiffRow { pieces, hunk: Some(self.hunk_index), source: Some(source), ..DiffRow::default() }
    }

    /// Where each line of the hunk stands before and after the change.
    fn sources(&self) -> Vec<SourceLine> {
        // The start of a side without lines is the line before it.
        let first = |start: usize, lines: usize| start.saturating_add(usize::from(lines == 0));
        let mut old = first(self.hunk.old_start, self.hunk.old_lines);
        let mut new = first(self.hunk.new_start, self.hunk.new_lines);
        let lines = self.hunk.lines.iter().enumerate().map(|(line, diff_line)| {
            let has_old = diff_line.kind != LineKind::Add;
            let has_new = diff_line.kind != LineKind::Remove;
            let source = SourceLine {
                file: self.file,
                hunk: self.hunk_index,
                line,
                old: has_old.then_some(old),
                new: has_new.then_some(new),
            };
            old = old.saturating_add(usize::from(has_old));
            new = new.saturating_add(usize::from(has_new));
            source
        });
        lines.collect()
    }

    /// One line of the hunk with its number and sign, over several lines if it is long.
    fn side(
        &self,
        line: Option<(usize, Option<usize>)>,
        texts: &[Vec<StyledText>],
        width: usize,
    ) -> Vec<Vec<StyledText>> {
        let Some((index, number)) = line else { return Vec::new() };
        let diff_line = &self.hunk.lines[index];
        let digits = self.digits.min(width / 2);
        let number = number.map(|number| fit(&number.to_string(), digits)).unwrap_or_default();
        let number = format!(" {number:>digits$}  ");
        let (sign, number_ink) = match diff_line.kind {
            LineKind::Context => ("  ", Ink::DIM),
            LineKind::Add => ("+ ", Ink::GREEN),
            LineKind::Remove => ("- ", Ink::RED),
        };
        let used = columns(&number) + columns(sign);
        let mut text = texts[index].clone();
        if diff_line.no_newline {
            text.push(StyledText::new(Ink::DIM, "  (no line end)"));
        }
        let lines = folded(&text, width.saturating_sub(used).max(2));
        let lines = lines.into_iter().enumerate().map(|(at, line)| {
            let head = if at == 0 {
                vec![
                    StyledText::new(number_ink, number.clone()),
                    StyledText::new(kind_ink(diff_line.kind), sign),
                ]
            } else {
                vec![StyledText::new(Ink::PLAIN, " ".repeat(used))]
            };
            head.into_iter().chain(line).collect()
        });
        lines.collect()
    }
}
