//! JSON as a security boundary reads it: no duplicate keys, bounded nesting.

use std::fmt;

use serde::Deserializer;
use serde::de::{DeserializeSeed, Error as _, MapAccess, SeqAccess, Visitor};
use serde_json::{Map, Value};

/// The deepest nesting that arguments may have.
pub const MAX_JSON_DEPTH: usize = 64;

/// Why a text is not acceptable JSON.
#[derive(Debug, thiserror::Error)]
#[error(transparent)]
pub struct StrictJsonError(#[from] serde_json::Error);

/// Parses `text`, refusing what two readers could understand differently: a key that occurs twice
/// in one object, nesting deeper than [`MAX_JSON_DEPTH`], anything after the value.
pub fn parse_strict_json(text: &str) -> Result<Value, StrictJsonError> {
    let mut deserializer = serde_json::Deserializer::from_str(text);
    let value = Strict { depth: 0 }.deserialize(&mut deserializer)?;
    deserializer.end()?;
    Ok(value)
}

#[derive(Clone, Copy)]
struct Strict {
    depth: usize,
}

impl Strict {
    fn deeper<E: serde::de::Error>(self) -> Result<Self, E> {
        if self.depth == MAX_JSON_DEPTH {
            return Err(E::custom(format!("nested deeper than {MAX_JSON_DEPTH} levels")));
        }
        Ok(Self { depth: self.depth + 1 })
    }
}

impl<'de> DeserializeSeed<'de> for Strict {
    type Value = Value;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Value, D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Strict {
    type Value = Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a JSON value")
    }

    fn visit_unit<E>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_bool<E>(self, value: bool) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_i64<E>(self, value: i64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_u64<E>(self, value: u64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_f64<E>(self, value: f64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_str<E>(self, value: &str) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_string<E>(self, value: String) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Value, A::Error> {
        let inner = self.deeper()?;
        let mut values = Vec::new();
        while let Some(value) = items.next_element_seed(inner)? {
            values.push(value);
        }
        Ok(Value::Array(values))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut entries: A) -> Result<Value, A::Error> {
        let inner = self.deeper()?;
        let mut object = Map::new();
        while let Some(key) = entries.next_key::<String>()? {
            let value = entries.next_value_seed(inner)?;
            if object.contains_key(&key) {
                return Err(A::Error::custom(format!("the key `{key}` occurs twice")));
            }
            object.insert(key, value);
        }
        Ok(Value::Object(object))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_two_readers_could_take_differently_is_refused() {
        let twice = parse_strict_json(r#"{"path":"a","path":"b"}"#).unwrap_err();
        assert!(twice.to_string().contains("the key `path` occurs twice"), "{twice}");
        let deep = "[".repeat(MAX_JSON_DEPTH + 1) + &"]".repeat(MAX_JSON_DEPTH + 1);
        assert!(parse_strict_json(&deep).unwrap_err().to_string().contains("deeper than 64"));
        assert!(parse_strict_json("{} {}").is_err());
    }

    #[test]
    fn ordinary_json_is_read_as_serde_reads_it() {
        let text = r#"{"b":[1,-2,3.5,null,true,"é\n"],"a":{"c":{}}}"#;
        let expected: Value = serde_json::from_str(text).unwrap();
        assert_eq!(parse_strict_json(text).unwrap(), expected);
        let deepest = "[".repeat(MAX_JSON_DEPTH) + &"]".repeat(MAX_JSON_DEPTH);
        assert!(parse_strict_json(&deepest).is_ok());
    }
}
