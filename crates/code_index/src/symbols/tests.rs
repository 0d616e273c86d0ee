//! One file of tricky source for each language, and what must hold for any bytes.

mod any_bytes;
mod c_family;
mod occurrences;
mod scripts;
mod systems;
mod web;

use std::time::{Duration, Instant};

use super::{FileSymbols, Parsers};
use crate::Language;

/// Longer than any test takes.
fn later() -> Instant {
    Instant::now() + Duration::from_secs(600)
}

fn symbols_of(language: Language, text: &[u8]) -> FileSymbols {
    Parsers::new().symbols(language, text, later())
}

/// One line for each symbol: line, kind, name, and what it stands in.
fn outline(language: Language, text: &str) -> String {
    let found = symbols_of(language, text.as_bytes());
    assert!(found.complete);
    let hidden = crate::lookup::hidden(language, text.as_bytes(), &found.symbols);
    assert!(hidden.is_empty(), "narrowing hides {hidden:?}");
    let mut lines = String::new();
    for symbol in &found.symbols {
        let name_at = symbol.name_at.start as usize..symbol.name_at.end as usize;
        assert_eq!(&text[name_at], symbol.name, "the name stands where it is said to");
        let container = symbol.container.as_deref().unwrap_or("-");
        lines += &format!("{} {} {} {container}\n", symbol.line, symbol.kind.name(), symbol.name);
    }
    lines
}

/// The text of the whole definition of `name`.
fn whole<'a>(language: Language, text: &'a str, name: &str) -> &'a str {
    let found = symbols_of(language, text.as_bytes());
    let symbol = found.symbols.iter().find(|symbol| symbol.name == name).expect("it is there");
    &text[symbol.extent.start as usize..symbol.extent.end as usize]
}
