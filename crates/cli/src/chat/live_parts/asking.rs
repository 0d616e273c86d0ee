//! What the question panel shows of an approval request, and what its answers mean.

mod editing;
#[cfg(test)]
mod tests;
mod title;

use std::collections::BTreeSet;

use protocol::{
    ApprovalRequest, ApprovalResponse, DiffKind, FileDiff, LineComment, LineKind, Proposal,
    QuestionText, Remember, visible,
};
use serde_json::Value;
use terminal::{
    CommentPlace, DiffView, OutputStyle, PanelAnswer, PanelFile, PanelLine, PanelPart,
    PanelQuestion, RuleLifetime, SourceLine,
};

use crate::diff_view::of_diff;
pub(crate) use editing::{edit, edit_prompt, editor};

/// Border and blank on both sides of the panel, and the mark of the line that is commented.
const PANEL_SIDES: usize = 6;
/// Lines of a hunk that are shown while it is picked; the whole diff is a key away.
const MOST_PREVIEW: usize = 60;

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
        can_edit: editing::can_edit(request),
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
        Proposal::Command(_) | Proposal::Web(_) => {
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
        self.drawn.iter().enumerate().map(|(at, drawn)| {
            let place = self.view.source_line_at(at).map(|source| {
                let diff = &self.diffs[source.file];
                CommentPlace { path: diff.path.clone(), line: commented_line(diff, source) }
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
            let same = |line: &&protocol::DiffLine| line.kind == LineKind::Context;
            let before = hunk.lines.iter().take_while(same).count();
            format!("line {}", (hunk.new_start + before).max(1))
        }
        None => "the whole file".to_owned(),
    });
    titles.map(|title| PanelPart { title, lines: Vec::new() }).collect()
}

/// The number that a comment names: that of the line after the change. For a line that goes it is the one
/// that takes its place, and in a file that goes it is its own.
fn commented_line(diff: &FileDiff, source: SourceLine) -> usize {
    if diff.kind == DiffKind::Delete {
        return source.old.unwrap_or(1);
    }
    let following = || {
        let hunk = &diff.hunks[source.hunk];
        let stays = |line: &&protocol::DiffLine| line.kind != LineKind::Remove;
        let before = hunk.lines[..source.line].iter().filter(stays).count();
        // The start of a side without lines is the line before it.
        (hunk.new_start + before + usize::from(hunk.new_lines == 0)).max(1)
    };
    source.new.unwrap_or_else(following)
}
