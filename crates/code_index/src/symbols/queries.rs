//! Symbols by query: one file of patterns for each language, one reader for all of them.
//!
//! A pattern captures a `@name` and, with the name of a [`SymbolKind`], the whole definition. It
//! may also capture what the definition says it stands in (`@in`). Other captures are `@scope` with
//! `@in` (a place that members stand in, like `impl Foo`), `@namespace` with `@name` (for the rest
//! of the file), `@attribute` and `@block` (a function without a name, whose variables are local). When two patterns find the same name, the earlier in the file
//! counts, so that special cases stand above general ones. `(#set! trim ":")` leaves a `:` at the
//! beginning or end of a name out of it. What depends on the surroundings is not said in patterns:
//! a `@function` inside of a type becomes a method, a `@variable` inside of a function becomes
//! local.

use std::ops::Range;
use std::sync::OnceLock;
use std::time::Instant;

use tree_sitter::{Query, QueryCursor, QueryCursorOptions, StreamingIterator as _, Tree};

use super::SymbolKind;
use super::assemble::{RawKind, RawSymbol};
use super::parsers::stop_at;
use crate::Language;
use crate::language::SymbolSource;

/// How many unfinished matches tree-sitter may keep at once; a bound on memory for hostile files.
const MATCH_LIMIT: u32 = 4096;

/// What a capture stands for.
#[derive(Clone, Copy)]
enum Capture {
    Name,
    In,
    Whole(RawKind),
    /// Only a predicate looks at it.
    Unused,
}

/// A compiled query and the meaning of its captures.
struct CompiledQuery {
    query: Query,
    captures: Vec<Capture>,
    /// For each pattern, the byte that a name may have at one of its ends without it being part of
    /// the name.
    trims: Vec<Option<u8>>,
}

/// Compiles each query when it is first needed. None without a grammar.
fn patterns(language: Language) -> Option<&'static CompiledQuery> {
    static ALL: [OnceLock<Option<CompiledQuery>>; Language::ALL.len()] =
        [const { OnceLock::new() }; Language::ALL.len()];
    ALL[language as usize].get_or_init(|| compile(language).ok()).as_ref()
}

/// The error is for authors of queries; a test shows it.
fn compile(language: Language) -> Result<CompiledQuery, String> {
    let SymbolSource::Queries(files) = language.spec().symbols else {
        return Err("it has none".to_owned());
    };
    let grammar = language.grammar().ok_or("the grammar is not built in")?;
    let query = Query::new(&grammar, &files.concat()).map_err(|error| error.to_string())?;
    let meaning = |name: &&str| match *name {
        "name" => Ok(Capture::Name),
        "in" => Ok(Capture::In),
        "scope" => Ok(Capture::Whole(RawKind::Scope)),
        "namespace" => Ok(Capture::Whole(RawKind::Namespace)),
        "attribute" => Ok(Capture::Whole(RawKind::Attribute)),
        "block" => Ok(Capture::Whole(RawKind::Block)),
        // Captures for predicates alone begin with an underscore.
        name if name.starts_with('_') => Ok(Capture::Unused),
        name => SymbolKind::named(name)
            .map(|kind| Capture::Whole(RawKind::Symbol(kind)))
            .ok_or(format!("`@{name}` is not a kind of symbol")),
    };
    let captures = query.capture_names().iter().map(meaning).collect::<Result<Vec<_>, _>>()?;
    let trims = (0..query.pattern_count()).map(|pattern| trim(&query, pattern)).collect();
    Ok(CompiledQuery { query, captures, trims })
}

/// Whether the queries of a language that has any compile and find symbols.
#[cfg(test)]
pub(crate) fn check(language: Language) -> Result<(), String> {
    if matches!(language.spec().symbols, SymbolSource::CFamily { .. }) {
        return Ok(());
    }
    let patterns = compile(language)?;
    let has = |wanted: fn(&Capture) -> bool| patterns.captures.iter().any(wanted);
    let has_names = has(|capture| matches!(capture, Capture::Name));
    let has_symbols = has(|capture| matches!(capture, Capture::Whole(RawKind::Symbol(_))));
    if has_names && has_symbols { Ok(()) } else { Err("they capture no symbols".to_owned()) }
}

/// The byte that a pattern sets as `trim`.
fn trim(query: &Query, pattern: usize) -> Option<u8> {
    let settings = query.property_settings(pattern);
    let trim = settings.iter().find(|setting| &*setting.key == "trim")?;
    trim.value.as_ref()?.bytes().next()
}

fn trimmed(text: &[u8], name: Range<usize>, trim: Option<u8>) -> Range<usize> {
    let Some(trim) = trim else { return name };
    let bytes = &text[name.clone()];
    let start = name.start + usize::from(bytes.first() == Some(&trim));
    let end = name.end - usize::from(bytes.len() > 1 && bytes.last() == Some(&trim));
    start..end
}

/// What the patterns find, and whether time was enough.
pub(super) fn find(
    language: Language,
    cursor: &mut QueryCursor,
    tree: &Tree,
    text: &[u8],
    until: Instant,
) -> (Vec<RawSymbol>, bool) {
    let Some(patterns) = patterns(language) else { return (Vec::new(), false) };
    cursor.set_match_limit(MATCH_LIMIT);
    let mut in_time = true;
    let mut watch = |_: &tree_sitter::QueryCursorState| {
        let flow = stop_at(until);
        in_time &= flow.is_continue();
        flow
    };
    let options = QueryCursorOptions::new().progress_callback(&mut watch);
    let mut found = Vec::new();
    let mut matches = cursor.matches_with_options(&patterns.query, tree.root_node(), text, options);
    while let Some(one) = matches.next() {
        let (mut name, mut within, mut whole) = (None, None, None);
        let trims = patterns.trims[one.pattern_index];
        for capture in one.captures() {
            let range = capture.node.byte_range();
            let range = range.start.min(text.len())..range.end.min(text.len());
            match patterns.captures[capture.index as usize] {
                Capture::Name => name = Some(trimmed(text, range, trims)),
                Capture::In => within = Some(range),
                Capture::Whole(what) => whole = Some((what, range)),
                Capture::Unused => {}
            }
        }
        let Some((what, extent)) = whole else { continue };
        let order = one.pattern_index as u32;
        let found_name = match what {
            RawKind::Attribute => extent.clone(),
            RawKind::Block => extent.start..extent.start,
            RawKind::Scope => within.take().unwrap_or(extent.start..extent.start),
            RawKind::Symbol(_) | RawKind::Namespace => match name {
                Some(name) if !name.is_empty() => name,
                _ => continue,
            },
        };
        found.push(RawSymbol { what, name: found_name, extent, within, order });
    }
    drop(matches);
    (found, in_time && !cursor.did_exceed_match_limit())
}
