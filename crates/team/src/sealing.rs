//! Keys of providers at rest: sealed with a key that is not in the database.
//!
//! Each sealed text names the master key it was sealed with, so that a new one can be added before the old one is
//! removed, and is bound to what it belongs to: a row that is copied to another user cannot be opened there.

use std::fmt;

use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD};
use ring::aead::{AES_256_GCM, Aad, LessSafeKey, NONCE_LEN, Nonce, UnboundKey};
use ring::digest::{SHA256, digest};

use crate::secret::{NoRandomness, random_bytes};

/// 256 bits.
const KEY_BYTES: usize = 32;
/// Characters of the name of a key.
const KEY_ID_CHARACTERS: usize = 8;

/// A line of a key file that is not a key.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "line {line} is not a master key: it is 32 random bytes in Base64, such as `head -c 32 /dev/urandom | base64` \
     prints"
)]
pub struct InvalidMasterKey {
    /// Which one, from 1; 0 if there is none at all.
    pub line: usize,
}

/// A sealed text cannot be opened.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NotUnsealed {
    /// Its master key is not there.
    #[error("it was sealed with the master key {0}, which this server does not have")]
    NoKey(String),
    /// It is damaged, or belongs to something else.
    #[error("it is damaged, or was sealed for something else")]
    Damaged,
}

/// A text that only the master key opens.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sealed {
    /// Which master key.
    pub key_id: String,
    /// The nonce, then the sealed bytes.
    pub bytes: Vec<u8>,
}

struct MasterKey {
    id: String,
    key: LessSafeKey,
}

/// The master keys, the one that seals first.
pub struct MasterKeys(Vec<MasterKey>);

impl fmt::Debug for MasterKeys {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let ids: Vec<&str> = self.0.iter().map(|key| key.id.as_str()).collect();
        f.debug_tuple("MasterKeys").field(&ids).finish()
    }
}

impl MasterKeys {
    /// The keys of a file or variable: one a line in Base64, the newest first. Blank lines and those that begin with
    /// `#` are left out.
    pub fn parse(text: &str) -> Result<Self, InvalidMasterKey> {
        let lines = text.lines().map(str::trim).enumerate();
        let lines = lines.filter(|(_, line)| !line.is_empty() && !line.starts_with('#'));
        let keys = lines.map(|(at, line)| {
            let bytes = STANDARD.decode(line).ok().filter(|bytes| bytes.len() == KEY_BYTES);
            bytes.and_then(|bytes| MasterKey::new(&bytes)).ok_or(InvalidMasterKey { line: at + 1 })
        });
        let keys: Vec<MasterKey> = keys.collect::<Result<_, _>>()?;
        if keys.is_empty() { Err(InvalidMasterKey { line: 0 }) } else { Ok(Self(keys)) }
    }

    /// A line for a key file that was never used before.
    pub fn generate_line() -> Result<String, NoRandomness> {
        let bytes: [u8; KEY_BYTES] = random_bytes()?;
        Ok(STANDARD.encode(bytes))
    }

    /// The name of the key that seals.
    pub fn sealing_id(&self) -> &str {
        self.0.first().map_or("", |key| &key.id)
    }

    /// Seals a text for what it belongs to.
    pub fn seal(&self, belongs_to: &str, text: &str) -> Result<Sealed, NoRandomness> {
        let master = self.0.first().ok_or(NoRandomness)?;
        let nonce: [u8; NONCE_LEN] = random_bytes()?;
        let mut sealed = text.as_bytes().to_vec();
        let bound = Aad::from(belongs_to.as_bytes());
        let nonce_used = Nonce::assume_unique_for_key(nonce);
        let sealing = master.key.seal_in_place_append_tag(nonce_used, bound, &mut sealed);
        // It fails only for texts of many gigabytes.
        sealing.map_err(|_| NoRandomness)?;
        let bytes = nonce.into_iter().chain(sealed).collect();
        Ok(Sealed { key_id: master.id.clone(), bytes })
    }

    /// Opens a text that was sealed for this.
    pub fn open(&self, belongs_to: &str, sealed: &Sealed) -> Result<String, NotUnsealed> {
        let master = self.0.iter().find(|key| key.id == sealed.key_id);
        let master = master.ok_or_else(|| NotUnsealed::NoKey(sealed.key_id.clone()))?;
        let (nonce, rest) = sealed.bytes.split_at_checked(NONCE_LEN).ok_or(NotUnsealed::Damaged)?;
        let nonce = Nonce::try_assume_unique_for_key(nonce).map_err(|_| NotUnsealed::Damaged)?;
        let mut bytes = rest.to_vec();
        let opened = master.key.open_in_place(nonce, Aad::from(belongs_to.as_bytes()), &mut bytes);
        let opened = opened.map_err(|_| NotUnsealed::Damaged)?;
        String::from_utf8(opened.to_vec()).map_err(|_| NotUnsealed::Damaged)
    }

    /// The same sealed with the first key; none if it is already.
    pub fn renewed(
        &self,
        belongs_to: &str,
        sealed: &Sealed,
    ) -> Result<Option<Sealed>, NotUnsealed> {
        if sealed.key_id == self.sealing_id() {
            return Ok(None);
        }
        let text = self.open(belongs_to, sealed)?;
        self.seal(belongs_to, &text).map(Some).map_err(|_| NotUnsealed::Damaged)
    }
}

impl MasterKey {
    fn new(bytes: &[u8]) -> Option<Self> {
        let key = LessSafeKey::new(UnboundKey::new(&AES_256_GCM, bytes).ok()?);
        let mut id = URL_SAFE_NO_PAD.encode(digest(&SHA256, bytes));
        id.truncate(KEY_ID_CHARACTERS);
        Some(Self { id, key })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn keys(lines: &[&str]) -> MasterKeys {
        MasterKeys::parse(&lines.join("\n")).unwrap()
    }

    #[test]
    fn what_is_sealed_is_opened_for_its_owner_and_for_no_other() {
        let line = MasterKeys::generate_line().unwrap();
        let keys = keys(&["# the key", "", &line]);
        let sealed = keys.seal("ada/anthropic", "sk-secret").unwrap();
        assert_eq!(keys.open("ada/anthropic", &sealed).unwrap(), "sk-secret");
        assert_eq!(keys.open("bob/anthropic", &sealed), Err(NotUnsealed::Damaged));
        assert_ne!(keys.seal("ada/anthropic", "sk-secret").unwrap(), sealed);
        let text = String::from_utf8_lossy(&sealed.bytes).into_owned();
        assert!(!text.contains("secret") && !format!("{keys:?}").contains(&line));
        for at in 0..sealed.bytes.len() {
            let mut damaged = sealed.clone();
            damaged.bytes[at] ^= 1;
            assert_eq!(keys.open("ada/anthropic", &damaged), Err(NotUnsealed::Damaged), "{at}");
        }
        for short in 0..sealed.bytes.len() {
            let cut = Sealed { bytes: sealed.bytes[..short].to_vec(), ..sealed.clone() };
            assert_eq!(keys.open("ada/anthropic", &cut), Err(NotUnsealed::Damaged), "{short}");
        }
    }

    #[test]
    fn a_new_master_key_seals_while_the_old_one_still_opens() {
        let (old, new) =
            (MasterKeys::generate_line().unwrap(), MasterKeys::generate_line().unwrap());
        let sealed = keys(&[&old]).seal("x", "text").unwrap();
        let both = keys(&[&new, &old]);
        assert_eq!(both.open("x", &sealed).unwrap(), "text");
        let renewed = both.renewed("x", &sealed).unwrap().unwrap();
        assert_eq!(renewed.key_id, both.sealing_id());
        assert_eq!(both.renewed("x", &renewed).unwrap(), None);
        let only_new = keys(&[&new]);
        assert_eq!(only_new.open("x", &renewed).unwrap(), "text");
        assert!(matches!(only_new.open("x", &sealed), Err(NotUnsealed::NoKey(_))));
    }

    #[test]
    fn a_line_that_is_not_a_key_is_named() {
        let line = MasterKeys::generate_line().unwrap();
        let wrong = |text: &str| MasterKeys::parse(text).err().map(|error| error.line);
        assert_eq!(wrong(""), Some(0));
        assert_eq!(wrong("short"), Some(1));
        assert_eq!(wrong(&format!("{line}\n{}", &line[..40])), Some(2));
        assert_eq!(wrong(&line), None);
    }
}
