//! Answers that are compressed. Some proxies do it although the request did not ask for that.

use std::borrow::Cow;
use std::io;

use flate2::write::{DeflateDecoder, MultiGzDecoder, ZlibDecoder};

/// So many compressed bytes are decoded at once. They become at most about a thousand times as many,
/// which the reader of the stream counts before the next ones are decoded.
pub const SLICE: usize = 4 * 1024;

/// How the body of an answer is written.
pub enum Decoding {
    Plain,
    Gzip(MultiGzDecoder<Vec<u8>>),
    /// With deflate, in one of two formats.
    Deflate(Deflate),
}

/// The standard means zlib's format, and some servers send the bare one. The first two bytes tell.
pub enum Deflate {
    /// Not told yet.
    Unknown(Vec<u8>),
    /// The one of the standard.
    Zlib(ZlibDecoder<Vec<u8>>),
    /// The other.
    Bare(DeflateDecoder<Vec<u8>>),
}

impl Decoding {
    /// The way to read a body with this `content-encoding`, if it is understood.
    pub fn of(encoding: &str) -> Option<Self> {
        match encoding.trim().to_ascii_lowercase().as_str() {
            "" | "identity" => Some(Self::Plain),
            "gzip" | "x-gzip" => Some(Self::Gzip(MultiGzDecoder::new(Vec::new()))),
            "deflate" => Some(Self::Deflate(Deflate::Unknown(Vec::new()))),
            _ => None,
        }
    }

    /// What these bytes say, of which there are at most [`SLICE`].
    pub fn decode<'b>(&mut self, bytes: &'b [u8]) -> io::Result<Cow<'b, [u8]>> {
        match self {
            Self::Plain => Ok(Cow::Borrowed(bytes)),
            Self::Gzip(decoder) => decode(decoder, bytes, MultiGzDecoder::get_mut).map(Cow::Owned),
            Self::Deflate(deflate) => deflate.decode(bytes).map(Cow::Owned),
        }
    }
}

impl Deflate {
    fn decode(&mut self, bytes: &[u8]) -> io::Result<Vec<u8>> {
        match self {
            Self::Zlib(decoder) => decode(decoder, bytes, ZlibDecoder::get_mut),
            Self::Bare(decoder) => decode(decoder, bytes, DeflateDecoder::get_mut),
            Self::Unknown(first) => {
                first.extend_from_slice(bytes);
                let [one, two, ..] = first[..] else { return Ok(Vec::new()) };
                let first = std::mem::take(first);
                *self = match is_zlib(one, two) {
                    true => Self::Zlib(ZlibDecoder::new(Vec::new())),
                    false => Self::Bare(DeflateDecoder::new(Vec::new())),
                };
                self.decode(&first)
            }
        }
    }
}

/// Whether a zlib stream begins with these bytes (RFC 1950): its method, and a checksum of both.
fn is_zlib(one: u8, two: u8) -> bool {
    one & 0x0f == 8 && u16::from_be_bytes([one, two]).is_multiple_of(31)
}

fn decode<D: io::Write>(
    decoder: &mut D,
    bytes: &[u8],
    decoded: fn(&mut D) -> &mut Vec<u8>,
) -> io::Result<Vec<u8>> {
    decoder.write_all(bytes)?;
    // Events are passed on as they come, so nothing may wait for more.
    decoder.flush()?;
    Ok(std::mem::take(decoded(decoder)))
}

#[cfg(test)]
mod tests {
    use std::io::Write as _;

    use flate2::Compression;
    use flate2::write::{DeflateEncoder, GzEncoder, ZlibEncoder};
    use proptest::prelude::*;

    use super::*;

    fn compressed(encoding: &str, text: &[u8]) -> Vec<u8> {
        let level = Compression::default();
        let mut out = Vec::new();
        match encoding {
            "gzip" => GzEncoder::new(&mut out, level).write_all(text).unwrap(),
            "deflate" => ZlibEncoder::new(&mut out, level).write_all(text).unwrap(),
            _ => DeflateEncoder::new(&mut out, level).write_all(text).unwrap(),
        }
        out
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]

        #[test]
        fn wherever_it_is_cut_the_text_is_the_same(
            text in prop::collection::vec(any::<u8>(), 0..3000), size in 1_usize..200,
        ) {
            for (encoding, written) in [("GZIP", "gzip"), ("deflate", "deflate"), ("deflate", "bare")] {
                let mut decoding = Decoding::of(encoding).unwrap();
                let body = compressed(written, &text);
                let mut read = Vec::new();
                for piece in body.chunks(size) {
                    read.extend_from_slice(&decoding.decode(piece).unwrap());
                }
                prop_assert_eq!(&read, &text, "{}", written);
            }
        }

        #[test]
        fn any_bytes_are_text_or_an_error(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
            for encoding in ["gzip", "deflate", ""] {
                drop(Decoding::of(encoding).unwrap().decode(&bytes));
            }
        }
    }

    #[test]
    fn what_is_complete_is_passed_on_before_the_rest_comes() {
        let mut encoder = GzEncoder::new(Vec::new(), Compression::default());
        encoder.write_all(b"data: one\n\n").unwrap();
        encoder.flush().unwrap();
        let mut decoding = Decoding::of("gzip").unwrap();
        assert_eq!(*decoding.decode(encoder.get_ref()).unwrap(), *b"data: one\n\n");
    }

    #[test]
    fn a_slice_of_a_bomb_stays_small_enough_to_be_counted() {
        let bomb = compressed("gzip", &vec![0; 32 * 1024 * 1024]);
        let mut decoding = Decoding::of("gzip").unwrap();
        let most = bomb.chunks(SLICE).map(|slice| decoding.decode(slice).unwrap().len()).max();
        assert!(most.unwrap() < 8 * 1024 * 1024, "{most:?}");
    }

    #[test]
    fn other_encodings_are_not_understood() {
        for encoding in ["br", "zstd", "gzip, gzip"] {
            assert!(Decoding::of(encoding).is_none(), "{encoding}");
        }
    }
}
