//! A unified diff that is only known as text, read for drawing.

use protocol::{DiffKind, DiffLine, FileDiff, Hunk, LineKind};
use timeline::{DiffPart, diff_parts};

/// The files of a unified diff. What is not understood is left out; nothing but a screen depends on it.
pub(crate) fn read_unified(text: &str) -> Vec<FileDiff> {
    let mut files: Vec<FileDiff> = Vec::new();
    for (part, line) in diff_parts(text) {
        match part {
            DiffPart::Head => head(&mut files, line),
            DiffPart::Place => {
                if files.is_empty() {
                    files.push(unnamed());
                }
                if let (Some(file), Some(hunk)) = (files.last_mut(), place(line)) {
                    file.hunks.push(hunk);
                }
            }
            DiffPart::Add | DiffPart::Remove | DiffPart::Same => {
                if let Some(file) = files.last_mut() {
                    body(file, part, line);
                }
            }
        }
    }
    files
}

fn unnamed() -> FileDiff {
    FileDiff {
        path: String::new(),
        from_path: None,
        kind: DiffKind::Write,
        old_mode: None,
        new_mode: None,
        old_endings: None,
        new_endings: None,
        binary: None,
        hunks: Vec::new(),
        added: 0,
        removed: 0,
        warnings: Vec::new(),
    }
}

fn head(files: &mut Vec<FileDiff>, line: &str) {
    let begins = line.starts_with("diff --git ")
        || line.starts_with("--- ") && files.last().is_none_or(|file| !file.hunks.is_empty());
    if begins || files.is_empty() {
        files.push(unnamed());
    }
    let Some(file) = files.last_mut() else { return };
    let name = |path: &str| path.trim_matches('"').split_once('/').map(|(_, name)| name.to_owned());
    if let Some(both) = line.strip_prefix("diff --git ") {
        // Both names are the same but for a file that is moved, which says so below.
        let new = both.rsplit_once(" b/").map(|(_, new)| new.trim_end_matches('"').to_owned());
        file.path = new.unwrap_or_default();
    } else if line.starts_with("new file") {
        file.kind = DiffKind::Create;
    } else if line.starts_with("deleted file") {
        file.kind = DiffKind::Delete;
    } else if let Some(from) = line.strip_prefix("rename from ") {
        file.kind = DiffKind::Move;
        file.from_path = Some(from.to_owned());
    } else if let Some(path) = line.strip_prefix("--- ").or_else(|| line.strip_prefix("+++ "))
        && path != "/dev/null"
        && file.path.is_empty()
    {
        file.path = name(path).unwrap_or_else(|| path.to_owned());
    }
}

/// `@@ -1,3 +1,4 @@`
fn place(line: &str) -> Option<Hunk> {
    let mut words = line.strip_prefix("@@ ")?.split(' ');
    let mut side = |sign: char| {
        let range = words.next()?.strip_prefix(sign)?;
        let (start, count) = range.split_once(',').unwrap_or((range, "1"));
        Some((start.parse().ok()?, count.parse().ok()?))
    };
    let (old_start, old_lines) = side('-')?;
    let (new_start, new_lines) = side('+')?;
    Some(Hunk { old_start, old_lines, new_start, new_lines, lines: Vec::new() })
}

fn body(file: &mut FileDiff, part: DiffPart, line: &str) {
    let Some(hunk) = file.hunks.last_mut() else { return };
    if line.starts_with('\\') {
        hunk.lines.iter_mut().next_back().into_iter().for_each(|last| last.no_newline = true);
        return;
    }
    let kind = match part {
        DiffPart::Add => LineKind::Add,
        DiffPart::Remove => LineKind::Remove,
        _ => LineKind::Context,
    };
    file.added += usize::from(kind == LineKind::Add);
    file.removed += usize::from(kind == LineKind::Remove);
    let text = line.get(1..).unwrap_or_default().to_owned();
    hunk.lines.push(DiffLine { kind, text, marks: Vec::new(), no_newline: false });
}
