//! How the JSON of an event lies in its row: as text, or packed if it is long.
//!
//! A long one is packed while it is made, so that neither its JSON nor the copies that the database makes of
//! it take as much memory as the event itself.

use std::fmt;
use std::io::{self, Read as _, Write};

use flate2::Compression;
use flate2::write::DeflateEncoder;
use protocol::LogEntry;

use crate::event_data::{EventData, unpacked};
use crate::row::{self, Row};
use crate::{SessionId, StoreError};

/// Longer JSON is packed. Nearly all events are shorter by far, and stay readable for other programs.
const PACKED_FROM: usize = 256 * 1024;
/// How well. The database copies a value several times while it is written, so that a quarter less of it counts (`bench
/// terminal`: memory for an answer); beyond this level it takes longer and gains nothing.
const PACKING: u32 = 4;

/// A row as it is written.
pub(crate) struct PackedRow {
    pub(crate) sequence: u64,
    pub(crate) at: i64,
    pub(crate) kind: String,
    pub(crate) data: StoredData,
    pub(crate) checksum: u32,
}

impl PackedRow {
    pub(crate) fn new(session: &SessionId, entry: &LogEntry) -> Result<Self, StoreError> {
        let LogEntry { sequence, at, event } = entry;
        let failed =
            |error: &dyn fmt::Display| StoreError::failed("writing an event as JSON", error);
        let mut packer = Packer::default();
        serde_json::to_writer(&mut packer, event).map_err(|error| failed(&error))?;
        let Packed { kind, data, hasher } = packer.finish().map_err(|error| failed(&error))?;
        let mut sum = row::hasher(session, *sequence, *at, &kind);
        sum.combine(&hasher);
        Ok(Self { sequence: *sequence, at: *at, kind, data, checksum: sum.finalize() })
    }

    /// A row that was written before.
    pub(crate) fn of(session: &SessionId, row: &Row) -> io::Result<Self> {
        let (sequence, at, kind) = (row.sequence, row.at, row.kind.clone());
        let checksum = row.checksum(session);
        Ok(Self { sequence, at, kind, data: StoredData::of(row)?, checksum })
    }
}

/// The JSON of an event in the form in which it is stored.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum StoredData {
    Plain(String),
    Packed(Vec<u8>),
}

impl StoredData {
    /// Bytes that it takes.
    pub(crate) fn bytes(&self) -> usize {
        match self {
            Self::Plain(text) => text.len(),
            Self::Packed(packed) => packed.len(),
        }
    }

    /// The data of a row that was written before.
    pub(crate) fn of(row: &Row) -> io::Result<Self> {
        let mut packer = Packer::default();
        packer.write_all(row.data.as_bytes())?;
        Ok(packer.finish()?.data)
    }
}

struct Packed {
    kind: String,
    data: StoredData,
    hasher: crc32fast::Hasher,
}

/// Takes JSON, and packs it as soon as it is too long to be stored as text.
#[derive(Default)]
struct Packer {
    /// What is not packed yet.
    text: Vec<u8>,
    packing: Option<Packing>,
    hasher: crc32fast::Hasher,
}

struct Packing {
    kind: String,
    encoder: DeflateEncoder<Vec<u8>>,
}

impl Packer {
    fn pack(&mut self) -> io::Result<()> {
        let packing = self.packing.get_or_insert_with(|| Packing {
            kind: row::kind_of(&self.text).to_owned(),
            encoder: DeflateEncoder::new(Vec::new(), Compression::new(PACKING)),
        });
        packing.encoder.write_all(&self.text)?;
        self.hasher.update(&self.text);
        self.text.clear();
        Ok(())
    }

    fn finish(mut self) -> io::Result<Packed> {
        if self.packing.is_some() {
            self.pack()?;
        }
        let Self { text, packing, mut hasher } = self;
        let (kind, data) = match packing {
            Some(Packing { kind, encoder }) => (kind, StoredData::Packed(encoder.finish()?)),
            None => {
                hasher.update(&text);
                let kind = row::kind_of(&text).to_owned();
                let text = String::from_utf8(text).map_err(io::Error::other)?;
                (kind, StoredData::Plain(text))
            }
        };
        Ok(Packed { kind, data, hasher })
    }
}

impl Write for Packer {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.text.extend_from_slice(bytes);
        if self.text.len() > PACKED_FROM {
            self.pack()?;
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl EventData<'_> {
    /// All of it as text.
    pub(crate) fn to_text(self) -> io::Result<String> {
        match self {
            Self::Plain(text) => Ok(text.to_owned()),
            Self::Packed(packed) => {
                let mut text = String::new();
                unpacked(packed).read_to_string(&mut text)?;
                Ok(text)
            }
        }
    }
}
