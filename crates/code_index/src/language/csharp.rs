//! C#.

use super::java::{after_type, in_header};
use super::spec::{LanguageSpec, NameRules, Privacy, SymbolSource, grammar, highlights};
use crate::imports::Dialect;
use crate::lookup::{Chance, NameContext, TokenBefore, begins_expression};

pub(super) const ROW: LanguageSpec = LanguageSpec {
    name: "C#",
    called: &["c#", "csharp"],
    extensions: &["cs"],
    file_names: &[],
    interpreters: &[],
    test_names: &["*Test", "*Tests"],
    line_comment: "//",
    grammar: grammar!("csharp", tree_sitter_c_sharp::LANGUAGE),
    highlights: highlights!("csharp", tree_sitter_c_sharp::HIGHLIGHTS_QUERY),
    symbols: SymbolSource::Queries(&[include_str!("../symbols/queries/csharp.scm")]),
    definers: &[
        "class",
        "interface",
        "enum",
        "record",
        "struct",
        "namespace",
        "delegate",
        "event",
        "const",
    ],
    could_define,
    names: NameRules::PLAIN,
    keywords: "abstract as base bool break byte case catch char checked class const continue decimal \
        default delegate do double else enum event explicit extern false finally fixed float \
        for foreach goto if implicit in int interface internal is lock long namespace new null \
        object operator out override params private protected public readonly ref return sbyte \
        sealed short sizeof stackalloc static string struct switch this throw true try typeof \
        uint ulong unchecked unsafe ushort using virtual void volatile while",
    privacy: Privacy::IfWord(&["private", "protected"]),
    top_level_first: false,
    imports: Some(Dialect::CSharp),
};

fn could_define(name: &NameContext<'_>, before: TokenBefore<'_>) -> Chance {
    let is_constant = |line: &[u8]| {
        let has = |word: &[u8]| memchr::memmem::find(line, word).is_some();
        has(b"const ") || has(b"delegate ")
    };
    in_header(name).unwrap_or_else(|| match before {
        TokenBefore::Sign(b'.', at) => explicit_member(name, at),
        TokenBefore::Sign(b'@', _) => Chance::Minor,
        // An indexer: `int this[int i]`.
        TokenBefore::Word(..) if name.name() == b"this" => Chance::Major,
        _ => after_type(name, before, is_constant),
    })
}

/// `int IFoo.Bar(`: a member that is only seen through an interface.
fn explicit_member(name: &NameContext<'_>, mut dot: usize) -> Chance {
    loop {
        match name.before_place(dot) {
            TokenBefore::Word(_, at) => match name.before_place(at) {
                TokenBefore::Sign(b'.', at) => dot = at,
                TokenBefore::Word(word, _) if word == b"void" || !begins_expression(word) => {
                    return Chance::Major;
                }
                TokenBefore::Sign(b']' | b'?', _) => return Chance::Major,
                TokenBefore::Sign(b'>', at) if name.sign_at(at.wrapping_sub(1)) != b'=' => {
                    return Chance::Major;
                }
                _ => return Chance::No,
            },
            TokenBefore::Sign(b'>', _) => return Chance::Major,
            _ => return Chance::No,
        }
    }
}
