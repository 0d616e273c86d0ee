//! Python, Ruby, PHP and Bash.

use super::{outline, whole};
use crate::Language;

#[cfg(feature = "python")]
#[test]
fn python() {
    let text = r#"import os, a.b as c
from x import y as z, w
X = 1
Y: int = 2
A, B = 1, 2
lam = lambda: 0
@deco
@other(1)
class K(Base):
    f = 1
    g: int
    @property
    def p(self):
        self.attr = 1
        local = 2
        def inner(): pass
        class In: pass
    async def am(self): pass
    @overload
    def ov(self): ...
type Al[T] = list[T]
try:
    import json
except ImportError:
    json = None
if x:
    def cond(): pass
def unfinished(
"#;
    insta::assert_snapshot!(outline(Language::Python, text), @r"
    1 import os -
    1 import c -
    2 import z -
    2 import w -
    3 variable X -
    4 variable Y -
    5 variable A -
    5 variable B -
    6 function lam -
    9 class K -
    10 field f K
    11 field g K
    13 method p K
    14 field attr K
    15 local local K.p
    16 function inner K.p
    17 class In K.p
    18 method am K
    20 method ov K
    21 type Al -
    23 import json -
    25 variable json -
    27 function cond -
    ");
    assert!(whole(Language::Python, text, "K").starts_with("@deco\n@other(1)\nclass K"));
}

#[cfg(feature = "ruby")]
#[test]
fn ruby() {
    let text = r#"module M
  class A::B < C
    K = 1
    X::Y = 2
    attr_accessor :a, "b"
    def m(x) = 1
    def self.s; end
    def ==(other); end
    def v=(x)
      local = 2
    end
    class << self
      def cs; end
    end
    define_method(:dm) { |x| }
    alias foo bar
    alias_method :al, :m
    private def pm; end
    Point = Struct.new(:x) do
      def q?; end
    end
  end
end
def top; end
A, B2 = 1, 2
def obj.sing; end
"#;
    insta::assert_snapshot!(outline(Language::Ruby, text), @r"
    1 module M -
    2 class B M.A
    3 constant K M.A.B
    4 constant Y M.A.B.X
    5 field a M.A.B
    5 field b M.A.B
    6 method m M.A.B
    7 method s M.A.B
    8 method == M.A.B
    9 method v= M.A.B
    10 local local M.A.B.v=
    13 method cs M.A.B
    15 method dm M.A.B
    16 method foo M.A.B
    17 method al M.A.B
    18 method pm M.A.B
    19 class Point M.A.B
    20 method q? M.A.B.Point
    24 function top -
    25 constant A -
    25 constant B2 -
    26 method sing obj
    ");
}

#[cfg(feature = "php")]
#[test]
fn php() {
    let text = r#"<html><?php
namespace A\B;
use Foo\Bar;
use X\{Y, Z as W};
const K = 1;
define('DEFINED', 2);
$global = 1;
#[Attr]
abstract class C extends D {
    const CC = 1, CD = 2;
    public $p = 1, $q;
    public function __construct(private int $promoted) {}
    abstract function ab();
    static function m() { $local = 1; }
}
interface I { function im(); }
trait T { function tm() {} }
enum E: string {
    case One = 'a';
    function em() {}
}
function f() { function inner() {} }
$closure = function () {};
?></html>
"#;
    insta::assert_snapshot!(outline(Language::Php, text), @r"
    2 module A\B -
    3 import Bar A.B
    4 import Y A.B
    4 import W A.B
    5 constant K A.B
    6 constant DEFINED A.B
    7 variable global A.B
    9 class C A.B
    10 constant CC A.B.C
    10 constant CD A.B.C
    11 field p A.B.C
    11 field q A.B.C
    12 method __construct A.B.C
    12 field promoted A.B.C
    13 method ab A.B.C
    14 method m A.B.C
    14 local local A.B.C.m
    16 interface I A.B
    16 method im A.B.I
    17 trait T A.B
    17 method tm A.B.T
    18 enum E A.B
    19 variant One A.B.E
    20 method em A.B.E
    22 function f A.B
    22 function inner A.B.f
    23 function closure A.B
    ");
}

#[cfg(feature = "bash")]
#[test]
fn bash() {
    let text = r#"#!/bin/bash
X=1; readonly Y=2; export Z=3; declare -a ARR=(1 2)
foo() {
  local l=1
  bar() { :; }
}
function baz { :; }
function with-dash() ( : )
alias ll='ls -l'
"#;
    insta::assert_snapshot!(outline(Language::Bash, text), @r"
    2 variable X -
    2 variable Y -
    2 variable Z -
    2 variable ARR -
    3 function foo -
    4 local l foo
    5 function bar foo
    7 function baz -
    8 function with-dash -
    9 macro ll -
    ");
}
