//! Rust.

use super::spec::{LanguageSpec, NameRules, Privacy, SymbolSource, grammar, highlights};
use crate::imports::Dialect;
use crate::lookup::{Chance, NameContext, TokenBefore, begins_expression};

pub(super) const ROW: LanguageSpec = LanguageSpec {
    name: "Rust",
    called: &["rust"],
    extensions: &["rs"],
    file_names: &[],
    interpreters: &["rust-script"],
    test_names: &[],
    line_comment: "//",
    grammar: grammar!("rust", tree_sitter_rust::LANGUAGE),
    highlights: highlights!("rust", tree_sitter_rust::HIGHLIGHTS_QUERY),
    symbols: SymbolSource::Queries(&[include_str!("../symbols/queries/rust.scm")]),
    definers: &[
        "fn", "struct", "enum", "union", "trait", "type", "mod", "const", "static", "mut", "ref",
    ],
    could_define,
    names: NameRules::PLAIN,
    keywords: "as async await break const continue crate dyn else enum extern false fn for if impl in \
        let loop match mod move mut pub ref return self Self static struct super trait true \
        type unsafe use where while abstract become box do final gen macro override priv try \
        typeof unsized virtual yield _",
    privacy: Privacy::UnlessWord(&["pub"]),
    top_level_first: false,
    imports: Some(Dialect::Rust),
};

fn could_define(name: &NameContext<'_>, before: TokenBefore<'_>) -> Chance {
    let next = name.next();
    match before {
        TokenBefore::Sign(b'.', _) => Chance::No,
        // `macro_rules! name`
        TokenBefore::Sign(b'!', at)
            if matches!(name.before_place(at), TokenBefore::Word(b"macro_rules", _)) =>
        {
            Chance::Major
        }
        // A raw name, `r#type`.
        TokenBefore::Sign(b'#', _) => Chance::Major,
        TokenBefore::Sign(b':', _)
            if matches!(next, b',' | b';' | b'}') || name.is_followed_by(b"as") =>
        {
            Chance::Minor
        }
        TokenBefore::Sign(b':', _) => Chance::No,
        _ if name.name()[0].is_ascii_uppercase()
            && matches!(next, b',' | b'(' | b'{' | b'=' | b'}' | b'/' | b'#') =>
        {
            match before {
                TokenBefore::Sign(b'{' | b',' | b']' | b'}' | b')', _)
                | TokenBefore::Word(..)
                | TokenBefore::Nothing => {
                    if next == b'=' && name.sign_at(name.next_at(name.end) + 1) == b'>' {
                        return Chance::Minor;
                    }
                    Chance::Major
                }
                _ => Chance::No,
            }
        }
        TokenBefore::Word(word, _) if begins_expression(word) => Chance::No,
        TokenBefore::Sign(b'{' | b',' | b'(' | b')' | b']' | b'}', _) | TokenBefore::Word(..)
            if next != b'(' =>
        {
            Chance::Minor
        }
        _ => Chance::No,
    }
}
