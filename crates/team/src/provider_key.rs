//! A user's own keys for providers of models.

use std::fmt;

use serde::Serialize;

use crate::{MasterKeys, NoRandomness, NotUnsealed, PeopleError, Sealed, UserId};

/// Bytes of a key; real ones have a hundred or two.
const LONGEST_KEY: usize = 4096;
/// Bytes of the name of a provider.
const LONGEST_PROVIDER: usize = 64;

/// Whose key it is, for which provider.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct KeyOwner {
    pub user: UserId,
    /// The provider's name.
    pub provider: String,
}

impl KeyOwner {
    fn bound(&self) -> String {
        format!("provider key of {} for {}", self.user, self.provider)
    }

    /// Seals a key, if it can be one.
    pub fn seal(&self, keys: &MasterKeys, key: &ProviderKey) -> Result<Sealed, PeopleError> {
        let text = key.expose();
        let is_key = (1..=LONGEST_KEY).contains(&text.len())
            && text.bytes().all(|byte| byte.is_ascii_graphic());
        let has_name = (1..=LONGEST_PROVIDER).contains(&self.provider.len());
        match is_key && has_name {
            true => Ok(keys.seal(&self.bound(), text)?),
            false => Err(PeopleError::Invalid(format!(
                "a key has 1 to {LONGEST_KEY} printable characters, without spaces"
            ))),
        }
    }

    /// Opens a sealed key.
    pub fn open(&self, keys: &MasterKeys, sealed: &Sealed) -> Result<ProviderKey, NotUnsealed> {
        keys.open(&self.bound(), sealed).map(ProviderKey::new)
    }

    /// The key sealed with the newest master key; none if it is already.
    pub fn renew(&self, keys: &MasterKeys, sealed: &Sealed) -> Result<Option<Sealed>, NotUnsealed> {
        keys.renewed(&self.bound(), sealed)
    }
}

/// A key as its user has typed it. It has no way to show itself by accident.
#[derive(Clone, PartialEq, Eq)]
pub struct ProviderKey(String);

impl ProviderKey {
    /// Keeps a text to itself.
    pub fn new(text: impl Into<String>) -> Self {
        Self(text.into())
    }

    /// The text, for the provider.
    pub fn expose(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for ProviderKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("ProviderKey")
    }
}

/// That there is a key. The key itself is never shown again.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct KeptKey {
    /// The provider's name.
    pub provider: String,
    /// The master key it is sealed with.
    pub sealed_with: String,
    /// When it was kept: milliseconds since 1970, UTC.
    pub kept: i64,
}

impl From<NoRandomness> for PeopleError {
    fn from(error: NoRandomness) -> Self {
        Self::Failed(error.to_string())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_that_could_end_a_header_is_refused() {
        let keys = MasterKeys::parse(&MasterKeys::generate_line().unwrap()).unwrap();
        let owner = |user: &str, provider: &str| KeyOwner {
            user: UserId::named(user),
            provider: provider.to_owned(),
        };
        let ada = owner("ada", "openai");
        for wrong in ["", "a b", "a\r\nX: y", "\u{e9}", &"k".repeat(LONGEST_KEY + 1)] {
            assert!(ada.seal(&keys, &ProviderKey::new(wrong)).is_err(), "{wrong:?}");
        }
        let sealed = ada.seal(&keys, &ProviderKey::new("sk-1")).unwrap();
        assert_eq!(ada.open(&keys, &sealed).unwrap().expose(), "sk-1");
        for other in [owner("bob", "openai"), owner("ada", "anthropic")] {
            assert_eq!(other.open(&keys, &sealed), Err(NotUnsealed::Damaged));
        }
        assert_eq!(format!("{:?}", ProviderKey::new("sk-1")), "ProviderKey");
    }
}
