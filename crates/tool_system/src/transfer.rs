//! How the bytes of a file travel through JSON.

use schemars::JsonSchema;
use serde::Deserialize;

/// Text as it is, or any bytes as Base64.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, JsonSchema)]
pub(crate) enum Encoding {
    #[default]
    #[serde(rename = "utf-8")]
    Utf8,
    #[serde(rename = "base64")]
    Base64,
}
