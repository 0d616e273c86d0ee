//! One run of a command, seen from outside: start, read, wait, end everything.

use std::fs::File;
use std::io::Write as _;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::process::Child;
use std::time::{Duration, Instant};

use protocol::CommandSpec;
use rustix::event::{PollFd, PollFlags, Timespec};
use rustix::fs::{MemfdFlags, OFlags, SeekFrom};
use rustix::io::Errno;
use rustix::pipe::PipeFlags;
use rustix::process::Signal;

use crate::changes::Changes;
use crate::channel::{Channel, ChannelError};
use crate::entry::HELPER;
use crate::error::{SandboxError, io, unavailable};
use crate::launcher::Output;
use crate::output::{Keeper, OutputChunk, Stream};
use crate::place_holders::PlaceHolders;
use crate::plan::{Part, Plan, Report};
use crate::ran::{Exit, LevelReport, LimitKind, MemoryScope, Ran};
use crate::sandbox::{RunOptions, Sandbox};

/// Large pipes save changes between processes; the kernel may refuse, and then they are smaller.
const PIPE_BYTES: usize = 1 << 20;
const BUFFER_BYTES: usize = 1 << 18;

/// What belongs to one run.
pub(crate) struct Run<'a> {
    pub(crate) sandbox: &'a Sandbox,
    pub(crate) spec: &'a CommandSpec,
    pub(crate) plan: Plan,
    pub(crate) options: RunOptions<'a>,
}

pub(crate) fn run(
    mut run: Run<'_>,
    on_output: impl FnMut(OutputChunk<'_>),
) -> Result<Ran, SandboxError> {
    let sandbox = run.sandbox;
    let begun = Instant::now();
    let is_copy = run.plan.setting.project.overlay.is_some();
    let places = match is_copy {
        true => None,
        false => Some(PlaceHolders::hold(&sandbox.root, &sandbox.profile.protected)?),
    };
    let group = match &sandbox.groups {
        Ok(groups) => {
            let taken = groups.take(&sandbox.profile.limits);
            Some((groups, taken.map_err(io("making a control group"))?))
        }
        Err(_) => None,
    };
    run.plan.join = group.iter().map(|(_, group)| group.join_file()).collect();
    let kills_before = group.as_ref().map_or(0, |(_, group)| group.memory_kills());
    let outcome = Watch::start(&mut run, begun).and_then(|watch| watch.to_the_end(on_output));
    let memory = if group.is_some() { MemoryScope::Tree } else { MemoryScope::Process };
    let memory_kills = group.map_or(0, |(groups, group)| {
        let kills = group.memory_kills().saturating_sub(kills_before);
        groups.give_back(group);
        kills
    });
    drop(places);
    let outcome = outcome?;
    let changed = match outcome.upper {
        Some(upper) => {
            let project = sandbox.root.try_clone().map_err(io("keeping the project"))?;
            Some(Changes::new(upper, project, &sandbox.profile.protected))
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
        changed,
        level: LevelReport {
            landlock: (outcome.landlock > 0).then_some(outcome.landlock),
            network: run.spec.network,
            memory,
            uid: run.plan.setting.identity.uid,
            overlay: is_copy,
        },
    })
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
struct Outcome {
    exit: Exit,
    stdout: Keeper,
    stderr: Keeper,
    duration: Duration,
    left_behind: bool,
    upper: Option<OwnedFd>,
    landlock: u32,
}

/// A running command.
struct Watch<'a> {
    helper: Child,
    channel: Channel,
    cancel: Option<BorrowedFd<'a>>,
    stdout: Option<OwnedFd>,
    stderr: Option<OwnedFd>,
    program: &'a str,
    begun: Instant,
    deadline: Instant,
    grace: Duration,
    /// The first process inside, once it is there.
    first: Option<OwnedFd>,
    outcome: Outcome,
    ended: bool,
}

impl<'a> Watch<'a> {
    fn start(run: &mut Run<'a>, begun: Instant) -> Result<Watch<'a>, SandboxError> {
        let sandbox = run.sandbox;
        let system = |errno: Errno| io("starting a command")(errno.into());
        let (channel, theirs) = Channel::pair().map_err(system)?;
        let (stdout, stdout_end) = output_pipe().map_err(system)?;
        let (stderr, stderr_end) = output_pipe().map_err(system)?;
        let output = Output { stdout: stdout_end, stderr: stderr_end };
        let helper = sandbox.launcher.start(HELPER, theirs, Some(output))?;
        let room = sandbox.profile.limits.output_bytes;
        let watch = Watch {
            helper,
            channel,
            cancel: run.options.cancel.map(AsFd::as_fd),
            stdout: Some(stdout),
            stderr: Some(stderr),
            program: run.spec.argv.first().map_or("", String::as_str),
            begun,
            deadline: begun + Duration::from_millis(run.spec.timeout_ms),
            grace: sandbox.profile.limits.grace,
            first: None,
            outcome: Outcome {
                exit: Exit::Timeout,
                stdout: Keeper::new(room),
                stderr: Keeper::new(room),
                duration: Duration::ZERO,
                left_behind: false,
                upper: None,
                landlock: 0,
            },
            ended: false,
        };
        watch.send_order(run)?;
        Ok(watch)
    }

    fn send_order(&self, run: &mut Run<'_>) -> Result<(), SandboxError> {
        let sandbox = run.sandbox;
        let bytes = serde_json::to_vec(&run.plan)
            .map_err(|error| io("writing the plan")(error.into()))?;
        let plan = memory_file("plan", &bytes).map_err(io("writing the plan"))?;
        let stdin = match (run.options.stdin.take(), &run.spec.stdin) {
            (Some(fd), _) => Some(fd),
            (None, Some(text)) => {
                Some(memory_file("stdin", text.as_bytes()).map_err(io("writing the input"))?)
            }
            (None, None) => None,
        };
        let mut descriptors = vec![plan.as_fd(), sandbox.root.as_fd()];
        descriptors.extend(sandbox.owners.as_ref().map(AsFd::as_fd));
        descriptors.extend(stdin.as_ref().map(AsFd::as_fd));
        let sent = self.channel.send(&sandbox.owners.is_some(), &descriptors);
        sent.map_err(|error| {
            unavailable(Part::Launch, "sending the order".to_owned(), error.errno())
        })
    }

    /// Waits for the end of the command and of its output, and ends what is left.
    fn to_the_end(
        mut self,
        mut on_output: impl FnMut(OutputChunk<'_>),
    ) -> Result<Outcome, SandboxError> {
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
        }
        if !self.ended {
            self.outcome.duration = self.begun.elapsed();
        }
        self.end_everything();
        self.read(&mut buffer, &mut on_output);
        Ok(self.finish())
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

    fn wait(&self) -> Ready {
        let left = self.deadline.saturating_duration_since(Instant::now());
        let timeout = Timespec {
            tv_sec: i64::try_from(left.as_secs()).unwrap_or(i64::MAX),
            tv_nsec: left.subsec_nanos().into(),
        };
        let outputs = [self.stdout.as_ref(), self.stderr.as_ref()];
        let mut fds: Vec<PollFd<'_>> = Vec::with_capacity(4);
        let input = PollFlags::IN;
        // After the command's end nothing more is said, and the helper may be gone.
        fds.extend((!self.ended).then(|| PollFd::new(&self.channel, input)));
        let outputs_from = fds.len();
        fds.extend(outputs.into_iter().flatten().map(|fd| PollFd::new(fd, input)));
        let cancel_from = fds.len();
        fds.extend(self.cancel.map(|fd| PollFd::from_borrowed_fd(fd, input)));
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
        let failure = match self.channel.receive::<Report>() {
            Ok((Report::Ready { landlock }, descriptors)) => {
                let mut descriptors = descriptors.into_iter();
                self.first = descriptors.next();
                self.outcome.upper = descriptors.next();
                self.outcome.landlock = landlock;
                return Ok(());
            }
            Ok((Report::Ended { code, signal }, _)) => {
                self.command_ended(match (code, signal) {
                    (Some(code), _) => Exit::Code(code),
                    (None, signal) => Exit::Signal(signal.unwrap_or(libc::SIGKILL)),
                });
                return Ok(());
            }
            // The first process was killed, and all others with it: memory ran out.
            Err(ChannelError::Closed) if self.first.is_some() => {
                self.command_ended(Exit::Signal(libc::SIGKILL));
                return Ok(());
            }
            Ok((Report::Failed { part, doing, errno }, _)) => unavailable(part, doing, errno),
            Ok((Report::NotStarted { errno }, _)) => not_started(self.program, errno),
            Err(error) => {
                unavailable(Part::Launch, "starting the helper".to_owned(), error.errno())
            }
        };
        self.end_everything();
        Err(failure)
    }

    fn command_ended(&mut self, exit: Exit) {
        self.ended = true;
        self.outcome.exit = exit;
        self.outcome.duration = self.begun.elapsed();
        self.deadline = self.deadline.min(Instant::now() + self.grace);
    }

    /// Reads what is there, without waiting.
    fn read(&mut self, buffer: &mut [u8], on_output: &mut impl FnMut(OutputChunk<'_>)) {
        let streams = [
            (Stream::Stdout, &mut self.stdout, &mut self.outcome.stdout),
            (Stream::Stderr, &mut self.stderr, &mut self.outcome.stderr),
        ];
        for (stream, pipe, keeper) in streams {
            let Some(fd) = pipe.as_ref() else { continue };
            match rustix::io::read(fd, &mut *buffer) {
                Ok(0) => *pipe = None,
                Ok(count) => {
                    let bytes = &buffer[..count];
                    keeper.take(bytes);
                    on_output(OutputChunk { stream, bytes });
                }
                Err(Errno::AGAIN | Errno::INTR) => {}
                Err(_) => *pipe = None,
            }
        }
    }

    /// Kills the first process inside, with which the kernel kills all others, and waits for the
    /// helper, which ends when they are gone.
    fn end_everything(&mut self) {
        let killed = self.first.as_ref().is_some_and(|first| {
            rustix::process::pidfd_send_signal(first, Signal::KILL)
                .is_ok_and(|()| true)
        });
        if !killed && self.first.is_none() {
            let _ = self.helper.kill();
        }
        let _ = self.helper.wait();
    }

    fn finish(self) -> Outcome {
        self.outcome
    }
}

#[derive(Default)]
struct Ready {
    report: bool,
    output: bool,
    cancelled: bool,
}

fn not_started(program: &str, errno: Option<i32>) -> SandboxError {
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
fn output_pipe() -> Result<(OwnedFd, OwnedFd), Errno> {
    let (read, write) = rustix::pipe::pipe_with(PipeFlags::CLOEXEC)?;
    let _ = rustix::pipe::fcntl_setpipe_size(&read, PIPE_BYTES);
    let flags = rustix::fs::fcntl_getfl(&read)?;
    rustix::fs::fcntl_setfl(&read, flags | OFlags::NONBLOCK)?;
    Ok((read, write))
}

/// A file in memory with these bytes, to be read from the beginning.
fn memory_file(name: &str, bytes: &[u8]) -> std::io::Result<OwnedFd> {
    let mut file = File::from(rustix::fs::memfd_create(name, MemfdFlags::CLOEXEC)?);
    file.write_all(bytes)?;
    rustix::fs::seek(&file, SeekFrom::Start(0))?;
    Ok(file.into())
}
