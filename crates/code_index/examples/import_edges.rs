//! Prints every import of a project that leads to one of its files: importer, a tab, the imported
//! file. For comparing with what compilers and interpreters resolve.
//!
//! `import_edges ROOT` prints all edges; `import_edges ROOT TARGET` the importers of one target;
//! `import_edges ROOT --check COUNT` asks for that many files one by one and compares.
#![allow(clippy::print_stdout, reason = "an example program speaks to its user")]

use std::collections::{BTreeMap, BTreeSet};
use std::error::Error;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use code_index::{CodeBase, FileFilter, FilesOnDisk, SearchScope, every_import, find_importers};
use workspace::{RelPath, Workspace};

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let Some((root, targets)) = arguments.split_first() else {
        return Err("usage: import_edges ROOT [TARGET]".into());
    };
    let root = Path::new(root);
    let files = Arc::new(files(root)?);
    match targets.first().map(String::as_str) {
        Some("--check") => {
            let count = targets.get(1).ok_or("--check needs a number")?.parse()?;
            check(root, count)?;
        }
        None => {
            let edges = every_import(files);
            let edges: BTreeSet<_> = edges.iter().map(|(from, _, to)| (from, to)).collect();
            for (from, to) in edges {
                println!("{from}\t{to}");
            }
        }
        Some(target) => {
            for one in find_importers(files, target).importers {
                println!("{}:{}\t{}", one.path, one.line, one.statement);
            }
        }
    }
    Ok(())
}

/// Asking for one file must give what resolving everything gives.
fn check(root: &Path, count: usize) -> Result<(), Box<dyn Error>> {
    let mut importers: BTreeMap<RelPath, BTreeSet<RelPath>> = BTreeMap::new();
    for (from, _, to) in every_import(Arc::new(files(root)?)) {
        importers.entry(to).or_default().insert(from);
    }
    let step = (importers.len() / count.max(1)).max(1);
    for (target, expected) in importers.iter().step_by(step) {
        let found = find_importers(Arc::new(files(root)?), &target.to_text());
        let direct = found.importers.iter().filter(|one| one.via.is_none() && !one.by_text());
        let direct: BTreeSet<RelPath> = direct.map(|one| one.path.clone()).collect();
        if direct != *expected {
            let differing: Vec<_> = direct.symmetric_difference(expected).collect();
            return Err(format!("importers of {target} differ: {differing:?}").into());
        }
    }
    Ok(())
}

fn files(root: &Path) -> Result<FilesOnDisk, Box<dyn Error>> {
    let code = CodeBase::new(Arc::new(Workspace::open(root)?));
    let scope = SearchScope {
        start: RelPath::root(),
        filter: FileFilter::new(&[], &["node_modules".to_owned()], &[])?,
        hidden: false,
        max_depth: 64,
        max_entries: 1_000_000,
        deadline: Instant::now() + Duration::from_secs(600),
        max_results: 0,
        max_file_bytes: 8 * 1024 * 1024,
        file_time: Duration::from_secs(60),
    };
    Ok(FilesOnDisk::new(Arc::new(code), scope, || false))
}
