//! Patches of the form `*** Begin Patch` … `*** End Patch`.

use protocol::ToolError;

use super::header::parse_hunk_header;
use super::{FilePatch, HunkLine, LineKind, PatchAction, PatchHunk, PatchLines, malformed};

const FILE_HEADER: &str =
    "`*** Update File: path`, `*** Add File: path`, `*** Delete File: path` or `*** End Patch`";

/// Fewer asterisks than this after a marker belong to a name.
const MIN_RULE: usize = 3;

/// Where white space around markers is overlooked.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Padding {
    After,
    Around,
}

/// A line that belongs to the patch and not to a file.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Marker<'a> {
    Begin,
    End,
    EndOfFile,
    Add(&'a str),
    Delete(&'a str),
    Update(&'a str),
    MoveTo(&'a str),
    /// Nothing but asterisks.
    Rule,
    Unknown,
}

/// Reads the lines between `*** Begin Patch` and `*** End Patch`.
pub(super) fn parse(lines: &PatchLines<'_>) -> Result<Vec<FilePatch>, ToolError> {
    // A context line can look like a marker with white space before it. So that is overlooked only
    // in a patch that cannot be read otherwise.
    parse_padded(lines, Padding::After)
        .or_else(|error| parse_padded(lines, Padding::Around).map_err(|_| error))
}

fn parse_padded(lines: &PatchLines<'_>, padding: Padding) -> Result<Vec<FilePatch>, ToolError> {
    let is_begin = |line: &str| marker(line, padding) == Some(Marker::Begin);
    let begin = lines.lines.iter().position(|line| is_begin(line)).unwrap_or(0);
    if let Some(at) = (0..begin).find(|at| !is_wrapping(lines.lines[*at])) {
        return Err(malformed(at + 1, "there is text before the patch", "`*** Begin Patch`"));
    }
    let mut parser = Parser { lines, at: begin + 1, padding };
    let mut files = Vec::new();
    loop {
        let Some(line) = parser.peek() else {
            let last = lines.lines.len();
            return Err(malformed(
                last,
                "the patch breaks off",
                "`*** End Patch` as the last line",
            ));
        };
        let named = parser.at + 1;
        parser.at += 1;
        match marker(line, padding) {
            Some(Marker::End) => break,
            Some(Marker::Add(path)) => {
                let content = parser.added_content()?;
                files.push(file(path, PatchAction::Add { content, mode: None }, named)?);
            }
            Some(Marker::Delete(path)) => {
                files.push(file(path, PatchAction::Delete { hunks: Vec::new() }, named)?);
            }
            Some(Marker::Update(path)) => {
                let action = parser.update(named)?;
                files.push(file(path, action, named)?);
            }
            Some(Marker::Rule) => {}
            _ if line.trim().is_empty() => {}
            _ => {
                return Err(malformed(
                    named,
                    &format!("`{line}` is not a file header"),
                    FILE_HEADER,
                ));
            }
        }
    }
    match (parser.at..lines.lines.len()).find(|at| !is_wrapping(lines.lines[*at])) {
        Some(at) => Err(malformed(at + 1, "there is text after the patch", "nothing more")),
        None => Ok(files),
    }
}

/// Whether a line is what models put around a patch: nothing, the fence of a code block, or
/// asterisks.
pub(super) fn is_wrapping(line: &str) -> bool {
    line.trim().is_empty()
        || line.trim_start().starts_with("```")
        || marker(line, Padding::After) == Some(Marker::Rule)
}

/// Reads a line as a marker, with any number of asterisks before it and, set apart, after it.
pub(super) fn marker(line: &str, padding: Padding) -> Option<Marker<'_>> {
    let text = match padding {
        Padding::After => line.trim_end(),
        Padding::Around => line.trim(),
    };
    let text = text.strip_prefix("***")?.trim_start_matches('*');
    let bare = text.trim_end_matches('*');
    let is_ruled = text.len() - bare.len() >= MIN_RULE && bare.ends_with([' ', '\t']);
    let text = if is_ruled { bare.trim() } else { text.trim() };
    let named = |name: &str| text.strip_prefix(name).map(str::trim);
    let known = match text {
        "Begin Patch" => Some(Marker::Begin),
        "End Patch" => Some(Marker::End),
        "End of File" => Some(Marker::EndOfFile),
        _ => named("Add File:")
            .map(Marker::Add)
            .or_else(|| named("Delete File:").map(Marker::Delete))
            .or_else(|| named("Update File:").map(Marker::Update))
            .or_else(|| named("Move to:").map(Marker::MoveTo)),
    };
    // With white space before it, only what is clearly a marker is one.
    let at_start = line.starts_with('*');
    let other = if text.is_empty() { Marker::Rule } else { Marker::Unknown };
    known.or_else(|| at_start.then_some(other))
}

fn file(path: &str, action: PatchAction, patch_line: usize) -> Result<FilePatch, ToolError> {
    if path.is_empty() {
        return Err(malformed(patch_line, "the header names no file", "a path after the colon"));
    }
    Ok(FilePatch { path: path.to_owned(), action, patch_line })
}

struct Parser<'p, 'a> {
    lines: &'p PatchLines<'a>,
    at: usize,
    padding: Padding,
}

impl<'a> Parser<'_, 'a> {
    fn peek(&self) -> Option<&'a str> {
        self.lines.get(self.at)
    }

    fn marker(&self) -> Option<Marker<'a>> {
        marker(self.peek()?, self.padding)
    }

    /// The next line, unless it begins another part of the patch.
    fn next_content(&mut self) -> Option<&'a str> {
        let line = self.peek().filter(|_| self.marker().is_none())?;
        self.at += 1;
        Some(line)
    }

    fn added_content(&mut self) -> Result<String, ToolError> {
        let mut content = String::new();
        while let Some(line) = self.next_content() {
            let Some(line) = line.strip_prefix('+') else {
                let problem = format!("`{line}` in a new file does not begin with `+`");
                return Err(malformed(self.at, &problem, "`+` before every line of the new file"));
            };
            content.push_str(line);
            content.push('\n');
        }
        Ok(content)
    }

    fn update(&mut self, named: usize) -> Result<PatchAction, ToolError> {
        let mut move_to = None;
        if let Some(Marker::MoveTo(path)) = self.marker() {
            move_to = Some(path);
            self.at += 1;
        }
        let mut hunks = Vec::new();
        while let Some(hunk) = self.hunk()? {
            hunks.push(hunk);
        }
        if hunks.is_empty() && move_to.is_none() {
            return Err(malformed(named, "the update has no hunk", "lines with ` `, `-` and `+`"));
        }
        Ok(PatchAction::Update { move_to: move_to.map(str::to_owned), mode: None, hunks })
    }

    /// Skips asterisks, and empty lines before the header of a hunk.
    fn skip_to_header(&mut self) {
        while self.marker() == Some(Marker::Rule) {
            self.at += 1;
        }
        let rest = self.lines.lines.get(self.at..).unwrap_or_default();
        let empty = rest.iter().take_while(|line| line.trim().is_empty()).count();
        if rest.get(empty).is_some_and(|line| line.starts_with("@@")) {
            self.at += empty;
        }
    }

    fn hunk(&mut self) -> Result<Option<PatchHunk>, ToolError> {
        self.skip_to_header();
        let mut hunk = PatchHunk { patch_line: self.at + 1, ..PatchHunk::default() };
        while let Some(line) = self.peek().filter(|line| line.starts_with("@@")) {
            self.at += 1;
            let header = parse_hunk_header(line, self.at);
            hunk.anchors.extend(header.anchors);
            hunk.position = header.position.or(hunk.position);
        }
        let is_begun = self.at + 1 > hunk.patch_line;
        // Where the lines end that are not just empty.
        let mut end = 0;
        while let Some(line) = self.peek().filter(|line| !line.starts_with("@@")) {
            if self.marker() == Some(Marker::EndOfFile) {
                self.at += 1;
                hunk.at_end = true;
                break;
            }
            if self.next_content().is_none() {
                break;
            }
            let Some(read) = HunkLine::parse(line) else {
                let problem = format!("`{line}` is not a line of a hunk");
                let expected = "` ` before context, `-` before old and `+` before new lines";
                return Err(malformed(self.at, &problem, expected));
            };
            hunk.lines.push(read);
            end = if line.is_empty() { end } else { hunk.lines.len() };
        }
        let is_blank =
            |line: &HunkLine| line.kind == LineKind::Context && line.content.trim().is_empty();
        if !is_begun && hunk.lines.iter().all(is_blank) {
            return Ok(None);
        }
        if hunk.lines[..end].iter().all(|line| line.kind == LineKind::Add) {
            // Empty lines after them belong to the patch.
            hunk.lines.truncate(end);
            hunk.add_at_end_unless_placed();
        }
        if hunk.changes_nothing() {
            return Err(malformed(
                hunk.patch_line,
                "the hunk changes nothing",
                "a `+` or `-` line",
            ));
        }
        Ok(Some(hunk))
    }
}
