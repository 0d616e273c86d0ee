//! The user that we are outside and inside of the sandbox.
//!
//! An ordinary user makes a user namespace first, which allows the rest. Root needs none for the
//! mounts; it becomes an unprivileged user at the end, and makes one then, so that limits on processes
//! count those of this command only and no right over the outer namespaces is left.

use std::fs::File;
use std::io::Write as _;
use std::os::fd::OwnedFd;

use rustix::fs::{Mode, OFlags};
use rustix::process::DumpableBehavior;
use rustix::thread::{CapabilitySet, CapabilitySets, Gid, Uid, UnshareFlags};

use super::error::{During as _, EntryError};
use super::helper::die_with_the_helper;
use crate::kernel;
use crate::plan::{Identity, SandboxPart};

/// Maps the ids of an ordinary user in the new namespace. `process` is our own directory in `/proc`.
pub(super) fn settle(identity: Identity, process: &OwnedFd) -> Result<(), EntryError> {
    if identity.switch { Ok(()) } else { write_maps(process, identity) }
}

/// Becomes the unprivileged user, if we are root.
pub(super) fn assume(
    identity: Identity,
    process: &OwnedFd,
    life: &OwnedFd,
) -> Result<(), EntryError> {
    if !identity.switch {
        return Ok(());
    }
    let part = SandboxPart::Privileges;
    let (uid, gid) = (Uid::from_raw(identity.uid), Gid::from_raw(identity.gid));
    rustix::thread::set_thread_groups(&[]).during(part, "leaving all groups")?;
    rustix::thread::set_thread_res_gid(gid, gid, gid).during(part, "changing the group")?;
    rustix::thread::set_thread_res_uid(uid, uid, uid).during(part, "changing the user")?;
    // Both were taken away by the change of user: the tie to the helper, and the right to our own
    // files in /proc.
    die_with_the_helper(life)?;
    rustix::process::set_dumpable_behavior(DumpableBehavior::Dumpable)
        .during(part, "opening our own /proc files")?;
    kernel::unshare(UnshareFlags::NEWUSER)
        .during(SandboxPart::UserNamespace, "making a user namespace")?;
    write_maps(process, identity)
}

fn write_maps(process: &OwnedFd, identity: Identity) -> Result<(), EntryError> {
    let Identity { uid, gid, .. } = identity;
    // Groups must be given up before an unprivileged process may map its own.
    write(process, "setgroups", "deny")?;
    write(process, "uid_map", &format!("{uid} {uid} 1"))?;
    write(process, "gid_map", &format!("{gid} {gid} 1"))
}

fn write(process: &OwnedFd, name: &str, text: &str) -> Result<(), EntryError> {
    let flags = OFlags::WRONLY | OFlags::CLOEXEC;
    let file = rustix::fs::openat(process, name, flags, Mode::empty())
        .during(SandboxPart::UserNamespace, format!("opening {name}"))?;
    File::from(file)
        .write_all(text.as_bytes())
        .during(SandboxPart::UserNamespace, format!("writing {name}"))
}

/// Gives up every capability, irrevocably.
pub(super) fn drop_capabilities() -> Result<(), EntryError> {
    let part = SandboxPart::Privileges;
    for capability in CapabilitySet::all().iter() {
        match rustix::thread::remove_capability_from_bounding_set(capability) {
            // The kernel is older than this capability.
            Ok(()) | Err(rustix::io::Errno::INVAL) => {}
            Err(errno) => return Err(errno).during(part, "limiting capabilities"),
        }
    }
    rustix::thread::clear_ambient_capability_set().during(part, "clearing ambient capabilities")?;
    rustix::thread::set_no_new_privs(true).during(part, "refusing new privileges")?;
    let none = CapabilitySet::empty();
    let sets = CapabilitySets { effective: none, permitted: none, inheritable: none };
    rustix::thread::set_capabilities(None, sets).during(part, "dropping capabilities")?;
    // What this process knows is not for the command to read.
    rustix::process::set_dumpable_behavior(DumpableBehavior::NotDumpable)
        .during(part, "closing our own /proc files")
}
