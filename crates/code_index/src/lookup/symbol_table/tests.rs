use std::sync::Arc;
use std::time::{Duration, Instant};

use proptest::prelude::*;
use testkit::Fixture;
use workspace::Workspace;

use super::*;
use crate::lookup::{DefinitionQuery, SymbolName};
use crate::{CodeBase, FileFilter, SearchScope};

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
    let workspace = Arc::new(Workspace::open(project.root()).unwrap());
    let paths = ["d.txt", "b/c.py", "a.rs", "gone.rs"].map(|path| RelPath::parse(path).unwrap());
    let options = TableOptions {
        threads: 2,
        max_file_bytes: 1 << 20,
        file_time: Duration::from_secs(20),
        background: false,
    };
    let mut bytes = Vec::new();
    let report =
        write_symbol_table(&workspace, paths, &options, &|| false, &|_, _| {}, &mut bytes).unwrap();
    assert_eq!((report.files, report.names, report.symbols), (3, 2, 5));
    Bench { project, code: CodeBase::new(workspace), bytes }
}

fn found(bench: &Bench, name: &str, changed: &[&str]) -> Vec<String> {
    let table = SymbolTable::open(bench.bytes.as_slice()).unwrap();
    let query = DefinitionQuery {
        name: SymbolName::parse(name).unwrap(),
        only: None,
        context: 0,
        max_line_chars: 80,
    };
    let scope = SearchScope {
        start: RelPath::root(),
        filter: FileFilter::default(),
        hidden: false,
        max_depth: 10,
        max_entries: 100,
        deadline: Instant::now() + Duration::from_secs(20),
        max_results: 10,
        max_file_bytes: 1 << 20,
        file_time: Duration::from_secs(20),
    };
    let changed: Vec<RelPath> = changed.iter().map(|path| RelPath::parse(path).unwrap()).collect();
    let found = find_definitions_in_table(&bench.code, &table, &changed, &query, &scope, &|| false);
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

#[test]
fn names_come_in_order_for_suggestions() {
    let bench = bench();
    let table = SymbolTable::open(bench.bytes.as_slice()).unwrap();
    let mut names = Vec::new();
    table.each_name(|name, _| {
        names.push(String::from_utf8(name.to_vec()).unwrap());
        true
    });
    assert_eq!(names, ["Foo", "bar"]);
    assert_eq!(
        (table.names(), table.files()),
        (2, 3),
        "a file that cannot be read has a number too"
    );
}

#[test]
fn many_names_are_found_across_blocks_and_runs() {
    let mut gathered = runs::Gathered::default();
    let name = |n: u32| format!("name_{:05}", n * 7919 % 5000);
    for n in 0..5000 {
        let place = bytes::Place { file: n % 7, line: n + 1, column: 1, kind: 0, container: 0 };
        gathered.add(name(n).as_bytes(), place);
        if n % 1000 == 999 {
            gathered.pack();
        }
    }
    let mut order = Vec::new();
    runs::merge(&gathered.runs, |name, _| -> Result<(), ()> {
        order.push(name.to_vec());
        Ok(())
    })
    .unwrap();
    assert!(order.is_sorted() && order.len() == 5000 && gathered.runs.len() == 5);
}

proptest! {
    #[test]
    fn damaged_bytes_give_fewer_answers_and_no_panic(
        damage in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..20),
        cut in any::<prop::sample::Index>(),
        shorten in any::<bool>(),
    ) {
        let mut bytes = BYTES.with(Vec::clone);
        for (at, byte) in damage {
            let at = at.index(bytes.len());
            bytes[at] = byte;
        }
        if shorten {
            let end = cut.index(bytes.len());
            bytes.truncate(end);
        }
        if let Some(table) = SymbolTable::open(bytes.as_slice()) {
            for name in ["bar", "Foo", "", "zzz"] {
                for entry in table.lookup(name) {
                    let _ = table.file(entry.file);
                }
            }
            let mut left = 10_000;
            table.each_name(|_, _| { left -= 1; left > 0 });
        }
    }
}

thread_local! {
    static BYTES: Vec<u8> = bench().bytes;
}
