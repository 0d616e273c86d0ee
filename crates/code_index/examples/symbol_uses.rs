//! Prints where names are used and which files depend on others, for comparing with language servers.
//!
//! `symbol_uses ROOT` reads questions from standard input, one a line, and prints the answer to each as
//! a line of JSON: `name NAME` gives the places that `rename_symbol` would change, as `path:line`, and
//! `file PATH` the files that `impact` names as affected at first hand, `all PATH` all that it names.
#![allow(clippy::print_stdout, reason = "an example program speaks to its user")]

use std::collections::BTreeSet;
use std::error::Error;
use std::io::BufRead as _;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use code_index::{
    CodeBase, FileFilter, FilesOnDisk, ImpactQuery, SearchScope, files_with_name, impact, rename_in,
};
use workspace::{RelPath, Workspace};

/// Larger files are not parsed elsewhere either.
const MAX_BYTES: u64 = 1 << 20;
/// Deeper than any chain of imports.
const MAX_DEPTH: usize = 64;
/// More than any project that is compared has.
const MAX_FILES: usize = 100_000;

fn main() -> Result<(), Box<dyn Error>> {
    let root = std::env::args().nth(1).ok_or("usage: symbol_uses ROOT")?;
    let code = Arc::new(CodeBase::new(Arc::new(Workspace::open(Path::new(&root))?)));
    for line in std::io::stdin().lock().lines() {
        let line = line?;
        let found = match line.split_once(' ') {
            Some(("name", name)) => places_of(&code, name)?,
            Some(("file", path)) => dependents_of(&code, path, 1)?,
            Some(("all", path)) => dependents_of(&code, path, MAX_DEPTH)?,
            _ => return Err(format!("neither a name nor a file: {line}").into()),
        };
        println!("{}", serde_json::to_string(&found)?);
    }
    Ok(())
}

fn places_of(code: &CodeBase, name: &str) -> Result<BTreeSet<String>, Box<dyn Error>> {
    let (files, _, _) = files_with_name(code, name, &scope()?, &|| false)?;
    let mut found = BTreeSet::new();
    for path in files {
        let text = code.workspace().open_file(&path)?.read_all(MAX_BYTES)?;
        let Some(language) = code.language_of(&path, &text) else { continue };
        let until = Instant::now() + Duration::from_secs(60);
        let renamed = rename_in(language, &text, (name, "renamed_by_no_test"), false, until);
        let lines = renamed.map(|renamed| renamed.lines).unwrap_or_default();
        found.extend(lines.iter().map(|line| format!("{path}:{line}")));
    }
    Ok(found)
}

fn dependents_of(
    code: &Arc<CodeBase>,
    path: &str,
    depth: usize,
) -> Result<BTreeSet<String>, Box<dyn Error>> {
    let files = Arc::new(FilesOnDisk::new(Arc::clone(code), scope()?, || false));
    let query = ImpactQuery { target: path.to_owned(), depth, max_files: MAX_FILES };
    let found = impact(files, &query);
    Ok(found.files.iter().map(RelPath::to_text).collect())
}

fn scope() -> Result<SearchScope, Box<dyn Error>> {
    Ok(SearchScope {
        start: RelPath::root(),
        filter: FileFilter::new(&[], &["node_modules".to_owned()], &[])?,
        hidden: false,
        max_depth: 64,
        max_entries: 1_000_000,
        deadline: Instant::now() + Duration::from_secs(600),
        max_results: 0,
        max_file_bytes: MAX_BYTES,
        file_time: Duration::from_secs(60),
    })
}
