//! Which statements count as imports, and what they take.

use super::path;
use crate::imports::extract::extract;

/// `line kind specifier [names] {exposed}` of every import in a file.
fn statements(file: &str, text: &str) -> Vec<String> {
    let facts = extract(&path(file), text.as_bytes(), &|| false).unwrap();
    let shown = facts.imports.iter().map(|import| {
        let exposed: Vec<_> = import.exposed.iter().map(|(a, b)| format!("{a}={b}")).collect();
        let names = import.names.join(",");
        let scope = import.scope.join("::");
        let line = format!("{} {} {}", import.line, import.kind, import.specifier);
        format!("{line} [{names}] {{{}}} {scope}", exposed.join(",")).trim_end().to_owned()
    });
    shown.collect()
}

fn defines(file: &str, text: &str) -> String {
    let facts = extract(&path(file), text.as_bytes(), &|| false).unwrap();
    facts.defines.join(" ")
}

#[test]
fn javascript() {
    let text = r#"/// <reference path="globals.d.ts" />
/// <reference types="node" />
import './side';
import a, { b, c as d } from "./a";
import * as e from './e';
import type { T } from './t';
import f = require('./f');
export { g, h as i } from './g';
export * from './j';
export * as k from './k';
const { l, m: n } = require('./l');
const o = await import('./o');
let p: import('./p').P;
jest.mock('./q');
text("import x from './r'");
// import x from './s'
export { b as publicB };
require(`./t${1}`);
import(`./u`);
if (1) { const v = require('./v') }
"#;
    insta::assert_snapshot!(statements("x.ts", text).join("\n"), @"
    1 reference ./globals.d.ts [] {}
    2 reference node [] {}
    3 import ./side [] {}
    4 import ./a [default,b,c] {b=publicB}
    5 import ./e [*] {}
    6 type ./t [T] {}
    7 require ./f [*] {}
    8 re-export ./g [g,h] {g=g,h=i}
    9 re-export ./j [*] {*=*}
    10 re-export ./k [*] {*=k}
    11 require ./l [l,m] {}
    12 dynamic ./o [*] {}
    13 dynamic ./p [*] {}
    19 dynamic ./u [*] {}
    20 require ./v [*] {}
    ");
    let text = "import App from './App.vue'\n";
    let component = format!(
        "<template>\n<p/>\n</template>\n<script setup lang=\"ts\">\n{text}</script>\n<script>\nimport x from './x'\n</script>"
    );
    insta::assert_snapshot!(statements("x.vue", &component).join("\n"), @"
    5 import ./App.vue [default] {}
    8 import ./x [default] {}
    ");
    let text = "export const a = 1, { b, c: d } = x;\nexport function e() {}\nexport default class F {}\n\
                export interface G {}\nexport type H = 1;\nexport enum I {}\nconst j = 1; export { j as k };\n\
                exports.l = 1; module.exports = { m, n: 1 }; export abstract class O {}";
    insta::assert_snapshot!(defines("x.ts", text), @"a b d e default:F default G H I l default n O k m");
}

#[test]
fn a_module_declaration_is_an_import_only_in_a_module() {
    let declaration = "declare module './a' { interface B {} }\n";
    assert!(statements("x.ts", declaration).is_empty());
    let text = format!("{declaration}export {{}};\n");
    assert_eq!(statements("x.ts", &text), ["1 reference ./a [] {}"]);
}

#[test]
fn python() {
    let text = "import a.b as c, d\nfrom . import e\nfrom .f import (g, h as i)\nfrom ..j import *\n\
                if TYPE_CHECKING:\n    from k import l\ndef m():\n    import n\n    o = importlib.import_module('.p', __package__)\n\
                __import__('q')\nimport_module(r)\nfrom __future__ import annotations\n'''\nimport s\n'''\nfrom .. . t import u\n";
    insta::assert_snapshot!(statements("pkg/__init__.py", text).join("\n"), @"
    1 import a.b [] {}
    1 import d [] {}
    2 import . [e] {e=e}
    3 import .f [g,h] {g=g,h=i}
    4 import ..j [*] {*=*}
    6 import k [l] {l=l}
    8 import n [] {}
    9 dynamic .p [] {}
    10 dynamic q [] {}
    16 import ...t [u] {u=u}
    ");
    let text = "A, b = 1, 2\nc: int = 3\ndef d(): e = 1\n@x\nclass F:\n    g = 1\nif x:\n    def h(): pass\n";
    insta::assert_snapshot!(defines("x.py", text), @"A b c d F h");
}

#[test]
fn rust() {
    let text = r##"mod a;
#[path = "other.rs"]
#[cfg(x)]
mod b;
pub mod c { use super::d; mod e; }
use f::{self, g::{h as i, j}, k::*};
pub(crate) use ::l::m;
extern crate n;
fn o() -> p::Q { assert_eq!(crate::r::s(), super::t::U::new()); v::w::<x::Y>() }
include!("z.rs");
const TEXT: &str = "use aa::bb;";
macro_rules! cc { () => { $crate::dd::ee!() } }
"##;
    insta::assert_snapshot!(statements("x.rs", text).join("\n"), @r#"
    1 module self::a [] {}
    4 module self::b [] {}
    5 import super [d] {} c
    5 module self::e [] {} c
    6 import  [f] {}
    6 import f::g [h] {}
    6 import f::g [j] {}
    6 import f::k [*] {}
    7 re-export ::l [m] {m=m}
    8 import ::n [] {}
    9 path p [Q] {}
    9 path crate::r [s] {}
    9 path super::t::U [new] {}
    9 path v [w] {}
    9 path x [Y] {}
    10 reference "z.rs" [] {}
    12 path crate::dd [ee] {}
    "#);
    let text = "pub fn a() {}\nstruct B;\nimpl B { fn c() {} }\nconst D: u8 = 1;\nmacro_rules! e { () => {} }\nfn f() { struct G; }\nmod h { fn i() {} }";
    insta::assert_snapshot!(defines("x.rs", text), @"a B D e f");
}

#[test]
fn the_other_languages() {
    let go = "package x\nimport \"fmt\"\nimport (\n\t_ \"a/b\"\n\tc \"d.e/f\"\n)\nvar s = `import \"no\"`";
    let java = "package a;\nimport b.C;\nimport static d.E.f;\nimport g.*;\nimport static h.I.*;\nclass J extends K {}";
    let c = "#include \"a.h\"\n#include <b/c.h>\n#ifdef D\n#  include \"e.h\"\n#endif\n// #include \"f.h\"\nint x;";
    let php = "<?php\nnamespace A;\nuse B\\C, D\\E as F;\nuse G\\{H, I\\J};\nuse function K\\l;\n\
               class M { use N; }\nrequire_once __DIR__ . '/o.php';\ninclude 'p.php';\nrequire dirname(__FILE__) . \"/q.php\";\nrequire $r;";
    let ruby = "require 'a/b'\nrequire_relative 'c'\nrequire_relative '../d'\nautoload :E, 'e/f'\nload \"g.rb\"\nx.require 'h'\nrequire \"#{i}\"\n# require 'j'";
    insta::assert_snapshot!(statements("x.go", go).join("\n"), @"
    2 import fmt [] {}
    4 import a/b [] {}
    5 import d.e/f [] {}
    ");
    insta::assert_snapshot!(statements("x.java", java).join("\n"), @"
    2 import b.C [] {}
    3 import d.E [f] {}
    4 import g [*,J,K] {}
    5 import h.I [*,J,K] {}
    6 path a.K [] {}
    ");
    insta::assert_snapshot!(statements("x.php", php).join("\n"), @r"
    3 import B\C [C] {}
    3 import D\E [E] {}
    4 import G\H [H] {}
    4 import G\I\J [J] {}
    5 import K\l [l] {}
    7 require __DIR__/o.php [] {}
    8 require p.php [] {}
    9 require __DIR__/q.php [] {}
    ");
    insta::assert_snapshot!(statements("x.rb", ruby).join("\n"), @"
    1 require a/b [] {}
    2 require ./c [] {}
    3 require ../d [] {}
    4 dynamic e/f [E] {}
    5 require g.rb [] {}
    ");
    insta::assert_snapshot!(statements("x.c", c).join("\n"), @r#"
    1 import "a.h" [] {}
    2 import <b/c.h> [] {}
    4 import "e.h" [] {}
    "#);
    assert_eq!(statements("x.cpp", c), statements("x.c", c));
}

#[test]
fn broken_code_still_has_its_imports() {
    let text = "import { a } from './a'\nlet x = = 3;\nimport { b } from './b'\n";
    assert_eq!(statements("x.ts", text).len(), 2);
    let text = "use a::b;\nfn ( { ]]\n";
    assert_eq!(statements("x.rs", text), ["1 import a [b] {}"]);
}

proptest::proptest! {
    #[test]
    fn no_text_makes_extraction_fail(text in "[ -~\\n]{0,200}", index in 0usize..10) {
        let files = ["x.ts", "x.tsx", "x.vue", "x.py", "x.rs", "x.go", "x.java", "x.cpp", "x.php", "x.rb"];
        let facts = extract(&path(files[index]), text.as_bytes(), &|| false);
        proptest::prop_assert!(facts.is_some());
    }

    #[test]
    fn no_bytes_make_extraction_fail(
        pieces in proptest::collection::vec(
            proptest::sample::select(vec![
                "import ", "from ", "export ", "* ", "{", "}", "'./a'", "\"b\"", "use ", "::", "mod x;", "require(",
                ")", "include!(", "#include <", "\n", "<script>", "</script>", "pub ", "self", "as ", "\\", "é",
            ]),
            0..40,
        ),
        index in 0usize..10,
    ) {
        let files = ["x.ts", "x.js", "x.svelte", "x.py", "x.rs", "x.go", "x.java", "x.c", "x.php", "x.rb"];
        let text = pieces.concat();
        let facts = extract(&path(files[index]), text.as_bytes(), &|| false).unwrap();
        let lines = text.lines().count() + 1;
        proptest::prop_assert!(facts.imports.iter().all(|import| (import.line as usize) <= lines));
    }
}
