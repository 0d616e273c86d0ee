//! Java: imports, static or not, of one name or of all.

use std::collections::{BTreeMap, BTreeSet};

use tree_sitter::Node;

use super::FileFacts;
use super::syntax::{SourceText, children, has, walk};
use crate::imports::{ALL_NAMES, Import, ImportKind};

pub(super) fn facts(source: &SourceText<'_>, root: Node<'_>) -> FileFacts {
    let mut facts = FileFacts::default();
    let mut used: BTreeMap<String, Node<'_>> = BTreeMap::new();
    let mut package = String::new();
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
            "package_declaration" => {
                let name = children(node)
                    .find(|child| matches!(child.kind(), "scoped_identifier" | "identifier"));
                package = name.map(|name| source.owned(name)).unwrap_or_default();
                package.retain(|c| !c.is_whitespace());
                return false;
            }
            "identifier" | "type_identifier" => {
                used.entry(source.owned(node)).or_insert(node);
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
            import.names.extend(used.keys().cloned());
        }
    }
    // The classes of the own package need no import.
    let imported: BTreeSet<&str> = facts
        .imports
        .iter()
        .filter_map(|import| import.specifier.rsplit('.').next())
        .chain(facts.defines.iter().map(String::as_str))
        .collect();
    let mut beside: Vec<Import> = used
        .iter()
        .filter(|(name, _)| {
            name.starts_with(char::is_uppercase) && !imported.contains(name.as_str())
        })
        .map(|(name, node)| {
            let specifier = match package.is_empty() {
                true => name.clone(),
                false => format!("{package}.{name}"),
            };
            source.import_in_line(*node, specifier, ImportKind::Path)
        })
        .collect();
    beside.sort_by_key(|import| import.line);
    facts.imports.extend(beside);
    facts
}
