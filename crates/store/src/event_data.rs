//! The JSON of an event as it lies in its row, of which only some fields are wanted.

use std::io::{self, BufReader, Read};

use flate2::read::DeflateDecoder;
use protocol::TokenCount;
use serde::de::DeserializeOwned;

/// No row can hold more text than this, so whatever unpacks to more was not written by us.
pub(crate) const LONGEST: u64 = 1_000_000_000;
/// How much of a packed event is unpacked at a time.
const STEP: usize = 16 * 1024;

/// Read in place: a packed event is unpacked while it is parsed, and never as a whole.
#[derive(Clone, Copy)]
pub(crate) enum EventData<'a> {
    Plain(&'a str),
    Packed(&'a [u8]),
}

impl EventData<'_> {
    /// Its fields that `T` asks for.
    pub(crate) fn parse<T: DeserializeOwned>(self) -> serde_json::Result<T> {
        match self {
            Self::Plain(text) => serde_json::from_str(text),
            Self::Packed(packed) => {
                serde_json::from_reader(BufReader::with_capacity(STEP, unpacked(packed)))
            }
        }
    }

    /// An estimate of its tokens. What cannot be unpacked has none.
    pub(crate) fn tokens(self) -> usize {
        let mut count = TokenCount::default();
        // Writing to a counter does not fail, and reading from memory only if it is damaged.
        let _ = match self {
            Self::Plain(text) => io::copy(&mut text.as_bytes(), &mut count),
            Self::Packed(packed) => io::copy(&mut unpacked(packed), &mut count),
        };
        count.tokens()
    }
}

/// What was packed, as far as it is wanted.
pub(crate) fn unpacked(packed: &[u8]) -> impl Read {
    DeflateDecoder::new(packed).take(LONGEST)
}

#[cfg(test)]
mod tests {
    use std::io::Write as _;

    use flate2::Compression;
    use flate2::write::DeflateEncoder;
    use serde::Deserialize;

    use super::*;

    #[derive(Debug, Deserialize, PartialEq)]
    struct Wanted {
        number: u64,
    }

    fn packed(text: &str) -> Vec<u8> {
        let mut encoder = DeflateEncoder::new(Vec::new(), Compression::fast());
        encoder.write_all(text.as_bytes()).unwrap();
        encoder.finish().unwrap()
    }

    #[test]
    fn packed_and_plain_events_read_the_same() {
        let text = format!(r#"{{"text":"{}","number":7}}"#, "some wörds ".repeat(10_000));
        let packed = packed(&text);
        for data in [EventData::Plain(&text), EventData::Packed(&packed)] {
            assert_eq!(data.parse::<Wanted>().unwrap(), Wanted { number: 7 });
            assert_eq!(data.tokens(), protocol::estimate_tokens(&text));
        }
    }

    #[test]
    fn what_is_damaged_does_not_read() {
        let text = format!(r#"{{"text":"{}","number":7}}"#, "words ".repeat(10_000));
        let whole = packed(&text);
        assert!(EventData::Packed(&whole[..whole.len() / 2]).parse::<Wanted>().is_err());
        assert!(EventData::Packed(b"not packed").parse::<Wanted>().is_err());
    }
}
