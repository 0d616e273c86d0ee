//! Paths relative to the project root.

use std::cmp::Ordering;
use std::ffi::OsStr;
use std::fmt;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::path_text::{bytes_to_text, decode};

/// The longest accepted path, the kernel's own limit.
pub const MAX_PATH_BYTES: usize = 4096;

/// Every byte may be spelled as `\xHH`, which takes four.
const MAX_TEXT_BYTES: usize = MAX_PATH_BYTES * 4;

/// Why a text is not a path inside the project.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum PathError {
    /// The text is empty.
    #[error("the path is empty")]
    Empty,
    /// The path contains a NUL byte, which no file name can.
    #[error("the path contains a NUL byte")]
    Nul,
    /// The path, or one name in it, is longer than the system allows.
    #[error("the path, or a name in it, is too long")]
    TooLong,
    /// A single name contains `/`, for instance spelled `\x2F`, or is `.` or `..`.
    #[error("a file name cannot contain '/' and cannot be '.' or '..'")]
    NotAName,
    /// The path starts with `/`.
    #[error("the path is absolute")]
    Absolute,
    /// The path climbs above the root with `..`.
    #[error("the path climbs above the project root")]
    LeavesRoot,
}

/// An owned path relative to the project root, valid by construction: no empty, `.` or `..`
/// components, no NUL, not absolute. Holding one says nothing about what exists on disk.
///
/// The order is by component, so that a directory's contents directly follow it.
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct RelPath {
    /// Components joined by `/`; empty for the root.
    bytes: Box<[u8]>,
}

impl RelPath {
    /// The root itself, shown as `.`.
    pub fn root() -> RelPath {
        RelPath { bytes: Box::default() }
    }

    /// Reads a path as [`RelPath::to_text`] writes it, and normalises `./`, `//`, a trailing `/`
    /// and inner `..` by their text alone.
    pub fn parse(text: &str) -> Result<RelPath, PathError> {
        if text.is_empty() {
            return Err(PathError::Empty);
        }
        if text.len() > MAX_TEXT_BYTES {
            return Err(PathError::TooLong);
        }
        if text.starts_with('/') {
            return Err(PathError::Absolute);
        }
        let mut bytes = Vec::with_capacity(text.len());
        for decoded in decode(text) {
            match decoded.byte {
                0 => return Err(PathError::Nul),
                b'/' if decoded.escaped => return Err(PathError::NotAName),
                byte => bytes.push(byte),
            }
        }
        if bytes.len() > MAX_PATH_BYTES {
            return Err(PathError::TooLong);
        }
        normalise(&bytes)
    }

    /// A path from bytes as [`RelPath::as_bytes`] gives them.
    pub fn from_bytes(bytes: &[u8]) -> Result<RelPath, PathError> {
        if bytes.len() > MAX_PATH_BYTES {
            return Err(PathError::TooLong);
        }
        if !bytes.is_empty() {
            bytes.split(|&b| b == b'/').try_for_each(check_name)?;
        }
        Ok(RelPath { bytes: bytes.into() })
    }

    /// The path as text: see [`bytes_to_text`]. The root is `.`.
    pub fn to_text(&self) -> String {
        self.to_string()
    }

    /// The path as bytes, components joined by `/`. Empty for the root.
    pub fn as_bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// The path for system calls and for matching. The root is `.`.
    pub fn as_path(&self) -> &Path {
        let bytes = if self.is_root() { b"." } else { &*self.bytes };
        Path::new(OsStr::from_bytes(bytes))
    }

    pub fn is_root(&self) -> bool {
        self.bytes.is_empty()
    }

    /// This path with one more component.
    pub fn join(&self, name: &[u8]) -> Result<RelPath, PathError> {
        check_name(name)?;
        Ok(self.join_entry(name))
    }

    /// [`RelPath::join`] for a name that came from a directory listing, and so is a name.
    pub(crate) fn join_entry(&self, name: &[u8]) -> RelPath {
        if self.is_root() {
            return RelPath { bytes: name.into() };
        }
        RelPath { bytes: [&self.bytes, b"/".as_slice(), name].concat().into() }
    }

    /// The directory this path is in; none for the root.
    pub fn parent(&self) -> Option<RelPath> {
        if self.is_root() {
            return None;
        }
        let end = memchr::memrchr(b'/', &self.bytes).unwrap_or(0);
        Some(RelPath { bytes: self.bytes[..end].into() })
    }

    /// The last component; none for the root.
    pub fn file_name(&self) -> Option<&[u8]> {
        self.bytes.rsplit(|&b| b == b'/').next().filter(|name| !name.is_empty())
    }

    /// What follows the last dot of the file name; none for names like `.bashrc`.
    pub fn extension(&self) -> Option<&[u8]> {
        Path::new(OsStr::from_bytes(&self.bytes)).extension().map(OsStr::as_bytes)
    }

    /// The components, outermost first; none for the root.
    pub fn components(&self) -> impl DoubleEndedIterator<Item = &[u8]> {
        self.bytes.split(|&b| b == b'/').filter(|name| !name.is_empty())
    }

    /// The number of components: 0 for the root.
    pub fn depth(&self) -> usize {
        self.components().count()
    }

    /// Whether this path is `prefix` or lies beneath it, by whole components.
    pub fn starts_with(&self, prefix: &RelPath) -> bool {
        match self.bytes.strip_prefix(&*prefix.bytes) {
            Some(rest) => prefix.is_root() || rest.is_empty() || rest[0] == b'/',
            None => false,
        }
    }
}

fn normalise(bytes: &[u8]) -> Result<RelPath, PathError> {
    let mut kept: Vec<&[u8]> = Vec::new();
    for component in bytes.split(|&b| b == b'/') {
        match component {
            b"" | b"." => {}
            b".." => {
                kept.pop().ok_or(PathError::LeavesRoot)?;
            }
            name => kept.push(name),
        }
    }
    Ok(RelPath { bytes: kept.join(&b'/').into() })
}

/// Whether these bytes are one component of a path.
fn check_name(name: &[u8]) -> Result<(), PathError> {
    match name {
        b"" => Err(PathError::Empty),
        b"." | b".." => Err(PathError::NotAName),
        _ if name.contains(&0) => Err(PathError::Nul),
        _ if name.contains(&b'/') => Err(PathError::NotAName),
        _ => Ok(()),
    }
}

impl Ord for RelPath {
    fn cmp(&self, other: &RelPath) -> Ordering {
        // NUL never occurs, so `/` can take its place as the smallest byte.
        let rank = |&b: &u8| if b == b'/' { 0 } else { b };
        self.bytes.iter().map(rank).cmp(other.bytes.iter().map(rank))
    }
}

impl PartialOrd for RelPath {
    fn partial_cmp(&self, other: &RelPath) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl fmt::Display for RelPath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let bytes = if self.is_root() { b"." } else { &*self.bytes };
        f.write_str(&bytes_to_text(bytes))
    }
}

impl fmt::Debug for RelPath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "RelPath({self})")
    }
}

impl Serialize for RelPath {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for RelPath {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<RelPath, D::Error> {
        let text = String::deserialize(deserializer)?;
        RelPath::parse(&text).map_err(serde::de::Error::custom)
    }
}

#[cfg(test)]
mod tests;
