//! The arguments of a call, after the validator has accepted them.

use std::borrow::Cow;
use std::fmt;

use protocol::{ErrorCode, ToolError};
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::{DeserializeOwned, Visitor};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::{Map, Value};

/// Arguments in the tool's own spelling, known to fit its schema.
#[derive(Clone, Debug, PartialEq)]
pub struct ToolArguments(Map<String, Value>);

impl ToolArguments {
    /// Wraps arguments that the validator has accepted.
    pub fn new(arguments: Map<String, Value>) -> Self {
        Self(arguments)
    }

    /// The arguments as the tool's own struct. That they fit the schema and not the struct would be
    /// a fault of the tool, not of the caller.
    pub fn parse<T: DeserializeOwned>(self) -> Result<T, ToolError> {
        T::deserialize(Value::Object(self.0)).map_err(|error| {
            let message = format!("the tool's schema accepts what it cannot read: {error}");
            ToolError::new(ErrorCode::Internal, message)
        })
    }

    /// The arguments as JSON.
    pub fn as_map(&self) -> &Map<String, Value> {
        &self.0
    }
}

/// A whole number of at least `MIN`.
///
/// It takes every number that JSON Schema calls an integer, `5.0` and numbers beyond 64 bits among
/// them (those saturate: as a limit they all mean "everything"), so that schema and parser accept
/// exactly the same.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Whole<const MIN: u64>(pub u64);

impl<const MIN: u64> Whole<MIN> {
    /// The number as an index or length of this machine.
    pub fn as_usize(self) -> usize {
        usize::try_from(self.0).unwrap_or(usize::MAX)
    }
}

impl<'de, const MIN: u64> Deserialize<'de> for Whole<MIN> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(WholeVisitor::<MIN>)
    }
}

struct WholeVisitor<const MIN: u64>;

impl<const MIN: u64> Visitor<'_> for WholeVisitor<MIN> {
    type Value = Whole<MIN>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "a whole number of at least {MIN}")
    }

    fn visit_u64<E: serde::de::Error>(self, value: u64) -> Result<Self::Value, E> {
        if value < MIN {
            return Err(E::invalid_value(serde::de::Unexpected::Unsigned(value), &self));
        }
        Ok(Whole(value))
    }

    fn visit_i64<E: serde::de::Error>(self, value: i64) -> Result<Self::Value, E> {
        match u64::try_from(value) {
            Ok(value) => self.visit_u64(value),
            Err(_) => Err(E::invalid_value(serde::de::Unexpected::Signed(value), &self)),
        }
    }

    fn visit_f64<E: serde::de::Error>(self, value: f64) -> Result<Self::Value, E> {
        if value.fract() != 0.0 || value < MIN as f64 {
            return Err(E::custom(format!("{value} is not a whole number of at least {MIN}")));
        }
        // A float beyond the range saturates, which is what `as` does.
        Ok(Whole(value as u64))
    }
}

impl<const MIN: u64> Serialize for Whole<MIN> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_u64(self.0)
    }
}

impl<const MIN: u64> JsonSchema for Whole<MIN> {
    fn schema_name() -> Cow<'static, str> {
        format!("Whole{MIN}").into()
    }

    fn inline_schema() -> bool {
        true
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({"type": "integer", "minimum": MIN})
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whole_numbers_are_what_json_schema_calls_integers() {
        let parse = |text: &str| serde_json::from_str::<Whole<1>>(text).map(|whole| whole.0).ok();
        let table = [
            ("1", Some(1)),
            ("5.0", Some(5)),
            ("0", None),
            ("-3", None),
            ("1.5", None),
            ("18446744073709551615", Some(u64::MAX)),
            ("1e30", Some(u64::MAX)),
            ("\"1\"", None),
            ("null", None),
        ];
        for (text, expected) in table {
            assert_eq!(parse(text), expected, "{text}");
        }
    }
}
