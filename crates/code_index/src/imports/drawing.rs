//! An [`Impact`] as text: an indented tree, Graphviz, Mermaid.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use workspace::RelPath;

use super::impact::{Impact, is_test};

impl Impact {
    /// The tree, one file a line, at most `max_lines` of them; says what was left out.
    pub fn to_tree(&self, max_lines: usize) -> String {
        let mut text = String::new();
        for node in self.nodes.iter().take(max_lines) {
            let indent = "  ".repeat(node.depth);
            let _ = write!(text, "{indent}{}", node.path);
            if node.is_cycle {
                text.push_str(" (cycle)");
            } else if node.is_repeated {
                let _ = write!(text, " ({}, shown elsewhere)", node.beneath);
            } else if node.beneath > 0 {
                let _ = write!(text, " ({})", node.beneath);
            }
            if node.depth > 0 && is_test(&node.path) {
                text.push_str(" [test]");
            }
            text.push('\n');
        }
        if self.nodes.len() > max_lines {
            let _ = writeln!(text, "… {} more lines", self.nodes.len() - max_lines);
        }
        text
    }

    /// The graph in Graphviz' language; an arrow leads from the importer to what it imports.
    pub fn to_dot(&self, max_edges: usize) -> String {
        let quoted = |path: &RelPath| {
            format!("\"{}\"", path.to_text().replace('\\', "\\\\").replace('"', "\\\""))
        };
        let mut text = String::from("digraph imports {\n  rankdir=LR;\n  node [shape=box];\n");
        for target in &self.targets {
            let _ = writeln!(text, "  {} [style=bold];", quoted(target));
        }
        for (from, to) in self.edges.iter().take(max_edges) {
            let _ = writeln!(text, "  {} -> {};", quoted(from), quoted(to));
        }
        self.note_missing(&mut text, max_edges, "//");
        text.push_str("}\n");
        text
    }

    /// The graph in Mermaid's language.
    pub fn to_mermaid(&self, max_edges: usize) -> String {
        let mut names: BTreeMap<&RelPath, usize> = BTreeMap::new();
        let mut text = String::from("graph LR\n");
        let mut lines = String::new();
        let mut name = |path, text: &mut String| {
            let next = names.len();
            *names.entry(path).or_insert_with(|| {
                // Mermaid has no escape for quotes but the entity.
                let label = path.to_string().replace('"', "#quot;");
                let _ = writeln!(text, "  n{next}[\"{label}\"]");
                next
            })
        };
        for target in &self.targets {
            name(target, &mut text);
        }
        for (from, to) in self.edges.iter().take(max_edges) {
            let (from, to) = (name(from, &mut text), name(to, &mut text));
            let _ = writeln!(lines, "  n{from} --> n{to}");
        }
        text.push_str(&lines);
        self.note_missing(&mut text, max_edges, "%%");
        text
    }

    fn note_missing(&self, text: &mut String, max_edges: usize, comment: &str) {
        if self.edges.len() > max_edges {
            let _ = writeln!(text, "  {comment} {} more imports", self.edges.len() - max_edges);
        }
    }
}
