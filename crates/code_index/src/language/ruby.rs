//! Ruby.

use super::spec::{LanguageSpec, NameRules, Privacy, SymbolSource, grammar, highlights};
use crate::imports::Dialect;
use crate::lookup::{Chance, NameContext, TokenBefore};

pub(super) const ROW: LanguageSpec = LanguageSpec {
    name: "Ruby",
    called: &["ruby"],
    extensions: &["gemspec", "rake", "rb", "ru"],
    file_names: &[
        "Brewfile",
        "Capfile",
        "Gemfile",
        "Guardfile",
        "Podfile",
        "Rakefile",
        "Vagrantfile",
    ],
    interpreters: &["jruby", "rake", "ruby"],
    test_names: &[],
    line_comment: "#",
    grammar: grammar!("ruby", tree_sitter_ruby::LANGUAGE),
    highlights: highlights!("ruby", tree_sitter_ruby::HIGHLIGHTS_QUERY),
    symbols: SymbolSource::Queries(&[include_str!("../symbols/queries/ruby.scm")]),
    definers: &["def", "class", "module", "alias"],
    could_define,
    names: NameRules { endings: &['?', '!'], ..NameRules::PLAIN },
    keywords: "BEGIN END alias and begin break case class def defined? do else elsif end ensure false \
        for if in module next nil not or redo rescue retry return self super then true undef \
        unless until when while yield __FILE__ __LINE__ __ENCODING__",
    privacy: Privacy::Underscore,
    top_level_first: false,
    imports: Some(Dialect::Ruby),
};

fn could_define(name: &NameContext<'_>, before: TokenBefore<'_>) -> Chance {
    let next = name.next();
    let line = name.line_before();
    let starts = |word: &[u8]| line.starts_with(word);
    if starts(b"def") || starts(b"class") || starts(b"module") || starts(b"alias") {
        return Chance::Major;
    }
    let has = |part: &[u8]| memchr::memmem::find(line, part).is_some();
    let list_goes_on = matches!(before, TokenBefore::Sign(b':' | b'"' | b'\'', _))
        && !has(b"(")
        && name_list_above(name);
    match before {
        TokenBefore::Sign(b':' | b'"' | b'\'', _)
            if has(b"attr") || has(b"define_") || has(b"alias_method") || list_goes_on =>
        {
            Chance::Major
        }
        TokenBefore::Word(b"def", _) => Chance::Major,
        _ if has(b"def ") => Chance::Major,
        TokenBefore::Sign(b'.', _) if !name.begins_line() => Chance::No,
        _ if name.name()[0].is_ascii_uppercase()
            && matches!(next, b'=' | b',' | b'|' | b'&' | b')') =>
        {
            Chance::Major
        }
        _ if matches!(next, b'=' | b',') => {
            if name.is_outermost() {
                Chance::Major
            } else {
                Chance::Minor
            }
        }
        _ => Chance::No,
    }
}

/// Whether the line above ends in a comma, so that a list of names goes on here.
fn name_list_above(name: &NameContext<'_>) -> bool {
    let above = name.text[..name.line_start()].trim_ascii_end();
    above.ends_with(b",") || above.ends_with(b"\\")
}
