//! Saying what became of files in the words of our tools.

use std::ops::Range;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};
use similar::{Algorithm, DiffOp, capture_diff_slices, group_diff_ops};
use workspace::{LineEnding, Text};

use crate::blocks::blocks;

const CONTEXT_LINES: usize = 3;

/// How the change of a file is expressed.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Way {
    /// All files in one unified diff.
    Patch,
    /// All files in one call with search/replace blocks of whole lines.
    Blocks,
    /// The same blocks, of which every other one lacks its last line ending.
    OpenBlocks,
    /// All files in one call with blocks that begin and end inside lines.
    Parts,
    /// A call for each file, with blocks that are as short as they can be. They may stand in several
    /// places; then the call has to be refused.
    ShortParts,
    /// A call for each place, from the bottom up.
    Lines,
    /// A call for each file, with all of its text.
    WholeFiles,
}

/// What became of a file between two versions; a side without it has `None`.
pub(crate) struct FileChange {
    pub(crate) path: String,
    pub(crate) old: Option<Vec<u8>>,
    pub(crate) new: Option<Vec<u8>>,
}

/// A tool and its arguments.
pub(crate) type Call = (&'static str, Value);

impl Way {
    pub(crate) const ALL: [Way; 7] = [
        Way::Patch,
        Way::Blocks,
        Way::OpenBlocks,
        Way::Parts,
        Way::ShortParts,
        Way::Lines,
        Way::WholeFiles,
    ];

    /// Whether line endings are taken as they are given, so that they can change.
    fn is_literal(self, old: &str) -> bool {
        let has_lf = old.replace("\r\n", "").contains('\n');
        matches!(self, Way::Parts | Way::ShortParts) && has_lf
    }

    /// Whether a call may be refused, which must leave its file alone.
    pub(crate) fn may_be_refused(self) -> bool {
        matches!(self, Way::ShortParts)
    }
}

/// The calls that make all changes, and how many files need a detour: another way than asked,
/// because the one asked for cannot say it.
pub(crate) fn calls(way: Way, changes: &[FileChange]) -> (Vec<Call>, usize) {
    let mut plan = Plan::default();
    for FileChange { path, old, new } in changes {
        match (text(old), text(new), new) {
            (Some(old), Some(new), _) => plan.text(way, path, old, new),
            (.., Some(bytes)) => plan.calls.push(write_file(path, bytes)),
            (.., None) => plan.calls.push(("delete_file", json!({"path": path}))),
        }
    }
    let Plan { mut calls, blocks, patch, detours } = plan;
    if !blocks.is_empty() {
        calls.push(("apply_changes", json!({"changes": blocks})));
    }
    if !patch.is_empty() {
        calls.push(("apply_changes", json!({"patch": patch})));
    }
    (calls, detours)
}

/// The outer `None` is for bytes that are no text.
fn text(bytes: &Option<Vec<u8>>) -> Option<Option<&str>> {
    match bytes {
        None => Some(None),
        Some(bytes) if workspace::is_binary(bytes) => None,
        Some(bytes) => std::str::from_utf8(bytes).ok().map(Some),
    }
}

#[derive(Default)]
struct Plan {
    calls: Vec<Call>,
    /// The entries of the one call with blocks.
    blocks: Vec<Value>,
    /// The text of the one call with a patch.
    patch: String,
    detours: usize,
}

impl Plan {
    fn text(&mut self, way: Way, path: &str, old: Option<&str>, new: Option<&str>) {
        let (Some(before), Some(after)) = (old, new) else {
            return self.appears_or_goes(way, path, old, new);
        };
        match way {
            Way::Lines if keeps_endings(before, after) => {
                self.calls.extend(line_edits(path, before, after));
            }
            Way::Blocks | Way::OpenBlocks | Way::Parts | Way::ShortParts
                if !before.trim().is_empty()
                    && (keeps_endings(before, after) || way.is_literal(before)) =>
            {
                let changes = blocks(way, path, before, after);
                match way.may_be_refused() {
                    true => self.calls.push(("apply_changes", json!({"changes": changes}))),
                    false => self.blocks.extend(changes),
                }
            }
            Way::Patch => self.patch += &unified(path, old, new),
            Way::Lines | Way::Blocks | Way::OpenBlocks | Way::Parts | Way::ShortParts => {
                self.detours += 1;
                self.patch += &unified(path, old, new);
            }
            Way::WholeFiles if loses_carriage_returns(before, after) => {
                self.detours += 1;
                self.calls.push(write_file(path, after.as_bytes()));
            }
            Way::WholeFiles => {
                let content = as_models_write(before, after);
                self.calls.push(("update_file", json!({"path": path, "content": content})));
            }
        }
    }

    fn appears_or_goes(&mut self, way: Way, path: &str, old: Option<&str>, new: Option<&str>) {
        match (way, new) {
            (Way::Patch, _) => self.patch += &unified(path, old, new),
            (Way::Blocks | Way::OpenBlocks | Way::Parts, Some(new)) => {
                self.blocks.push(json!({"path": path, "content": new}));
            }
            (Way::Blocks | Way::OpenBlocks | Way::Parts, None) => {
                self.blocks.push(json!({"path": path, "delete": true}));
            }
            (_, Some(new)) => {
                self.calls.push(("create_file", json!({"path": path, "content": new})));
            }
            (_, None) => self.calls.push(("delete_file", json!({"path": path}))),
        }
    }
}

/// Models write LF, also into a file that has CR LF throughout.
fn as_models_write(old: &str, new: &str) -> String {
    if keeps_endings(old, new) { new.replace("\r\n", "\n") } else { new.to_owned() }
}

fn write_file(path: &str, content: &[u8]) -> Call {
    let content = STANDARD.encode(content);
    let arguments =
        json!({"path": path, "content": content, "encoding": "base64", "create_dirs": true});
    ("write_file", arguments)
}

/// A file with CR LF keeps them when its text is updated with LF, as models write it.
fn loses_carriage_returns(old: &str, new: &str) -> bool {
    let crlf = Text::decode(old.as_bytes()).line_endings().dominant() == LineEnding::CrLf;
    crlf && new.contains('\n') && !new.contains('\r')
}

/// Whether all lines end alike before and after. Edits by text or line give new lines the endings
/// of the file, so that they cannot change how lines end.
pub(crate) fn keeps_endings(old: &str, new: &str) -> bool {
    let kinds = |text: &str| (text.contains("\r\n"), text.replace("\r\n", "").contains('\n'));
    let alike = kinds(old) == kinds(new) && kinds(old) != (true, true);
    !old.is_empty() && (new.is_empty() || alike && old.ends_with('\n') == new.ends_with('\n'))
}

pub(crate) fn lines(text: &str) -> Vec<&str> {
    text.split_inclusive('\n').collect()
}

/// The part of a unified diff about one file.
fn unified(path: &str, old: Option<&str>, new: Option<&str>) -> String {
    let name =
        |side, text: Option<&str>| text.map_or("/dev/null".into(), |_| format!("{side}/{path}"));
    let mut patch = format!("--- {}\n+++ {}\n", name("a", old), name("b", new));
    let (old, new) = (lines(old.unwrap_or_default()), lines(new.unwrap_or_default()));
    let mut push = |mark: char, lines: &[&str]| {
        for line in lines {
            let open = if line.ends_with('\n') { "" } else { "\n\\ No newline at end of file\n" };
            patch += &format!("{mark}{line}{open}");
        }
    };
    for Hunk { ops, old: from, new: to } in hunks(&old, &new) {
        // An empty side is named by the line before it.
        let start = |side: &Range<usize>| side.start + usize::from(!side.is_empty());
        let header =
            format!("@ -{},{} +{},{} @@\n", start(&from), from.len(), start(&to), to.len());
        push('@', &[&header]);
        for op in ops {
            match op {
                DiffOp::Equal { .. } => push(' ', &old[op.old_range()]),
                _ => {
                    push('-', &old[op.old_range()]);
                    push('+', &new[op.new_range()]);
                }
            }
        }
    }
    patch
}

pub(crate) struct Hunk {
    ops: Vec<DiffOp>,
    pub(crate) old: Range<usize>,
    pub(crate) new: Range<usize>,
}

pub(crate) fn hunks(old: &[&str], new: &[&str]) -> Vec<Hunk> {
    let groups = group_diff_ops(capture_diff_slices(Algorithm::Myers, old, new), CONTEXT_LINES);
    let hunk = |ops: Vec<DiffOp>| {
        let (first, last) = (ops.first()?, ops.last()?);
        let old = first.old_range().start..last.old_range().end;
        let new = first.new_range().start..last.new_range().end;
        Some(Hunk { old, new, ops })
    };
    groups.into_iter().filter_map(hunk).collect()
}

/// A line edit for each place, the last first, so that the numbers of the others stay right. The
/// content has LF, as models write it.
fn line_edits(path: &str, old: &str, new: &str) -> Vec<Call> {
    let (old, new): (Vec<&str>, Vec<&str>) = (old.lines().collect(), new.lines().collect());
    let text = |lines: &[&str]| lines.iter().map(|line| format!("{line}\n")).collect::<String>();
    let edit = |op: DiffOp| {
        let (from, content) = (op.old_range(), text(&new[op.new_range()]));
        let (start, end, expected) = (from.start + 1, from.end, text(&old[from.clone()]));
        Some(match op {
            DiffOp::Equal { .. } => return None,
            DiffOp::Delete { .. } => {
                json!({"path": path, "operation": "delete", "start_line": start, "end_line": end, "expected": expected})
            }
            DiffOp::Insert { .. } => {
                json!({"path": path, "operation": "insert", "start_line": from.start, "content": content})
            }
            DiffOp::Replace { .. } => {
                json!({"path": path, "operation": "replace", "start_line": start, "end_line": end, "content": content, "expected": expected})
            }
        })
    };
    let ops = capture_diff_slices(Algorithm::Myers, &old, &new);
    ops.into_iter().rev().filter_map(edit).map(|edit| ("edit_lines", edit)).collect()
}
