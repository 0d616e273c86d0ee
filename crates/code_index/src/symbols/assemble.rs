//! From what a grammar recognised to symbols: order, containers, lines.

use std::ops::Range;

use super::{Symbol, SymbolKind};

/// Bytes of what a symbol stands in. Of scopes within thousands of scopes the nearest are named, so that
/// the work and the memory grow with the text and not with its square.
const MAX_CONTAINER: usize = 1000;

/// Something recognised in a file, before it is known what it stands in.
#[derive(Debug, Clone)]
pub(super) struct RawSymbol {
    pub(super) what: RawKind,
    /// Where the name stands; for a scope, what its members are said to be in.
    pub(super) name: Range<usize>,
    /// The whole of it.
    pub(super) extent: Range<usize>,
    /// What it says itself that it stands in: `Foo` of `Foo::bar`, the receiver of a Go method.
    pub(super) within: Option<Range<usize>>,
    /// Of two finds with the same name at the same place, the one with the lower order counts.
    pub(super) order: u32,
}

impl RawSymbol {
    /// The same in a text where it stands so many bytes later, to be believed less than what was
    /// found there already.
    pub(super) fn moved(self, by: usize) -> RawSymbol {
        let moved = |range: Range<usize>| range.start + by..range.end + by;
        RawSymbol {
            what: self.what,
            name: moved(self.name),
            extent: moved(self.extent),
            within: self.within.map(moved),
            order: self.order + 1,
        }
    }

    fn is_symbol(&self) -> bool {
        matches!(self.what, RawKind::Symbol(_) | RawKind::Namespace)
    }
}

/// What was recognised.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum RawKind {
    Symbol(SymbolKind),
    /// A place that other symbols stand in without being one itself, like `impl Foo`.
    Scope,
    /// A namespace for all that follows in the file.
    Namespace,
    /// An attribute or decorator that belongs to what follows it.
    Attribute,
    /// A function without a name, in which variables are out of sight.
    Block,
}

/// A scope that is still open.
struct OpenScope {
    start: usize,
    end: usize,
    path: String,
    /// None for a scope that is not a symbol, whose members are those of a type.
    kind: Option<SymbolKind>,
}

impl OpenScope {
    /// Whether `found` stands in this scope.
    fn holds(&self, found: &RawSymbol) -> bool {
        // Several names of one declaration stand beside each other.
        let is_same = self.start == found.extent.start && self.end == found.extent.end;
        // In `typedef struct a { … } b` and `struct a { … } b`, `a` is not part of `b`.
        let by_the_way = match (self.kind, found.what) {
            (Some(outer), RawKind::Symbol(inner)) => inner.is_type() && outer.is_declared_by_type(),
            _ => false,
        };
        found.extent.start < self.end && !is_same && !by_the_way
    }
}

/// Turns finds into symbols, ordered by place.
pub(super) fn assemble(text: &[u8], mut found: Vec<RawSymbol>) -> Vec<Symbol> {
    // When two patterns find the same name, the first of them knows better.
    found.sort_by_key(|one| (one.name.start, one.is_symbol(), one.order));
    found.dedup_by(|next, one| {
        one.name.start == next.name.start && one.is_symbol() && next.is_symbol()
    });
    // An outer find comes before what stands in it.
    found.sort_by_key(|one| (one.extent.start, std::cmp::Reverse(one.extent.end), one.name.start));
    let mut symbols: Vec<Symbol> = Vec::with_capacity(found.len());
    let mut open: Vec<OpenScope> = Vec::new();
    let mut attributes: Option<Range<usize>> = None;
    let mut found = found.into_iter().peekable();
    while let Some(one) = found.next() {
        let start = one.extent.start;
        while open.last().is_some_and(|scope| !scope.holds(&one)) {
            open.pop();
        }
        if one.what == RawKind::Attribute {
            attributes = Some(match attributes.take() {
                Some(first) if is_blank(text, first.end..start) => first.start..one.extent.end,
                _ => one.extent,
            });
            continue;
        }
        let mut extent = one.extent.clone();
        if let Some(range) = attributes.take()
            && is_blank(text, range.end..start)
        {
            extent.start = range.start;
        }
        let around = open.last();
        // A field that a method defines, like `self.a = 1`, belongs to the type.
        let is_field = one.what == RawKind::Symbol(SymbolKind::Field);
        let is_method = |scope: &&OpenScope| scope.kind == Some(SymbolKind::Method);
        let around_path = match around {
            Some(method) if is_field && is_method(&method) => {
                method.path.rsplit_once('.').map(|(of_type, _)| of_type)
            }
            _ => around.map(|scope| scope.path.as_str()),
        };
        let within = one.within.map(|range| path_of(&text[range]));
        let container = joined(around_path, within.as_deref());
        let name = String::from_utf8_lossy(&text[one.name.clone()]).into_owned();
        let kind = match one.what {
            RawKind::Symbol(kind) => Some(settled(kind, around, within.is_some())),
            RawKind::Namespace => Some(SymbolKind::Module),
            RawKind::Scope | RawKind::Attribute | RawKind::Block => None,
        };
        if one.what == RawKind::Namespace {
            open.clear();
        }
        let end = if one.what == RawKind::Namespace { usize::MAX } else { extent.end };
        // Most symbols have nothing in them, and are not worth a path.
        if kind != Some(SymbolKind::Import)
            && found.peek().is_some_and(|next| next.extent.start < end)
        {
            let inner = path_of(&text[one.name.clone()]);
            let path = joined(container.as_deref(), Some(&inner)).unwrap_or_default();
            // What hides variables is a function, whether it has a name or not.
            let is_block = one.what == RawKind::Block;
            let kind = if is_block { Some(SymbolKind::Function) } else { kind };
            open.push(OpenScope { start: extent.start, end, path, kind });
        }
        if let Some(kind) = kind {
            let symbol = Symbol {
                name,
                kind,
                line: 0,
                column: 0,
                name_at: short(one.name),
                extent: short(extent),
                container,
            };
            symbols.push(symbol);
        }
    }
    symbols.sort_by_key(|symbol| symbol.name_at.start);
    let mut lines = LineCounter::new(text);
    for symbol in &mut symbols {
        (symbol.line, symbol.column) = lines.place_of(symbol.name_at.start as usize);
    }
    symbols
}

/// The kind after a look at what is around: a function in a type is a method, a variable in a
/// function is local.
fn settled(kind: SymbolKind, around: Option<&OpenScope>, names_its_type: bool) -> SymbolKind {
    let in_type = around.is_some_and(|scope| scope.kind.is_none_or(SymbolKind::is_type));
    let hidden = around.is_some_and(|scope| scope.kind.is_some_and(SymbolKind::hides_variables));
    match kind {
        SymbolKind::Function if in_type || names_its_type => SymbolKind::Method,
        SymbolKind::Variable if in_type => SymbolKind::Field,
        SymbolKind::Variable | SymbolKind::Constant if hidden => SymbolKind::Local,
        _ => kind,
    }
}

fn joined(outer: Option<&str>, inner: Option<&str>) -> Option<String> {
    let joined =
        match (outer.filter(|path| !path.is_empty()), inner.filter(|path| !path.is_empty())) {
            (Some(outer), Some(inner)) => format!("{outer}.{inner}"),
            (Some(one), None) | (None, Some(one)) => one.to_owned(),
            (None, None) => return None,
        };
    Some(nearest(joined)).filter(|path| !path.is_empty())
}

/// The end of a path, in whole names, that is not longer than [`MAX_CONTAINER`].
fn nearest(path: String) -> String {
    let Some(over) = path.len().checked_sub(MAX_CONTAINER).filter(|over| *over > 0) else {
        return path;
    };
    let end = &path[path.ceil_char_boundary(over - 1)..];
    end.split_once('.').map(|(_, whole)| whole.to_owned()).unwrap_or_default()
}

/// A path as any language writes it, with dots and without type arguments, references, lifetimes,
/// and words around it: `&'a dyn std::fmt::Display + Send` is `std.fmt.Display`.
fn path_of(text: &[u8]) -> String {
    let text = String::from_utf8_lossy(text);
    let text = text.split(" + ").next().unwrap_or_default();
    let mut path = String::with_capacity(text.len());
    let mut depth = 0u32;
    let mut in_lifetime = false;
    for c in text.chars() {
        let is_word =
            c.is_alphanumeric() || matches!(c, '_' | '$' | '#' | '-' | '~' | '?' | '!' | '=');
        in_lifetime = c == '\'' || in_lifetime && is_word;
        match c {
            '<' | '[' | '(' => depth += 1,
            '>' | ']' | ')' => depth = depth.saturating_sub(1),
            _ if depth > 0 || in_lifetime => {}
            ':' | '\\' | '.' if path.is_empty() || path.ends_with('.') => {}
            ':' | '\\' | '.' => path.push('.'),
            ' ' if !path.ends_with('.') => path.clear(),
            c if is_word => path.push(c),
            _ => {}
        }
    }
    path.truncate(path.trim_end_matches('.').len());
    path
}

fn is_blank(text: &[u8], range: Range<usize>) -> bool {
    text.get(range).is_some_and(|between| between.trim_ascii().is_empty())
}

fn short(range: Range<usize>) -> Range<u32> {
    let short = |at: usize| u32::try_from(at).unwrap_or(u32::MAX);
    short(range.start)..short(range.end)
}

/// Counts lines up to places that come in order.
pub(super) struct LineCounter<'a> {
    text: &'a [u8],
    line: u32,
    /// Where the line begins.
    start: usize,
    /// Up to where lines were counted. A line may be as long as the text, with all places in it.
    counted: usize,
}

impl<'a> LineCounter<'a> {
    pub(super) fn new(text: &'a [u8]) -> Self {
        Self { text, line: 1, start: 0, counted: 0 }
    }

    /// Line and column of a place that does not lie before the last one.
    pub(super) fn place_of(&mut self, at: usize) -> (u32, u32) {
        for newline in memchr::memchr_iter(b'\n', &self.text[self.counted..at]) {
            self.line += 1;
            self.start = self.counted + newline + 1;
        }
        self.counted = at;
        (self.line, (at - self.start) as u32 + 1)
    }
}
