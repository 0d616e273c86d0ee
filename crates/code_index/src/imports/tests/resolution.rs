//! Where imports lead, language by language.

use super::edges;

#[test]
fn typescript_follows_extensions_index_files_and_configuration() {
    let project = r#"
//- /tsconfig.json
{ // comments are fine
  "extends": "./base.json", "compilerOptions": { "baseUrl": ".", } }
//- /base.json
{"compilerOptions": {"paths": {"@app/*": ["src/*"], "@exact": ["src/special/entry.ts"], "@m/*": ["src/*/main.ts"]}}}
//- /src/a.ts
import './b';
import './b.js';
import './dir';
import '.';
import '@app/b';
import '@exact';
import '@m/special';
import 'src/b';
import './data.json';
import './missing';
import '../../outside';
import 'lodash/map';
import './c?raw';
//- /src/b.ts
//- /src/c.tsx
//- /src/index.ts
//- /src/dir/index.tsx
import '..';
import '../';
//- /src/special/entry.ts
//- /src/special/main.ts
//- /src/data.json
{}
//- /node_modules/lodash/map.js
"#;
    insta::assert_snapshot!(edges(project).join("\n"), @"
    src/a.ts:1 -> src/b.ts
    src/a.ts:2 -> src/b.ts
    src/a.ts:3 -> src/dir/index.tsx
    src/a.ts:4 -> src/index.ts
    src/a.ts:5 -> src/b.ts
    src/a.ts:6 -> src/special/entry.ts
    src/a.ts:7 -> src/special/main.ts
    src/a.ts:8 -> src/b.ts
    src/a.ts:9 -> src/data.json
    src/a.ts:13 -> src/c.tsx
    src/dir/index.tsx:1 -> src/index.ts
    src/dir/index.tsx:2 -> src/index.ts
    ");
}

#[test]
fn javascript_prefers_its_own_kind_and_jsconfig_counts() {
    let project = r#"
//- /jsconfig.json
{"compilerOptions": {"paths": {"~/*": ["./lib/*"]}}}
//- /lib/a.js
import './both';
import '~/c';
const x = require('./c');
//- /lib/both.js
//- /lib/both.ts
//- /lib/c.cjs
//- /lib/page.vue
<script setup>
import './both'
</script>
"#;
    insta::assert_snapshot!(edges(project).join("\n"), @"
    lib/a.js:1 -> lib/both.js
    lib/a.js:2 -> lib/c.cjs
    lib/a.js:3 -> lib/c.cjs
    lib/page.vue:2 -> lib/both.ts
    ");
}

#[test]
fn packages_of_a_javascript_workspace_lead_to_their_sources() {
    let project = r##"
//- /package.json
{"workspaces": ["packages/*"]}
//- /packages/core/package.json
{"name": "@org/core", "main": "dist/index.js", "exports": {".": "./dist/index.js", "./sub": "./dist/sub.js", "./odd": "./src/odd/thing.ts"}}
//- /packages/core/src/index.ts
import '#own';
//- /packages/core/src/sub.ts
//- /packages/core/src/odd/thing.ts
//- /packages/core/dist/index.js
//- /packages/app/package.json
{"name": "app", "imports": {"#own": "./src/own.ts"}}
//- /packages/app/src/main.ts
import '@org/core';
import '@org/core/sub';
import '@org/core/odd';
import '@org/other';
import '#own';
//- /packages/app/src/own.ts
//- /fixtures/other/package.json
{"name": "@org/other", "main": "index.js"}
//- /fixtures/other/index.js
"##;
    insta::assert_snapshot!(edges(project).join("\n"), @"
    packages/app/src/main.ts:1 -> packages/core/src/index.ts
    packages/app/src/main.ts:2 -> packages/core/src/sub.ts
    packages/app/src/main.ts:3 -> packages/core/src/odd/thing.ts
    packages/app/src/main.ts:5 -> packages/app/src/own.ts
    ");
}

#[test]
fn installed_links_lead_to_the_real_package_and_broken_configuration_is_skipped() {
    let project = r#"
//- /node_modules/linked -> ../libs/linked
//- /libs/linked/package.json
{"name": "linked", "main": "main.js"}
//- /libs/linked/main.js
//- /node_modules/endless -> endless
//- /node_modules/outside -> /etc
//- /app/tsconfig.json
{"extends": "./tsconfig.json", nonsense
//- /app/a.ts
import 'linked';
import 'endless';
import 'outside/passwd';
import './b';
//- /app/b.ts
"#;
    insta::assert_snapshot!(edges(project).join("\n"), @r"
    app/a.ts:1 -> libs/linked/main.js
    app/a.ts:4 -> app/b.ts
    ");
}

#[test]
fn python_knows_packages_namespaces_and_layouts() {
    let project = "
//- /src/pkg/__init__.py
from . import a
from .a import name
from .sub import *
//- /src/pkg/a.py
import pkg
import pkg.sub.deep
import os.path, json
from pkg import a, thing
from ..outside import x
//- /src/pkg/sub/__init__.py
//- /src/pkg/sub/deep.py
from .. import a
from ... import nothing
from ..a import name
def late():
    import pkg.a
//- /src/space/one.py
from space import two
import space.two
//- /src/space/two.py
//- /tests/test_a.py
import pkg.a
from helpers import x
import importlib
importlib.import_module('pkg.sub')
//- /tests/helpers.py
//- /json/data.txt
";
    insta::assert_snapshot!(edges(project).join("\n"), @"
    src/pkg/__init__.py:1 -> src/pkg/a.py
    src/pkg/__init__.py:2 -> src/pkg/a.py
    src/pkg/__init__.py:3 -> src/pkg/sub/__init__.py
    src/pkg/a.py:1 -> src/pkg/__init__.py
    src/pkg/a.py:2 -> src/pkg/sub/deep.py
    src/pkg/a.py:4 -> src/pkg/__init__.py
    src/pkg/sub/deep.py:1 -> src/pkg/a.py
    src/pkg/sub/deep.py:3 -> src/pkg/a.py
    src/pkg/sub/deep.py:5 -> src/pkg/a.py
    src/space/one.py:1 -> src/space/two.py
    src/space/one.py:2 -> src/space/two.py
    tests/test_a.py:1 -> src/pkg/a.py
    tests/test_a.py:2 -> tests/helpers.py
    tests/test_a.py:4 -> src/pkg/sub/__init__.py
    ");
}

#[test]
fn rust_knows_its_module_tree_and_the_crates_around() {
    let project = r#"
//- /Cargo.toml
[workspace]
members = ["crates/*"]
[workspace.dependencies]
base-lib = { path = "crates/base" }
//- /crates/base/Cargo.toml
[package]
name = "base-lib"
//- /crates/base/src/lib.rs
pub mod deep;
pub use deep::Thing;
mod inner { pub mod file; }
//- /crates/base/src/deep/mod.rs
mod leaf;
use super::Thing as Other;
//- /crates/base/src/deep/leaf.rs
use super::super::inner::file;
use crate::deep::{self, Thing};
//- /crates/base/src/inner/file.rs
//- /crates/app/Cargo.toml
[package]
name = "app"
[dependencies]
base-lib.workspace = true
renamed = { path = "../base", package = "base-lib" }
serde = "1"
//- /crates/app/src/lib.rs
mod a;
#[path = "strange/place.rs"]
mod moved;
//- /crates/app/src/a.rs
use base_lib::deep::Thing;
use renamed::Thing;
use serde::de::{self, Deserialize};
use std::fmt;
fn f() { base_lib::deep::run(); crate::moved::go(); assert!(crate::moved::now()); }
mod tests { use super::*; use crate::moved; }
//- /crates/app/src/strange/place.rs
use super::a;
//- /crates/app/src/main.rs
use app::a::X;
mod only_main;
//- /crates/app/src/only_main.rs
use crate::only_main;
//- /crates/app/tests/it/main.rs
mod case;
//- /crates/app/tests/it/case.rs
use crate::case as own;
use app::a;
include!("../data.rs");
//- /crates/app/tests/data.rs
"#;
    insta::assert_snapshot!(edges(project).join("\n"), @"
    crates/app/src/a.rs:1 -> crates/base/src/deep/mod.rs
    crates/app/src/a.rs:2 -> crates/base/src/lib.rs
    crates/app/src/a.rs:5 -> crates/base/src/deep/mod.rs
    crates/app/src/a.rs:5 -> crates/app/src/strange/place.rs
    crates/app/src/a.rs:6 -> crates/app/src/strange/place.rs
    crates/app/src/lib.rs:1 -> crates/app/src/a.rs
    crates/app/src/lib.rs:3 -> crates/app/src/strange/place.rs
    crates/app/src/main.rs:1 -> crates/app/src/a.rs
    crates/app/src/main.rs:2 -> crates/app/src/only_main.rs
    crates/app/src/strange/place.rs:1 -> crates/app/src/a.rs
    crates/app/tests/it/case.rs:2 -> crates/app/src/a.rs
    crates/app/tests/it/case.rs:3 -> crates/app/tests/data.rs
    crates/app/tests/it/main.rs:1 -> crates/app/tests/it/case.rs
    crates/base/src/deep/leaf.rs:1 -> crates/base/src/inner/file.rs
    crates/base/src/deep/leaf.rs:2 -> crates/base/src/deep/mod.rs
    crates/base/src/deep/mod.rs:1 -> crates/base/src/deep/leaf.rs
    crates/base/src/deep/mod.rs:2 -> crates/base/src/lib.rs
    crates/base/src/lib.rs:1 -> crates/base/src/deep/mod.rs
    crates/base/src/lib.rs:2 -> crates/base/src/deep/mod.rs
    crates/base/src/lib.rs:3 -> crates/base/src/inner/file.rs
    ");
}

#[test]
fn go_imports_are_directories_of_modules() {
    let project = r#"
//- /go.mod
module example.com/app
replace other.org/lib v1.0.0 => ./vendored/lib
//- /main.go
package main
import (
	"fmt"
	"example.com/app"
	"example.com/app/internal/db"
	"example.com/application"
	l "other.org/lib/sub"
)
//- /internal/db/db.go
package db
//- /vendored/lib/go.mod
module lib.local
//- /vendored/lib/sub/x.go
package sub
"#;
    insta::assert_snapshot!(edges(project).join("\n"), @"
    main.go:4 -> .
    main.go:5 -> internal/db
    main.go:7 -> vendored/lib/sub
    ");
}

#[test]
fn java_imports_are_classes_beneath_some_root() {
    let project = "
//- /src/main/java/com/x/App.java
package com.x;
import com.x.db.Store;
import com.x.db.Store.Row;
import static com.x.util.Text.*;
import static com.x.util.Text.join;
import com.x.all.*;
import java.util.List;
class App { Used u; }
//- /src/main/java/com/x/db/Store.java
//- /src/main/java/com/x/util/Text.java
//- /src/main/java/com/x/all/Used.java
//- /src/main/java/com/x/all/Unused.java
";
    insta::assert_snapshot!(edges(project).join("\n"), @"
    src/main/java/com/x/App.java:2 -> src/main/java/com/x/db/Store.java
    src/main/java/com/x/App.java:3 -> src/main/java/com/x/db/Store.java
    src/main/java/com/x/App.java:4 -> src/main/java/com/x/util/Text.java
    src/main/java/com/x/App.java:5 -> src/main/java/com/x/util/Text.java
    src/main/java/com/x/App.java:6 -> src/main/java/com/x/all/Used.java
    ");
}

#[test]
fn c_includes_are_found_beside_in_roots_or_by_a_unique_suffix() {
    let project = "
//- /include/lib/a.h
//- /src/a.h
//- /src/main.c
#include \"a.h\"
#include <lib/a.h>
#include \"../include/lib/a.h\"
#include <stdio.h>
#include \"deep/only.h\"
#include \"deep/twice.h\"
#include <a.h>
//- /third/party/deep/only.h
//- /third/one/deep/twice.h
//- /third/two/deep/twice.h
";
    insta::assert_snapshot!(edges(project).join("\n"), @"
    src/main.c:1 -> src/a.h
    src/main.c:2 -> include/lib/a.h
    src/main.c:3 -> include/lib/a.h
    src/main.c:5 -> third/party/deep/only.h
    src/main.c:7 -> src/a.h
    ");
}

#[test]
fn php_classes_autoload_and_files_are_required() {
    let project = r#"
//- /composer.json
{"autoload": {"psr-4": {"App\\": "src/", "": "fallback"}}, "autoload-dev": {"psr-4": {"App\\Tests\\": ["tests"]}}}
//- /src/Model/User.php
<?php
namespace App\Model;
use App\Db\{Store, Missing};
use App\Tests\Case_;
use Vendor\Thing;
require_once __DIR__ . '/../helpers.php';
include 'bootstrap.php';
//- /src/Db/Store.php
//- /src/helpers.php
//- /tests/Case_.php
//- /bootstrap.php
//- /fallback/Vendor/Thing.php
"#;
    insta::assert_snapshot!(edges(project).join("\n"), @"
    src/Model/User.php:3 -> src/Db/Store.php
    src/Model/User.php:4 -> tests/Case_.php
    src/Model/User.php:5 -> fallback/Vendor/Thing.php
    src/Model/User.php:6 -> src/helpers.php
    src/Model/User.php:7 -> bootstrap.php
    ");
}

#[test]
fn ruby_requires_from_lib_and_relative() {
    let project = "
//- /lib/app.rb
require 'app/store'
require_relative 'app/text'
require 'json'
autoload :Late, 'app/late'
//- /lib/app/store.rb
require_relative '../app'
//- /lib/app/text.rb
//- /lib/app/late.rb
//- /spec/app_spec.rb
require 'spec_helper'
require 'app'
load 'lib/app/text.rb'
//- /spec/spec_helper.rb
";
    insta::assert_snapshot!(edges(project).join("\n"), @"
    lib/app/store.rb:1 -> lib/app.rb
    lib/app.rb:1 -> lib/app/store.rb
    lib/app.rb:2 -> lib/app/text.rb
    lib/app.rb:4 -> lib/app/late.rb
    spec/app_spec.rb:1 -> spec/spec_helper.rb
    spec/app_spec.rb:2 -> lib/app.rb
    spec/app_spec.rb:3 -> lib/app/text.rb
    ");
}
