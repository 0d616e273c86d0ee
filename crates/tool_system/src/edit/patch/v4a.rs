//! Patches of the form `*** Begin Patch` … `*** End Patch`.

use protocol::ToolError;

use super::header::parse_hunk_header;
use super::{FilePatch, Hunk, HunkLine, PatchAction, PatchLines, malformed};

const FILE_HEADER: &str =
    "`*** Update File: path`, `*** Add File: path`, `*** Delete File: path` or `*** End Patch`";

/// Reads the lines between `*** Begin Patch` and `*** End Patch`.
pub(super) fn parse(lines: &PatchLines<'_>) -> Result<Vec<FilePatch>, ToolError> {
    let begin =
        lines.lines.iter().position(|line| line.starts_with("*** Begin Patch")).unwrap_or(0);
    if let Some(at) = (0..begin).find(|at| !is_wrapping(lines.lines[*at])) {
        return Err(malformed(at + 1, "there is text before the patch", "`*** Begin Patch`"));
    }
    let mut parser = Parser { lines, at: begin + 1 };
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
        if line.trim_end() == "*** End Patch" {
            break;
        } else if let Some(path) = directive(line, "*** Add File:") {
            let content = parser.added_content()?;
            let action = PatchAction::Add { content, mode: None };
            files.push(file(path, action, named)?);
        } else if let Some(path) = directive(line, "*** Delete File:") {
            files.push(file(path, PatchAction::Delete { hunks: Vec::new() }, named)?);
        } else if let Some(path) = directive(line, "*** Update File:") {
            let action = parser.update(named)?;
            files.push(file(path, action, named)?);
        } else if !line.trim().is_empty() {
            return Err(malformed(named, &format!("`{line}` is no file header"), FILE_HEADER));
        }
    }
    match (parser.at..lines.lines.len()).find(|at| !is_wrapping(lines.lines[*at])) {
        Some(at) => Err(malformed(at + 1, "there is text after the patch", "nothing more")),
        None => Ok(files),
    }
}

/// Whether a line is what models put around a patch: nothing, or the fence of a code block.
fn is_wrapping(line: &str) -> bool {
    line.trim().is_empty() || line.trim_start().starts_with("```")
}

fn directive<'a>(line: &'a str, name: &str) -> Option<&'a str> {
    line.strip_prefix(name).map(str::trim)
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
}

impl<'a> Parser<'_, 'a> {
    fn peek(&self) -> Option<&'a str> {
        self.lines.get(self.at)
    }

    /// The next line, unless it begins another part of the patch.
    fn next_content(&mut self) -> Option<&'a str> {
        let line = self.peek().filter(|line| !line.starts_with("*** "))?;
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
        let move_to = self.peek().and_then(|line| directive(line, "*** Move to:"));
        if move_to.is_some() {
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

    fn hunk(&mut self) -> Result<Option<Hunk>, ToolError> {
        let mut hunk = Hunk { patch_line: self.at + 1, ..Hunk::default() };
        while let Some(line) = self.peek().filter(|line| line.starts_with("@@")) {
            self.at += 1;
            let header = parse_hunk_header(line, self.at);
            hunk.anchors.extend(header.anchors);
            hunk.position = header.position.or(hunk.position);
        }
        let is_begun = self.at + 1 > hunk.patch_line;
        while let Some(line) = self.peek().filter(|line| !line.starts_with("@@")) {
            if line.trim_end() == "*** End of File" {
                self.at += 1;
                hunk.at_end = true;
                break;
            }
            if self.next_content().is_none() {
                break;
            }
            let Some(line) = HunkLine::parse(line) else {
                let problem = format!("`{line}` is no line of a hunk");
                let expected = "` ` before context, `-` before old and `+` before new lines";
                return Err(malformed(self.at, &problem, expected));
            };
            hunk.lines.push(line);
        }
        if !is_begun
            && hunk
                .lines
                .iter()
                .all(|line| line.content.trim().is_empty() && line.kind == super::LineKind::Context)
        {
            return Ok(None);
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
