//! The name of a provider.

use std::fmt;

use providers::catalogue::{ENDPOINTS, OFFLINE};
use serde::{Deserialize, Serialize};

/// The name of a provider that exists.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(into = "String", try_from = "String")]
pub(crate) struct ProviderName(String);

/// The names that can be configured.
fn names() -> impl Iterator<Item = &'static str> {
    ENDPOINTS.iter().map(|endpoint| endpoint.name).chain([OFFLINE])
}

/// The names as error messages list them.
pub(super) fn listed() -> String {
    names().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ")
}

impl AsRef<str> for ProviderName {
    fn as_ref(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for ProviderName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl TryFrom<String> for ProviderName {
    type Error = String;

    fn try_from(name: String) -> Result<Self, Self::Error> {
        if names().any(|known| known == name) {
            return Ok(Self(name));
        }
        Err(format!("unknown provider `{name}`, expected one of {}", listed()))
    }
}

impl From<ProviderName> for String {
    fn from(name: ProviderName) -> String {
        name.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_guide_is_the_provider_that_needs_no_model() {
        assert_eq!(guide::NAME, OFFLINE);
    }

    #[test]
    fn every_provider_is_documented() {
        let document = include_str!("../../../../docs/configuration.md");
        let listed = names().collect::<Vec<_>>().join(", ");
        assert!(document.contains(&listed), "list in docs/configuration.md: {listed}");
    }
}
