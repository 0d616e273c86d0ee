//! Diffs as text, in the format of git.

use std::fmt::Write as _;

use super::{Blob, DiffKind, DiffLine, FileDiff, Hunk, LineKind, MarkKind, visible};
use crate::ContentHash;

/// Hexadecimal digits of a hash that are shown.
const HASH_DIGITS: usize = 12;
/// The permission bits that git assumes for a file and that are shown where none are set.
const DEFAULT_MODE: u32 = 0o644;
/// How git writes the mode of a symbolic link.
const LINK_MODE: &str = "120000";

/// All diffs as one text to read. It has git's headers; text is drawn as in
/// [`DiffLine::text`](super::DiffLine), with trailing white space of changed lines as `·` and `→`,
/// and warnings stand where git has extended headers.
pub fn unified(diffs: &[FileDiff]) -> String {
    let mut text = String::new();
    for diff in diffs {
        // Writing to a string cannot fail.
        let _ = write_file(&mut text, diff);
    }
    text
}

/// How one text becomes another, without headers. Drawn as [`unified`] draws it.
pub fn unified_hunks(before: &str, after: &str) -> String {
    let diff = FileDiff::empty("", DiffKind::Write);
    let diff = diff.compare(Some(before.as_bytes()), Some(after.as_bytes()));
    let mut text = String::new();
    for hunk in &diff.hunks {
        let _ = write_hunk(&mut text, hunk);
    }
    text
}

fn write_file(text: &mut String, diff: &FileDiff) -> std::fmt::Result {
    let new = visible(&diff.path);
    let old = diff.from_path.as_deref().map_or_else(|| new.clone(), visible);
    writeln!(text, "diff --git a/{old} b/{new}")?;
    write_header(text, diff, &old, &new)?;
    for warning in &diff.warnings {
        writeln!(text, "warning: {warning}")?;
    }
    if let Some(binary) = &diff.binary {
        let (before, after) = (size_and_hash(&binary.old), size_and_hash(&binary.new));
        writeln!(text, "Binary content: {before} -> {after}")?;
    }
    if diff.hunks.is_empty() {
        return Ok(());
    }
    match diff.kind {
        DiffKind::Create => writeln!(text, "--- /dev/null")?,
        _ => writeln!(text, "--- a/{old}")?,
    }
    match diff.kind {
        DiffKind::Delete => writeln!(text, "+++ /dev/null")?,
        _ => writeln!(text, "+++ b/{new}")?,
    }
    diff.hunks.iter().try_for_each(|hunk| write_hunk(text, hunk))
}

fn write_header(text: &mut String, diff: &FileDiff, old: &str, new: &str) -> std::fmt::Result {
    let file = |mode: Option<u32>| format!("10{:04o}", mode.unwrap_or(DEFAULT_MODE));
    match (diff.kind, diff.old_mode, diff.new_mode) {
        (DiffKind::Create, _, mode) => writeln!(text, "new file mode {}", file(mode)),
        (DiffKind::Delete, None, _) => writeln!(text, "deleted link mode {LINK_MODE}"),
        (DiffKind::Delete, mode, _) => writeln!(text, "deleted file mode {}", file(mode)),
        (DiffKind::Link, ..) => writeln!(text, "link mode {LINK_MODE}"),
        (DiffKind::MakeDir, _, None) => writeln!(text, "new directory"),
        (DiffKind::MakeDir, _, Some(mode)) => writeln!(text, "new directory mode {mode:04o}"),
        (DiffKind::RemoveDir, ..) => writeln!(text, "deleted directory"),
        (DiffKind::Move, ..) => writeln!(text, "rename from {old}\nrename to {new}"),
        (DiffKind::Write, Some(before), Some(after)) => {
            writeln!(text, "old mode {}\nnew mode {}", file(Some(before)), file(Some(after)))
        }
        (DiffKind::Write, ..) => Ok(()),
    }
}

fn size_and_hash(blob: &Option<Blob>) -> String {
    match blob {
        None => "nothing".to_owned(),
        Some(Blob { hash, size }) => identity(hash, *size),
    }
}

/// Content in a few words: its size, and enough of its hash to tell two apart.
pub(super) fn identity(hash: &ContentHash, size: u64) -> String {
    let unit = if size == 1 { "byte" } else { "bytes" };
    let mut digits = hash.to_string();
    digits.truncate(HASH_DIGITS);
    format!("{size} {unit}, {digits}")
}

fn write_hunk(text: &mut String, hunk: &Hunk) -> std::fmt::Result {
    let old = range(hunk.old_start, hunk.old_lines);
    let new = range(hunk.new_start, hunk.new_lines);
    writeln!(text, "@@ -{old} +{new} @@")?;
    for line in &hunk.lines {
        let sign = match line.kind {
            LineKind::Context => ' ',
            LineKind::Add => '+',
            LineKind::Remove => '-',
        };
        writeln!(text, "{sign}{}", with_visible_end(line))?;
        if line.no_newline {
            writeln!(text, "\\ No newline at end of file")?;
        }
    }
    Ok(())
}

fn range(start: usize, lines: usize) -> String {
    match lines {
        1 => start.to_string(),
        _ => format!("{start},{lines}"),
    }
}

fn with_visible_end(line: &DiffLine) -> String {
    let trailing = line.marks.iter().find(|mark| mark.kind == MarkKind::TrailingSpace);
    match trailing {
        None => line.text.clone(),
        Some(mark) => {
            let (text, rest) = line.text.split_at(mark.start);
            let (blank, after) = rest.split_at(mark.end - mark.start);
            format!("{text}{}{after}", blank.replace(' ', "·").replace('\t', "→"))
        }
    }
}
