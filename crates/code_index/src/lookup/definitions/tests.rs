//! Whatever the parser finds in a file is found by its name, with a table and without one.

use std::collections::BTreeSet;
use std::path::Path;
use std::sync::Arc;

use testkit::Fixture;
use workspace::Workspace;

use super::*;
use crate::lookup::symbol_table::{TableOptions, write_symbol_table};
use crate::{FileFilter, FileQuery, find_files};

/// Some of what each language can define.
const PROJECT: &str = "
//- /a.sh
deploy() { local where=1; }
alias again='deploy'
LIMIT=3
//- /a.c
#define MAX(a, b) ((a) > (b) ? (a) : (b))
struct point { int x, y; };
enum color { RED, GREEN };
static int distance(struct point *p)
{
\treturn p->x;
}
//- /a.cpp
namespace geo { class Shape { public: virtual int area() const; int sides; }; }
int geo::Shape::area() const { return sides; }
//- /a.cs
namespace Shop { class Cart { int total; public int this[int i] => i; void Add() {} } }
//- /a.go
package shop
type Cart struct { Items int }
func (c *Cart) Add(n int) { total := n; c.Items += total }
const Most = 3
//- /A.java
package shop;
class A { static final int MOST = 1; int count; void add() {} enum E { ONE, TWO } }
//- /a.js
export default class {}
const { a: renamed, other } = require('x');
exports.make = function () {};
class B { #hidden = 1; get it() { return 1; } }
//- /a.php
<?php
namespace Shop;
class Cart { const MOST = 1; public function __construct(private int $promoted) {} }
define('RATE', 2);
//- /a.py
import os as system
LIMIT = 1
class A:
    field: int = 1
    def method(self): self.seen = lambda: 1
//- /a.rb
module Shop
  class Cart
    attr_reader :total
    MOST = 1
    def self.make; end
    alias again make
  end
end
//- /a.rs
pub struct Point { pub across: u8 }
impl Point { const ZERO: u8 = 0; fn len(&self) {} }
macro_rules! point { () => {}; }
pub enum Color { Red, Green(u8) }
use std::fmt as format;
//- /a.ts
interface Shape { area(): number; name?: string }
type Pair<T> = [T, T];
export const enum Color { Red, Green }
namespace Geo { export function turn() {} }
//- /a.tsx
export const View = () => <div/>;
";

fn scope() -> SearchScope {
    SearchScope {
        start: RelPath::root(),
        filter: FileFilter::default(),
        hidden: false,
        max_depth: 32,
        max_entries: 10_000,
        deadline: Instant::now() + Duration::from_secs(600),
        max_results: 10_000,
        max_file_bytes: 1 << 20,
        file_time: Duration::from_secs(60),
    }
}

/// The symbols of every file as `name path:line kind`.
fn parsed(code: &CodeBase, files: &[RelPath]) -> Vec<(String, String)> {
    let mut parsers = Parsers::new();
    let mut all = Vec::new();
    for path in files {
        let Some(language) = Language::parsed(path) else { continue };
        let text = code.workspace().open_file(path).unwrap().read_all(1 << 20).unwrap();
        let found = parsers.symbols(language, &text, scope().deadline);
        assert!(found.complete && !found.symbols.is_empty(), "{path}");
        all.extend(found.symbols.into_iter().map(|symbol| {
            let place = format!("{path}:{} {}", symbol.line, symbol.kind.name());
            (symbol.name, place)
        }));
    }
    all
}

/// Checks every `step`-th name that the parser finds beneath `root`.
fn check(root: &Path, step: usize) -> usize {
    let workspace = Arc::new(Workspace::open(root).unwrap());
    let code = CodeBase::new(Arc::clone(&workspace));
    let files = find_files(&code, &FileQuery::default(), &scope(), &|| false).unwrap().files;
    let files: Vec<RelPath> = files.into_iter().map(|file| file.path).collect();
    let all = parsed(&code, &files);
    let options = TableOptions {
        threads: 2,
        max_file_bytes: 1 << 20,
        file_time: Duration::from_secs(60),
        background: false,
    };
    let mut bytes = Vec::new();
    write_symbol_table(&workspace, files.clone(), &options, &|| false, &|_, _| {}, &mut bytes)
        .unwrap();
    let table = SymbolTable::open(bytes.as_slice()).unwrap();
    let empty = no_table();
    let names: BTreeSet<&String> = all.iter().map(|(name, _)| name).collect();
    let mut checked = 0;
    for name in names.into_iter().step_by(step) {
        let mut truth: Vec<&String> =
            all.iter().filter(|(other, _)| other == name).map(|(_, place)| place).collect();
        truth.sort();
        let query = DefinitionQuery {
            name: SymbolName { name: name.clone(), within: Vec::new() },
            only: None,
            context: 0,
            max_line_chars: 80,
        };
        let word = WholeWord::new(name);
        let (code, scope) = (&code, &scope());
        let search =
            DefinitionSearch { code, query: &query, word: &word, scope, cancel: &|| false };
        let by_text = search.by_text().unwrap();
        assert_eq!(by_text.not_parsed, 0, "{name}");
        let ways = [
            ("text", by_text),
            ("table", search.by_table(&table, &[])),
            ("a table that knows no file", search.by_table(&empty, &files)),
        ];
        for (way, found) in ways {
            let places = found.found.iter().filter(|one| !one.by_text);
            let places: BTreeSet<String> =
                places.map(|one| format!("{}:{} {}", one.path, one.line, one.kind)).collect();
            let missing: Vec<_> = truth.iter().filter(|one| !places.contains(**one)).collect();
            assert!(missing.is_empty(), "{name} by {way}: {missing:?} not in {places:?}");
        }
        checked += 1;
    }
    checked
}

/// A table without names.
fn no_table() -> SymbolTable<Vec<u8>> {
    let project = Fixture::new("");
    let workspace = Workspace::open(project.root()).unwrap();
    let options = TableOptions {
        threads: 1,
        max_file_bytes: 1,
        file_time: Duration::from_secs(1),
        background: false,
    };
    let mut bytes = Vec::new();
    write_symbol_table(&workspace, [], &options, &|| false, &|_, _| {}, &mut bytes).unwrap();
    SymbolTable::open(bytes).unwrap()
}

#[test]
fn every_definition_of_a_project_is_found_by_its_name() {
    let project = Fixture::new(PROJECT);
    let checked = check(project.root(), 1);
    assert!(checked > 50, "{checked}");
}

#[test]
fn definitions_of_this_crate_are_found_by_their_names() {
    let checked = check(&Path::new(env!("CARGO_MANIFEST_DIR")).join("src"), 60);
    assert!(checked > 30, "{checked}");
}

/// `path:line` of the definitions of a name, in order.
fn places(project: &str, name: &str) -> Vec<String> {
    let project = Fixture::new(project);
    let code = CodeBase::new(Arc::new(Workspace::open(project.root()).unwrap()));
    let name = SymbolName::parse(name).unwrap();
    let query = DefinitionQuery { name, only: None, context: 0, max_line_chars: 200 };
    let found = find_definitions(&code, &query, &scope(), &|| false).unwrap();
    found.found.iter().map(|one| format!("{}:{}", one.path, one.line)).collect()
}

#[test]
fn what_is_meant_comes_first_in_each_language() {
    let table: [(&str, &str, &[&str]); 7] = [
        // The main part of a class before generated ones, its constructor, and aliases.
        (
            "//- /A.Designer.cs\npartial class Form { Form() {} }\n//- /B.cs\nusing Form = X.Y;\nclass B {}\n\
             //- /Form.cs\npublic partial class Form {\n  public Form() {}\n}\n",
            "Form",
            &["Form.cs:1", "Form.cs:2", "A.Designer.cs:1", "A.Designer.cs:1", "B.cs:1"],
        ),
        // A class before its constructors, and both before what is only declared.
        (
            "//- /a.cc\n#include \"box.h\"\nBox::Box() {}\n//- /box.h\nclass Other;\nclass Box {\n public:\n  Box();\n};\n",
            "Box",
            &["box.h:2", "a.cc:2", "box.h:4"],
        ),
        // What a module has for others before members, locals and what it requires.
        (
            "//- /a.js\nconst run = require('./run');\n//- /b.js\nclass B { run() {} }\n\
             //- /c.js\neach(list, function () { var run = 1; });\n//- /deep/run.js\nfunction run() {}\nmodule.exports = run;\n",
            "run",
            &["deep/run.js:1", "b.js:1", "c.js:1", "a.js:1"],
        ),
        // A file that is named after it, and what is defined before what is handed on.
        (
            "//- /all.js\nexports.pick = pick;\nfunction pick() {}\n//- /pick.js\nfunction pick() {}\n",
            "pick",
            &["pick.js:1", "all.js:2", "all.js:1"],
        ),
        // Sources before what was built from them.
        (
            "//- /dist/lib.js\nexport function make() {}\n//- /lib.umd.js\nfunction make() {}\n\
             //- /lib.js\n(function (global, factory) { factory(); })(this, function () {\nfunction make() {}\n});\n\
             //- /src/very/deep/make.js\nexport function make() {}\n//- /index.d.ts\nexport function make(): void;\n",
            "make",
            &[
                "src/very/deep/make.js:1",
                "index.d.ts:1",
                "dist/lib.js:1",
                "lib.js:2",
                "lib.umd.js:1",
            ],
        ),
        // A header that could be C is C++ where the sources are.
        (
            "//- /main.cpp\nint main() {}\n//- /plain.h\nstruct Plain : Base { int size() const { return 1; } };\n",
            "size",
            &["plain.h:1"],
        ),
        // A script is known by its first line.
        (
            "//- /configure\n#!/bin/sh\nas_fn_exit ()\n{\n  exit 1\n}\n",
            "as_fn_exit",
            &["configure:2"],
        ),
    ];
    for (project, name, expected) in table {
        let found = places(project, name);
        let shown: Vec<&str> = found.iter().map(String::as_str).collect();
        assert_eq!(shown, expected, "{name}");
    }
}
