//! How SQLite takes and gives the JSON of an event: text as text, packed as a blob.

use sqlx::encode::IsNull;
use sqlx::error::BoxDynError;
use sqlx::sqlite::{SqliteArgumentsBuffer, SqliteTypeInfo, SqliteValueRef};
use sqlx::{Decode, Encode, Sqlite, Type, TypeInfo as _, ValueRef as _};

use crate::event_data::EventData;
use crate::stored_data::StoredData;

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
        Ok(Self(EventData::decode(value)?.to_text()?))
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
