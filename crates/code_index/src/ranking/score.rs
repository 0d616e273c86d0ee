//! From what files have of the terms to an order of files.
//!
//! The shape is BM25 over fields: a rare term says more than a common one, the tenth hit says less
//! than the first, and a hit in a name or a definition is worth several in the body. What stands in
//! one block counts once more, so that a file whose hits belong together comes before one that has
//! them here and there.

use workspace::RelPath;

use super::in_path::InPath;
use super::question::Term;
use super::scan::{CLEAR, Findings};
use super::standing::Standing;
use super::weights::RankingWeights;

/// How soon more definitions with a term stop to matter.
const DEFINITION_SATURATION: f32 = 2.0;
/// The same for hits in one block.
const BLOCK_SATURATION: f32 = 1.0;
/// The least that is left to a file that has nothing but beginnings of words.
const MIN_SHARE: f32 = 0.05;

/// What is kept of a file until all have been looked at.
#[derive(Debug, Clone)]
pub(super) struct FileFindings {
    pub(super) path: RelPath,
    pub(super) length: u32,
    pub(super) standing: Standing,
    pub(super) body: Findings,
    pub(super) in_path: InPath,
}

/// What is known about all files together.
#[derive(Debug, Clone)]
pub(super) struct Scoring {
    /// Per term, what finding it says.
    pub(super) rarity: Vec<f32>,
    weights: RankingWeights,
    /// The terms that a file should have, one bit each, and what they say together.
    needed: u32,
    needed_rarity: f32,
    average_length: f32,
}

/// What is known of the files that may answer.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct AllFiles {
    /// Per term, how many files have it.
    pub(super) having: Vec<f32>,
    /// Of those that have any of the terms.
    pub(super) average_length: f32,
}

impl AllFiles {
    /// Counted in the files that have anything, which are all of them.
    pub(super) fn counted(terms: usize, files: &[FileFindings]) -> AllFiles {
        let having = |term: usize| files.iter().filter(|file| file.has(term)).count() as f32;
        let length: f32 = files.iter().map(|file| file.length as f32).sum();
        AllFiles {
            having: (0..terms).map(having).collect(),
            average_length: length / files.len().max(1) as f32,
        }
    }
}

/// What it says that a file has a term which `having` of `all` files have.
pub(super) fn rarity(all: f32, having: f32) -> f32 {
    (1.0 + (all - having + 0.5).max(0.0) / (having + 0.5)).ln()
}

impl Scoring {
    /// Of `all` files, of which `known` says more.
    pub(super) fn new(
        weights: RankingWeights,
        terms: &[Term],
        all: u64,
        known: &AllFiles,
    ) -> Scoring {
        let rarity_of =
            |(index, term): (usize, &Term)| term.weight * rarity(all as f32, known.having[index]);
        let rarity: Vec<f32> = terms.iter().enumerate().map(rarity_of).collect();
        let is_needed = |index: &usize| terms[*index].is_needed;
        let needed = (0..terms.len()).filter(is_needed).fold(0, |set, index| set | 1 << index);
        let needed_rarity = (0..terms.len()).filter(is_needed).map(|index| rarity[index]).sum();
        let average_length = known.average_length.max(1.0);
        Scoring { rarity, weights, needed, needed_rarity, average_length }
    }

    /// How well a file answers.
    pub(super) fn score(&self, file: &FileFindings) -> f32 {
        let weights = &self.weights;
        let relative = file.length as f32 / self.average_length;
        let length = 1.0 - weights.length + weights.length * relative;
        let name = weights.file_name * file.in_path.name_share;
        let mut score = 0.0;
        let mut has = 0.0;
        for (index, rarity) in self.rarity.iter().enumerate() {
            let body = file.body.hits[index] / length;
            let definitions = file.body.definitions[index];
            score += rarity
                * (body / (body + weights.saturation)
                    + weights.definition * definitions / (definitions + DEFINITION_SATURATION)
                    + name * file.in_path.in_name[index].min(1.0));
            if self.needed & (1 << index) != 0 && file.has(index) {
                has += rarity;
            }
        }
        score += weights.block * self.best_block(&file.body);
        if self.needed_rarity > 0.0 {
            score *= (has / self.needed_rarity).max(MIN_SHARE).powf(weights.coverage);
        }
        score * file.standing.factor(weights)
    }

    /// What the block with most of the terms says.
    fn best_block(&self, body: &Findings) -> f32 {
        let worth = |block: &[(u8, u8)]| {
            let of_term = |(term, count): &(u8, u8)| {
                let count = f32::from(*count);
                self.rarity[usize::from(*term)] * count / (count + BLOCK_SATURATION)
            };
            block.iter().map(of_term).sum::<f32>()
        };
        body.blocks.iter().map(worth).fold(0.0, f32::max)
    }
}

impl FileFindings {
    /// Whether the term is there as a word, not just as letters.
    pub(super) fn has(&self, term: usize) -> bool {
        self.body.hits[term] >= CLEAR
            || self.in_path.in_name[term] >= CLEAR
            || self.in_path.in_directories[term] >= CLEAR
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::question::Question;
    use super::super::scan::Scanner;
    use super::*;

    /// Paths with texts.
    type Files<'a> = [(&'a str, &'a str); 3];

    /// The scores of texts by path.
    fn scores(query: &str, files: &[(&str, &str)]) -> Vec<f32> {
        let weights = RankingWeights::default();
        let question = Question::new(query, false, &weights);
        let scanner = Scanner::new(&question).unwrap();
        let none = || Findings::nothing(scanner.terms.len());
        let found: Vec<FileFindings> = files
            .iter()
            .map(|(path, text)| FileFindings {
                path: RelPath::parse(path).unwrap(),
                length: u32::try_from(text.len()).unwrap(),
                standing: Standing::of(path.as_bytes(), text.as_bytes(), &question.asks_for),
                body: scanner.scan(text.as_bytes()).unwrap_or_else(none),
                in_path: InPath::new(&scanner, path.as_bytes()),
            })
            .collect();
        let known = AllFiles::counted(scanner.terms.len(), &found);
        let scoring = Scoring::new(weights, &scanner.terms, found.len() as u64, &known);
        found.iter().map(|file| scoring.score(file)).collect()
    }

    #[test]
    fn the_better_file_comes_first() {
        let common = "request response user state\n".repeat(400);
        let table: [(&str, &str, Files<'_>); 6] = [
            (
                "a small file with the rare word before a big one with every common word",
                "request state checksum",
                [("small.rs", "checksum of a request"), ("big.rs", &common), ("c.rs", "request")],
            ),
            (
                "a definition before uses",
                "checksum",
                [("a.rs", "fn checksum() {}\n"), ("b.rs", "x = checksum();\n"), ("c.rs", "y")],
            ),
            (
                "a name before the text",
                "checksum",
                [("checksum.rs", "x\n"), ("b.rs", "the checksum\n"), ("c.rs", "y")],
            ),
            (
                "hits in one function before hits in several",
                "alpha gamma",
                [
                    ("a.rs", "fn x() {\n    alpha(1, gamma);\n}\n\nfn yyy() {\n    z();\n}\n"),
                    ("b.rs", "fn x() {\n    alpha(1, z);\n}\n\nfn yyy() {\n    gamma();\n}\n"),
                    ("c.rs", "y"),
                ],
            ),
            (
                "code before prose and tests",
                "checksum header",
                [
                    ("a.rs", "checksum\n\nheader"),
                    ("a.md", "checksum header, header checksum"),
                    ("tests/a.rs", "checksum(header)"),
                ],
            ),
            (
                "a directory before nothing",
                "checksum parse",
                [("checksum/a.rs", "parse"), ("other/a.rs", "parse"), ("c.rs", "y")],
            ),
        ];
        for (why, query, files) in table {
            // Common words are what most files have.
            let mut files = files.to_vec();
            files.extend(["d.rs", "e.rs", "f.rs", "g.rs"].map(|path| (path, "request state")));
            let scores = scores(query, &files);
            assert!(scores[0] > scores[1] && scores[0] > scores[2], "{why}: {scores:?}");
        }
    }

    #[test]
    fn what_is_asked_for_does_not_stand_back() {
        let files = [("docs/checksum.md", "checksum docs docs"), ("a.rs", "checksum of it")];
        let scores = scores("checksum docs", &files);
        assert!(scores[0] > scores[1], "{scores:?}");
    }

    #[test]
    fn a_term_says_the_less_the_more_files_have_it() {
        let table: Vec<f32> = (0..=10).map(|having| rarity(10.0, having as f32)).collect();
        assert!(table.is_sorted_by(|a, b| a > b) && table[10] > 0.0, "{table:?}");
        assert!(rarity(1.0, 5.0) >= 0.0, "an estimate may be more than there are");
    }

    proptest! {
        #[test]
        fn scores_are_numbers_and_more_of_a_term_is_never_worse(
            words in proptest::collection::vec("(alpha|beta|other|x)", 1..20),
            more in 1_usize..4,
        ) {
            let text = words.join(" ");
            let longer = format!("{text}{}", " alpha".repeat(more));
            // The same length, so that nothing else differs.
            let padded = format!("{text}{}", " zzzzz".repeat(more));
            let scores = scores("alpha beta", &[("a.rs", &longer), ("b.rs", &padded)]);
            prop_assert!(scores.iter().all(|score| score.is_finite() && *score >= 0.0));
            prop_assert!(scores[0] >= scores[1], "{scores:?}");
        }
    }
}
