//! The first process inside: builds the sandbox, enters it, starts the command and collects
//! what it leaves.

use std::io::ErrorKind;
use std::os::fd::{AsFd as _, OwnedFd};
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use rustix::fs::{Access, Mode, OFlags};
use rustix::process::{Pid, WaitId, WaitIdOptions, WaitOptions};

use super::error::{During as _, EntryError};
use super::filter::{self, Program, Refused};
use super::helper::{Site, read_file};
use super::restrictions::{self, LandlockRules};
use super::root::{self, OwnPart, Root};
use super::{identity, listener, loopback};
use crate::channel::{Channel, ChannelError};
use crate::plan::{OrderHead, Report, RunPlan, SandboxPart};

const HOST_NAME: &[u8] = b"sandbox";

/// What can be done before the order is known.
struct Prepared {
    /// Our own directory in the /proc of the host, where this process is known as well.
    process: OwnedFd,
    root: Root,
    rules: LandlockRules,
    refused: Refused,
    filter: Program,
}

/// What belongs to one command.
struct Order {
    plan: RunPlan,
    /// The directory of this run in the private layer.
    space: Option<String>,
    network: bool,
    output: (OwnedFd, OwnedFd),
    stdin: Option<OwnedFd>,
}

/// Prepares, waits for the order and carries it out.
pub(super) fn run(site: &Site, orders: &Channel) {
    let prepared = prepare(site);
    let Ok((head, mut descriptors)) = orders.receive::<OrderHead>() else { return };
    if descriptors.is_empty() {
        return;
    }
    let answers = Channel::from_fd(descriptors.remove(0));
    let network = head.network;
    let order = understand(head, descriptors);
    let built = prepared.and_then(|prepared| {
        let order = order?;
        if network {
            hand_out_listener(&answers)?;
        }
        confine(site, prepared, &order, &answers)?;
        Ok(order)
    });
    match built {
        Ok(order) => carry_out(order, &answers),
        Err(error) => drop(answers.send(&error.into_report(), &[])),
    }
}

fn understand(head: OrderHead, descriptors: Vec<OwnedFd>) -> Result<Order, EntryError> {
    let missing = || EntryError::new(SandboxPart::Launch, "receiving descriptors", None);
    let mut descriptors = descriptors.into_iter();
    let mut next = || descriptors.next().ok_or_else(missing);
    let output = (next()?, next()?);
    let stdin = if head.has_stdin { Some(next()?) } else { None };
    let plan = match head.plan {
        Some(plan) => plan,
        None => read_file(next()?)?,
    };
    Ok(Order { plan, space: head.space, network: head.network, output, stdin })
}

/// Hands the socket of the proxy out, and keeps none.
fn hand_out_listener(answers: &Channel) -> Result<(), EntryError> {
    let listener = listener::listen()?;
    answers.send(&Report::Listening, &[listener.as_fd()]).map_err(not_reported)
}

fn not_reported(error: ChannelError) -> EntryError {
    EntryError::new(SandboxPart::Launch, "reporting", error.errno())
}

fn prepare(site: &Site) -> Result<Prepared, EntryError> {
    let process = rustix::fs::open("/proc/self", OFlags::PATH | OFlags::CLOEXEC, Mode::empty())
        .during(SandboxPart::UserNamespace, "opening /proc/self")?;
    identity::settle(site.setting.identity, &process)?;
    restrictions::raise_oom_score(&process);
    rustix::process::setsid().during(SandboxPart::Launch, "making a session")?;
    rustix::system::sethostname(HOST_NAME).during(SandboxPart::Namespaces, "naming the host")?;
    loopback::bring_up()?;
    let root = root::prepare(site)?;
    let refused = Refused {
        unix_sockets: root.shows_sockets,
        shared_memory: site.setting.limits.process_memory_bytes.is_some(),
    };
    let (rules, filter) = (LandlockRules::make(&site.setting)?, filter::program(refused));
    Ok(Prepared { process, root, rules, refused, filter })
}

fn confine(
    site: &Site,
    prepared: Prepared,
    order: &Order,
    answers: &Channel,
) -> Result<(), EntryError> {
    let own = OwnPart { space: order.space.as_deref(), network: order.network };
    let changes = root::finish(prepared.root, &site.setting, &own)?;
    let rules = prepared.rules.allow_project(&site.setting)?;
    identity::assume(site.setting.identity, &prepared.process, &site.life.0)?;
    restrictions::limit(&site.setting, &order.plan)?;
    identity::drop_capabilities()?;
    let landlock = rules.enforce()?;
    filter::install(&prepared.filter)?;
    let in_memory = changes.as_ref().is_some_and(|changes| changes.in_memory);
    let descriptors: Vec<_> = changes.iter().map(|changes| changes.upper.as_fd()).collect();
    let ready = Report::Ready { landlock, in_memory, unix_sockets: !prepared.refused.unix_sockets };
    answers.send(&ready, &descriptors).map_err(not_reported)
}

fn carry_out(order: Order, answers: &Channel) {
    match run_first(&order).and_then(|failed| failed.map_or_else(|| start(order), Ok)) {
        Ok(child) => {
            // A process number of the kernel is positive and fits.
            let child = i32::try_from(child.id()).ok().and_then(Pid::from_raw);
            // Nothing shall hold the project but the command.
            let _ = std::env::set_current_dir("/");
            collect(answers, child);
        }
        Err(error) => {
            let _ = answers.send(&Report::NotStarted { errno: error.raw_os_error() }, &[]);
        }
    }
    std::process::exit(0)
}

/// Runs the programs that come first. Returns the one that failed, which is left to be collected.
fn run_first(order: &Order) -> std::io::Result<Option<Child>> {
    for argv in &order.plan.first {
        let output = (order.output.0.try_clone()?, order.output.1.try_clone()?);
        let child = spawn(argv, &order.plan, output, Stdio::null())?;
        let pid = i32::try_from(child.id()).ok().and_then(Pid::from_raw);
        // Its end is looked at and not taken, so that a failure can be collected as the command's.
        let id = || pid.map_or(WaitId::All, WaitId::Pid);
        let options = WaitIdOptions::EXITED | WaitIdOptions::NOWAIT;
        let ended = rustix::io::retry_on_intr(|| rustix::process::waitid(id(), options))?;
        if ended.and_then(|status| status.exit_status()) != Some(0) {
            return Ok(Some(child));
        }
        let _ = rustix::process::waitpid(pid, WaitOptions::empty());
    }
    Ok(None)
}

/// Starts the command. From then on the ends of its pipes are its own.
fn start(order: Order) -> std::io::Result<Child> {
    let Order { plan, output, stdin, .. } = order;
    spawn(&plan.argv, &plan, output, stdin.map_or_else(Stdio::null, Stdio::from))
}

fn spawn(
    argv: &[String],
    plan: &RunPlan,
    output: (OwnedFd, OwnedFd),
    stdin: Stdio,
) -> std::io::Result<Child> {
    let (program, arguments) =
        argv.split_first().ok_or_else(|| std::io::Error::from(ErrorKind::InvalidInput))?;
    std::env::set_current_dir(&plan.working_dir)?;
    let mut command = Command::new(find(program, plan)?);
    command.arg0(program).args(arguments);
    command.env_clear().envs(plan.env.iter().map(|(name, value)| (name, value)));
    command.stdin(stdin).stdout(output.0).stderr(output.1);
    command.spawn()
}

/// Where the program is; with its whole path known, it can be started without a copy of this process.
fn find(program: &str, plan: &RunPlan) -> std::io::Result<PathBuf> {
    if program.contains('/') {
        return Ok(PathBuf::from(program));
    }
    let path = plan.env.iter().find(|(name, _)| name == "PATH").map_or("", |(_, path)| path);
    let mut candidates = path.split(':').map(|directory| Path::new(directory).join(program));
    candidates
        .find(|file| rustix::fs::access(file, Access::EXEC_OK).is_ok() && file.is_file())
        .ok_or_else(|| std::io::Error::from_raw_os_error(libc::ENOENT))
}

/// Collects every process that ends, reports the command's end, and stays until none is left.
fn collect(answers: &Channel, command: Option<Pid>) {
    let mut next = WaitOptions::empty();
    let mut ended = None;
    loop {
        let collected = rustix::io::retry_on_intr(|| rustix::process::wait(next));
        match collected {
            Ok(Some((pid, status))) if Some(pid) == command => {
                ended = Some((status.exit_status(), status.terminating_signal()));
                // Look once whether anything is left before reporting.
                next = WaitOptions::NOHANG;
            }
            Ok(Some(_)) => {}
            Ok(None) | Err(_) => {
                let alone = collected.is_err();
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
