//! The helpers of a sandbox, one for each command that runs at the same time, kept for the next.

use std::fs::File;
use std::io::Write as _;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::process::Child;
use std::sync::Mutex;
use std::time::Duration;

use rustix::fs::{MemfdFlags, SeekFrom};
use rustix::process::{Pid, PidfdFlags};

use crate::cgroup::{Group, Groups};
use crate::channel::{Channel, ChannelError, is_ready_within};
use crate::entry::HELPER;
use crate::error::{SandboxError, io, unavailable};
use crate::launcher::Launcher;
use crate::owners::Owners;
use crate::plan::{OrderHead, Part, Setting, Settle};
use crate::profile::Limits;

/// So long a helper is waited for that ought to answer or to end. One that was stopped does neither.
pub(crate) const PATIENCE: Duration = Duration::from_secs(2);

/// Helpers that wait for orders, and what more are made of.
#[derive(Debug)]
pub(crate) struct Helpers {
    supply: Supply,
    /// The setting, written down.
    setting: Vec<u8>,
    free: Mutex<Vec<Helper>>,
}

/// What a helper needs.
#[derive(Debug)]
pub(crate) struct Supply {
    pub(crate) launcher: Launcher,
    /// Where control groups can be made, or why not.
    pub(crate) groups: Result<Groups, String>,
    pub(crate) owners: Option<Owners>,
    pub(crate) project: OwnedFd,
    pub(crate) limits: Limits,
}

/// A helper, and the control group that it and its commands are in.
#[derive(Debug)]
pub(crate) struct Helper {
    process: Child,
    /// Present until the helper is told to end.
    channel: Option<Channel>,
    group: Option<Group>,
}

impl Helpers {
    pub(crate) fn new(supply: Supply, setting: &Setting) -> Result<Helpers, SandboxError> {
        let setting = serde_json::to_vec(setting);
        let setting = setting.map_err(|error| io("writing the setting")(error.into()))?;
        Ok(Helpers { supply, setting, free: Mutex::new(Vec::new()) })
    }

    /// Why there are no control groups, if there are none.
    pub(crate) fn no_groups(&self) -> Option<&str> {
        self.supply.groups.as_ref().err().map(String::as_str)
    }

    /// Starts a helper to have one.
    pub(crate) fn prepare(&self) -> Result<(), SandboxError> {
        let helper = self.start()?;
        self.give_back(helper);
        Ok(())
    }

    /// A helper that has taken this order.
    pub(crate) fn order(
        &self,
        head: OrderHead,
        descriptors: &[BorrowedFd<'_>],
    ) -> Result<Helper, SandboxError> {
        // One that was killed while it waited is replaced; a new one that fails is an error.
        while let Some(helper) = self.free.lock().ok().and_then(|mut free| free.pop()) {
            if helper.send(&head, descriptors).is_ok() {
                return Ok(helper);
            }
        }
        let helper = self.start()?;
        helper.send(&head, descriptors).map_err(|error| failed(&error))?;
        Ok(helper)
    }

    pub(crate) fn give_back(&self, helper: Helper) {
        if let Ok(mut free) = self.free.lock() {
            free.push(helper);
        }
    }

    fn start(&self) -> Result<Helper, SandboxError> {
        let supply = &self.supply;
        let group = match &supply.groups {
            Ok(groups) => Some(groups.make(&supply.limits).map_err(io("making a control group"))?),
            Err(_) => None,
        };
        let (process, channel) = supply.launcher.start(HELPER)?;
        let helper = Helper { process, channel: Some(channel), group };
        let setting = memory_file("setting", &self.setting).map_err(io("writing the setting"))?;
        let mut descriptors = vec![setting.as_fd(), supply.project.as_fd()];
        descriptors.extend(supply.owners.as_ref().map(AsFd::as_fd));
        let settle = Settle {
            join: helper.group.iter().map(Group::join_file).collect(),
            has_owners: supply.owners.is_some(),
        };
        helper.send(&settle, &descriptors).map_err(|error| failed(&error))?;
        Ok(helper)
    }
}

fn failed(error: &ChannelError) -> SandboxError {
    unavailable(Part::Launch, "giving an order to the helper".to_owned(), error.errno())
}

impl Helper {
    fn send(
        &self,
        message: &impl serde::Serialize,
        descriptors: &[BorrowedFd<'_>],
    ) -> Result<(), ChannelError> {
        let channel = self.channel.as_ref().ok_or(ChannelError::Closed)?;
        channel.send(message, descriptors)
    }

    /// Ends it at once, and with it what it started. It takes no more orders.
    pub(crate) fn kill(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }

    /// How many of its processes were killed for want of memory, ever; unknown without a group.
    pub(crate) fn memory_kills(&self) -> Option<u64> {
        self.group.as_ref().map(Group::memory_kills)
    }
}

impl Drop for Helper {
    fn drop(&mut self) {
        // It ends what it started, and itself, when it sees the channel closed. After that its group
        // is empty and goes as well.
        self.channel = None;
        let pidfd =
            rustix::process::pidfd_open(Pid::from_child(&self.process), PidfdFlags::empty());
        if pidfd.is_ok_and(|pidfd| !is_ready_within(&pidfd, PATIENCE)) {
            self.kill();
        }
        let _ = self.process.wait();
    }
}

/// A file in memory with these bytes, to be read from the beginning.
pub(crate) fn memory_file(name: &str, bytes: &[u8]) -> std::io::Result<OwnedFd> {
    let mut file = File::from(rustix::fs::memfd_create(name, MemfdFlags::CLOEXEC)?);
    file.write_all(bytes)?;
    rustix::fs::seek(&file, SeekFrom::Start(0))?;
    Ok(file.into())
}
