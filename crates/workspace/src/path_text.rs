//! How path bytes are written as Unicode text and read back.
//!
//! JSON carries only Unicode, but a Unix name is any bytes without NUL and `/`. Bytes that are not
//! UTF-8, and control bytes that would deceive a reader, are written `\xHH`; a backslash that would
//! look like such an escape is written `\x5C`. Everything else stands for itself, so ordinary names
//! are unchanged.

use std::borrow::Cow;
use std::fmt::Write as _;

/// Length of `\xHH`.
const ESCAPE_LEN: usize = 4;

/// Writes arbitrary name bytes (a path, a file name, a link target) as text that
/// [`crate::RelPath::parse`] reads back to the same bytes.
pub fn bytes_to_text(bytes: &[u8]) -> Cow<'_, str> {
    match str::from_utf8(bytes) {
        Ok(text) if !text.bytes().any(|byte| byte.is_ascii_control() || byte == b'\\') => {
            Cow::Borrowed(text)
        }
        _ => Cow::Owned(escape(bytes)),
    }
}

fn escape(bytes: &[u8]) -> String {
    let mut text = String::with_capacity(bytes.len() + ESCAPE_LEN);
    let mut at = 0;
    for chunk in bytes.utf8_chunks() {
        for c in chunk.valid().chars() {
            let looks_like_escape = c == '\\' && escaped_byte(&bytes[at..]).is_some();
            if c.is_ascii_control() || looks_like_escape {
                push_escape(&mut text, c as u8);
            } else {
                text.push(c);
            }
            at += c.len_utf8();
        }
        for &byte in chunk.invalid() {
            push_escape(&mut text, byte);
        }
        at += chunk.invalid().len();
    }
    text
}

fn push_escape(text: &mut String, byte: u8) {
    // Writing to a String cannot fail.
    let _ = write!(text, "\\x{byte:02X}");
}

/// A byte of decoded path text, and whether it was spelled as an escape.
pub(crate) struct Decoded {
    pub(crate) byte: u8,
    pub(crate) escaped: bool,
}

/// Reads text back to bytes. Case of the hexadecimal digits does not matter.
pub(crate) fn decode(text: &str) -> impl Iterator<Item = Decoded> + '_ {
    let mut rest = text.as_bytes();
    std::iter::from_fn(move || {
        if let Some(byte) = escaped_byte(rest) {
            rest = &rest[ESCAPE_LEN..];
            return Some(Decoded { byte, escaped: true });
        }
        let (&byte, tail) = rest.split_first()?;
        rest = tail;
        Some(Decoded { byte, escaped: false })
    })
}

fn escaped_byte(bytes: &[u8]) -> Option<u8> {
    match bytes {
        [b'\\', b'x', high, low, ..] => Some(hex_digit(*high)? << 4 | hex_digit(*low)?),
        _ => None,
    }
}

/// The value of one hexadecimal digit of either case.
pub(crate) fn hex_digit(digit: u8) -> Option<u8> {
    match digit {
        b'0'..=b'9' => Some(digit - b'0'),
        b'a'..=b'f' => Some(digit - b'a' + 10),
        b'A'..=b'F' => Some(digit - b'A' + 10),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_are_written_as_text() {
        let table: &[(&[u8], &str)] = &[
            (b"src/main.rs", "src/main.rs"),
            ("naïve/日本".as_bytes(), "naïve/日本"),
            (b"caf\xE9", "caf\\xE9"),
            (b"a\tb\nc\x7F", "a\\x09b\\x0Ac\\x7F"),
            (b"a\\b", "a\\b"),
            (b"a\\x4g", "a\\x4g"),
            (b"a\\x41", "a\\x5Cx41"),
            (b"a\\xff", "a\\x5Cxff"),
            (b"\\\\x41", "\\\\x5Cx41"),
            (b"\\x\xFF", "\\x\\xFF"),
            (b"\\\x01", "\\\\x01"),
        ];
        for (bytes, text) in table {
            assert_eq!(bytes_to_text(bytes), *text);
            let back: Vec<u8> = decode(text).map(|d| d.byte).collect();
            assert_eq!(&back, bytes, "{text}");
        }
    }
}
