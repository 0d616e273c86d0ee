//! What people ask, and what they get.

use std::sync::Arc;

use super::in_memory::FilesInMemory;
use super::{importers, path};
use crate::imports::{ImpactQuery, find_importers, impact};

const SHOP: &str = r#"
//- /src/services/DatabaseService.ts
export class DatabaseService {}
export const LIMIT = 1;
//- /src/services/index.ts
export * from './DatabaseService';
export { Other } from './Other';
//- /src/services/Other.ts
export class Other {}
//- /src/components/List.tsx
import { DatabaseService } from '../services/DatabaseService';
//- /src/components/Table.tsx
import { DatabaseService as Db } from '../services';
//- /src/components/Plain.tsx
import { Other } from '../services';
//- /src/components/Talk.tsx
// DatabaseService is mentioned here, and in '../services/DatabaseService'
const text = "import { DatabaseService } from '../services/DatabaseService'";
//- /src/main.js
const { LIMIT } = require('./services/DatabaseService.js');
import React, { useState } from 'react';
import debounce from 'lodash/debounce';
import fs from 'node:fs';
//- /src/other/DatabaseService.py
//- /src/components/List.test.tsx
import { List } from './List';
"#;

#[test]
fn a_module_is_found_by_every_spelling() {
    let expected = [
        "src/components/List.tsx:1",
        "src/components/Table.tsx:1",
        "src/main.js:1",
        "src/services/index.ts:1",
    ];
    for asked in [
        "src/services/DatabaseService.ts",
        "./src/services/DatabaseService",
        "src/services/DatabaseService.js",
        "../services/DatabaseService",
        "../../services/DatabaseService.js",
        "services/DatabaseService",
        "@/services/DatabaseService",
        "'../services/DatabaseService'",
        "DatabaseService.ts",
    ] {
        assert_eq!(importers(SHOP, asked), expected, "{asked}");
    }
    assert_eq!(importers(SHOP, "DatabaseService"), expected);
}

#[test]
fn ambiguous_names_are_answered_for_all_candidates() {
    let files = Arc::new(FilesInMemory::parse(SHOP));
    let found = find_importers(files, "DatabaseService");
    let expected = ["src/other/DatabaseService.py", "src/services/DatabaseService.ts"];
    assert_eq!(found.targets, expected);
    assert!(found.importers.iter().all(|one| one.target == 1));
    let via: Vec<_> = found.importers.iter().filter_map(|one| one.via.clone()).collect();
    assert_eq!(via, [path("src/services/index.ts")]);
}

#[test]
fn packages_and_names_from_outside_are_found() {
    let table = [
        ("react", "src/main.js:2"),
        ("useState", "src/main.js:2"),
        ("lodash", "src/main.js:3"),
        ("lodash/debounce", "src/main.js:3"),
        ("fs", "src/main.js:4"),
        ("node:fs", "src/main.js:4"),
    ];
    for (asked, expected) in table {
        assert_eq!(importers(SHOP, asked), [expected], "{asked}");
    }
    assert!(importers(SHOP, "lodash/map").is_empty());
    assert!(importers(SHOP, "reac").is_empty());
    let mixed = "
//- /a.rs
use serde::de::{self, Visitor};
use serde::Serialize;
//- /b.rs
fn f() { serde_json::to_string(&1); }
//- /Cargo.toml
[package]
name = \"x\"
[dependencies]
serde = \"1\"
serde_json = \"1\"
//- /A.java
import java.util.List;
import java.io.*;
//- /c.py
import os.path
from os import path, sep
//- /d.go
package d
import \"github.com/x/y/z\"
";
    let table: &[(&str, &[&str])] = &[
        ("serde", &["a.rs:1", "a.rs:2"]),
        ("serde::de", &["a.rs:1"]),
        ("serde-json", &["b.rs:1"]),
        ("java.util.List", &["A.java:1"]),
        ("java.util", &["A.java:1"]),
        ("java.io.File", &["A.java:2"]),
        ("os", &["c.py:1", "c.py:2"]),
        ("os.path", &["c.py:1", "c.py:2"]),
        ("os.sep", &["c.py:2"]),
        ("github.com/x/y", &["d.go:2"]),
        ("github.com/x/y/z", &["d.go:2"]),
    ];
    for (asked, expected) in table {
        assert_eq!(importers(mixed, asked), *expected, "{asked}");
    }
}

#[test]
fn a_symbol_is_imported_only_from_where_it_is() {
    let project = "
//- /lib/tool.ts
export interface Tool {}
//- /lib/index.ts
export { Tool as PublicTool } from './tool';
export * from './tool';
//- /app/a.ts
import { Tool } from '../lib/tool';
//- /app/b.ts
import { Tool } from '../lib';
//- /app/c.ts
import { Tool } from './unrelated';
import { x } from '../lib/tool';
//- /app/unrelated.ts
export const y = 1;
//- /app/d.ts
import Runner from './runner';
//- /app/runner.ts
export default class EngineRunner {}
";
    assert_eq!(
        importers(project, "Tool"),
        ["app/a.ts:1", "app/b.ts:1", "lib/index.ts:1", "lib/index.ts:2"]
    );
    assert_eq!(importers(project, "EngineRunner"), ["app/d.ts:1"]);
    let rust = "
//- /Cargo.toml
[package]
name = \"my-crate\"
//- /src/lib.rs
mod tool;
mod user;
pub use tool::Tool;
pub mod prelude { pub use crate::Tool; }
//- /src/tool.rs
pub trait Tool {}
//- /src/user.rs
use crate::Tool;
use crate::tool::Tool as Direct;
//- /tests/it.rs
use my_crate::Tool;
use my_crate::prelude::*;
";
    let all = ["src/lib.rs:1", "src/lib.rs:3", "src/user.rs:1", "src/user.rs:2", "tests/it.rs:1"];
    for asked in ["crate::tool", "my_crate::tool", "src/tool.rs", "tool"] {
        let found = importers(rust, asked);
        assert_eq!(found, all, "{asked}");
    }
    assert_eq!(importers(rust, "crate::tool::Tool"), all[1..]);
    assert_eq!(importers(rust, "my-crate"), ["src/user.rs:1", "tests/it.rs:1", "tests/it.rs:2"]);
}

#[test]
fn a_directory_is_imported_by_those_outside_of_it() {
    assert_eq!(importers(SHOP, "src/components"), [""; 0]);
    let go = "
//- /go.mod
module x.y/app
//- /main.go
package main
import \"x.y/app/db\"
//- /db/db.go
package db
//- /db/db_test.go
package db
";
    for asked in ["db", "db/db.go", "x.y/app/db", "db/"] {
        assert_eq!(importers(go, asked), ["main.go:2"], "{asked}");
    }
    assert!(importers(go, "db/db_test.go").is_empty());
}

#[test]
fn nothing_found_comes_with_near_names() {
    let files = Arc::new(FilesInMemory::parse(SHOP));
    let found = find_importers(files, "DatabseService");
    assert!(found.importers.is_empty() && found.targets.is_empty());
    assert_eq!(found.near[0], "src/other/DatabaseService.py");
    let files = Arc::new(FilesInMemory::parse(SHOP));
    assert_eq!(find_importers(files, "  ").targets, [""; 0]);
}

#[test]
fn languages_without_resolution_are_answered_by_their_text() {
    let project = "
//- /app/Main.kt
import com.x.Store
val s = \"Store\"
//- /run.sh
source ./lib/Store.sh
. Store.sh
echo Store
//- /notes.md
import Store
";
    assert_eq!(importers(project, "Store"), ["app/Main.kt:1", "run.sh:1", "run.sh:2"]);
    let files = Arc::new(FilesInMemory::parse(project));
    let found = find_importers(files, "com.x.Store");
    assert!(found.importers.iter().all(|one| one.kind.is_none()));
}

fn affected(project: &str, target: &str, depth: usize) -> crate::imports::Impact {
    let files = Arc::new(FilesInMemory::parse(project));
    impact(files, &ImpactQuery { target: target.to_owned(), depth, max_files: 100 })
}

#[test]
fn impact_is_a_tree_that_follows_only_what_is_handed_on() {
    let found = affected(SHOP, "src/services/DatabaseService.ts", 10);
    insta::assert_snapshot!(found.to_tree(100), @"
    src/services/DatabaseService.ts (3)
      src/components/List.tsx (1)
        src/components/List.test.tsx [test]
      src/main.js
      src/services/index.ts (1)
        src/components/Table.tsx
    ");
    assert_eq!(found.tests, [path("src/components/List.test.tsx")]);
    assert_eq!((found.direct, found.files.len(), found.is_cut), (3, 5, false));
    insta::assert_snapshot!(found.to_tree(2), @"
    src/services/DatabaseService.ts (3)
      src/components/List.tsx (1)
    … 4 more lines
    ");
}

#[test]
fn cycles_end_and_every_file_is_expanded_once() {
    let project = "
//- /a.py
import b
//- /b.py
import c
import d
//- /c.py
import a
//- /d.py
import c
";
    let found = affected(project, "c", 10);
    insta::assert_snapshot!(found.to_tree(100), @"
    c.py (2)
      b.py (1)
        a.py (1)
          c.py (cycle)
      d.py (1)
        b.py (1, shown elsewhere)
    ");
    insta::assert_snapshot!(found.to_dot(3), @r#"
    digraph imports {
      rankdir=LR;
      node [shape=box];
      "c.py" [style=bold];
      "a.py" -> "b.py";
      "b.py" -> "c.py";
      "b.py" -> "d.py";
      // 2 more imports
    }
    "#);
    insta::assert_snapshot!(found.to_mermaid(3), @r#"
    graph LR
      n0["c.py"]
      n1["a.py"]
      n2["b.py"]
      n3["d.py"]
      n1 --> n2
      n2 --> n0
      n2 --> n3
      %% 2 more imports
    "#);
    let near = affected(project, "c.py", 1);
    assert!(near.is_cut);
    insta::assert_snapshot!(near.to_tree(100), @"
    c.py (2)
      b.py
      d.py (1)
        b.py
    ");
}
