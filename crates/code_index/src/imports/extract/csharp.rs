//! C#: `using` directives, and the names of types that are used without one.

use std::collections::{BTreeMap, BTreeSet};

use tree_sitter::Node;

use super::syntax::{SourceText, children, has, walk};
use super::{DefinedType, FileFacts};
use crate::imports::{ALL_NAMES, Import, ImportKind};

pub(super) fn facts(source: &SourceText<'_>, root: Node<'_>) -> FileFacts {
    let mut found = CSharpFile::default();
    walk(root, |node| found.enter(source, node));
    found.finish(source)
}

#[derive(Default)]
struct CSharpFile<'t> {
    facts: FileFacts,
    /// Names that may be types, where each stands first.
    used: BTreeMap<String, Node<'t>>,
    /// Names behind a dot, which may be methods that a class adds to another one.
    members: BTreeSet<String>,
    /// The namespaces of the file.
    namespaces: BTreeSet<String>,
    /// What stands before the last dot of names that are written with a part of their path.
    qualifiers: BTreeSet<String>,
}

impl<'t> CSharpFile<'t> {
    fn enter(&mut self, source: &SourceText<'_>, node: Node<'t>) -> bool {
        match node.kind() {
            "using_directive" => {
                self.using(source, node);
                return false;
            }
            "namespace_declaration" | "file_scoped_namespace_declaration" => {
                self.namespaces.insert(namespace_of(source, node));
            }
            "enum_declaration" | "delegate_declaration" => self.define(source, node, false),
            kind if is_type(kind) => self.define(source, node, false),
            "method_declaration" if is_extension(source, node) => self.define(source, node, true),
            "attribute" => {
                if let Some(name) = node.child_by_field_name("name") {
                    let name = source.text(name);
                    let last = name.rsplit('.').next().unwrap_or_default();
                    self.used.entry(format!("{last}Attribute")).or_insert(node);
                }
            }
            "qualified_name" | "member_access_expression" => self.qualified(source, node),
            "identifier" => self.identifier(source, node),
            _ => {}
        }
        true
    }

    /// `A.B.Type` and `value.Method`.
    fn qualified(&mut self, source: &SourceText<'_>, node: Node<'t>) {
        let Some(name) = node.child_by_field_name("name") else { return };
        let last = source.text(name);
        let last = last.split('<').next().unwrap_or_default();
        let before = source.text(node);
        let before = before[..before.len().saturating_sub(source.text(name).len())].trim_end();
        let Some(before) = before.strip_suffix('.') else { return };
        let is_path = before.starts_with(char::is_uppercase)
            && before.chars().all(|c| c.is_alphanumeric() || matches!(c, '_' | '.'));
        if is_path {
            self.qualifiers.insert(before.to_owned());
            self.used.entry(last.to_owned()).or_insert(name);
        }
        self.members.insert(last.to_owned());
    }

    fn identifier(&mut self, source: &SourceText<'_>, node: Node<'t>) {
        let name = source.text(node);
        if name.starts_with(char::is_uppercase) && may_be_type(node) {
            self.used.entry(name.into_owned()).or_insert(node);
        }
    }

    /// `using A.B;`, `using static A.B.C;`, `using X = A.B.C;`
    fn using(&mut self, source: &SourceText<'_>, node: Node<'_>) {
        let is_name = |child: &Node<'_>| {
            let kinds = ["qualified_name", "identifier", "alias_qualified_name", "generic_name"];
            kinds.contains(&child.kind())
        };
        let Some(name) = children(node).filter(is_name).last() else { return };
        let mut import = source.import(node, source.owned(name), ImportKind::Import);
        import.specifier.retain(|c| !c.is_whitespace());
        if let Some(rest) = import.specifier.strip_prefix("global::") {
            import.specifier = rest.to_owned();
        }
        let is_type = has(node, "static") || has(node, "=");
        match import.specifier.rsplit_once('.').filter(|_| is_type) {
            Some((namespace, class)) => {
                import.names.push(class.to_owned());
                import.specifier = namespace.to_owned();
            }
            None => import.names.push(ALL_NAMES.to_owned()),
        }
        self.facts.imports.push(import);
    }

    fn define(&mut self, source: &SourceText<'_>, node: Node<'_>, is_extension: bool) {
        let Some(name) = source.field(node, "name") else { return };
        let mut outer = node.parent();
        while let Some(around) = outer.filter(|around| around.kind() != "namespace_declaration") {
            // A type within another one is only seen through that.
            if !is_extension && is_type(around.kind()) {
                return;
            }
            outer = around.parent();
        }
        let namespace = match outer {
            Some(around) => namespace_of(source, around),
            // A namespace for the whole file stands beside what is in it.
            None => self.namespaces.iter().next().cloned().unwrap_or_default(),
        };
        self.facts.types.push(DefinedType { name: name.clone(), namespace, is_extension });
        self.facts.defines.push(name);
    }

    /// What is used and not brought in by a directive may be in a namespace of the file, or be
    /// written with a part of its path.
    fn finish(mut self, source: &SourceText<'_>) -> FileFacts {
        let mut around: BTreeSet<String> = BTreeSet::from([String::new()]);
        for namespace in &self.namespaces {
            let mut outer = namespace.as_str();
            while !outer.is_empty() {
                around.insert(outer.to_owned());
                outer = outer.rsplit_once('.').map_or("", |(outer, _)| outer);
            }
        }
        let beneath = |outer: &String, inner: &String| match outer.is_empty() {
            true => inner.clone(),
            false => format!("{outer}.{inner}"),
        };
        let visible: BTreeSet<String> = self
            .qualifiers
            .iter()
            .flat_map(|inner| around.iter().map(move |outer| beneath(outer, inner)))
            .chain(around.iter().cloned())
            .collect();
        let mut paths: Vec<Import> = Vec::new();
        for (name, node) in &self.used {
            let mut import = source.import_in_line(*node, String::new(), ImportKind::Path);
            import.names.push(name.clone());
            paths.push(import);
        }
        paths.sort_by_key(|import| import.line);
        self.facts.imports.extend(paths);
        self.facts.around = around.into_iter().collect();
        self.facts.visible = visible.into_iter().collect();
        self.facts.used = self.used.into_keys().collect();
        self.facts.members = self.members.into_iter().collect();
        self.facts
    }
}

/// Whether other types can stand in a declaration of this kind.
fn is_type(kind: &str) -> bool {
    matches!(
        kind,
        "class_declaration" | "struct_declaration" | "interface_declaration" | "record_declaration"
    )
}

/// Whether a name stands where a type can stand: not as what is declared, called or passed on.
fn may_be_type(node: Node<'_>) -> bool {
    let Some(around) = node.parent() else { return false };
    let is_field = |name: &str| around.child_by_field_name(name) == Some(node);
    match around.kind() {
        "member_access_expression" => is_field("expression"),
        "qualified_name" => is_field("qualifier"),
        // A field or a variable: its type stands in front.
        "variable_declaration"
        | "parameter"
        | "declaration_expression"
        | "cast_expression"
        | "object_creation_expression"
        | "array_creation_expression" => is_field("type"),
        "argument"
        | "arrow_expression_clause"
        | "assignment_expression"
        | "await_expression"
        | "binary_expression"
        | "conditional_access_expression"
        | "conditional_expression"
        | "element_access_expression"
        | "enum_member_declaration"
        | "if_statement"
        | "initializer_expression"
        | "interpolation"
        | "invocation_expression"
        | "lock_statement"
        | "name_colon"
        | "parenthesized_expression"
        | "postfix_unary_expression"
        | "prefix_unary_expression"
        | "return_statement"
        | "switch_statement"
        | "throw_statement"
        | "variable_declarator"
        | "while_statement"
        | "yield_statement" => false,
        // What is declared has its name in a field, and its type in another one.
        kind if kind.ends_with("_declaration") => !is_field("name"),
        _ => true,
    }
}

/// The whole name of a namespace, those around it included.
fn namespace_of(source: &SourceText<'_>, node: Node<'_>) -> String {
    let mut name = source.field(node, "name").unwrap_or_default();
    name.retain(|c| !c.is_whitespace());
    let mut outer = node.parent();
    while let Some(around) = outer {
        if around.kind() == "namespace_declaration" {
            return format!("{}.{name}", namespace_of(source, around));
        }
        outer = around.parent();
    }
    name
}

/// Whether a method can be called on its first argument, without naming its class.
fn is_extension(source: &SourceText<'_>, node: Node<'_>) -> bool {
    let first = node.child_by_field_name("parameters").and_then(|list| children(list).next());
    first.is_some_and(|first| source.text(first).starts_with("this "))
}
