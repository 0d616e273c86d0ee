//! Which parts of a code are keywords, texts, comments and so on, as the authors of its grammar see it.
//!
//! A pure function of the text. Unfinished code is welcome: what cannot be recognised has no colour.

use std::ops::{ControlFlow, Range};
use std::sync::OnceLock;

use tree_sitter::{
    InputEdit, ParseOptions, Parser, Point, Query, QueryCursor, StreamingIterator as _, Tree,
};

use crate::Language;

/// How many unfinished matches tree-sitter may keep at once; a bound on memory for hostile text.
const MATCH_LIMIT: u32 = 1024;

/// How deep in the tree something has a colour. A query looks up from every node to the root, and the work must
/// not grow with the square of the brackets.
const DEEPEST: u32 = 1_000;

/// Tokens side by side in a part that is not understood. From every token a query looks at all that follow it.
const WIDEST_ERROR: u32 = 1_000;

/// How often the parser may report progress for one text. Code that is not in its language makes it look
/// at everything again with every line, and the work must not grow with the square of the lines.
const MOST_WORK: usize = 4_000;

/// What a part of a code is, as far as a reader wants to tell it apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum SyntaxKind {
    Comment,
    Keyword,
    /// A string or a character.
    Text,
    /// A number, or a name that stands for a fixed value.
    Constant,
    Function,
    Type,
    /// An attribute, an annotation or a label.
    Attribute,
}

impl SyntaxKind {
    /// The kind that a capture of a highlight query stands for. Variables, properties and punctuation
    /// have none.
    fn of_capture(name: &str) -> Option<SyntaxKind> {
        let (first, rest) = name.split_once('.').unwrap_or((name, ""));
        match first {
            "comment" => Some(SyntaxKind::Comment),
            "keyword" | "tag" => Some(SyntaxKind::Keyword),
            "variable" if rest == "builtin" => Some(SyntaxKind::Keyword),
            "string" | "escape" => Some(SyntaxKind::Text),
            "number" | "constant" | "boolean" => Some(SyntaxKind::Constant),
            "function" => Some(SyntaxKind::Function),
            "type" | "constructor" | "module" => Some(SyntaxKind::Type),
            "attribute" | "label" => Some(SyntaxKind::Attribute),
            _ => None,
        }
    }
}

/// The coloured parts of `text` in order; none overlap. There are none if the language is not known:
/// `language_or_path` is the word after a code fence, or the path of a file.
pub fn highlight(language_or_path: &str, text: &str) -> Vec<(Range<usize>, SyntaxKind)> {
    let colours = CodeColours::new(language_or_path);
    colours.map(|mut colours| colours.push(text)).unwrap_or_default()
}

/// What a capture of a compiled query does to the bytes below it.
#[derive(Clone, Copy)]
enum Paint {
    Kind(SyntaxKind),
    /// Code within a string has the colours of code.
    Reset,
    Nothing,
}

struct CompiledColours {
    query: Query,
    paints: Vec<Paint>,
}

/// Compiles each query when it is first needed. None without a grammar.
fn compiled(language: Language) -> Option<&'static CompiledColours> {
    static ALL: [OnceLock<Option<CompiledColours>>; Language::ALL.len()] =
        [const { OnceLock::new() }; Language::ALL.len()];
    ALL[language as usize].get_or_init(|| compile(language).ok()).as_ref()
}

/// The error is for those who add a language; a test shows it.
fn compile(language: Language) -> Result<CompiledColours, String> {
    let grammar = language.grammar().ok_or("the grammar is not built in")?;
    let text = language.spec().highlights.join("\n");
    let query = Query::new(&grammar, &text).map_err(|error| error.to_string())?;
    let paint = |name: &&str| match SyntaxKind::of_capture(name) {
        Some(kind) => Paint::Kind(kind),
        None if *name == "embedded" => Paint::Reset,
        None => Paint::Nothing,
    };
    let paints = query.capture_names().iter().map(paint).collect();
    Ok(CompiledColours { query, paints })
}

/// Code that comes in pieces. Each piece is read with what came before it as its context, and the tree of
/// that is used again, so that a piece costs about as much as it is long.
pub struct CodeColours {
    parser: Parser,
    cursor: QueryCursor,
    colours: &'static CompiledColours,
    tree: Option<Tree>,
    text: String,
    end: Point,
    /// Steps of the parser so far.
    work: usize,
    /// Whether nothing more has colours.
    is_over: bool,
}

impl std::fmt::Debug for CodeColours {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("CodeColours").field("text", &self.text).finish_non_exhaustive()
    }
}

impl CodeColours {
    /// For a language by its name or a file by its path; `None` if its grammar is not built in.
    pub fn new(language_or_path: &str) -> Option<CodeColours> {
        let language = Language::called(language_or_path)?;
        let colours = compiled(language)?;
        let mut parser = Parser::new();
        parser.set_language(&language.grammar()?).ok()?;
        let mut cursor = QueryCursor::new();
        cursor.set_match_limit(MATCH_LIMIT);
        cursor.set_max_start_depth(Some(DEEPEST));
        let end = Point::new(0, 0);
        let (tree, text) = (None, String::new());
        Some(CodeColours { parser, cursor, colours, tree, text, end, work: 0, is_over: false })
    }

    /// The bytes that were pushed.
    pub fn len(&self) -> usize {
        self.text.len()
    }

    /// Whether nothing was pushed.
    pub fn is_empty(&self) -> bool {
        self.text.is_empty()
    }

    /// Takes the next whole lines and gives the coloured parts of them, in order.
    pub fn push(&mut self, piece: &str) -> Vec<(Range<usize>, SyntaxKind)> {
        if self.is_over {
            return Vec::new();
        }
        let start = self.text.len();
        self.append(piece);
        let added = start..self.text.len();
        let Some(tree) = self.parse().filter(|tree| !has_wide_error(tree)) else {
            self.is_over = true;
            return Vec::new();
        };
        let mut marks = self.marks(&tree, &added);
        self.tree = Some(tree);
        // What stands within something else is painted over it; of several about the same the last
        // counts, as in the highlighter that the queries were written for.
        marks.sort_by_key(|mark| (mark.at.start, std::cmp::Reverse(mark.at.end), mark.order));
        let mut painted = vec![None; piece.len()];
        for mark in marks {
            let from = mark.at.start.max(added.start) - start;
            let to = mark.at.end.min(added.end).saturating_sub(start);
            painted.get_mut(from..to).into_iter().for_each(|bytes| bytes.fill(mark.kind));
        }
        runs(&painted)
    }

    /// The tree of all of the text; none once that has taken too much work.
    fn parse(&mut self) -> Option<Tree> {
        let (bytes, work) = (self.text.as_bytes(), &mut self.work);
        let mut read = |at: usize, _| bytes.get(at..).unwrap_or_default();
        let mut watch = |_: &tree_sitter::ParseState| {
            *work += 1;
            if *work < MOST_WORK { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
        };
        let options = ParseOptions::new().progress_callback(&mut watch);
        let tree = self.parser.parse_with_options(&mut read, self.tree.as_ref(), Some(options));
        if tree.is_none() {
            self.parser.reset();
        }
        tree
    }

    fn append(&mut self, piece: &str) {
        let (start_byte, start_position) = (self.text.len(), self.end);
        self.text.push_str(piece);
        let lines = memchr::memchr_iter(b'\n', piece.as_bytes()).count();
        let last = piece.rsplit('\n').next().map_or(0, str::len);
        let before = if lines == 0 { self.end.column } else { 0 };
        self.end = Point::new(self.end.row + lines, before + last);
        if let Some(tree) = &mut self.tree {
            tree.edit(&InputEdit {
                start_byte,
                old_end_byte: start_byte,
                new_end_byte: self.text.len(),
                start_position,
                old_end_position: start_position,
                new_end_position: self.end,
            });
        }
    }

    fn marks(&mut self, tree: &Tree, added: &Range<usize>) -> Vec<SyntaxMark> {
        let mut marks = Vec::new();
        self.cursor.set_byte_range(added.clone());
        let bytes = self.text.as_bytes();
        let mut captures = self.cursor.captures(&self.colours.query, tree.root_node(), bytes);
        while let Some((one, index)) = captures.next() {
            let capture = one.captures()[*index];
            let kind = match self.colours.paints[capture.index as usize] {
                Paint::Kind(kind) => Some(kind),
                Paint::Reset => None,
                Paint::Nothing => continue,
            };
            let at = capture.node.byte_range();
            marks.push(SyntaxMark { at, order: one.pattern_index, kind });
        }
        marks
    }
}

struct SyntaxMark {
    at: Range<usize>,
    order: usize,
    kind: Option<SyntaxKind>,
}

/// Whether a part that is not understood is too wide to be coloured.
fn has_wide_error(tree: &Tree) -> bool {
    let mut cursor = tree.walk();
    loop {
        let node = cursor.node();
        if node.is_error() && node.child_count() > WIDEST_ERROR {
            return true;
        }
        if node.has_error() && cursor.goto_first_child() {
            continue;
        }
        while !cursor.goto_next_sibling() {
            if !cursor.goto_parent() {
                return false;
            }
        }
    }
}

fn runs(painted: &[Option<SyntaxKind>]) -> Vec<(Range<usize>, SyntaxKind)> {
    let mut runs = Vec::new();
    let mut start = 0;
    for run in painted.chunk_by(|a, b| a == b) {
        let end = start + run.len();
        runs.extend(run[0].map(|kind| (start..end, kind)));
        start = end;
    }
    runs
}

#[cfg(test)]
mod tests;
