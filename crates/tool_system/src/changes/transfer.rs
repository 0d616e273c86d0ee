//! How the bytes of a file travel through JSON.

use schemars::JsonSchema;
use serde::Deserialize;

// A documentation comment would stand in every schema that has an encoding.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, JsonSchema)]
pub(crate) enum TransferEncoding {
    #[default]
    #[serde(rename = "utf-8")]
    Utf8,
    #[serde(rename = "base64")]
    Base64,
}
