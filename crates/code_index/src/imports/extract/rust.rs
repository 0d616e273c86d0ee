//! Rust: `mod`, `use` trees, `extern crate`, `include!`, and names written with their whole path.

use std::collections::HashSet;

use tree_sitter::Node;

use super::syntax::{SourceText, children, has, walk};
use super::{DeclaredModule, FileFacts};
use crate::imports::{ALL_NAMES, ImportKind};

/// What stands before a path that begins outside of every module.
const GLOBAL: &str = "::";

pub(super) fn facts(source: &SourceText<'_>, root: Node<'_>) -> FileFacts {
    let mut found = RustImports {
        source,
        facts: FileFacts::default(),
        scope: Vec::new(),
        paths: HashSet::new(),
    };
    walk(root, |node| found.enter(node));
    found.facts
}

struct RustImports<'a, 's> {
    source: &'s SourceText<'a>,
    facts: FileFacts,
    /// The inline modules around the present node, and where each ends.
    scope: Vec<(usize, String)>,
    /// Whole paths that were seen already, with their scope.
    paths: HashSet<(Vec<String>, String)>,
}

impl RustImports<'_, '_> {
    fn enter(&mut self, node: Node<'_>) -> bool {
        while self.scope.last().is_some_and(|(end, _)| node.start_byte() >= *end) {
            self.scope.pop();
        }
        match node.kind() {
            "mod_item" => self.module(node),
            "use_declaration" => {
                self.declaration(node);
                return false;
            }
            "extern_crate_declaration" => {
                let Some(name) = self.source.field(node, "name") else { return false };
                let import =
                    self.source.import(node, format!("{GLOBAL}{name}"), ImportKind::Import);
                self.facts.imports.push(import);
                return false;
            }
            "scoped_identifier" | "scoped_type_identifier" => {
                self.whole_path(node, &self.source.text(node));
                // The path may have type arguments with paths of their own.
                return node.named_child_count() > 0 && self.source.text(node).contains('<');
            }
            "macro_invocation" => self.include(node),
            "token_tree" => self.tokens(node),
            "attribute_item" | "line_comment" | "block_comment" => return false,
            "function_item" | "struct_item" | "enum_item" | "union_item" | "trait_item"
            | "type_item" | "const_item" | "static_item" | "macro_definition"
                if node.parent().is_some_and(|outer| outer.kind() == "source_file") =>
            {
                self.facts.defines.extend(self.source.field(node, "name"));
            }
            _ => {}
        }
        true
    }

    /// The names of the inline modules around the present node.
    fn scope(&self) -> Vec<String> {
        self.scope.iter().map(|(_, name)| name.clone()).collect()
    }

    fn module(&mut self, node: Node<'_>) {
        let Some(name) = self.source.field(node, "name") else { return };
        let inline = node.child_by_field_name("body").is_some();
        let path = attribute_path(self.source, node);
        let scope = self.scope();
        if !inline {
            let mut import = self.source.import(node, format!("self::{name}"), ImportKind::Module);
            import.scope.clone_from(&scope);
            self.facts.imports.push(import);
        }
        if inline {
            self.scope.push((node.end_byte(), name.clone()));
        }
        self.facts.modules.push(DeclaredModule { name, scope, path, inline });
    }

    fn declaration(&mut self, node: Node<'_>) {
        let Some(tree) = node.child_by_field_name("argument") else { return };
        let public = has(node, "visibility_modifier");
        let kind = if public { ImportKind::ReExport } else { ImportKind::Import };
        let scope = self.scope();
        for leaf in leaves(self.source, tree) {
            let mut import = self.source.import(node, leaf.path, kind);
            import.scope.clone_from(&scope);
            import.names.push(leaf.name.clone());
            if public {
                import.exposed.push((leaf.name, leaf.here));
            }
            self.facts.imports.push(import);
        }
    }

    /// `crate::module::name` in the middle of code. Which first names are crates is not known here.
    fn whole_path(&mut self, node: Node<'_>, text: &str) {
        let plain: String = text.split('<').next().unwrap_or_default().split_whitespace().collect();
        let plain = plain.strip_prefix("$").unwrap_or(&plain).trim_end_matches("::");
        let Some((path, name)) = plain.rsplit_once("::") else { return };
        let first = path.trim_start_matches("::").split("::").next().unwrap_or_default();
        if !first.starts_with(|c: char| c.is_ascii_lowercase() || c == '_') || first == "self" {
            return;
        }
        let scope = self.scope();
        if !self.paths.insert((scope.clone(), plain.to_owned())) {
            return;
        }
        let mut import = self.source.import(node, path.to_owned(), ImportKind::Path);
        import.names.push(name.to_owned());
        import.scope = scope;
        self.facts.imports.push(import);
    }

    /// `include!("file.rs")` and its like.
    fn include(&mut self, node: Node<'_>) {
        let name = self.source.field(node, "macro").unwrap_or_default();
        let name = name.rsplit("::").next().unwrap_or_default();
        if !matches!(name, "include" | "include_str" | "include_bytes") {
            return;
        }
        let tokens = children(node).find(|child| child.kind() == "token_tree");
        let mut inside = tokens.into_iter().flat_map(children);
        let first = inside.next();
        if inside.next().is_none()
            && let Some(file) = first.and_then(|first| self.source.quoted(first))
        {
            let import = self.source.import(node, format!("\"{file}\""), ImportKind::Reference);
            self.facts.imports.push(import);
        }
    }

    /// Inside a macro call there are only words: paths are put together from them.
    fn tokens(&mut self, tree: Node<'_>) {
        let mut cursor = tree.walk();
        let mut path = String::new();
        let mut last_was_name = false;
        let mut begin = tree;
        for token in tree.children(&mut cursor) {
            let kind = token.kind();
            let is_name =
                matches!(kind, "identifier" | "crate" | "super" | "self" | "metavariable");
            if is_name && !last_was_name && (path.is_empty() || path.ends_with("::")) {
                if path.is_empty() {
                    begin = token;
                }
                path.push_str(&self.source.text(token));
                last_was_name = true;
            } else if kind == "::" && last_was_name {
                path.push_str("::");
                last_was_name = false;
            } else {
                self.finish_tokens(begin, &mut path);
                last_was_name = is_name;
                if is_name {
                    begin = token;
                    path.push_str(&self.source.text(token));
                }
            }
        }
        self.finish_tokens(begin, &mut path);
    }

    fn finish_tokens(&mut self, begin: Node<'_>, path: &mut String) {
        let path = std::mem::take(path);
        if path.contains("::") {
            self.whole_path(begin, &path);
        }
    }
}

/// One name at the end of a `use` tree.
struct Leaf {
    path: String,
    name: String,
    here: String,
}

/// The leaves of a `use` tree, without recursion: trees in hostile files may be deep.
fn leaves(source: &SourceText<'_>, tree: Node<'_>) -> Vec<Leaf> {
    let mut found = Vec::new();
    let mut open = vec![(String::new(), tree)];
    while let Some((prefix, node)) = open.pop() {
        let text = |node: Node<'_>| source.text(node).split_whitespace().collect::<String>();
        let joined = |path: &str| match (prefix.as_str(), path) {
            ("", path) => path.to_owned(),
            (prefix, "") => prefix.to_owned(),
            (prefix, path) => format!("{prefix}::{path}"),
        };
        match node.kind() {
            "use_list" => open.extend(children(node).map(|child| (prefix.clone(), child))),
            "scoped_use_list" => {
                let path = node.child_by_field_name("path").map(text);
                let path = joined(&path.unwrap_or_default());
                open.extend(node.child_by_field_name("list").map(|list| (path, list)));
            }
            "use_wildcard" => {
                let path = children(node).next().map(text).unwrap_or_default();
                let all = || ALL_NAMES.to_owned();
                found.push(Leaf { path: joined(&path), name: all(), here: all() });
            }
            "use_as_clause" => {
                let path = node.child_by_field_name("path").map(text).unwrap_or_default();
                let here = node.child_by_field_name("alias").map(text).unwrap_or_default();
                found.push(leaf(&joined(&path), Some(here)));
            }
            "identifier" | "self" | "crate" | "super" | "scoped_identifier" => {
                found.push(leaf(&joined(&text(node)), None));
            }
            _ => {}
        }
    }
    found.reverse();
    found
}

fn leaf(whole: &str, alias: Option<String>) -> Leaf {
    // `use a::b::{self}` names the module `a::b`.
    let whole = whole.strip_suffix("::self").unwrap_or(whole);
    let (path, name) = match whole.rsplit_once("::") {
        Some((path, name)) if !path.is_empty() => (path, name),
        _ => ("", whole),
    };
    Leaf {
        path: path.to_owned(),
        name: name.trim_start_matches(':').to_owned(),
        here: alias.unwrap_or_else(|| name.trim_start_matches(':').to_owned()),
    }
}

/// The value of `#[path = "…"]` before an item.
fn attribute_path(source: &SourceText<'_>, item: Node<'_>) -> Option<String> {
    let mut before = item.prev_named_sibling();
    while let Some(node) = before {
        match node.kind() {
            "attribute_item" => {
                let attribute = children(node).next()?;
                let name = children(attribute).next().map(|name| source.owned(name));
                if name.as_deref() == Some("path") {
                    return source.quoted(attribute.child_by_field_name("value")?);
                }
            }
            "line_comment" | "block_comment" => {}
            _ => return None,
        }
        before = node.prev_named_sibling();
    }
    None
}
