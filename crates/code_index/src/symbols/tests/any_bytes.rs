//! What must hold for any bytes, in any language.

use std::time::Instant;

use proptest::prelude::*;

use super::{FileSymbols, Parsers, later, symbols_of};
use crate::Language;

/// Pieces that make parsers think.
const PIECES: [&str; 30] = [
    "{",
    "}",
    "(",
    ")",
    "\n",
    "\n}\n",
    "\n{\n",
    ";",
    ":",
    "\"",
    "'",
    "`${",
    "/*",
    "*/",
    "//",
    "#if\n",
    "#endif\n",
    "#define X ",
    "class A",
    "fn f()",
    "def f",
    "function g() {\n",
    "struct s ",
    "<?php ",
    "int main(void)\n{\n\tbody of it;\n}\n",
    "=",
    "é",
    "<<EOF\n",
    "@",
    "\t",
];

fn source() -> impl Strategy<Value = Vec<u8>> {
    let piece = prop_oneof![
        8 => proptest::sample::select(&PIECES[..]).prop_map(|piece| piece.as_bytes().to_vec()),
        1 => proptest::collection::vec(any::<u8>(), 0..8),
    ];
    proptest::collection::vec(piece, 0..40).prop_map(|pieces| pieces.concat())
}

fn check(text: &[u8], found: &FileSymbols) {
    let mut last = None;
    for symbol in &found.symbols {
        let name_at = symbol.name_at.start as usize..symbol.name_at.end as usize;
        assert_eq!(String::from_utf8_lossy(&text[name_at.clone()]), symbol.name);
        assert!(symbol.extent.start <= symbol.name_at.start, "{symbol:?}");
        assert!(symbol.extent.end as usize <= text.len(), "{symbol:?}");
        assert!(symbol.name_at.end <= symbol.extent.end, "{symbol:?}");
        let before = &text[..name_at.start];
        assert_eq!(symbol.line as usize, 1 + before.iter().filter(|byte| **byte == b'\n').count());
        let line = before.rsplit(|byte| *byte == b'\n').next().unwrap_or_default();
        assert_eq!(symbol.column as usize, line.len() + 1);
        assert!(last < Some(symbol.name_at.start), "in order, each name once");
        last = Some(symbol.name_at.start);
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn symbols_stand_where_they_are_said_to(text in source()) {
        let mut parsers = Parsers::new();
        for language in Language::ALL {
            check(&text, &parsers.symbols(language, &text, later()));
        }
    }

    #[test]
    fn every_place_of_a_word_is_reported(text in source()) {
        let mut parsers = Parsers::new();
        for language in Language::ALL {
            let found = parsers.occurrences(language, &text, "f", later());
            let expected = super::super::occurrences::places(&text, b"f");
            let places: Vec<_> =
                found.iter().map(|one| one.at.start as usize..one.at.end as usize).collect();
            prop_assert_eq!(places, expected);
        }
    }
}

#[test]
fn deep_nesting_is_no_danger() {
    for language in Language::ALL {
        for open in ["(", "{", "[", "a(", "if x {", "class A { "] {
            let text = open.repeat(1000);
            check(text.as_bytes(), &symbols_of(language, text.as_bytes()));
        }
    }
}

#[test]
#[cfg(feature = "rust")]
fn what_stands_in_thousands_of_scopes_names_the_nearest() {
    let deep = 2000;
    let text = format!("{}fn f() {{}}{}", "mod scope {".repeat(deep), "}".repeat(deep));
    let found = symbols_of(Language::Rust, text.as_bytes());
    assert_eq!(found.symbols.len(), deep + 1);
    let containers = || found.symbols.iter().filter_map(|symbol| symbol.container.as_deref());
    assert!(containers().all(|container| container.len() <= 1000));
    assert!(containers().next_back().unwrap().ends_with(".scope.scope"));
}

#[test]
#[cfg(feature = "c")]
fn time_that_has_run_out_is_said() {
    let text = "int f(void) { return 1; }\n".repeat(5000);
    let mut parsers = Parsers::new();
    let found = parsers.symbols(Language::C, text.as_bytes(), Instant::now());
    assert!(!found.complete);
    // The next file is not read as if it were the rest of this one.
    let next = parsers.symbols(Language::C, b"int g;\n", later());
    assert_eq!((next.symbols.len(), next.complete), (1, true));
}
