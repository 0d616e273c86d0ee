//! What models have used.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Tokens that were used.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Usage {
    /// Read by the model and not taken from the cache.
    pub input: u64,
    /// Written by the model, its thoughts included.
    pub output: u64,
    /// Taken from the cache.
    pub cache_read: u64,
    /// Put into the cache.
    pub cache_write: u64,
}

impl Usage {
    /// What two reports on one answer amount to, `later` being the newer: it may tell read tokens
    /// apart better, but what was told once is not taken back.
    pub fn and_later(self, later: &Self) -> Self {
        let read = if later.seen() >= self.seen() { *later } else { self };
        Self { output: self.output.max(later.output), ..read }
    }

    /// Whether nothing was used.
    pub fn is_zero(&self) -> bool {
        *self == Self::default()
    }

    /// All tokens that the model has seen.
    pub fn seen(&self) -> u64 {
        self.input.saturating_add(self.cache_read).saturating_add(self.cache_write)
    }

    /// All tokens, seen and written.
    pub fn total(&self) -> u64 {
        self.seen().saturating_add(self.output)
    }
}

impl std::ops::AddAssign for Usage {
    fn add_assign(&mut self, other: Self) {
        // A damaged log may hold any number, and is read all the same.
        self.input = self.input.saturating_add(other.input);
        self.output = self.output.saturating_add(other.output);
        self.cache_read = self.cache_read.saturating_add(other.cache_read);
        self.cache_write = self.cache_write.saturating_add(other.cache_write);
    }
}
