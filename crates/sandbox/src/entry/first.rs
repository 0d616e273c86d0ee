//! The first process inside: builds the walls, goes behind them, starts the command and collects
//! what it leaves.

use std::convert::Infallible;
use std::io::ErrorKind;
use std::os::fd::AsFd as _;
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use rustix::fs::{Access, Mode, OFlags};
use rustix::process::{Pid, WaitOptions};

use super::trouble::{During as _, Trouble};
use super::{Order, filter, identity, loopback, root, walls};
use crate::channel::Channel;
use crate::plan::{Part, Plan, Report};

const HOST_NAME: &[u8] = b"sandbox";

/// Does all of it and ends.
pub(super) fn run(answers: &Channel, order: Order) -> Result<Infallible, Trouble> {
    build_walls(answers, &order)?;
    let Order { plan, stdin, output, .. } = order;
    // Once the command runs, the ends of its pipes are its own.
    let started = command(&plan).and_then(|mut command| {
        let stdin = stdin.map_or_else(Stdio::null, Stdio::from);
        command.stdin(stdin).stdout(output.0).stderr(output.1).spawn()
    });
    crate::kernel::mark("spawned");
    match started {
        Ok(child) => {
            // A process number of the kernel is positive and fits.
            let child = i32::try_from(child.id()).ok().and_then(Pid::from_raw);
            collect(answers, child);
        }
        Err(error) => {
            let _ = answers.send(&Report::NotStarted { errno: error.raw_os_error() }, &[]);
        }
    }
    std::process::exit(0)
}

fn build_walls(answers: &Channel, order: &Order) -> Result<(), Trouble> {
    let plan = &order.plan;
    let identity = plan.setting.identity;
    // In the /proc of the host, where this process is known as well.
    let process = rustix::fs::open("/proc/self", OFlags::PATH | OFlags::CLOEXEC, Mode::empty())
        .during(Part::UserNamespace, "opening /proc/self")?;
    crate::kernel::mark("understood");
    identity::settle(identity, &process)?;
    crate::kernel::mark("settled");
    rustix::process::setsid().during(Part::Launch, "making a session")?;
    let changes = root::build(order)?;
    crate::kernel::mark("root built");
    rustix::system::sethostname(HOST_NAME).during(Part::Namespaces, "naming the host")?;
    if !plan.network {
        loopback::bring_up()?;
    }
    crate::kernel::mark("loopback");
    identity::assume(identity, &process, &order.life)?;
    crate::kernel::mark("assumed");
    walls::limit(plan)?;
    identity::drop_capabilities()?;
    crate::kernel::mark("caps");
    let landlock = walls::landlock(plan)?;
    crate::kernel::mark("landlock");
    filter::install()?;
    crate::kernel::mark("filter");
    let descriptors: Vec<_> = changes.iter().map(|changes| changes.as_fd()).collect();
    answers
        .send(&Report::Ready { landlock }, &descriptors)
        .map_err(|error| Trouble::new(Part::Launch, "reporting", error.errno()))
}

fn command(plan: &Plan) -> std::io::Result<Command> {
    let (program, arguments) =
        plan.argv.split_first().ok_or_else(|| std::io::Error::from(ErrorKind::InvalidInput))?;
    std::env::set_current_dir(&plan.working_dir)?;
    let mut command = Command::new(find(program, plan)?);
    command.arg0(program).args(arguments);
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
fn collect(answers: &Channel, command: Option<Pid>) {
    let mut next = WaitOptions::empty();
    let mut ended = None;
    loop {
        let collected = rustix::io::retry_on_intr(|| rustix::process::wait(next));
        match collected {
            Ok(Some((pid, status))) if Some(pid) == command => {
                ended = Some((status.exit_status(), status.terminating_signal()));
                // Look once whether anything is left before telling.
                next = WaitOptions::NOHANG;
            }
            Ok(Some(_)) => {}
            Ok(None) | Err(_) => {
                let alone = collected.is_err();
                crate::kernel::mark("ended");
                if ended.is_some(){ use std::io::Write; let m=crate::kernel::MARKS.lock().unwrap(); let mut f=std::fs::File::options().append(true).create(true).open("/tmp/marks").unwrap(); let mut t=String::new(); for w in m.windows(2){t+=&format!("{} {}\n",w[1].0.replace(' ',"_"),w[1].1-w[0].1);} let _=f.write_all(t.as_bytes()); let _=std::io::copy(&mut std::fs::File::open("/tmp/marks").unwrap(), &mut std::fs::File::options().append(true).create(true).open(std::env::current_dir().unwrap().join("marks")).unwrap()); }
                if let Some((code, signal)) = ended.take() {
                    let _ = answers.send(&Report::Ended { code, signal, alone }, &[]);
                }
                if alone {
                    return;
                }
                next = WaitOptions::empty();
            }
        }
    }
}
