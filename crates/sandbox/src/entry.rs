//! The hidden entry point: what this program does when it is started to confine commands.
//!
//! ```text
//! us ── helper (outside, waits for orders) ── first process (inside, builds the sandbox) ── command
//! ```
//!
//! The helper is started once and has one command after the other confined: starting a program of our
//! size and joining a control group take longer than building the sandbox. It ends with us, the first
//! process with the helper, and everything inside with the first process.

mod error;
mod filter;
mod first;
mod helper;
mod host_trees;
mod identity;
mod layers;
mod listener;
mod loopback;
mod restrictions;
mod root;

use std::ffi::OsStr;
use std::fs::File;
use std::os::fd::AsFd as _;

use rustix::io::Errno;
use rustix::thread::UnshareFlags;

use crate::channel::Channel;
use crate::kernel;
use crate::plan::{Report, SandboxPart};
use error::During as _;

/// By this name, as the zeroth argument, a program is asked to be the helper.
pub(crate) const HELPER: &str = "toolkiln-sandbox";
/// By this one, to hold a user namespace that maps owners.
pub(crate) const HOLDER: &str = "toolkiln-sandbox-holder";

/// Of a helper that cannot do its work; what failed went to the parent over the channel before.
const EXIT_FAILURE: i32 = 1;

/// Becomes a helper if this process was started as one, and does not return then.
///
/// Call it first in `main`, before anything starts a thread or reads arguments. In any other process
/// it returns at once.
pub fn hidden_entry() {
    let name = std::env::args_os().next().unwrap_or_default();
    let is = |role: &str| name == OsStr::new(role);
    if is(HELPER) {
        std::process::exit(take_channel().map_or(EXIT_FAILURE, |channel| helper::serve(&channel)));
    }
    if is(HOLDER) {
        std::process::exit(take_channel().map_or(EXIT_FAILURE, |channel| hold(&channel)));
    }
}

/// The socket came as our standard input, which becomes empty.
fn take_channel() -> Result<Channel, Errno> {
    // Keys pressed at a terminal are meant for our parent.
    let _ = rustix::process::setsid();
    // Whatever else our parent left open is not for us, and not for any command.
    kernel::close_from(3)?;
    let fd = rustix::io::fcntl_dupfd_cloexec(rustix::stdio::stdin(), 3)?;
    let null = File::open("/dev/null").map_err(|_| Errno::NOENT)?;
    rustix::stdio::dup2_stdin(null)?;
    Ok(Channel::from_fd(fd))
}

/// Makes a user namespace, hands it over and waits until the parent has written its maps.
fn hold(channel: &Channel) -> i32 {
    let made = kernel::unshare(UnshareFlags::NEWUSER)
        .during(SandboxPart::IdMapping, "making a user namespace")
        .and_then(|()| {
            let file = File::open("/proc/self/ns/user");
            file.during(SandboxPart::IdMapping, "opening a user namespace")
        });
    let sent = match made {
        Ok(file) => channel.send(&Report::Begun, &[file.as_fd()]),
        Err(error) => channel.send(&error.into_report(), &[]),
    };
    // The answer is the end of the channel.
    let _ = channel.receive::<()>();
    if sent.is_ok() { 0 } else { EXIT_FAILURE }
}
