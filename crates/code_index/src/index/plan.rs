//! Which trigrams a file must have to hold a match.
//!
//! A plan only ever narrows: a file that it does not admit holds no match. The reverse is for the
//! search to find out.

mod need;
mod piece;

use regex_syntax::ParserBuilder;

use super::extract::{small, trigrams_of};
pub(super) use need::Need;
use piece::Analysis;

/// What a question asks of the files that may answer it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TrigramPlan {
    /// Nothing: each file may hold a match.
    All,
    /// Some trigrams.
    Narrow(Narrow),
}

/// A plan that asks for trigrams.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Narrow {
    pub(super) need: Need,
    /// Whether files with a Kelvin sign or a long s may match without these trigrams.
    pub(super) folds: bool,
}

impl TrigramPlan {
    /// The plan of a regular expression, read as the text search reads it.
    ///
    /// `multi_line` is for searches whose matches may span lines; trigrams do not, so what
    /// surrounds a line break is not asked for. A pattern that does not parse has no plan: the
    /// search is where it is refused.
    pub fn of(pattern: &str, case_sensitive: bool, multi_line: bool) -> TrigramPlan {
        // The search engine wraps patterns in the same way, which matters for some broken ones.
        let wrapped = format!("(?:{pattern})");
        let parsed = ParserBuilder::new()
            .utf8(false)
            .unicode(true)
            .multi_line(true)
            .case_insensitive(!case_sensitive)
            .build()
            .parse(&wrapped);
        match parsed {
            Ok(hir) => {
                let mut analysis = Analysis::new(multi_line);
                let need = analysis.need(&hir);
                TrigramPlan::from_need(need, analysis.folds)
            }
            Err(_) => TrigramPlan::All,
        }
    }

    /// The plan for files in which each of `words` occurs somewhere, in any case.
    pub fn all_of_words(words: &[&[u8]]) -> TrigramPlan {
        let need = Need::every(words.iter().flat_map(|word| {
            let word: Vec<u8> = word.iter().map(|&byte| small(byte)).collect();
            trigrams_of(&word).collect::<Vec<_>>()
        }));
        TrigramPlan::from_need(need, false)
    }

    /// The plan for files that one of `plans` admits.
    pub fn any_of(plans: impl IntoIterator<Item = TrigramPlan>) -> TrigramPlan {
        let mut branches = Vec::new();
        let mut folds = false;
        for plan in plans {
            match plan {
                TrigramPlan::All => return TrigramPlan::All,
                TrigramPlan::Narrow(narrow) => {
                    folds |= narrow.folds;
                    branches.push(narrow.need);
                }
            }
        }
        TrigramPlan::from_need(Need::either(branches), folds)
    }

    fn from_need(need: Need, folds: bool) -> TrigramPlan {
        if need.is_free() { TrigramPlan::All } else { TrigramPlan::Narrow(Narrow { need, folds }) }
    }

    /// Whether it leaves out nothing.
    pub fn is_all(&self) -> bool {
        matches!(self, TrigramPlan::All)
    }

    /// Whether a text with these trigrams, in ascending order, may hold a match. `folds` is what
    /// the extractor said of it.
    pub fn admits(&self, trigrams: &[u32], folds: bool) -> bool {
        match self {
            TrigramPlan::All => true,
            TrigramPlan::Narrow(narrow) => {
                (narrow.folds && folds)
                    || narrow.need.holds(&|trigram| trigrams.binary_search(&trigram).is_ok())
            }
        }
    }
}

#[cfg(test)]
mod tests;
