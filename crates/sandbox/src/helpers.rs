//! The helpers of a sandbox, one for each command that runs at the same time, kept for the next.

use std::os::fd::BorrowedFd;
use std::process::Child;
use std::sync::Mutex;

use crate::cgroup::{Group, Groups};
use crate::channel::{Channel, ChannelError};
use crate::entry::HELPER;
use crate::error::{SandboxError, io, unavailable};
use crate::launcher::Launcher;
use crate::plan::{OrderHead, Part, Settle};
use crate::profile::Limits;

/// Helpers that wait for orders, and how to get more.
#[derive(Debug)]
pub(crate) struct Helpers {
    launcher: Launcher,
    groups: Result<Groups, String>,
    free: Mutex<Vec<Helper>>,
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
    pub(crate) fn new(launcher: Launcher, groups: Result<Groups, String>) -> Helpers {
        Helpers { launcher, groups, free: Mutex::new(Vec::new()) }
    }

    /// Why there are no control groups, if there are none.
    pub(crate) fn groups(&self) -> Result<(), &str> {
        self.groups.as_ref().map(drop).map_err(String::as_str)
    }

    /// Starts a helper to have one.
    pub(crate) fn prepare(&self, limits: &Limits) -> Result<(), SandboxError> {
        let helper = self.start(limits)?;
        self.give_back(helper);
        Ok(())
    }

    /// A helper that has taken this order.
    pub(crate) fn order(
        &self,
        limits: &Limits,
        head: &OrderHead,
        descriptors: &[BorrowedFd<'_>],
    ) -> Result<Helper, SandboxError> {
        // One that was killed while it waited is replaced; a new one that fails is an error.
        while let Some(helper) = self.free.lock().ok().and_then(|mut free| free.pop()) {
            if helper.send(head, descriptors).is_ok() {
                return Ok(helper);
            }
        }
        let helper = self.start(limits)?;
        helper.send(head, descriptors).map_err(|error| failed(&error))?;
        Ok(helper)
    }

    pub(crate) fn give_back(&self, helper: Helper) {
        if let Ok(mut free) = self.free.lock() {
            free.push(helper);
        }
    }

    fn start(&self, limits: &Limits) -> Result<Helper, SandboxError> {
        let group = match &self.groups {
            Ok(groups) => Some(groups.make(limits).map_err(io("making a control group"))?),
            Err(_) => None,
        };
        let (process, channel) = self.launcher.start(HELPER)?;
        let helper = Helper { process, channel: Some(channel), group };
        let join = helper.group.iter().map(Group::join_file).collect();
        helper.send(&Settle { join }, &[]).map_err(|error| failed(&error))?;
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
        let _ = self.process.wait();
    }
}
