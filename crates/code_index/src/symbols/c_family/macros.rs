//! Macros where the parser lost its way.
//!
//! After something it cannot make sense of, the parser may swallow directives up to the end of the
//! file. A definition of a macro is recognised by its line alone.

use std::ops::Range;

use tree_sitter::Tree;

use super::super::SymbolKind;
use super::super::assemble::{RawKind, RawSymbol};

/// Less than what the parser found at the same place.
const ORDER: u32 = 3;

/// The definitions of macros that stand in `text` outside of comments.
pub(in super::super) fn macros(tree: &Tree, text: &[u8]) -> Vec<RawSymbol> {
    let starts = memchr::memmem::find_iter(text, b"define");
    starts.filter_map(|define| macro_at(tree, text, define)).collect()
}

fn macro_at(tree: &Tree, text: &[u8], define: usize) -> Option<RawSymbol> {
    let line = memchr::memrchr(b'\n', &text[..define]).map_or(0, |newline| newline + 1);
    if text[line..define].trim_ascii() != b"#" {
        return None;
    }
    let after = define + b"define".len();
    let blanks = text[after..].iter().take_while(|byte| matches!(byte, b' ' | b'\t')).count();
    let start = after + blanks;
    let is_part = |byte: &&u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'$');
    let length = text[start..].iter().take_while(is_part).count();
    if blanks == 0 || length == 0 || text[start].is_ascii_digit() {
        return None;
    }
    let node = tree.root_node().descendant_for_byte_range(define, define + 1);
    if node.is_some_and(|node| node.kind() == "comment" || node.kind().contains("string")) {
        return None;
    }
    Some(RawSymbol {
        what: RawKind::Symbol(SymbolKind::Macro),
        name: start..start + length,
        extent: line..end_of(text, start..start + length),
        within: None,
        order: ORDER,
    })
}

/// Where a directive ends: with its line, unless that goes on in the next one.
fn end_of(text: &[u8], name: Range<usize>) -> usize {
    let mut at = name.end;
    loop {
        let rest = &text[at..];
        let Some(newline) = memchr::memchr(b'\n', rest) else { return text.len() };
        if !rest[..newline].trim_ascii_end().ends_with(b"\\") {
            return at + newline;
        }
        at += newline + 1;
    }
}
