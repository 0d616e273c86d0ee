//! Every language but C and C++. Most define with a word before the name; the rest is told by the
//! signs around it.

use super::Chance;
use super::around::{Around, Before};
use crate::Language;

/// Words after which no name is defined.
const BEFORE_USES: [&[u8]; 22] = [
    b"return",
    b"await",
    b"typeof",
    b"new",
    b"throw",
    b"yield",
    b"void",
    b"delete",
    b"case",
    b"else",
    b"do",
    b"in",
    b"of",
    b"instanceof",
    b"is",
    b"not",
    b"and",
    b"or",
    b"if",
    b"elif",
    b"while",
    b"raise",
];
/// Words before a condition in brackets.
const CONDITIONS: [&[u8]; 8] =
    [b"if", b"for", b"while", b"switch", b"catch", b"return", b"foreach", b"match"];

pub(super) fn chance(name: &Around<'_>, language: Language) -> Chance {
    let before = name.before();
    if matches!(before, Before::Word(word, _) if definers(language).contains(&word)) {
        return Chance::Major;
    }
    if name.in_comment_line() {
        return Chance::No;
    }
    match language {
        Language::Rust => rust(name, before),
        Language::Go => go(name, before),
        Language::Python => python(name, before),
        Language::Ruby => ruby(name, before),
        Language::Php => php(name, before),
        Language::Bash => bash(name),
        Language::Java | Language::CSharp => java(name, before, language),
        Language::JavaScript | Language::TypeScript | Language::Tsx => ecmascript(name, before),
        Language::C | Language::Cpp => Chance::Major,
    }
}

/// The words that define what follows them.
fn definers(language: Language) -> &'static [&'static [u8]] {
    match language {
        Language::Rust => &[
            b"fn", b"struct", b"enum", b"union", b"trait", b"type", b"mod", b"const", b"static",
            b"mut", b"ref",
        ],
        Language::Go => &[b"func", b"type", b"const", b"var", b"package"],
        Language::Python => &[b"def", b"class", b"type"],
        Language::Ruby => &[b"def", b"class", b"module", b"alias"],
        Language::Php => &[
            b"function",
            b"class",
            b"interface",
            b"trait",
            b"enum",
            b"const",
            b"case",
            b"namespace",
            b"fn",
        ],
        Language::Bash => &[b"function", b"alias"],
        Language::Java => &[b"class", b"interface", b"enum", b"record", b"package"],
        Language::CSharp => &[
            b"class",
            b"interface",
            b"enum",
            b"record",
            b"struct",
            b"namespace",
            b"delegate",
            b"event",
            b"const",
        ],
        _ => &[
            b"function",
            b"class",
            b"interface",
            b"enum",
            b"type",
            b"namespace",
            b"module",
            b"const",
            b"let",
            b"var",
            b"get",
            b"set",
            b"async",
            b"static",
            b"abstract",
            b"declare",
            b"public",
            b"private",
            b"protected",
            b"readonly",
            b"override",
            b"default",
        ],
    }
}

fn rust(name: &Around<'_>, before: Before<'_>) -> Chance {
    let next = name.next();
    match before {
        Before::Sign(b'.', _) => Chance::No,
        // `macro_rules! name`
        Before::Sign(b'!', at)
            if matches!(name.before_place(at), Before::Word(b"macro_rules", _)) =>
        {
            Chance::Major
        }
        // A raw name, `r#type`.
        Before::Sign(b'#', _) => Chance::Major,
        Before::Sign(b':', _)
            if matches!(next, b',' | b';' | b'}') || continues_with(name, b"as") =>
        {
            Chance::Minor
        }
        Before::Sign(b':', _) => Chance::No,
        _ if name.name()[0].is_ascii_uppercase()
            && matches!(next, b',' | b'(' | b'{' | b'=' | b'}' | b'/' | b'#') =>
        {
            match before {
                Before::Sign(b'{' | b',' | b']' | b'}' | b')', _)
                | Before::Word(..)
                | Before::Nothing => {
                    if next == b'=' && name.sign_at(name.next_at(name.end) + 1) == b'>' {
                        return Chance::Minor;
                    }
                    Chance::Major
                }
                _ => Chance::No,
            }
        }
        Before::Word(word, _) if BEFORE_USES.contains(&word) => Chance::No,
        Before::Sign(b'{' | b',' | b'(' | b')' | b']' | b'}', _) | Before::Word(..)
            if next != b'(' =>
        {
            Chance::Minor
        }
        _ => Chance::No,
    }
}

fn go(name: &Around<'_>, before: Before<'_>) -> Chance {
    let next = name.next();
    let line = name.line_before();
    match before {
        Before::Sign(b')', _) if line.starts_with(b"func") => Chance::Major,
        _ if name.begins_line() => {
            // `:=` and `=` of a statement are at the same place as those of a group.
            if next == b'.' { Chance::No } else { Chance::Major }
        }
        Before::Sign(b',', _) if line.starts_with(b"const") || line.starts_with(b"var") => {
            Chance::Major
        }
        Before::Sign(b'{' | b';' | b'(', _) => Chance::Major,
        Before::Sign(b'.' | b'*', _) if name.line_after().trim_ascii().is_empty() => Chance::Minor,
        Before::Sign(b',', _) => Chance::Minor,
        Before::Word(..) if next == b'"' || next == b':' || next == b',' => Chance::Minor,
        _ => Chance::No,
    }
}

fn python(name: &Around<'_>, before: Before<'_>) -> Chance {
    let next = name.next();
    let line = name.line_before();
    if line.starts_with(b"import")
        || line.starts_with(b"from")
        || matches!(before, Before::Word(b"as" | b"import", _))
    {
        return Chance::Minor;
    }
    match before {
        // A dot at the end of the line above is one of `...`.
        Before::Sign(b'.', at) if !name.begins_line() => match name.before_place(at) {
            Before::Word(b"self", _) if matches!(next, b'=' | b':' | b',' | b')') => Chance::Minor,
            _ => Chance::No,
        },
        _ if matches!(next, b'(' | b'.' | b'[') && !name.begins_line() => Chance::No,
        _ if matches!(next, b'=' | b':' | b',') && name.is_outermost() => Chance::Major,
        _ if matches!(next, b'=' | b':' | b',' | b')' | b']') || continues_with(name, b"as") => {
            // A lambda bound to a name is a function wherever it stands.
            let lambda = memchr::memmem::find(name.line_after(), b"lambda").is_some();
            let class_level = name.begins_line() && next != b',' && next != b')';
            if lambda || class_level { Chance::Major } else { Chance::Minor }
        }
        // The last name of an import that goes over several lines.
        Before::Sign(b',' | b'(' | b'\\', _) if name.line_after().trim_ascii().is_empty() => {
            Chance::Minor
        }
        _ if name.begins_line() && name.line_after().trim_ascii().is_empty() => Chance::Minor,
        _ => Chance::No,
    }
}

fn ruby(name: &Around<'_>, before: Before<'_>) -> Chance {
    let next = name.next();
    let line = name.line_before();
    let starts = |word: &[u8]| line.starts_with(word);
    if starts(b"def") || starts(b"class") || starts(b"module") || starts(b"alias") {
        return Chance::Major;
    }
    let has = |part: &[u8]| memchr::memmem::find(line, part).is_some();
    let list_goes_on = matches!(before, Before::Sign(b':' | b'"' | b'\'', _))
        && !has(b"(")
        && name_list_above(name);
    match before {
        Before::Sign(b':' | b'"' | b'\'', _)
            if has(b"attr") || has(b"define_") || has(b"alias_method") || list_goes_on =>
        {
            Chance::Major
        }
        Before::Word(b"def", _) => Chance::Major,
        _ if has(b"def ") => Chance::Major,
        Before::Sign(b'.', _) if !name.begins_line() => Chance::No,
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
        Before::Sign(b'$', _) => Chance::Major,
        _ => Chance::No,
    }
}

/// Whether the line above ends in a comma, so that a list of names goes on here.
fn name_list_above(name: &Around<'_>) -> bool {
    let above = name.text[..name.line_start()].trim_ascii_end();
    above.ends_with(b",") || above.ends_with(b"\\")
}

fn php(name: &Around<'_>, before: Before<'_>) -> Chance {
    let next = name.next();
    let line = name.line_before();
    match before {
        // A variable: a property, or a local one.
        Before::Sign(b'$', _) => {
            if matches!(next, b'=' | b';' | b',' | b')') {
                Chance::Minor.max(outermost(name))
            } else {
                Chance::No
            }
        }
        Before::Sign(b'&', _) => Chance::Major,
        Before::Sign(b'\'' | b'"', _) => {
            if memchr::memmem::find(line, b"define").is_some()
                || name.begins_line()
                || line.len() <= 1
            {
                Chance::Major
            } else {
                Chance::No
            }
        }
        Before::Sign(b'\\', _) if line.starts_with(b"namespace") => Chance::Major,
        Before::Sign(b'\\' | b',' | b'{', _) | Before::Word(..)
            if matches!(next, b';' | b',' | b'}' | b'=') || continues_with(name, b"as") =>
        {
            if next == b'=' { Chance::Major } else { Chance::Minor }
        }
        _ => Chance::No,
    }
}

fn outermost(name: &Around<'_>) -> Chance {
    if name.is_outermost() { Chance::Major } else { Chance::No }
}

fn bash(name: &Around<'_>) -> Chance {
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

/// Java and C#: a type stands before the name.
fn java(name: &Around<'_>, before: Before<'_>, language: Language) -> Chance {
    let next = name.next();
    let line = name.line_before();
    if line.starts_with(b"import")
        || line.starts_with(b"using")
        || line.starts_with(b"global using")
    {
        return Chance::Minor;
    }
    if line.starts_with(b"package") || line.starts_with(b"namespace") {
        return Chance::Major;
    }
    let shouts = !name.name().iter().any(u8::is_ascii_lowercase);
    match before {
        // `void` is a type here.
        Before::Word(word, _) if word != b"void" && BEFORE_USES.contains(&word) => Chance::No,
        Before::Sign(b'.', at) if language == Language::CSharp => explicit_member(name, at),
        Before::Sign(b'.', _) => Chance::No,
        Before::Sign(b'@', _) if language == Language::CSharp => Chance::Minor,
        _ if next == b'(' => match before {
            Before::Word(..)
            | Before::Sign(b'>' | b']' | b'?' | b'~' | b'/', _)
            | Before::Nothing => Chance::Major,
            Before::Sign(b'{' | b'}' | b';' | b',' | b')' | b':' | b'*', _) => Chance::Major,
            Before::Sign(..) => Chance::No,
        },
        _ if shouts && matches!(next, b',' | b'=' | b';' | b'{' | b'}' | b'/') => Chance::Major,
        Before::Word(..) | Before::Sign(b'>' | b']' | b'?' | b'*' | b')', _) => {
            let is_end = matches!(
                next,
                b'=' | b';' | b',' | b'{' | b'}' | b'[' | b'<' | b')' | b':' | b'/' | b'#'
            );
            if !is_end {
                return Chance::No;
            }
            if next == b'{' || next == b'<' {
                Chance::Major
            } else {
                Chance::Minor.max(constant_of_type(name, language))
            }
        }
        // A constant of an enumeration, or one of several variables.
        Before::Sign(b'{' | b',' | b'}' | b'/' | b'(', _) | Before::Nothing => {
            if matches!(next, b',' | b'=' | b'}' | b';' | b'{' | b'/' | b'#') {
                Chance::Major
            } else {
                Chance::No
            }
        }
        _ => Chance::No,
    }
}

/// `int IFoo.Bar(`: a member that is only seen through an interface.
fn explicit_member(name: &Around<'_>, mut dot: usize) -> Chance {
    loop {
        match name.before_place(dot) {
            Before::Word(_, at) => match name.before_place(at) {
                Before::Sign(b'.', at) => dot = at,
                Before::Word(word, _) if word == b"void" || !BEFORE_USES.contains(&word) => {
                    return Chance::Major;
                }
                Before::Sign(b']' | b'?', _) => return Chance::Major,
                Before::Sign(b'>', at) if name.sign_at(at.wrapping_sub(1)) != b'=' => {
                    return Chance::Major;
                }
                _ => return Chance::No,
            },
            Before::Sign(b'>', _) => return Chance::Major,
            _ => return Chance::No,
        }
    }
}

/// A constant is worth more than a field.
fn constant_of_type(name: &Around<'_>, language: Language) -> Chance {
    let line = name.line_before();
    let has = |word: &[u8]| memchr::memmem::find(line, word).is_some();
    let is_constant = match language {
        Language::CSharp => has(b"const ") || has(b"delegate "),
        _ => has(b"static ") && has(b"final "),
    };
    if is_constant { Chance::Major } else { Chance::No }
}

fn ecmascript(name: &Around<'_>, before: Before<'_>) -> Chance {
    let next = name.next();
    let next_at = name.next_at(name.end);
    let assigns = next == b'=' && !matches!(name.sign_at(next_at + 1), b'=' | b'>');
    match before {
        Before::Sign(b'.', at) if name.sign_at(at.wrapping_sub(1)) == b'.' => Chance::Minor,
        Before::Sign(b'.', _) => {
            if assigns {
                Chance::Major
            } else {
                Chance::No
            }
        }
        Before::Word(word, at) if BEFORE_USES.contains(&word) => {
            // Without semicolons the word may end the line above.
            let other_line = memchr::memchr(b'\n', &name.text[at..name.start]).is_some();
            if other_line { Chance::Minor } else { Chance::No }
        }
        Before::Sign(b'#' | b'*' | b'@', _) => Chance::Major,
        Before::Sign(b'\'' | b'"' | b'[', _) => {
            if next != b'(' {
                Chance::Major
            } else {
                Chance::No
            }
        }
        _ if next == b'(' || next == b'<' || next == b'?' => method(name, before, next_at),
        _ if assigns => Chance::Major,
        _ if next == b':' => property(name, next_at),
        Before::Sign(b'{' | b',' | b'}' | b';' | b')' | b'/', _)
        | Before::Word(..)
        | Before::Nothing => Chance::Minor,
        _ => Chance::No,
    }
}

/// `name(` in a class or an object, or a call.
fn method(name: &Around<'_>, before: Before<'_>, next_at: usize) -> Chance {
    let possible = match before {
        Before::Word(..) | Before::Nothing => true,
        Before::Sign(b')', at) => !matches!(
            name.opening_of(at).map(|open| name.before_place(open)),
            Some(Before::Word(word, _)) if CONDITIONS.contains(&word)
        ),
        Before::Sign(b'{' | b'}' | b';' | b',' | b'/' | b'|' | b'&', _) => true,
        // The end of a type in the line above.
        Before::Sign(b']' | b'>' | b'"' | b'\'', _) => name.begins_line(),
        Before::Sign(..) => false,
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
        Some(sign)
            if super::is_name_byte(sign) || matches!(sign, b'/' | b'@' | b'#' | b'[' | b'*') =>
        {
            Chance::Major
        }
        Some(_) => Chance::No,
    }
}

/// `name: …` in an object or a class.
fn property(name: &Around<'_>, colon: usize) -> Chance {
    let value = name.next_at(colon + 1);
    let word = name.word_at(value);
    let is_function = word == b"function" || word == b"async" || name.sign_at(value) == b'(';
    let arrow = memchr::memmem::find(name.line_after(), b"=>").is_some();
    if is_function || arrow { Chance::Major } else { Chance::Minor }
}

fn continues_with(name: &Around<'_>, word: &[u8]) -> bool {
    name.word_at(name.next_at(name.end)) == word
}
