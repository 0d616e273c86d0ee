//! What a file has besides its bytes and its mode, and handing that to the file that replaces it.

use std::os::fd::BorrowedFd;

use rustix::fs::{Stat, fgetxattr, fgetxattr_query, flistxattr, flistxattr_query, fstat};
use rustix::io::{Errno, Result};

use crate::ops::Ops;

/// Owner, extended attributes (access control lists among them) and number of names of a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Metadata {
    pub(crate) uid: u32,
    pub(crate) gid: u32,
    pub(crate) links: u64,
    /// The inode number, which tells a file that was written from one that was replaced.
    pub(crate) inode: u64,
    pub(crate) modified: Modified,
    pub(crate) attributes: Vec<(Vec<u8>, Vec<u8>)>,
}

/// The time of the last modification, which a file that replaces another does not keep.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Modified {
    pub(crate) seconds: i64,
    pub(crate) nanoseconds: u32,
}

/// What could not be handed over.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Losses {
    pub(crate) owner: bool,
    pub(crate) attributes: Vec<String>,
}

impl Metadata {
    #[allow(clippy::unnecessary_cast, reason = "the width differs between architectures")]
    pub(crate) fn of(file: BorrowedFd<'_>, stat: &Stat) -> Result<Metadata> {
        Ok(Metadata {
            uid: stat.st_uid,
            gid: stat.st_gid,
            links: stat.st_nlink as u64,
            inode: stat.st_ino as u64,
            modified: Modified {
                seconds: stat.st_mtime as i64,
                nanoseconds: stat.st_mtime_nsec as u32,
            },
            attributes: attributes(file)?,
        })
    }

    /// Makes `file` look like the one this was read from, with the given mode. What the system
    /// does not permit is left out and reported.
    pub(crate) fn hand_over(&self, ops: &Ops, file: BorrowedFd<'_>, mode: u32) -> Result<Losses> {
        let mut losses = Losses::default();
        let stat = fstat(file)?;
        if (stat.st_uid, stat.st_gid) != (self.uid, self.gid) {
            losses.owner = refused(ops.set_owner(file, self.uid, self.gid))?;
        }
        // A change of owner clears some mode bits, and setting the mode changes the mask of an
        // access control list, so the order is owner, mode, attributes.
        ops.set_mode(file, mode)?;
        let present = attributes(file)?;
        let had = |name: &[u8]| self.attributes.iter().any(|(known, _)| known == name);
        for (name, _) in present.iter().filter(|(name, _)| !had(name)) {
            refused(ops.remove_attribute(file, name))?;
        }
        for (name, value) in self.attributes.iter().filter(|pair| !present.contains(pair)) {
            if refused(ops.set_attribute(file, name, value))? {
                losses.attributes.push(String::from_utf8_lossy(name).into_owned());
            }
        }
        Ok(losses)
    }
}

/// Whether the system refused, as opposed to failed.
fn refused(outcome: Result<()>) -> Result<bool> {
    match outcome {
        Ok(()) => Ok(false),
        Err(Errno::PERM | Errno::ACCESS | Errno::NOTSUP | Errno::NODATA | Errno::INVAL) => Ok(true),
        Err(errno) => Err(errno),
    }
}

fn attributes(file: BorrowedFd<'_>) -> Result<Vec<(Vec<u8>, Vec<u8>)>> {
    let names = match flistxattr_query(file) {
        Ok(0) | Err(Errno::NOTSUP) => return Ok(Vec::new()),
        Ok(size) => size,
        Err(errno) => return Err(errno),
    };
    let mut list = vec![0; names];
    let filled = flistxattr(file, list.as_mut_slice())?;
    let names = list[..filled].split(|&byte| byte == 0).filter(|name| !name.is_empty());
    let value = |name: &[u8]| -> Result<Vec<u8>> {
        let mut value = vec![0; fgetxattr_query(file, name)?];
        let filled = fgetxattr(file, name, value.as_mut_slice())?;
        value.truncate(filled);
        Ok(value)
    };
    names.map(|name| Ok((name.to_vec(), value(name)?))).collect()
}
