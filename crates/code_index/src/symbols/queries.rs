//! Symbols by query: one file of patterns for each language, one reader for all of them.
//!
//! A pattern captures a `@name` and, with the name of a [`SymbolKind`], the whole definition. It may
//! also capture what the definition says it stands in (`@in`). Other captures are `@scope` with `@in`
//! (a place that members stand in, like `impl Foo`), `@namespace` with `@name` (for the rest of the
//! file) and `@attribute`. When two patterns find the same name, the earlier in the file counts, so
//! that special cases stand above general ones. What depends on the surroundings is not said in
//! patterns: a `@function` inside of a type becomes a method, a `@variable` inside of a function
//! becomes local.

use std::sync::OnceLock;
use std::time::Instant;

use tree_sitter::{Query, QueryCursor, QueryCursorOptions, StreamingIterator as _, Tree};

use super::SymbolKind;
use super::assemble::{Found, What};
use super::parsers::stop_at;
use crate::Language;

/// How many unfinished matches tree-sitter may keep at once; a bound on memory for hostile files.
const MATCH_LIMIT: u32 = 4096;

/// What a capture stands for.
#[derive(Clone, Copy)]
enum Capture {
    Name,
    In,
    Whole(What),
    /// Only a predicate looks at it.
    Unused,
}

/// A compiled query and the meaning of its captures.
struct Patterns {
    query: Query,
    captures: Vec<Capture>,
}

/// Compiles each query when it is first needed. None without a grammar.
fn patterns(language: Language) -> Option<&'static Patterns> {
    static ALL: [OnceLock<Option<Patterns>>; Language::ALL.len()] =
        [const { OnceLock::new() }; Language::ALL.len()];
    ALL[language as usize].get_or_init(|| compile(language)).as_ref()
}

fn compile(language: Language) -> Option<Patterns> {
    let query = Query::new(&language.grammar()?, &source(language)).ok()?;
    let meaning = |name: &&str| match *name {
        "name" => Some(Capture::Name),
        "in" => Some(Capture::In),
        "scope" => Some(Capture::Whole(What::Scope)),
        "namespace" => Some(Capture::Whole(What::Namespace)),
        "attribute" => Some(Capture::Whole(What::Attribute)),
        // Captures for predicates alone begin with an underscore.
        name if name.starts_with('_') => Some(Capture::Unused),
        name => Some(Capture::Whole(What::Symbol(SymbolKind::named(name)?))),
    };
    let captures = query.capture_names().iter().map(meaning).collect::<Option<Vec<_>>>()?;
    Some(Patterns { query, captures })
}

/// The text of a language's patterns.
fn source(language: Language) -> String {
    let parts: &[&str] = match language {
        Language::Bash => &[include_str!("queries/bash.scm")],
        Language::CSharp => &[include_str!("queries/csharp.scm")],
        Language::Go => &[include_str!("queries/go.scm")],
        Language::Java => &[include_str!("queries/java.scm")],
        Language::JavaScript => {
            &[include_str!("queries/ecmascript.scm"), include_str!("queries/javascript.scm")]
        }
        Language::Php => &[include_str!("queries/php.scm")],
        Language::Python => &[include_str!("queries/python.scm")],
        Language::Ruby => &[include_str!("queries/ruby.scm")],
        Language::Rust => &[include_str!("queries/rust.scm")],
        Language::Tsx | Language::TypeScript => {
            &[include_str!("queries/ecmascript.scm"), include_str!("queries/typescript.scm")]
        }
        // Read by a walk instead.
        Language::C | Language::Cpp => &[],
    };
    parts.concat()
}

/// What the patterns find, and whether time was enough.
pub(super) fn find(
    language: Language,
    cursor: &mut QueryCursor,
    tree: &Tree,
    text: &[u8],
    until: Instant,
) -> (Vec<Found>, bool) {
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
        for capture in one.captures() {
            let range = capture.node.byte_range();
            let range = range.start.min(text.len())..range.end.min(text.len());
            match patterns.captures[capture.index as usize] {
                // A Ruby symbol is written with a colon.
                Capture::Name if text[range.clone()].starts_with(b":") => {
                    name = Some(range.start + 1..range.end);
                }
                Capture::Name => name = Some(range),
                Capture::In => within = Some(range),
                Capture::Whole(what) => whole = Some((what, range)),
                Capture::Unused => {}
            }
        }
        let Some((what, extent)) = whole else { continue };
        let order = one.pattern_index as u32;
        let found_name = match what {
            What::Attribute => extent.clone(),
            What::Scope => within.take().unwrap_or(extent.start..extent.start),
            What::Symbol(_) | What::Namespace => match name {
                // An alias of Bash is one word with its value.
                Some(name) if text[name.clone()].ends_with(b"=") && language == Language::Bash => {
                    name.start..name.end - 1
                }
                Some(name) if !name.is_empty() => name,
                _ => continue,
            },
        };
        found.push(Found { what, name: found_name, extent, within, order });
    }
    drop(matches);
    (found, in_time && !cursor.did_exceed_match_limit())
}
