//! Python.

use super::spec::{LanguageSpec, NameRules, Privacy, SymbolSource, grammar, highlights};
use crate::imports::Dialect;
use crate::lookup::{Chance, NameContext, TokenBefore};

pub(super) const ROW: LanguageSpec = LanguageSpec {
    name: "Python",
    called: &["python"],
    extensions: &["py", "pyi", "pyw"],
    file_names: &["SConscript", "SConstruct"],
    interpreters: &["pypy", "python"],
    test_names: &[],
    line_comment: "#",
    grammar: grammar!("python", tree_sitter_python::LANGUAGE),
    highlights: highlights!("python", tree_sitter_python::HIGHLIGHTS_QUERY),
    symbols: SymbolSource::Queries(&[include_str!("../symbols/queries/python.scm")]),
    definers: &["def", "class", "type"],
    could_define,
    names: NameRules::PLAIN,
    keywords: "False None True and as assert async await break class continue def del elif else \
        except finally for from global if import in is lambda nonlocal not or pass raise \
        return try while with yield",
    privacy: Privacy::Underscore,
    top_level_first: false,
    imports: Some(Dialect::Python),
};

fn could_define(name: &NameContext<'_>, before: TokenBefore<'_>) -> Chance {
    let next = name.next();
    let line = name.line_before();
    if line.starts_with(b"import")
        || line.starts_with(b"from")
        || matches!(before, TokenBefore::Word(b"as" | b"import", _))
    {
        return Chance::Minor;
    }
    match before {
        // A dot at the end of the line above is one of `...`.
        TokenBefore::Sign(b'.', at) if !name.begins_line() => match name.before_place(at) {
            TokenBefore::Word(b"self", _) if matches!(next, b'=' | b':' | b',' | b')') => {
                Chance::Minor
            }
            _ => Chance::No,
        },
        _ if matches!(next, b'(' | b'.' | b'[') && !name.begins_line() => Chance::No,
        _ if matches!(next, b'=' | b':' | b',') && name.is_outermost() => Chance::Major,
        _ if matches!(next, b'=' | b':' | b',' | b')' | b']') || name.is_followed_by(b"as") => {
            // A lambda bound to a name is a function wherever it stands.
            let lambda = memchr::memmem::find(name.line_after(), b"lambda").is_some();
            let class_level = name.begins_line() && next != b',' && next != b')';
            if lambda || class_level { Chance::Major } else { Chance::Minor }
        }
        // The last name of an import that goes over several lines.
        TokenBefore::Sign(b',' | b'(' | b'\\', _) if name.line_after().trim_ascii().is_empty() => {
            Chance::Minor
        }
        _ if name.begins_line() && name.line_after().trim_ascii().is_empty() => Chance::Minor,
        _ => Chance::No,
    }
}
