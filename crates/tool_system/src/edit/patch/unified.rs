//! Unified diffs, as diff and git write them and as models write them from memory.

use protocol::ToolError;

use super::header::{parse_hunk_header, parse_name, parse_position, without_prefixes};
use super::{FilePatch, HunkLine, LineKind, PatchAction, PatchHunk, PatchLines, malformed};

/// Lines of git's extended header that say nothing about the content.
const IGNORED: [&str; 7] =
    ["index ", "similarity index ", "dissimilarity index ", "old mode ", "Index: ", "=====", "```"];

/// What was read of one file so far.
#[derive(Debug, Default)]
struct FilePatchDraft {
    patch_line: usize,
    old: Option<String>,
    new: Option<String>,
    /// Whether `---` and `+++` were read.
    named: bool,
    rename: (Option<String>, Option<String>),
    git_names: Option<String>,
    mode: Option<u32>,
    created: bool,
    deleted: bool,
    hunks: Vec<PatchHunk>,
}

/// Reads every file of the diff.
pub(super) fn parse(lines: &PatchLines<'_>) -> Result<Vec<FilePatch>, ToolError> {
    let mut files = Vec::new();
    let mut draft: Option<FilePatchDraft> = None;
    let mut at = 0;
    // Between hunks no line is content, so white space before it means nothing.
    while let Some(line) = lines.get(at).map(str::trim_start) {
        let number = at + 1;
        let begun = draft.as_ref().is_some_and(|draft| draft.named || !draft.hunks.is_empty());
        if let Some(names) = line.strip_prefix("diff --git ") {
            finish(draft.take(), &mut files)?;
            let git_names = Some(names.to_owned());
            draft =
                Some(FilePatchDraft { patch_line: number, git_names, ..FilePatchDraft::default() });
        } else if begins(lines, at, "--- ") && begins(lines, at + 1, "+++ ") {
            if begun {
                finish(draft.take(), &mut files)?;
            }
            let draft = draft
                .get_or_insert(FilePatchDraft { patch_line: number, ..FilePatchDraft::default() });
            draft.old = parse_name(&line[4..]);
            draft.new = lines.get(at + 1).and_then(|line| parse_name(&line.trim_start()[4..]));
            draft.named = true;
            at += 1;
        } else if line.starts_with("--- ") {
            return Err(malformed(number + 1, "`---` is not followed by `+++`", "`+++ b/path`"));
        } else if line.starts_with("@@") {
            let Some(draft) = draft.as_mut().filter(|draft| draft.named) else {
                let expected = "`--- a/path` and `+++ b/path` before the first hunk";
                return Err(malformed(number, "the hunk belongs to no file", expected));
            };
            let (hunk, next) = parse_hunk(lines, at)?;
            draft.hunks.push(hunk);
            at = next;
            continue;
        } else if !draft.as_mut().is_some_and(|draft| draft.read_extended(line))
            && !is_ignored(line)
        {
            let expected = "`--- a/path`, `@@ -1,2 +1,3 @@` or `diff --git`";
            return Err(malformed(number, &format!("`{line}` is not part of a diff"), expected));
        }
        if let Some(what) = special_mode(line) {
            let problem = format!("the patch makes {what}, which is not a file");
            return Err(malformed(number, &problem, "files only"));
        }
        if line.starts_with("GIT binary patch") || line.starts_with("Binary files ") {
            return Err(malformed(number, "binary changes cannot be applied", "text changes only"));
        }
        at += 1;
    }
    finish(draft, &mut files)?;
    Ok(files)
}

/// Whether a line begins so, apart from white space.
fn begins(lines: &PatchLines<'_>, at: usize, prefix: &str) -> bool {
    lines.get(at).is_some_and(|line| line.trim_start().starts_with(prefix))
}

fn is_name_pair(lines: &PatchLines<'_>, at: usize) -> bool {
    let begins =
        |at: usize, prefix: &str| lines.get(at).is_some_and(|line| line.starts_with(prefix));
    begins(at, "--- ") && begins(at + 1, "+++ ")
}

/// What a mode of git makes of something that is not a file. Its content would be taken for one.
fn special_mode(line: &str) -> Option<&'static str> {
    let mode = line.strip_prefix("new file mode ").or_else(|| line.strip_prefix("new mode "))?;
    match mode.trim() {
        "120000" => Some("a symbolic link"),
        "160000" => Some("a submodule"),
        _ => None,
    }
}

fn is_ignored(line: &str) -> bool {
    line.trim().is_empty() || IGNORED.iter().any(|prefix| line.starts_with(prefix))
}

impl FilePatchDraft {
    /// Takes note of a line of git's extended header.
    fn read_extended(&mut self, line: &str) -> bool {
        let mode = |text: &str| u32::from_str_radix(text.trim(), 8).ok().map(|mode| mode & 0o777);
        if let Some(text) = line.strip_prefix("new file mode ") {
            (self.created, self.mode) = (true, mode(text));
        } else if line.starts_with("deleted file mode ") {
            self.deleted = true;
        } else if let Some(text) = line.strip_prefix("new mode ") {
            self.mode = mode(text);
        } else if let Some(text) = line.strip_prefix("rename from ") {
            self.rename.0 = parse_name(text);
        } else if let Some(text) = line.strip_prefix("rename to ") {
            self.rename.1 = parse_name(text);
        } else {
            return line.starts_with("GIT binary patch") || line.starts_with("Binary files ");
        }
        true
    }

    /// The one name in `a/x b/x`, for files without `---` and `+++`.
    fn git_name(&self) -> Option<String> {
        let names = self.git_names.as_deref()?.trim_end();
        let half = names.len() / 2;
        let (old, new) = (names.get(..half)?, names.get(half + 1..)?);
        let name = old.strip_prefix("a/")?;
        (new.strip_prefix("b/")? == name).then(|| name.to_owned())
    }

    fn names(&mut self) -> (Option<String>, Option<String>) {
        if let (Some(from), Some(to)) = (self.rename.0.take(), self.rename.1.take()) {
            return (Some(from), Some(to));
        }
        if self.named {
            return without_prefixes(self.old.take(), self.new.take());
        }
        let name = self.git_name();
        ((!self.created).then(|| name.clone()).flatten(), name.filter(|_| !self.deleted))
    }
}

fn finish(draft: Option<FilePatchDraft>, files: &mut Vec<FilePatch>) -> Result<(), ToolError> {
    let Some(mut draft) = draft else { return Ok(()) };
    let (line, mode) = (draft.patch_line, draft.mode);
    let names = draft.names();
    let hunks = std::mem::take(&mut draft.hunks);
    let (path, action) = match names {
        (None, Some(path)) => (path, PatchAction::Add { content: added_content(&hunks)?, mode }),
        (Some(path), None) => (path, PatchAction::Delete { hunks }),
        (Some(path), Some(new)) => {
            let move_to = (new != path).then_some(new);
            if hunks.is_empty() && move_to.is_none() && mode.is_none() {
                return Err(malformed(line, "the file has no hunk", "`@@ -1,2 +1,3 @@`"));
            }
            (path, PatchAction::Update { move_to, mode, hunks })
        }
        (None, None) => {
            return Err(malformed(line, "the file has no name", "`--- a/path` and `+++ b/path`"));
        }
    };
    files.push(FilePatch { path, action, patch_line: line });
    Ok(())
}

/// The content of a new file, whose hunks must hold nothing but added lines.
fn added_content(hunks: &[PatchHunk]) -> Result<String, ToolError> {
    let mut content = String::new();
    for hunk in hunks {
        if hunk.lines.iter().any(|line| line.kind != LineKind::Add) {
            let problem = "a new file has old lines";
            return Err(malformed(hunk.patch_line, problem, "`+` before every line of a new file"));
        }
        for line in &hunk.lines {
            content.push_str(&line.content);
            content.push_str(if line.ended { "\n" } else { "" });
        }
    }
    Ok(content)
}

/// Reads the hunk that begins at line `at`; the answer is where the next part begins.
fn parse_hunk(lines: &PatchLines<'_>, at: usize) -> Result<(PatchHunk, usize), ToolError> {
    let header = lines.get(at).unwrap_or_default().trim_start();
    let mut hunk = parse_hunk_header(header, at + 1);
    let counts = parse_position(header.trim_start_matches("@@").trim())
        .map(|(old, new)| (old.count, new.count));
    // The numbers decide where a hunk ends, because a deleted `-- x` looks like a file header. But
    // models count badly: if nothing proper follows, the hunk ends where it looks like its end.
    let end = counts
        .and_then(|counts| end_by_counts(lines, at + 1, counts))
        .unwrap_or_else(|| end_by_looks(lines, at + 1));
    for number in at + 1..end {
        let line = lines.get(number).unwrap_or_default();
        if line.starts_with('\\') {
            mark_open(&mut hunk);
            continue;
        }
        let Some(line) = HunkLine::parse(line) else {
            let problem = format!("`{line}` is not a line of a hunk");
            let expected = "` ` before context, `-` before old and `+` before new lines";
            return Err(malformed(number + 1, &problem, expected));
        };
        hunk.lines.push(line);
    }
    if hunk.changes_nothing() {
        return Err(malformed(at + 1, "the hunk changes nothing", "a `+` or `-` line"));
    }
    Ok((hunk, end))
}

/// `\ No newline at end of file` after a line.
fn mark_open(hunk: &mut PatchHunk) {
    if let Some(last) = hunk.lines.last_mut() {
        last.ended = false;
        hunk.at_end |= last.kind != LineKind::Add;
    }
}

fn end_by_counts(lines: &PatchLines<'_>, from: usize, counts: (usize, usize)) -> Option<usize> {
    let (mut old, mut new) = counts;
    let mut at = from;
    while old > 0 || new > 0 {
        let line = lines.get(at)?;
        at += 1;
        if line.starts_with('\\') {
            continue;
        }
        let kind = HunkLine::parse(line)?.kind;
        if kind != LineKind::Add {
            old = old.checked_sub(1)?;
        }
        if kind != LineKind::Delete {
            new = new.checked_sub(1)?;
        }
    }
    if lines.get(at).is_some_and(|line| line.starts_with('\\')) {
        at += 1;
    }
    is_boundary(lines, at).then_some(at)
}

fn end_by_looks(lines: &PatchLines<'_>, from: usize) -> usize {
    let mut end = from;
    while !(is_boundary(lines, end) && lines.get(end).is_none_or(|line| !line.trim().is_empty())) {
        end += 1;
    }
    // Empty lines before the next part belong to the patch.
    while end > from
        && lines.get(end - 1).is_some_and(|line| line.trim().is_empty() && !line.starts_with(' '))
    {
        end -= 1;
    }
    end
}

/// Whether a hunk can end before this line.
fn is_boundary(lines: &PatchLines<'_>, at: usize) -> bool {
    let Some(line) = lines.get(at) else { return true };
    line.trim_end_matches('\r').is_empty()
        || line.starts_with("@@")
        || line.starts_with("diff --git ")
        || is_name_pair(lines, at)
        || is_ignored(line)
}
