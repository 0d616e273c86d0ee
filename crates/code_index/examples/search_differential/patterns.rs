//! Questions of every kind that people ask.

use crate::corpus::{WORDS, line};
use crate::random::Random;

/// A pattern with its options.
#[derive(Debug, Clone)]
pub(crate) struct Question {
    pub(crate) pattern: String,
    pub(crate) case_sensitive: bool,
    pub(crate) multiline: bool,
    pub(crate) hidden: bool,
}

/// Fixed patterns that have been trouble somewhere.
const TROUBLE: &[&str] = &[
    "",
    "^",
    "$",
    "^$",
    ".",
    ".*",
    "^.*$",
    "\\b",
    "\\B",
    "a*",
    "x*$",
    "\\s+$",
    "\\S",
    "^\\s*$",
    "user|",
    "|user",
    "(?i)\u{212A}",
    "(?i)k",
    "(?i)ſ",
    "(?i)straße",
    "(?i)σ",
    "(?i)İ",
    "ß",
    "\\r",
    "\\r$",
    "[^\\r]$",
    "user\\r?$",
    "\\t",
    "\\x0B",
    "\\u{85}",
    "(?-u:\\xE9)",
    "(?-u:\\xFF)",
    "(?-u)\\w+",
    "(?-u:[^a-z])$",
    "\\p{Greek}+",
    "\\p{Lu}\\p{Ll}+",
    "\\pN+",
    "\\P{ASCII}",
    "[[:alpha:]]+_",
    "[α-ω]+",
    "[^\\x00-\\x7F]",
    "\\d+\\.\\d+",
    "(?x) us er",
    "(?s)a.b",
    "(?m)^user$",
    "(?U)u.*r",
    "(a|ab)(c|bcd)?",
    "(?:user){1,2}",
    "u{0}x?",
    "[a-c&&b-d]",
    "e\\x{301}",
    "🦀",
    "\\x{1F980}",
    "(((user)))",
    "[]a]",
    "[a\\]]",
    "\\(x\\)",
    "\\$var",
    "C:\\\\dir",
    "\\#define",
    "user\\z",
    "\\Auser",
    "\\n",
    "a\\nb",
    "(",
    "[z-a]",
    "(?=x)",
    "*",
    "\\p{Foo}",
];

/// Patterns over several lines.
const OVER_LINES: &[&str] = &[
    "\\n",
    "\\n\\n",
    "user\\n",
    "\\{\\s*\\n",
    "(?s)user.*?index",
    "^user$\\n^",
    "\\r\\n",
    "\\s+$",
    "a\\s+b",
    "(?s).{200}",
    "[^a-z]{5,}",
    "user[^;]*;",
    "index\\n\\s+\\w+",
    "(?m)^$",
    "(\\w+)\\W+user",
    "TODO\\s*\\S+",
];

impl Question {
    /// One of the questions, by its number and by chance.
    pub(crate) fn generate(random: &mut Random, number: usize) -> Question {
        let multiline = number % 12 == 11;
        let fixed = if multiline { OVER_LINES } else { TROUBLE };
        let pattern = match fixed.get(number / 12).filter(|_| number % 12 >= 10) {
            Some(pattern) => (*pattern).to_owned(),
            None if multiline => over_lines(random),
            None => one_line(random, number % 10),
        };
        Question {
            pattern,
            case_sensitive: !random.chance(1, 3),
            multiline,
            hidden: random.chance(1, 5),
        }
    }
}

fn word(random: &mut Random) -> String {
    regex_syntax::escape(random.pick(WORDS))
}

/// A piece of a line as it may stand in the corpus.
fn piece(random: &mut Random) -> String {
    let line: Vec<char> = line(random).chars().collect();
    let start = random.below(line.len() + 1);
    let length = random.below(9) + 1;
    line.iter().skip(start).take(length).collect()
}

fn class(random: &mut Random) -> &'static str {
    random.pick(&[
        "[a-z]",
        "[A-Z]",
        "[a-zA-Z_]",
        "[^a-z]",
        "[0-9]",
        "\\d",
        "\\w",
        "\\W",
        "\\s",
        "\\S",
        ".",
        "[aeiou]",
        "[α-ωΑ-Ω]",
        "\\p{L}",
        "\\p{Lu}",
        "[^\\s]",
        "[_-]",
        "[àéïöüß]",
    ])
}

fn repetition(random: &mut Random) -> &'static str {
    random.pick(&["*", "+", "?", "{2}", "{1,3}", "{2,}", "*?", "+?", "{0,2}"])
}

fn one_line(random: &mut Random, kind: usize) -> String {
    match kind {
        0 => word(random),
        1 => regex_syntax::escape(&piece(random)),
        2 => format!("{}{}", class(random), repetition(random)),
        3 => format!("{}{}{}", word(random), class(random), repetition(random)),
        4 => format!("(?i){}", word(random)),
        5 => match random.below(4) {
            0 => format!("^{}", word(random)),
            1 => format!("{}$", word(random)),
            2 => format!("^\\s*{}", word(random)),
            _ => format!("^{}{}$", class(random), repetition(random)),
        },
        6 => {
            let words: Vec<String> = (0..random.below(5) + 2).map(|_| word(random)).collect();
            words.join("|")
        }
        7 => format!("({}|{}){}", word(random), piece_word(random), repetition(random)),
        8 => match random.below(3) {
            0 => format!("\\b{}\\b", word(random)),
            1 => format!("\\B{}", piece_word(random)),
            _ => format!("\\b{}{}\\b", class(random), repetition(random)),
        },
        _ => format!("{}.*{}", word(random), piece_word(random)),
    }
}

fn piece_word(random: &mut Random) -> String {
    let word: Vec<char> = random.pick(WORDS).chars().collect();
    let length = random.below(word.len()) + 1;
    regex_syntax::escape(&word.iter().take(length).collect::<String>())
}

fn over_lines(random: &mut Random) -> String {
    match random.below(5) {
        0 => format!("{}\\s+{}", word(random), class(random)),
        1 => format!("{}\\n", word(random)),
        2 => format!("(?s){}.{{0,60}}?{}", word(random), word(random)),
        3 => format!("{}[^{{}}]*{}", word(random), piece_word(random)),
        _ => format!("\\n\\s*{}", word(random)),
    }
}
