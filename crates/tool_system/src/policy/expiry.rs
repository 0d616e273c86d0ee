//! How a rule's end is written: a date or a time with an offset, quoted or as TOML's own.

use jiff::Timestamp;
use jiff::civil::Date;
use jiff::tz::TimeZone;
use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// A bare date or time of TOML reaches serde as a table with this one key.
#[derive(Deserialize)]
#[serde(untagged)]
enum TomlTime {
    Quoted(String),
    Bare {
        #[serde(rename = "$__toml_private_datetime")]
        text: String,
    },
}

pub(super) fn serialize<S: Serializer>(
    expires: &Option<Timestamp>,
    serializer: S,
) -> Result<S::Ok, S::Error> {
    expires.map(|time| time.to_string()).serialize(serializer)
}

pub(super) fn deserialize<'de, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<Option<Timestamp>, D::Error> {
    let (TomlTime::Quoted(text) | TomlTime::Bare { text }) = TomlTime::deserialize(deserializer)
        .map_err(|_| D::Error::custom("expires is a date or a time, such as \"2026-12-01\""))?;
    parse(&text).map(Some).map_err(D::Error::custom)
}

/// A date ends the rule where that day begins in UTC, which is the narrower reading.
fn parse(text: &str) -> Result<Timestamp, String> {
    if let Ok(time) = text.parse::<Timestamp>() {
        return Ok(time);
    }
    let unreadable = || {
        format!("`{text}` is neither a date (2026-12-01) nor a time (2026-12-01T18:00:00+01:00)")
    };
    // A date parser would accept the day of a time without an offset and drop the rest.
    let is_date = text.bytes().all(|byte| byte.is_ascii_digit() || byte == b'-');
    let date: Date = text.parse().ok().filter(|_| is_date).ok_or_else(unreadable)?;
    date.to_zoned(TimeZone::UTC).map(|zoned| zoned.timestamp()).map_err(|_| unreadable())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dates_and_times_with_an_offset_are_understood_and_nothing_else() {
        let cases = [
            ("2026-12-01", Some("2026-12-01T00:00:00Z")),
            ("2026-12-01T18:00:00+01:00", Some("2026-12-01T17:00:00Z")),
            ("2026-12-01T18:00:00Z", Some("2026-12-01T18:00:00Z")),
            ("2026-12-01T18:00:00", None),
            ("2026-13-01", None),
            ("tomorrow", None),
            ("", None),
        ];
        for (text, expected) in cases {
            let parsed = parse(text).ok().map(|time| time.to_string());
            assert_eq!(parsed.as_deref(), expected, "{text}");
        }
    }
}
