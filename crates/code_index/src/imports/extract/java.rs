//! Java: imports, static or not, of one name or of all.

use std::collections::BTreeSet;

use tree_sitter::Node;

use super::FileFacts;
use super::syntax::{SourceText, children, has, walk};
use crate::imports::{ALL_NAMES, ImportKind};

pub(super) fn facts(source: &SourceText<'_>, root: Node<'_>) -> FileFacts {
    let mut facts = FileFacts::default();
    let mut used = BTreeSet::new();
    walk(root, |node| {
        match node.kind() {
            "import_declaration" => {
                let name = children(node)
                    .find(|child| matches!(child.kind(), "scoped_identifier" | "identifier"));
                let Some(name) = name else { return false };
                let mut import = source.import(node, source.owned(name), ImportKind::Import);
                import.specifier.retain(|c| !c.is_whitespace());
                if has(node, "asterisk") {
                    import.names.push(ALL_NAMES.to_owned());
                } else if has(node, "static")
                    && let Some((class, member)) = import.specifier.rsplit_once('.')
                {
                    import.names.push(member.to_owned());
                    import.specifier = class.to_owned();
                }
                facts.imports.push(import);
                return false;
            }
            "package_declaration" => return false,
            "identifier" | "type_identifier" => {
                used.insert(source.text(node));
            }
            "class_declaration"
            | "interface_declaration"
            | "enum_declaration"
            | "record_declaration"
            | "annotation_type_declaration" => {
                facts.defines.extend(source.field(node, "name"));
            }
            _ => {}
        }
        true
    });
    // An import of everything brings in what is used of it.
    for import in &mut facts.imports {
        if import.names == [ALL_NAMES] {
            import.names.extend(used.iter().map(|name| name.clone().into_owned()));
        }
    }
    facts
}
