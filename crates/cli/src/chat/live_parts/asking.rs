//! What the question panel shows of an approval request, and what its answers mean.

#[cfg(test)]
mod tests;
mod title;

use std::collections::{BTreeMap, BTreeSet};
use std::io;

use protocol::{
    ApprovalRequest, ApprovalResponse, Change, DiffKind, DiffLine, FileBytes, FileDiff,
    LineComment, LineKind, Proposal, QuestionText, Remember, ToolError, visible,
};
use serde_json::Value;
use terminal::{
    CommentPlace, DiffView, OutputStyle, PanelAnswer, PanelFile, PanelLine, PanelPart,
    PanelQuestion, RuleLifetime, SourceLine,
};
use workspace::{EditorRun, find_program, is_binary};

use crate::diff_view::of_diff;

/// Border and blank on both sides of the panel, and the mark of the line that is commented.
const PANEL_SIDES: usize = 6;
/// Lines of a hunk that are shown while it is picked; the whole diff is a key away.
const MOST_PREVIEW: usize = 60;

/// Looked for where no editor is named.
const USUAL_EDITORS: [&str; 2] = ["vi", "nano"];
/// The name of the file that holds a message while it is edited.
const PROMPT_FILE: &str = "message.md";

/// The question about `request` for a panel on a screen of the style's width. `position` is which of
/// all that wait it is, counted from 1, and how many these are.
pub(crate) fn panel_question(
    request: &ApprovalRequest,
    style: OutputStyle,
    position: (usize, usize),
) -> PanelQuestion {
    // The diff is drawn from the data, not from the text.
    let text = QuestionText::of(request, 0);
    let style = OutputStyle { width: style.width.saturating_sub(PANEL_SIDES), ..style };
    let mut question = PanelQuestion {
        title: title::title(request),
        reason: (!request.is_routine && !text.reason.is_empty()).then(|| text.reason.clone()),
        can_edit: can_edit(request),
        position,
        ..PanelQuestion::of(&text)
    };
    match &request.proposal {
        Proposal::Changes(_) => {
            let view = DrawnDiff::new(&request.diffs, style);
            let command = command_of(request).map(str::trim_end).into_iter();
            let command = command.flat_map(|text| text.split('\n').enumerate());
            let command = command.map(|(at, line)| {
                let sign = if at == 0 { "$" } else { ">" };
                plain(style, &format!("{sign} {}", visible(line)))
            });
            question.diff = command.chain(view.lines()).collect();
            question.files = view.files();
        }
        Proposal::Command(_) | Proposal::Web(_) | Proposal::Foreign(_) => {
            // What Toolkiln wrote itself begins with its title, which is above already.
            let has_title =
                matches!(&request.proposal, Proposal::Command(spec) if spec.shown.is_some());
            let lines = text.what.lines().skip(usize::from(has_title));
            let lines = lines.skip_while(|line| has_title && line.is_empty());
            question.diff = lines.map(|line| plain(style, line)).collect();
        }
    }
    question
}

/// What the user's answer means for the call; none if the proposal is to be edited first.
pub(crate) fn response(request: &ApprovalRequest, answer: PanelAnswer) -> Option<ApprovalResponse> {
    Some(match answer {
        PanelAnswer::Yes => request.approve(),
        PanelAnswer::No(reason) => ApprovalResponse::no(reason),
        PanelAnswer::Parts(parts) => request.with_hunks(parts),
        PanelAnswer::Comment { place: CommentPlace { path, line }, text } => {
            ApprovalResponse::no(None).commenting(LineComment { path, line, text })
        }
        PanelAnswer::Always(lifetime) => request.approve_and_remember(match lifetime {
            RuleLifetime::Session => Remember::Session,
            RuleLifetime::ForGood => Remember::Project,
        }),
        PanelAnswer::Edit => return None,
    })
}

/// The command that edits a file: what `VISUAL` or `EDITOR` names, else an editor that is installed. `read`
/// gives variables of the environment.
pub(crate) fn editor(read: impl Fn(&str) -> Option<String>) -> Option<String> {
    let named = |name| read(name).filter(|command| !command.trim().is_empty());
    let installed = || find_program(&USUAL_EDITORS, read("PATH")?.as_ref());
    named("VISUAL").or_else(|| named("EDITOR")).or_else(installed)
}

/// The texts that a request proposes, by path.
fn texts(request: &ApprovalRequest) -> impl Iterator<Item = (&str, &[u8])> {
    let changes = match &request.proposal {
        Proposal::Changes(set) => set.changes.as_slice(),
        Proposal::Command(_) | Proposal::Web(_) | Proposal::Foreign(_) => &[],
    };
    changes.iter().filter_map(|change| match change {
        Change::Write { path, content, .. } if !is_binary(&content.0) => {
            Some((path.as_str(), content.0.as_slice()))
        }
        _ => None,
    })
}

/// Whether there is a text to edit.
fn can_edit(request: &ApprovalRequest) -> bool {
    texts(request).next().is_some()
}

/// Lets the user edit each proposed text, one after the other; none if all stay as they are. It blocks, and
/// the editor needs the terminal as it was before the chat.
pub(crate) fn edit(
    request: &ApprovalRequest,
    editor: &str,
    run: &EditorRun,
) -> Result<Option<ApprovalResponse>, ToolError> {
    let mut files = BTreeMap::new();
    for (path, text) in texts(request) {
        let edited = run.edit(editor, path, text)?;
        if edited != text {
            files.insert(path.to_owned(), FileBytes(edited));
        }
    }
    Ok((!files.is_empty()).then(|| request.with_files(files)))
}

/// Lets the user edit a message. The line end that editors add is not a part of it.
pub(crate) fn edit_prompt(editor: &str, text: &str, run: &EditorRun) -> io::Result<String> {
    let edited = run.edit(editor, PROMPT_FILE, text.as_bytes()).map_err(io::Error::other)?;
    let mut edited = String::from_utf8(edited).map_err(io::Error::other)?;
    if !text.ends_with('\n') && edited.ends_with('\n') {
        edited.pop();
    }
    Ok(edited)
}

/// The command whose changes are asked about, as it was typed. Only tools that run commands have an argument
/// of this name.
fn command_of(request: &ApprovalRequest) -> Option<&str> {
    let is_changes = matches!(request.proposal, Proposal::Changes(_));
    request.args.get("command").and_then(Value::as_str).filter(|_| is_changes)
}

/// A line that belongs to no file.
fn plain(style: OutputStyle, line: &str) -> PanelLine {
    PanelLine { drawn: style.paint(of_diff(line), line), place: None }
}

/// The files of a request, drawn.
struct DrawnDiff<'a> {
    diffs: &'a [FileDiff],
    view: DiffView,
    drawn: Vec<String>,
}

impl<'a> DrawnDiff<'a> {
    fn new(diffs: &'a [FileDiff], style: OutputStyle) -> Self {
        let view = DiffView::new(diffs, style);
        let drawn = view.lines(0..view.len());
        Self { diffs, view, drawn }
    }

    fn lines(&self) -> impl Iterator<Item = PanelLine> {
        let numbers: Vec<Vec<Vec<usize>>> = self.diffs.iter().map(commented_lines).collect();
        self.drawn.iter().enumerate().map(move |(at, drawn)| {
            let place =
                self.view.source_line_at(at).map(|SourceLine { file, hunk, line, .. }| {
                    let path = self.diffs[file].path.clone();
                    CommentPlace { path, line: numbers[file][hunk][line] }
                });
            PanelLine { drawn: drawn.clone(), place }
        })
    }

    /// What can be picked. An answer names parts by path, so nothing can if a path stands for two changes; and
    /// directories come with the files in them.
    fn files(&self) -> Vec<PanelFile> {
        let diffs = self.diffs.iter().enumerate();
        let diffs: Vec<_> = diffs.filter(|(_, diff)| diff.kind != DiffKind::MakeDir).collect();
        let paths: BTreeSet<&str> = diffs.iter().map(|(_, diff)| diff.path.as_str()).collect();
        if paths.len() < diffs.len() {
            return Vec::new();
        }
        let mut files: Vec<PanelFile> = Vec::with_capacity(diffs.len());
        let mut file_of = vec![None; self.diffs.len()];
        for (at, diff) in diffs {
            file_of[at] = Some(files.len());
            let FileDiff { path, added, removed, .. } = diff.clone();
            files.push(PanelFile { path, added, removed, parts: parts(diff) });
        }
        for (at, drawn) in self.drawn.iter().enumerate() {
            let file = self.view.file_at(at).and_then(|file| file_of[file]);
            if let (Some(file), Some(hunk)) = (file, self.view.hunk_at(at))
                && let Some(part) = files[file].parts.get_mut(hunk)
                && part.lines.len() < MOST_PREVIEW
            {
                part.lines.push(drawn.clone());
            }
        }
        files
    }
}

/// The parts of a file as answers count them, without their lines.
fn parts(diff: &FileDiff) -> Vec<PanelPart> {
    let titles = (0..diff.parts()).map(|at| match diff.hunks.get(at) {
        Some(hunk) if diff.kind == DiffKind::Delete => format!("line {}", hunk.old_start),
        Some(hunk) => {
            // The first line that differs is what a reader looks for.
            let same = |line: &&DiffLine| line.kind == LineKind::Context;
            let before = hunk.lines.iter().take_while(same).count();
            format!("line {}", (hunk.new_start + before).max(1))
        }
        None => "the whole file".to_owned(),
    });
    titles.map(|title| PanelPart { title, lines: Vec::new() }).collect()
}

/// The number that a comment on each line of each hunk names: that of the line after the change. For a line
/// that goes it is the one that takes its place, and in a file that goes it is its own.
fn commented_lines(diff: &FileDiff) -> Vec<Vec<usize>> {
    let hunks = diff.hunks.iter().map(|hunk| {
        let (start, count, gone) = match diff.kind {
            DiffKind::Delete => (hunk.old_start, hunk.old_lines, LineKind::Add),
            _ => (hunk.new_start, hunk.new_lines, LineKind::Remove),
        };
        // The start of a side without lines is the line before it.
        let mut next = (start + usize::from(count == 0)).max(1);
        let number = |line: &DiffLine| {
            let number = next;
            next += usize::from(line.kind != gone);
            number
        };
        hunk.lines.iter().map(number).collect()
    });
    hunks.collect()
}
