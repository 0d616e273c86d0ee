//! From a declarator to the name in it.

use std::ops::Range;

use tree_sitter::Node;

/// What a declarator declares.
pub(super) struct Declared {
    /// Where the name stands.
    pub(super) name: Range<usize>,
    /// `Outer::Inner` of `Outer::Inner::name`.
    pub(super) within: Option<Range<usize>>,
    /// Whether it is a function, and not a pointer to one.
    pub(super) is_function: bool,
    /// Whether it has an initial value.
    pub(super) has_value: bool,
    /// A name beside the declarator that the parser could not place.
    pub(super) stray: Option<Range<usize>>,
}

/// The name in a declarator: in `(*const *name[3])(void)` it is `name`.
pub(super) fn declared(declarator: Node<'_>) -> Option<Declared> {
    let mut node = declarator;
    let mut is_function = false;
    let mut has_value = false;
    let mut stray = None;
    let mut within: Option<Range<usize>> = None;
    loop {
        node = match node.kind() {
            "identifier" | "field_identifier" | "type_identifier" | "primitive_type"
            | "destructor_name" | "operator_name" => {
                let name = node.byte_range();
                return Some(Declared { name, within, is_function, has_value, stray });
            }
            "operator_cast" => {
                let end = node
                    .child_by_field_name("type")
                    .map_or(node.end_byte(), |r#type| r#type.end_byte());
                let name = node.start_byte()..end;
                return Some(Declared { name, within, is_function: true, has_value, stray });
            }
            "function_declarator" | "abstract_function_declarator" => {
                is_function = true;
                // `MACRO type name(…)`: what was taken for the name is the type.
                stray_before(node, "parameters")
                    .or_else(|| node.child_by_field_name("declarator"))?
            }
            "init_declarator" => {
                has_value = true;
                stray = stray_before(node, "value").map(|name| name.byte_range());
                node.child_by_field_name("declarator")?
            }
            "parenthesized_declarator"
            | "attributed_declarator"
            | "reference_declarator"
            | "structured_binding_declarator" => {
                if node.kind() == "reference_declarator" {
                    is_function = false;
                }
                first_named(node)?
            }
            "pointer_declarator" | "array_declarator" | "bitfield_clause" => {
                is_function = false;
                node.child_by_field_name("declarator").or_else(|| first_named(node))?
            }
            "qualified_identifier" => {
                if let Some(scope) = node.child_by_field_name("scope") {
                    let start = within.map_or(scope.start_byte(), |range| range.start);
                    within = Some(start..scope.end_byte());
                }
                node.child_by_field_name("name")?
            }
            "template_function" | "template_method" | "template_type" | "dependent_name" => {
                node.child_by_field_name("name").or_else(|| first_named(node))?
            }
            _ => return None,
        };
    }
}

/// A function that the parser could not place among the children of `node`.
pub(super) fn stray_function(node: Node<'_>) -> Option<Node<'_>> {
    let mut cursor = node.walk();
    let stray = node.children(&mut cursor).find(|child| child.is_error())?;
    stray.named_child(0).filter(|name| name.kind() == "function_declarator")
}

/// A name that the parser could not place between a declarator and what follows it.
fn stray_before<'tree>(node: Node<'tree>, field: &str) -> Option<Node<'tree>> {
    if !node.has_error() {
        return None;
    }
    let end = node.child_by_field_name(field)?.start_byte();
    let mut cursor = node.walk();
    let stray = node.children(&mut cursor).find(|child| child.is_error())?;
    let name = stray.named_child(0)?;
    let is_name = name.kind() == "identifier" && stray.named_child_count() == 1;
    (is_name && name.start_byte() < end).then_some(name)
}

/// The first child that is not an attribute or a comment.
fn first_named(node: Node<'_>) -> Option<Node<'_>> {
    let mut cursor = node.walk();
    node.named_children(&mut cursor).find(|child| {
        !matches!(
            child.kind(),
            "comment"
                | "attribute_specifier"
                | "attribute_declaration"
                | "ms_call_modifier"
                | "type_qualifier"
                | "ms_pointer_modifier"
                | "ms_based_modifier"
        )
    })
}
