//! What is asked for: terms, and the forms in which they may stand in a text.

use super::synonyms::synonyms;
use super::words::{is_identifier, parts, stem};

/// The most words of a query that count.
const MAX_WORDS: usize = 12;
/// The most terms, so that a set of them fits into 32 bits.
const MAX_TERMS: usize = 32;
/// How much a word with many meanings counts beside the others.
const WEAK: f32 = 0.35;
/// How much a synonym counts beside the word itself.
const SYNONYM: f32 = 0.5;
/// How much an identifier that was asked for counts beside its parts.
const IDENTIFIER: f32 = 2.0;
/// How much it counts that neighbouring words of a query stand together as an identifier.
const NEIGHBOURS: f32 = 0.8;

/// Words that say nothing about code.
const STOP_WORDS: &[&str] = &[
    "a", "about", "all", "am", "an", "and", "any", "are", "as", "at", "be", "been", "but", "by",
    "can", "did", "do", "does", "each", "for", "from", "had", "has", "have", "here", "how", "i",
    "if", "in", "into", "is", "it", "its", "like", "may", "me", "my", "of", "on", "one", "or",
    "our", "out", "over", "should", "so", "some", "such", "than", "that", "the", "their", "them",
    "then", "there", "they", "this", "to", "up", "was", "we", "what", "when", "where", "whether",
    "which", "while", "who", "why", "will", "with", "would", "you", "your",
];

/// Stems of words that occur in most questions about code.
const WEAK_STEMS: &[&str] = &[
    "code",
    "function",
    "method",
    "class",
    "implement",
    "handl",
    "logic",
    "place",
    "use",
    "thing",
    "happen",
    "work",
    "defin",
    "call",
    "get",
    "file",
];

/// A query as it is looked for.
#[derive(Debug, Clone)]
pub(super) struct Question {
    pub(super) terms: Vec<Term>,
    /// Whether the query is about tests, which otherwise stand behind what they test.
    pub(super) about_tests: bool,
}

/// One thing that is looked for.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Term {
    pub(super) weight: f32,
    /// Whether a file without it answers less of the question.
    pub(super) is_needed: bool,
    pub(super) forms: Vec<Form>,
}

/// A spelling of a term.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Form {
    /// What a text must contain, in lower case.
    pub(super) text: String,
    pub(super) kind: FormKind,
    pub(super) weight: f32,
}

/// What a spelling stands for.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum FormKind {
    /// The stem of this word.
    Stem { word: String },
    /// Several words in one; `exactly` as it was asked for, if it was.
    Compound { exactly: Option<String> },
}

impl Question {
    /// Takes a query apart. `natural` says that it is in everyday words.
    pub(super) fn new(query: &str, natural: bool) -> Question {
        let tokens: Vec<&str> = tokens(query).take(MAX_WORDS).collect();
        let is_stop = |word: &str| STOP_WORDS.contains(&word.to_lowercase().as_str());
        let mut kept: Vec<&str> = tokens.iter().copied().filter(|word| !is_stop(word)).collect();
        if kept.is_empty() {
            kept = tokens;
        }
        let words: Vec<(&str, Vec<&str>)> =
            kept.iter().map(|token| (*token, parts(token))).collect();
        let mut question = Question { terms: Vec::new(), about_tests: false };
        for (token, parts) in &words {
            for part in parts {
                question.add(word_term(part, natural));
            }
            if parts.len() > 1 {
                question.add(compound(parts, Some(token), IDENTIFIER));
            }
        }
        let all: Vec<&str> = words.iter().flat_map(|(_, parts)| parts.iter().copied()).collect();
        for pair in all.windows(2) {
            question.add(compound(pair, None, NEIGHBOURS));
        }
        if all.len() == 3 {
            question.add(compound(&all, None, NEIGHBOURS));
        }
        question.about_tests = all.iter().any(|word| ["test", "spec"].contains(&&*stem(word)));
        question
    }

    /// Adds a term unless there is one of the same forms.
    fn add(&mut self, term: Term) {
        let is_known = self.terms.iter().any(|known| known.forms[0].text == term.forms[0].text);
        if !is_known && self.terms.len() < MAX_TERMS {
            self.terms.push(term);
        }
    }
}

/// The words and identifiers of a query.
fn tokens(query: &str) -> impl Iterator<Item = &str> {
    let is_part = |character: char| {
        character == '-'
            || u8::try_from(character).map_or(character.is_alphanumeric(), is_identifier)
    };
    query
        .split(move |character| !is_part(character))
        .map(|token| token.trim_matches(['-', '_', '$']))
        .filter(|token| !token.is_empty())
}

fn word_term(word: &str, natural: bool) -> Term {
    let form = |word: &str, weight: f32| Form {
        text: stem(word),
        kind: FormKind::Stem { word: word.to_lowercase() },
        weight,
    };
    let mut forms = vec![form(word, 1.0)];
    if natural {
        forms.extend(synonyms(word).into_iter().map(|other| form(other, SYNONYM)));
    }
    let is_weak = WEAK_STEMS.contains(&forms[0].text.as_str());
    Term { weight: if is_weak { WEAK } else { 1.0 }, is_needed: true, forms }
}

/// Several words as one, in every way to join them.
fn compound(parts: &[&str], exactly: Option<&str>, weight: f32) -> Term {
    let lower: Vec<String> = parts.iter().map(|part| part.to_lowercase()).collect();
    let joined = ["", "_", "-", " "].iter().map(|separator| Form {
        text: lower.join(separator),
        kind: FormKind::Compound { exactly: exactly.map(str::to_owned) },
        weight: 1.0,
    });
    Term { weight, is_needed: false, forms: joined.collect() }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn texts(query: &str) -> Vec<String> {
        let question = Question::new(query, false);
        question.terms.iter().map(|term| term.forms[0].text.clone()).collect()
    }

    #[test]
    fn a_query_becomes_stems_and_what_belongs_together() {
        let table: [(&str, &[&str]); 6] = [
            ("executor", &["execut"]),
            ("ToolExecutor", &["tool", "execut", "toolexecutor"]),
            ("execute_tool()", &["execut", "tool", "executetool"]),
            ("rename symbols", &["renam", "symbol", "renamesymbols"]),
            ("the of", &["the", "of", "theof"]),
            ("::", &[]),
        ];
        for (query, expected) in table {
            assert_eq!(texts(query), expected, "{query}");
        }
    }

    #[test]
    fn everyday_questions_lose_their_filling_and_gain_synonyms() {
        let question = Question::new("Where do we delete a user?", true);
        assert_eq!(question.terms.iter().filter(|term| term.is_needed).count(), 2);
        assert!(question.terms[0].forms.iter().any(|form| form.text == stem("remove")));
        let plain = Question::new("delete user", false);
        assert_eq!(plain.terms[0].forms.len(), 1);
    }

    #[test]
    fn the_longest_query_stays_within_bounds() {
        let query: String = (0..500).map(|number| format!("word{number} fooBarBaz ")).collect();
        assert!(Question::new(&query, true).terms.len() <= MAX_TERMS);
    }
}
