//! One thread's parser, and the way from bytes to symbols.

use std::ops::ControlFlow;
use std::time::Instant;

use tree_sitter::{ParseOptions, Parser, QueryCursor, Tree};

use super::assemble::assemble;
use super::{FileSymbols, Occurrence, c_family, cut_bodies, occurrences, queries};
use crate::Language;
use crate::language::SymbolSource;

/// What a thread keeps between files. The queries are compiled once and shared by all threads.
pub(crate) struct Parsers {
    parser: Parser,
    /// The language that the parser is set to.
    language: Option<Language>,
    cursor: QueryCursor,
}

impl Parsers {
    /// A parser for any language.
    pub(crate) fn new() -> Parsers {
        Parsers { parser: Parser::new(), language: None, cursor: QueryCursor::new() }
    }

    /// What `text` defines, as far as it can be known by `until`.
    pub(crate) fn symbols(
        &mut self,
        language: Language,
        text: &[u8],
        until: Instant,
    ) -> FileSymbols {
        let text = addressable(text);
        if let SymbolSource::CFamily { is_cpp } = language.spec().symbols {
            return self.c_symbols(language, is_cpp, text, until);
        }
        match self.parse(language, text, until) {
            Some(tree) => self.extract(language, &tree, text, until),
            None => FileSymbols::default(),
        }
    }

    /// Parses without function bodies, which is much faster. Macros may keep the parser from
    /// understanding what is left; then functions whose bodies are known but which were not
    /// recognised are parsed once more, each by itself.
    fn c_symbols(
        &mut self,
        language: Language,
        is_cpp: bool,
        text: &[u8],
        until: Instant,
    ) -> FileSymbols {
        let cut = cut_bodies::cut(is_cpp, text);
        let Some(tree) = self.parse(language, &cut.text, until) else {
            return FileSymbols::default();
        };
        let (mut found, mut complete) = c_family::find(language, &tree, &cut.text, until);
        if tree.root_node().has_error() {
            for piece in cut.functions_not_in(&found) {
                let alone = &cut.text[piece.clone()];
                let Some(tree) = self.parse(language, alone, until) else {
                    complete = false;
                    break;
                };
                let (more, in_time) = c_family::find(language, &tree, alone, until);
                if more.iter().any(|one| one.order < c_family::DOUBTFUL) {
                    found.retain(|one| {
                        one.order < c_family::DOUBTFUL || one.extent.end != piece.end
                    });
                }
                found.extend(more.into_iter().map(|one| one.moved(piece.start)));
                complete &= in_time;
            }
            found.extend(c_family::macros(&tree, &cut.text));
        }
        for one in &mut found {
            cut.put_back(one);
        }
        FileSymbols { symbols: assemble(text, found), complete }
    }

    /// Where the whole word `name` stands in `text`, in order.
    pub(crate) fn occurrences(
        &mut self,
        language: Language,
        text: &[u8],
        name: &str,
        until: Instant,
    ) -> Vec<Occurrence> {
        let text = addressable(text);
        let places = occurrences::places(text, name.as_bytes());
        if places.is_empty() {
            return Vec::new();
        }
        let tree = self.parse(language, text, until);
        let symbols = match (&tree, language.spec().symbols) {
            // The tree of the whole text shows fewer definitions than one without macros.
            (Some(_), SymbolSource::CFamily { is_cpp }) => {
                self.c_symbols(language, is_cpp, text, until).symbols
            }
            (Some(tree), SymbolSource::Queries(_)) => {
                self.extract(language, tree, text, until).symbols
            }
            (None, _) => Vec::new(),
        };
        occurrences::with_roles(language, tree.as_ref(), text, &places, &symbols)
    }

    fn extract(
        &mut self,
        language: Language,
        tree: &Tree,
        text: &[u8],
        until: Instant,
    ) -> FileSymbols {
        let (found, complete) = match language.spec().symbols {
            SymbolSource::CFamily { .. } => c_family::find(language, tree, text, until),
            SymbolSource::Queries(_) => {
                queries::find(language, &mut self.cursor, tree, text, until)
            }
        };
        FileSymbols { symbols: assemble(text, found), complete }
    }

    /// The tree of `text`; none without a grammar or when time ran out.
    fn parse(&mut self, language: Language, text: &[u8], until: Instant) -> Option<Tree> {
        if self.language != Some(language) {
            self.parser.set_language(&language.grammar()?).ok()?;
            self.language = Some(language);
        }
        // Some grammars lose the last line if it does not end.
        let ending: &[u8] = if text.last() == Some(&b'\n') { b"" } else { b"\n" };
        let mut read = |at: usize, _| match text.get(at..) {
            Some(rest) if !rest.is_empty() => rest,
            _ => ending.get(at.saturating_sub(text.len())..).unwrap_or_default(),
        };
        let mut watch = |_: &tree_sitter::ParseState| stop_at(until);
        let options = ParseOptions::new().progress_callback(&mut watch);
        let tree = self.parser.parse_with_options(&mut read, None, Some(options));
        if tree.is_none() {
            // Otherwise the next parse would go on where this one stopped.
            self.parser.reset();
        }
        tree
    }
}

/// What `text` defines, for those who ask about one file only.
pub fn file_symbols(language: Language, text: &[u8], until: Instant) -> FileSymbols {
    Parsers::new().symbols(language, text, until)
}

/// What a callback of tree-sitter answers.
pub(super) fn stop_at(until: Instant) -> ControlFlow<()> {
    if Instant::now() < until { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
}

/// As much of a text as tree-sitter can count. Callers read files far smaller than that.
fn addressable(text: &[u8]) -> &[u8] {
    &text[..text.len().min(i32::MAX as usize)]
}
