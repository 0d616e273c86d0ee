//! The helpers of a sandbox, one for each command that runs at the same time, kept for the next:
//! "confined start over fork and exec" of `cargo xtask bench exec` needs that none is started for a command.

use std::fs::File;
use std::io::Write as _;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::process::Child;
use std::sync::Mutex;
use std::thread::JoinHandle;
use std::time::Duration;

use rustix::fs::{MemfdFlags, SeekFrom};
use rustix::process::{Pid, PidfdFlags};

use crate::cgroup::{Group, Groups};
use crate::channel::{Channel, ChannelError, is_ready_within};
use crate::entry::HELPER;
use crate::error::{SandboxError, io, unavailable};
use crate::launcher::Launcher;
use crate::owners::Owners;
use crate::plan::{OrderHead, SandboxPart, Setting, Settle};
use crate::profile::CommandLimits;

/// How long a helper may take to answer or to end. One that was stopped does neither.
pub(crate) const HELPER_TIMEOUT: Duration = Duration::from_secs(2);

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
    pub(crate) limits: CommandLimits,
}

/// A helper, and the control group that it and its commands are in.
#[derive(Debug)]
pub(crate) struct Helper {
    process: Child,
    /// Present until the helper is told to end.
    channel: Option<Channel>,
    group: Option<Group>,
    /// Puts it into its group, which takes some milliseconds in which it can do other things.
    joining: Mutex<Option<JoinHandle<std::io::Result<()>>>>,
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

    /// Sends its settings to a helper that waits for them, so that one is ready.
    pub(crate) fn prepare(&self, helper: Helper) -> Result<(), SandboxError> {
        self.settle(&helper)?;
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
            if helper.joined().is_ok() && helper.send(&head, descriptors).is_ok() {
                return Ok(helper);
            }
        }
        let helper = self.start()?;
        helper.joined()?;
        helper.order(&head, descriptors)?;
        Ok(helper)
    }

    pub(crate) fn give_back(&self, helper: Helper) {
        if let Ok(mut free) = self.free.lock() {
            free.push(helper);
        }
    }

    fn start(&self) -> Result<Helper, SandboxError> {
        let Supply { launcher, groups, limits, .. } = &self.supply;
        let helper = Helper::launch(launcher, groups.as_ref().ok(), limits)?;
        self.settle(&helper)?;
        Ok(helper)
    }

    fn settle(&self, helper: &Helper) -> Result<(), SandboxError> {
        let supply = &self.supply;
        let setting = memory_file("setting", &self.setting).map_err(io("writing the setting"))?;
        let mut descriptors = vec![setting.as_fd(), supply.project.as_fd()];
        descriptors.extend(supply.owners.as_ref().map(AsFd::as_fd));
        let settle = Settle {
            join: helper.group.iter().map(Group::join_file).collect(),
            has_owners: supply.owners.is_some(),
        };
        helper.send(&settle, &descriptors).map_err(|error| failed(&error))
    }
}

fn failed(error: &ChannelError) -> SandboxError {
    unavailable(SandboxPart::Launch, "giving an order to the helper".to_owned(), error.errno())
}

impl Helper {
    /// Starts a helper, which waits for its settings.
    pub(crate) fn launch(
        launcher: &Launcher,
        groups: Option<&Groups>,
        limits: &CommandLimits,
    ) -> Result<Helper, SandboxError> {
        let group = groups.map(|groups| groups.make(limits)).transpose();
        let group = group.map_err(io("making a control group"))?;
        let (process, channel) = launcher.start(HELPER)?;
        let joining = group.as_ref().map(|group| {
            let (file, id) = (group.join_file(), process.id().to_string());
            std::thread::spawn(move || std::fs::write(file, id))
        });
        Ok(Helper { process, channel: Some(channel), group, joining: Mutex::new(joining) })
    }

    /// Waits until it is in its group. What it starts from then on is in it as well.
    fn joined(&self) -> Result<(), SandboxError> {
        let joining = self.joining.lock().ok().and_then(|mut joining| joining.take());
        let joined = joining.map_or(Ok(Ok(())), JoinHandle::join);
        let joined = joined.unwrap_or_else(|_| Err(std::io::ErrorKind::Other.into()));
        joined.map_err(|error| {
            let doing = "joining a control group".to_owned();
            unavailable(SandboxPart::ControlGroup, doing, error.raw_os_error())
        })
    }

    /// Gives it one more order.
    pub(crate) fn order(
        &self,
        head: &OrderHead,
        descriptors: &[BorrowedFd<'_>],
    ) -> Result<(), SandboxError> {
        self.send(head, descriptors).map_err(|error| failed(&error))
    }

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

    /// How many of its processes were killed because memory ran out, ever; unknown without a group.
    pub(crate) fn memory_kills(&self) -> Option<u64> {
        self.group.as_ref().map(Group::memory_kills)
    }
}

impl Drop for Helper {
    fn drop(&mut self) {
        // It ends what it started, and itself, when it sees the channel closed. After that its group
        // is empty and goes as well.
        self.channel = None;
        let _ = self.joined();
        let pidfd =
            rustix::process::pidfd_open(Pid::from_child(&self.process), PidfdFlags::empty());
        if pidfd.is_ok_and(|pidfd| !is_ready_within(&pidfd, HELPER_TIMEOUT)) {
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
