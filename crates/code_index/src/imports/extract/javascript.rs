//! JavaScript and TypeScript: `import`, `export … from`, `require`, `import()`, references.

use tree_sitter::Node;

use super::FileFacts;
use super::syntax::{SourceText, children, has, walk};
use crate::imports::{ALL_NAMES, Import, ImportKind};

pub(super) fn facts(source: &SourceText<'_>, root: Node<'_>) -> FileFacts {
    let mut found = ScriptImports::default();
    walk(root, |node| {
        match node.kind() {
            "import_statement" => {
                found.is_module = true;
                found.import(source, node);
            }
            "export_statement" => {
                found.is_module |= node.parent().is_some_and(|outer| outer.kind() == "program");
                found.export(source, node);
            }
            "call_expression" => found.call(source, node),
            "assignment_expression" => found.assignment(source, node),
            "comment" => found.reference(source, node),
            "module" => found.augmentation(source, node),
            _ => {}
        }
        true
    });
    found.finish()
}

/// The text with everything outside of `<script>` elements blanked, so that lines keep their
/// numbers.
pub(super) fn only_scripts(bytes: &[u8]) -> Vec<u8> {
    let text = String::from_utf8_lossy(bytes);
    let mut kept = String::with_capacity(text.len());
    let blank = |part: &str| part.chars().filter(|c| *c == '\n').collect::<String>();
    let mut rest = &*text;
    while let Some(open) = rest.find("<script") {
        let Some(begin) = rest[open..].find('>').map(|at| open + at + 1) else { break };
        let end = rest[begin..].find("</script").map_or(rest.len(), |at| begin + at);
        kept.push_str(&blank(&rest[..begin]));
        kept.push_str(&rest[begin..end]);
        kept.push('\n');
        rest = &rest[end..];
        // The line break that was added must not move what follows.
        if let Some(at) = rest.find('\n') {
            rest = &rest[at + 1..];
        }
    }
    kept.into_bytes()
}

#[derive(Default)]
struct ScriptImports {
    facts: FileFacts,
    /// The name that each import has in this file: its place in the list, the name there, here.
    local: Vec<(usize, String, String)>,
    /// `export { here as there }`.
    exported: Vec<(String, String)>,
    /// `declare module "…"`: in a module it adds to another one.
    augmented: Vec<Import>,
    /// Whether the file imports or exports anything, and so is a module.
    is_module: bool,
}

impl ScriptImports {
    fn add(&mut self, import: Import, names: Vec<(String, String)>) {
        let index = self.facts.imports.len();
        let mut import = import;
        import.names = names.iter().map(|(name, _)| name.clone()).collect();
        self.local.extend(names.into_iter().map(|(name, here)| (index, name, here)));
        self.facts.imports.push(import);
    }

    fn import(&mut self, source: &SourceText<'_>, node: Node<'_>) {
        let required = children(node).find(|child| child.kind() == "import_require_clause");
        let from = node.child_by_field_name("source");
        let from = from.or_else(|| required?.child_by_field_name("source"));
        let Some(specifier) = from.and_then(|from| source.quoted(from)) else { return };
        let kind = match required {
            Some(_) => ImportKind::Require,
            None if has(node, "type") || has(node, "typeof") => ImportKind::Type,
            None => ImportKind::Import,
        };
        let mut names = Vec::new();
        if let Some(clause) = required
            && let Some(name) = children(clause).find(|child| child.kind() == "identifier")
        {
            names.push((ALL_NAMES.to_owned(), source.owned(name)));
        }
        for clause in children(node).filter(|child| child.kind() == "import_clause") {
            for part in children(clause) {
                match part.kind() {
                    "identifier" => names.push(("default".to_owned(), source.owned(part))),
                    "namespace_import" => {
                        let here = children(part).next().map(|name| source.owned(name));
                        names.push((ALL_NAMES.to_owned(), here.unwrap_or_default()));
                    }
                    "named_imports" => names.extend(specifiers(source, part)),
                    _ => {}
                }
            }
        }
        self.add(source.import(node, specifier, kind), names);
    }

    fn export(&mut self, source: &SourceText<'_>, node: Node<'_>) {
        let clause = children(node).find(|child| child.kind() == "export_clause");
        let listed = clause.map(|clause| specifiers(source, clause).collect::<Vec<_>>());
        if let Some(from) = node.child_by_field_name("source") {
            let Some(specifier) = source.quoted(from) else { return };
            let mut import = source.import(node, specifier, ImportKind::ReExport);
            let whole = children(node).find(|child| child.kind() == "namespace_export");
            import.exposed = match (listed, whole) {
                (Some(listed), _) => listed,
                (None, Some(whole)) => {
                    let name = children(whole).next().map(|name| unquoted(source, name));
                    vec![(ALL_NAMES.to_owned(), name.unwrap_or_default())]
                }
                (None, None) => vec![(ALL_NAMES.to_owned(), ALL_NAMES.to_owned())],
            };
            import.names = import.exposed.iter().map(|(name, _)| name.clone()).collect();
            self.facts.imports.push(import);
            return;
        }
        if let Some(listed) = listed {
            self.exported.extend(listed);
        }
        if let Some(declaration) = node.child_by_field_name("declaration") {
            let names = declared_names(source, declaration);
            match has(node, "default") {
                true => self.facts.defines.extend(names.iter().map(|n| format!("default:{n}"))),
                false => self.facts.defines.extend(names),
            }
        }
        if has(node, "default") || has(node, "=") {
            self.facts.defines.push("default".to_owned());
            let value = node.child_by_field_name("value");
            if let Some(value) = value.filter(|value| value.kind() == "identifier") {
                let name = source.owned(value);
                self.facts.defines.push(format!("default:{name}"));
                self.exported.push((name, "default".to_owned()));
            }
        }
    }

    fn call(&mut self, source: &SourceText<'_>, node: Node<'_>) {
        let Some(function) = node.child_by_field_name("function") else { return };
        let kind = match function.kind() {
            "import" => ImportKind::Dynamic,
            "identifier" if source.text(function) == "require" => ImportKind::Require,
            _ => return,
        };
        let arguments = node.child_by_field_name("arguments");
        let first = arguments.and_then(|list| children(list).find(|arg| arg.kind() != "comment"));
        let Some(first) = first.filter(|first| is_plain_string(*first)) else { return };
        let Some(specifier) = source.quoted(first) else { return };
        let mut value = node;
        while let Some(outer) = value.parent().filter(|outer| outer.kind() == "await_expression") {
            value = outer;
        }
        let mut names = vec![(ALL_NAMES.to_owned(), String::new())];
        let mut shown = node;
        if let Some(outer) = value.parent().filter(|outer| outer.kind() == "variable_declarator") {
            shown = outer.parent().unwrap_or(outer);
            match outer.child_by_field_name("name") {
                Some(pattern) if pattern.kind() == "object_pattern" => {
                    names = destructured(source, pattern);
                }
                Some(name) => names[0].1 = source.owned(name),
                None => {}
            }
        }
        if shown.start_position().row != node.start_position().row {
            shown = node;
        }
        self.add(source.import(shown, specifier, kind), names);
    }

    /// `exports.name = …`, `module.exports = …`.
    fn assignment(&mut self, source: &SourceText<'_>, node: Node<'_>) {
        let Some(left) = node.child_by_field_name("left") else { return };
        let left = source.text(left);
        if left == "module.exports" {
            self.facts.defines.push("default".to_owned());
            let right = node.child_by_field_name("right");
            let list = right.filter(|right| right.kind() == "object");
            for entry in list.into_iter().flat_map(children) {
                match entry.kind() {
                    "shorthand_property_identifier" => {
                        self.exported.push((source.owned(entry), source.owned(entry)));
                    }
                    "pair" => self.facts.defines.extend(source.field(entry, "key")),
                    "method_definition" => {
                        self.facts.defines.extend(source.field(entry, "name"));
                    }
                    _ => {}
                }
            }
        } else if let Some(name) =
            left.strip_prefix("module.exports.").or_else(|| left.strip_prefix("exports."))
        {
            self.facts.defines.push(name.to_owned());
        }
    }

    /// `/// <reference path="…" />`.
    fn reference(&mut self, source: &SourceText<'_>, node: Node<'_>) {
        let text = source.text(node);
        let Some(inside) = text.strip_prefix("///") else { return };
        let Some(inside) = inside.trim_start().strip_prefix("<reference") else { return };
        let attribute = |name: &str| {
            let rest = inside.split_once(name)?.1.trim_start().strip_prefix('=')?.trim_start();
            let quote = rest.chars().next().filter(|first| matches!(first, '"' | '\''))?;
            Some(rest[1..].split_once(quote)?.0.to_owned())
        };
        let specifier = match (attribute(" path"), attribute(" types")) {
            (Some(path), _) if path.starts_with('.') || path.starts_with('/') => path,
            (Some(path), _) => format!("./{path}"),
            (None, Some(types)) => types,
            (None, None) => return,
        };
        self.facts.imports.push(source.import(node, specifier, ImportKind::Reference));
    }

    fn augmentation(&mut self, source: &SourceText<'_>, node: Node<'_>) {
        let name = node.child_by_field_name("name").and_then(|name| source.quoted(name));
        self.augmented.extend(name.map(|name| source.import(node, name, ImportKind::Reference)));
    }

    /// What is imported and then listed for export is exposed; the rest of the list is defined.
    fn finish(mut self) -> FileFacts {
        // Elsewhere it declares a module of its own, which is not an import.
        if self.is_module {
            self.facts.imports.append(&mut self.augmented);
        }
        for (here, there) in std::mem::take(&mut self.exported) {
            let mut is_imported = false;
            for (index, name, _) in self.local.iter().filter(|(_, _, local)| *local == here) {
                is_imported = true;
                self.facts.imports[*index].exposed.push((name.clone(), there.clone()));
            }
            if !is_imported {
                self.facts.defines.push(there);
            }
        }
        self.facts
    }
}

/// The names in a list such as `{ a, b as c }`: there and here.
fn specifiers<'s>(
    source: &'s SourceText<'_>,
    list: Node<'s>,
) -> impl Iterator<Item = (String, String)> + 's {
    let is_one = |child: &Node<'_>| matches!(child.kind(), "import_specifier" | "export_specifier");
    children(list).filter(is_one).filter_map(|one| {
        let name = unquoted(source, one.child_by_field_name("name")?);
        let alias = one.child_by_field_name("alias").map(|alias| unquoted(source, alias));
        Some((name.clone(), alias.unwrap_or(name)))
    })
}

fn unquoted(source: &SourceText<'_>, node: Node<'_>) -> String {
    source.quoted(node).unwrap_or_else(|| source.owned(node))
}

/// `const { a, b: c } = …`.
fn destructured(source: &SourceText<'_>, pattern: Node<'_>) -> Vec<(String, String)> {
    let names = children(pattern).filter_map(|entry| match entry.kind() {
        "shorthand_property_identifier_pattern" => Some((source.owned(entry), source.owned(entry))),
        "pair_pattern" => Some((source.field(entry, "key")?, source.field(entry, "value")?)),
        "object_assignment_pattern" => {
            let name = source.field(entry, "left")?;
            Some((name.clone(), name))
        }
        "rest_pattern" => Some((ALL_NAMES.to_owned(), String::new())),
        _ => None,
    });
    names.collect()
}

/// The names that a declaration makes.
fn declared_names(source: &SourceText<'_>, declaration: Node<'_>) -> Vec<String> {
    match declaration.kind() {
        "lexical_declaration" | "variable_declaration" => children(declaration)
            .filter_map(|one| one.child_by_field_name("name"))
            .flat_map(|name| match name.kind() {
                "object_pattern" => {
                    destructured(source, name).into_iter().map(|(_, here)| here).collect()
                }
                "array_pattern" => children(name).map(|name| source.owned(name)).collect(),
                _ => vec![source.owned(name)],
            })
            .collect(),
        "ambient_declaration" => {
            children(declaration).flat_map(|inner| declared_names(source, inner)).collect()
        }
        _ => source.field(declaration, "name").into_iter().collect(),
    }
}

fn is_plain_string(node: Node<'_>) -> bool {
    match node.kind() {
        "string" => true,
        "template_string" => !has(node, "template_substitution"),
        _ => false,
    }
}
