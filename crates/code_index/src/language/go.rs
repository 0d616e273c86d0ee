//! Go.

use super::spec::{LanguageSpec, NameRules, Privacy, SymbolSource, grammar, highlights};
use crate::imports::Dialect;
use crate::lookup::{Chance, NameContext, TokenBefore};

pub(super) const ROW: LanguageSpec = LanguageSpec {
    name: "Go",
    called: &["golang"],
    extensions: &["go"],
    file_names: &[],
    interpreters: &[],
    test_names: &[],
    line_comment: "//",
    grammar: grammar!("go", tree_sitter_go::LANGUAGE),
    highlights: highlights!("go", tree_sitter_go::HIGHLIGHTS_QUERY),
    symbols: SymbolSource::Queries(&[include_str!("../symbols/queries/go.scm")]),
    definers: &["func", "type", "const", "var", "package"],
    could_define,
    names: NameRules::PLAIN,
    keywords: "break case chan const continue default defer else fallthrough for func go goto if \
        import interface map package range return select struct switch type var _",
    privacy: Privacy::Lowercase,
    top_level_first: false,
    imports: Some(Dialect::Go),
};

fn could_define(name: &NameContext<'_>, before: TokenBefore<'_>) -> Chance {
    let next = name.next();
    let line = name.line_before();
    match before {
        TokenBefore::Sign(b')', _) if line.starts_with(b"func") => Chance::Major,
        _ if name.begins_line() => {
            // `:=` and `=` of a statement are at the same place as those of a group.
            if next == b'.' { Chance::No } else { Chance::Major }
        }
        TokenBefore::Sign(b',', _) if line.starts_with(b"const") || line.starts_with(b"var") => {
            Chance::Major
        }
        TokenBefore::Sign(b'{' | b';' | b'(', _) => Chance::Major,
        TokenBefore::Sign(b'.' | b'*', _) if name.line_after().trim_ascii().is_empty() => {
            Chance::Minor
        }
        TokenBefore::Sign(b',', _) => Chance::Minor,
        TokenBefore::Word(..) if next == b'"' || next == b':' || next == b',' => Chance::Minor,
        _ => Chance::No,
    }
}
