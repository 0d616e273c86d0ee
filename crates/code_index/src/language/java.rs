//! Java.

use super::spec::{Dollar, LanguageSpec, NameRules, Privacy, SymbolSource, grammar, highlights};
use crate::imports::Dialect;
use crate::lookup::{Chance, NameContext, TokenBefore, begins_expression};

pub(super) const ROW: LanguageSpec = LanguageSpec {
    name: "Java",
    called: &[],
    extensions: &["java"],
    file_names: &[],
    interpreters: &[],
    test_names: &["*Test", "*Tests"],
    line_comment: "//",
    grammar: grammar!("java", tree_sitter_java::LANGUAGE),
    highlights: highlights!("java", tree_sitter_java::HIGHLIGHTS_QUERY),
    symbols: SymbolSource::Queries(&[include_str!("../symbols/queries/java.scm")]),
    definers: &["class", "interface", "enum", "record", "package"],
    could_define,
    names: NameRules { dollar: Dollar::Letter, ..NameRules::PLAIN },
    keywords: "abstract assert boolean break byte case catch char class const continue default do \
        double else enum extends false final finally float for goto if implements import \
        instanceof int interface long native new null package private protected public return \
        short static strictfp super switch synchronized this throw throws transient true try \
        void volatile while _",
    privacy: Privacy::IfWord(&["private", "protected"]),
    top_level_first: false,
    imports: Some(Dialect::Java),
};

fn could_define(name: &NameContext<'_>, before: TokenBefore<'_>) -> Chance {
    let is_constant = |line: &[u8]| {
        let has = |word: &[u8]| memchr::memmem::find(line, word).is_some();
        has(b"static ") && has(b"final ")
    };
    in_header(name).unwrap_or_else(|| after_type(name, before, is_constant))
}

/// The chance in a line that imports or names a package, in Java and C#.
pub(super) fn in_header(name: &NameContext<'_>) -> Option<Chance> {
    let line = name.line_before();
    let begins_with = |words: &[&[u8]]| words.iter().any(|word| line.starts_with(word));
    if begins_with(&[b"import", b"using", b"global using"]) {
        Some(Chance::Minor)
    } else {
        begins_with(&[b"package", b"namespace"]).then_some(Chance::Major)
    }
}

/// The chance where a type stands before the name, in Java and C#. `is_constant` judges the line up
/// to the name: a constant is worth more than a field.
pub(super) fn after_type(
    name: &NameContext<'_>,
    before: TokenBefore<'_>,
    is_constant: fn(&[u8]) -> bool,
) -> Chance {
    let next = name.next();
    let shouts = !name.name().iter().any(u8::is_ascii_lowercase);
    match before {
        // `void` is a type here.
        TokenBefore::Word(word, _) if word != b"void" && begins_expression(word) => Chance::No,
        TokenBefore::Sign(b'.', _) => Chance::No,
        _ if next == b'(' => match before {
            TokenBefore::Word(..)
            | TokenBefore::Sign(b'>' | b']' | b'?' | b'~' | b'/', _)
            | TokenBefore::Nothing => Chance::Major,
            TokenBefore::Sign(b'{' | b'}' | b';' | b',' | b')' | b':' | b'*', _) => Chance::Major,
            TokenBefore::Sign(..) => Chance::No,
        },
        _ if shouts && matches!(next, b',' | b'=' | b';' | b'{' | b'}' | b'/') => Chance::Major,
        TokenBefore::Word(..) | TokenBefore::Sign(b'>' | b']' | b'?' | b'*' | b')', _) => {
            let is_end = matches!(
                next,
                b'=' | b';' | b',' | b'{' | b'}' | b'[' | b'<' | b')' | b':' | b'/' | b'#'
            );
            if !is_end {
                return Chance::No;
            }
            let is_major = matches!(next, b'{' | b'<') || is_constant(name.line_before());
            if is_major { Chance::Major } else { Chance::Minor }
        }
        // A constant of an enumeration, or one of several variables.
        TokenBefore::Sign(b'{' | b',' | b'}' | b'/' | b'(', _) | TokenBefore::Nothing => {
            if matches!(next, b',' | b'=' | b'}' | b';' | b'{' | b'/' | b'#') {
                Chance::Major
            } else {
                Chance::No
            }
        }
        _ => Chance::No,
    }
}
