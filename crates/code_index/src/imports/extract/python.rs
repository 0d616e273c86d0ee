//! Python: `import`, `from … import`, `import_module("…")`, `__import__("…")`.

use tree_sitter::Node;
use workspace::RelPath;

use super::FileFacts;
use super::syntax::{SourceText, children, fields, has, walk};
use crate::imports::{ALL_NAMES, ImportKind};

/// What a package shows to the outside is what its `__init__` has, imports included.
const PACKAGE_STEM: &str = "__init__";

pub(super) fn facts(source: &SourceText<'_>, root: Node<'_>, path: &RelPath) -> FileFacts {
    let mut facts = FileFacts::default();
    let is_package = crate::imports::project_files::stem_of(path) == PACKAGE_STEM;
    // Where the outermost function or class that we are in ends.
    let mut inside_until = 0;
    walk(root, |node| {
        let is_outermost = node.start_byte() >= inside_until;
        match node.kind() {
            "import_statement" => plain(&mut facts, source, node),
            "import_from_statement" => from(&mut facts, source, node, is_package && is_outermost),
            "call" => call(&mut facts, source, node),
            "function_definition" | "class_definition" if is_outermost => {
                facts.defines.extend(source.field(node, "name"));
                inside_until = node.end_byte();
            }
            "assignment" if is_outermost => assigned(&mut facts, source, node),
            _ => {}
        }
        true
    });
    facts
}

/// `import a.b as c, d`.
fn plain(facts: &mut FileFacts, source: &SourceText<'_>, node: Node<'_>) {
    for name in fields(node, "name") {
        let module = match name.kind() {
            "aliased_import" => source.field(name, "name"),
            _ => Some(source.owned(name)),
        };
        if let Some(module) = module {
            facts.imports.push(source.import(node, without_space(&module), ImportKind::Import));
        }
    }
}

/// `from .a import b as c`.
fn from(facts: &mut FileFacts, source: &SourceText<'_>, node: Node<'_>, exposes: bool) {
    let Some(module) = source.field(node, "module_name") else { return };
    let mut import = source.import(node, without_space(&module), ImportKind::Import);
    let mut names: Vec<(String, String)> = fields(node, "name")
        .filter_map(|name| match name.kind() {
            "aliased_import" => Some((source.field(name, "name")?, source.field(name, "alias")?)),
            _ => Some((source.owned(name), source.owned(name))),
        })
        .collect();
    if has(node, "wildcard_import") {
        names.push((ALL_NAMES.to_owned(), ALL_NAMES.to_owned()));
    }
    import.names = names.iter().map(|(name, _)| name.clone()).collect();
    if exposes {
        import.exposed = names;
    }
    facts.imports.push(import);
}

fn call(facts: &mut FileFacts, source: &SourceText<'_>, node: Node<'_>) {
    let Some(function) = source.field(node, "function") else { return };
    let is_loading =
        matches!(&*function, "__import__" | "import_module" | "importlib.import_module");
    if !is_loading {
        return;
    }
    let arguments = node.child_by_field_name("arguments");
    let first = arguments.and_then(|list| children(list).find(|arg| arg.kind() != "comment"));
    let plain = first.filter(|first| first.kind() == "string" && !has(*first, "interpolation"));
    if let Some(specifier) = plain.and_then(|first| source.quoted(first)) {
        facts.imports.push(source.import(node, specifier, ImportKind::Dynamic));
    }
}

fn assigned(facts: &mut FileFacts, source: &SourceText<'_>, node: Node<'_>) {
    let Some(left) = node.child_by_field_name("left") else { return };
    match left.kind() {
        "identifier" => facts.defines.push(source.owned(left)),
        "pattern_list" | "tuple_pattern" => {
            let names = children(left).filter(|name| name.kind() == "identifier");
            facts.defines.extend(names.map(|name| source.owned(name)));
        }
        _ => {}
    }
}

fn without_space(module: &str) -> String {
    module.chars().filter(|c| !c.is_whitespace() && *c != '\\').collect()
}
