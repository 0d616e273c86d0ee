//! One pass over a text: which terms are in it, how well, and how close together.

use super::blocks::begins_between;
use super::definition::is_definition;
use super::question::{Form, FormKind, MAX_TERMS, Question, Term};
use super::starts::Starts;
use super::words::{
    begins_part, follows_separator, is_ending, is_identifier, is_separator, part_end,
};
use crate::index::TrigramPlan;

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
/// Hits of one term in a text that are looked at. So many say as much as any number, and a text of
/// nothing but hits takes no longer than another.
const MAX_HITS: u16 = 4096;
/// Terms shorter than this are not looked for at the beginning of longer words.
const MIN_BEGINNING: usize = 4;

/// Finds the terms of a question in texts.
pub(super) struct Scanner {
    starts: Starts,
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
#[derive(Debug, Clone)]
pub(super) struct Findings {
    /// Per term, the qualities of its hits together.
    pub(super) hits: Vec<f32>,
    /// Per term, the same for names that are defined.
    pub(super) definitions: Vec<f32>,
    /// The functions, types and paragraphs with hits.
    pub(super) blocks: TextBlocks,
}

impl Findings {
    /// Those of a text with none of `terms` terms.
    pub(super) fn nothing(terms: usize) -> Findings {
        let none = vec![0.0; terms];
        Findings { hits: none.clone(), definitions: none, blocks: TextBlocks::default() }
    }
}

/// What each block of a text has of the terms, as pairs of a term and how often it is there. Blocks
/// follow each other; the terms of each are in order.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct TextBlocks {
    pairs: Vec<(u8, u8)>,
    /// Where the pairs of each block end.
    ends: Vec<u32>,
}

impl TextBlocks {
    fn push(&mut self, counts: &mut [u8], terms: &mut u32) {
        while *terms != 0 {
            let term = terms.trailing_zeros();
            *terms &= *terms - 1;
            let count = std::mem::take(&mut counts[term as usize]);
            self.pairs.push((u8::try_from(term).unwrap_or(u8::MAX), count));
        }
        self.ends.push(u32::try_from(self.pairs.len()).unwrap_or(u32::MAX));
    }

    /// The terms of each block with their counts.
    pub(super) fn iter(&self) -> impl Iterator<Item = &[(u8, u8)]> {
        let starts = std::iter::once(0).chain(self.ends.iter().map(|end| *end as usize));
        starts.zip(&self.ends).map(|(start, end)| &self.pairs[start..*end as usize])
    }
}

impl Scanner {
    /// `None` if there is nothing to look for.
    pub(super) fn new(question: &Question) -> Option<Scanner> {
        let terms = question.terms.clone();
        let forms = terms.iter().enumerate().flat_map(|(index, term)| {
            let forms = term.forms.iter().enumerate();
            forms.map(move |(place, form)| ((index, place), form.text.as_str()))
        });
        let starts = Starts::new(forms);
        (!terms.is_empty()).then_some(Scanner { starts, terms })
    }

    /// Per term, the plan for texts that can have it.
    pub(super) fn plans(&self) -> Vec<TrigramPlan> {
        let of_form = |form: &Form| TrigramPlan::all_of_words(&[form.text.as_bytes()]);
        let of_term = |term: &Term| TrigramPlan::any_of(term.forms.iter().map(of_form));
        self.terms.iter().map(of_term).collect()
    }

    /// Calls `visit` with all hits in a text, in the order of their starts.
    pub(super) fn each_hit(&self, text: &[u8], mut visit: impl FnMut(TermHit)) {
        let mut hits = [0_u16; MAX_TERMS];
        self.starts.each_place(text, |start, forms| {
            // What is looked for is never in the middle of a part.
            if !begins_part(text, start) {
                return;
            }
            for &(term, place) in forms {
                if hits[term] == MAX_HITS {
                    continue;
                }
                let form = &self.terms[term].forms[place];
                let end = start + form.text.len();
                let is_here = |there: &[u8]| there.eq_ignore_ascii_case(form.text.as_bytes());
                if text.get(start..end).is_some_and(is_here)
                    && let Some(quality) = quality(form, text, start, end)
                {
                    let is_definition = quality >= CLEAR && is_definition(text, start);
                    hits[term] += 1;
                    visit(TermHit { term, start, quality, is_definition });
                }
            }
        });
    }

    /// What `text` has of the terms; `None` if nothing.
    pub(super) fn scan(&self, text: &[u8]) -> Option<Findings> {
        let count = self.terms.len();
        let mut findings: Option<Findings> = None;
        let mut latest = 0;
        let mut counts = [0_u8; MAX_TERMS];
        let mut terms = 0_u32;
        self.each_hit(text, |hit| {
            let findings = findings.get_or_insert_with(|| Findings::nothing(count));
            findings.hits[hit.term] += hit.quality;
            if hit.is_definition {
                findings.definitions[hit.term] += hit.quality;
            }
            if hit.quality < CLEAR {
                return;
            }
            if terms != 0 && begins_between(text, latest, hit.start) {
                findings.blocks.push(&mut counts, &mut terms);
            }
            latest = latest.max(hit.start);
            counts[hit.term] = counts[hit.term].saturating_add(1);
            terms |= 1 << hit.term;
        });
        if let Some(findings) = findings.as_mut().filter(|_| terms != 0) {
            findings.blocks.push(&mut counts, &mut terms);
        }
        findings
    }
}

/// How well the text from `start`, where a part begins, to `end` is what `form` means; `None` if it is
/// something else.
fn quality(form: &Form, text: &[u8], start: usize, end: usize) -> Option<f32> {
    match &form.kind {
        FormKind::Compound { exactly } => {
            let ends = text.get(end).is_none_or(|_| part_end(text, end) == end);
            if !ends {
                return None;
            }
            let is_exact =
                exactly.as_ref().is_none_or(|exactly| exactly.as_bytes() == &text[start..end]);
            let case = if is_exact { 1.0 } else { OTHER_CASE };
            Some(form.weight * case * alone(text, start, end))
        }
        FormKind::Stem { word } => {
            let part_end = part_end(text, end);
            let rest = &text[end..part_end];
            if !is_ending(rest, text[end - 1]) {
                return (form.text.len() >= MIN_BEGINNING).then_some(form.weight * BEGINNING);
            }
            let is_exact = text[start..part_end].eq_ignore_ascii_case(word.as_bytes());
            let exactness = if is_exact { 1.0 } else { OTHER_FORM };
            Some(form.weight * exactness * alone(text, start, part_end))
        }
    }
}

/// 1 for an identifier of its own, less for a part of a larger one.
fn alone(text: &[u8], start: usize, end: usize) -> f32 {
    let is_part = start > 0 && is_identifier(text[start - 1]) && !follows_separator(text, start)
        || text.get(end).is_some_and(|&byte| is_identifier(byte)) && !is_separator(text, end);
    if is_part { PART } else { 1.0 }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::weights::RankingWeights;
    use super::*;

    fn question(query: &str, natural: bool) -> Question {
        Question::new(query, natural, &RankingWeights::default())
    }

    fn scanner(query: &str) -> Scanner {
        Scanner::new(&question(query, false)).unwrap()
    }

    fn first_quality(query: &str, text: &str) -> f32 {
        scanner(query).scan(text.as_bytes()).map_or(0.0, |findings| findings.hits[0])
    }

    #[test]
    fn whole_words_are_better_than_parts_and_those_than_letters() {
        let texts = ["execute", "execute_all", "executes_all", "executive", "preexecute"];
        let qualities: Vec<_> = texts.iter().map(|text| first_quality("execute", text)).collect();
        assert!(qualities.is_sorted_by(|a, b| a > b), "{qualities:?}");
        assert_eq!((qualities[0], qualities[4]), (1.0, 0.0));
    }

    #[test]
    fn words_of_scripts_without_spaces_are_found_wherever_they_stand() {
        for (query, text) in [
            ("検索", "// ファイルを検索する"),
            ("検索", "検索abc"),
            ("abc", "検索abc索"),
            ("검색", "파일을 검색합니다"),
            ("检索文件", "用于检索所有文件"),
        ] {
            assert!(first_quality(query, text) >= CLEAR, "{query} in {text}");
        }
        assert_eq!(first_quality("検索", "検査と索引"), 0.0);
    }

    #[test]
    fn punctuation_beyond_ascii_is_no_part_of_a_word() {
        for text in [
            "\u{FEFF}word",
            "“word”",
            "‘word’",
            "«word»",
            "see—word",
            "word…",
            "a→word→b",
            "•word",
            "a\u{A0}word",
            "a\u{200B}word",
            "，word。",
            "🦀word",
            "x≤word",
            "§word",
            "\u{202E}word",
        ] {
            assert_eq!(first_quality("word", text), 1.0, "{text}");
        }
        for text in ["éword", "wordé", "\u{200D}word", "d\u{F7}word"] {
            let is_letter = !text.contains('\u{F7}');
            assert_eq!(first_quality("word", text) < CLEAR, is_letter, "{text}");
        }
        let mut latin = b"d\xE9".to_vec();
        latin.extend(b"word");
        assert!(scanner("word").scan(&latin).is_none(), "a letter in Latin-1");
    }

    #[test]
    fn words_with_capitals_beyond_ascii_are_found_in_any_case() {
        for (query, text) in
            [("Über", "Über"), ("über", "ÜBER"), ("Größe", "GRÖßE"), ("война", "Война и мир")]
        {
            assert!(first_quality(query, text) >= CLEAR, "{query} in {text}");
        }
    }

    #[test]
    fn a_text_of_nothing_but_hits_is_looked_at_to_a_limit() {
        let text = "alpha ".repeat(3 * usize::from(MAX_HITS)) + "beta";
        let findings = scanner("alpha beta").scan(text.as_bytes()).unwrap();
        assert_eq!(findings.hits[..2], [f32::from(MAX_HITS), 1.0]);
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
    fn what_stands_in_one_block_is_counted_together() {
        let text = b"fn a() {\n    alpha(beta, beta);\n}\n\nfn b() {\n    alpha();\n}\n";
        let findings = scanner("alpha beta").scan(text).unwrap();
        let blocks: Vec<&[(u8, u8)]> = findings.blocks.iter().collect();
        assert_eq!(blocks, [&[(0, 1), (1, 2)][..], &[(0, 1)]]);
    }

    #[test]
    fn names_that_are_defined_are_noticed() {
        let findings = scanner("alpha").scan(b"fn alpha() {}\nalpha();\n").unwrap();
        assert_eq!((findings.hits[0], findings.definitions[0]), (2.0, 1.0));
    }

    proptest! {
        #[test]
        fn any_query_on_any_text_is_scanned(query in "\\PC{0,40}", text in "\\PC{0,200}") {
            if let Some(scanner) = Scanner::new(&question(&query, true)) {
                for text in [&text, &query] {
                    let Some(findings) = scanner.scan(text.as_bytes()) else { continue };
                    let terms = scanner.terms.len();
                    prop_assert_eq!((findings.hits.len(), findings.definitions.len()), (terms, terms));
                    let pairs = findings.definitions.iter().zip(&findings.hits);
                    prop_assert!(pairs.into_iter().all(|(defined, all)| 0.0 <= *defined && defined <= all));
                    prop_assert!(findings.hits.iter().any(|hits| *hits > 0.0), "{:?}", findings);
                    for block in findings.blocks.iter() {
                        prop_assert!(block.is_sorted_by(|a, b| a.0 < b.0) && !block.is_empty());
                        prop_assert!(block.iter().all(|(term, count)| usize::from(*term) < terms && *count > 0));
                    }
                }
            }
        }
    }
}
