//! The helper: takes orders and has a first process carry out each.
//!
//! It keeps one first process ready, in its namespaces and with all of its root but the project, so
//! that the next command finds most of the work done. That one is made while the command before it
//! runs: of commands that follow each other at once, none waits for it.

use std::fs::File;
use std::io::Read as _;
use std::os::fd::{AsFd as _, OwnedFd};
use std::path::PathBuf;
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec};
use rustix::io::Errno;
use rustix::process::{Pid, PidfdFlags, Signal, WaitOptions};
use rustix::thread::UnshareFlags;
use serde::de::DeserializeOwned;

use super::error::{During as _, EntryError};
use super::{EXIT_FAILURE, first};
use crate::channel::Channel;
use crate::kernel::{self, Cloned};
use crate::plan::{OrderHead, Report, SandboxPart, Setting, Settle};

/// A process that was made ready longer ago is not used: single files that it shows may have been
/// replaced on the host since.
const READY_FOR: Duration = Duration::from_secs(60);
/// With more commands under way than this, none is made ready: they need the processors themselves.
const MAX_RUNNING: usize = 1;

/// What all first processes are given.
pub(super) struct Site {
    pub(super) setting: Setting,
    pub(super) project: OwnedFd,
    pub(super) owners: Option<OwnedFd>,
    /// A pipe whose writing end only the helper has: who finds it closed knows that it is gone.
    pub(super) life: (OwnedFd, OwnedFd),
}

/// A first process.
struct First {
    pid: Pid,
    fd: OwnedFd,
}

/// One that has no order yet.
struct Spare {
    first: First,
    orders: Channel,
    made: Instant,
}

/// Takes orders until the other side is gone.
pub(super) fn serve(channel: &Channel) -> i32 {
    let mut firsts: Vec<First> = Vec::new();
    let mut spare: Option<Spare> = None;
    let site = settle(channel).and_then(|(site, join)| {
        // It prepares itself while it is put into the control group. Those after it are born there,
        // because the helper is in the group before its first order comes.
        spare = start(&site, channel).ok();
        spare.iter().try_for_each(|spare| spare.first.join(&join))?;
        Ok(site)
    });
    loop {
        if let (Ok(site), true, None) = (&site, firsts.len() <= MAX_RUNNING, &spare) {
            // If it fails now, the next order reports why.
            spare = start(site, channel).ok();
        }
        if !wait(channel, &mut firsts) {
            continue;
        }
        let Ok((head, mut descriptors)) = channel.receive::<OrderHead>() else { break };
        if descriptors.is_empty() {
            continue;
        }
        let answers = Channel::from_fd(descriptors.remove(0));
        let ready = spare.take().and_then(|spare| usable(spare, &mut firsts));
        let mut give = |spare: Spare| {
            let given = hand_over(&spare, &head, &answers, &descriptors);
            firsts.push(spare.first);
            given
        };
        // A process that was killed while it waited takes no order; the next one does.
        let given = match (&site, ready.map(&mut give)) {
            (Err(error), _) => Err(error.clone()),
            (Ok(_), Some(Ok(()))) => Ok(()),
            (Ok(site), _) => start(site, channel).and_then(give),
        };
        if let Err(error) = given {
            drop(answers.send(&error.into_report(), &[]));
        }
    }
    firsts.extend(spare.map(|spare| spare.first));
    for first in &firsts {
        let _ = rustix::process::pidfd_send_signal(&first.fd, Signal::KILL);
        let _ = rustix::process::waitpid(Some(first.pid), WaitOptions::empty());
    }
    0
}

impl First {
    fn join(&self, groups: &[PathBuf]) -> Result<(), EntryError> {
        let id = self.pid.as_raw_nonzero().to_string();
        groups.iter().try_for_each(|file| {
            std::fs::write(file, &id).during(SandboxPart::ControlGroup, "joining a control group")
        })
    }

    /// The descriptor of a process can be read when it has ended.
    fn has_ended(&self) -> bool {
        is_readable(&self.fd)
    }
}

fn is_readable(fd: &OwnedFd) -> bool {
    let mut fds = [PollFd::new(fd, PollFlags::IN)];
    let now = Timespec { tv_sec: 0, tv_nsec: 0 };
    rustix::event::poll(&mut fds, Some(&now)).unwrap_or(1) != 0
}

/// What is the same for all commands, and the files of control groups to join.
fn settle(channel: &Channel) -> Result<(Site, Vec<PathBuf>), EntryError> {
    let (settle, descriptors) = channel.receive::<Settle>().map_err(|error| {
        EntryError::new(SandboxPart::Launch, "setting up the helper", error.errno())
    })?;
    let mut descriptors = descriptors.into_iter();
    let mut next = || descriptors.next().ok_or_else(missing);
    let setting = read_file(next()?)?;
    let project = next()?;
    let owners = if settle.has_owners { Some(next()?) } else { None };
    let life = rustix::pipe::pipe_with(rustix::pipe::PipeFlags::CLOEXEC)
        .during(SandboxPart::Launch, "making a pipe")?;
    Ok((Site { setting, project, owners, life }, settle.join))
}

fn missing() -> EntryError {
    EntryError::new(SandboxPart::Launch, "receiving descriptors", None)
}

/// Reads what was sent in a file.
pub(super) fn read_file<T: DeserializeOwned>(file: OwnedFd) -> Result<T, EntryError> {
    let mut bytes = Vec::new();
    let read = File::from(file).read_to_end(&mut bytes);
    read.during(SandboxPart::Launch, "reading an order")?;
    serde_json::from_slice(&bytes)
        .map_err(|_| EntryError::new(SandboxPart::Launch, "understanding an order", None))
}

/// Waits for an order, or for the end of a first process, which it collects. Returns whether there is
/// an order.
fn wait(channel: &Channel, firsts: &mut Vec<First>) -> bool {
    let mut fds = vec![PollFd::new(channel, PollFlags::IN)];
    fds.extend(firsts.iter().map(|first| PollFd::new(&first.fd, PollFlags::IN)));
    match rustix::event::poll(&mut fds, None) {
        Ok(_) => {}
        Err(Errno::INTR) => return false,
        // The channel will say the same.
        Err(_) => return true,
    }
    let has_order = !fds[0].revents().is_empty();
    let ended: Vec<bool> = fds[1..].iter().map(|fd| !fd.revents().is_empty()).collect();
    let mut ended = ended.into_iter();
    firsts.retain(|first| {
        let has_ended = ended.next().unwrap_or(false);
        if has_ended {
            let _ = rustix::process::waitpid(Some(first.pid), WaitOptions::empty());
        }
        !has_ended
    });
    has_order
}

/// Starts the first process of a sandbox, in all its namespaces at once.
fn start(site: &Site, channel: &Channel) -> Result<Spare, EntryError> {
    let is_root = site.setting.identity.switch;
    let mut flags = UnshareFlags::NEWNS
        | UnshareFlags::NEWPID
        | UnshareFlags::NEWIPC
        | UnshareFlags::NEWUTS
        | UnshareFlags::NEWNET
        | UnshareFlags::NEWCGROUP;
    // Who is not root needs one for all the others.
    flags.set(UnshareFlags::NEWUSER, !is_root);
    let (orders, theirs) = Channel::pair().during(SandboxPart::Launch, "making a socket")?;
    let part = if is_root { SandboxPart::Namespaces } else { SandboxPart::UserNamespace };
    match kernel::clone_process(flags).during(part, "making new namespaces")? {
        Cloned::Child => {
            let ours = [channel.as_fd(), orders.as_fd(), site.life.1.as_fd()];
            ours.into_iter().for_each(kernel::close_inherited);
            if die_with_the_helper(&site.life.0).is_ok() {
                first::run(site, &theirs);
            }
            std::process::exit(EXIT_FAILURE)
        }
        Cloned::Parent(pid) => {
            let opened = rustix::process::pidfd_open(pid, PidfdFlags::empty());
            let fd = opened.during(SandboxPart::Launch, "opening the first process")?;
            Ok(Spare { first: First { pid, fd }, orders, made: Instant::now() })
        }
    }
}

/// The ready process if it can take an order. Otherwise it ends, having lost its channel, or has
/// ended already: a command before it may have used up the memory of all.
fn usable(spare: Spare, firsts: &mut Vec<First>) -> Option<Spare> {
    if spare.made.elapsed() < READY_FOR && !spare.first.has_ended() {
        return Some(spare);
    }
    firsts.push(spare.first);
    None
}

/// Gives the order to a first process, and that to who gave the order.
fn hand_over(
    spare: &Spare,
    head: &OrderHead,
    answers: &Channel,
    descriptors: &[OwnedFd],
) -> Result<(), EntryError> {
    let report = |error: crate::channel::ChannelError| {
        EntryError::new(SandboxPart::Launch, "giving an order to the first process", error.errno())
    };
    answers.send(&Report::Begun, &[spare.first.fd.as_fd()]).map_err(report)?;
    let mut all = vec![answers.as_fd()];
    all.extend(descriptors.iter().map(|fd| fd.as_fd()));
    spare.orders.send(head, &all).map_err(report)
}

/// A process closes its descriptors before its children get the signal of its death: either the
/// signal comes or the pipe is seen closed.
pub(super) fn die_with_the_helper(life: &OwnedFd) -> Result<(), EntryError> {
    rustix::process::set_parent_process_death_signal(Some(Signal::KILL))
        .during(SandboxPart::Launch, "tying the first process to the helper")?;
    if is_readable(life) {
        std::process::exit(EXIT_FAILURE);
    }
    Ok(())
}
