//! JavaScript and TypeScript.

use super::{outline, whole};
use crate::Language;

#[cfg(feature = "javascript")]
#[test]
fn javascript() {
    let text = r#"import d, { a as b, c } from 'x';
export { foo, bar as baz } from './m';
export default class {}
class C {
  #p = 1;
  f = () => {};
  static m() {}
  #priv() {}
  [Symbol.iterator]() {}
}
const { a: x, b: { c2 }, ...rest } = require('x'), [s, t = 2] = arr;
export const K = 1, fn = () => 1, named = function inside() {};
let v; var w;
const obj = { meth() {}, arrow: () => {}, 'quoted': function () {}, plain: 1 };
module.exports.foo = function () {};
exports.a = exports.b = function () {};
F.prototype.y = function () {};
F.prototype = { pm: function () {} };
function F() { this.meth = function () {}; const local = 1; }
X.stat = async () => {};
"#;
    insta::assert_snapshot!(outline(Language::JavaScript, text), @r"
    1 import d -
    1 import b -
    1 import c -
    2 import foo -
    2 import baz -
    3 class default -
    4 class C -
    5 field #p C
    6 method f C
    7 method m C
    8 method #priv C
    9 method [Symbol.iterator] C
    11 import x -
    11 variable c2 -
    11 variable rest -
    11 variable s -
    11 variable t -
    12 constant K -
    12 function fn -
    12 function named -
    12 function inside named
    13 variable v -
    13 variable w -
    14 constant obj -
    14 method meth obj
    14 method arrow obj
    14 method quoted obj
    15 function foo -
    16 function a -
    16 function b a
    17 method y F
    18 method pm F
    19 function F -
    19 method meth F
    19 local local F
    20 method stat X
    ");
}

#[cfg(feature = "typescript")]
#[test]
fn typescript() {
    let text = r#"import type { T1 } from 'z';
import req = require('q');
@Deco()
export abstract class C<T> extends B implements I {
  @Input() prop: string = '';
  arrow = () => {};
  constructor(private cp: string) {}
  m<T>(): void;
  m() { const local = 1; class In {} }
  get g() { return 1 }
  abstract ab(): void;
}
interface I extends J { a: string; m(): void; new (x): I }
type Al<T> = { field: T };
enum E { A, B = 2, 'C' }
declare const enum CE { X }
namespace N.M { export function nf() {} }
declare module 'mod' { export function mf(): void }
declare global { interface Window { w: 1 } }
function over(a: string): void;
function over(a) {}
export default function () {}
"#;
    insta::assert_snapshot!(outline(Language::TypeScript, text), @r"
    1 import T1 -
    2 import req -
    4 class C -
    5 field prop C
    6 method arrow C
    7 method constructor C
    7 field cp C
    8 method m C
    9 method m C
    9 local local C.m
    9 class In C.m
    10 method g C
    11 method ab C
    13 interface I -
    13 field a I
    13 method m I
    13 method new I
    14 type Al -
    14 field field Al
    15 enum E -
    15 variant A E
    15 variant B E
    15 variant C E
    16 enum CE -
    16 variant X CE
    17 module N.M -
    17 function nf N.M
    18 module mod -
    18 function mf mod
    19 module global -
    19 interface Window global
    19 field w global.Window
    20 function over -
    21 function over -
    22 function default -
    ");
    assert!(whole(Language::TypeScript, text, "C").starts_with("@Deco()\nexport abstract class C"));
}

#[cfg(feature = "typescript")]
#[test]
fn tsx() {
    let text = r#"export const Button = ({ label }: Props) => <button>{label}</button>;
export default function App(): JSX.Element {
  const [state, setState] = useState(0);
  return <Button label="App" />;
}
class View extends React.Component<Props> {
  render() { return <div>{this.props.children}</div>; }
}
"#;
    insta::assert_snapshot!(outline(Language::Tsx, text), @r"
    1 function Button -
    2 function App -
    3 local state App
    3 local setState App
    6 class View -
    7 method render View
    ");
}

#[cfg(feature = "javascript")]
#[test]
fn what_is_required_or_stands_in_a_function_without_a_name_is_not_defined_for_others() {
    let text = "\
const fs = require('fs'), join = require('path').join;
const { a, b: c } = require('./x');
methods.forEach(function (method) { var route = 1; });
app[name] = (x) => { const inner = 2; };
define(['x'], function (x) { var kept = 1; });
(function () { var module = 1; })();
";
    let found = outline(Language::JavaScript, text);
    let table = [
        "1 import fs -",
        "1 import join -",
        "2 import a -",
        "2 import c -",
        "3 local route -",
        "4 local inner -",
        "5 variable kept -",
        "6 variable module -",
    ];
    for expected in table {
        assert!(found.lines().any(|line| line == expected), "{expected}\n{found}");
    }
}
