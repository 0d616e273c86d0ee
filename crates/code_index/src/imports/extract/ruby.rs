//! Ruby: `require`, `require_relative`, `load`, `autoload`.

use tree_sitter::Node;

use super::FileFacts;
use super::syntax::{SourceText, children, has, walk};
use crate::imports::ImportKind;

pub(super) fn facts(source: &SourceText<'_>, root: Node<'_>) -> FileFacts {
    let mut facts = FileFacts::default();
    walk(root, |node| {
        match node.kind() {
            "call" if node.child_by_field_name("receiver").is_none() => {
                call(&mut facts, source, node);
            }
            "class" | "module" => facts.defines.extend(source.field(node, "name")),
            _ => {}
        }
        true
    });
    facts
}

fn call(facts: &mut FileFacts, source: &SourceText<'_>, node: Node<'_>) {
    let Some(method) = source.field(node, "method") else { return };
    let kind = match &*method {
        "require" | "require_relative" | "load" => ImportKind::Require,
        "autoload" => ImportKind::Dynamic,
        _ => return,
    };
    let Some(arguments) = node.child_by_field_name("arguments") else { return };
    let plain = |node: &Node<'_>| node.kind() == "string" && !has(*node, "interpolation");
    let mut strings = children(arguments).filter(plain);
    let Some(path) = strings.next().and_then(|node| source.quoted(node)) else { return };
    let specifier = match &*method {
        "require_relative" if !path.starts_with('.') => format!("./{path}"),
        // The file's own directory is not searched by these, but `./` means where one started.
        "require" | "autoload" => path.trim_start_matches("./").to_owned(),
        _ => path,
    };
    let mut import = source.import(node, specifier, kind);
    if kind == ImportKind::Dynamic {
        let name = children(arguments).next().map(|name| source.owned(name));
        import.names.extend(name.map(|name| name.trim_start_matches(':').to_owned()));
    }
    facts.imports.push(import);
}
