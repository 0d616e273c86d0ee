//! What is at a path at this moment, in the words of a proposal.

use std::fs::File;
use std::io::Read as _;
use std::os::fd::{AsFd, OwnedFd};

use protocol::{Base, ContentHash, FileBytes};
use rustix::fs::{fstat, readlinkat};
use rustix::io::{Errno, Result};

use crate::metadata::Metadata;
use crate::ops::{Name, Ops};
use crate::{EntryKind, EntryMeta, Error, RelPath, Workspace};

/// What one look at a name found.
pub(crate) enum FoundAt {
    Absent,
    File {
        bytes: Vec<u8>,
        mode: u32,
        metadata: Metadata,
    },
    Link {
        target: Vec<u8>,
    },
    Directory {
        mode: u32,
    },
    /// Something that is never changed, such as a socket.
    Special(EntryKind),
    /// A file of more bytes than were asked for.
    TooLarge,
}

impl FoundAt {
    /// Looks at one name without following a link.
    pub(crate) fn at(ops: &Ops, at: Name<'_>, max_bytes: u64) -> Result<FoundAt> {
        match ops.open_read(at.dir, at.name) {
            Ok(file) => FoundAt::opened(file, max_bytes),
            Err(Errno::NOENT | Errno::NOTDIR) => Ok(FoundAt::Absent),
            Err(Errno::LOOP) => {
                let target = readlinkat(at.dir, at.name, Vec::new())?.into_bytes();
                Ok(FoundAt::Link { target })
            }
            // What an open says of sockets and of devices without a driver.
            Err(Errno::NXIO | Errno::NODEV) => Ok(FoundAt::Special(EntryKind::Socket)),
            Err(errno) => Err(errno),
        }
    }

    fn opened(file: OwnedFd, max_bytes: u64) -> Result<FoundAt> {
        let stat = fstat(&file)?;
        let meta = EntryMeta::from_stat(&stat);
        match meta.kind {
            EntryKind::Directory => return Ok(FoundAt::Directory { mode: meta.mode }),
            EntryKind::File => {}
            kind => return Ok(FoundAt::Special(kind)),
        }
        if meta.size > max_bytes {
            return Ok(FoundAt::TooLarge);
        }
        let metadata = Metadata::of(file.as_fd(), &stat)?;
        // One byte more than expected, so that an unchanged file is read without growing.
        let expected = usize::try_from(meta.size).unwrap_or(0).saturating_add(1);
        let mut bytes = Vec::with_capacity(expected);
        let read = File::from(file).take(max_bytes.saturating_add(1)).read_to_end(&mut bytes);
        read.map_err(|error| Errno::from_io_error(&error).unwrap_or(Errno::IO))?;
        if bytes.len() as u64 > max_bytes {
            return Ok(FoundAt::TooLarge);
        }
        Ok(FoundAt::File { bytes, mode: meta.mode, metadata })
    }

    /// What was found, as a proposal states it; none for what no proposal can be made from.
    pub(crate) fn base(&self) -> Option<Base> {
        match self {
            FoundAt::Absent => Some(Base::Absent),
            FoundAt::File { bytes, mode, .. } => Some(Base::File {
                hash: ContentHash::of(bytes),
                size: bytes.len() as u64,
                mode: *mode,
            }),
            FoundAt::Link { target } => Some(Base::Link { target: FileBytes(target.clone()) }),
            FoundAt::Directory { mode } => Some(Base::Directory { mode: *mode }),
            FoundAt::Special(_) | FoundAt::TooLarge => None,
        }
    }

    /// Whether this is exactly what `base` says. The costly hash comes last.
    pub(crate) fn is(&self, base: &Base) -> bool {
        match (self, base) {
            (FoundAt::Absent, Base::Absent) => true,
            (FoundAt::File { bytes, mode, .. }, Base::File { hash, size, mode: expected }) => {
                bytes.len() as u64 == *size && mode == expected && ContentHash::of(bytes) == *hash
            }
            (FoundAt::Link { target }, Base::Link { target: expected }) => *target == expected.0,
            (FoundAt::Directory { mode }, Base::Directory { mode: expected }) => mode == expected,
            _ => false,
        }
    }
}

/// Why what was found is not what a change was made from, as the rest of a sentence that begins
/// with the path.
pub(crate) fn describe_difference(found: &FoundAt, expected: &Base) -> String {
    let is_now = match found {
        FoundAt::Absent => return "does not exist any more".to_owned(),
        FoundAt::File { bytes, mode, .. } => match expected {
            Base::Absent => return "exists already".to_owned(),
            Base::File { hash, mode: expected, .. } if ContentHash::of(bytes) == *hash => {
                return format!("has the permissions {mode:o} now, not {expected:o}");
            }
            Base::File { .. } => return "was changed in the meantime".to_owned(),
            _ => EntryKind::File,
        },
        FoundAt::Link { .. } if matches!(expected, Base::Link { .. }) => {
            return "points somewhere else now".to_owned();
        }
        FoundAt::Directory { mode } => match expected {
            Base::Directory { mode: expected } => {
                return format!("has the permissions {mode:o} now, not {expected:o}");
            }
            _ => EntryKind::Directory,
        },
        FoundAt::Link { .. } => EntryKind::Symlink,
        FoundAt::Special(kind) => *kind,
        FoundAt::TooLarge => return "is larger than the change was made from".to_owned(),
    };
    format!("is {is_now} now")
}

impl Workspace {
    /// What is at `path` itself, with the bytes if it is a file: a link is described, not
    /// followed. A file of more than `max_bytes` is refused.
    pub fn base_of(
        &self,
        path: &RelPath,
        max_bytes: u64,
    ) -> std::result::Result<(Base, Option<Vec<u8>>), Error> {
        let entry = self.follow_directories(path)?;
        let (Some(dir), Some(name)) = (entry.parent(), entry.file_name()) else {
            let mode = self.metadata(path)?.mode;
            return Ok((Base::Directory { mode }, None));
        };
        let dir = match self.open_real_dir(&dir) {
            Ok(dir) => dir,
            Err(Errno::NOENT | Errno::NOTDIR) => return Ok((Base::Absent, None)),
            Err(errno) => return Err(Error::from_errno(path, errno)),
        };
        let look = FoundAt::at(&Ops::default(), Name { dir: dir.as_fd(), name }, max_bytes)
            .map_err(|errno| Error::from_errno(path, errno))?;
        match (look.base(), look) {
            (Some(base), FoundAt::File { bytes, .. }) => Ok((base, Some(bytes))),
            (Some(base), _) => Ok((base, None)),
            (None, FoundAt::Special(kind)) => Err(Error::NotAFile { path: path.to_text(), kind }),
            (None, _) => Err(Error::TooLarge { path: path.to_text(), limit: max_bytes }),
        }
    }
}
