//! One run of a command, seen from outside: order, read, wait, end everything.

use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use protocol::CommandSpec;
use rustix::event::{PollFd, PollFlags, Timespec};
use rustix::fs::OFlags;
use rustix::io::Errno;
use rustix::pipe::PipeFlags;
use rustix::process::Signal;

use crate::changes::CommandChanges;
use crate::channel::{Channel, ChannelError, MAX_MESSAGE_BYTES};
use crate::error::{SandboxError, io, unavailable};
use crate::helper_pool::{HELPER_TIMEOUT, Helper, memory_file};
use crate::layer::{RunSpace, WriteSpace};
use crate::network::Proxy;
use crate::output::{Keeper, OutputChunk, Stream};
use crate::plan::{OrderHead, Report, RunPlan, SandboxPart};
use crate::profile::ProjectAccess;
use crate::ran::{Exit, LevelReport, LimitKind, MemoryScope, ProjectLevel, Ran};
use crate::sandbox::{RunOptions, Sandbox, network_level};

/// Large pipes save changes between processes; the kernel may refuse, and then they are smaller.
const PIPE_BYTES: usize = 1 << 20;
const BUFFER_BYTES: usize = 1 << 18;

/// How often the disk is looked at while a command writes to it.
const DISK_PERIOD: Duration = Duration::from_secs(1);

/// A longer plan does not fit into a message with the rest of the order.
const MAX_PLAN_BYTES: usize = MAX_MESSAGE_BYTES / 2;

/// What belongs to one run.
pub(crate) struct ConfinedRun<'a> {
    pub(crate) sandbox: &'a Sandbox,
    pub(crate) spec: &'a CommandSpec,
    pub(crate) plan: RunPlan,
    pub(crate) options: RunOptions<'a>,
}

pub(crate) fn run(
    mut run: ConfinedRun<'_>,
    on_output: impl FnMut(OutputChunk<'_>),
) -> Result<Ran, SandboxError> {
    let sandbox = run.sandbox;
    let begun = Instant::now();
    // Named before what runs, so that it goes after it even if the listener panics.
    let space = space_for(sandbox, run.options.room)?;
    let mut watch = Watch::start(&mut run, space.as_ref(), begun)?;
    let kills_before = watch.helper.memory_kills();
    let followed = watch.follow(on_output);
    let Watch { helper, outcome, proxy, .. } = watch;
    // Nothing runs any more that could use it.
    let refused_connections = proxy.map(Proxy::finish).unwrap_or_default();
    let memory = kills_before.map_or(MemoryScope::Process, |_| MemoryScope::Tree);
    let memory_kills = helper.memory_kills().unwrap_or(0) - kills_before.unwrap_or(0);
    sandbox.helpers.give_back(helper);
    followed?;
    let changed = match outcome.upper {
        Some(upper) => {
            let project = sandbox.root.try_clone().map_err(io("keeping the project"))?;
            Some(CommandChanges::new(upper, project, space))
        }
        None => None,
    };
    Ok(Ran {
        exit: explain(outcome.exit, memory_kills),
        stdout: outcome.stdout.finish(),
        stderr: outcome.stderr.finish(),
        duration: outcome.duration,
        memory_kills,
        left_behind: outcome.left_behind,
        refused_connections,
        changed,
        level: LevelReport {
            landlock: (outcome.landlock > 0).then_some(outcome.landlock),
            network: network_level(run.spec),
            unix_sockets: outcome.unix_sockets,
            memory,
            uid: sandbox.identity.uid,
            project: match sandbox.profile.project {
                ProjectAccess::Copy(_) => ProjectLevel::Copy,
                ProjectAccess::Live { .. } => ProjectLevel::Live,
                ProjectAccess::Direct => ProjectLevel::Direct,
            },
            unconfined: false,
        },
    })
}

/// The part of this run in the private layer, if there is one.
fn space_for(sandbox: &Sandbox, room: WriteSpace) -> Result<Option<RunSpace>, SandboxError> {
    let Some(layer) = &sandbox.layer else { return Ok(None) };
    let room =
        if sandbox.writes_to_memory.load(Ordering::Relaxed) { WriteSpace::Memory } else { room };
    let space = layer.begin(&sandbox.root, room).map_err(io("using the private layer"))?;
    Ok(Some(space))
}

fn explain(exit: Exit, memory_kills: u64) -> Exit {
    match exit {
        Exit::Signal(libc::SIGXCPU) => Exit::Limit(LimitKind::Cpu),
        Exit::Signal(libc::SIGXFSZ) => Exit::Limit(LimitKind::FileSize),
        Exit::Signal(libc::SIGKILL) if memory_kills > 0 => Exit::Limit(LimitKind::Memory),
        other => other,
    }
}

/// What is known at the end.
struct RunOutcome {
    exit: Exit,
    stdout: Keeper,
    stderr: Keeper,
    duration: Duration,
    left_behind: bool,
    upper: Option<OwnedFd>,
    landlock: u32,
    unix_sockets: bool,
}

/// A running command.
struct Watch<'a, 's> {
    run: &'s mut ConfinedRun<'a>,
    space: Option<&'s RunSpace>,
    answers: Channel,
    helper: Helper,
    stdout: Option<OwnedFd>,
    stderr: Option<OwnedFd>,
    begun: Instant,
    deadline: Instant,
    /// When the place on the disk that it was given to write to is looked at again.
    disk_check: Option<Instant>,
    ordered_again: bool,
    /// Serves a command that may use the network.
    proxy: Option<Proxy>,
    /// The first process inside, once it is there.
    first: Option<OwnedFd>,
    /// The sandbox is complete.
    ready: bool,
    /// Everything else inside has ended.
    alone: bool,
    ended: bool,
    outcome: RunOutcome,
}

impl<'a, 's> Watch<'a, 's> {
    fn start(
        run: &'s mut ConfinedRun<'a>,
        space: Option<&'s RunSpace>,
        begun: Instant,
    ) -> Result<Watch<'a, 's>, SandboxError> {
        let helpers = &run.sandbox.helpers;
        let given = give_order(run, space, |head, fds| helpers.order(head, fds))?;
        let limits = &run.sandbox.profile.limits;
        Ok(Watch {
            answers: given.answers,
            helper: given.taken_by,
            stdout: Some(given.stdout),
            stderr: Some(given.stderr),
            begun,
            deadline: begun + Duration::from_millis(run.spec.timeout_ms),
            disk_check: space.filter(|space| space.name().is_some()).map(|_| begun + DISK_PERIOD),
            ordered_again: false,
            proxy: None,
            first: None,
            ready: false,
            alone: false,
            ended: false,
            outcome: RunOutcome {
                exit: Exit::Timeout,
                stdout: Keeper::new(limits.output_bytes),
                stderr: Keeper::new(limits.output_bytes),
                duration: Duration::ZERO,
                left_behind: false,
                upper: None,
                landlock: 0,
                unix_sockets: false,
            },
            run,
            space,
        })
    }

    /// A first process that ends before the sandbox is complete has run nothing of the command: it was
    /// killed while it waited, and its end was not seen yet when it was given the order. The next one
    /// gets the order.
    fn order_again(&mut self) -> Result<(), SandboxError> {
        self.ordered_again = true;
        self.end_everything();
        let helper = &self.helper;
        let given = give_order(self.run, self.space, |head, fds| helper.order(&head, fds))?;
        self.answers = given.answers;
        (self.stdout, self.stderr) = (Some(given.stdout), Some(given.stderr));
        (self.first, self.proxy) = (None, None);
        Ok(())
    }

    /// Waits for the end of the command and of its output, and ends what is left. What is not waited
    /// for is the end of the first process if nothing else runs inside.
    fn follow(&mut self, mut on_output: impl FnMut(OutputChunk<'_>)) -> Result<(), SandboxError> {
        let mut buffer = vec![0; BUFFER_BYTES];
        while !(self.ended && self.stdout.is_none() && self.stderr.is_none()) {
            let ready = self.wait();
            if ready.report {
                self.take_report()?;
            }
            if ready.output {
                self.read(&mut buffer, &mut on_output);
            }
            if ready.cancelled || Instant::now() >= self.deadline {
                self.stop(ready.cancelled);
                break;
            }
            if self.has_filled_the_disk() {
                self.outcome.exit = Exit::Limit(LimitKind::Disk);
                break;
            }
        }
        if !self.ended {
            self.outcome.duration = self.begun.elapsed();
        }
        if !self.alone {
            self.end_everything();
            while self.read(&mut buffer, &mut on_output) {}
        }
        Ok(())
    }

    fn stop(&mut self, cancelled: bool) {
        if self.ended {
            self.outcome.left_behind = true;
        } else if cancelled {
            self.outcome.exit = Exit::Cancelled;
        } else {
            self.outcome.exit = Exit::Timeout;
        }
    }

    /// Looks at the disk if it is time to.
    fn has_filled_the_disk(&mut self) -> bool {
        let (Some(space), Some(next)) = (self.space, &mut self.disk_check) else { return false };
        let now = Instant::now();
        if self.ended || now < *next {
            return false;
        }
        *next = now + DISK_PERIOD;
        space.is_used_up()
    }

    fn wait(&self) -> Ready {
        let disk = self.disk_check.filter(|_| !self.ended).unwrap_or(self.deadline);
        let left = self.deadline.min(disk).saturating_duration_since(Instant::now());
        let timeout = Timespec {
            tv_sec: i64::try_from(left.as_secs()).unwrap_or(i64::MAX),
            tv_nsec: left.subsec_nanos().into(),
        };
        let outputs = [self.stdout.as_ref(), self.stderr.as_ref()];
        let mut fds: Vec<PollFd<'_>> = Vec::with_capacity(4);
        let input = PollFlags::IN;
        // After the command's end nothing more is said.
        fds.extend((!self.ended).then(|| PollFd::new(&self.answers, input)));
        let outputs_from = fds.len();
        fds.extend(outputs.into_iter().flatten().map(|fd| PollFd::new(fd, input)));
        let cancel_from = fds.len();
        fds.extend(self.run.options.cancel.map(|cancel| PollFd::new(cancel, input)));
        if rustix::event::poll(&mut fds, Some(&timeout)).is_err() {
            return Ready::default();
        }
        let any = |fds: &[PollFd<'_>]| fds.iter().any(|fd| !fd.revents().is_empty());
        Ready {
            report: any(&fds[..outputs_from]),
            output: any(&fds[outputs_from..cancel_from]),
            cancelled: any(&fds[cancel_from..]),
        }
    }

    fn take_report(&mut self) -> Result<(), SandboxError> {
        let program = self.run.spec.argv.first().map_or("", String::as_str);
        let failure = match self.answers.receive::<Report>() {
            Ok((Report::Begun, mut descriptors)) => {
                self.first = descriptors.pop();
                return Ok(());
            }
            Ok((Report::Listening, mut descriptors)) => match self.start_proxy(descriptors.pop()) {
                Ok(()) => return Ok(()),
                Err(error) => error,
            },
            Ok((Report::Ready { landlock, in_memory, unix_sockets }, mut descriptors)) => {
                self.outcome.upper = descriptors.pop();
                if in_memory && self.disk_check.take().is_some() {
                    self.run.sandbox.writes_to_memory.store(true, Ordering::Relaxed);
                }
                self.outcome.landlock = landlock;
                self.outcome.unix_sockets = unix_sockets;
                self.ready = true;
                // Whoever writes the input is told when the command no longer reads it.
                self.run.options.stdin = None;
                return Ok(());
            }
            Ok((Report::Ended { code, signal, alone }, _)) => {
                self.alone = alone;
                self.command_ended(match (code, signal) {
                    (Some(code), _) => Exit::Code(code),
                    (None, signal) => Exit::Signal(signal.unwrap_or(libc::SIGKILL)),
                });
                return Ok(());
            }
            // The first process was killed, and all others with it: memory ran out.
            Err(ChannelError::Closed) if self.ready => {
                self.command_ended(Exit::Signal(libc::SIGKILL));
                return Ok(());
            }
            Err(ChannelError::Closed) if !self.ordered_again => match self.order_again() {
                Ok(()) => return Ok(()),
                Err(error) => error,
            },
            Ok((Report::Failed { part, doing, errno }, _)) => unavailable(part, doing, errno),
            Ok((Report::NotStarted { errno }, _)) => not_started(program, errno),
            Err(error) => unavailable(
                SandboxPart::Launch,
                "starting the first process".to_owned(),
                error.errno(),
            ),
        };
        self.end_everything();
        Err(failure)
    }

    fn start_proxy(&mut self, listener: Option<OwnedFd>) -> Result<(), SandboxError> {
        let missing = || unavailable(SandboxPart::Launch, "receiving a socket".to_owned(), None);
        let rules = self.run.sandbox.profile.network.clone();
        let resolver = Arc::clone(&self.run.sandbox.resolver);
        self.proxy = Some(Proxy::start(listener.ok_or_else(missing)?, rules, resolver)?);
        Ok(())
    }

    fn command_ended(&mut self, exit: Exit) {
        self.ended = true;
        self.outcome.exit = exit;
        self.outcome.duration = self.begun.elapsed();
        self.deadline = self.deadline.min(Instant::now() + self.run.sandbox.profile.limits.grace);
    }

    /// Reads what is there, without waiting. Returns whether there may be more.
    fn read(&mut self, buffer: &mut [u8], on_output: &mut impl FnMut(OutputChunk<'_>)) -> bool {
        let streams = [
            (Stream::Stdout, &mut self.stdout, &mut self.outcome.stdout),
            (Stream::Stderr, &mut self.stderr, &mut self.outcome.stderr),
        ];
        let mut any = false;
        for (stream, pipe, keeper) in streams {
            let Some(fd) = pipe.as_ref() else { continue };
            match rustix::io::read(fd, &mut *buffer) {
                Ok(0) => *pipe = None,
                Ok(count) => {
                    let bytes = &buffer[..count];
                    keeper.take(bytes);
                    on_output(OutputChunk { stream, bytes });
                    any = true;
                }
                Err(Errno::AGAIN | Errno::INTR) => {}
                Err(_) => *pipe = None,
            }
        }
        any
    }

    /// Kills the first process inside, with which the kernel kills all others, and waits until it is
    /// gone, which it is after them.
    fn end_everything(&mut self) {
        let begun = Instant::now();
        while self.first.is_none() {
            // Too early: the helper is about to say which process it is, or that there is none.
            if !self.answers.wait(HELPER_TIMEOUT.saturating_sub(begun.elapsed())) {
                // It has been stopped before it started the first process.
                self.helper.kill();
                return;
            }
            match self.answers.receive::<Report>() {
                Ok((Report::Begun, mut descriptors)) => self.first = descriptors.pop(),
                Ok(_) => {}
                Err(_) => return,
            }
        }
        if let Some(first) = &self.first {
            let _ = rustix::process::pidfd_send_signal(first, Signal::KILL);
            let mut fds = [PollFd::new(first, PollFlags::IN)];
            let _ = rustix::io::retry_on_intr(|| rustix::event::poll(&mut fds, None));
        }
    }
}

#[derive(Default)]
struct Ready {
    report: bool,
    output: bool,
    cancelled: bool,
}

/// The ends that are ours of what an order was given with.
struct OrderEnds<T> {
    answers: Channel,
    stdout: OwnedFd,
    stderr: OwnedFd,
    taken_by: T,
}

/// Gives the command to a helper. The other ends of its channel and its output are no longer ours.
fn give_order<T>(
    run: &ConfinedRun<'_>,
    space: Option<&RunSpace>,
    give: impl FnOnce(OrderHead, &[BorrowedFd<'_>]) -> Result<T, SandboxError>,
) -> Result<OrderEnds<T>, SandboxError> {
    let system = |errno: Errno| io("starting a command")(errno.into());
    let (answers, theirs) = Channel::pair().map_err(system)?;
    let (stdout, stdout_end) = output_pipe().map_err(system)?;
    let (stderr, stderr_end) = output_pipe().map_err(system)?;
    let written =
        serde_json::to_vec(&run.plan).map_err(|error| io("writing the plan")(error.into()))?;
    let file = match written.len() > MAX_PLAN_BYTES {
        true => Some(memory_file("plan", &written).map_err(io("writing the plan"))?),
        false => None,
    };
    let plan = file.is_none().then(|| run.plan.clone());
    let text = match (&run.options.stdin, &run.spec.stdin) {
        (None, Some(text)) => {
            Some(memory_file("stdin", text.as_bytes()).map_err(io("writing the input"))?)
        }
        (Some(_), _) | (None, None) => None,
    };
    let stdin = run.options.stdin.as_ref().or(text.as_ref());
    let space = space.and_then(RunSpace::name).map(str::to_owned);
    let head = OrderHead { network: run.spec.network, has_stdin: stdin.is_some(), space, plan };
    let mut descriptors = vec![theirs.as_fd(), stdout_end.as_fd(), stderr_end.as_fd()];
    descriptors.extend(stdin.into_iter().chain(&file).map(AsFd::as_fd));
    let taken_by = give(head, &descriptors)?;
    Ok(OrderEnds { answers, stdout, stderr, taken_by })
}

pub(crate) fn not_started(program: &str, errno: Option<i32>) -> SandboxError {
    let why = match errno {
        Some(libc::ENOENT) => "there is no such program here".to_owned(),
        Some(libc::EACCES) => "it is not an executable file".to_owned(),
        Some(errno) => std::io::Error::from_raw_os_error(errno).to_string(),
        None => "it is malformed".to_owned(),
    };
    let missing = errno == Some(libc::ENOENT);
    SandboxError::Program { program: program.to_owned(), why, missing }
}

/// A pipe whose reading end never waits.
pub(crate) fn output_pipe() -> Result<(OwnedFd, OwnedFd), Errno> {
    let (read, write) = rustix::pipe::pipe_with(PipeFlags::CLOEXEC)?;
    let _ = rustix::pipe::fcntl_setpipe_size(&read, PIPE_BYTES);
    let flags = rustix::fs::fcntl_getfl(&read)?;
    rustix::fs::fcntl_setfl(&read, flags | OFlags::NONBLOCK)?;
    Ok((read, write))
}
