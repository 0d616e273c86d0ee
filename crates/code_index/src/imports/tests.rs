//! Resolution and questions, on projects in memory.

mod in_memory;
mod narrowing;
mod questions;
mod resolution;
mod resolution_compiled;
mod statements;

use std::sync::Arc;

use workspace::RelPath;

use super::find_importers;
use in_memory::FilesInMemory;

fn path(text: &str) -> RelPath {
    RelPath::parse(text).unwrap()
}

/// `importer:line -> imported` for every import that leads to a file of the project.
fn edges(project: &str) -> Vec<String> {
    let files = Arc::new(FilesInMemory::parse(project));
    let edges = super::every_import(files);
    let mut texts: Vec<String> =
        edges.iter().map(|(from, line, to)| format!("{from}:{line} -> {to}")).collect();
    texts.dedup();
    texts
}

/// `path:line` of every importer.
fn importers(project: &str, asked: &str) -> Vec<String> {
    let files = Arc::new(FilesInMemory::parse(project));
    let found = find_importers(files, asked);
    found.importers.iter().map(|one| format!("{}:{}", one.path, one.line)).collect()
}
