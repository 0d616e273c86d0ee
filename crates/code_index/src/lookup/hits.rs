//! Definitions as they are found: matched against the question, and the best of them kept.

use workspace::RelPath;

use super::by_text::{TextDefinition, TextLook};
use super::definition_query::{Definition, DefinitionQuery};
use super::signature::{TextLines, signature};
use super::standing::{
    DefinitionGroup, DefinitionRank, KindStanding, is_elsewhere, remoteness, remoteness_of,
};
use super::symbol_name::Fit;
use crate::Language;
use crate::symbols::Symbol;

/// Signs that belong to how a name is written, not to the name.
const SIGILS: [char; 4] = ['$', '@', ':', '#'];

/// The best hits of one thread.
pub(super) struct Hits {
    wanted: usize,
    best: Vec<(DefinitionRank, Definition)>,
    total: u64,
}

/// A file that was read.
pub(super) struct ParsedSource<'a> {
    pub(super) path: &'a RelPath,
    pub(super) text: &'a [u8],
    pub(super) language: Language,
}

impl Hits {
    pub(super) fn new(wanted: usize) -> Self {
        Self { wanted, best: Vec::new(), total: 0 }
    }

    pub(super) fn total(&self) -> u64 {
        self.total
    }

    /// Adds those of a file's symbols that are asked for.
    pub(super) fn add(
        &mut self,
        source: &ParsedSource<'_>,
        symbols: &[Symbol],
        query: &DefinitionQuery,
    ) {
        let mut lines = None;
        let mut remote = None;
        for symbol in symbols {
            let Some(fit) = fit(symbol, source.path, query) else { continue };
            let (start, end) = (symbol.name_at.start as usize, symbol.name_at.end as usize);
            let next = source.text.get(end..).and_then(|rest| rest.trim_ascii_start().first());
            if query.only.is_some_and(|only| !only.accepts(symbol.kind, next)) {
                continue;
            }
            let lines = lines.get_or_insert_with(|| TextLines::new(source.text));
            let (before, after) = lines.context(symbol.line, query.context, query.max_line_chars);
            let signature = signature(source.text, start, end);
            let standing = DefinitionRank {
                by_text: false,
                fit,
                group: DefinitionGroup::of(symbol.kind),
                remoteness: *remote.get_or_insert_with(|| {
                    remoteness_of(source.path, source.text, source.language)
                }),
                standing: KindStanding::of(symbol, source.language),
                is_private: source.language.spec().privacy.hides(&symbol.name, &signature),
                is_elsewhere: is_elsewhere(source.path, &query.name.name),
                depth: source.path.depth(),
                path: source.path.clone(),
                line: symbol.line,
            };
            self.push(
                standing,
                Definition {
                    path: source.path.clone(),
                    line: symbol.line,
                    kind: symbol.kind.name(),
                    container: symbol.container.clone(),
                    signature,
                    before,
                    after,
                    by_text: false,
                },
            );
        }
    }

    /// Adds a line that looks like a definition.
    pub(super) fn add_text(
        &mut self,
        path: &RelPath,
        text: &[u8],
        found: TextDefinition,
        query: &DefinitionQuery,
    ) {
        let lines = TextLines::new(text);
        let line = lines.line_of(found.at);
        let (before, after) = lines.context(line, query.context, query.max_line_chars);
        let standing = DefinitionRank {
            by_text: true,
            fit: Fit::Loose,
            group: DefinitionGroup::Definition,
            remoteness: remoteness(path),
            standing: KindStanding::Main,
            is_private: false,
            is_elsewhere: is_elsewhere(path, &query.name.name),
            depth: path.depth(),
            path: path.clone(),
            line,
        };
        let kind = match found.look {
            TextLook::Function => "function",
            TextLook::Type => "type",
            TextLook::Variable => "variable",
        };
        let signature = signature(text, found.at, found.at + query.name.name.len());
        self.push(
            standing,
            Definition {
                path: path.clone(),
                line,
                kind,
                container: None,
                signature,
                before,
                after,
                by_text: true,
            },
        );
    }

    fn push(&mut self, standing: DefinitionRank, definition: Definition) {
        self.total += 1;
        self.best.push((standing, definition));
        if self.best.len() > self.wanted.saturating_mul(2).max(64) {
            self.shrink();
        }
    }

    pub(super) fn merge(&mut self, other: Hits) {
        self.total += other.total;
        self.best.extend(other.best);
        self.shrink();
    }

    fn shrink(&mut self) {
        self.best.sort_by(|a, b| a.0.cmp(&b.0));
        self.best.truncate(self.wanted);
    }

    /// The best, best first, and how many there were.
    pub(super) fn into_best(mut self) -> (Vec<Definition>, u64) {
        self.shrink();
        (self.best.into_iter().map(|(_, definition)| definition).collect(), self.total)
    }
}

/// How well a symbol fits what is asked for; none if it does not.
pub(super) fn fit(symbol: &Symbol, path: &RelPath, query: &DefinitionQuery) -> Option<Fit> {
    let plain = symbol.name.trim_start_matches(SIGILS);
    if plain == query.name.name || symbol.name == query.name.name {
        return query.name.fits(path, symbol.container.as_deref());
    }
    // Modules may be named by a whole path: `com.example.app`.
    let (outer, last) = plain.rsplit_once(['.', '\\', ':'])?;
    if last != query.name.name {
        return None;
    }
    let outer = outer.trim_end_matches([':', '\\', '.']);
    let container = match &symbol.container {
        Some(container) => format!("{container}.{outer}"),
        None => outer.to_owned(),
    };
    query.name.fits(path, Some(&container))
}
