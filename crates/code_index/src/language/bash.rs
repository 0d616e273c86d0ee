//! Bash and other shells of its family.

use super::spec::{Dollar, LanguageSpec, NameRules, Privacy, SymbolSource, grammar, highlights};
use crate::lookup::{Chance, NameContext, TokenBefore};

pub(super) const ROW: LanguageSpec = LanguageSpec {
    name: "Bash",
    called: &["shell"],
    extensions: &["bash", "bats", "sh"],
    file_names: &[
        ".bash_aliases",
        ".bash_login",
        ".bash_logout",
        ".bash_profile",
        ".bashrc",
        ".profile",
        "APKBUILD",
        "PKGBUILD",
    ],
    interpreters: &["ash", "bash", "bats", "dash", "ksh", "mksh", "sh", "zsh"],
    test_names: &[],
    line_comment: "#",
    grammar: grammar!("bash", tree_sitter_bash::LANGUAGE),
    highlights: highlights!("bash", tree_sitter_bash::HIGHLIGHT_QUERY),
    symbols: SymbolSource::Queries(&[include_str!("../symbols/queries/bash.scm")]),
    definers: &["function", "alias"],
    could_define,
    names: NameRules { dollar: Dollar::Mark, hyphen: true, ..NameRules::PLAIN },
    keywords: "case do done elif else esac fi for function if in select then until while time",
    privacy: Privacy::Underscore,
    top_level_first: false,
    imports: None,
};

fn could_define(name: &NameContext<'_>, _before: TokenBefore<'_>) -> Chance {
    let next = name.sign_at(name.end);
    let line_is_plain = name.begins_line();
    if name.next() == b'(' {
        return Chance::Major;
    }
    match next {
        b'=' | b'[' | b'+' if name.is_outermost() || line_is_plain => Chance::Major,
        b'=' | b'[' | b'+' if name.sign_at(name.start.wrapping_sub(1)) != b'$' => Chance::Minor,
        // `for ((name = 0; …`
        _ if name.next() == b'=' && name.line_before().starts_with(b"for") => Chance::Minor,
        _ => Chance::No,
    }
}
