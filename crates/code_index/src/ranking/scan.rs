//! One pass over a text: which terms are in it, how well, and how close together.

use aho_corasick::{AhoCorasick, AhoCorasickKind, MatchKind};

use super::definition::is_definition;
use super::question::{Form, FormKind, Question, Term};
use super::words::{begins_part, is_ending, is_identifier, part_end};
use crate::index::TrigramPlan;

/// A hit in the middle of a word, as `path` in `filepath`.
const INSIDE: f32 = 0.15;
/// A hit that begins a longer word, as `auth` in `author`.
const BEGINNING: f32 = 0.25;
/// A word in another form than asked for.
const OTHER_FORM: f32 = 0.8;
/// A part of an identifier, against an identifier of its own.
const PART: f32 = 0.8;
/// An identifier in another case or joined in another way than asked for.
const OTHER_CASE: f32 = 0.7;
/// Hits from this quality on make a file one that has the term.
pub(super) const CLEAR: f32 = 0.5;
/// Terms shorter than this are not looked for inside of words.
const MIN_INSIDE: usize = 4;
/// Lines within which terms count as close to each other.
const WINDOW: u32 = 6;
/// How many sets of terms that stand together are kept per file.
const MAX_SETS: usize = 4;

/// Finds the terms of a question in texts.
pub(super) struct Scanner {
    automaton: AhoCorasick,
    /// For each form of the automaton, its term and its place among the term's forms.
    forms: Vec<(usize, usize)>,
    pub(super) terms: Vec<Term>,
}

/// A place where a term stands.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct TermHit {
    pub(super) term: usize,
    pub(super) start: usize,
    pub(super) quality: f32,
    pub(super) is_definition: bool,
}

/// What a text has of the terms.
#[derive(Debug, Clone, Default)]
pub(super) struct Findings {
    /// Per term, the qualities of its hits together.
    pub(super) hits: Vec<f32>,
    /// Per term, the same for names that are defined.
    pub(super) definitions: Vec<f32>,
    /// Sets of terms that stand in one line, one bit for each.
    pub(super) in_line: Vec<u32>,
    /// Sets of terms that stand within a few lines.
    pub(super) in_window: Vec<u32>,
}

impl Scanner {
    /// `None` if there is nothing to look for.
    pub(super) fn new(question: &Question) -> Option<Scanner> {
        let terms = question.terms.clone();
        let mut forms = Vec::new();
        let mut texts = Vec::new();
        for (index, term) in terms.iter().enumerate() {
            for (place, form) in term.forms.iter().enumerate() {
                forms.push((index, place));
                texts.push(form.text.as_str());
            }
        }
        if texts.is_empty() {
            return None;
        }
        // Deterministic automata are the fastest; queries are far too small for their size to matter.
        let automaton = AhoCorasick::builder()
            .ascii_case_insensitive(true)
            .match_kind(MatchKind::Standard)
            .kind(Some(AhoCorasickKind::DFA))
            .build(texts)
            .ok()?;
        Some(Scanner { automaton, forms, terms })
    }

    /// The plan for texts that have anything of the terms.
    pub(super) fn plan(&self) -> TrigramPlan {
        let forms = self.terms.iter().flat_map(|term| &term.forms);
        TrigramPlan::any_of(forms.map(|form| TrigramPlan::all_of_words(&[form.text.as_bytes()])))
    }

    /// All hits in a text, in the order of their ends.
    pub(super) fn hits<'a>(&'a self, text: &'a [u8]) -> impl Iterator<Item = TermHit> + 'a {
        self.automaton.find_overlapping_iter(text).filter_map(|found| {
            let (term, place) = self.forms[found.pattern().as_usize()];
            let form = &self.terms[term].forms[place];
            let quality = quality(form, text, found.start(), found.end())?;
            let is_definition = quality >= CLEAR && is_definition(text, found.start());
            Some(TermHit { term, start: found.start(), quality, is_definition })
        })
    }

    /// What `text` has of the terms; `None` if nothing.
    pub(super) fn scan(&self, text: &[u8]) -> Option<Findings> {
        let count = self.terms.len();
        let mut findings: Option<Findings> = None;
        let mut lines = LineCounter::default();
        // The line after the latest one where the term stood; 0 if there is none.
        let mut latest = [0_u32; 32];
        for hit in self.hits(text) {
            let findings = findings.get_or_insert_with(|| Findings {
                hits: vec![0.0; count],
                definitions: vec![0.0; count],
                ..Findings::default()
            });
            findings.hits[hit.term] += hit.quality;
            if hit.is_definition {
                findings.definitions[hit.term] += hit.quality;
            }
            if hit.quality < CLEAR {
                continue;
            }
            let line = lines.line_of(text, hit.start);
            latest[hit.term] = line;
            let set_since = |first: u32| {
                let near = |term: &usize| latest[*term] >= first.max(1);
                (0..count).filter(near).fold(0_u32, |set, term| set | 1 << term)
            };
            keep(&mut findings.in_line, set_since(line));
            keep(&mut findings.in_window, set_since(line.saturating_sub(WINDOW)));
        }
        findings
    }
}

/// Keeps the sets that are part of no other.
fn keep(sets: &mut Vec<u32>, new: u32) {
    if sets.iter().any(|set| set & new == new) {
        return;
    }
    sets.retain(|set| new & set != *set);
    if sets.len() < MAX_SETS {
        sets.push(new);
    } else if let Some(smallest) = sets.iter_mut().min_by_key(|set| set.count_ones())
        && smallest.count_ones() < new.count_ones()
    {
        *smallest = new;
    }
}

/// How well the text from `start` to `end` is what `form` means; `None` if it is something else.
fn quality(form: &Form, text: &[u8], start: usize, end: usize) -> Option<f32> {
    let begins = begins_part(text, start);
    match &form.kind {
        FormKind::Compound { exactly } => {
            let ends = text.get(end).is_none_or(|_| part_end(text, end) == end);
            if !begins || !ends {
                return None;
            }
            let is_exact =
                exactly.as_ref().is_none_or(|exactly| exactly.as_bytes() == &text[start..end]);
            let case = if is_exact { 1.0 } else { OTHER_CASE };
            Some(form.weight * case * alone(text, start, end))
        }
        FormKind::Stem { word } => {
            if !begins {
                return (form.text.len() >= MIN_INSIDE).then_some(form.weight * INSIDE);
            }
            let part_end = part_end(text, end);
            let rest = &text[end..part_end];
            if !is_ending(rest, text[end - 1]) {
                return (form.text.len() >= MIN_INSIDE).then_some(form.weight * BEGINNING);
            }
            let is_exact = text[start..part_end].eq_ignore_ascii_case(word.as_bytes());
            let exactness = if is_exact { 1.0 } else { OTHER_FORM };
            Some(form.weight * exactness * alone(text, start, part_end))
        }
    }
}

/// 1 for an identifier of its own, less for a part of a larger one.
fn alone(text: &[u8], start: usize, end: usize) -> f32 {
    let is_part = start > 0 && is_identifier(text[start - 1])
        || text.get(end).is_some_and(|&byte| is_identifier(byte));
    if is_part { PART } else { 1.0 }
}

/// Counts lines on the way through a text. Positions that go back a little are in the same line or
/// close to it, which is near enough.
#[derive(Default)]
struct LineCounter {
    position: usize,
    line: u32,
}

impl LineCounter {
    fn line_of(&mut self, text: &[u8], position: usize) -> u32 {
        if position > self.position {
            let passed = &text[self.position..position];
            self.line += u32::try_from(memchr::memchr_iter(b'\n', passed).count()).unwrap_or(0);
            self.position = position;
        }
        self.line + 1
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn scanner(query: &str) -> Scanner {
        Scanner::new(&Question::new(query, false)).unwrap()
    }

    fn first_quality(query: &str, text: &str) -> f32 {
        scanner(query).scan(text.as_bytes()).map_or(0.0, |findings| findings.hits[0])
    }

    #[test]
    fn whole_words_are_better_than_parts_and_those_than_letters() {
        let texts = ["execute", "execute_all", "executes_all", "executive", "preexecute", "other"];
        let qualities: Vec<_> = texts.iter().map(|text| first_quality("execute", text)).collect();
        assert!(qualities.is_sorted_by(|a, b| a > b), "{qualities:?}");
        assert_eq!((qualities[0], qualities[5]), (1.0, 0.0));
    }

    #[test]
    fn an_identifier_is_best_as_it_was_written() {
        let compound = |text: &str| {
            let scanner = scanner("ToolExecutor");
            scanner.scan(text.as_bytes()).map_or(0.0, |findings| findings.hits[2])
        };
        assert_eq!(compound("x ToolExecutor y"), 1.0);
        assert!(compound("tool_executor") < 1.0 && compound("tool_executor") > 0.0);
        assert!(compound("MyToolExecutor") < 1.0 && compound("MyToolExecutor") > 0.0);
        assert_eq!(compound("toolexecutors"), 0.0);
    }

    #[test]
    fn terms_that_stand_together_are_noticed() {
        let scanner = scanner("alpha beta");
        let findings = scanner.scan(b"alpha\nbeta\n").unwrap();
        assert_eq!((findings.in_line, findings.in_window), (vec![0b01, 0b10], vec![0b11]));
        let text = format!("alpha{}beta", "\n".repeat(40));
        assert_eq!(scanner.scan(text.as_bytes()).unwrap().in_window, [0b01, 0b10]);
    }

    #[test]
    fn names_that_are_defined_are_noticed() {
        let findings = scanner("alpha").scan(b"fn alpha() {}\nalpha();\n").unwrap();
        assert_eq!((findings.hits[0], findings.definitions[0]), (2.0, 1.0));
    }

    proptest! {
        #[test]
        fn any_query_on_any_text_is_scanned(query in "\\PC{0,40}", text in "\\PC{0,200}") {
            if let Some(scanner) = Scanner::new(&Question::new(&query, true)) {
                for text in [&text, &query] {
                    let Some(findings) = scanner.scan(text.as_bytes()) else { continue };
                    let terms = scanner.terms.len();
                    prop_assert_eq!((findings.hits.len(), findings.definitions.len()), (terms, terms));
                    let pairs = findings.definitions.iter().zip(&findings.hits);
                    prop_assert!(pairs.into_iter().all(|(defined, all)| 0.0 <= *defined && defined <= all));
                    prop_assert!(findings.hits.iter().any(|hits| *hits > 0.0), "{:?}", findings);
                    let sets = findings.in_line.iter().chain(&findings.in_window);
                    prop_assert!(sets.into_iter().all(|set| *set > 0 && u64::from(*set) < 1 << terms));
                }
            }
        }
    }
}
