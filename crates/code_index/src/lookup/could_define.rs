//! Whether a name could be defined where it stands, judged by the text around it.
//!
//! Names are used far more often than they are defined, and parsing a file costs a thousand times
//! more than looking at the places of a name in it. So a file is parsed only if one of them could be
//! a definition: this is the one step that narrows files by their text, and the measurement
//! "find_definition, first question" of `cargo xtask bench search` needs it. It may err on the side
//! of parsing too much, never on the other: its tests check every symbol that the parser finds
//! in this repository, and `symbols/tests.rs` those of every language's fixture. The rules
//! are in the row of each language.

mod name_context;

pub(crate) use name_context::{NameContext, TokenBefore};

#[cfg(test)]
use super::definition_query::DefinitionType;
use super::word::{WholeWord, is_name_byte};
use crate::Language;
#[cfg(test)]
use crate::symbols::{Symbol, SymbolKind};

/// How likely a name is defined at a place.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Chance {
    /// It is used there.
    No,
    /// A field, a local variable or an import, if anything.
    Minor,
    /// A function, a type, a constant or the like is possible.
    Major,
}

/// Words after which an expression follows in most languages, and so no definition.
const BEFORE_EXPRESSIONS: [&[u8]; 22] = [
    b"return",
    b"await",
    b"typeof",
    b"new",
    b"throw",
    b"yield",
    b"void",
    b"delete",
    b"case",
    b"else",
    b"do",
    b"in",
    b"of",
    b"instanceof",
    b"is",
    b"not",
    b"and",
    b"or",
    b"if",
    b"elif",
    b"while",
    b"raise",
];
/// Words before a condition in brackets.
const BEFORE_CONDITIONS: [&[u8]; 8] =
    [b"if", b"for", b"while", b"switch", b"catch", b"return", b"foreach", b"match"];

/// Whether an expression follows this word, in most languages.
pub(crate) fn begins_expression(word: &[u8]) -> bool {
    BEFORE_EXPRESSIONS.contains(&word)
}

/// Whether a condition in brackets follows this word, in most languages.
pub(crate) fn begins_condition(word: &[u8]) -> bool {
    BEFORE_CONDITIONS.contains(&word)
}

/// The best chance that any place of `word` in `text` has to define it.
pub(crate) fn chance_in(language: Language, text: &[u8], word: &WholeWord) -> Chance {
    if !word.bytes().iter().all(|&byte| is_name_byte(byte)) {
        // Operators and the like follow no rule that could be checked.
        return Chance::Major;
    }
    let mut best = Chance::No;
    for at in word.places(text) {
        best = best.max(chance_at(language, text, at, at + word.bytes().len()));
        if best == Chance::Major {
            break;
        }
    }
    best
}

/// The chance that the name between `start` and `end` is defined there.
pub(crate) fn chance_at(language: Language, text: &[u8], start: usize, end: usize) -> Chance {
    let spec = language.spec();
    let name = NameContext::new(text, start, end, spec.line_comment.as_bytes());
    let before = name.before();
    if let TokenBefore::Word(word, _) = before
        && spec.definers.iter().any(|definer| definer.as_bytes() == word)
    {
        return Chance::Major;
    }
    if name.in_comment_line() {
        return Chance::No;
    }
    (spec.could_define)(&name, before)
}

/// Those of the symbols of `text` that narrowing would hide: their names are said not to be defined
/// where they are, or functions and types are said to be less than that, so that a question for
/// functions or types alone does not look at them.
#[cfg(test)]
pub(crate) fn hidden<'s>(
    language: Language,
    text: &[u8],
    symbols: &'s [Symbol],
) -> Vec<&'s Symbol> {
    let is_major = |kind: SymbolKind| {
        let majors = [DefinitionType::Function, DefinitionType::Class];
        majors.iter().any(|only| only.accepts(kind, Some(&b'(')))
    };
    let is_hidden = |symbol: &&Symbol| {
        let (start, end) = (symbol.name_at.start as usize, symbol.name_at.end as usize);
        let is_plain = text[start..end].iter().all(|&byte| is_name_byte(byte));
        is_plain
            && match chance_at(language, text, start, end) {
                Chance::No => true,
                Chance::Minor => is_major(symbol.kind),
                Chance::Major => false,
            }
    };
    symbols.iter().filter(is_hidden).collect()
}

#[cfg(test)]
mod tests;
