//! C and C++: `#include`.

use tree_sitter::Node;

use super::FileFacts;
use super::syntax::{SourceText, walk};
use crate::imports::ImportKind;

pub(super) fn facts(source: &SourceText<'_>, root: Node<'_>) -> FileFacts {
    let mut facts = FileFacts::default();
    walk(root, |node| {
        if node.kind() != "preproc_include" {
            return true;
        }
        // The brackets or quotes stay: they decide where to look first.
        if let Some(path) = source.field(node, "path")
            && path.len() > 2
            && path.starts_with(['"', '<'])
        {
            facts.imports.push(source.import(node, path, ImportKind::Import));
        }
        false
    });
    facts
}
