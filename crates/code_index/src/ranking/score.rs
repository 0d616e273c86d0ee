//! From what files have of the terms to an order of files.
//!
//! The shape is BM25 over fields: a rare term says more than a common one, the tenth hit says less
//! than the first, and a hit in a name or a definition is worth several in the body.

use workspace::RelPath;

use super::question::Term;
use super::scan::{CLEAR, Findings};

/// How soon more hits in the body stop to matter.
const SATURATION: f32 = 1.4;
/// How much the length of a file matters: 0 is not at all.
const LENGTH: f32 = 0.45;
/// What fields are worth, where the body is worth 1.
const DEFINITION: f32 = 1.2;
const FILE_NAME: f32 = 1.3;
const DIRECTORY: f32 = 0.25;
/// How much of the worth of a file's name depends on the share of it that was asked for.
const NAME_SHARE: f32 = 0.5;
/// How much it is worth that all terms stand in one line, or close together.
const SAME_LINE: f32 = 0.4;
const SAME_WINDOW: f32 = 0.3;
/// How much a file loses that lacks some of the terms: the exponent of the share it has.
const COVERAGE: f32 = 1.0;
/// The least that is left to a file that has nothing but letters.
const MIN_SHARE: f32 = 0.05;

/// What is kept of a file until all have been looked at.
#[derive(Debug, Clone)]
pub(super) struct FileFindings {
    pub(super) path: RelPath,
    pub(super) length: u32,
    pub(super) standing: f32,
    pub(super) body: Findings,
    /// Per term, the qualities of hits in the file's name and in those of its directories.
    pub(super) in_name: Vec<f32>,
    pub(super) in_directories: Vec<f32>,
    /// The share of the file's name that was asked for.
    pub(super) name_share: f32,
}

/// What is known about all files together.
pub(super) struct Weights {
    /// Per term, what finding it says.
    pub(super) rarity: Vec<f32>,
    needed: f32,
    average_length: f32,
}

impl Weights {
    /// `all_files` counts also those without any hit.
    pub(super) fn new(terms: &[Term], files: &[FileFindings], all_files: u64) -> Weights {
        let count = (all_files.max(files.len() as u64)) as f32;
        let rarity = terms.iter().enumerate().map(|(index, term)| {
            let having = files.iter().filter(|file| file.has(index)).count() as f32;
            term.weight * (1.0 + (count - having + 0.5) / (having + 0.5)).ln()
        });
        let rarity: Vec<f32> = rarity.collect();
        let needed = sum_where(&rarity, |index| terms[index].is_needed);
        let lengths: f32 = files.iter().map(|file| file.length as f32).sum();
        Weights { rarity, needed, average_length: (lengths / files.len().max(1) as f32).max(1.0) }
    }

    /// How well a file answers.
    pub(super) fn score(&self, terms: &[Term], file: &FileFindings) -> f32 {
        let relative = file.length as f32 / self.average_length;
        let length = 1.0 - LENGTH + LENGTH * relative;
        let mut score = 0.0;
        let name = FILE_NAME * (1.0 - NAME_SHARE + NAME_SHARE * file.name_share);
        for (index, rarity) in self.rarity.iter().enumerate() {
            let body = file.body.hits[index] / length;
            let definitions = file.body.definitions[index];
            score += rarity
                * (body / (body + SATURATION)
                    + DEFINITION * definitions / (definitions + 1.0)
                    + name * file.in_name[index].min(1.0)
                    + DIRECTORY * file.in_directories[index].min(1.0));
        }
        if self.needed <= 0.0 {
            return score * file.standing;
        }
        let needed = |index: usize| terms[index].is_needed;
        let has = sum_where(&self.rarity, |index| needed(index) && file.has(index));
        let share = |sets: &[u32]| {
            let shares = sets.iter().filter(|set| set.count_ones() > 1).map(|set| {
                sum_where(&self.rarity, |index| needed(index) && set & (1 << index) != 0)
            });
            shares.fold(0.0, f32::max) / self.needed
        };
        let close =
            1.0 + SAME_LINE * share(&file.body.in_line) + SAME_WINDOW * share(&file.body.in_window);
        score * (has / self.needed).max(MIN_SHARE).powf(COVERAGE) * close * file.standing
    }
}

impl FileFindings {
    /// Whether the term is there as a word, not just as letters.
    fn has(&self, term: usize) -> bool {
        self.body.hits[term] >= CLEAR
            || self.in_name[term] >= CLEAR
            || self.in_directories[term] >= CLEAR
    }
}

fn sum_where(rarity: &[f32], wanted: impl Fn(usize) -> bool) -> f32 {
    rarity.iter().enumerate().filter(|(index, _)| wanted(*index)).map(|(_, rarity)| rarity).sum()
}
