//! The helper: takes orders and starts a first process for each.

use std::fs::File;
use std::io::Read as _;
use std::os::fd::{AsFd as _, OwnedFd};

use rustix::event::{PollFd, PollFlags, Timespec};
use rustix::process::{Pid, PidfdFlags, Signal, WaitOptions};
use rustix::thread::UnshareFlags;

use super::trouble::{During as _, Trouble};
use super::{EXIT_TROUBLE, Order, first};
use crate::channel::Channel;
use crate::kernel::{self, Cloned};
use crate::plan::{OrderHead, Part, Plan, Report, Settle};

/// A first process that has not been seen ending yet.
struct Started {
    pid: Pid,
    fd: OwnedFd,
}

/// Takes orders until the other side is gone.
pub(super) fn serve(channel: &Channel) -> i32 {
    let Ok((settle, _)) = channel.receive::<Settle>() else { return EXIT_TROUBLE };
    let settled = join(&settle);
    // Held by us alone: who finds it closed knows that we are gone.
    let Ok(life) = rustix::pipe::pipe_with(rustix::pipe::PipeFlags::CLOEXEC) else {
        return EXIT_TROUBLE;
    };
    let mut started = Vec::new();
    while wait(channel, &mut started) {
        match channel.receive::<OrderHead>() {
            Ok((head, descriptors)) => {
                let mut descriptors = descriptors.into_iter();
                let Some(answers) = descriptors.next().map(Channel::from_fd) else { continue };
                let begun = match &settled {
                    Ok(()) => begin(&head, descriptors.collect(), &answers, (channel, &life)),
                    Err(trouble) => Err(trouble.clone()),
                };
                match begun {
                    Ok(one) => started.push(one),
                    Err(trouble) => drop(answers.send(&trouble.into_report(), &[])),
                }
            }
            Err(_) => break,
        }
    }
    end(&started);
    0
}

fn join(settle: &Settle) -> Result<(), Trouble> {
    for file in &settle.join {
        std::fs::write(file, "0").during(Part::ControlGroup, "joining a control group")?;
    }
    Ok(())
}

/// Waits for an order, collecting first processes that end meanwhile. Tells whether to read one.
fn wait(channel: &Channel, started: &mut Vec<Started>) -> bool {
    loop {
        let mut fds = vec![PollFd::new(channel, PollFlags::IN)];
        fds.extend(started.iter().map(|one| PollFd::new(&one.fd, PollFlags::IN)));
        match rustix::event::poll(&mut fds, None) {
            Ok(_) => {}
            Err(rustix::io::Errno::INTR) => continue,
            Err(_) => return false,
        }
        let has_order = !fds[0].revents().is_empty();
        let ended: Vec<bool> = fds[1..].iter().map(|fd| !fd.revents().is_empty()).collect();
        let mut ended = ended.into_iter();
        started.retain(|one| {
            let has_ended = ended.next().unwrap_or(false);
            if has_ended {
                let _ = rustix::process::waitpid(Some(one.pid), WaitOptions::empty());
            }
            !has_ended
        });
        if has_order {
            return true;
        }
    }
}

/// Starts the first process of a sandbox, in all its namespaces at once.
fn begin(
    head: &OrderHead,
    descriptors: Vec<OwnedFd>,
    answers: &Channel,
    (channel, life): (&Channel, &(OwnedFd, OwnedFd)),
) -> Result<Started, Trouble> {
    kernel::mark("helper got order");
    let mut flags = UnshareFlags::NEWNS
        | UnshareFlags::NEWPID
        | UnshareFlags::NEWIPC
        | UnshareFlags::NEWUTS
        | UnshareFlags::NEWCGROUP;
    flags.set(UnshareFlags::NEWNET, !head.network);
    // Who is not root needs one for all the others.
    flags.set(UnshareFlags::NEWUSER, !head.switch);
    let part = if head.switch { Part::Namespaces } else { Part::UserNamespace };
    match kernel::clone_process(flags).during(part, "making new namespaces")? {
        Cloned::Child => {
            kernel::mark("cloned");
            let done = close(channel.as_fd())
                .and_then(|()| close(life.1.as_fd()))
                .and_then(|()| die_with_the_helper(&life.0))
                .and_then(|()| understand(head, descriptors, &life.0))
                .and_then(|order| first::run(answers, order));
            let Err(trouble) = done;
            let _ = answers.send(&trouble.into_report(), &[]);
            std::process::exit(EXIT_TROUBLE)
        }
        Cloned::Parent(pid) => {
            let opened = rustix::process::pidfd_open(pid, PidfdFlags::empty());
            let fd = opened.during(Part::Launch, "opening the first process")?;
            answers
                .send(&Report::Begun, &[fd.as_fd()])
                .map_err(|error| Trouble::new(Part::Launch, "reporting", error.errno()))?;
            Ok(Started { pid, fd })
        }
    }
}

/// Puts nothing in the place of a descriptor that this process shall not have.
fn close(fd: std::os::fd::BorrowedFd<'_>) -> Result<(), Trouble> {
    kernel::close_inherited(fd).during(Part::Launch, "closing a descriptor")
}

fn understand(
    head: &OrderHead,
    descriptors: Vec<OwnedFd>,
    life: &OwnedFd,
) -> Result<Order, Trouble> {
    let missing = || Trouble::new(Part::Launch, "receiving descriptors", None);
    let mut descriptors = descriptors.into_iter();
    let mut next = || descriptors.next().ok_or_else(missing);
    let (plan, project, output) = (next()?, next()?, (next()?, next()?));
    let owners = if head.has_owners { Some(next()?) } else { None };
    let stdin = if head.has_stdin { Some(next()?) } else { None };
    let mut bytes = Vec::new();
    let read = File::from(plan).read_to_end(&mut bytes);
    read.during(Part::Launch, "reading the plan")?;
    let plan: Plan = serde_json::from_slice(&bytes)
        .map_err(|_| Trouble::new(Part::Launch, "understanding the plan", None))?;
    let life = life.try_clone().during(Part::Launch, "copying a descriptor")?;
    Ok(Order { plan, project, output, stdin, owners, life })
}

/// A process ends its descriptors before it tells its children of its death: either the signal comes
/// or the pipe is seen closed.
pub(super) fn die_with_the_helper(life: &OwnedFd) -> Result<(), Trouble> {
    rustix::process::set_parent_process_death_signal(Some(Signal::KILL))
        .during(Part::Launch, "tying the first process to the helper")?;
    let mut fds = [PollFd::new(life, PollFlags::IN)];
    let now = Timespec { tv_sec: 0, tv_nsec: 0 };
    let is_closed = rustix::event::poll(&mut fds, Some(&now)).unwrap_or(1) != 0;
    if is_closed {
        std::process::exit(EXIT_TROUBLE);
    }
    Ok(())
}

fn end(started: &[Started]) {
    for one in started {
        let _ = rustix::process::pidfd_send_signal(&one.fd, Signal::KILL);
        let _ = rustix::process::waitpid(Some(one.pid), WaitOptions::empty());
    }
}
