//! Rust, Go, Java and C#.

use super::{outline, whole};
use crate::Language;

#[cfg(feature = "rust")]
#[test]
fn rust() {
    let text = r#"#![allow(x)]
use std::fmt;
use a::{b as c, d, e::{self, f}, g::*};
extern crate foo as bar;

/// Documented.
#[derive(Debug)]
#[repr(C)]
pub struct S<'a, T> where T: Copy {
    #[serde(skip)]
    pub a: &'a u8,
    b: T,
}
struct Tuple(u8);
union U { a: u8 }
pub(crate) enum E {
    A,
    #[default]
    B(u8),
    C { x: u8 },
}
impl<'a, T> S<'a, T> {
    const K: u8 = 1;
    #[inline]
    pub async unsafe fn m(&self) {
        fn inner() {}
        let x = 1;
        struct Local { y: u8 }
    }
}
impl<T> fmt::Display for &'_ S<'_, T> {
    fn fmt(&self) {}
}
impl Tr for dyn Other + Send {
    type Item = u8;
}
trait Tr {
    fn sig(&self);
    fn with_body(&self) {}
    type Item;
}
pub static mut ST: u8 = 1;
type Alias = u8;
mod m {
    fn x() {}
}
macro_rules! mac { () => {}; }
extern "C" {
    fn ext();
}
thread_local! { static TL: u8 = 1; }
fn unfinished( {
"#;
    insta::assert_snapshot!(outline(Language::Rust, text), @r"
    2 import fmt -
    3 import c -
    3 import d -
    3 import f -
    4 import bar -
    9 struct S -
    11 field a S
    12 field b S
    14 struct Tuple -
    15 union U -
    15 field a U
    16 enum E -
    17 variant A E
    19 variant B E
    20 variant C E
    20 field x E.C
    23 constant K S
    25 method m S
    26 function inner S.m
    27 local x S.m
    28 struct Local S.m
    28 field y S.m.Local
    32 method fmt S
    35 type Item Other
    37 trait Tr -
    38 method sig Tr
    39 method with_body Tr
    40 type Item Tr
    42 static ST -
    43 type Alias -
    44 module m -
    45 function x m
    47 macro mac -
    49 declaration ext -
    51 static TL -
    ");
    assert!(
        whole(Language::Rust, text, "S").starts_with("#[derive(Debug)]\n#[repr(C)]\npub struct")
    );
}

#[cfg(feature = "go")]
#[test]
fn go_without_a_last_newline() {
    let text = r#"package main

import (
	"fmt"
	f2 "foo/bar"
)

const A = 1
const (
	B = iota
	C
	D, E = 1, 2
)
var V, W int = 1, 2
type T struct {
	F, G int
	Embedded
}
type (
	I interface { M(int) error }
	Alias = T
	Fn func(int)
	Gen[K any] struct { k K }
)
func (t *T) Method() {
	type Inner struct{ z int }
	x := 1
}
func (g Gen[K]) OfGeneric() {}
func Fu[T any](a int) {}
func last() {}"#;
    insta::assert_snapshot!(outline(Language::Go, text), @r"
    1 module main -
    5 import f2 -
    8 constant A -
    10 constant B -
    11 constant C -
    12 constant D -
    12 constant E -
    14 variable V -
    14 variable W -
    15 struct T -
    16 field F T
    16 field G T
    20 interface I -
    20 method M I
    21 type Alias -
    22 type Fn -
    23 struct Gen -
    23 field k Gen
    25 method Method T
    26 struct Inner T.Method
    26 field z T.Method.Inner
    27 local x T.Method
    29 method OfGeneric Gen
    30 function Fu -
    31 function last -
    ");
    assert_eq!(whole(Language::Go, text, "A"), "const A = 1");
    assert_eq!(whole(Language::Go, text, "last"), "func last() {}");
}

#[cfg(feature = "java")]
#[test]
fn java() {
    let text = r#"package com.foo;
import java.util.List;
import static java.lang.Math.max;
@Anno
public class A<T> extends B {
    static final int K = 1, L = 2;
    int f;
    A() {}
    @Override
    public <X> int m(int a) {
        int local = 1;
        class Inner {}
    }
    enum E {
        ONE,
        TWO { void q() {} };
        int v;
    }
    interface I { int C = 1; void im(); }
    record R(int x) { R {} }
    @interface An { int value() default 1; }
}
"#;
    insta::assert_snapshot!(outline(Language::Java, text), @r"
    1 module com.foo -
    2 import List -
    3 import max -
    5 class A -
    6 constant K A
    6 constant L A
    7 field f A
    8 method A A
    10 method m A
    11 local local A.m
    12 class Inner A.m
    14 enum E A
    15 variant ONE A.E
    16 variant TWO A.E
    16 method q A.E.TWO
    17 field v A.E
    19 interface I A
    19 constant C A.I
    19 method im A.I
    20 class R A
    20 field x A.R
    20 method R A.R
    21 interface An A
    21 method value A.An
    ");
}

#[cfg(feature = "csharp")]
#[test]
fn csharp() {
    let text = r#"using Alias = System.Text;
namespace A.B;
[Attr]
public class Foo<T> : Bar {
    public event EventHandler Changed;
    public int Prop { get; set; } = 1;
    const int K = 1, L = 2;
    private int f1, f2;
    public Foo() {}
    ~Foo() {}
    public static Foo operator +(Foo a, Foo b) => a;
    public static implicit operator int(Foo f) => 1;
    public int this[int i] => 1;
    void M<U>() {
        void Local() {}
        var x = 1;
    }
    void I.Explicit() {}
    delegate void D(int a);
    enum E { One, Two = 2 }
    struct S {}
    interface I { void IM(); }
}
record R(int A);
record struct RS(int X);
"#;
    insta::assert_snapshot!(outline(Language::CSharp, text), @r"
    1 import Alias -
    2 module A.B -
    4 class Foo A.B
    5 field Changed A.B.Foo
    6 field Prop A.B.Foo
    7 constant K A.B.Foo
    7 constant L A.B.Foo
    8 field f1 A.B.Foo
    8 field f2 A.B.Foo
    9 method Foo A.B.Foo
    10 method Foo A.B.Foo
    11 method + A.B.Foo
    12 method int A.B.Foo
    13 method this A.B.Foo
    14 method M A.B.Foo
    15 function Local A.B.Foo.M
    16 local x A.B.Foo.M
    18 method Explicit A.B.Foo
    19 type D A.B.Foo
    20 enum E A.B.Foo
    20 variant One A.B.Foo.E
    20 variant Two A.B.Foo.E
    21 struct S A.B.Foo
    22 interface I A.B.Foo
    22 method IM A.B.Foo.I
    24 class R A.B
    24 field A A.B.R
    25 class RS A.B
    25 field X A.B.RS
    ");
}
