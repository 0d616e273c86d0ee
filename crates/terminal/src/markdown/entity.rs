//! Characters that are written by name, such as `&amp;`.

use timeline::safe_text::harmless;

/// Longer names are not known.
pub(super) const LONGEST_ENTITY: usize = 10;

/// Those that models write.
const NAMED: [(&str, &str); 27] = [
    ("amp", "&"),
    ("lt", "<"),
    ("gt", ">"),
    ("quot", "\""),
    ("apos", "'"),
    ("nbsp", " "),
    ("ensp", " "),
    ("emsp", " "),
    ("copy", "©"),
    ("reg", "®"),
    ("trade", "™"),
    ("deg", "°"),
    ("para", "¶"),
    ("sect", "§"),
    ("middot", "·"),
    ("bull", "•"),
    ("hellip", "…"),
    ("ndash", "–"),
    ("mdash", "—"),
    ("lsquo", "‘"),
    ("rsquo", "’"),
    ("ldquo", "“"),
    ("rdquo", "”"),
    ("times", "×"),
    ("larr", "←"),
    ("rarr", "→"),
    ("euro", "€"),
];

/// What stands for `&name;`, with whatever a terminal would obey written out; `None` if the name is not
/// known.
pub(super) fn entity(name: &str) -> Option<String> {
    let Some(number) = name.strip_prefix('#') else {
        let (_, text) = NAMED.iter().find(|(known, _)| *known == name)?;
        return Some((*text).to_owned());
    };
    let code = match number.strip_prefix(['x', 'X']) {
        Some(hex) => u32::from_str_radix(hex, 16).ok()?,
        None => number.parse().ok()?,
    };
    let c = char::from_u32(code)?;
    Some(if c.is_whitespace() { " ".to_owned() } else { harmless(c.encode_utf8(&mut [0; 4])) })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_and_numbers_stand_for_harmless_characters() {
        let table = [
            ("amp", Some("&")),
            ("#39", Some("'")),
            ("#x27", Some("'")),
            ("#10", Some(" ")),
            ("#27", Some("\\x1B")),
            ("#x202E", Some("\\u{202E}")),
            ("#xD800", None),
            ("#99999999999", None),
            ("#", None),
            ("#x", None),
            ("AMP", None),
            ("", None),
        ];
        for (name, expected) in table {
            assert_eq!(entity(name).as_deref(), expected, "{name}");
        }
        assert!(NAMED.iter().all(|(name, _)| name.len() <= LONGEST_ENTITY));
    }
}
