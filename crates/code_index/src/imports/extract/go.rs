//! Go: import specs.

use tree_sitter::Node;

use super::FileFacts;
use super::syntax::{SourceText, children, walk};
use crate::imports::ImportKind;

pub(super) fn facts(source: &SourceText<'_>, root: Node<'_>) -> FileFacts {
    let mut facts = FileFacts::default();
    walk(root, |node| match node.kind() {
        "import_spec" => {
            let path = node.child_by_field_name("path").and_then(|path| source.quoted(path));
            if let Some(path) = path {
                facts.imports.push(source.import(node, path, ImportKind::Import));
            }
            false
        }
        "package_clause" => {
            facts.package = children(node).next().map(|name| source.owned(name));
            false
        }
        // Imports stand at the top of a file and nowhere else.
        kind => matches!(kind, "source_file" | "import_declaration" | "import_spec_list" | "ERROR"),
    });
    facts
}
