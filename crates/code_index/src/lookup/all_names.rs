//! The names of all symbols of a project, to choose among by a few letters.

use std::collections::BTreeSet;
use std::time::{Duration, Instant};

use workspace::{RelPath, WalkOptions};

use super::symbol_cache::SymbolCache;
use super::word_files::{WordFile, WordVisitor, read_text, until, visit_all_files};
use crate::symbols::{Parsers, SymbolKind};
use crate::{CodeBase, FileFilter, SearchScope};

/// The time that parsing one file may take.
const FILE_TIME: Duration = Duration::from_secs(5);

/// How far a list of names goes.
#[derive(Debug, Clone, Copy)]
pub struct NameBounds {
    /// Names after which to stop.
    pub most: usize,
    /// Size in bytes above which a file is not read.
    pub max_file_bytes: u64,
    /// When to answer with what there is.
    pub deadline: Instant,
}

impl CodeBase {
    /// The names that the files of the project define, each once and in order, and whether these are all. Local
    /// variables and imports are left out. Some of the names may be gone by now: whether one is still defined, a
    /// lookup tells. While a table is being made nothing is parsed beside it, and there are none.
    pub fn symbol_names(&self, bounds: &NameBounds) -> (Vec<String>, bool) {
        let scope = self.scope(bounds);
        let mut is_complete = true;
        let mut names = match self.symbols(&scope) {
            None if self.index_is_at_work() => return (Vec::new(), false),
            Some((table, changed)) => {
                let mut names = Vec::new();
                table.names(is_named, |name| {
                    names.extend(str::from_utf8(name).map(str::to_owned));
                    names.len() < bounds.most
                });
                names.extend(self.names_in(&changed, &scope));
                names
            }
            None => {
                let collector = || NameCollector::new(&scope);
                let visited = visit_all_files(self, &scope, &|| false, collector);
                let (coverage, threads) = visited.unwrap_or_default();
                is_complete = !coverage.walk.timed_out;
                threads.into_iter().flat_map(|thread| thread.names).collect()
            }
        };
        names.sort_unstable();
        names.dedup();
        names.truncate(bounds.most);
        (names, is_complete)
    }

    fn scope(&self, bounds: &NameBounds) -> SearchScope {
        let walk = WalkOptions::default();
        SearchScope {
            start: RelPath::root(),
            filter: FileFilter::default(),
            hidden: false,
            // An index answers for what it covers, and not for less.
            max_depth: self.indexed_depth().unwrap_or(walk.max_depth),
            max_entries: walk.max_entries,
            deadline: bounds.deadline,
            max_results: bounds.most,
            max_file_bytes: bounds.max_file_bytes,
            file_time: FILE_TIME,
        }
    }

    /// The names in files that the table does not know as they are.
    fn names_in(&self, changed: &[RelPath], scope: &SearchScope) -> BTreeSet<String> {
        let mut collector = NameCollector::new(scope);
        let mut buffer = Vec::new();
        for path in changed.iter().take_while(|_| Instant::now() < scope.deadline) {
            let Ok(file) = self.workspace().open_file(path) else { continue };
            let Some(text) = read_text(&file, scope.max_file_bytes, &mut buffer) else { continue };
            let language = self.language_of(path, text);
            collector.visit(&WordFile { path: path.clone(), text, language });
        }
        collector.names
    }
}

/// Whether users look for such a thing by its name.
fn is_named(kind: SymbolKind) -> bool {
    !matches!(kind, SymbolKind::Local | SymbolKind::Import)
}

/// Collects the names of the files that one thread sees.
struct NameCollector<'a> {
    scope: &'a SearchScope,
    parsers: Parsers,
    names: BTreeSet<String>,
}

impl<'a> NameCollector<'a> {
    fn new(scope: &'a SearchScope) -> Self {
        Self { scope, parsers: Parsers::new(), names: BTreeSet::new() }
    }
}

impl WordVisitor for NameCollector<'_> {
    fn visit(&mut self, file: &WordFile<'_>) {
        let Some(language) = file.language else { return };
        let Self { scope, parsers, names } = self;
        let found = SymbolCache::shared()
            .symbols_of(language, file.text, || parsers.symbols(language, file.text, until(scope)));
        for symbol in found.symbols.iter().filter(|symbol| is_named(symbol.kind)) {
            if !names.contains(&symbol.name) {
                names.insert(symbol.name.clone());
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use testkit::Fixture;
    use workspace::Workspace;

    use super::*;
    use crate::IndexOptions;

    const PROJECT: &str = "
//- /src/cart.ts
import { round } from './money';
export class Cart { total() { const sum = 0; return round(sum); } }
//- /src/money.ts
export function roundHalfEven(value: number) { return value; }
//- /notes.txt
class Nothing {}
";

    fn bounds() -> NameBounds {
        let deadline = Instant::now() + Duration::from_secs(600);
        NameBounds { most: 100, max_file_bytes: 1 << 20, deadline }
    }

    #[test]
    fn names_are_those_of_definitions_with_and_without_a_table() {
        let project = Fixture::new(PROJECT);
        let workspace = Arc::new(Workspace::open(project.root()).unwrap());
        let expected: Vec<String> = ["Cart", "roundHalfEven", "total"].map(str::to_owned).into();
        let code = CodeBase::new(Arc::clone(&workspace));
        assert_eq!(code.symbol_names(&bounds()), (expected.clone(), true));
        let cache = Fixture::new("");
        let options = IndexOptions {
            min_files: 1,
            max_file_bytes: 1 << 20,
            max_depth: 100,
            max_entries: 10_000,
            stays: true,
        };
        let code = CodeBase::with_index(workspace, cache.root().join("index"), options);
        assert_eq!(code.symbol_names(&bounds()), (Vec::new(), false), "the index is looked for");
        code.wait_for_index();
        code.build_index(&|_, _| {}).unwrap().unwrap();
        code.build_symbols(&|_, _| {}).unwrap().unwrap();
        assert!(code.symbols(&code.scope(&bounds())).is_some(), "the table is used");
        assert_eq!(code.symbol_names(&bounds()), (expected.clone(), true));
        let two = code.symbol_names(&NameBounds { most: 2, ..bounds() });
        assert_eq!(two.0, expected[..2]);
        project.write("src/money.ts", "export function floor() {}\n");
        let (names, _) = code.symbol_names(&bounds());
        assert!(names.contains(&"floor".to_owned()), "{names:?}");
    }
}
