//! PHP: `use`, and the files that `require` and `include` name.

use tree_sitter::Node;

use super::FileFacts;
use super::syntax::{SourceText, children, walk};
use crate::imports::ImportKind;

/// Stands for the directory of the file itself in a specifier.
pub(in crate::imports) const OWN_DIRECTORY: &str = "__DIR__";

pub(super) fn facts(source: &SourceText<'_>, root: Node<'_>) -> FileFacts {
    let mut facts = FileFacts::default();
    walk(root, |node| {
        match node.kind() {
            "namespace_use_declaration" => {
                uses(&mut facts, source, node);
                return false;
            }
            "include_expression"
            | "include_once_expression"
            | "require_expression"
            | "require_once_expression" => {
                if let Some(path) = children(node).next().and_then(|path| file(source, path)) {
                    facts.imports.push(source.import(node, path, ImportKind::Require));
                }
            }
            "class_declaration"
            | "interface_declaration"
            | "trait_declaration"
            | "enum_declaration" => facts.defines.extend(source.field(node, "name")),
            _ => {}
        }
        true
    });
    facts
}

/// `use A\B as C, D;` and `use A\{B, C\D};`.
fn uses(facts: &mut FileFacts, source: &SourceText<'_>, node: Node<'_>) {
    let mut prefix = String::new();
    let mut clauses = Vec::new();
    for part in children(node) {
        match part.kind() {
            "namespace_name" => prefix = format!("{}\\", source.text(part)),
            "namespace_use_group" => clauses.extend(children(part)),
            "namespace_use_clause" => clauses.push(part),
            _ => {}
        }
    }
    for clause in clauses {
        let name = children(clause)
            .find(|child| matches!(child.kind(), "qualified_name" | "name" | "namespace_name"));
        if let Some(name) = name {
            let whole = format!("{prefix}{}", source.text(name));
            let specifier = whole.trim_start_matches('\\').to_owned();
            let mut import = source.import(node, specifier, ImportKind::Import);
            let last = whole.rsplit('\\').next().unwrap_or_default();
            import.names.push(last.to_owned());
            facts.imports.push(import);
        }
    }
}

/// The file that an expression of constant parts names: `__DIR__ . '/x.php'`.
fn file(source: &SourceText<'_>, node: Node<'_>) -> Option<String> {
    match node.kind() {
        "parenthesized_expression" => file(source, children(node).next()?),
        "string" | "encapsed_string" => source.quoted(node).filter(|text| !text.contains('$')),
        "binary_expression" => {
            let operator = node.child_by_field_name("operator")?;
            if operator.kind() != "." {
                return None;
            }
            let left = file(source, node.child_by_field_name("left")?)?;
            Some(left + &file(source, node.child_by_field_name("right")?)?)
        }
        "name" if source.text(node) == "__DIR__" => Some(OWN_DIRECTORY.to_owned()),
        "function_call_expression" => {
            let text: String = source.text(node).split_whitespace().collect();
            match &*text {
                "dirname(__FILE__)" => Some(OWN_DIRECTORY.to_owned()),
                "dirname(__DIR__)" | "dirname(__FILE__,2)" | "dirname(dirname(__FILE__))" => {
                    Some(format!("{OWN_DIRECTORY}/.."))
                }
                "dirname(__DIR__,2)" => Some(format!("{OWN_DIRECTORY}/../..")),
                _ => None,
            }
        }
        _ => None,
    }
}
