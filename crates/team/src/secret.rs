//! Secrets that are shown once and kept as hashes.

use std::fmt;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use ring::digest::{SHA256, digest};
use ring::rand::{SecureRandom as _, SystemRandom};

/// 256 bits: nothing that can be tried out, so that a plain hash of it can be kept.
const SECRET_BYTES: usize = 32;
/// Bytes of the check at the end, which tells a mistyped secret from a good one without looking it up.
const CHECK_BYTES: usize = 3;

/// The system has no random numbers.
#[derive(Clone, Copy, Debug, thiserror::Error)]
#[error("the system gives no random numbers")]
pub struct NoRandomness;

pub(crate) fn random_bytes<const N: usize>() -> Result<[u8; N], NoRandomness> {
    let mut bytes = [0; N];
    SystemRandom::new().fill(&mut bytes).map_err(|_| NoRandomness)?;
    Ok(bytes)
}

/// What a secret is for. One kind is never good in the place of another.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum SecretKind {
    /// A token of the API, in a header.
    Token,
    /// A browser that is logged in, in a cookie.
    Browser,
    /// An invitation, in a link.
    Invitation,
    /// A browser that is about to log in.
    Attempt,
}

impl SecretKind {
    fn prefix(self) -> &'static str {
        match self {
            Self::Token => "tkt_",
            Self::Browser => "tkb_",
            Self::Invitation => "tki_",
            Self::Attempt => "tka_",
        }
    }
}

/// A secret as its owner has it. It has no way to show itself by accident.
#[derive(Clone, PartialEq, Eq)]
pub struct SecretText(String);

impl fmt::Debug for SecretText {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("SecretText")
    }
}

impl SecretText {
    /// One that was never used before.
    pub fn generate(kind: SecretKind) -> Result<Self, NoRandomness> {
        let secret: [u8; SECRET_BYTES] = random_bytes()?;
        let body = format!("{}{}", kind.prefix(), URL_SAFE_NO_PAD.encode(secret));
        let check = check(&body);
        Ok(Self(format!("{body}{check}")))
    }

    /// What a client has shown, if it can be a secret of this kind at all.
    pub fn shown(kind: SecretKind, text: &str) -> Option<Self> {
        let at = text.len().checked_sub(check("").len()).filter(|at| text.is_char_boundary(*at))?;
        let (body, told) = text.split_at(at);
        let secret = URL_SAFE_NO_PAD.decode(body.strip_prefix(kind.prefix())?).ok()?;
        (secret.len() == SECRET_BYTES && told == check(body)).then(|| Self(text.to_owned()))
    }

    /// What is kept of it.
    pub fn hash(&self) -> SecretHash {
        SecretHash::of(&self.0)
    }

    /// The text, for the one answer that shows it.
    pub fn expose(&self) -> &str {
        &self.0
    }
}

fn check(body: &str) -> String {
    let hash = digest(&SHA256, body.as_bytes());
    URL_SAFE_NO_PAD.encode(&hash.as_ref()[..CHECK_BYTES])
}

/// What is kept of a secret.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct SecretHash([u8; SECRET_BYTES]);

impl SecretHash {
    /// That of a text.
    pub fn of(text: &str) -> Self {
        let mut bytes = [0; SECRET_BYTES];
        bytes.copy_from_slice(digest(&SHA256, text.as_bytes()).as_ref());
        Self(bytes)
    }

    /// One that was kept, if it is one.
    pub fn from_bytes(bytes: &[u8]) -> Option<Self> {
        bytes.try_into().ok().map(Self)
    }

    /// As it is kept.
    pub fn as_bytes(&self) -> &[u8] {
        &self.0
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const KINDS: [SecretKind; 4] =
        [SecretKind::Token, SecretKind::Browser, SecretKind::Invitation, SecretKind::Attempt];

    #[test]
    fn a_secret_is_good_as_its_own_kind_and_only_letter_by_letter() {
        for kind in KINDS {
            let secret = SecretText::generate(kind).unwrap();
            let text = secret.expose().to_owned();
            for other in KINDS {
                let shown = SecretText::shown(other, &text);
                assert_eq!(shown.is_some(), other == kind, "{other:?} for {kind:?}");
            }
            assert_eq!(SecretText::shown(kind, &text).unwrap().hash(), secret.hash());
            for wrong in [&text[1..], &text[..text.len() - 1], &format!("{text}A"), ""] {
                assert!(SecretText::shown(kind, wrong).is_none(), "{wrong}");
            }
            assert!(!format!("{secret:?}").contains(&text));
        }
    }

    #[test]
    fn secrets_are_never_the_same() {
        let make = || SecretText::generate(SecretKind::Token).unwrap().hash();
        assert_ne!(make(), make());
    }

    proptest! {
        #[test]
        fn no_other_text_is_a_secret(text in "\\PC{0,80}") {
            for kind in KINDS {
                prop_assert!(SecretText::shown(kind, &text).is_none());
                let shown = SecretText::shown(kind, &format!("{}{text}", kind.prefix()));
                prop_assert!(shown.is_none());
            }
        }
    }
}
