//! The names of sessions.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::str::FromStr;
use std::time::{SystemTime, UNIX_EPOCH};

use rustix::rand::{GetRandomFlags, getrandom};
use serde::{Deserialize, Serialize};

use crate::StoreError;

/// Digits and letters that are not mistaken for each other, in the order of their bytes.
const ALPHABET: &[u8; 32] = b"0123456789abcdefghjkmnpqrstvwxyz";
const BITS_PER_CHARACTER: u32 = 5;
/// Milliseconds since 1970 fit for another thousand years.
const TIME_CHARACTERS: u32 = 9;
/// 55 bits: enough that ids cannot be guessed and never collide.
const RANDOM_CHARACTERS: u32 = 11;
const LENGTH: usize = (TIME_CHARACTERS + RANDOM_CHARACTERS) as usize;

/// Characters of the shortest beginning that stands for an id.
const SHORTEST: usize = 6;

/// The id of a session. Ids sort by the time they were made; their ends are random.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct SessionId(String);

impl SessionId {
    /// An id that is not in use, for [`crate::Store::create_as`].
    pub fn generate() -> Result<Self, StoreError> {
        Self::generate_at(now_ms())
    }

    /// An id that was made at a time: milliseconds since 1970, UTC.
    pub(crate) fn generate_at(milliseconds: i64) -> Result<Self, StoreError> {
        Ok(Self::from_parts(milliseconds.unsigned_abs(), random_bits()?))
    }

    fn from_parts(milliseconds: u64, random: u64) -> Self {
        let mut text = String::with_capacity(LENGTH);
        for (value, characters) in [(milliseconds, TIME_CHARACTERS), (random, RANDOM_CHARACTERS)] {
            for place in (0..characters).rev() {
                let digit = (value >> (place * BITS_PER_CHARACTER)) & 0x1f;
                text.push(char::from(ALPHABET[digit as usize]));
            }
        }
        Self(text)
    }

    /// The first id of a moment, for ranges.
    pub(crate) fn first_of(milliseconds: i64) -> Self {
        Self::from_parts(milliseconds.unsigned_abs(), 0)
    }

    /// When it was made: milliseconds since 1970, UTC.
    pub(crate) fn milliseconds(&self) -> i64 {
        let time = self.0.bytes().take(TIME_CHARACTERS as usize);
        let digit = |byte: u8| ALPHABET.iter().position(|it| *it == byte).unwrap_or_default();
        time.fold(0, |value, byte| (value << BITS_PER_CHARACTER) | digit(byte) as i64)
    }

    /// The id as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

/// For each of these ids the shortest beginning that none of the others has, so that it can be typed.
/// They should be all ids of a store.
pub fn short_ids<'a>(
    ids: impl IntoIterator<Item = &'a SessionId>,
) -> BTreeMap<&'a SessionId, &'a str> {
    let sorted: Vec<&SessionId> = ids.into_iter().collect::<BTreeSet<_>>().into_iter().collect();
    let common = |one: Option<&&SessionId>, other: &SessionId| {
        let pairs = one.map(|one| one.0.bytes().zip(other.0.bytes()));
        pairs.map_or(0, |pairs| pairs.take_while(|(a, b)| a == b).count())
    };
    let short = sorted.iter().enumerate().map(|(at, id)| {
        let before = at.checked_sub(1).and_then(|at| sorted.get(at));
        let needed = common(before, id).max(common(sorted.get(at + 1), id)) + 1;
        (*id, &id.0[..needed.clamp(SHORTEST, LENGTH)])
    });
    short.collect()
}

impl fmt::Display for SessionId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// The text is not a whole session id.
#[derive(Debug, thiserror::Error)]
#[error("`{0}` is not a whole session id, which has {LENGTH} digits and small letters")]
pub struct InvalidSessionId(String);

impl FromStr for SessionId {
    type Err = InvalidSessionId;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        Self::try_from(text.to_owned())
    }
}

impl TryFrom<String> for SessionId {
    type Error = InvalidSessionId;

    fn try_from(text: String) -> Result<Self, Self::Error> {
        let is_id = text.len() == LENGTH && text.bytes().all(|byte| ALPHABET.contains(&byte));
        if is_id { Ok(Self(text)) } else { Err(InvalidSessionId(text)) }
    }
}

impl From<SessionId> for String {
    fn from(id: SessionId) -> String {
        id.0
    }
}

/// Bits from the system's random number generator.
pub(crate) fn random_bits() -> Result<u64, StoreError> {
    let mut bytes = [0; 8];
    match getrandom(&mut bytes, GetRandomFlags::empty()) {
        Ok(8) => Ok(u64::from_ne_bytes(bytes)),
        Ok(_) => Err(StoreError::failed("making a session id", "too little randomness")),
        Err(errno) => Err(StoreError::failed("making a session id", errno)),
    }
}

/// Milliseconds since 1970, UTC.
pub(crate) fn now_ms() -> i64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    i64::try_from(since.as_millis()).unwrap_or(i64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_have_one_length_parse_back_and_sort_by_time() {
        let early = SessionId::from_parts(1_700_000_000_000, u64::MAX);
        let late = SessionId::from_parts(1_700_000_000_001, 0);
        assert_eq!(early.as_str(), "1hf7yat00zzzzzzzzzzz");
        assert!(early < late);
        assert_eq!(
            (early.milliseconds(), late.milliseconds()),
            (1_700_000_000_000, 1_700_000_000_001)
        );
        assert_eq!(late.as_str().parse::<SessionId>().unwrap(), late);
        assert_eq!(serde_json::to_string(&late).unwrap(), "\"1hf7yat0100000000000\"");
    }

    #[test]
    fn the_beginning_that_is_shown_is_long_enough_to_tell_ids_apart() {
        let ids: Vec<SessionId> = [
            "1hf7yat00zzzzzzzzzzz",
            "1hf7yat0100000000000",
            "1hf7yat0100000000001",
            "2hf7yat0100000000000",
        ]
        .map(|text| text.parse().unwrap())
        .to_vec();
        let short: Vec<&str> = short_ids(&ids).into_values().collect();
        assert_eq!(short, ["1hf7yat00", "1hf7yat0100000000000", "1hf7yat0100000000001", "2hf7ya"]);
    }

    #[test]
    fn other_texts_are_no_ids() {
        for text in ["", "1hf7yat00", "1hf7yat00zzzzzzzzzzz0", "1hf7yat00zzzzzzzzzzu", "ü"] {
            assert!(text.parse::<SessionId>().is_err(), "{text}");
        }
        assert_ne!(SessionId::generate().unwrap(), SessionId::generate().unwrap());
    }
}
