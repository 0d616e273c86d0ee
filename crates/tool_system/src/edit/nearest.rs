//! The places in a file that are most like a text, found with bounded work.

use std::collections::HashMap;
use std::ops::Range;

use protocol::{CommonRun, common_runs};

use super::endings::{align, whole_lines};
use super::grade::fold_lookalikes;
use super::line_map::LineMap;

/// How many places are returned.
const MAX_CANDIDATES: usize = 3;
/// Less alike than this is not worth showing.
const MIN_SIMILARITY: f64 = 0.4;
/// Lines of the file beyond this are not looked at.
const MAX_FILE_LINES: usize = 50_000;
/// Lines of the searched text beyond this are not looked at.
const MAX_SEARCH_LINES: usize = 400;
/// Characters of a line beyond this are not compared.
const MAX_LINE_CHARS: usize = 200;
/// How many places are compared in full.
const MAX_COMPARED_PLACES: usize = 12;
/// How many differing lines of one place are compared character by character.
const MAX_COMPARED_LINES: usize = 40;
/// How many occurrences of one line of the text each line of the file is counted for.
const MAX_VOTES_PER_LINE: usize = 8;
/// A line of a text counts for more the longer it is, up to this length.
const MAX_LINE_WEIGHT: usize = 40;

/// A place that is like the text.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Near {
    pub(super) span: Range<usize>,
    pub(super) similarity: f64,
}

/// The nearest places, best first, and remarks on how they were searched.
#[derive(Debug, Default)]
pub(super) struct Nearest {
    pub(super) candidates: Vec<Near>,
    pub(super) notes: Vec<String>,
}

/// The places that are most like `search`.
pub(super) fn nearest(map: &LineMap<'_>, search: &str) -> Nearest {
    let mut asked = whole_lines(search);
    asked.truncate(MAX_SEARCH_LINES);
    let mut notes = Vec::new();
    if map.len() > MAX_FILE_LINES {
        notes
            .push(format!("Only the first {MAX_FILE_LINES} lines were searched for similar text."));
    }
    let mut compared: Vec<Near> = starts(map, &asked)
        .into_iter()
        .map(|start| compare(map, &asked, start, search.ends_with('\n')))
        .filter(|near| near.similarity >= MIN_SIMILARITY)
        .collect();
    compared.sort_by(|left, right| {
        right.similarity.total_cmp(&left.similarity).then(left.span.start.cmp(&right.span.start))
    });
    let mut candidates: Vec<Near> = Vec::new();
    for near in compared {
        let apart = |chosen: &Near| {
            chosen.span.end <= near.span.start || near.span.end <= chosen.span.start
        };
        if candidates.len() < MAX_CANDIDATES && candidates.iter().all(apart) {
            candidates.push(near);
        }
    }
    Nearest { candidates, notes }
}

/// A line as it is compared here: without indentation and typography.
fn key(line: &[u8]) -> Vec<u8> {
    let line = &line[..line.len().min(MAX_LINE_CHARS * 4)];
    fold_lookalikes(line).trim_ascii().to_vec()
}

/// First lines of places worth comparing: where lines of the text stand, and where its most telling
/// line has a similar one.
fn starts(map: &LineMap<'_>, asked: &[&[u8]]) -> Vec<usize> {
    let keys: Vec<Vec<u8>> = asked.iter().map(|line| key(line)).collect();
    let lines = map.len().min(MAX_FILE_LINES);
    let mut votes: HashMap<usize, usize> = HashMap::new();
    let mut by_key: HashMap<&[u8], Vec<usize>> = HashMap::new();
    for (at, key) in keys.iter().enumerate().filter(|(_, key)| !key.is_empty()) {
        by_key.entry(key).or_default().push(at);
    }
    let Some(probe) = (0..keys.len()).max_by_key(|at| keys[*at].len()) else { return Vec::new() };
    let grams = Bigrams::of(&keys[probe]);
    let mut alike: Vec<(usize, usize)> = Vec::new();
    for line in 0..lines {
        let key = key(map.content(line));
        for at in by_key.get(key.as_slice()).into_iter().flatten().take(MAX_VOTES_PER_LINE) {
            *votes.entry(line.saturating_sub(*at)).or_default() += key.len().min(MAX_LINE_WEIGHT);
        }
        alike.push((grams.shared(&key), line.saturating_sub(probe)));
    }
    let mut voted: Vec<(usize, usize)> =
        votes.into_iter().map(|(start, votes)| (votes, start)).collect();
    let best_first = |places: &mut Vec<(usize, usize)>| {
        places.sort_by(|left, right| right.0.cmp(&left.0).then(left.1.cmp(&right.1)));
        places.truncate(MAX_COMPARED_PLACES / 2);
    };
    best_first(&mut voted);
    best_first(&mut alike);
    let mut starts: Vec<usize> = voted.into_iter().chain(alike).map(|(_, start)| start).collect();
    starts.sort_unstable();
    starts.dedup();
    starts
}

/// The pairs of neighbouring bytes in a text, regardless of case.
struct Bigrams {
    present: Vec<bool>,
    count: usize,
}

impl Bigrams {
    fn of(text: &[u8]) -> Self {
        let mut present = vec![false; 1 << 16];
        for at in Self::indices(text) {
            present[at] = true;
        }
        Self { present, count: text.len().saturating_sub(1) }
    }

    fn indices(text: &[u8]) -> impl Iterator<Item = usize> {
        text.windows(2).map(|pair| {
            usize::from(pair[0].to_ascii_lowercase()) << 8
                | usize::from(pair[1].to_ascii_lowercase())
        })
    }

    /// How much of `text` is in these pairs, in thousandths of both lengths.
    fn shared(&self, text: &[u8]) -> usize {
        let shared = Self::indices(text).filter(|at| self.present[*at]).count();
        // A fragment of a long line counts as if the line were no longer than twice the fragment.
        let length = text.len().saturating_sub(1).min(self.count * 2);
        shared.min(self.count) * 2 * 1000 / (self.count + length).max(1)
    }
}

/// Compares the text with the lines from `start` on, as many as fit best.
fn compare(map: &LineMap<'_>, asked: &[&[u8]], start: usize, ended: bool) -> Near {
    if let [line] = asked {
        return compare_line(map, line, start, ended);
    }
    let asked: Vec<Vec<u8>> = asked.iter().map(|line| key(line)).collect();
    let slack = (asked.len() / 2 + 2).min(10);
    let end = (start + asked.len() + slack).min(map.len());
    let file: Vec<Vec<u8>> = (start..end).map(|line| key(map.content(line))).collect();
    let asked_keys: Vec<&[u8]> = asked.iter().map(Vec::as_slice).collect();
    let file_keys: Vec<&[u8]> = file.iter().map(Vec::as_slice).collect();
    let aligned = align(&file_keys, &asked_keys);
    let head = aligned[0].unwrap_or(0);
    let tail = match aligned[asked.len() - 1] {
        Some(last) => last + 1,
        None => (head + asked.len()).min(file.len()),
    };
    let window = &file_keys[head..tail.max(head + 1)];
    let similarity = similarity(&asked_keys, window);
    let last = map.span(start + head + window.len() - 1);
    let end = if ended { last.end } else { last.content_end };
    Near { span: map.span(start + head).start..end, similarity }
}

/// How much of two runs of lines is the same, from 0 to 1.
fn similarity(asked: &[&[u8]], file: &[&[u8]]) -> f64 {
    let size = |lines: &[&[u8]]| lines.iter().map(|line| line.len() + 1).sum::<usize>();
    let mut same = 0.0;
    let mut compared = 0;
    let mut next = 0;
    for (line, kept) in asked.iter().zip(align(file, asked)) {
        if let Some(kept) = kept {
            same += (line.len() + 1) as f64;
            next = kept + 1;
        } else if let Some(other) = file.get(next).filter(|_| compared < MAX_COMPARED_LINES) {
            let ratio = char_diff(line, other).ratio;
            same += ratio * (line.len() + other.len() + 2) as f64 / 2.0;
            compared += 1;
            next += 1;
        }
    }
    (2.0 * same / (size(asked) + size(file)).max(1) as f64).min(1.0)
}

struct CharDiff {
    ratio: f64,
    common: Vec<CommonRun>,
    asked: Vec<char>,
}

fn char_diff(asked: &[u8], file: &[u8]) -> CharDiff {
    let chars = |line: &[u8]| -> Vec<char> {
        String::from_utf8_lossy(line).chars().take(MAX_LINE_CHARS).collect()
    };
    let (asked, file) = (chars(asked), chars(file));
    let common = common_runs(&asked, &file);
    let same: usize = common.iter().map(|run| run.len).sum();
    let ratio = 2.0 * same as f64 / (asked.len() + file.len()).max(1) as f64;
    CharDiff { ratio, common, asked }
}

/// Compares a single line, or a part of one, with the part of the file's line that is most like it.
fn compare_line(map: &LineMap<'_>, asked: &[u8], line: usize, ended: bool) -> Near {
    let span = map.span(line);
    let content = map.content(line);
    let whole = if ended { span.start..span.end } else { span.start..span.content_end };
    let diff = char_diff(asked, content);
    let near = Near { span: whole, similarity: diff.ratio };
    if ended || content.len() <= asked.len() {
        return near;
    }
    let Some((from, to)) = common_extent(&diff.common) else { return near };
    let from = from.file.saturating_sub(from.asked);
    let to = to.file + (diff.asked.len() - to.asked);
    let Ok(text) = std::str::from_utf8(content) else { return near };
    let offset = |chars: usize| text.char_indices().nth(chars).map_or(text.len(), |(at, _)| at);
    let part = offset(from)..offset(to);
    let similarity = char_diff(asked, &content[part.clone()]).ratio;
    Near { span: span.start + part.start..span.start + part.end, similarity }
}

/// A position in both of two texts.
struct Position {
    asked: usize,
    file: usize,
}

/// Where the common parts of two texts begin and end.
fn common_extent(common: &[CommonRun]) -> Option<(Position, Position)> {
    let (first, last) = (common.first()?, common.last()?);
    let begin = Position { asked: first.old, file: first.new };
    Some((begin, Position { asked: last.old + last.len, file: last.new + last.len }))
}
