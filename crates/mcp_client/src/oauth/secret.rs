//! Texts that must not be shown.

use std::fmt;

use rustix::rand::{GetRandomFlags, getrandom};
use serde::{Deserialize, Serialize};

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;

/// As many as a key of 256 bits has.
const RANDOM_BYTES: usize = 32;
/// A word that is shorter is no secret, and would be found everywhere.
const SHORTEST: usize = 4;

/// A token, a code or a key. It has no way to show itself; it is written to a [`super::Vault`] only.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct LoginSecret(String);

impl LoginSecret {
    /// Keeps a text to itself.
    pub fn new(text: impl Into<String>) -> Self {
        Self(text.into())
    }

    /// A text that cannot be guessed, for addresses and headers.
    pub(crate) fn random() -> Result<Self, String> {
        let mut bytes = [0; RANDOM_BYTES];
        match getrandom(&mut bytes, GetRandomFlags::empty()) {
            Ok(RANDOM_BYTES) => Ok(Self(URL_SAFE_NO_PAD.encode(bytes))),
            _ => Err("the system gives no random numbers".to_owned()),
        }
    }

    /// The text, for the one place that it is sent to.
    pub(crate) fn expose(&self) -> &str {
        &self.0
    }

    /// Whether a text of a server repeats it.
    pub(crate) fn is_in(&self, text: &str) -> bool {
        self.0.len() >= SHORTEST && text.contains(&self.0)
    }
}

impl fmt::Debug for LoginSecret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("LoginSecret")
    }
}
