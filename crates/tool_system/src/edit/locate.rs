//! Finding a run of whole lines in a file, by grade.

use super::grade::{Grade, LineKey};
use super::indentation::{Reindent, indentation_unit};
use super::line_map::LineMap;

/// How many places are looked at before "several" is clear.
pub(super) const MAX_PLACES: usize = 100;

/// A run of lines that was found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct EditPlace {
    /// Its first line, from 0.
    pub(super) line: usize,
    /// How new lines are to be indented there.
    pub(super) reindent: Reindent,
}

/// A line that is searched: its content, and whether it must have a line ending.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct WantedLine<'a> {
    /// The content, which may end in CR where the search knows the file's endings.
    pub(super) content: &'a [u8],
    pub(super) ended: bool,
}

/// The places where the lines stand at this grade. `new` holds the indentations of the lines that
/// will be added, which must have a clear place in the file's own indentation.
pub(super) fn places(
    map: &LineMap<'_>,
    wanted: &[WantedLine<'_>],
    new: &[&[u8]],
    grade: Grade,
) -> Vec<EditPlace> {
    if wanted.is_empty() || wanted.len() > map.len() {
        return Vec::new();
    }
    if grade == Grade::Exact {
        let standing = |line: &usize| stands_exactly(map, *line, wanted);
        let lines = (0..=map.len() - wanted.len()).filter(standing).take(MAX_PLACES);
        return lines.map(|line| EditPlace { line, reindent: Reindent::Same }).collect();
    }
    let keys: Vec<LineKey<'_>> =
        wanted.iter().map(|line| LineKey::of(without_cr(line.content), grade)).collect();
    let unit = match grade >= Grade::Indentation {
        true => indentation_unit(map.contents()),
        false => None,
    };
    (0..=map.len() - wanted.len())
        .filter_map(|line| {
            let reindent = standing_at(map, line, &keys, new, grade, unit)?;
            Some(EditPlace { line, reindent })
        })
        .take(MAX_PLACES)
        .collect()
}

fn stands_exactly(map: &LineMap<'_>, line: usize, wanted: &[WantedLine<'_>]) -> bool {
    wanted.iter().enumerate().all(|(offset, wanted)| {
        let span = map.span(line + offset);
        let bytes = &map.body()[span.start..span.end];
        match wanted.ended {
            true => bytes.strip_suffix(b"\n").is_some_and(|content| content == wanted.content),
            false => bytes == wanted.content && line + offset + 1 == map.len(),
        }
    })
}

fn standing_at(
    map: &LineMap<'_>,
    line: usize,
    keys: &[LineKey<'_>],
    new: &[&[u8]],
    grade: Grade,
    unit: Option<usize>,
) -> Option<Reindent> {
    let mut indentations = Vec::new();
    for (offset, wanted) in keys.iter().enumerate() {
        let found = LineKey::of(map.content(line + offset), grade);
        if found.rest != wanted.rest {
            return None;
        }
        if !found.is_blank() {
            indentations.push((&wanted.indentation, found.indentation));
        }
    }
    let pairs: Vec<(&[u8], &[u8])> =
        indentations.iter().map(|(asked, file)| (asked.as_ref(), file.as_ref())).collect();
    Reindent::find(&pairs, new, unit)
}

/// The content without a CR that belongs to its line ending.
pub(super) fn without_cr(line: &[u8]) -> &[u8] {
    line.strip_suffix(b"\r").unwrap_or(line)
}
