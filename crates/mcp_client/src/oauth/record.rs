//! What is kept of a login.

use std::time::{SystemTime, UNIX_EPOCH};

use serde::{Deserialize, Serialize};

use super::registration::ClientIdentity;
use super::secret::LoginSecret;
use super::token::Tokens;

/// Seconds before its end at which a token is renewed: the request takes time, and clocks differ.
const EARLY_S: u64 = 30;

/// A place for files that only the user can read.
pub trait Vault: Send + Sync {
    /// The content of a file. One that others can read is refused.
    fn read(&self, name: &str) -> Result<Option<Vec<u8>>, String>;

    /// Makes `bytes` the content of a file that only the user can read.
    fn write(&self, name: &str, bytes: &[u8]) -> Result<(), String>;

    /// Removes a file, whoever can read it. Answers whether there was one.
    fn remove(&self, name: &str) -> Result<bool, String>;

    /// Keeps other processes from changing anything until the answer is dropped; none if another one
    /// does that now.
    fn lock(&self) -> Result<Option<LockedVault>, String>;
}

/// Ends when it is dropped.
pub type LockedVault = Box<dyn Send>;

/// A login to one server by one issuer.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct LoginRecord {
    /// The address of the server that the tokens are for.
    pub(crate) server: String,
    pub(crate) issuer: String,
    pub(crate) resource: String,
    pub(crate) token_endpoint: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) revocation_endpoint: Option<String>,
    pub(crate) client: ClientIdentity,
    /// What was asked for.
    pub(crate) requested: Vec<String>,
    /// What the server wanted since.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(crate) wanted: Vec<String>,
    #[serde(default)]
    pub(crate) tokens: KeptTokens,
}

/// The tokens of a login.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(crate) struct KeptTokens {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) access: Option<LoginSecret>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) refresh: Option<LoginSecret>,
    #[serde(skip_serializing_if = "Option::is_none")]
    expires_at: Option<u64>,
}

impl KeptTokens {
    /// Takes new ones. A server that does not rotate its refresh tokens sends none again.
    pub(crate) fn take(&mut self, new: Tokens) {
        self.access = Some(new.access);
        self.refresh = new.refresh.or(self.refresh.take());
        self.expires_at = new.expires_at;
    }

    /// Whether the access token has expired, or is about to.
    pub(crate) fn has_expired(&self) -> bool {
        self.expires_at.is_some_and(|at| at <= now().saturating_add(EARLY_S))
    }
}

impl LoginRecord {
    /// Reads a file. One for another address, or by another issuer than the configured one, is none.
    pub(crate) fn read(
        vault: &dyn Vault,
        file: &str,
        server: &str,
        issuer: Option<&str>,
    ) -> Result<Option<Self>, String> {
        let Some(bytes) = vault.read(file)? else { return Ok(None) };
        // A damaged file is none; the next login replaces it.
        let record: Option<Self> = serde_json::from_slice(&bytes).ok();
        let is_meant = |record: &Self| {
            record.server == server && issuer.is_none_or(|issuer| issuer == record.issuer)
        };
        Ok(record.filter(is_meant))
    }

    pub(crate) fn write(&self, vault: &dyn Vault, file: &str) -> Result<(), String> {
        let bytes = serde_json::to_vec(self).map_err(|error| error.to_string())?;
        vault.write(file, &bytes)
    }
}

/// Seconds since 1970.
pub(crate) fn now() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |passed| passed.as_secs())
}
