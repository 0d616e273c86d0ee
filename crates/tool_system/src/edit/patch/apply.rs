//! Putting the hunks of a patch where their old lines are.

use std::ops::Range;

use protocol::{ErrorCode, ToolError};
use workspace::{LineEnding, Text};

use super::header::split_at_padded_headers;
use super::{HunkLine, LineKind, PatchHunk};
use crate::edit::grade::{Grade, indentation_len};
use crate::edit::indentation::Reindent;
use crate::edit::line_map::LineMap;
use crate::edit::locate::{EditPlace, WantedLine, places, without_cr};
use crate::edit::miss::{Miss, missing};
use crate::edit::placing::{AppliedBlock, Placed, already_applied, apply_placed, decide, numbered};
use crate::edit::script::{LineScript, LineStep, NewLine};

const GRADES: [Grade; 5] = [
    Grade::Exact,
    Grade::LineEnding,
    Grade::TrailingWhitespace,
    Grade::Indentation,
    Grade::Punctuation,
];

/// What the hunks for one file came to.
#[derive(Debug)]
pub(crate) struct HunksApplied {
    pub(crate) body: Vec<u8>,
    /// What became of each hunk, in order.
    pub(crate) hunks: Vec<AppliedBlock>,
}

/// Applies all hunks to the file as it is, or none.
pub(crate) fn apply_hunks(text: &Text, hunks: &[PatchHunk]) -> Result<HunksApplied, ToolError> {
    place_all(text, hunks).or_else(|error| match split_at_padded_headers(hunks) {
        // A context line can look like a header with white space before it. So it is taken for one
        // only if it is not in the file.
        Some(hunks) => place_all(text, &hunks).map_err(|_| error),
        None => Err(error),
    })
}

fn place_all(text: &Text, hunks: &[PatchHunk]) -> Result<HunksApplied, ToolError> {
    let map = LineMap::of(text.body());
    let speaks_of_crs =
        || hunks.iter().flat_map(|hunk| &hunk.lines).any(|line| line.content.contains('\r'));
    if map.cr_only() && speaks_of_crs() {
        // A patch by diff or git takes such a file for a single line.
        let as_content = LineMap::ended_by_lf(text.body());
        if let Ok(done) = place_in(text, &as_content, hunks) {
            return Ok(done);
        }
    }
    place_in(text, &map, hunks)
}

fn place_in<'t>(
    text: &'t Text,
    map: &LineMap<'t>,
    hunks: &[PatchHunk],
) -> Result<HunksApplied, ToolError> {
    let mut placer = Placer {
        text,
        map,
        floor: 0,
        drift: 0,
        knows_endings: hunks
            .iter()
            .flat_map(|hunk| &hunk.lines)
            .any(|line| line.content.ends_with('\r')),
    };
    let mut found = Vec::with_capacity(hunks.len());
    for (index, hunk) in hunks.iter().enumerate() {
        let (place, script, grade) = placer.place(hunk).map_err(|mut error| {
            let told = error.message.trim_end_matches('.');
            error.message = format!("{told} (line {} of the patch)", hunk.patch_line);
            numbered(error, "hunk", index, hunks.len())
        })?;
        found.push(Placed { splice: script.render(map, &place), grade, index });
    }
    let (body, hunks) = apply_placed(map, found, "hunk")?;
    Ok(HunksApplied { body, hunks })
}

/// Makes sure that hunks which delete a file hold all that is in it.
pub(crate) fn verify_deletion(text: &Text, hunks: &[PatchHunk]) -> Result<(), ToolError> {
    if hunks.is_empty() || apply_hunks(text, hunks)?.body.is_empty() {
        return Ok(());
    }
    let message = "the patch deletes the file, but the file holds more than the patch says";
    Err(ToolError::new(ErrorCode::Conflict, message).suggest("Read the file again."))
}

struct Placer<'t, 'm> {
    text: &'t Text,
    map: &'m LineMap<'t>,
    /// The line after the hunk before.
    floor: usize,
    /// By how many lines the hunk before was found below the place that its numbers name.
    drift: isize,
    /// Whether the patch writes the CR of CR LF, so that its line endings can be taken literally.
    knows_endings: bool,
}

impl Placer<'_, '_> {
    fn place<'h>(
        &mut self,
        hunk: &'h PatchHunk,
    ) -> Result<(EditPlace, LineScript<'h>, Grade), ToolError> {
        let scopes = self.scopes(hunk)?;
        let found = if hunk.side(LineKind::Add).next().is_none() {
            self.place_addition(hunk, &scopes)?
        } else {
            self.place_lines(hunk, &scopes)?
        };
        let (place, script, _) = &found;
        self.floor = place.line + script.wanted.len();
        if let Some(position) = hunk.position {
            let named = position.start.saturating_sub(usize::from(position.count > 0));
            self.drift = place.line.cast_signed() - named.cast_signed();
        }
        Ok(found)
    }

    fn place_lines<'h>(
        &self,
        hunk: &'h PatchHunk,
        scopes: &[Range<usize>],
    ) -> Result<(EditPlace, LineScript<'h>, Grade), ToolError> {
        for grade in GRADES {
            let script = self.script(hunk, grade);
            let found = places(self.map, &script.wanted, &script.new_indentations(), grade);
            let count = script.wanted.len();
            let fitting = self.fitting(hunk, found, count, scopes);
            if fitting.is_empty() {
                continue;
            }
            let lines: Vec<Range<usize>> =
                fitting.iter().map(|place| place.line..place.line + count).collect();
            let hint = self.named_line(hunk).filter(|line| {
                grade <= Grade::LineEnding && fitting.iter().any(|place| place.line + 1 == *line)
            });
            let place = fitting[decide(&lines, hint)?].clone();
            if self.stands_already(hunk, &place, count, grade) {
                return Err(already_applied(place.line));
            }
            return Ok((place, script, grade));
        }
        Err(self.missing_lines(hunk))
    }

    /// The places that the anchors, the end of the file and the order of the hunks leave.
    fn fitting(
        &self,
        hunk: &PatchHunk,
        found: Vec<EditPlace>,
        count: usize,
        scopes: &[Range<usize>],
    ) -> Vec<EditPlace> {
        let total = self.map.len();
        let mut found = found;
        found.retain(|place| !hunk.at_end || place.line + count == total);
        if !hunk.anchors.is_empty() {
            let inside: Vec<EditPlace> = found
                .iter()
                .filter(|place| scopes.iter().any(|scope| scope.contains(&place.line)))
                .cloned()
                .collect();
            let unique_below =
                found.len() == 1 && scopes.iter().any(|scope| scope.start <= found[0].line);
            found = if inside.is_empty() && unique_below { found } else { inside };
        }
        let below: Vec<EditPlace> =
            found.iter().filter(|place| place.line >= self.floor).cloned().collect();
        if below.is_empty() { found } else { below }
    }

    /// Where the numbers of the hunk say that it begins, from 1.
    fn named_line(&self, hunk: &PatchHunk) -> Option<usize> {
        hunk.position?.start.checked_add_signed(self.drift)
    }

    /// A hunk without old lines goes below its anchor, after the line that its numbers name, or to
    /// the end of the file if it says so, and nowhere else.
    fn place_addition<'h>(
        &self,
        hunk: &'h PatchHunk,
        scopes: &[Range<usize>],
    ) -> Result<(EditPlace, LineScript<'h>, Grade), ToolError> {
        let total = self.map.len();
        let line = match (hunk.position, scopes) {
            _ if hunk.at_end || total == 0 => Some(total),
            (_, [scope]) if !hunk.anchors.is_empty() => Some(scope.start + 1),
            (Some(position), _) if hunk.anchors.is_empty() && position.count == 0 => {
                self.named_line(hunk).filter(|line| *line <= total && *line >= self.floor)
            }
            _ => None,
        };
        let Some(line) = line else {
            return Err(ToolError::new(
                ErrorCode::InvalidArguments,
                "the hunk only adds lines and does not say clearly where; nothing was changed",
            )
            .suggest("Add unchanged lines of the file around the new ones."));
        };
        let place = EditPlace { line, reindent: Reindent::Same };
        if self.stands_already(hunk, &place, 0, Grade::TrailingWhitespace) {
            return Err(already_applied(line));
        }
        Ok((place, self.script(hunk, Grade::Exact), Grade::Exact))
    }

    /// Whether the new lines stand where the hunk would put them.
    fn stands_already(
        &self,
        hunk: &PatchHunk,
        place: &EditPlace,
        count: usize,
        grade: Grade,
    ) -> bool {
        let new: Vec<WantedLine<'_>> = hunk.side(LineKind::Delete).map(wanted).collect();
        let leading = hunk.lines.iter().take_while(|line| line.kind == LineKind::Add).count();
        let leading = if count == 0 { 0 } else { leading };
        // What comes and goes may be nothing but the line ending at the end of the file.
        let speaks_of_end = hunk.lines.iter().any(|line| !line.ended);
        let ends_open = new.last().is_some_and(|line| !line.ended);
        let ends_alike = |end: usize| match end == self.map.len() {
            true => self.map.ends_open() == ends_open,
            false => !ends_open,
        };
        let stands_at = |copy: &EditPlace| {
            let end = copy.line + new.len();
            copy.line + leading == place.line
                && end >= place.line + count
                && (!speaks_of_end || ends_alike(end))
        };
        places(self.map, &new, &[], grade).iter().any(stands_at)
    }

    fn script<'h>(&self, hunk: &'h PatchHunk, grade: Grade) -> LineScript<'h> {
        let literal = self.knows_endings && grade == Grade::Exact;
        let mut kept = 0;
        let mut steps = Vec::new();
        for line in &hunk.lines {
            match line.kind {
                LineKind::Context => steps.push(LineStep::Keep(kept)),
                LineKind::Delete => {}
                LineKind::Add => {
                    let content = line.content.as_bytes();
                    let (content, ending) = match line.ended {
                        false => (content, Some(LineEnding::None)),
                        true => {
                            let bare = without_cr(content);
                            let has_cr = bare.len() < content.len();
                            let named = if has_cr { LineEnding::CrLf } else { LineEnding::Lf };
                            (bare, literal.then_some(named))
                        }
                    };
                    steps.push(LineStep::Add(NewLine { content, ending }));
                }
            }
            kept += usize::from(line.kind != LineKind::Add);
        }
        let wanted = hunk.side(LineKind::Add).map(wanted).collect();
        let keep_open = hunk.lines.iter().all(|line| line.ended);
        LineScript { wanted, steps, keep_open }
    }

    /// The lines below each place where the anchors stand; the whole file if there are none.
    fn scopes(&self, hunk: &PatchHunk) -> Result<Vec<Range<usize>>, ToolError> {
        let mut scopes = vec![Range { start: 0, end: self.map.len() }];
        for anchor in &hunk.anchors {
            let within = |fits: &dyn Fn(&[u8]) -> bool| -> Vec<usize> {
                let lines = scopes.iter().flat_map(Range::clone);
                lines.filter(|line| fits(self.map.content(*line).trim_ascii())).collect()
            };
            let text = anchor.trim().as_bytes();
            let mut lines = within(&|line| line == text);
            if lines.is_empty() {
                lines = within(&|line| line.starts_with(text));
            }
            if lines.is_empty() {
                let message = format!("the anchor `{anchor}` is not in the file");
                return Err(missing(self.text, anchor, None, &message));
            }
            scopes = lines.into_iter().map(|line| line..self.end_of_scope(line)).collect();
        }
        Ok(scopes)
    }

    /// The first line below `line` that is indented no deeper and does not just close it.
    fn end_of_scope(&self, line: usize) -> usize {
        let depth = indentation_len(self.map.content(line));
        let ends = |line: &usize| {
            let content = self.map.content(*line);
            let closes =
                matches!(content.trim_ascii().first(), None | Some(b'}' | b')' | b']' | b'{'));
            !closes && indentation_len(content) <= depth
        };
        (line + 1..self.map.len()).find(ends).unwrap_or(self.map.len())
    }

    fn missing_lines(&self, hunk: &PatchHunk) -> ToolError {
        let (old, new) = (hunk.text_of_side(LineKind::Add), hunk.text_of_side(LineKind::Delete));
        Miss::of_text(self.text, &old, Some(&new)).error()
    }
}

fn wanted(line: &HunkLine) -> WantedLine<'_> {
    WantedLine { content: line.content.as_bytes(), ended: line.ended }
}
