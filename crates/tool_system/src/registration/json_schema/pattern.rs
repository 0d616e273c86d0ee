//! Regular expressions of ECMA-262, as schemas have them, in the words of the crate `regex`.

use regex::Regex;
use regex_syntax::ast::ErrorKind;

/// What `.` matches: all but the ends of lines.
const ANY: &str = r"[^\n\r\x{2028}\x{2029}]";

/// The compiled expression; nothing if it is right but beyond what `regex` supports: look-around,
/// back-references and more repetitions than fit into its memory limit.
pub(super) fn compiled(pattern: &str) -> Result<Option<Regex>, String> {
    let translated = translated(pattern);
    match Regex::new(&translated) {
        Ok(regex) => Ok(Some(regex)),
        Err(regex::Error::CompiledTooBig(_)) => Ok(None),
        Err(error) => match regex_syntax::parse(&translated) {
            Err(regex_syntax::Error::Parse(error)) if is_beyond(error.kind()) => Ok(None),
            Err(regex_syntax::Error::Parse(error)) => Err(error.kind().to_string()),
            Err(regex_syntax::Error::Translate(error)) => Err(error.kind().to_string()),
            _ => Err(error.to_string()),
        },
    }
}

fn is_beyond(kind: &ErrorKind) -> bool {
    matches!(kind, ErrorKind::UnsupportedLookAround | ErrorKind::UnsupportedBackreference)
}

/// The same expression where both languages differ: the classes are those of ASCII, a class contains no class and
/// knows no set operations, and characters beyond 16 bits may be written as two.
fn translated(pattern: &str) -> String {
    let mut out = String::with_capacity(pattern.len());
    let mut in_class = false;
    let mut rest = pattern;
    while let Some(first) = rest.chars().next() {
        let mut length = first.len_utf8();
        match first {
            '\\' => length = escape(rest, in_class, &mut out),
            '.' if !in_class => out.push_str(ANY),
            '[' if in_class => out.push_str(r"\["),
            '[' if rest.starts_with("[^]") => {
                out.push_str(r"[\s\S]");
                length = 3;
            }
            '[' if rest.starts_with("[]") => {
                out.push_str(r"[^\s\S]");
                length = 2;
            }
            '[' => {
                in_class = true;
                out.push('[');
                if rest[1..].starts_with('^') {
                    out.push('^');
                    length = 2;
                }
            }
            ']' => {
                in_class = false;
                out.push(']');
            }
            '&' | '~' if in_class => out.extend(['\\', first]),
            '-' if in_class && rest.starts_with("--") => out.push_str(r"\-"),
            _ => out.push(first),
        }
        rest = &rest[length..];
    }
    out
}

/// Writes what begins with a backslash, and says how long it was.
fn escape(rest: &str, in_class: bool, out: &mut String) -> usize {
    let Some(letter) = rest[1..].chars().next() else {
        out.push('\\');
        return 1;
    };
    let length = 1 + letter.len_utf8();
    let class = match letter {
        'd' => "[0-9]",
        'D' => "[^0-9]",
        'w' => "[A-Za-z0-9_]",
        'W' => "[^A-Za-z0-9_]",
        's' => r"[\s\x{feff}]",
        'S' => r"[^\s\x{feff}]",
        'b' if in_class => r"\x08",
        'b' => r"(?-u:\b)",
        '0' => r"\x00",
        '/' => "/",
        _ => "",
    };
    if !class.is_empty() {
        out.push_str(class);
        return length;
    }
    match letter {
        'c' => {
            if let Some(control) = rest[2..].chars().next().filter(char::is_ascii_alphabetic) {
                out.push_str(&format!(r"\x{:02x}", control as u32 % 32));
                return 3;
            }
        }
        'u' => {
            if let Some((character, length)) = pair(rest) {
                out.push_str(&format!(r"\x{{{:x}}}", character as u32));
                return length;
            }
        }
        _ => {}
    }
    out.extend(['\\', letter]);
    length
}

/// The character that two escapes of 16 bits write, and their length.
fn pair(rest: &str) -> Option<(char, usize)> {
    let unit = |at: usize| {
        let escape = rest.get(at..at + 6)?.strip_prefix(r"\u")?;
        u16::from_str_radix(escape, 16).ok()
    };
    let (high, low) = (unit(0)?, unit(6)?);
    let character = char::decode_utf16([high, low]).next()?.ok()?;
    (u32::from(character) > 0xffff).then_some((character, 12))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn expressions_mean_what_they_do_in_ecmascript() {
        let table = [
            (r"^\d$", "5", true),
            (r"^\d$", "\u{664}", false),
            (r"^\w+$", "é", false),
            (r"^[\w.-]+$", "a.b-c", true),
            (r"^[\W]$", "é", true),
            (r"^\S+$", "\u{feff}", false),
            ("^.$", "\r", false),
            ("^[[a]$", "[", true),
            ("^[a&&b]$", "&", true),
            ("^[^]$", "\n", true),
            ("[]", "a", false),
            (r"^\/a\/$", "/a/", true),
            (r"^\cA$", "\u{1}", true),
            (r"^[\u0041\ud83d\udc32]$", "🐲", true),
            (r"\bb\b", "a b", true),
            (r"^\p{Letter}+$", "é", true),
            ("a$", "a\n", false),
        ];
        for (pattern, text, expected) in table {
            let regex = compiled(pattern).unwrap().unwrap();
            assert_eq!(regex.is_match(text), expected, "{pattern} {text:?}");
        }
    }

    #[test]
    fn what_is_beyond_the_crate_is_not_called_wrong() {
        for pattern in ["^(?!a)b", "(?<=a)b", r"(a)\1", r"^(\w{1000}){1000}{1000}$"] {
            assert!(compiled(pattern).unwrap().is_none(), "{pattern}");
        }
        for pattern in ["(", "[a", "*a", "a{2,1}"] {
            assert!(compiled(pattern).is_err(), "{pattern}");
        }
    }
}
