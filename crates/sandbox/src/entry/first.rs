//! The first process inside: builds the walls, goes behind them, starts the command and collects
//! what it leaves.

use std::convert::Infallible;
use std::io::ErrorKind;
use std::os::fd::AsFd as _;
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use rustix::fs::Access;
use rustix::process::{Pid, PidfdFlags, WaitOptions};

use super::trouble::{During as _, Trouble};
use super::{Order, filter, identity, loopback, release_output, root, walls};
use crate::channel::Channel;
use crate::plan::{Part, Plan, Report};

const HOST_NAME: &[u8] = b"sandbox";

/// Does all of it and ends.
pub(super) fn run(channel: &Channel, order: Order) -> Result<Infallible, Trouble> {
    build_walls(channel, &order)?;
    let Order { plan, stdin, .. } = order;
    let stdin = stdin.map_or_else(Stdio::null, Stdio::from);
    let started = command(&plan, stdin).and_then(|mut command| command.spawn());
    release_output();
    match started {
        Ok(child) => {
            // A process number of the kernel is positive and fits.
            let child = i32::try_from(child.id()).ok().and_then(Pid::from_raw);
            collect(channel, child);
        }
        Err(error) => {
            let _ = channel.send(&Report::NotStarted { errno: error.raw_os_error() }, &[]);
        }
    }
    std::process::exit(0)
}

fn build_walls(channel: &Channel, order: &Order) -> Result<(), Trouble> {
    let plan = &order.plan;
    rustix::process::setsid().during(Part::Launch, "making a session")?;
    let built = root::build(order)?;
    rustix::system::sethostname(HOST_NAME).during(Part::Namespaces, "naming the host")?;
    if !plan.network {
        loopback::bring_up()?;
    }
    identity::assume(plan.setting.identity, &built.process)?;
    walls::limit(plan)?;
    identity::drop_capabilities()?;
    let landlock = walls::landlock(plan)?;
    filter::install()?;
    let own = rustix::process::pidfd_open(rustix::process::getpid(), PidfdFlags::empty())
        .during(Part::Launch, "opening ourselves")?;
    let mut descriptors = vec![own.as_fd()];
    descriptors.extend(built.changes.as_ref().map(|changes| changes.as_fd()));
    channel
        .send(&Report::Ready { landlock }, &descriptors)
        .map_err(|error| Trouble::new(Part::Launch, "reporting", error.errno()))
}

fn command(plan: &Plan, stdin: Stdio) -> std::io::Result<Command> {
    let (program, arguments) =
        plan.argv.split_first().ok_or_else(|| std::io::Error::from(ErrorKind::InvalidInput))?;
    std::env::set_current_dir(&plan.working_dir)?;
    let mut command = Command::new(find(program, plan)?);
    command.arg0(program).args(arguments).stdin(stdin);
    command.env_clear().envs(plan.env.iter().map(|(name, value)| (name, value)));
    Ok(command)
}

/// Where the program is; with its whole path known, it can be started without a copy of this process.
fn find(program: &str, plan: &Plan) -> std::io::Result<PathBuf> {
    if program.contains('/') {
        return Ok(PathBuf::from(program));
    }
    let path = plan.env.iter().find(|(name, _)| name == "PATH").map_or("", |(_, path)| path);
    let mut candidates = path.split(':').map(|directory| Path::new(directory).join(program));
    candidates
        .find(|file| rustix::fs::access(file, Access::EXEC_OK).is_ok() && file.is_file())
        .ok_or_else(|| std::io::Error::from_raw_os_error(libc::ENOENT))
}

/// Collects every process that ends, tells of the command's end, and stays until none is left.
fn collect(channel: &Channel, command: Option<Pid>) {
    while let Ok(ended) = rustix::io::retry_on_intr(|| rustix::process::wait(WaitOptions::empty())) {
        let Some((pid, status)) = ended else { continue };
        if Some(pid) == command {
            let (code, signal) = (status.exit_status(), status.terminating_signal());
            if channel.send(&Report::Ended { code, signal }, &[]).is_err() {
                return;
            }
        }
    }
}
