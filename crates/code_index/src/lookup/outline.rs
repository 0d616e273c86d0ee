//! The skeleton of a file or a directory.

use std::time::Instant;

use workspace::{Error, Flow, OpenFile, RelPath, WalkReport};

use super::headings::headings;
use super::signature::signature;
use super::standing::remoteness;
use super::symbol_cache::SymbolCache;
use super::word_files::read_text;
use crate::code_base::{FileVisitor, FoundFile};
use crate::symbols::{Parsers, Symbol, SymbolKind};
use crate::{CodeBase, Language, SearchScope};

/// One line of a skeleton.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OutlineEntry {
    /// The line in the file, from 1; 0 for a heading that stands on no line of its own.
    pub line: u32,
    /// How deep it is nested.
    pub depth: usize,
    /// What it is; none for text.
    pub kind: Option<SymbolKind>,
    /// The head of the definition.
    pub text: String,
    /// Lower is more important.
    pub weight: u8,
}

/// The skeleton of one file.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct FileOutline {
    /// In the order of the file.
    pub entries: Vec<OutlineEntry>,
    /// How it was made: "symbols", "headings", "keys" or "text".
    pub by: &'static str,
    /// False if time ran out.
    pub complete: bool,
}

/// The files of a directory that are worth an outline.
#[derive(Debug, Clone, Default)]
pub struct OutlineFiles {
    /// The most important first.
    pub files: Vec<RelPath>,
    /// What the walk covered.
    pub walk: WalkReport,
}

/// The skeleton of a file that is open. None if it is not text or too large.
pub fn outline_file(code: &CodeBase, file: &OpenFile, scope: &SearchScope) -> Option<FileOutline> {
    let mut buffer = Vec::new();
    let text = read_text(file, scope.max_file_bytes, &mut buffer)?;
    let until = (Instant::now() + scope.file_time).min(scope.deadline);
    Some(outline_text(code.language_of(file.path(), text), file.path(), text, until))
}

/// The skeleton of a text, as the file at `path`.
fn outline_text(
    language: Option<Language>,
    path: &RelPath,
    text: &[u8],
    until: Instant,
) -> FileOutline {
    let Some(language) = language else { return headings(path, text) };
    let found = SymbolCache::shared()
        .symbols_of(language, text, || Parsers::new().symbols(language, text, until));
    let entries = nested(language, text, &found.symbols);
    FileOutline { entries, by: "symbols", complete: found.complete }
}

/// The files beneath the start of `scope` whose language is known, the most important first: near
/// the top, not tests, not foreign. `cancel` is asked often.
pub fn files_to_outline(
    code: &CodeBase,
    scope: &SearchScope,
    cancel: &(dyn Fn() -> bool + Sync),
) -> Result<OutlineFiles, Error> {
    let (walk, gathered) = code.visit(scope, cancel, OutlineVisitor::default)?;
    let mut files: Vec<RelPath> = gathered.into_iter().flat_map(|thread| thread.files).collect();
    files.sort_by_cached_key(|path| (remoteness(path), path.depth(), path.clone()));
    Ok(OutlineFiles { files, walk })
}

#[derive(Default)]
struct OutlineVisitor {
    files: Vec<RelPath>,
}

impl FileVisitor for OutlineVisitor {
    fn visit(&mut self, file: &FoundFile<'_>) -> Flow {
        let path = file.path();
        if Language::parsed(&path).is_some() {
            self.files.push(path);
        }
        Flow::Continue
    }
}

/// The symbols of a file as a tree, by what stands inside of what.
fn nested(language: Language, text: &[u8], symbols: &[Symbol]) -> Vec<OutlineEntry> {
    let mut entries = Vec::new();
    let mut open: Vec<&Symbol> = Vec::new();
    // The container under which symbols stand that are written outside of it, as in `impl Foo`.
    let mut heading: Option<(&str, usize)> = None;
    for symbol in symbols {
        if matches!(symbol.kind, SymbolKind::Local | SymbolKind::Import) {
            continue;
        }
        while open.last().is_some_and(|outer| outer.extent.end < symbol.extent.end) {
            open.pop();
        }
        let inner_of = |outer: &&&Symbol| outer.extent.start <= symbol.extent.start;
        let depth = open.iter().filter(inner_of).count();
        let stands_in = open.last().map(|outer| outer.name.as_str());
        let container = symbol.container.as_deref();
        let is_apart = container.is_some_and(|container| {
            stands_in.is_none_or(|outer| container.rsplit('.').next() != Some(outer))
        });
        let mut extra = 0;
        match (is_apart, container) {
            (true, Some(container)) => {
                if heading != Some((container, depth)) {
                    let text = format!("{container}:");
                    entries.push(OutlineEntry { line: 0, depth, kind: None, text, weight: 1 });
                    heading = Some((container, depth));
                }
                extra = 1;
            }
            _ if depth == 0 => heading = None,
            _ if heading.is_some_and(|(_, at)| depth > at) => extra = 1,
            _ => {}
        }
        let shown = signature(text, symbol.name_at.start as usize, symbol.name_at.end as usize);
        let private = language.spec().privacy.hides(&symbol.name, &shown);
        entries.push(OutlineEntry {
            line: symbol.line,
            depth: depth + extra,
            kind: Some(symbol.kind),
            weight: symbol.kind.rank() * 2 + u8::from(private),
            text: shown,
        });
        open.push(symbol);
    }
    entries
}

#[cfg(test)]
mod tests;
