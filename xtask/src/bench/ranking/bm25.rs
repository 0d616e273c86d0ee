//! BM25 over whole files, the ranking that most search programs for code use in some form. It is
//! written independently of our own ranking, so that it shares none of its mistakes.

use std::collections::{BTreeMap, HashMap};
use std::fs;
use std::path::Path;
use std::rc::Rc;

use super::change::{is_source, is_test};

/// A way to rank by BM25.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Setting {
    pub(crate) name: &'static str,
    /// Whether only source files that are no tests are ranked.
    pub(crate) only_code: bool,
    pub(crate) saturation: f64,
    pub(crate) length: f64,
    /// How often a word of the path counts.
    pub(crate) path: f64,
}

/// As it is usually set up: all files, and the path as a part of the text.
pub(crate) const PLAIN: Setting =
    Setting { name: "BM25, all files", only_code: false, saturation: 1.2, length: 0.75, path: 1.0 };
/// The best of several settings on the half that may be tuned.
pub(crate) const STRONG: Setting = Setting {
    name: "BM25, code only, paths fivefold",
    only_code: true,
    saturation: 1.2,
    length: 0.3,
    path: 5.0,
};

/// The words of a file and how often each is there.
#[derive(Debug, Default)]
struct Document {
    /// By the number of the word, in order.
    counts: Vec<(u32, u32)>,
    length: u64,
}

/// The files of a repository, each read once however many commits hold it.
#[derive(Default)]
pub(crate) struct Bm25 {
    numbers: HashMap<String, u32>,
    documents: HashMap<String, Rc<Document>>,
}

impl Bm25 {
    /// The files at `root`, best first. `files` are their paths with names of their contents.
    pub(crate) fn rank(
        &mut self,
        setting: &Setting,
        root: &Path,
        files: &BTreeMap<String, String>,
        query: &str,
    ) -> Vec<String> {
        let ranked = files
            .iter()
            .filter(|(path, _)| !setting.only_code || is_source(path) && !is_test(path));
        let ranked: Vec<(&str, Rc<Document>)> =
            ranked.map(|(path, id)| (path.as_str(), self.document(&root.join(path), id))).collect();
        let mut wanted: Vec<String> = Vec::new();
        words(query, |word| {
            if !wanted.iter().any(|known| known == word) {
                wanted.push(word.to_owned());
            }
        });
        let counts: Vec<Vec<f64>> = ranked
            .iter()
            .map(|(path, document)| self.counts_of(&wanted, path, document, setting.path))
            .collect();
        let all = ranked.len().max(1) as f64;
        let average = ranked.iter().map(|(_, document)| document.length as f64).sum::<f64>() / all;
        let mut scored: Vec<(f64, &str)> = Vec::new();
        let rarities: Vec<f64> = (0..wanted.len())
            .map(|word| {
                let having = counts.iter().filter(|counts| counts[word] > 0.0).count() as f64;
                (1.0 + (all - having + 0.5) / (having + 0.5)).ln()
            })
            .collect();
        for ((path, document), counts) in ranked.iter().zip(&counts) {
            let relative = document.length as f64 / average.max(1.0);
            let length = setting.saturation * (1.0 - setting.length + setting.length * relative);
            let score: f64 = counts
                .iter()
                .zip(&rarities)
                .map(|(count, rarity)| {
                    rarity * count * (setting.saturation + 1.0) / (count + length)
                })
                .sum();
            if score > 0.0 {
                scored.push((score, path));
            }
        }
        scored.sort_by(|a, b| b.0.total_cmp(&a.0).then_with(|| a.1.cmp(b.1)));
        scored.into_iter().map(|(_, path)| path.to_owned()).collect()
    }

    /// How often each of the wanted words is in a file and, `path_weight` times, in its path.
    fn counts_of(
        &self,
        wanted: &[String],
        path: &str,
        document: &Document,
        path_weight: f64,
    ) -> Vec<f64> {
        let in_text = |word: &String| {
            let number = self.numbers.get(word)?;
            let found = document.counts.binary_search_by_key(number, |(word, _)| *word).ok()?;
            Some(f64::from(document.counts[found].1))
        };
        let mut counts: Vec<f64> = wanted.iter().map(|word| in_text(word).unwrap_or(0.0)).collect();
        words(path, |part| {
            if let Some(at) = wanted.iter().position(|word| word == part) {
                counts[at] += path_weight;
            }
        });
        counts
    }

    fn document(&mut self, place: &Path, id: &str) -> Rc<Document> {
        if let Some(known) = self.documents.get(id) {
            return Rc::clone(known);
        }
        let content = fs::read(place).unwrap_or_default();
        let document = Rc::new(self.read(&content));
        self.documents.insert(id.to_owned(), Rc::clone(&document));
        document
    }

    fn read(&mut self, content: &[u8]) -> Document {
        let mut document = Document::default();
        if content.contains(&0) {
            return document;
        }
        let mut counts: HashMap<u32, u32> = HashMap::new();
        words(&String::from_utf8_lossy(content), |word| {
            document.length += 1;
            let number = match self.numbers.get(word) {
                Some(number) => *number,
                None => {
                    let number = u32::try_from(self.numbers.len()).unwrap_or(u32::MAX);
                    self.numbers.insert(word.to_owned(), number);
                    number
                }
            };
            *counts.entry(number).or_default() += 1;
        });
        document.counts = counts.into_iter().collect();
        document.counts.sort_unstable();
        document
    }
}

/// Shows the words of a text in lower case; identifiers come apart at `_` and at their humps.
fn words(text: &str, mut show: impl FnMut(&str)) {
    let mut word = String::new();
    let mut before = ' ';
    let mut characters = text.chars().peekable();
    while let Some(character) = characters.next() {
        let ends_capitals = before.is_uppercase()
            && characters.peek().is_some_and(|next: &char| next.is_lowercase());
        let begins = character.is_uppercase() && (!before.is_uppercase() || ends_capitals)
            || character.is_numeric() != before.is_numeric();
        if !word.is_empty() && (begins || !character.is_alphanumeric()) {
            show(&word);
            word.clear();
        }
        if character.is_alphanumeric() {
            word.extend(character.to_lowercase());
        }
        before = character;
    }
    if !word.is_empty() {
        show(&word);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn identifiers_come_apart() {
        let mut shown = Vec::new();
        words("parseHTTPHeader2 snake_case, Größe", |word| shown.push(word.to_owned()));
        assert_eq!(shown, ["parse", "http", "header", "2", "snake", "case", "größe"]);
    }

    #[test]
    fn a_rare_word_leads_and_a_word_of_the_path_counts() {
        let project = testkit::Fixture::new(
            "//- /a.rs\ncommon common common\n//- /b.rs\ncommon rare\n//- /lexer.rs\ncommon\n",
        );
        let files: BTreeMap<String, String> =
            ["a.rs", "b.rs", "lexer.rs"].map(|path| (path.to_owned(), path.to_owned())).into();
        let mut bm25 = Bm25::default();
        for setting in [PLAIN, STRONG] {
            let mut rank = |query: &str| bm25.rank(&setting, project.root(), &files, query);
            assert_eq!(rank("common rare")[0], "b.rs", "{}", setting.name);
            assert_eq!(rank("Lexer"), ["lexer.rs"], "{}", setting.name);
            assert!(rank("absent").is_empty());
        }
    }
}
