//! Patches: the V4A form (`*** Begin Patch`) and unified diffs, as one list of file operations.

mod apply;
mod header;
mod unified;
mod v4a;

use protocol::{ErrorCode, ToolError};

pub(crate) use apply::{apply_hunks, verify_deletion};
use v4a::Padding;

/// What a patch does to one file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct FilePatch {
    /// The file, as the patch names it.
    pub(crate) path: String,
    /// What is to be done.
    pub(crate) action: PatchAction,
    /// The line of the patch where the file is named, from 1.
    pub(crate) patch_line: usize,
}

/// What a patch does to a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum PatchAction {
    /// Make a new file.
    Add {
        content: String,
        /// Its permission bits, where the patch gives them.
        mode: Option<u32>,
    },
    /// Remove the file. If there are hunks they hold all of its content: see [`verify_deletion`].
    Delete { hunks: Vec<PatchHunk> },
    /// Change the file, its name, or its mode.
    Update { move_to: Option<String>, mode: Option<u32>, hunks: Vec<PatchHunk> },
}

/// One place of a file that a patch changes.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct PatchHunk {
    /// The line of the patch where it begins, from 1.
    pub(crate) patch_line: usize,
    /// Lines of the file, outermost first, below which the place lies.
    anchors: Vec<String>,
    /// Where a unified diff says that it is.
    position: Option<Position>,
    lines: Vec<HunkLine>,
    /// Whether it reaches to the end of the file.
    at_end: bool,
}

/// The old side of the numbers in `@@ -start,count +… @@`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Position {
    start: usize,
    count: usize,
}

#[derive(Debug, Clone, PartialEq, Eq)]
struct HunkLine {
    kind: LineKind,
    content: String,
    /// False where the patch says that there is no newline.
    ended: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum LineKind {
    Context,
    Delete,
    Add,
}

impl HunkLine {
    /// Reads a line of a hunk. An empty one is an empty context line whose blank was lost.
    fn parse(line: &str) -> Option<Self> {
        let (kind, content) = match line.as_bytes().first() {
            None => (LineKind::Context, ""),
            Some(b' ') => (LineKind::Context, &line[1..]),
            Some(b'-') => (LineKind::Delete, &line[1..]),
            Some(b'+') => (LineKind::Add, &line[1..]),
            // A blank line that was sent with CR LF, or has nothing but carriage returns.
            Some(b'\r') if line.bytes().all(|byte| byte == b'\r') => (LineKind::Context, line),
            Some(_) => return None,
        };
        Some(Self { kind, content: content.to_owned(), ended: true })
    }
}

impl PatchHunk {
    fn changes_nothing(&self) -> bool {
        self.lines.iter().all(|line| line.kind == LineKind::Context)
    }

    /// Lines that are only added go to the end of the file if nothing says where they go.
    fn add_at_end_unless_placed(&mut self) {
        let only_adds = self.lines.iter().all(|line| line.kind == LineKind::Add);
        self.at_end |= only_adds && self.anchors.is_empty() && self.position.is_none();
    }

    /// The lines that the file has before (without `Add`) or after (without `Delete`) the change.
    fn side(&self, left_out: LineKind) -> impl Iterator<Item = &HunkLine> {
        self.lines.iter().filter(move |line| line.kind != left_out)
    }

    fn text_of_side(&self, left_out: LineKind) -> String {
        self.side(left_out).map(|line| format!("{}\n", line.content)).collect()
    }
}

/// Reads a patch in either form.
pub(crate) fn parse_patch(patch: &str) -> Result<Vec<FilePatch>, ToolError> {
    let lines = PatchLines::of(patch);
    // White space before the marker is overlooked only where a patch can begin: further down, such
    // a line is content.
    let first = lines.lines.iter().find(|line| !v4a::is_wrapping(line));
    let is_begin = |line: &&str, padding| v4a::marker(line, padding) == Some(v4a::Marker::Begin);
    let is_v4a = lines.lines.iter().any(|line| is_begin(line, Padding::After))
        || first.is_some_and(|line| is_begin(line, Padding::Around));
    let files = if is_v4a { v4a::parse(&lines)? } else { unified::parse(&lines)? };
    if files.is_empty() {
        return Err(malformed(
            1,
            "the patch names no file",
            "`*** Begin Patch`, or `--- a/path` and `+++ b/path`",
        ));
    }
    Ok(files)
}

/// The lines of a patch, without the line ends of the patch itself.
struct PatchLines<'a> {
    lines: Vec<&'a str>,
}

impl<'a> PatchLines<'a> {
    fn of(patch: &'a str) -> Self {
        let patch = patch.strip_suffix('\n').unwrap_or(patch);
        let mut lines: Vec<&str> = patch.split('\n').collect();
        // The first line belongs to the patch and not to a file: if it ends in CR, all lines were
        // sent that way; otherwise a CR is part of the content.
        if lines
            .iter()
            .find(|line| !line.trim().is_empty())
            .is_some_and(|line| line.ends_with('\r'))
        {
            for line in &mut lines {
                *line = line.strip_suffix('\r').unwrap_or(line);
            }
        }
        Self { lines: without_padding(lines) }
    }

    fn get(&self, at: usize) -> Option<&'a str> {
        self.lines.get(at).copied()
    }
}

/// The lines without the white space that all of them begin with: a patch in which every line were
/// context would change nothing.
fn without_padding(mut lines: Vec<&str>) -> Vec<&str> {
    let is_blank = |line: &str| line.trim().is_empty();
    let Some(first) = lines.iter().find(|line| !is_blank(line)) else { return lines };
    let padding = &first[..first.len() - first.trim_start().len()];
    if lines.iter().all(|line| is_blank(line) || line.starts_with(padding)) {
        for line in &mut lines {
            *line = line.strip_prefix(padding).unwrap_or_default();
        }
    }
    lines
}

/// The error for a patch that cannot be read; `line` counts from 1.
fn malformed(line: usize, problem: &str, expected: &str) -> ToolError {
    let message = format!("the patch is malformed in line {line}: {problem}; nothing was changed");
    ToolError::new(ErrorCode::InvalidArguments, message)
        .suggest(format!("Expected {expected}."))
        .detail("patch_line", line)
}

#[cfg(test)]
mod tests;
