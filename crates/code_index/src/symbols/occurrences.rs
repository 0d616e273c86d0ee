//! Where a name stands in a file, and what it does there.

mod preprocessed;

use std::ops::Range;
use std::sync::OnceLock;

use tree_sitter::{Node, Tree};

use super::assemble::LineCounter;
use super::{Occurrence, Role, Symbol, SymbolKind};
use crate::Language;

/// Every place where `name` stands as a whole word.
pub(super) fn places(text: &[u8], name: &[u8]) -> Vec<Range<usize>> {
    if name.is_empty() {
        return Vec::new();
    }
    let is_alone = |range: &Range<usize>| {
        let before = range.start.checked_sub(1).and_then(|at| text.get(at));
        let begins = !joins(name.first()) || !joins(before);
        let ends = !joins(name.last()) || !joins(text.get(range.end));
        begins && ends
    };
    memchr::memmem::find_iter(text, name).map(|at| at..at + name.len()).filter(is_alone).collect()
}

/// Whether a byte continues a word. Letters beyond ASCII do, in all languages here.
fn joins(byte: Option<&u8>) -> bool {
    byte.is_some_and(|&byte| byte.is_ascii_alphanumeric() || byte == b'_' || byte >= 0x80)
}

/// What a name does at each of `places`. Without a tree it is only known to be used.
pub(super) fn with_roles(
    language: Language,
    tree: Option<&Tree>,
    text: &[u8],
    places: &[Range<usize>],
    symbols: &[Symbol],
) -> Vec<Occurrence> {
    let roles = match tree {
        Some(tree) => roles_in_tree(language, tree, text, places),
        None => vec![Role::Reference; places.len()],
    };
    let mut lines = LineCounter::new(text);
    let mut symbols = symbols.iter().peekable();
    let mut found = Vec::with_capacity(places.len());
    for (place, role) in places.iter().zip(roles) {
        let at = place.start as u32..place.end as u32;
        while symbols.next_if(|symbol| symbol.name_at.start < at.start).is_some() {}
        let role = match symbols.peek().filter(|symbol| symbol.name_at == at) {
            Some(symbol) if symbol.kind == SymbolKind::Import => Role::Import,
            Some(_) => Role::Definition,
            None => role,
        };
        let (line, column) = lines.place_of(place.start);
        found.push(Occurrence { at, line, column, role });
    }
    found
}

/// What a kind of node says about the names in it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Says {
    /// They are what they would be around it.
    Nothing,
    /// They are that.
    Role(Role),
    /// They are code again, although around it is text.
    Code,
    /// They stand in what the preprocessor of C gets as it is, strings and comments included.
    RawCode,
}

/// One walk down to each place, without visiting what has none.
fn roles_in_tree(
    language: Language,
    tree: &Tree,
    text: &[u8],
    places: &[Range<usize>],
) -> Vec<Role> {
    let says = sayings(language);
    let mut roles = Vec::with_capacity(places.len());
    let mut cursor = tree.walk();
    // The role at each level above the cursor.
    let mut around = vec![Role::Reference];
    let mut places = places.iter().peekable();
    'walk: while let Some(place) = places.peek() {
        let node = cursor.node();
        if holds(&node, place.start) {
            let outer = around.last().copied().unwrap_or(Role::Reference);
            let role = match says.get(node.kind_id() as usize) {
                Some(Says::Role(role)) => *role,
                Some(Says::Code) if outer == Role::Text => Role::Reference,
                _ => outer,
            };
            if cursor.goto_first_child() {
                around.push(role);
                continue;
            }
            let is_raw = matches!(says.get(node.kind_id() as usize), Some(Says::RawCode));
            // A leaf may hold several places, like a long comment.
            while let Some(place) = places.next_if(|place| holds(&node, place.start)) {
                let raw = is_raw && role == Role::Reference;
                roles.push(if raw { preprocessed::role(&node, text, place.start) } else { role });
            }
        } else if node.start_byte() > place.start {
            // Between two nodes: blanks, or the text around an interpolation.
            roles.push(around.last().copied().unwrap_or(Role::Reference));
            places.next();
            continue;
        }
        while !cursor.goto_next_sibling() {
            // What is left of the parent behind its last child.
            let role = around.pop().unwrap_or(Role::Reference);
            if !cursor.goto_parent() {
                break 'walk;
            }
            let parent = cursor.node();
            while places.next_if(|place| holds(&parent, place.start)).is_some() {
                roles.push(role);
            }
        }
    }
    roles.extend(places.map(|_| Role::Reference));
    roles
}

fn holds(node: &Node<'_>, at: usize) -> bool {
    (node.start_byte()..node.end_byte()).contains(&at)
}

/// What each kind of node says, by its number in the grammar.
fn sayings(language: Language) -> &'static [Says] {
    static ALL: [OnceLock<Vec<Says>>; Language::ALL.len()] =
        [const { OnceLock::new() }; Language::ALL.len()];
    ALL[language as usize].get_or_init(|| {
        let Some(grammar) = language.grammar() else { return Vec::new() };
        let kinds = 0..grammar.node_kind_count() as u16;
        kinds.map(|id| grammar.node_kind_for_id(id).map_or(Says::Nothing, saying)).collect()
    })
}

/// The names of node kinds are close enough in all grammars to be read by one table.
fn saying(kind: &str) -> Says {
    match kind {
        "interpolation"
        | "format_expression"
        | "template_substitution"
        | "command_substitution"
        | "process_substitution"
        | "simple_expansion"
        | "expansion"
        | "variable_name"
        | "dynamic_variable_name"
        | "member_access_expression"
        | "subscript_expression" => Says::Code,
        "string"
        | "string_literal"
        | "raw_string"
        | "raw_string_literal"
        | "char_literal"
        | "character_literal"
        | "verbatim_string_literal"
        | "interpolated_string_expression"
        | "concatenated_string"
        | "template_string"
        | "interpreted_string_literal"
        | "rune_literal"
        | "system_lib_string"
        | "ansi_c_string"
        | "translated_string"
        | "heredoc"
        | "heredoc_body"
        | "nowdoc"
        | "nowdoc_body"
        | "encapsed_string"
        | "regex"
        | "regex_literal"
        | "jsx_text"
        | "text"
        | "text_interpolation"
        | "string_array"
        | "subshell_string"
        | "shell_command_expression"
        | "bare_string"
        | "chained_string"
        | "format_specifier"
        | "interpolation_format_clause"
        | "preproc_endregion"
        | "preproc_error"
        | "preproc_region"
        | "preproc_warning"
        | "uninterpreted" => Says::Role(Role::Text),
        "preproc_arg" => Says::RawCode,
        "comment" | "line_comment" | "block_comment" | "doc_comment" | "html_comment" => {
            Says::Role(Role::Comment)
        }
        "use_declaration"
        | "extern_crate_declaration"
        | "import_statement"
        | "import_from_statement"
        | "future_import_statement"
        | "import_declaration"
        | "using_directive"
        | "using_declaration"
        | "namespace_use_declaration"
        | "preproc_include"
        | "import_alias" => Says::Role(Role::Import),
        _ => Says::Nothing,
    }
}
