//! How the JSON of an event lies in its row: as text, or packed if it is long.
//!
//! A long one is packed while it is made, so that neither its JSON nor the copies that the database makes of
//! it take as much memory as the event itself.

use std::fmt;
use std::io::{self, Read as _, Write};

use flate2::Compression;
use flate2::write::DeflateEncoder;
use protocol::LogEntry;
use sqlx::encode::IsNull;
use sqlx::error::BoxDynError;
use sqlx::sqlite::{SqliteArgumentsBuffer, SqliteTypeInfo, SqliteValueRef};
use sqlx::{Decode, Encode, Sqlite, Type, TypeInfo as _, ValueRef as _};

use crate::event_data::{EventData, unpacked};
use crate::row::{self, Row};
use crate::{SessionId, StoreError};

/// Longer JSON is packed. Nearly all events are shorter by far, and stay readable for other programs.
const PACKED_FROM: usize = 256 * 1024;

/// A row as it is written.
pub(super) struct PackedRow {
    pub(super) sequence: u64,
    pub(super) at: i64,
    pub(super) kind: String,
    pub(super) data: StoredData,
    pub(super) checksum: u32,
}

impl PackedRow {
    pub(super) fn new(session: &SessionId, entry: &LogEntry) -> Result<Self, StoreError> {
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
}

/// The JSON of an event in the form in which it is stored.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum StoredData {
    Plain(String),
    Packed(Vec<u8>),
}

impl StoredData {
    /// The data of a row that was written before.
    pub(super) fn of(row: &Row) -> io::Result<Self> {
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
            encoder: DeflateEncoder::new(Vec::new(), Compression::fast()),
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

impl Type<Sqlite> for StoredData {
    fn type_info() -> SqliteTypeInfo {
        <String as Type<Sqlite>>::type_info()
    }
}

impl Encode<'_, Sqlite> for StoredData {
    fn encode_by_ref(&self, buffer: &mut SqliteArgumentsBuffer) -> Result<IsNull, BoxDynError> {
        self.clone().encode(buffer)
    }

    fn encode(self, buffer: &mut SqliteArgumentsBuffer) -> Result<IsNull, BoxDynError> {
        match self {
            Self::Plain(text) => Encode::<Sqlite>::encode(text, buffer),
            Self::Packed(bytes) => Encode::<Sqlite>::encode(bytes, buffer),
        }
    }
}

/// The JSON of an event as it is read, however it is stored.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct EventText(pub(super) String);

impl Type<Sqlite> for EventText {
    fn type_info() -> SqliteTypeInfo {
        <String as Type<Sqlite>>::type_info()
    }

    fn compatible(kind: &SqliteTypeInfo) -> bool {
        matches!(kind.name(), "TEXT" | "BLOB")
    }
}

impl<'r> Decode<'r, Sqlite> for EventText {
    fn decode(value: SqliteValueRef<'r>) -> Result<Self, BoxDynError> {
        Ok(Self(match EventData::decode(value)? {
            EventData::Plain(text) => text.to_owned(),
            EventData::Packed(packed) => {
                let mut text = String::new();
                unpacked(packed).read_to_string(&mut text)?;
                text
            }
        }))
    }
}

impl Type<Sqlite> for EventData<'_> {
    fn type_info() -> SqliteTypeInfo {
        EventText::type_info()
    }

    fn compatible(kind: &SqliteTypeInfo) -> bool {
        EventText::compatible(kind)
    }
}

impl<'r> Decode<'r, Sqlite> for EventData<'r> {
    fn decode(value: SqliteValueRef<'r>) -> Result<Self, BoxDynError> {
        Ok(match value.type_info().name() {
            "BLOB" => Self::Packed(<&[u8] as Decode<Sqlite>>::decode(value)?),
            _ => Self::Plain(<&str as Decode<Sqlite>>::decode(value)?),
        })
    }
}
