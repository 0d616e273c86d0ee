//! What a tool would do, as data: the exact thing that policy judges, the approver sees and the
//! executor performs.

use std::collections::BTreeMap;
use std::fmt;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::{ContentHash, ForeignCall};

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
    /// Call a tool of a foreign server.
    Foreign(ForeignCall),
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
    /// Make `path` a file that holds exactly `content`.
    Write {
        /// The file, which may be new.
        path: String,
        /// What is there now.
        base: Base,
        /// What it will hold.
        content: FileBytes,
        /// Permission bits to set; the base's own, or the default for a new file, if absent.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        mode: Option<u32>,
    },
    /// Remove the file or link at `path`.
    Delete {
        /// The file or link.
        path: String,
        /// What is there now.
        base: Base,
    },
    /// Give a file, link or directory another name.
    Move {
        /// The present name.
        from: String,
        /// The new name.
        to: String,
        /// What is at `from` now.
        base: Base,
        /// What is at `to` now; a file or link there is replaced.
        target: Base,
    },
    /// Make `path` a symbolic link.
    Link {
        /// The link.
        path: String,
        /// What is there now.
        base: Base,
        /// Where it points, as stored.
        target: FileBytes,
    },
    /// Make a directory.
    MakeDir {
        /// The directory, which does not exist yet.
        path: String,
        /// Its permission bits; the default if absent.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        mode: Option<u32>,
    },
    /// Remove a directory that is empty once the changes before this one are made.
    RemoveDir {
        /// The directory.
        path: String,
        /// Its permission bits now.
        mode: u32,
    },
}

impl Change {
    /// Every path that the change touches.
    pub fn paths(&self) -> Vec<&str> {
        match self {
            Change::Write { path, .. }
            | Change::Delete { path, .. }
            | Change::Link { path, .. }
            | Change::MakeDir { path, .. }
            | Change::RemoveDir { path, .. } => vec![path],
            Change::Move { from, to, .. } => vec![from, to],
        }
    }
}

/// The state that a change was made from. If another state is found when the change is to be
/// applied, the change is void.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "state", rename_all = "snake_case")]
pub enum Base {
    /// Nothing exists there.
    Absent,
    /// A regular file.
    File {
        /// The hash of its bytes.
        hash: ContentHash,
        /// Its length in bytes.
        size: u64,
        /// Its permission bits.
        mode: u32,
    },
    /// A symbolic link.
    Link {
        /// Where it points, as stored.
        target: FileBytes,
    },
    Directory {
        /// Its permission bits.
        mode: u32,
    },
}

impl Base {
    /// The permission bits of what is there, if it has any.
    pub fn mode(&self) -> Option<u32> {
        match self {
            Base::File { mode, .. } | Base::Directory { mode } => Some(*mode),
            Base::Absent | Base::Link { .. } => None,
        }
    }
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
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct CommandSpec {
    /// Program and arguments; no shell is involved unless it is the program.
    pub argv: Vec<String>,
    /// Programs with arguments that run before it, one after the other, in the same sandbox. The
    /// first that fails is how the command ends.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub first: Vec<Vec<String>>,
    /// What it does, in words, for a command that Toolkiln wrote itself. The first line is a title.
    /// The approver sees this in place of the programs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub shown: Option<String>,
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
    /// How it meets the files of the project.
    #[serde(default)]
    pub project: ProjectMode,
    /// Whether the call waits for its end.
    #[serde(default)]
    pub run: RunMode,
    /// Paths of the project that an approval of this command covers, such as `.git` for a commit. On the
    /// live project nothing else can be written; on a copy, changes elsewhere are asked about.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub writable: Vec<String>,
    /// Ignored paths whose changes are proposed like those of other files, instead of being kept in the
    /// private layer.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub keep: Vec<String>,
}

/// How a command meets the files of the project.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, strum::IntoStaticStr,
)]
#[serde(rename_all = "snake_case")]
#[strum(serialize_all = "snake_case")]
pub enum ProjectMode {
    /// On a copy, whose changes are approved like any other.
    #[default]
    Copy,
    /// On a copy, whose changes are thrown away.
    Look,
    /// On the project as it is at each moment, which can be read and not written.
    Live,
    /// On the files themselves, where there are no copies.
    Direct,
}

impl ProjectMode {
    /// The spelling in reports.
    pub fn as_str(self) -> &'static str {
        self.into()
    }
}

/// Whether a call waits for the end of its command.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RunMode {
    #[default]
    Wait,
    /// The command goes on as a job, and ends with the session at the latest.
    Job,
    /// The command runs already, as the job of this name; `stdin` is what it is told.
    Tell(String),
    /// The command runs already, as the job of this name, and is ended.
    Stop(String),
}

/// A request to a web server.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct WebRequest {
    /// The method, in upper case.
    pub method: String,
    /// The whole address, with its query.
    pub url: String,
    /// Header fields.
    #[serde(default)]
    pub headers: BTreeMap<String, String>,
    /// The body, if any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub body: Option<String>,
    /// Limit for the whole exchange.
    pub timeout_ms: u64,
    /// The configured search server that it is for, which gets its key with it. The key is not shown.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub search: Option<String>,
    /// Neither the user nor an earlier result has named this address: the model has made it up. It is
    /// said to the approver, and allows or forbids nothing by itself.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub unnamed: bool,
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
