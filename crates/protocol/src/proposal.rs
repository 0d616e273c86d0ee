//! What a tool would do, as data: the exact thing that policy judges, a person approves and the
//! executor performs.

use std::collections::BTreeMap;
use std::fmt;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::ContentHash;

/// An effect that a tool asks for. Tools never have effects of their own.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Proposal {
    /// Change files.
    Changes(ChangeSet),
    /// Run a program.
    Command(CommandSpec),
    /// Talk to a web server.
    Web(WebRequest),
}

impl Proposal {
    /// The identity of exactly this proposal. An approval is bound to it.
    pub fn hash(&self) -> ContentHash {
        // Plain data without maps that could fail to serialise.
        ContentHash::of(&serde_json::to_vec(self).unwrap_or_default())
    }
}

/// Changes to any number of files, to be applied all or none.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ChangeSet {
    /// The changes, in the order they were asked for.
    pub changes: Vec<Change>,
}

/// One change to one path. Paths are relative to the project root.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "op", rename_all = "snake_case")]
pub enum Change {
    /// Make `path` hold exactly `content`.
    Write {
        /// The file.
        path: String,
        /// What the file is now.
        base: Base,
        /// What it will be.
        content: FileBytes,
        /// Permission bits to set; the base's own, or the default for a new file, if absent.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        mode: Option<u32>,
    },
    /// Remove `path`.
    Delete {
        /// The file.
        path: String,
        /// What the file is now.
        base: Base,
    },
    /// Give the file another name.
    Move {
        /// The present name.
        from: String,
        /// The new name.
        to: String,
        /// What is at `from` now.
        base: Base,
        /// What is at `to` now.
        target: Base,
    },
}

/// The state that a change was made from. If the file is in another state when the change is to be
/// applied, the change is void.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "state", rename_all = "snake_case")]
pub enum Base {
    /// Nothing exists there.
    Absent,
    /// A file with this content.
    File {
        /// The hash of its bytes.
        hash: ContentHash,
        /// Its length.
        size: u64,
        /// Its permission bits.
        mode: u32,
    },
}

/// The bytes of a file: text in JSON where they are text, Base64 where they are not.
#[derive(Clone, PartialEq, Eq)]
pub struct FileBytes(pub Vec<u8>);

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum FileBytesJson {
    Text(String),
    Base64(String),
}

impl Serialize for FileBytes {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let json = match std::str::from_utf8(&self.0) {
            Ok(text) => FileBytesJson::Text(text.to_owned()),
            Err(_) => FileBytesJson::Base64(STANDARD.encode(&self.0)),
        };
        json.serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for FileBytes {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        match FileBytesJson::deserialize(deserializer)? {
            FileBytesJson::Text(text) => Ok(Self(text.into_bytes())),
            FileBytesJson::Base64(text) => {
                STANDARD.decode(text).map(Self).map_err(serde::de::Error::custom)
            }
        }
    }
}

impl fmt::Debug for FileBytes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "FileBytes({} bytes, {})", self.0.len(), ContentHash::of(&self.0))
    }
}

/// A program to run, confined.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct CommandSpec {
    /// Program and arguments; no shell is involved unless it is the program.
    pub argv: Vec<String>,
    /// Where to run, relative to the project root.
    pub working_dir: String,
    /// Variables added to the environment, which is otherwise built from nothing.
    #[serde(default)]
    pub env: BTreeMap<String, String>,
    /// Text for the standard input.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stdin: Option<String>,
    /// Wall-clock limit.
    pub timeout_ms: u64,
    /// Whether the program may reach the network.
    #[serde(default)]
    pub network: bool,
}

/// A request to a web server.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct WebRequest {
    /// The method, in upper case.
    pub method: String,
    /// The whole address.
    pub url: String,
    /// Header fields.
    #[serde(default)]
    pub headers: BTreeMap<String, String>,
    /// The body, if any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub body: Option<String>,
    /// Limit for the whole exchange.
    pub timeout_ms: u64,
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn write(path: &str, content: &[u8]) -> Proposal {
        Proposal::Changes(ChangeSet {
            changes: vec![Change::Write {
                path: path.into(),
                base: Base::Absent,
                content: FileBytes(content.to_vec()),
                mode: None,
            }],
        })
    }

    #[test]
    fn the_hash_changes_with_every_byte_of_the_proposal() {
        let one = write("a", b"x");
        assert_eq!(one.hash(), write("a", b"x").hash());
        assert_ne!(one.hash(), write("a", b"y").hash());
        assert_ne!(one.hash(), write("b", b"x").hash());
    }

    #[test]
    fn text_stays_readable_in_json() {
        let json = serde_json::to_string(&FileBytes(b"fn main() {}\n".to_vec())).unwrap();
        assert_eq!(json, r#"{"text":"fn main() {}\n"}"#);
    }

    proptest! {
        #[test]
        fn any_bytes_survive_json(bytes in prop::collection::vec(any::<u8>(), 0..64)) {
            let proposal = write("a", &bytes);
            let json = serde_json::to_string(&proposal).unwrap();
            prop_assert_eq!(serde_json::from_str::<Proposal>(&json).unwrap(), proposal);
        }
    }
}
