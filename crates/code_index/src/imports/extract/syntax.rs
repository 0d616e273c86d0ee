//! Parsing within bounds, and walking over what was parsed.

use std::borrow::Cow;
use std::cell::RefCell;
use std::ops::ControlFlow;
use std::sync::Arc;

use tree_sitter::{Node, ParseOptions, Parser, Tree};

use crate::Language;
use crate::excerpt::excerpt;
use crate::imports::{Import, ImportKind};

/// Characters of a statement that are kept.
const STATEMENT_CHARS: usize = 200;

thread_local! {
    /// A parser keeps memory for the next file and belongs to one thread.
    static PARSER: RefCell<Parser> = RefCell::new(Parser::new());
}

/// The syntax tree of `bytes`, errors included; none if it takes too long.
pub(super) fn parse(language: Language, bytes: &[u8], is_over: &dyn Fn() -> bool) -> Option<Tree> {
    let grammar = language.grammar()?;
    PARSER.with_borrow_mut(|parser| {
        parser.set_language(&grammar).ok()?;
        let mut in_time = |_: &_| match is_over() {
            false => ControlFlow::Continue(()),
            true => ControlFlow::Break(()),
        };
        let options = ParseOptions::new().progress_callback(&mut in_time);
        // The Go grammar wants a line break at the end, whatever the file has.
        let mut text = |at: usize, _| match bytes.get(at..) {
            Some(rest) if !rest.is_empty() => rest,
            _ if at == bytes.len() => b"\n".as_slice(),
            _ => b"".as_slice(),
        };
        let tree = parser.parse_with_options(&mut text, None, Some(options));
        if tree.is_none() {
            parser.reset();
        }
        tree
    })
}

/// Calls `enter` for every named node, outermost first. Where it says no, the inside is left out.
pub(super) fn walk<'t>(root: Node<'t>, mut enter: impl FnMut(Node<'t>) -> bool) {
    let mut cursor = root.walk();
    loop {
        let node = cursor.node();
        let inside = !node.is_named() || enter(node);
        if inside && cursor.goto_first_child() {
            continue;
        }
        while !cursor.goto_next_sibling() {
            if !cursor.goto_parent() {
                return;
            }
        }
    }
}

/// The named children of a node.
pub(super) fn children<'t>(node: Node<'t>) -> impl Iterator<Item = Node<'t>> {
    let mut cursor = node.walk();
    let found: Vec<_> = node.named_children(&mut cursor).collect();
    found.into_iter()
}

/// The children of a node in one of its fields.
pub(super) fn fields<'t>(node: Node<'t>, field: &str) -> impl Iterator<Item = Node<'t>> {
    let mut cursor = node.walk();
    let found: Vec<_> = node.children_by_field_name(field, &mut cursor).collect();
    found.into_iter()
}

/// Whether a node has a child of this kind, be it only a word.
pub(super) fn has(node: Node<'_>, kind: &str) -> bool {
    let mut cursor = node.walk();
    node.children(&mut cursor).any(|child| child.kind() == kind)
}

/// The text that a tree was made from.
pub(super) struct SourceText<'a> {
    bytes: &'a [u8],
}

impl<'a> SourceText<'a> {
    pub(super) fn new(bytes: &'a [u8]) -> SourceText<'a> {
        SourceText { bytes }
    }

    pub(super) fn text(&self, node: Node<'_>) -> Cow<'a, str> {
        let end = node.end_byte().min(self.bytes.len());
        String::from_utf8_lossy(&self.bytes[node.start_byte().min(end)..end])
    }

    pub(super) fn owned(&self, node: Node<'_>) -> String {
        self.text(node).into_owned()
    }

    pub(super) fn field(&self, node: Node<'_>, field: &str) -> Option<String> {
        node.child_by_field_name(field).map(|child| self.owned(child))
    }

    /// What stands between the quotes of a plain string.
    pub(super) fn quoted(&self, node: Node<'_>) -> Option<String> {
        let text = self.text(node);
        let quote = text.chars().next().filter(|first| "\"'`".contains(*first))?;
        let inside = text.strip_prefix(quote)?.strip_suffix(quote)?;
        (!inside.is_empty() && !inside.contains('\n')).then(|| inside.to_owned())
    }

    /// An import at `node`, with its statement and line.
    pub(super) fn import(&self, node: Node<'_>, specifier: String, kind: ImportKind) -> Import {
        Import {
            line: u32::try_from(node.start_position().row).unwrap_or(u32::MAX).saturating_add(1),
            statement: self.statement(node),
            specifier,
            names: Vec::new(),
            exposed: Vec::new(),
            kind,
            scope: Vec::new(),
        }
    }

    /// An import by a name in the midst of other code, with the line that it stands in.
    pub(super) fn import_in_line(
        &self,
        node: Node<'_>,
        specifier: String,
        kind: ImportKind,
    ) -> Import {
        let at = node.start_byte().min(self.bytes.len());
        let start = memchr::memrchr(b'\n', &self.bytes[..at]).map_or(0, |newline| newline + 1);
        let end = memchr::memchr(b'\n', &self.bytes[at..]).map_or(self.bytes.len(), |it| at + it);
        let line = excerpt(self.bytes[start..end].trim_ascii(), 0, STATEMENT_CHARS);
        Import { statement: line.into(), ..self.import(node, specifier, kind) }
    }

    /// The text of a node on one line.
    fn statement(&self, node: Node<'_>) -> Arc<str> {
        let text = self.text(node);
        let mut line = String::new();
        for word in text.split_whitespace() {
            if !line.is_empty() {
                line.push(' ');
            }
            line.push_str(word);
            // No character is longer than four bytes.
            if line.len() > STATEMENT_CHARS * 4 {
                break;
            }
        }
        match line.char_indices().nth(STATEMENT_CHARS) {
            Some((cut, _)) => format!("{}…", &line[..cut]).into(),
            None => line.into(),
        }
    }
}
