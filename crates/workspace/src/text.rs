//! Text that can be shown, edited and written back without changing a byte that was not meant to
//! change.

mod encoding;
mod lines;

pub use encoding::{TextEncoding, Unencodable};
pub use lines::{LineEnding, LineEndingCounts, Lines};

/// The content of a file, taken apart into encoding, byte order mark and body.
///
/// For every byte string `b`, `Text::decode(b).encode() == b`. The body is UTF-8 unless the
/// encoding is [`TextEncoding::Bytes`], in which case it is the file as it is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Text {
    encoding: TextEncoding,
    bom: bool,
    body: Vec<u8>,
}

impl Text {
    /// Finds out how `bytes` are encoded. An encoding is accepted only if writing the text back
    /// gives the same bytes; anything else is kept as [`TextEncoding::Bytes`].
    pub fn decode(bytes: &[u8]) -> Text {
        let (encoding, bom, body) = encoding::detect(bytes);
        Text { encoding, bom, body }
    }

    /// The bytes of the file.
    pub fn encode(&self) -> Vec<u8> {
        // The body was checked against the encoding when this value was made.
        encoding::encode(self.encoding, self.bom, &self.body).unwrap_or_else(|_| self.body.clone())
    }

    /// The bytes of the same file with another body, which must be expressible in its encoding.
    pub fn encode_body(&self, body: &[u8]) -> Result<Vec<u8>, Unencodable> {
        encoding::encode(self.encoding, self.bom, body)
    }

    /// How the file is encoded.
    pub fn encoding(&self) -> TextEncoding {
        self.encoding
    }

    /// Whether the file begins with a byte order mark, which is not part of the body.
    pub fn bom(&self) -> bool {
        self.bom
    }

    /// The text: UTF-8 unless the encoding is [`TextEncoding::Bytes`].
    pub fn body(&self) -> &[u8] {
        &self.body
    }

    /// The lines of the body with their endings. Put together again they are the body.
    pub fn lines(&self) -> Lines<'_> {
        Lines::new(&self.body)
    }

    /// How the lines end.
    pub fn line_endings(&self) -> LineEndingCounts {
        LineEndingCounts::of(&self.body)
    }
}

#[cfg(test)]
mod tests;
