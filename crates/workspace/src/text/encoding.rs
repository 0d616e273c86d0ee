//! Finding out which encoding a text file has, and encoding text again.

use std::fmt;

use chardetng::{EncodingDetector, Iso2022JpDetection, Utf8Detection};
use protocol::{ErrorCode, ToolError};

use crate::binary::{UTF8_BOM, UTF16_BE_BOM, UTF16_LE_BOM, is_binary, starts_with_utf16_bom};

/// How much of a file the guess of a legacy encoding is made from. The guess is then checked on
/// the whole.
const GUESS_BYTES: usize = 256 * 1024;

/// How the bytes of a file stand for characters.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TextEncoding {
    /// UTF-8, with or without a byte order mark.
    Utf8,
    /// UTF-16, low byte first, recognised by its byte order mark.
    Utf16Le,
    /// UTF-16, high byte first, recognised by its byte order mark.
    Utf16Be,
    /// An encoding from before Unicode, guessed from the content.
    Legacy(&'static encoding_rs::Encoding),
    /// No encoding fits: the bytes are kept as they are.
    Bytes,
}

impl fmt::Display for TextEncoding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            TextEncoding::Utf8 => "UTF-8",
            TextEncoding::Utf16Le => "UTF-16LE",
            TextEncoding::Utf16Be => "UTF-16BE",
            TextEncoding::Legacy(encoding) => encoding.name(),
            TextEncoding::Bytes => "unknown",
        })
    }
}

/// A text contains characters that the file's encoding does not have.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("the text cannot be written in the file's encoding, {encoding}")]
pub struct Unencodable {
    /// The encoding of the file.
    pub encoding: TextEncoding,
}

impl From<Unencodable> for ToolError {
    fn from(error: Unencodable) -> ToolError {
        ToolError::new(ErrorCode::InvalidArguments, error.to_string())
            .suggest("Use only characters that this encoding has, or convert the file first.")
    }
}

/// Takes bytes apart into encoding, byte order mark and body.
pub(super) fn detect(bytes: &[u8]) -> (TextEncoding, bool, Vec<u8>) {
    if let Some(text) = detect_utf16(bytes) {
        return text;
    }
    let (bom, rest) = match bytes.strip_prefix(UTF8_BOM) {
        Some(rest) => (true, rest),
        None => (false, bytes),
    };
    if str::from_utf8(rest).is_ok() {
        return (TextEncoding::Utf8, bom, rest.to_vec());
    }
    if !bom && let Some((encoding, body)) = detect_legacy(bytes) {
        return (TextEncoding::Legacy(encoding), false, body);
    }
    (TextEncoding::Bytes, false, bytes.to_vec())
}

fn detect_utf16(bytes: &[u8]) -> Option<(TextEncoding, bool, Vec<u8>)> {
    if !starts_with_utf16_bom(bytes) {
        return None;
    }
    let (bom, rest) = bytes.split_at(UTF16_LE_BOM.len());
    let (encoding, unit): (_, fn([u8; 2]) -> u16) = match bom == UTF16_LE_BOM {
        true => (TextEncoding::Utf16Le, u16::from_le_bytes),
        false => (TextEncoding::Utf16Be, u16::from_be_bytes),
    };
    let (pairs, []) = rest.as_chunks::<2>() else { return None };
    let text: String =
        char::decode_utf16(pairs.iter().copied().map(unit)).collect::<Result<_, _>>().ok()?;
    Some((encoding, true, text.into_bytes()))
}

fn detect_legacy(bytes: &[u8]) -> Option<(&'static encoding_rs::Encoding, Vec<u8>)> {
    // A file marked as UTF-16 that is not UTF-16 is damaged, not legacy.
    if is_binary(bytes) || starts_with_utf16_bom(bytes) || is_damaged_utf8(bytes) {
        return None;
    }
    let mut detector = EncodingDetector::new(Iso2022JpDetection::Deny);
    let sample = &bytes[..bytes.len().min(GUESS_BYTES)];
    detector.feed(sample, sample.len() == bytes.len());
    let encoding = detector.guess(None, Utf8Detection::Deny);
    let text = encoding.decode_without_bom_handling_and_without_replacement(bytes)?;
    let body = text.into_owned().into_bytes();
    let again = encode(TextEncoding::Legacy(encoding), false, &body).ok()?;
    (again == bytes).then_some((encoding, body))
}

/// Whether bytes that are not UTF-8 look as if they were meant to be. Text in another encoding
/// seldom forms a multi-byte UTF-8 character by chance, so a file with at least as many of them as
/// stray bytes is damaged UTF-8, and guessing would make every character of it wrong.
fn is_damaged_utf8(bytes: &[u8]) -> bool {
    let (mut characters, mut stray) = (0_usize, 0_usize);
    for chunk in bytes.utf8_chunks() {
        characters += chunk.valid().chars().filter(|c| !c.is_ascii()).count();
        stray += usize::from(!chunk.invalid().is_empty());
    }
    characters > 0 && characters >= stray
}

/// The bytes of a file with this encoding, byte order mark and body.
pub(super) fn encode(
    encoding: TextEncoding,
    bom: bool,
    body: &[u8],
) -> Result<Vec<u8>, Unencodable> {
    let unencodable = Unencodable { encoding };
    if encoding == TextEncoding::Bytes {
        return Ok(body.to_vec());
    }
    let text = str::from_utf8(body).map_err(|_| unencodable.clone())?;
    let with_bom = |mark: &[u8], bytes: Vec<u8>| match bom {
        true => [mark, &bytes].concat(),
        false => bytes,
    };
    match encoding {
        TextEncoding::Utf16Le => {
            let bytes = text.encode_utf16().flat_map(u16::to_le_bytes).collect();
            Ok(with_bom(UTF16_LE_BOM, bytes))
        }
        TextEncoding::Utf16Be => {
            let bytes = text.encode_utf16().flat_map(u16::to_be_bytes).collect();
            Ok(with_bom(UTF16_BE_BOM, bytes))
        }
        TextEncoding::Legacy(legacy) => match legacy.encode(text) {
            (bytes, used, false) if used == legacy => Ok(bytes.into_owned()),
            _ => Err(unencodable),
        },
        TextEncoding::Utf8 | TextEncoding::Bytes => Ok(with_bom(UTF8_BOM, body.to_vec())),
    }
}
