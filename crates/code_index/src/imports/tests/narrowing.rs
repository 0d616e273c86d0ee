//! Narrowing by words must lose no importer: asking for one file gives what resolving everything gives.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use proptest::prelude::*;
use workspace::RelPath;

use super::in_memory::FilesInMemory;
use super::path;
use crate::imports::extract::Dialect;
use crate::imports::{every_import, find_importers};

/// Paths, and what can be written in a file to import things in one way or another.
struct Pool {
    paths: &'static [&'static str],
    statements: &'static [&'static str],
    fixed: &'static [(&'static str, &'static str)],
}

const TYPESCRIPT: Pool = Pool {
    paths: &[
        "index.ts",
        "src/index.ts",
        "src/db.ts",
        "src/db/index.ts",
        "src/db/pool.ts",
        "src/ui/view.tsx",
        "src/ui/index.js",
        "src/ui/util.js",
        "lib/main.ts",
        "lib/deep/entry.ts",
        "packages/one/src/index.ts",
        "packages/one/src/extra.ts",
        "packages/two/main.ts",
    ],
    statements: &[
        "import '.'",
        "import '..'",
        "import './'",
        "import '../'",
        "import '../..'",
        "import './index'",
        "import './db'",
        "import '../db'",
        "import './db/'",
        "import './db/pool.js'",
        "import '../db/pool'",
        "import '@app/db'",
        "import '@app/ui'",
        "import '@entry'",
        "import '@deep/deep'",
        "import './view'",
        "import './ui/view.jsx'",
        "import './util'",
        "export * from '../ui'",
        "const x = require('../src/ui')",
        "import('./main')",
        "import 'one'",
        "import 'one/extra'",
        "import '@o/two'",
        "import '#hash'",
        "import '../lib'",
        "import 'lib/main'",
        "import type { A } from './extra'",
        "/// <reference path=\"pool.ts\" />",
        "import './src'",
        "import '../packages/two'",
    ],
    fixed: &[
        (
            "tsconfig.json",
            r#"{"compilerOptions": {"baseUrl": ".", "paths": {"@app/*": ["src/*"], "@entry": ["lib/main.ts"], "@deep/*": ["lib/*/entry.ts"]}}}"#,
        ),
        (
            "package.json",
            r##"{"name": "whole", "workspaces": ["packages/*"], "imports": {"#hash": "./src/db/pool.ts"}}"##,
        ),
        (
            "packages/one/package.json",
            r#"{"name": "one", "exports": {".": "./dist/index.js", "./extra": "./src/extra.ts"}}"#,
        ),
        ("packages/two/package.json", r#"{"name": "@o/two", "main": "main.ts"}"#),
        ("lib/package.json", r#"{"main": "deep/entry.ts"}"#),
    ],
};

const PYTHON: Pool = Pool {
    paths: &[
        "src/pkg/__init__.py",
        "src/pkg/a.py",
        "src/pkg/sub/__init__.py",
        "src/pkg/sub/b.py",
        "src/pkg/sub/c.py",
        "tests/test_a.py",
        "tests/helper.py",
        "space/one.py",
        "space/two.py",
        "tool.py",
    ],
    statements: &[
        "from . import a",
        "from .. import a",
        "from . import *",
        "from .. import name",
        "from . \\\n  import b",
        "from .a import x",
        "import pkg",
        "import pkg.sub",
        "import pkg.sub.b as z",
        "from pkg import sub",
        "from pkg.sub import c, other",
        "import helper",
        "from space import one, two",
        "import space.two",
        "import tool",
        "importlib.import_module('pkg.sub')",
        "__import__('tool')",
        "from .sub import b",
        "from ..sub.c import d",
        "import os",
    ],
    fixed: &[],
};

const RUST: Pool = Pool {
    paths: &[
        "one/src/lib.rs",
        "one/src/a.rs",
        "one/src/b/mod.rs",
        "one/src/b/leaf.rs",
        "one/src/odd/file.rs",
        "two/src/main.rs",
        "two/src/c.rs",
        "two/tests/it.rs",
    ],
    statements: &[
        "mod a;",
        "mod b;",
        "mod leaf;",
        "#[path = \"odd/file.rs\"] mod strange;",
        "mod c;",
        "use crate::a;",
        "use crate::b::leaf::X;",
        "use super::X;",
        "use super::super::a;",
        "use super::*;",
        "use crate::X;",
        "use crate::strange::X;",
        "use one_lib::a::X;",
        "use renamed::X;",
        "fn f() { one_lib::b::run() }",
        "fn g() { vec![crate::b::leaf::Y] }",
        "pub use self::b::leaf;",
        "use crate::{a, b::{self, leaf}};",
        "mod inline { use super::super::X; }",
        "use a::X; use crate::b as a2;",
        "include!(\"a.rs\");",
        "extern crate one_lib;",
    ],
    fixed: &[
        ("Cargo.toml", "[workspace]\nmembers = [\"one\", \"two\"]"),
        ("one/Cargo.toml", "[package]\nname = \"one-lib\""),
        (
            "two/Cargo.toml",
            "[package]\nname = \"two\"\n[dependencies]\none-lib = { path = \"../one\" }\nrenamed = { package = \"one-lib\", path = \"../one\" }",
        ),
    ],
};

const OTHERS: Pool = Pool {
    paths: &[
        "main.go",
        "db/db.go",
        "db/inner/x.go",
        "db/db_test.go",
        "java/com/x/App.java",
        "java/com/x/Store.java",
        "java/com/x/all/Used.java",
        "c/main.c",
        "c/a.h",
        "include/lib/a.h",
        "php/A.php",
        "php/B/C.php",
        "lib/app.rb",
        "lib/app/store.rb",
    ],
    statements: &[
        "package x; import \"m.n/app/db\"",
        "package x; import \"m.n/app\"",
        "package x; import \"m.n/app/db/inner\"",
        "import com.x.Store; class A {}",
        "import com.x.all.*; class B extends Used {}",
        "import static com.x.Store.y; class C {}",
        "#include \"a.h\"",
        "#include <lib/a.h>",
        "#include \"../c/a.h\"",
        "<?php use X\\A; use X\\B\\{C};",
        "<?php require __DIR__ . '/A.php';",
        "require 'app/store'",
        "require_relative 'app'",
        "require_relative '../app'",
        "autoload :S, 'app/store'",
    ],
    fixed: &[
        ("go.mod", "module m.n/app"),
        ("composer.json", r#"{"autoload": {"psr-4": {"X\\": "php/"}}}"#),
    ],
};

const CSHARP: Pool = Pool {
    paths: &["Cart.cs", "app/Main.cs", "app/Cart.g.cs", "lib/Types.cs", "lib/deep/Types.cs"],
    statements: &[
        "using Shop;",
        "using Shop.Deep;",
        "using static Shop.Deep.Tools;",
        "using Alias = Shop.Cart;",
        "namespace Shop { public partial class Cart { Order last; } }",
        "namespace Shop.Deep { class Order { Cart cart; } }",
        "namespace Shop { namespace Deep { static class Tools { static int Twice(this int a) => 2 * a; } } }",
        "class Outer { [Marked] Cart cart; Order order; }",
        "namespace Other { class MarkedAttribute {} class User { Shop.Deep.Order order; int b = 1.Twice(); } }",
    ],
    fixed: &[],
};

/// Which files exist, and what is written in each.
type Plan = Vec<(usize, Vec<usize>)>;

fn plans() -> impl Strategy<Value = Plan> {
    prop::collection::vec((0usize..64, prop::collection::vec(0usize..64, 0..5)), 1..12)
}

fn project(pool: &Pool, plan: &Plan) -> Vec<(RelPath, Vec<u8>)> {
    let mut files = BTreeMap::new();
    for (name, text) in pool.fixed {
        files.insert(path(name), text.as_bytes().to_vec());
    }
    for (file, statements) in plan {
        let lines: Vec<&str> = statements
            .iter()
            .map(|statement| pool.statements[statement % pool.statements.len()])
            .collect();
        files.insert(path(pool.paths[file % pool.paths.len()]), lines.join("\n").into_bytes());
    }
    files.into_iter().collect()
}

fn check(pool: &Pool, plan: &Plan) -> Result<(), TestCaseError> {
    let files = project(pool, plan);
    let all = Arc::new(FilesInMemory::new(files.clone()));
    let mut expected: BTreeMap<RelPath, BTreeSet<RelPath>> = BTreeMap::new();
    for (from, _, to) in every_import(all) {
        // A Go package stands for the files in it; its tests are seen by the tests beside them.
        let inside = files.iter().map(|(file, _)| file).filter(|file| {
            let is_test = file.to_text().ends_with("_test.go");
            **file == to
                || (file.parent().as_ref() == Some(&to) && Dialect::of(file) == Some(Dialect::Go))
                    && (!is_test || from.parent() == file.parent())
        });
        for file in inside {
            expected.entry(file.clone()).or_default().insert(from.clone());
        }
    }
    for (target, _) in &files {
        let again = Arc::new(FilesInMemory::new(files.clone()));
        let found = find_importers(again, &target.to_text());
        let direct = found.importers.iter().filter(|one| one.via.is_none());
        let direct: BTreeSet<RelPath> = direct.map(|one| one.path.clone()).collect();
        let expected = expected.remove(target).unwrap_or_default();
        prop_assert_eq!(direct, expected, "importers of {} in {:?}", target, shown(&files));
    }
    Ok(())
}

fn shown(files: &[(RelPath, Vec<u8>)]) -> Vec<String> {
    files.iter().map(|(path, text)| format!("{path}: {}", String::from_utf8_lossy(text))).collect()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 8, ..ProptestConfig::default() })]

    #[test]
    fn typescript(plan in plans()) {
        check(&TYPESCRIPT, &plan)?;
    }

    #[test]
    fn python(plan in plans()) {
        check(&PYTHON, &plan)?;
    }

    #[test]
    fn rust(plan in plans()) {
        check(&RUST, &plan)?;
    }

    #[test]
    fn csharp(plan in plans()) {
        check(&CSHARP, &plan)?;
    }

    #[test]
    fn other_languages(plan in plans()) {
        check(&OTHERS, &plan)?;
    }
}
