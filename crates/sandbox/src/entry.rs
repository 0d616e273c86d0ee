//! The hidden entry point: what this program does when it is started to confine a command.
//!
//! ```text
//! us ── helper (outside, waits) ── first process (inside, builds the walls, collects orphans) ── command
//! ```
//!
//! The helper dies with us, the first process with the helper, and everything inside with the first
//! process: the kernel sees to it at each step.

mod filter;
mod first;
mod identity;
mod layers;
mod loopback;
mod root;
mod trouble;
mod walls;

use std::convert::Infallible;
use std::ffi::OsStr;
use std::fs::File;
use std::io::Read as _;
use std::os::fd::{AsFd as _, OwnedFd};
use std::path::Path;

use rustix::event::{PollFd, PollFlags};
use rustix::process::{Signal, WaitOptions};
use rustix::thread::UnshareFlags;

use crate::channel::Channel;
use crate::kernel::{self, Forked};
use crate::plan::{Part, Plan, Report};
use trouble::{During as _, Trouble};

/// By this name, as the zeroth argument, a program is asked to be the helper.
pub(crate) const HELPER: &str = "toolkiln-sandbox";
/// By this one, to hold a user namespace that maps owners.
pub(crate) const HOLDER: &str = "toolkiln-sandbox-holder";

const EXIT_TROUBLE: i32 = 1;

/// What the helper is given: the order, and the descriptors beside it.
pub(crate) struct Order {
    plan: Plan,
    project: OwnedFd,
    stdin: Option<OwnedFd>,
    owners: Option<OwnedFd>,
}

/// Becomes the helper if this process was started as one, and does not return then.
///
/// Call it first in `main`, before anything starts a thread or reads arguments. In any other process
/// it returns at once.
pub fn hidden_entry() {
    let name = std::env::args_os().next().unwrap_or_default();
    if name == OsStr::new(HELPER) {
        std::process::exit(run_helper());
    }
    if name == OsStr::new(HOLDER) {
        std::process::exit(run_holder());
    }
}

fn run_helper() -> i32 {
    match helper() {
        Ok(never) => match never {},
        Err(code) => code,
    }
}

fn helper() -> Result<Infallible, i32> {
    let channel = take_channel().map_err(|_| EXIT_TROUBLE)?;
    // From here on we end with the thread that started us; if it is gone already, so is the order.
    let _ = rustix::process::set_parent_process_death_signal(Some(Signal::KILL));
    match confine(&channel) {
        Ok(never) => match never {},
        Err(trouble) => {
            let _ = channel.send(&trouble.into_report(), &[]);
            Err(EXIT_TROUBLE)
        }
    }
}

/// The socket came as our standard input, which becomes empty.
fn take_channel() -> Result<Channel, rustix::io::Errno> {
    let fd = rustix::io::fcntl_dupfd_cloexec(rustix::stdio::stdin(), 3)?;
    let null = File::open("/dev/null").map_err(|_| rustix::io::Errno::NOENT)?;
    rustix::stdio::dup2_stdin(null)?;
    Ok(Channel::from_fd(fd))
}

fn confine(channel: &Channel) -> Result<Infallible, Trouble> {
    let order = receive(channel)?;
    join_control_groups(&order.plan)?;
    identity::prepare(order.plan.setting.identity)?;
    let mut flags = UnshareFlags::NEWNS
        | UnshareFlags::NEWPID
        | UnshareFlags::NEWIPC
        | UnshareFlags::NEWUTS
        | UnshareFlags::NEWCGROUP;
    if !order.plan.network {
        flags |= UnshareFlags::NEWNET;
    }
    kernel::unshare(flags).during(Part::Namespaces, "making new namespaces")?;
    let (alive, hold) = rustix::pipe::pipe_with(rustix::pipe::PipeFlags::CLOEXEC)
        .during(Part::Launch, "making a pipe")?;
    match kernel::fork().during(Part::Launch, "starting the first process inside")? {
        Forked::Child => {
            drop(hold);
            die_with_the_helper(&alive)?;
            first::run(channel, order)
        }
        Forked::Parent(first) => {
            release_output();
            drop(order);
            let _ = rustix::process::waitpid(Some(first), WaitOptions::empty());
            drop(hold);
            std::process::exit(0)
        }
    }
}

fn receive(channel: &Channel) -> Result<Order, Trouble> {
    let (has_owners, descriptors): (bool, Vec<OwnedFd>) = channel
        .receive()
        .map_err(|error| Trouble::new(Part::Launch, "receiving the order", error.errno()))?;
    let missing = || Trouble::new(Part::Launch, "receiving descriptors", None);
    let mut descriptors = descriptors.into_iter();
    let plan = descriptors.next().ok_or_else(missing)?;
    let project = descriptors.next().ok_or_else(missing)?;
    let owners = if has_owners { Some(descriptors.next().ok_or_else(missing)?) } else { None };
    let mut bytes = Vec::new();
    let mut plan = File::from(plan);
    plan.read_to_end(&mut bytes).during(Part::Launch, "reading the plan")?;
    let plan: Plan = serde_json::from_slice(&bytes)
        .map_err(|_| Trouble::new(Part::Launch, "understanding the plan", None))?;
    let stdin = if plan.has_stdin { Some(descriptors.next().ok_or_else(missing)?) } else { None };
    Ok(Order { plan, project, stdin, owners })
}

fn join_control_groups(plan: &Plan) -> Result<(), Trouble> {
    for file in &plan.join {
        std::fs::write(file, "0").during(Part::ControlGroup, "joining a control group")?;
    }
    Ok(())
}

/// A process ends its descriptors before it tells its children of its death: either the signal comes
/// or the pipe is seen closed.
fn die_with_the_helper(alive: &OwnedFd) -> Result<(), Trouble> {
    rustix::process::set_parent_process_death_signal(Some(Signal::KILL))
        .during(Part::Launch, "tying the first process to the helper")?;
    let mut fds = [PollFd::new(alive, PollFlags::IN)];
    let now = rustix::event::Timespec { tv_sec: 0, tv_nsec: 0 };
    let closed = rustix::event::poll(&mut fds, Some(&now)).unwrap_or(1) != 0;
    if closed {
        std::process::exit(EXIT_TROUBLE);
    }
    Ok(())
}

/// A pipe ends when the last holder of its other end does; that must not be us.
fn release_output() {
    if let Ok(null) = File::options().write(true).open("/dev/null") {
        let _ = rustix::stdio::dup2_stdout(&null);
        let _ = rustix::stdio::dup2_stderr(&null);
    }
}

/// Makes a user namespace, hands it over and waits until the other side has written its maps.
fn run_holder() -> i32 {
    let Ok(channel) = take_channel() else { return EXIT_TROUBLE };
    let _ = rustix::process::set_parent_process_death_signal(Some(Signal::KILL));
    let made = kernel::unshare(UnshareFlags::NEWUSER)
        .during(Part::IdMapping, "making a user namespace")
        .and_then(|()| {
            let file = File::open(Path::new("/proc/self/ns/user"));
            file.during(Part::IdMapping, "opening a user namespace")
        });
    let sent = match made {
        Ok(file) => channel.send(&Report::Ready { landlock: 0 }, &[file.as_fd()]),
        Err(trouble) => channel.send(&trouble.into_report(), &[]),
    };
    // The answer is the end of the channel.
    let _ = channel.receive::<()>();
    if sent.is_ok() { 0 } else { EXIT_TROUBLE }
}
