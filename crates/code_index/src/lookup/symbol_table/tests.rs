use std::cell::Cell;
use std::collections::{BTreeMap, HashMap};
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use proptest::prelude::*;
use proptest::sample::Index;
use proptest::test_runner::TestRunner;
use testkit::Fixture;
use workspace::Workspace;

use super::bytes::PackedPlace;
use super::*;
use crate::lookup::definitions::DefinitionSearch;
use crate::lookup::word::WholeWord;
use crate::lookup::{DefinitionQuery, Definitions, SymbolName};
use crate::symbols::{Symbol, file_symbols};
use crate::{CodeBase, FileFilter, FileQuery, Language, SearchScope, find_files};

const PROJECT: &str = "
//- /a.rs
pub struct Foo { bar: u8 }
impl Foo { pub fn bar(&self) {} }
//- /b/c.py
def bar():
    pass
class Foo: pass
//- /d.txt
bar = 1
";

struct Bench {
    project: Fixture,
    code: CodeBase,
    bytes: Vec<u8>,
}

fn bench() -> Bench {
    let project = Fixture::new(PROJECT);
    // Files that were just written are parsed again for every answer.
    for path in ["a.rs", "b/c.py"] {
        project.make_old(path);
    }
    let workspace = Arc::new(Workspace::open(project.root()).unwrap());
    let paths = ["d.txt", "b/c.py", "a.rs", "gone.rs"].map(|path| RelPath::parse(path).unwrap());
    let mut bytes = Vec::new();
    let report =
        write_symbol_table(&workspace, paths, &options(), &|| false, &|_, _| {}, &mut bytes)
            .unwrap();
    assert_eq!((report.files, report.names, report.symbols), (3, 2, 5));
    Bench { project, code: CodeBase::new(workspace), bytes }
}

fn options() -> TableOptions {
    TableOptions {
        threads: 2,
        max_file_bytes: 1 << 20,
        file_time: Duration::from_secs(60),
        background: false,
    }
}

fn scope() -> SearchScope {
    SearchScope {
        start: RelPath::root(),
        filter: FileFilter::default(),
        hidden: false,
        max_depth: 10,
        max_entries: 100,
        deadline: Instant::now() + Duration::from_secs(600),
        max_results: 10,
        max_file_bytes: 1 << 20,
        file_time: Duration::from_secs(60),
    }
}

fn answer(bench: &Bench, table: &SymbolTable<&[u8]>, name: &str, changed: &[&str]) -> Definitions {
    let name = SymbolName::parse(name).unwrap();
    let query = DefinitionQuery { name, only: None, context: 0, max_line_chars: 80 };
    let word = WholeWord::new(&query.name.name);
    let (code, scope) = (&bench.code, scope());
    let search =
        DefinitionSearch { code, query: &query, word: &word, scope: &scope, cancel: &|| false };
    let changed: Vec<RelPath> = changed.iter().map(|path| RelPath::parse(path).unwrap()).collect();
    search.by_table(table, &changed)
}

fn found(bench: &Bench, name: &str, changed: &[&str]) -> Vec<String> {
    let table = SymbolTable::open(bench.bytes.as_slice()).unwrap();
    let found = answer(bench, &table, name, changed);
    assert_eq!(found.total, found.found.len() as u64);
    found.found.iter().map(|one| format!("{}:{} {}", one.path, one.line, one.kind)).collect()
}

#[test]
fn a_table_knows_all_definitions_of_a_name_best_first() {
    let bench = bench();
    assert_eq!(found(&bench, "bar", &[]), ["a.rs:2 method", "b/c.py:1 function", "a.rs:1 field"]);
    assert_eq!(found(&bench, "Foo", &[]), ["a.rs:1 struct", "b/c.py:3 class"]);
    assert_eq!(found(&bench, "Foo::bar", &[]), ["a.rs:2 method", "a.rs:1 field"]);
    assert_eq!(found(&bench, "ba", &[]), [""; 0]);
    assert_eq!(found(&bench, "zzz", &[]), [""; 0]);
}

#[test]
fn an_entry_of_a_file_that_changed_is_not_believed() {
    let bench = bench();
    bench.project.write("b/c.py", "\n\ndef bar():\n    return 1\n");
    assert_eq!(found(&bench, "bar", &[])[1], "b/c.py:3 function");
    assert_eq!(found(&bench, "Foo", &[]), ["a.rs:1 struct"]);
    // No file any more, as after a removal.
    bench.project.write("b/c.py", b"\0");
    assert_eq!(found(&bench, "bar", &[]), ["a.rs:2 method", "a.rs:1 field"]);
    bench.project.write("new.py", "def fresh(): pass\n");
    assert_eq!(found(&bench, "fresh", &["new.py"]), ["new.py:1 function"]);
}

/// Every name of a table with the places of its first entry, in its own order.
fn each_name(table: &SymbolTable<&[u8]>) -> Vec<(String, u32, u32)> {
    let mut names = Vec::new();
    table.each_name(|name, first| {
        names.push((String::from_utf8(name.to_vec()).unwrap(), first.file, first.line));
        true
    });
    names
}

#[test]
fn names_come_in_order_for_suggestions() {
    let bench = bench();
    let table = SymbolTable::open(bench.bytes.as_slice()).unwrap();
    assert_eq!(each_name(&table), [("Foo".into(), 0, 1), ("bar".into(), 0, 1)]);
    let paths: Vec<_> = (0..4).filter_map(|file| table.file(file)).map(|(path, _)| path).collect();
    let paths: Vec<_> = paths.iter().map(RelPath::to_text).collect();
    assert_eq!(paths, ["a.rs", "b/c.py", "gone.rs"], "one that cannot be read has a number too");
}

/// What a table of this crate's own sources has for each name is what the parser finds.
#[test]
fn a_table_has_every_symbol_that_the_parser_finds() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let workspace = Arc::new(Workspace::open(&root).unwrap());
    let code = CodeBase::new(Arc::clone(&workspace));
    let scope = SearchScope { max_results: usize::MAX, max_entries: 10_000, ..scope() };
    let files = find_files(&code, &FileQuery::default(), &scope, &|| false).unwrap().files;
    let files: Vec<RelPath> = files.into_iter().map(|file| file.path).collect();
    let mut truth: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for path in files.iter().filter(|path| Language::of(path) == Some(Language::Rust)) {
        let text = workspace.open_file(path).unwrap().read_all(1 << 20).unwrap();
        let found = file_symbols(Language::Rust, &text, scope.deadline);
        assert!(found.complete, "{path}");
        for symbol in found.symbols {
            let Symbol { name, kind, line, column, container, .. } = symbol;
            let place = format!("{path}:{line}:{column} {kind:?} {container:?}");
            truth.entry(name).or_default().push(place);
        }
    }
    let mut bytes = Vec::new();
    let report =
        write_symbol_table(&workspace, files, &options(), &|| false, &|_, _| {}, &mut bytes);
    let report = report.unwrap();
    let table = SymbolTable::open(bytes.as_slice()).unwrap();
    let in_table = |name: &String| -> Vec<String> {
        let entries = table.lookup(name).into_iter().map(|entry| {
            let TableEntry { file, line, column, kind, container } = entry;
            format!("{}:{line}:{column} {kind:?} {container:?}", table.file(file).unwrap().0)
        });
        let mut entries: Vec<_> = entries.collect();
        entries.sort();
        entries
    };
    for (name, places) in &mut truth {
        places.sort();
        assert_eq!(in_table(name), *places, "{name}");
    }
    let names: Vec<_> = each_name(&table).into_iter().map(|(name, ..)| name).collect();
    assert!(names.iter().eq(truth.keys()));
    assert_eq!(report.names, truth.len() as u64);
    assert!(report.names > 1000, "{report:?}");
}

/// The bytes of a table with these names, gathered in several runs.
fn table_of(names: &[(String, PackedPlace)], names_per_run: usize) -> Vec<u8> {
    let mut gathered = runs::NameRuns::default();
    for run in names.chunks(names_per_run) {
        for (name, place) in run {
            gathered.add(name.as_bytes(), *place);
        }
        gathered.pack();
    }
    let mut bytes = Vec::new();
    building::write(&mut bytes, &gathered.runs, (&[], &[]), HashMap::new()).unwrap();
    bytes
}

proptest! {
    #[test]
    fn every_name_is_found_with_its_places_across_blocks_and_runs(
        names in prop::collection::vec(("[a-c]{1,4}", 0u32..300, 1u32..100_000, 1u32..300), 0..200),
        names_per_run in 1usize..80,
    ) {
        let mut truth: BTreeMap<String, Vec<(u32, u32, u32)>> = BTreeMap::new();
        let mut packed = Vec::new();
        for (name, file, line, column) in names {
            packed.push((name.clone(), PackedPlace { file, line, column, kind: 1, container: 0 }));
            truth.entry(name).or_default().push((file, line, column));
        }
        let bytes = table_of(&packed, names_per_run);
        let table = SymbolTable::open(bytes.as_slice()).unwrap();
        for (name, places) in &mut truth {
            places.sort_unstable();
            let found: Vec<_> =
                table.lookup(name).iter().map(|one| (one.file, one.line, one.column)).collect();
            prop_assert_eq!(&found, places);
        }
        for other in ["", "a", "aaaaa", "ab", "d", "cccc"] {
            prop_assert_eq!(table.lookup(other).is_empty(), !truth.contains_key(other));
        }
        let expected: Vec<_> =
            truth.iter().map(|(name, places)| (name.clone(), places[0].0, places[0].1)).collect();
        prop_assert_eq!(each_name(&table), expected);
    }
}

/// Bytes of a table that are damaged, whether its footer may be among them, and where it is cut off, if it is. A table
/// whose footer does not hold is not opened at all.
fn damage() -> impl Strategy<Value = (Vec<(Index, u8)>, bool, Option<Index>)> {
    let bytes = prop::collection::vec((any::<Index>(), any::<u8>()), 1..20);
    (bytes, prop::bool::weighted(0.25), prop::option::weighted(0.1, any::<Index>()))
}

/// Whatever a damaged table says, an answer names only lines on which the name stands.
#[test]
fn damaged_bytes_give_fewer_answers_and_no_panic() {
    let opened = Cell::new(0);
    let config = ProptestConfig { failure_persistence: None, ..ProptestConfig::default() };
    let cases = config.cases;
    let asked = TestRunner::new(config).run(&damage(), |(damage, with_footer, cut)| {
        BENCH.with(|bench| {
            let mut bytes = bench.bytes.clone();
            let length = bytes.len() - if with_footer { 0 } else { FOOTER_BYTES };
            for (at, byte) in damage {
                let at = at.index(length);
                bytes[at] = byte;
            }
            if let Some(cut) = cut {
                let end = cut.index(bytes.len());
                bytes.truncate(end);
            }
            let Some(table) = SymbolTable::open(bytes.as_slice()) else { return Ok(()) };
            opened.set(opened.get() + 1);
            for name in ["bar", "Foo", "zzz"] {
                for definition in answer(bench, &table, name, &[]).found {
                    let text = bench.project.read(definition.path.to_text());
                    let line = text.lines().nth(definition.line as usize - 1);
                    prop_assert!(line.is_some_and(|line| line.contains(name)), "{:?}", definition);
                }
            }
            let mut count = 0;
            table.each_name(|_, _| {
                count += 1;
                count < 10_000
            });
            prop_assert!(count < 10_000);
            Ok(())
        })
    });
    asked.unwrap_or_else(|error| panic!("{error}"));
    let opened = opened.get();
    // About two in three are; fewer than half would leave little tested.
    assert!(opened * 2 > cases, "only {opened} of {cases} tables were opened");
}

thread_local! {
    static BENCH: Bench = bench();
}
