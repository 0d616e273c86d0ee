//! Whether a name could be defined where it stands, by a glance at the text around it.
//!
//! Names are used far more often than they are defined, and parsing costs a thousand times more than
//! a glance. So a file is parsed only if the glance says that a name in it could be a definition. It
//! may err on the side of parsing too much, never on the other: every symbol that the parser finds
//! in a large corpus passes, which `examples/lookup_speed.rs` checks.

mod around;
mod c_family;
mod others;

use around::Around;

use std::time::Instant;

use super::word::{Word, is_name_byte};
use crate::Language;
use crate::symbols::{Parsers, Symbol, SymbolKind};

/// What a glance says.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Chance {
    /// It is used here.
    No,
    /// A field, a local variable or an import, if anything.
    Minor,
    /// A function, a type, a constant or the like is possible.
    Major,
}

/// The best chance that any place of `word` in `text` has to define it.
pub(crate) fn chance_in(language: Language, text: &[u8], word: &Word) -> Chance {
    if !word.bytes().iter().all(|&byte| is_name_byte(byte)) {
        // Operators and the like follow no rule that a glance could check.
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
    let comment: &[u8] = match language {
        Language::Python | Language::Ruby | Language::Bash => b"#",
        _ => b"//",
    };
    let around = Around::new(text, start, end, comment);
    match language {
        Language::C => c_family::chance(&around, false),
        Language::Cpp => c_family::chance(&around, true),
        _ => others::chance(&around, language),
    }
}

/// How many symbols a file has, and those that a glance would hide: all of them if it says that a
/// name cannot be defined where it is, or that it is less than it is. For checking large corpora.
#[doc(hidden)]
pub fn hidden_by_glance(
    language: Language,
    text: &[u8],
    until: Instant,
) -> (usize, Vec<(Symbol, &'static str)>) {
    let symbols = Parsers::new().symbols(language, text, until).symbols;
    let count = symbols.len();
    let hidden = symbols.into_iter().filter_map(|symbol| {
        let (start, end) = (symbol.name_at.start as usize, symbol.name_at.end as usize);
        let plain = text.get(start..end)?.iter().all(|&byte| is_name_byte(byte));
        match chance_at(language, text, start, end) {
            Chance::No if plain => Some((symbol, "hidden")),
            Chance::Minor if plain && symbol.kind.rank() < SymbolKind::Declaration.rank() => {
                Some((symbol, "belittled"))
            }
            _ => None,
        }
    });
    (count, hidden.collect())
}

#[cfg(test)]
mod tests;
