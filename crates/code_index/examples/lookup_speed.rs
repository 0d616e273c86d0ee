//! How fast names are looked up in a project.
//!
//! ```sh
//! cargo run --release -p code_index --example lookup_speed -- <project> [names]
//! ```
//!
//! It parses a sample of the files, asks for random functions, types and macros of it, writes a symbol
//! table and asks that. Files that were parsed for the sample are not kept, so the first questions parse.
#![allow(clippy::disallowed_methods, clippy::print_stdout, reason = "a program for a terminal")]

use std::sync::Arc;
use std::time::{Duration, Instant};

use code_index::{
    CodeBase, DefinitionQuery, FileFilter, FileQuery, Language, SearchScope, SymbolKind,
    SymbolName, SymbolTable, TableOptions, file_symbols, find_definitions,
    find_definitions_in_table, find_files, write_symbol_table,
};
use workspace::{RelPath, Workspace};

/// Files in the sample, at most.
const SAMPLE: usize = 1500;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut arguments = std::env::args().skip(1);
    let root = arguments.next().ok_or("which project?")?;
    let count: usize = arguments.next().map_or(Ok(100), |text| text.parse())?;
    let workspace = Arc::new(Workspace::open(std::path::Path::new(&root))?);
    let code = CodeBase::new(Arc::clone(&workspace));
    let files = every_file(&code)?;
    let known: Vec<&RelPath> = files.iter().filter(|path| Language::of(path).is_some()).collect();
    let sample: Vec<&RelPath> =
        known.iter().copied().step_by((known.len() / SAMPLE).max(1)).collect();
    println!("{} files, {} of a known language", files.len(), known.len());
    let names = random_names(&workspace, &sample, count)?;
    let mut times = Vec::new();
    let mut missed = 0;
    for name in &names {
        let begin = Instant::now();
        let found = find_definitions(&code, &query(name), &scope(), &|| false)?;
        times.push(begin.elapsed());
        missed += usize::from(found.total == 0);
    }
    report("by walking", &mut times);
    println!("  {missed} of {} names not found", names.len());
    with_table(&code, files.clone(), &names)
}

fn with_table(
    code: &CodeBase,
    files: Vec<RelPath>,
    names: &[String],
) -> Result<(), Box<dyn std::error::Error>> {
    let options = TableOptions {
        threads: 0,
        max_file_bytes: 1 << 20,
        file_time: Duration::from_secs(5),
        background: false,
    };
    let mut bytes = Vec::new();
    let begin = Instant::now();
    let built =
        write_symbol_table(code.workspace(), files, &options, &|| false, &|_, _| {}, &mut bytes)?;
    println!("table: {:?}, {} bytes, in {:.1?}", built, bytes.len(), begin.elapsed());
    let table = SymbolTable::open(bytes).ok_or("the table cannot be opened")?;
    let mut times = Vec::new();
    let mut different = Vec::new();
    for name in names {
        let begin = Instant::now();
        let found = find_definitions_in_table(code, &table, &[], &query(name), &scope(), &|| false);
        times.push(begin.elapsed());
        let walked = find_definitions(code, &query(name), &scope(), &|| false)?;
        let same = walked.found.iter().filter(|one| !one.by_text).eq(found.found.iter());
        if !same && walked.not_parsed == 0 {
            different.push(name);
        }
    }
    report("by table", &mut times);
    println!("  {} of {} answers differ from walking: {different:?}", different.len(), names.len());
    Ok(())
}

fn random_names(
    workspace: &Workspace,
    sample: &[&RelPath],
    count: usize,
) -> Result<Vec<String>, workspace::Error> {
    let wanted = [
        SymbolKind::Function,
        SymbolKind::Method,
        SymbolKind::Struct,
        SymbolKind::Class,
        SymbolKind::Macro,
    ];
    let mut names = Vec::new();
    for path in sample {
        let (Some(language), Some(text)) = (Language::of(path), text_of(workspace, path)) else {
            continue;
        };
        let until = Instant::now() + Duration::from_secs(5);
        let found = file_symbols(language, &text, until).symbols;
        let some = found.into_iter().filter(|one| wanted.contains(&one.kind)).step_by(7).take(5);
        names.extend(some.map(|symbol| symbol.name));
    }
    names.sort();
    names.dedup();
    let step = (names.len() / count.max(1)).max(1);
    Ok(names.into_iter().step_by(step).take(count).collect())
}

fn text_of(workspace: &Workspace, path: &RelPath) -> Option<Vec<u8>> {
    workspace.open_file(path).ok()?.read_all(1 << 20).ok()
}

fn every_file(code: &CodeBase) -> Result<Vec<RelPath>, workspace::Error> {
    let scope = SearchScope { max_results: usize::MAX, ..scope() };
    let found = find_files(code, &FileQuery::default(), &scope, &|| false)?;
    Ok(found.files.into_iter().map(|file| file.path).collect())
}

fn query(name: &str) -> DefinitionQuery {
    let name = SymbolName { name: name.to_owned(), within: Vec::new() };
    DefinitionQuery { name, only: None, context: 2, max_line_chars: 400 }
}

fn scope() -> SearchScope {
    SearchScope {
        start: RelPath::root(),
        filter: FileFilter::default(),
        hidden: false,
        max_depth: 32,
        max_entries: 2_000_000,
        deadline: Instant::now() + Duration::from_secs(20),
        max_results: 20,
        max_file_bytes: 1 << 20,
        file_time: Duration::from_secs(5),
    }
}

fn report(what: &str, times: &mut [Duration]) {
    times.sort();
    let at = |part: usize| times.get(times.len() * part / 100).copied().unwrap_or_default();
    let last = times.last().copied().unwrap_or_default();
    println!("{what}: median {:.2?}, 90 % {:.2?}, worst {last:.2?}", at(50), at(90));
}
