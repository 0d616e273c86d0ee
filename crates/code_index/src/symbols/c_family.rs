//! C and C++, by a walk over the tree.
//!
//! Queries would do, but cost half as much again as parsing: they look at every node, and four of
//! five nodes are in function bodies, where next to nothing is to be found. A walk does not enter
//! those, as "pass over symbols, of ctags' time" of `cargo xtask bench search` needs. It also follows declarators (`int (*const *name[3])(void)`) to any depth, which patterns
//! cannot, and knows what macros do to C that was never meant to be parsed without a preprocessor.

use std::ops::Range;
use std::sync::OnceLock;
use std::time::Instant;

use tree_sitter::{Node, Tree, TreeCursor};

use super::SymbolKind;
use super::assemble::{RawKind, RawSymbol};
use super::cut_bodies::defines;
use crate::Language;

mod declarator;
mod macros;

use declarator::{Declared, declared, stray_function};
pub(super) use macros::macros;

/// Where a name stands, and what it says it stands in.
type Named = (Range<usize>, Option<Range<usize>>);

/// The order of a function that the parser recognised with errors.
pub(super) const DOUBTFUL: u32 = 2;
/// How many nodes are visited between two looks at the clock.
const NODES_PER_LOOK: u32 = 4096;

/// What the walk does with a kind of node.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum WalkStep {
    /// Looks inside.
    Enter,
    /// Passes by: nothing is defined inside.
    Pass,
    /// A definition with a body or initial value; what is inside is visited too.
    Define(DefiningNode),
    /// A body of statements, entered only if something may be defined in it.
    Body,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum DefiningNode {
    Function,
    Declaration,
    Field,
    Typedef,
    /// A type, if it has a body.
    Type(SymbolKind),
    /// Something with its name in the field `name`.
    Named(SymbolKind),
    Template,
    /// A call of a macro, if it stands outside of functions.
    Statement,
}

/// The numbers of a grammar that the walk asks for.
struct GrammarIds {
    steps: Vec<WalkStep>,
    name: u16,
    body: u16,
    r#type: u16,
    declarator: u16,
    parameters: u16,
}

fn grammar(language: Language) -> Option<&'static GrammarIds> {
    static ALL: [OnceLock<Option<GrammarIds>>; Language::ALL.len()] =
        [const { OnceLock::new() }; Language::ALL.len()];
    ALL[language as usize].get_or_init(|| read_grammar(&language.grammar()?)).as_ref()
}

fn read_grammar(grammar: &tree_sitter::Language) -> Option<GrammarIds> {
    let kinds = 0..grammar.node_kind_count() as u16;
    let step_of = |id: u16| match grammar.node_kind_for_id(id) {
        Some(kind) if grammar.node_kind_is_named(id) => step(kind),
        _ => WalkStep::Pass,
    };
    let field = |name: &str| grammar.field_id_for_name(name).map(u16::from);
    Some(GrammarIds {
        steps: kinds.map(step_of).collect(),
        name: field("name")?,
        body: field("body")?,
        r#type: field("type")?,
        declarator: field("declarator")?,
        parameters: field("parameters")?,
    })
}

fn step(kind: &str) -> WalkStep {
    match kind {
        "function_definition" | "inline_method_definition" => {
            WalkStep::Define(DefiningNode::Function)
        }
        "declaration" => WalkStep::Define(DefiningNode::Declaration),
        "field_declaration" => WalkStep::Define(DefiningNode::Field),
        "type_definition" => WalkStep::Define(DefiningNode::Typedef),
        "struct_specifier" => WalkStep::Define(DefiningNode::Type(SymbolKind::Struct)),
        "union_specifier" => WalkStep::Define(DefiningNode::Type(SymbolKind::Union)),
        "enum_specifier" => WalkStep::Define(DefiningNode::Type(SymbolKind::Enum)),
        "class_specifier" => WalkStep::Define(DefiningNode::Type(SymbolKind::Class)),
        "enumerator" => WalkStep::Define(DefiningNode::Named(SymbolKind::Variant)),
        "preproc_def" | "preproc_function_def" => {
            WalkStep::Define(DefiningNode::Named(SymbolKind::Macro))
        }
        "namespace_definition" => WalkStep::Define(DefiningNode::Named(SymbolKind::Module)),
        "alias_declaration" | "concept_definition" => {
            WalkStep::Define(DefiningNode::Named(SymbolKind::TypeAlias))
        }
        "namespace_alias_definition" => WalkStep::Define(DefiningNode::Named(SymbolKind::Import)),
        "template_declaration" => WalkStep::Define(DefiningNode::Template),
        "expression_statement" => WalkStep::Define(DefiningNode::Statement),
        "compound_statement" | "try_statement" => WalkStep::Body,
        "translation_unit"
        | "linkage_specification"
        | "declaration_list"
        | "field_declaration_list"
        | "enumerator_list"
        | "preproc_if"
        | "preproc_ifdef"
        | "preproc_else"
        | "preproc_elif"
        | "preproc_elifdef"
        | "friend_declaration"
        | "template_instantiation"
        | "export_declaration"
        | "init_declarator"
        | "labeled_statement"
        | "if_statement"
        | "else_clause"
        | "for_statement"
        | "while_statement"
        | "do_statement"
        | "switch_statement"
        | "case_statement"
        | "lambda_expression"
        | "call_expression"
        | "argument_list"
        | "ERROR" => WalkStep::Enter,
        _ => WalkStep::Pass,
    }
}

/// What the walk finds, and whether time was enough.
pub(super) fn find(
    language: Language,
    tree: &Tree,
    text: &[u8],
    until: Instant,
) -> (Vec<RawSymbol>, bool) {
    let Some(grammar) = grammar(language) else { return (Vec::new(), false) };
    let mut walk = Walk { grammar, text, found: Vec::new() };
    let mut cursor = tree.walk();
    let mut visited = 0u32;
    loop {
        visited = visited.wrapping_add(1);
        if visited.is_multiple_of(NODES_PER_LOOK) && Instant::now() >= until {
            return (walk.found, false);
        }
        if walk.visit(&cursor) && cursor.goto_first_child() {
            continue;
        }
        while !cursor.goto_next_sibling() {
            if !cursor.goto_parent() {
                return (walk.found, true);
            }
        }
    }
}

/// The next sibling. Asking the node for it would begin at the root.
fn next<'tree>(cursor: &TreeCursor<'tree>) -> Option<Node<'tree>> {
    let mut cursor = cursor.clone();
    cursor.goto_next_sibling().then(|| cursor.node())
}

/// Capitals and underscores, as macros are written.
fn is_macro_name(name: &[u8]) -> bool {
    let is_capital =
        |byte: &u8| byte.is_ascii_uppercase() || byte.is_ascii_digit() || *byte == b'_';
    name.len() > 2 && name.iter().all(is_capital)
}

struct Walk<'a> {
    grammar: &'static GrammarIds,
    text: &'a [u8],
    found: Vec<RawSymbol>,
}

impl Walk<'_> {
    /// Notes what a node defines; true if it is worth looking inside.
    fn visit(&mut self, cursor: &TreeCursor<'_>) -> bool {
        let node = cursor.node();
        if node.is_error() {
            return true;
        }
        match self.grammar.steps.get(node.kind_id() as usize) {
            Some(WalkStep::Enter) => true,
            Some(WalkStep::Body) => defines(&self.text[self.clamped(node.byte_range())]),
            Some(WalkStep::Define(definition)) => self.define(*definition, cursor),
            Some(WalkStep::Pass) | None => false,
        }
    }

    fn define(&mut self, definition: DefiningNode, cursor: &TreeCursor<'_>) -> bool {
        let node = cursor.node();
        match definition {
            DefiningNode::Function => self.function(node),
            DefiningNode::Declaration => self.declaration(node, cursor),
            DefiningNode::Statement => {
                self.macro_call(node, next(cursor));
                true
            }
            DefiningNode::Field => self.field(node),
            DefiningNode::Typedef => {
                self.declarators(node, |declared| (SymbolKind::TypeAlias, declared))
            }
            DefiningNode::Type(kind) => {
                if node.child_by_field_id(self.grammar.body).is_none() {
                    return false;
                }
                if let Some(name) = node.child_by_field_id(self.grammar.name) {
                    self.push_type(kind, name, node);
                }
                true
            }
            DefiningNode::Named(kind) => {
                if let Some(name) = node.child_by_field_id(self.grammar.name) {
                    self.push(kind, name.byte_range(), None, node.byte_range());
                }
                kind == SymbolKind::Module
            }
            DefiningNode::Template => {
                if let Some(parameters) = node.child_by_field_id(self.grammar.parameters) {
                    let extent = node.start_byte()..parameters.end_byte();
                    self.note(RawKind::Attribute, extent.clone(), None, extent);
                }
                true
            }
        }
    }

    fn function(&mut self, node: Node<'_>) -> bool {
        let Some(declarator) = node.child_by_field_id(self.grammar.declarator) else { return true };
        let r#type = node.child_by_field_id(self.grammar.r#type);
        let name = match declared(declarator) {
            Some(declared) if declared.is_function => self
                .macro_argument(declarator, &declared.name)
                .or_else(|| self.conversion(r#type, &declared.name))
                .or(Some((declared.name, declared.within))),
            // `MACRO type name(void) { … }` is read as a function of type `name`.
            _ if declarator.kind() == "parenthesized_declarator" => r#type
                .filter(|r#type| r#type.kind() == "type_identifier")
                .map(|r#type| (r#type.byte_range(), None)),
            // `type name(…) MACRO { … }` is read as a function called `MACRO`.
            _ => stray_function(node)
                .or_else(|| stray_function(declarator))
                .and_then(declared)
                .map(|declared| (declared.name, declared.within)),
        };
        if let Some((name, within)) = name {
            self.push(SymbolKind::Function, name, within, node.byte_range());
            if node.has_error()
                && let Some(last) = self.found.last_mut()
            {
                last.order = DOUBTFUL;
            }
        }
        true
    }

    /// `A::operator double()` is read as a function `double` of type `A::operator`.
    fn conversion(&self, r#type: Option<Node<'_>>, name: &Range<usize>) -> Option<Named> {
        let r#type = r#type.filter(|r#type| r#type.kind() == "qualified_identifier")?;
        let operator = r#type.child_by_field_id(self.grammar.name)?;
        let scope = r#type.child_by_field_name("scope")?;
        self.is(operator, b"operator")
            .then(|| (operator.start_byte()..name.end, Some(scope.byte_range())))
    }

    /// In `SYSCALL_DEFINE1(name, …) { … }`, what a macro defines is its first argument; in
    /// `TEST(Suite, name) { … }` it is the second.
    fn macro_argument(&self, declarator: Node<'_>, name: &Range<usize>) -> Option<Named> {
        let called = self.text.get(name.clone()).filter(|name| is_macro_name(name))?;
        let parameters = declarator.child_by_field_id(self.grammar.parameters)?;
        let argument = |index| {
            let parameter: Node<'_> = parameters.named_child(index)?;
            let is_bare =
                parameter.kind() == "parameter_declaration" && parameter.named_child_count() == 1;
            parameter.named_child(0).filter(|name| is_bare && name.kind() == "type_identifier")
        };
        self.named_by_macro(called, argument(0)?, argument(1))
    }

    fn named_by_macro(
        &self,
        called: &[u8],
        first: Node<'_>,
        second: Option<Node<'_>>,
    ) -> Option<Named> {
        match second.filter(|_| called.starts_with(b"TEST")) {
            Some(second) => Some((second.byte_range(), Some(first.byte_range()))),
            None => Some((first.byte_range(), None)),
        }
    }

    /// `SYSCALL_DEFINE1(name, …) { … }` and `DEFINE_MUTEX(name);` outside of functions.
    fn macro_call(&mut self, node: Node<'_>, next: Option<Node<'_>>) {
        let has_body = next.is_some_and(|next| next.kind() == "compound_statement");
        let Some(call) = node.named_child(0).filter(|call| call.kind() == "call_expression") else {
            return;
        };
        let (Some(function), Some(arguments)) =
            (call.child_by_field_name("function"), call.child_by_field_name("arguments"))
        else {
            return;
        };
        let Some(called) = self.text.get(function.byte_range()) else { return };
        let argument = |index| {
            arguments.named_child(index).filter(|name: &Node<'_>| name.kind() == "identifier")
        };
        let Some(first) = argument(0).filter(|_| is_macro_name(called)) else { return };
        let Some((name, within)) = self.named_by_macro(called, first, argument(1)) else { return };
        let extent = node.start_byte()..next.filter(|_| has_body).unwrap_or(node).end_byte();
        if has_body {
            self.push(SymbolKind::Function, name, within, extent);
        } else if called.starts_with(b"DEFINE_") || called.starts_with(b"DECLARE_") {
            self.push(SymbolKind::Variable, name, within, extent);
        }
    }

    fn declaration(&mut self, node: Node<'_>, at: &TreeCursor<'_>) -> bool {
        let mut is_extern = false;
        let mut is_const = false;
        let mut stray = None;
        let mut is_unfinished = false;
        let mut cursor = node.walk();
        for child in node.children(&mut cursor) {
            match child.kind() {
                "storage_class_specifier" => is_extern |= self.is(child, b"extern"),
                "type_qualifier" => {
                    is_const |= self.is(child, b"const") || self.is(child, b"constexpr");
                }
                // `type name[] __attribute = …`: the name is in what the parser could not place.
                "ERROR" => stray = child.named_child(0).and_then(declared),
                ";" => is_unfinished = child.is_missing(),
                _ => {}
            }
        }
        let mut better = stray.map(|declared| declared.name);
        if is_unfinished {
            match next(at).map(|next| (next.kind(), next)) {
                // `MACRO type name(…) { … }` in two parts; the second one has the name.
                Some(("function_definition", _)) => return false,
                // `type __attribute name;` in two parts.
                Some(("expression_statement", next)) => {
                    let name = next.named_child(0);
                    let name = match name.filter(|name| name.kind() == "assignment_expression") {
                        Some(assignment) => assignment.child_by_field_name("left"),
                        None => name,
                    };
                    better = name
                        .filter(|name| name.kind() == "identifier")
                        .map(|name| name.byte_range())
                        .or(better);
                }
                _ => {}
            }
        }
        let text = self.text;
        let is_attribute = |name: &Range<usize>| {
            text.get(name.clone()).is_some_and(|name| name.starts_with(b"__"))
        };
        let kind = |declared: &Declared| match (declared.is_function, is_extern, is_const) {
            (true, ..) => SymbolKind::Declaration,
            (_, true, _) if !declared.has_value => SymbolKind::Declaration,
            (_, _, true) => SymbolKind::Constant,
            _ => SymbolKind::Variable,
        };
        self.declarators(node, |mut declared| {
            if is_attribute(&declared.name)
                && let Some(better) =
                    better.clone().or(declared.stray.clone()).filter(|name| !is_attribute(name))
            {
                declared.name = better;
            }
            (kind(&declared), declared)
        })
    }

    fn field(&mut self, node: Node<'_>) -> bool {
        self.declarators(node, |declared| {
            let is_function = declared.is_function;
            (if is_function { SymbolKind::Declaration } else { SymbolKind::Field }, declared)
        })
    }

    /// Each name that a declaration declares; the type before them is visited on the way down.
    fn declarators(
        &mut self,
        node: Node<'_>,
        settle: impl Fn(Declared) -> (SymbolKind, Declared),
    ) -> bool {
        let mut cursor = node.walk();
        for child in node.children_by_field_name("declarator", &mut cursor) {
            if let Some(declared) = declared(child) {
                let (kind, declared) = settle(declared);
                self.push(kind, declared.name, declared.within, node.byte_range());
            }
        }
        node.child_by_field_id(self.grammar.r#type).is_some()
    }

    fn push_type(&mut self, kind: SymbolKind, name: Node<'_>, node: Node<'_>) {
        if let Some(declared) = declared(name) {
            self.push(kind, declared.name, declared.within, node.byte_range());
        }
    }

    fn push(
        &mut self,
        kind: SymbolKind,
        name: Range<usize>,
        within: Option<Range<usize>>,
        extent: Range<usize>,
    ) {
        self.note(RawKind::Symbol(kind), name, within, extent);
    }

    fn note(
        &mut self,
        what: RawKind,
        name: Range<usize>,
        within: Option<Range<usize>>,
        extent: Range<usize>,
    ) {
        let name = self.clamped(name);
        if !name.is_empty() {
            let within = within.map(|range| self.clamped(range));
            let extent = self.clamped(extent);
            self.found.push(RawSymbol { what, name, extent, within, order: 0 });
        }
    }

    /// Within the text, although the parser was given a line end behind it.
    fn clamped(&self, range: Range<usize>) -> Range<usize> {
        range.start.min(self.text.len())..range.end.min(self.text.len())
    }

    fn is(&self, node: Node<'_>, word: &[u8]) -> bool {
        self.text.get(node.byte_range()) == Some(word)
    }
}
