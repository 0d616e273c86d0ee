//! What the approver sees of a change, made from the change itself.
//!
//! A [`FileDiff`] is data: hunks of lines whose text is safe to print, with warnings about what
//! would otherwise be invisible. The same two texts always give the same hunks, because the answer
//! to "which hunks?" is a list of their numbers, which [`apply_selected`] turns back into bytes. So
//! the amount of work is bounded by sizes and never by a clock.

mod common_runs;
mod comparison;
mod drawing;
mod file_text;
mod selection;
mod unified;
mod warnings;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{Base, Change, ContentHash};
use comparison::{Comparison, HunkSpan, Opaque};
use warnings::Warnings;

pub use common_runs::{CommonRun, common_runs};
pub use drawing::{Mark, MarkKind, hidden_parts, visible};
pub use file_text::LineEndingStyle;
pub use selection::apply_selected;
pub use unified::{unified, unified_hunks};

/// One change as the approver sees it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct FileDiff {
    /// The path, as it is; [`visible`] makes it safe to print.
    pub path: String,
    /// The former path of something that is moved.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub from_path: Option<String>,
    /// What happens.
    pub kind: DiffKind,
    /// Permission bits before, if they change or what had them goes away.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub old_mode: Option<u32>,
    /// Permission bits after, if they change or are set for something new.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub new_mode: Option<u32>,
    /// How lines ended before, if there were lines that ended.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub old_endings: Option<LineEndingStyle>,
    /// How lines end after.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub new_endings: Option<LineEndingStyle>,
    /// Set, and `hunks` empty, if the content is not shown as text.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub binary: Option<BinaryDiff>,
    /// The places where lines differ.
    pub hunks: Vec<Hunk>,
    /// Lines that come.
    pub added: usize,
    /// Lines that go.
    pub removed: usize,
    /// What a careful reader should know before agreeing.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub warnings: Vec<String>,
}

/// What happens to a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum DiffKind {
    /// A file appears.
    Create,
    /// A file changes.
    Write,
    /// A file or link goes away.
    Delete,
    /// Something gets another name.
    Move,
    /// A symbolic link appears or points elsewhere.
    Link,
    /// A directory appears.
    MakeDir,
    /// A directory goes away.
    RemoveDir,
}

/// Content that is not shown as text.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct BinaryDiff {
    /// The content before, if there was any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub old: Option<Blob>,
    /// The content after, if there is any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub new: Option<Blob>,
}

/// Content by its identity.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Blob {
    /// The hash of the bytes.
    pub hash: ContentHash,
    /// The number of bytes.
    pub size: u64,
}

/// A run of changed lines with the unchanged ones around them. Lines are counted from one; a start
/// is the line before the hunk if the hunk has no lines on that side.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Hunk {
    /// The first line before the change.
    pub old_start: usize,
    /// How many lines before the change.
    pub old_lines: usize,
    /// The first line after the change.
    pub new_start: usize,
    /// How many lines after the change.
    pub new_lines: usize,
    /// Context, removed and added lines in the order of a diff.
    pub lines: Vec<DiffLine>,
}

/// One line of a hunk.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct DiffLine {
    /// Whether it stays, comes or goes.
    pub kind: LineKind,
    /// Its text without the line ending, safe to print: whatever a terminal or a browser would
    /// interpret, reorder or hide is written as an escape such as `\u{202E}`.
    pub text: String,
    /// Which parts of `text` are not what the file literally holds, or are easily overlooked.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub marks: Vec<Mark>,
    /// Whether the file ends here without a line ending.
    #[serde(default, skip_serializing_if = "is_false")]
    pub no_newline: bool,
}

/// Whether a line stays, comes or goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum LineKind {
    /// It stays.
    Context,
    /// It comes.
    Add,
    /// It goes.
    Remove,
}

fn is_false(flag: &bool) -> bool {
    !flag
}

impl FileDiff {
    /// What `change` does, given the bytes that it changes or deletes.
    ///
    /// `before` are the bytes that the change's base names; it is `None` where the base is no file.
    /// If it is missing, or is not what the base names, a warning says so.
    pub fn of(change: &Change, before: Option<&[u8]>) -> Self {
        match change {
            Change::Write { path, base, content, mode } => {
                let kind = match base {
                    Base::Absent => DiffKind::Create,
                    _ => DiffKind::Write,
                };
                let mut diff = Self::empty(path, kind).with_base(base, before);
                diff.set_modes(base.mode(), mode.or(base.mode()));
                diff.compare(before_of(base, before), Some(&content.0))
            }
            Change::Delete { path, base } => {
                let mut diff = Self::empty(path, DiffKind::Delete).with_base(base, before);
                diff.set_modes(base.mode(), None);
                match base {
                    Base::Link { target } => diff.compare(Some(&target.0), None),
                    _ => diff.compare(before_of(base, before), None),
                }
            }
            Change::Move { from, to, base, target } => Self::of_move(from, to, base, target),
            Change::Link { path, base, target } => {
                let mut diff = Self::empty(path, DiffKind::Link);
                diff.warnings.extend(warnings::about_link(&target.0));
                match base {
                    Base::Link { target: old } => diff.compare(Some(&old.0), Some(&target.0)),
                    _ => {
                        let old = before_of(base, before);
                        diff.with_base(base, before).compare(old, Some(&target.0))
                    }
                }
            }
            Change::MakeDir { path, mode } => {
                Self { new_mode: *mode, ..Self::empty(path, DiffKind::MakeDir) }
            }
            Change::RemoveDir { path, mode } => {
                Self { old_mode: Some(*mode), ..Self::empty(path, DiffKind::RemoveDir) }
            }
        }
    }

    /// How many parts of this change can be accepted one by one, numbered from zero: its hunks, or
    /// the whole where there are none.
    pub fn parts(&self) -> usize {
        self.hunks.len().max(1)
    }

    fn empty(path: &str, kind: DiffKind) -> Self {
        Self {
            path: path.to_owned(),
            from_path: None,
            kind,
            old_mode: None,
            new_mode: None,
            old_endings: None,
            new_endings: None,
            binary: None,
            hunks: Vec::new(),
            added: 0,
            removed: 0,
            warnings: warnings::about_path(path),
        }
    }

    fn of_move(from: &str, to: &str, base: &Base, target: &Base) -> Self {
        let mut diff = Self { from_path: Some(from.to_owned()), ..Self::empty(to, DiffKind::Move) };
        diff.warnings.extend(warnings::about_path(from));
        if matches!(base, Base::Directory { .. }) {
            diff.warnings.push("everything in the directory moves with it".to_owned());
        }
        match target {
            Base::Absent => {}
            Base::File { hash, size, .. } => {
                let identity = unified::identity(hash, *size);
                diff.warnings.push(format!("the file that is there now is replaced ({identity})"));
            }
            Base::Link { .. } => {
                diff.warnings.push("the link that is there now is replaced".into())
            }
            Base::Directory { .. } => {
                diff.warnings.push("the directory that is there now is replaced".into());
            }
        }
        diff
    }

    fn with_base(mut self, base: &Base, before: Option<&[u8]>) -> Self {
        self.warnings.extend(warnings::about_base(base, before));
        self
    }

    fn set_modes(&mut self, old: Option<u32>, new: Option<u32>) {
        if old != new {
            (self.old_mode, self.new_mode) = (old, new);
            self.warnings.extend(warnings::about_mode(old, new));
        }
    }

    fn compare(mut self, before: Option<&[u8]>, after: Option<&[u8]>) -> Self {
        let comparison = Comparison::of(before.unwrap_or_default(), after.unwrap_or_default());
        let (old, new, spans) = match comparison {
            Comparison::Opaque(opaque) => {
                if opaque == Opaque::TooLarge {
                    self.warnings.push("too large to be shown line by line".to_owned());
                }
                self.binary = Some(BinaryDiff { old: before.map(blob), new: after.map(blob) });
                return self;
            }
            Comparison::Text { old, new, hunks } => (old, new, hunks),
        };
        self.old_endings = old.endings;
        self.new_endings = new.endings;
        let mut found = Warnings::about_texts(&old, &new);
        let drawer = drawing::Drawer::new(&old, &new);
        self.hunks = spans.iter().map(|span| hunk(span, &drawer, &mut found)).collect();
        let count = |kind| {
            let lines = self.hunks.iter().flat_map(|hunk| &hunk.lines);
            lines.filter(|line| line.kind == kind).count()
        };
        (self.added, self.removed) = (count(LineKind::Add), count(LineKind::Remove));
        self.warnings.extend(found.into_sentences());
        self
    }
}

fn hunk(span: &HunkSpan, drawer: &drawing::Drawer<'_>, found: &mut Warnings) -> Hunk {
    let mut lines = Vec::with_capacity(span.old.len() + span.new.len());
    let mut push = |kind, index| {
        let (line, hazards) = drawer.line(kind, index);
        if kind != LineKind::Remove {
            found.note(hazards, kind, index);
        }
        lines.push(line);
    };
    let mut next = span.new.start;
    for block in &span.blocks {
        (next..block.new.start).for_each(|index| push(LineKind::Context, index));
        block.old.clone().for_each(|index| push(LineKind::Remove, index));
        block.new.clone().for_each(|index| push(LineKind::Add, index));
        next = block.new.end;
    }
    (next..span.new.end).for_each(|index| push(LineKind::Context, index));
    Hunk {
        old_start: start(&span.old),
        old_lines: span.old.len(),
        new_start: start(&span.new),
        new_lines: span.new.len(),
        lines,
    }
}

/// Counted from one; the line before if there is none, as in every unified diff.
fn start(range: &std::ops::Range<usize>) -> usize {
    range.start + usize::from(!range.is_empty())
}

fn blob(bytes: &[u8]) -> Blob {
    Blob { hash: ContentHash::of(bytes), size: bytes.len() as u64 }
}

/// Bytes beside a base that is no file say nothing.
fn before_of<'a>(base: &Base, before: Option<&'a [u8]>) -> Option<&'a [u8]> {
    before.filter(|_| matches!(base, Base::File { .. }))
}

#[cfg(test)]
mod tests;
