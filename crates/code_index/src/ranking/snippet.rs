//! The lines of a file that answer best.

use std::collections::BTreeMap;

use super::enclosing::{Enclosing, enclosing};
use super::scan::Scanner;
use crate::excerpt::excerpt;

/// A definition against any other line.
const DEFINITION: f32 = 3.0;
/// Each further hit of a term in the same lines.
const REPEATED: f32 = 0.1;

/// Lines of a file with their numbers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Snippet {
    /// The line that answers best, from 1.
    pub best: u64,
    /// The number of the first line, from 1.
    pub first: u64,
    pub lines: Vec<String>,
    /// The function or type around the best line, if it is in one.
    pub within: Option<Enclosing>,
}

/// The `height` lines around the best of `text`, by terms weighed with `rarity`.
pub(super) fn snippet(
    scanner: &Scanner,
    rarity: &[f32],
    text: &[u8],
    height: usize,
    max_line_chars: usize,
) -> Snippet {
    let starts: Vec<usize> =
        std::iter::once(0).chain(memchr::memchr_iter(b'\n', text).map(|end| end + 1)).collect();
    let line_of = |position: usize| starts.partition_point(|&start| start <= position) - 1;
    // Per line with hits, what each term is worth there.
    let mut by_line: BTreeMap<usize, Vec<f32>> = BTreeMap::new();
    // Per line, its best hit: what it is worth and where it is. A line that is too long is shown there.
    let mut focus: BTreeMap<usize, (f32, usize)> = BTreeMap::new();
    scanner.each_hit(text, |hit| {
        let kind = if hit.is_definition { DEFINITION } else { 1.0 };
        let worth = rarity[hit.term] * hit.quality * kind;
        let number = line_of(hit.start);
        let line = by_line.entry(number).or_insert_with(|| vec![0.0; rarity.len()]);
        line[hit.term] = line[hit.term].max(worth) + REPEATED * line[hit.term].min(worth);
        let known = focus.entry(number).or_insert((worth, hit.start));
        if worth > known.0 {
            *known = (worth, hit.start);
        }
    });
    let height = height.max(1);
    // One line of context comes before the first hit.
    let lead = usize::from(height > 2);
    let worth_from = |first: usize| {
        let window = by_line.range(first..first + height - lead);
        let best = window.fold(vec![0.0_f32; rarity.len()], |best, (_, line)| {
            best.iter().zip(line).map(|(a, b)| a.max(*b) + REPEATED * a.min(*b)).collect()
        });
        best.iter().sum::<f32>()
    };
    let best = |best: (usize, f32), next: (usize, f32)| if next.1 > best.1 { next } else { best };
    let windows = by_line.keys().map(|&line| (line, worth_from(line)));
    let first_hit = windows.fold((0, -1.0), best).0;
    let shown = by_line.range(first_hit..first_hit + height - lead);
    let shown = shown.map(|(&line, worths)| (line, worths.iter().sum()));
    let best_line = shown.fold((0, -1.0), best).0;
    let all = if text.ends_with(b"\n") { starts.len() - 1 } else { starts.len() };
    let first = first_hit.saturating_sub(lead);
    let last = (first + height).min(all);
    let line = |index: usize| {
        let end = starts.get(index + 1).copied().unwrap_or(text.len());
        let at = focus.get(&index).map_or(0, |(_, at)| at - starts[index]);
        excerpt(&text[starts[index]..end], at, max_line_chars)
    };
    Snippet {
        best: best_line as u64 + 1,
        first: first as u64 + 1,
        lines: (first..last).map(line).collect(),
        within: enclosing(text, &starts[..all.max(1)], best_line.min(all.saturating_sub(1))),
    }
}

#[cfg(test)]
mod tests {
    use super::super::question::Question;
    use super::super::weights::RankingWeights;
    use super::*;

    fn shown(query: &str, text: &str, height: usize) -> Snippet {
        let scanner =
            Scanner::new(&Question::new(query, false, &RankingWeights::default())).unwrap();
        let rarity = vec![1.0; scanner.terms.len()];
        snippet(&scanner, &rarity, text.as_bytes(), height, 80)
    }

    #[test]
    fn the_lines_with_most_of_the_query_are_shown() {
        let text = "alpha\n\n\n\n\n\n\nx\nalpha y\nbeta\nz\n\n\n\nbeta\n";
        let found = shown("alpha beta", text, 4);
        assert_eq!((found.first, found.best), (8, 9));
        assert_eq!(found.lines, ["x", "alpha y", "beta", "z"]);
    }

    #[test]
    fn a_definition_comes_before_its_uses() {
        let text = "alpha();\nalpha();\n\n\n\n\n\nfn alpha() {\n}\n";
        assert_eq!(shown("alpha", text, 3).best, 8);
    }

    #[test]
    fn a_long_line_is_shown_where_its_best_hit_is() {
        let text = format!("x\n{}fn alpha() {{}}{}\ny\n", "a.b;".repeat(500), "c.d;".repeat(500));
        let found = shown("alpha", &text, 3);
        assert_eq!(found.best, 2);
        assert!(found.lines[1].contains("fn alpha()"), "{:?}", found.lines);
        assert!(found.lines[1].chars().count() < 100, "{:?}", found.lines);
    }

    #[test]
    fn a_file_without_a_hit_shows_its_beginning() {
        let found = shown("alpha", "one\ntwo\nthree", 2);
        assert_eq!((found.first, found.best, found.lines.len()), (1, 1, 2));
        assert_eq!(shown("alpha", "", 2).lines, [""]);
    }
}
