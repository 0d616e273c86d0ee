//! Whether a name could be defined in C and C++.

use crate::lookup::{Chance, NameContext, TokenBefore, is_name_byte};

/// Words after which an expression follows, or a place to go to.
const BEFORE_USES: [&[u8]; 22] = [
    b"return",
    b"else",
    b"case",
    b"goto",
    b"sizeof",
    b"do",
    b"throw",
    b"new",
    b"delete",
    b"not",
    b"and",
    b"or",
    b"defined",
    b"co_return",
    b"co_await",
    b"co_yield",
    b"alignof",
    b"typename",
    b"ifdef",
    b"ifndef",
    b"elif",
    b"undef",
];
/// Words that make what follows the name of a type with a body.
const TAGS: [&[u8]; 7] =
    [b"struct", b"union", b"enum", b"class", b"namespace", b"concept", b"using"];
/// Words before a type.
const QUALIFIERS: [&[u8]; 12] = [
    b"static",
    b"const",
    b"extern",
    b"volatile",
    b"inline",
    b"typedef",
    b"register",
    b"friend",
    b"virtual",
    b"explicit",
    b"constexpr",
    b"mutable",
];
/// Words before a condition in brackets.
const CONDITIONS: [&[u8]; 6] = [b"if", b"for", b"while", b"switch", b"sizeof", b"return"];
/// Words before a colon that begins a part of a class.
const ACCESS: [&[u8]; 6] = [b"public", b"private", b"protected", b"slots", b"signals", b"Q_SLOTS"];
/// How far back the beginning of a list of constants is looked for.
const LIST_REACH: usize = 256 * 1024;
/// How much of the text before a block is looked at.
const HEADER_BYTES: usize = 400;

pub(super) fn in_c(name: &NameContext<'_>, before: TokenBefore<'_>) -> Chance {
    chance(name, before, false)
}

pub(super) fn in_cpp(name: &NameContext<'_>, before: TokenBefore<'_>) -> Chance {
    chance(name, before, true)
}

fn chance(name: &NameContext<'_>, before: TokenBefore<'_>, is_cpp: bool) -> Chance {
    if name.line_before().starts_with(b"#") || name.begins_line() && name.name().starts_with(b"#") {
        return directive(before);
    }
    let next = name.next();
    match before {
        TokenBefore::Word(word, _) if BEFORE_USES.contains(&word) => Chance::No,
        _ if next == b'(' => callable(name, before, is_cpp),
        TokenBefore::Word(word, _) if TAGS.contains(&word) => tagged(name, next, is_cpp),
        TokenBefore::Word(word, at) => declared(name, word, at, next, is_cpp),
        TokenBefore::Sign(b'*', at) => pointer(name, at, next),
        TokenBefore::Sign(b'&' | b'>', at) if is_cpp => {
            let arrow = at.checked_sub(1).is_some_and(|at| name.text[at] == b'-');
            if arrow { Chance::No } else { declarator(name, next) }
        }
        TokenBefore::Sign(b'}', at) => {
            let same_line = memchr::memchr(b'\n', &name.text[at..name.start]).is_none();
            if same_line || name.is_outermost() { Chance::Major } else { Chance::No }
        }
        TokenBefore::Sign(b')', at) => after_brackets(name, at, next),
        TokenBefore::Sign(b'(', at) => in_brackets(name, at, next),
        TokenBefore::Sign(b',', _) => listed(name, next),
        TokenBefore::Sign(b'{', _) => constant(name, next),
        TokenBefore::Sign(b':', at) if is_cpp => {
            let scope = at.checked_sub(1).is_some_and(|at| name.text[at] == b':');
            match (scope, name.is_outermost()) {
                (true, true) => Chance::Major,
                (true, false) => declarator(name, next),
                (false, _) => Chance::No,
            }
        }
        // A directive in the midst of a list: `#endif` and the like end in a word, `#else` too, but
        // `#if (X)` and strings do not.
        TokenBefore::Sign(b'"' | b']', _) if is_cpp || name.is_outermost() => {
            declarator(name, next)
        }
        TokenBefore::Sign(b'"', _) => constant(name, next),
        TokenBefore::Sign(b';', _) | TokenBefore::Nothing if name.is_outermost() => Chance::Major,
        _ => Chance::No,
    }
}

/// In a line for the preprocessor.
fn directive(before: TokenBefore<'_>) -> Chance {
    match before {
        TokenBefore::Word(b"define", _) => Chance::Major,
        _ => Chance::No,
    }
}

/// Before an opening bracket: a function, or the call of one.
fn callable(name: &NameContext<'_>, before: TokenBefore<'_>, is_cpp: bool) -> Chance {
    let major_if = |yes: bool| if yes { Chance::Major } else { Chance::No };
    match before {
        TokenBefore::Word(..) | TokenBefore::Nothing => Chance::Major,
        TokenBefore::Sign(b'*', at) => match type_before_stars(name, at) {
            TokenBefore::Word(word, _) => major_if(!BEFORE_USES.contains(&word)),
            TokenBefore::Sign(sign, _) => {
                major_if(matches!(sign, b')' | b'(' | b'>' | b'}' | b',' | b';'))
            }
            TokenBefore::Nothing => Chance::Major,
        },
        TokenBefore::Sign(b')', at) => major_if(names_a_macro(name, at)),
        TokenBefore::Sign(b':', at) => {
            let scope = at.checked_sub(1).is_some_and(|at| name.text[at] == b':');
            let access = matches!(name.before_place(at), TokenBefore::Word(word, _) if ACCESS.contains(&word));
            major_if(is_cpp && (scope || access))
        }
        TokenBefore::Sign(b'&' | b'>' | b']' | b'~', at) if is_cpp => {
            major_if(at.checked_sub(1).is_none_or(|at| name.text[at] != b'-'))
        }
        TokenBefore::Sign(b';' | b'}' | b'{' | b'/' | b'"' | b'>' | b']', _) => {
            major_if(is_cpp || name.is_outermost())
        }
        TokenBefore::Sign(b',', _) => {
            let argument = name.open_parenthesis(name.start).is_some();
            major_if(!argument && (name.is_outermost() || is_list_of_declarators(name)))
        }
        TokenBefore::Sign(..) => Chance::No,
    }
}

/// After `struct` and the like: the type, if a body follows.
fn tagged(name: &NameContext<'_>, next: u8, is_cpp: bool) -> Chance {
    let opens = matches!(next, b'{' | b':' | b'=' | b';' | b'/' | b'#' | b'<')
        || is_cpp && next != b'*' && next != b'&'
        || is_attribute(name.word_at(name.next_at(name.end)));
    if opens { Chance::Major } else { Chance::No }
}

/// After another word, which may be a type.
fn declared(name: &NameContext<'_>, word: &[u8], at: usize, next: u8, is_cpp: bool) -> Chance {
    match next {
        b'{' => Chance::Major,
        b')' => {
            let follows = name.next_at(name.next_at(name.end) + 1);
            if name.sign_at(follows) == b'(' { by_indentation(name) } else { macro_argument(name) }
        }
        b',' if name.open_parenthesis(name.start).is_some() => macro_argument(name),
        b'=' | b';' | b'[' | b',' | b':' | b'}' | b'/' | b'#' => {
            // The last line of `#ifdef X` or `#else` ends in a word as well.
            let after_directive = is_directive_word(name, at) || word == b"endif";
            let minor_or_major = by_indentation(name);
            if after_directive { minor_or_major.max(constant(name, next)) } else { minor_or_major }
        }
        b'<' if is_cpp => Chance::Major,
        b'.' | b'-' | b'+' | b'*' | b'&' | b'|' | b'?' | b'!' | b'%' | b'^' | b'<' | b'>' => {
            Chance::No
        }
        _ => {
            let following = name.word_at(name.next_at(name.end));
            let is_type = QUALIFIERS.contains(&word) && !is_attribute(following);
            let plain = !is_attribute(following) && !name.is_outermost() && !is_cpp;
            if is_type || plain { Chance::No } else { by_indentation(name) }
        }
    }
}

/// After one star or more.
fn pointer(name: &NameContext<'_>, at: usize, next: u8) -> Chance {
    let before = type_before_stars(name, at);
    match before {
        TokenBefore::Word(word, _) if BEFORE_USES.contains(&word) => Chance::No,
        // `(*name)(…)`, `(*name[4])(…)`: a pointer to a function or an array.
        TokenBefore::Sign(b'(' | b'^', _) if matches!(next, b')' | b'[') => by_indentation(name),
        TokenBefore::Word(..) | TokenBefore::Sign(b'}' | b')' | b'>' | b',' | b']', _) => {
            declarator(name, next)
        }
        _ => Chance::No,
    }
}

/// Where a declarator can stand, judged by what follows it.
fn declarator(name: &NameContext<'_>, next: u8) -> Chance {
    match next {
        b',' | b'=' if name.open_parenthesis(name.start).is_some() => Chance::No,
        b';' | b'=' | b'[' | b',' | b':' | b'{' | b'}' | b'/' | b'#' => by_indentation(name),
        _ if is_attribute(name.word_at(name.next_at(name.end))) => by_indentation(name),
        _ => Chance::No,
    }
}

/// After a closing bracket: an attribute with arguments, a condition, or a cast.
fn after_brackets(name: &NameContext<'_>, at: usize, next: u8) -> Chance {
    if !names_a_macro(name, at) {
        return Chance::No;
    }
    match next {
        b'{' => Chance::Major,
        _ => declarator(name, next).max(constant(name, next)),
    }
}

/// Directly after an opening bracket: `DEFINE_MUTEX(name)`, `int (name)(void)`.
fn in_brackets(name: &NameContext<'_>, at: usize, next: u8) -> Chance {
    let follows = name.next_at(name.next_at(name.end) + 1);
    if next == b')'
        && name.sign_at(follows) == b'('
        && matches!(name.before_place(at), TokenBefore::Word(..))
    {
        return by_indentation(name);
    }
    macro_argument(name)
}

/// After a comma: one of several declarators or constants, or an argument.
fn listed(name: &NameContext<'_>, next: u8) -> Chance {
    if name.open_parenthesis(name.start).is_some() {
        return macro_argument(name);
    }
    constant(name, next).max(if is_list_of_declarators(name) {
        declarator(name, next)
    } else {
        Chance::No
    })
}

/// An argument of a macro whose name says that it defines something.
fn macro_argument(name: &NameContext<'_>) -> Chance {
    let Some(open) = name.open_parenthesis(name.start) else { return Chance::No };
    let TokenBefore::Word(word, at) = name.before_place(open) else { return Chance::No };
    let defines = [b"DEF".as_slice(), b"DECL", b"_HEAD", b"EVENT", b"struct_group", b"STRUCT"];
    let says_so = defines.iter().any(|part| memchr::memmem::find(word, part).is_some());
    let outermost = at == 0 || name.text[at - 1] == b'\n' || name.is_outermost();
    let shouts = !word.iter().any(u8::is_ascii_lowercase);
    match (says_so, outermost) {
        (true, true) => Chance::Major,
        (true, false) => Chance::Minor,
        (false, true)
            if shouts && !word.starts_with(b"EXPORT_") && !word.starts_with(b"MODULE_") =>
        {
            Chance::Major
        }
        _ => Chance::No,
    }
}

/// In a list of constants, if the list belongs to an `enum`.
fn constant(name: &NameContext<'_>, next: u8) -> Chance {
    if !matches!(next, b',' | b'=' | b'}' | b'/' | b'#')
        && !is_attribute(name.word_at(name.next_at(name.end)))
    {
        return Chance::No;
    }
    let text = name.text;
    let from = name.start.saturating_sub(LIST_REACH);
    let mut depth = 0u32;
    let mut at = name.start;
    while at > from {
        at -= 1;
        match text[at] {
            // A brace inside of a comment is none.
            b'/' if at > from && text[at - 1] == b'*' => {
                match memchr::memmem::rfind(&text[from..at - 1], b"/*") {
                    Some(open) => at = from + open,
                    None => return Chance::Major,
                }
            }
            b'}' => depth += 1,
            b'{' if depth == 0 => {
                let header = &text[at.saturating_sub(HEADER_BYTES)..at];
                let begin = header.iter().rposition(|byte| matches!(byte, b';' | b'{' | b'}'));
                let header = &header[begin.map_or(0, |end| end + 1)..];
                let is_enum = memchr::memmem::find(header, b"enum").is_some();
                let value = header.trim_ascii_end().ends_with(b"=");
                return if is_enum && !value { Chance::Major } else { Chance::No };
            }
            b'{' => depth -= 1,
            b';' if depth == 0 && !in_line_comment(text, at) => return Chance::No,
            _ => {}
        }
    }
    if from == 0 { Chance::No } else { Chance::Major }
}

fn in_line_comment(text: &[u8], at: usize) -> bool {
    let line = &text[memchr::memrchr(b'\n', &text[..at]).map_or(0, |newline| newline + 1)..at];
    memchr::memmem::find(line, b"//").is_some()
}

/// Whether the statement begins like a declaration: with two words, or a word and a star.
fn is_list_of_declarators(name: &NameContext<'_>) -> bool {
    let from = name.start.saturating_sub(HEADER_BYTES * 4);
    let text = &name.text[from..name.start];
    let begin = text.iter().rposition(|byte| matches!(byte, b';' | b'{' | b'}'));
    // `struct { … } a, b;`
    if begin.is_some_and(|at| text[at] == b'}' && !text[at..].contains(&b'\n')) {
        return true;
    }
    let begin = name.next_at(from + begin.map_or(0, |end| end + 1));
    let first = name.word_at(begin);
    let second = name.next_at(begin + first.len());
    let sign = name.sign_at(second);
    // A directive or a line comment before it hides how it begins.
    let hidden = first.is_empty();
    hidden
        || sign == b'*'
        || sign == b'<'
        || sign == b':'
        || is_name_byte(sign)
        || sign == b'(' && first.starts_with(b"_")
}

/// The token before the stars, `const` and the like before the one at `at`.
fn type_before_stars<'a>(name: &NameContext<'a>, at: usize) -> TokenBefore<'a> {
    let mut before = name.before_place(at);
    loop {
        match before {
            TokenBefore::Sign(b'*', at) => before = name.before_place(at),
            _ => return before,
        }
    }
}

/// Whether the brackets that close at `at` belong to a word that can be an attribute or a macro.
fn names_a_macro(name: &NameContext<'_>, at: usize) -> bool {
    match name.opening_of(at).map(|open| name.before_place(open)) {
        Some(TokenBefore::Word(word, _)) => !CONDITIONS.contains(&word),
        // Two pairs of brackets: `__attribute__((x))` has its word before the outer one.
        Some(TokenBefore::Sign(b'(', _)) => true,
        Some(_) => false,
        None => true,
    }
}

/// Whether the word at `at` stands in a line for the preprocessor above the name.
fn is_directive_word(name: &NameContext<'_>, at: usize) -> bool {
    let line = memchr::memrchr(b'\n', &name.text[..at]).map_or(0, |newline| newline + 1);
    let line = &name.text[line..at];
    line.trim_ascii_start().starts_with(b"#") || memchr::memmem::find(line, b"//").is_some()
}

/// What stands at the left edge is more than a field.
fn by_indentation(name: &NameContext<'_>) -> Chance {
    if name.is_outermost() { Chance::Major } else { Chance::Minor }
}

/// `__packed`, `ATTRIBUTE_UNUSED`: words that may follow the name.
fn is_attribute(word: &[u8]) -> bool {
    let shouts = !word.iter().any(u8::is_ascii_lowercase);
    !word.is_empty() && (word.starts_with(b"_") || shouts || word == b"asm" || word == b"final")
}
