//! JavaScript and TypeScript.

use super::spec::{Dollar, LanguageSpec, NameRules, Privacy, SymbolSource, grammar, highlights};
use crate::imports::Dialect;
use crate::lookup::{
    Chance, NameContext, TokenBefore, begins_condition, begins_expression, is_name_byte,
};

pub(super) const JAVASCRIPT: LanguageSpec = LanguageSpec {
    name: "JavaScript",
    called: &["javascript"],
    extensions: &["cjs", "js", "jsx", "mjs"],
    file_names: &[],
    interpreters: &["bun", "node", "nodejs"],
    test_names: &[],
    line_comment: "//",
    grammar: grammar!("javascript", tree_sitter_javascript::LANGUAGE),
    highlights: highlights!("javascript", tree_sitter_javascript::HIGHLIGHT_QUERY),
    symbols: SymbolSource::Queries(&[
        include_str!("../symbols/queries/ecmascript.scm"),
        include_str!("../symbols/queries/javascript.scm"),
    ]),
    definers: DEFINERS,
    could_define,
    names: NameRules { dollar: Dollar::Letter, ..NameRules::PLAIN },
    keywords: "arguments await break case catch class const continue debugger default delete do else \
        enum eval export extends false finally for function if implements import in instanceof \
        interface let new null package private protected public return static super switch \
        this throw true try typeof var void while with yield",
    privacy: Privacy::UnlessWord(&["export", "exports"]),
    top_level_first: true,
    imports: Some(Dialect::JavaScript),
};

pub(super) const TYPESCRIPT: LanguageSpec = LanguageSpec {
    name: "TypeScript",
    called: &["typescript"],
    extensions: &["cts", "mts", "ts"],
    file_names: &[],
    interpreters: &["deno", "ts-node", "tsx"],
    test_names: &[],
    line_comment: "//",
    grammar: grammar!("typescript", tree_sitter_typescript::LANGUAGE_TYPESCRIPT),
    highlights: highlights!(
        "javascript", tree_sitter_javascript::HIGHLIGHT_QUERY;
        "typescript", tree_sitter_typescript::HIGHLIGHTS_QUERY
    ),
    symbols: SymbolSource::Queries(&[
        include_str!("../symbols/queries/ecmascript.scm"),
        include_str!("../symbols/queries/typescript.scm"),
    ]),
    definers: DEFINERS,
    could_define,
    names: NameRules { dollar: Dollar::Letter, ..NameRules::PLAIN },
    keywords: "any arguments await boolean break case catch class const continue debugger default \
        delete do else enum eval export extends false finally for function if implements \
        import in instanceof interface let never new null number object package private \
        protected public return static string super switch symbol this throw true try typeof \
        undefined unknown var void while with yield",
    privacy: Privacy::UnlessWord(&["export", "exports"]),
    top_level_first: true,
    imports: Some(Dialect::JavaScript),
};

pub(super) const TSX: LanguageSpec = LanguageSpec {
    name: "TSX",
    extensions: &["tsx"],
    interpreters: &[],
    grammar: grammar!("typescript", tree_sitter_typescript::LANGUAGE_TSX),
    ..TYPESCRIPT
};

/// The words of TypeScript stand for nothing else in JavaScript.
const DEFINERS: &[&str] = &[
    "function",
    "class",
    "interface",
    "enum",
    "type",
    "namespace",
    "module",
    "const",
    "let",
    "var",
    "get",
    "set",
    "async",
    "static",
    "abstract",
    "declare",
    "public",
    "private",
    "protected",
    "readonly",
    "override",
    "default",
];

fn could_define(name: &NameContext<'_>, before: TokenBefore<'_>) -> Chance {
    let next = name.next();
    let next_at = name.next_at(name.end);
    let assigns = next == b'=' && !matches!(name.sign_at(next_at + 1), b'=' | b'>');
    match before {
        TokenBefore::Sign(b'.', at) if name.sign_at(at.wrapping_sub(1)) == b'.' => Chance::Minor,
        TokenBefore::Sign(b'.', _) => {
            if assigns {
                Chance::Major
            } else {
                Chance::No
            }
        }
        TokenBefore::Word(b"export", _) if name.name() == b"default" => Chance::Major,
        TokenBefore::Word(word, at) if begins_expression(word) => {
            // Without semicolons the word may end the line above.
            let other_line = memchr::memchr(b'\n', &name.text[at..name.start]).is_some();
            if other_line { Chance::Minor } else { Chance::No }
        }
        TokenBefore::Sign(b'#' | b'*' | b'@', _) => Chance::Major,
        TokenBefore::Sign(b'\'' | b'"' | b'[', _) => {
            if next != b'(' {
                Chance::Major
            } else {
                Chance::No
            }
        }
        _ if next == b'(' || next == b'<' || next == b'?' => method(name, before, next_at),
        _ if assigns => Chance::Major,
        _ if next == b':' => property(name, next_at),
        // `const { a: name } = …`
        TokenBefore::Sign(b':', _) if matches!(next, b',' | b'}') => Chance::Minor,
        TokenBefore::Sign(b'{' | b',' | b'}' | b';' | b')' | b'/', _)
        | TokenBefore::Word(..)
        | TokenBefore::Nothing => Chance::Minor,
        _ => Chance::No,
    }
}

/// `name(` in a class or an object, or a call.
fn method(name: &NameContext<'_>, before: TokenBefore<'_>, next_at: usize) -> Chance {
    let possible = match before {
        TokenBefore::Word(..) | TokenBefore::Nothing => true,
        TokenBefore::Sign(b')', at) => !matches!(
            name.opening_of(at).map(|open| name.before_place(open)),
            Some(TokenBefore::Word(word, _)) if begins_condition(word)
        ),
        TokenBefore::Sign(b'{' | b'}' | b';' | b',' | b'/' | b'|' | b'&', _) => true,
        // The end of a type in the line above.
        TokenBefore::Sign(b']' | b'>' | b'"' | b'\'', _) => name.begins_line(),
        TokenBefore::Sign(..) => false,
    };
    if !possible {
        return Chance::No;
    }
    if name.sign_at(next_at) != b'(' {
        return Chance::Major;
    }
    match name.after_closing(next_at).map(|after| name.sign_at(after)) {
        None | Some(b'{' | b':' | b';' | b'}' | b',' | 0) => Chance::Major,
        // No semicolon: the next member follows.
        Some(sign) if is_name_byte(sign) || matches!(sign, b'/' | b'@' | b'#' | b'[' | b'*') => {
            Chance::Major
        }
        Some(_) => Chance::No,
    }
}

/// `name: …` in an object or a class.
fn property(name: &NameContext<'_>, colon: usize) -> Chance {
    let value = name.next_at(colon + 1);
    let word = name.word_at(value);
    let is_function = word == b"function" || word == b"async" || name.sign_at(value) == b'(';
    let arrow = memchr::memmem::find(name.line_after(), b"=>").is_some();
    if is_function || arrow { Chance::Major } else { Chance::Minor }
}
