//! A user namespace that is only a table: it says under whose name files of root are shown to a
//! command that is not root.

use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use crate::channel::Channel;
use crate::entry::HOLDER;
use crate::error::{SandboxError, unavailable};
use crate::launcher::Launcher;
use crate::plan::{Identity, Report, SandboxPart};

/// The table, for mounts.
#[derive(Debug)]
pub(crate) struct Owners(OwnedFd);

impl Owners {
    /// Maps root to the user of `identity`. Needs root.
    pub(crate) fn make(launcher: &Launcher, identity: Identity) -> Result<Owners, SandboxError> {
        let (mut holder, ours) = launcher.start(HOLDER)?;
        let made = receive(&ours).and_then(|namespace| {
            let maps = [("uid_map", identity.uid), ("gid_map", identity.gid)];
            for (name, id) in maps {
                let file = format!("/proc/{}/{name}", holder.id());
                std::fs::write(file, format!("0 {id} 1")).map_err(|error| {
                    let doing = format!("writing {name}");
                    unavailable(SandboxPart::IdMapping, doing, error.raw_os_error())
                })?;
            }
            Ok(Owners(namespace))
        });
        drop(ours);
        // It ends when it sees the channel closed.
        let _ = holder.wait();
        made
    }
}

fn receive(channel: &Channel) -> Result<OwnedFd, SandboxError> {
    match channel.receive::<Report>() {
        Ok((Report::Begun, mut descriptors)) if !descriptors.is_empty() => {
            Ok(descriptors.remove(0))
        }
        Ok((Report::Failed { part, doing, errno }, _)) => Err(unavailable(part, doing, errno)),
        Ok(_) => {
            Err(unavailable(SandboxPart::IdMapping, "making a user namespace".to_owned(), None))
        }
        Err(error) => Err(unavailable(
            SandboxPart::IdMapping,
            "making a user namespace".to_owned(),
            error.errno(),
        )),
    }
}

impl AsFd for Owners {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}
