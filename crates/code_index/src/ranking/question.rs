//! What is asked for: terms, and the forms in which they may stand in a text.

use super::standing::PROSE_NAMES;
use super::synonyms::synonyms;
use super::tokens::{all_tokens, tokens};
use super::weights::RankingWeights;
use super::words::{is_unspaced, parts, stem};

/// The most words of a query that count, after those that say nothing are left out.
const MAX_WORDS: usize = 12;
/// The most terms, so that a set of them fits into 32 bits.
pub(super) const MAX_TERMS: usize = 32;
/// How much a synonym counts beside the word itself.
const SYNONYM: f32 = 0.5;

/// Words that say nothing about code.
const STOP_WORDS: &[&str] = &[
    "a", "about", "all", "am", "an", "and", "any", "are", "as", "at", "be", "been", "but", "by",
    "can", "did", "do", "does", "each", "for", "from", "had", "has", "have", "here", "how", "i",
    "if", "in", "into", "is", "it", "its", "like", "may", "me", "my", "of", "on", "one", "or",
    "our", "out", "over", "should", "so", "some", "such", "than", "that", "the", "their", "them",
    "then", "there", "they", "this", "to", "up", "was", "we", "what", "when", "where", "whether",
    "which", "while", "who", "why", "will", "with", "would", "you", "your",
];

/// Words of questions and tasks that say what is to be done, or how, rather than where.
const WEAK_WORDS: &[&str] = &[
    "actually",
    "add",
    "adds",
    "after",
    "allow",
    "also",
    "always",
    "apply",
    "avoid",
    "before",
    "better",
    "between",
    "break",
    "broken",
    "bug",
    "call",
    "case",
    "change",
    "check",
    "clarify",
    "class",
    "clean",
    "code",
    "consistent",
    "consistently",
    "convert",
    "correct",
    "correctly",
    "define",
    "disable",
    "drop",
    "during",
    "enable",
    "ensure",
    "expose",
    "extract",
    "fail",
    "failing",
    "feature",
    "file",
    "first",
    "fix",
    "fixes",
    "function",
    "get",
    "handle",
    "happen",
    "implement",
    "improve",
    "instead",
    "introduce",
    "issue",
    "just",
    "keep",
    "less",
    "let",
    "logic",
    "make",
    "method",
    "minor",
    "missing",
    "more",
    "most",
    "move",
    "multiple",
    "never",
    "new",
    "no",
    "non",
    "not",
    "now",
    "old",
    "only",
    "optimize",
    "other",
    "part",
    "per",
    "place",
    "possible",
    "prevent",
    "proper",
    "properly",
    "provide",
    "reduce",
    "refactor",
    "remove",
    "replace",
    "rework",
    "same",
    "set",
    "show",
    "simplify",
    "small",
    "split",
    "still",
    "support",
    "switch",
    "thing",
    "too",
    "try",
    "unnecessary",
    "unused",
    "update",
    "use",
    "using",
    "very",
    "via",
    "without",
    "work",
    "wrap",
    "wrong",
    "wrongly",
];
/// Words by which a query asks for prose.
const PROSE_WORDS: &[&str] = &[
    "changelog",
    "contributing",
    "doc",
    "docs",
    "documentation",
    "guide",
    "handbook",
    "licence",
    "license",
    "manual",
    "markdown",
    "news",
    "readme",
    "tutorial",
    "website",
];
/// Words by which a query asks for data and settings.
const DATA_WORDS: &[&str] = &[
    "csv", "fixture", "json", "lockfile", "manifest", "svg", "toml", "workflow", "xml", "yaml",
    "yml",
];

/// A query as it is looked for.
#[derive(Debug, Clone)]
pub(super) struct Question {
    pub(super) terms: Vec<Term>,
    pub(super) asks_for: AsksFor,
    /// Words that would say something, but are beyond what is looked for.
    pub(super) left_out: usize,
}

/// What a query is about besides code. All of it stands behind code otherwise.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct AsksFor {
    pub(super) tests: bool,
    pub(super) prose: bool,
    pub(super) data: bool,
    /// The words of the query that can be names of files, in lower case.
    pub(super) files: Vec<String>,
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
    /// What a text must contain, in any case as far as the letters are ASCII, which are small here.
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
    pub(super) fn new(query: &str, natural: bool, weights: &RankingWeights) -> Question {
        let is_stop = |word: &str| STOP_WORDS.iter().any(|stop| stop.eq_ignore_ascii_case(word));
        let mut telling = tokens(query).filter(|word| !is_stop(word));
        let mut kept: Vec<&str> = telling.by_ref().take(MAX_WORDS).collect();
        let mut left_out = telling.count();
        if kept.is_empty() {
            let mut all = all_tokens(query);
            kept = all.by_ref().take(MAX_WORDS).collect();
            left_out = all.count();
        }
        let words: Vec<(&str, Vec<&str>)> =
            kept.iter().map(|token| (*token, asked_parts(token))).collect();
        let asks_for = AsksFor::new(query, &words);
        let mut question = Question { terms: Vec::new(), asks_for, left_out };
        for (token, parts) in &words {
            for part in parts {
                question.add(word_term(part, natural, weights));
            }
            if parts.len() > 1 && !parts.iter().any(|part| is_run(part)) {
                question.add(compound(parts, Some(token), weights.identifier));
            }
        }
        let all: Vec<&str> = words.iter().flat_map(|(_, parts)| parts.iter().copied()).collect();
        let spaced = |pair: &&[&str]| !pair.iter().any(|part| is_run(part));
        for pair in all.windows(2).filter(spaced) {
            question.add(compound(pair, None, weights.neighbours));
        }
        if all.len() == 3 && spaced(&&all[..]) {
            question.add(compound(&all, None, weights.neighbours));
        }
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

impl AsksFor {
    fn new(query: &str, words: &[(&str, Vec<&str>)]) -> AsksFor {
        let has = |wanted: &[&str]| {
            let mut parts = words.iter().flat_map(|(_, parts)| parts);
            parts.any(|part| {
                let lower = part.to_lowercase();
                let singular = lower.strip_suffix('s').unwrap_or(&lower);
                wanted.contains(&lower.as_str()) || wanted.contains(&singular)
            })
        };
        let names = query.split(|c: char| c.is_whitespace() || ",;()".contains(c));
        let names = names.map(|name| {
            let name = name.trim_start_matches(['`', '\'', '"']);
            name.trim_end_matches(['`', '\'', '"', '.', ':', '?', '!']).to_lowercase()
        });
        // `Makefile` may be the name of a file, too; `changes` is a word. What can only be one comes first.
        let is_word = |name: &str| name.is_empty() || PROSE_NAMES.contains(&name);
        let mut names: Vec<String> = names.filter(|name| !is_word(name)).collect();
        names.sort_by_key(|name| !name.contains(['.', '/']));
        names.truncate(2 * MAX_WORDS);
        AsksFor {
            tests: has(&["test", "spec", "testing"]),
            prose: has(PROSE_WORDS),
            data: has(DATA_WORDS),
            // Each is compared with every path.
            files: names,
        }
    }
}

/// The parts of a word or an identifier. Of a script without spaces, each two characters that stand
/// together: one says too little, and where words begin is not known.
fn asked_parts(token: &str) -> Vec<&str> {
    let mut asked = Vec::new();
    let mut rest = token;
    while !rest.is_empty() {
        let run = is_run(rest);
        let ends = |at: &usize| is_run(&rest[*at..]) != run;
        let end = rest.char_indices().map(|(at, _)| at).find(ends).unwrap_or(rest.len());
        let (segment, after) = rest.split_at(end);
        if run {
            asked.extend(pairs(segment));
        } else {
            asked.extend(parts(segment));
        }
        rest = after;
    }
    asked
}

/// Whether a text begins with a character of a script without spaces.
fn is_run(text: &str) -> bool {
    is_unspaced(text.as_bytes(), 0)
}

/// Each two neighbouring characters of a text; one of a single character is itself.
fn pairs(text: &str) -> Vec<&str> {
    let mut bounds: Vec<usize> = text.char_indices().map(|(at, _)| at).collect();
    bounds.push(text.len());
    match bounds.len() {
        0..=2 => vec![text],
        _ => bounds.windows(3).map(|bounds| &text[bounds[0]..bounds[2]]).collect(),
    }
}

fn word_term(word: &str, natural: bool, weights: &RankingWeights) -> Term {
    let form = |word: &str, weight: f32| Form {
        text: stem(word),
        kind: FormKind::Stem { word: word.to_lowercase() },
        weight,
    };
    let mut forms = vec![form(word, 1.0)];
    let capitals = with_capitals(&forms[0].text).into_iter();
    forms.extend(capitals.map(|text| Form {
        kind: FormKind::Stem { word: text.clone() },
        text,
        weight: 1.0,
    }));
    if natural {
        forms.extend(synonyms(word).into_iter().map(|other| form(other, SYNONYM)));
    }
    let lower = word.to_lowercase();
    let is_weak = WEAK_WORDS.iter().any(|weak| is_form_of(&lower, weak));
    let weight = if is_weak { weights.weak_word } else { 1.0 };
    Term { weight, is_needed: true, forms }
}

/// A word in small letters with capitals beyond ASCII, where case counts: at its beginning, and everywhere.
fn with_capitals(word: &str) -> Vec<String> {
    let capital = |letter: char| {
        let mut upper = letter.to_uppercase();
        let single = upper.next().filter(|_| upper.next().is_none() && !letter.is_ascii());
        single.unwrap_or(letter)
    };
    let mut letters = word.chars();
    let first: String = letters.next().map(capital).into_iter().chain(letters).collect();
    let mut spellings = vec![first, word.chars().map(capital).collect()];
    spellings.dedup();
    spellings.retain(|spelling| spelling != word);
    spellings
}

/// Whether a word is `base` or a form of it as a verb or noun. Stems would be too much: a provider is
/// a thing, to provide is not.
fn is_form_of(word: &str, base: &str) -> bool {
    let Some(ending) = word.strip_prefix(base.strip_suffix('e').unwrap_or(base)) else {
        return false;
    };
    match base.ends_with('e') {
        true => matches!(ending, "e" | "es" | "ed" | "ing"),
        false => matches!(ending, "" | "s" | "es" | "ed" | "ing"),
    }
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

    fn question(query: &str, natural: bool) -> Question {
        Question::new(query, natural, &RankingWeights::default())
    }

    fn texts(query: &str) -> Vec<String> {
        let question = question(query, false);
        question.terms.iter().map(|term| term.forms[0].text.clone()).collect()
    }

    #[test]
    fn a_query_becomes_stems_and_what_belongs_together() {
        let table: [(&str, &[&str]); 10] = [
            ("executor", &["execut"]),
            ("ToolExecutor", &["tool", "execut", "toolexecutor"]),
            ("execute_tool()", &["execut", "tool", "executetool"]),
            ("rename symbols", &["renam", "symbol", "renamesymbols"]),
            ("the of", &["the", "of", "theof"]),
            ("::", &[]),
            ("検索", &["検索"]),
            (
                "設定を読む parseConfig",
                &["設定", "定を", "を読", "読む", "pars", "config", "parseconfig"],
            ),
            ("검색", &["검색"]),
            ("検", &["検"]),
        ];
        for (query, expected) in table {
            assert_eq!(texts(query), expected, "{query}");
        }
    }

    #[test]
    fn capitals_beyond_ascii_are_spellings_of_their_own() {
        for (word, expected) in [
            ("über", &["Über"][..]),
            ("größe", &["grÖße"]),
            ("éléphant", &["Éléphant", "ÉlÉphant"]),
            ("война", &["Война", "ВОЙНА"]),
            ("word", &[]),
            ("検索", &[]),
        ] {
            assert_eq!(with_capitals(word), expected, "{word}");
        }
    }

    #[test]
    fn everyday_questions_lose_their_filling_and_gain_synonyms() {
        let everyday = question("Where do we delete a user?", true);
        assert_eq!(everyday.terms.iter().filter(|term| term.is_needed).count(), 2);
        assert!(everyday.terms[0].forms.iter().any(|form| form.text == stem("remove")));
        let plain = question("delete user", false);
        assert_eq!(plain.terms[0].forms.len(), 1);
    }

    #[test]
    fn the_longest_query_stays_within_bounds() {
        let query: String = (0..500).map(|number| format!("word{number} fooBarBaz ")).collect();
        assert!(question(&query, true).terms.len() <= MAX_TERMS);
    }

    #[test]
    fn only_words_that_say_something_take_a_place() {
        let filling = "where is the one that we have to do it with so that there is ";
        let asked = format!("{filling}{}", "parser lexer ".repeat(MAX_WORDS));
        let long = question(&asked, false);
        assert_eq!(long.terms[0].forms[0].text, "pars");
        assert_eq!(long.left_out, MAX_WORDS);
        assert_eq!(question("parser of the lexer", false).left_out, 0);
        assert_eq!(question(&"the ".repeat(MAX_WORDS + 3), false).left_out, 3);
    }

    #[test]
    fn a_query_of_any_size_asks_for_little() {
        let giant = "a".repeat(1 << 20);
        let humps = "aB".repeat(1 << 19);
        let names = "a/b.rs ".repeat(10_000);
        let script = "検索".repeat(1 << 18);
        for query in [giant, humps, names, script] {
            let question = question(&query, true);
            let forms = question.terms.iter().flat_map(|term| &term.forms);
            let bytes: usize = forms.map(|form| form.text.len()).sum();
            assert!(question.terms.len() <= MAX_TERMS && bytes < 8 * 1024, "{bytes}");
            assert!(question.asks_for.files.len() <= 2 * MAX_WORDS);
        }
    }

    #[test]
    fn words_that_say_what_is_to_be_done_are_weak() {
        let weak = |word: &str| question(word, false).terms[0].weight < 1.0;
        for word in ["fix", "Adds", "functions", "file", "used", "handling", "allowed"] {
            assert!(weak(word), "{word}");
        }
        for word in ["parser", "fixture", "provider", "settings", "caller"] {
            assert!(!weak(word), "{word}");
        }
        assert!(WEAK_WORDS.is_sorted());
    }

    #[test]
    fn a_query_can_ask_for_other_things_than_code() {
        let asks = |query: &str| question(query, false).asks_for;
        let plain = asks("parser state");
        assert!(!plain.tests && !plain.prose && !plain.data);
        assert!(asks("tests of the parser").tests);
        assert!(asks("README about parsing").prose && asks("parser docs").prose);
        assert!(asks("yaml of the workflow").data);
        let table: [(&str, &[&str]); 4] = [
            ("`Cargo.toml`?", &["cargo.toml"]),
            ("Makefile and (src/a.rs)", &["src/a.rs", "makefile", "and"]),
            ("'it's.md'", &["it's.md"]),
            ("changes, NEWS.", &[]),
        ];
        for (query, expected) in table {
            assert_eq!(asks(query).files, expected, "{query}");
        }
    }
}
