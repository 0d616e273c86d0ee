//! PHP.

use super::spec::{Dollar, LanguageSpec, NameRules, Privacy, SymbolSource, grammar, highlights};
use crate::imports::Dialect;
use crate::lookup::{Chance, NameContext, TokenBefore};

pub(super) const ROW: LanguageSpec = LanguageSpec {
    name: "PHP",
    called: &[],
    extensions: &["php", "phtml"],
    file_names: &[],
    interpreters: &["php"],
    test_names: &["*Test"],
    line_comment: "//",
    grammar: grammar!("php", tree_sitter_php::LANGUAGE_PHP),
    highlights: highlights!("php", tree_sitter_php::HIGHLIGHTS_QUERY),
    symbols: SymbolSource::Queries(&[include_str!("../symbols/queries/php.scm")]),
    definers: &[
        "function",
        "class",
        "interface",
        "trait",
        "enum",
        "const",
        "case",
        "namespace",
        "fn",
    ],
    could_define,
    names: NameRules { dollar: Dollar::Mark, ..NameRules::PLAIN },
    keywords: "abstract and array as break callable case catch class clone const continue declare \
        default do echo else elseif empty enddeclare endfor endforeach endif endswitch \
        endwhile enum eval exit extends final finally fn for foreach function global goto if \
        implements include include_once instanceof insteadof interface isset list match \
        namespace new or print private protected public readonly require require_once return \
        static switch throw trait try unset use var while xor yield",
    privacy: Privacy::IfWord(&["private", "protected"]),
    top_level_first: false,
    imports: Some(Dialect::Php),
};

fn could_define(name: &NameContext<'_>, before: TokenBefore<'_>) -> Chance {
    let next = name.next();
    let line = name.line_before();
    match before {
        // A variable: a property, or a local one.
        TokenBefore::Word(b"$", _) => {
            if matches!(next, b'=' | b';' | b',' | b')' | b'{') {
                Chance::Minor.max(outermost(name))
            } else {
                Chance::No
            }
        }
        TokenBefore::Sign(b'&', _) => Chance::Major,
        TokenBefore::Sign(b'\'' | b'"', _) => {
            if memchr::memmem::find(line, b"define").is_some()
                || name.begins_line()
                || line.len() <= 1
            {
                Chance::Major
            } else {
                Chance::No
            }
        }
        TokenBefore::Sign(b'\\', _) if line.starts_with(b"namespace") => Chance::Major,
        TokenBefore::Sign(b'\\' | b',' | b'{', _) | TokenBefore::Word(..)
            if matches!(next, b';' | b',' | b'}' | b'=') || name.is_followed_by(b"as") =>
        {
            if next == b'=' { Chance::Major } else { Chance::Minor }
        }
        _ => Chance::No,
    }
}

fn outermost(name: &NameContext<'_>) -> Chance {
    if name.is_outermost() { Chance::Major } else { Chance::No }
}
