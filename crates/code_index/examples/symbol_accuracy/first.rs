//! Whether the definition that is meant comes first in the answer to a question for its name.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use code_index::{
    CodeBase, Definition, DefinitionQuery, FileFilter, IndexOptions, Language, SearchScope,
    SymbolName, find_definitions,
};
use workspace::{RelPath, Workspace};

/// As many definitions as an answer of the tool may show.
const SHOWN: usize = 50;

/// Bounds that no package comes near, but for the size of a file.
const MAX_BYTES: u64 = 1 << 20;
const MAX_DEPTH: usize = 32;
const MAX_ENTRIES: usize = 1_000_000;

/// A place that defines a name, as a judge sees it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Right {
    pub(crate) name: String,
    /// From the root of the package.
    pub(crate) path: String,
    pub(crate) line: u32,
    pub(crate) language: Language,
    /// Of several definitions of a name, those with the lowest number are meant.
    pub(crate) order: u8,
}

/// Directories of tests, examples and documents.
const ASIDE: [&str; 12] = [
    "test",
    "tests",
    "testing",
    "spec",
    "example",
    "examples",
    "samples",
    "bench",
    "benchmark",
    "benchmarks",
    "doc",
    "docs",
];
/// Directories of what was built, and of what others wrote.
const BUILT: [&str; 8] =
    ["dist", "build", "umd", "min", "vendor", "third_party", "node_modules", "generated"];

/// Sources before tests, and both before what was built from them. The rule is stated here once
/// more, so that it judges the one of the library.
pub(crate) fn order_of_path(path: &str) -> u8 {
    let path = path.to_ascii_lowercase();
    let name = path.rsplit('/').next().unwrap_or(&path);
    let is_made = [".min.js", ".bundle.js", ".g.cs", ".designer.cs", ".pb.cc", ".pb.h"]
        .iter()
        .any(|ending| name.ends_with(ending));
    let has = |names: &[&str]| path.split('/').any(|part| names.contains(&part));
    let stem = name.split('.').next().unwrap_or(name);
    let is_test = ["_test", "tests", "_unittest", "_benchmark"].iter().any(|it| stem.ends_with(it))
        || name.contains(".test.")
        || name.contains(".spec.")
        || stem.starts_with("test");
    let declares = [".d.ts", ".d.cts", ".d.mts"].iter().any(|ending| name.ends_with(ending));
    match () {
        () if is_made || has(&BUILT) || path.split('/').any(|part| part.starts_with("dist-")) => 2,
        () if has(&ASIDE) || is_test || declares => 1,
        () => 0,
    }
}

/// Whether it can be asked for by one word; operators cannot.
fn is_name(name: &str) -> bool {
    let is_part = |c: char| c.is_alphanumeric() || matches!(c, '_' | '$');
    !name.is_empty() && name.chars().all(is_part) && !name.starts_with("operator")
}

/// What became of the names of one language.
#[derive(Default)]
pub(crate) struct FirstPlaces {
    pub(crate) names: u64,
    pub(crate) first: u64,
    pub(crate) found: u64,
    pub(crate) misses: Vec<String>,
}

/// What another parser found: in each line path, line, name and rank.
pub(crate) fn read(truth: &Path) -> Result<Vec<Right>, Box<dyn std::error::Error>> {
    let text = std::fs::read_to_string(truth)?;
    let mut rights = Vec::new();
    for line in text.lines() {
        let parts: Vec<&str> = line.split('\t').collect();
        let [path, line, name, rank] = parts[..] else {
            return Err(format!("not path, line, name and rank: {line}").into());
        };
        // A header is asked for in the language of the judge.
        let language = match RelPath::parse(path).ok().and_then(|path| Language::of(&path)) {
            Some(Language::C) => Language::Cpp,
            Some(language) => language,
            None => continue,
        };
        let order = order_of_path(path) * 2 + rank.parse::<u8>()?;
        let right = Right {
            name: name.to_owned(),
            path: path.to_owned(),
            line: line.parse()?,
            language,
            order,
        };
        rights.push(right);
    }
    Ok(rights)
}

/// Asks for `per_language` of the names, spread evenly over all, and judges the answers.
pub(crate) fn measure(
    directory: &Path,
    rights: &[Right],
    per_language: usize,
    tallies: &mut BTreeMap<&'static str, FirstPlaces>,
) -> Result<(), Box<dyn std::error::Error>> {
    let mut by_name: BTreeMap<&str, Vec<&Right>> = BTreeMap::new();
    for right in rights {
        by_name.entry(&right.name).or_default().push(right);
    }
    let mut by_language: BTreeMap<&'static str, Vec<Vec<&Right>>> = BTreeMap::new();
    for mut meant in by_name.into_values() {
        let best = meant.iter().map(|right| right.order).min().unwrap_or_default();
        meant.retain(|right| right.order == best);
        // What a judge sees only in what was built from it, it does not see.
        let is_built = |right: &&Right| order_of_path(&right.path) == 2;
        if meant.iter().all(is_built) || !meant.iter().all(|right| is_name(&right.name)) {
            continue;
        }
        let languages: BTreeSet<_> = meant.iter().map(|right| right.language).collect();
        for language in languages {
            by_language.entry(language.name()).or_default().push(meant.clone());
        }
    }
    // With the index and the table of symbols, as a server has them after a while.
    let cache = std::env::temp_dir().join(format!("toolkiln-accuracy-{}", std::process::id()));
    let judged = judge_all(directory, &cache, &by_language, per_language, tallies);
    std::fs::remove_dir_all(&cache)?;
    judged
}

fn judge_all(
    directory: &Path,
    cache: &Path,
    by_language: &BTreeMap<&'static str, Vec<Vec<&Right>>>,
    per_language: usize,
    tallies: &mut BTreeMap<&'static str, FirstPlaces>,
) -> Result<(), Box<dyn std::error::Error>> {
    let options = IndexOptions {
        min_files: 1,
        max_file_bytes: MAX_BYTES,
        max_depth: MAX_DEPTH,
        max_entries: MAX_ENTRIES,
        stays: true,
    };
    std::fs::create_dir_all(cache)?;
    let workspace = Arc::new(Workspace::open(directory)?);
    let code = CodeBase::with_index(workspace, cache.to_owned(), options);
    code.build_index(&|_, _| {}).ok_or("no index")??;
    code.build_symbols(&|_, _| {}).ok_or("no table")??;
    for (language, names) in by_language {
        let step = names.len().div_ceil(per_language.max(1)).max(1);
        let tally = tallies.entry(language).or_default();
        for meant in names.iter().step_by(step) {
            judge(&code, directory, meant, tally)?;
        }
    }
    Ok(())
}

fn judge(
    code: &CodeBase,
    directory: &Path,
    meant: &[&Right],
    tally: &mut FirstPlaces,
) -> Result<(), Box<dyn std::error::Error>> {
    let Some(right) = meant.first() else { return Ok(()) };
    let Some(name) = SymbolName::parse(&right.name) else { return Ok(()) };
    let query = DefinitionQuery { name, only: None, context: 0, max_line_chars: 200 };
    let found = find_definitions(code, &query, &scope()?, &|| false)?;
    let is_meant = |one: &Definition| {
        meant.iter().any(|right| one.line == right.line && one.path.to_text() == right.path)
    };
    let is_first = found.found.first().is_some_and(is_meant);
    let is_found = found.found.iter().any(is_meant);
    tally.names += 1;
    tally.first += u64::from(is_first);
    tally.found += u64::from(is_found);
    if !is_first {
        let place = |one: &Definition| {
            let signature: String = one.signature.chars().take(60).collect();
            format!("{}:{} ({}) {signature}", one.path, one.line, one.kind)
        };
        let first = found.found.first().map_or("nothing".to_owned(), place);
        let (state, count) = (if is_found { "later" } else { "MISSED" }, meant.len());
        tally.misses.push(format!(
            "{}: {state}: {} at {}:{} ({count} meant), first is {first}",
            directory.display(),
            right.name,
            right.path,
            right.line
        ));
    }
    Ok(())
}

fn scope() -> Result<SearchScope, Box<dyn std::error::Error>> {
    Ok(SearchScope {
        start: RelPath::root(),
        filter: FileFilter::new(&[], &[], &[])?,
        hidden: false,
        max_depth: MAX_DEPTH,
        max_entries: MAX_ENTRIES,
        deadline: Instant::now() + Duration::from_secs(60),
        max_results: SHOWN,
        max_file_bytes: MAX_BYTES,
        file_time: Duration::from_secs(20),
    })
}

/// Prints the shares; true if one of `barred` is below its bar.
pub(crate) fn report(
    tallies: &BTreeMap<&'static str, FirstPlaces>,
    shown: usize,
    (first_bar, found_bar): (f64, f64),
) -> bool {
    let share = |part: u64, all: u64| part as f64 / all.max(1) as f64;
    let mut failed = false;
    println!("\n{:11} {:>7} {:>8} {:>8}", "language", "asked", "first", "found");
    for (language, tally) in tallies {
        let (first, found) = (share(tally.first, tally.names), share(tally.found, tally.names));
        failed |= first < first_bar || found < found_bar;
        println!("{language:11} {:>7} {first:>8.3} {found:>8.3}", tally.names);
    }
    for (language, tally) in tallies {
        if !tally.misses.is_empty() {
            println!("\n{language}: {} not first", tally.misses.len());
        }
        for miss in tally.misses.iter().take(shown) {
            println!("  {miss}");
        }
    }
    failed
}
