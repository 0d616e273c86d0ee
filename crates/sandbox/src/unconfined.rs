//! Commands without a sandbox, for operators who run this program in a container or VM.

use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::process::{CommandExt as _, ExitStatusExt as _};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use protocol::CommandSpec;
use rustix::event::{PollFd, PollFlags, Timespec};
use rustix::io::Errno;
use rustix::process::{Pid, PidfdFlags, Signal};

use crate::environment;
use crate::error::{SandboxError, io};
use crate::helper_pool::memory_file;
use crate::output::{Keeper, OutputChunk, Stream};
use crate::profile::Profile;
use crate::ran::{Exit, LevelReport, MemoryScope, NetworkLevel, ProjectLevel, Ran};
use crate::run::{not_started, output_pipe};
use crate::sandbox::{RunOptions, checked_root, checked_working_dir};

/// Read at once of what a command prints; as much as a pipe holds.
const BUFFER_BYTES: usize = 1 << 16;

/// Runs commands of one project as the user we are, with everything that user can see and do. The
/// environment is built from nothing and the time is limited, and that is all.
#[derive(Debug)]
pub struct Unconfined {
    profile: Profile,
}

impl Unconfined {
    /// Only the operator of this program may decide to use this.
    pub fn new(mut profile: Profile) -> Result<Unconfined, SandboxError> {
        profile.root = checked_root(&profile)?;
        Ok(Unconfined { profile })
    }

    /// Runs a command like [`crate::Sandbox::run`], of whose first programs nothing is kept unless one
    /// fails. At its end, what is left of its process group is
    /// killed; a process that left the group is not.
    pub fn run(
        &self,
        spec: &CommandSpec,
        options: RunOptions<'_>,
        mut on_output: impl FnMut(OutputChunk<'_>),
    ) -> Result<Ran, SandboxError> {
        for argv in &spec.first {
            let (argv, first, stdin) = (argv.clone(), Vec::new(), None);
            let step = CommandSpec { argv, first, stdin, ..spec.clone() };
            let quiet = RunOptions { cancel: options.cancel, ..RunOptions::default() };
            let ran = self.run_one(&step, quiet, &mut on_output)?;
            if ran.exit != Exit::Code(0) {
                return Ok(ran);
            }
        }
        self.run_one(spec, options, &mut on_output)
    }

    fn run_one(
        &self,
        spec: &CommandSpec,
        options: RunOptions<'_>,
        mut on_output: impl FnMut(OutputChunk<'_>),
    ) -> Result<Ran, SandboxError> {
        let begun = Instant::now();
        let system = |errno: Errno| io("starting a command")(errno.into());
        let (stdout, stdout_end) = output_pipe().map_err(system)?;
        let (stderr, stderr_end) = output_pipe().map_err(system)?;
        let mut child = self.start(spec, options.stdin, (stdout_end, stderr_end))?;
        let group = group_of(&child);
        let ended = group
            .ok_or(Errno::SRCH)
            .and_then(|pid| rustix::process::pidfd_open(pid, PidfdFlags::empty()))
            .map_err(system)?;
        let mut watch = Watch {
            pipes: [Some(stdout), Some(stderr)],
            kept: [0, 1].map(|_| Keeper::new(self.profile.limits.output_bytes)),
            buffer: vec![0; BUFFER_BYTES],
        };
        let mut deadline = begun + Duration::from_millis(spec.timeout_ms);
        let mut status: Option<(ExitStatus, Duration)> = None;
        let mut stopped = None;
        while status.is_none() || watch.pipes.iter().any(Option::is_some) {
            let waits =
                [status.is_none().then_some(ended.as_fd()), options.cancel.map(AsFd::as_fd)];
            let ready = watch.wait(&waits, deadline);
            watch.read(&mut on_output);
            if ready[0] && status.is_none() {
                let ended = child.wait().map_err(io("waiting for a command"))?;
                status = Some((ended, begun.elapsed()));
                deadline = deadline.min(Instant::now() + self.profile.limits.grace);
            }
            if ready[1] || Instant::now() >= deadline {
                stopped = Some(if ready[1] { Exit::Cancelled } else { Exit::Timeout });
                break;
            }
        }
        if let Some(group) = group {
            let _ = rustix::process::kill_process_group(group, Signal::KILL);
        }
        let _ = child.wait();
        while watch.read(&mut on_output) {}
        let [stdout, stderr] = watch.kept.map(Keeper::finish);
        let (exit, duration) = match status {
            Some((status, duration)) => (exit_of(status), duration),
            None => (stopped.unwrap_or(Exit::Timeout), begun.elapsed()),
        };
        Ok(Ran {
            exit,
            stdout,
            stderr,
            duration,
            memory_kills: 0,
            left_behind: status.is_some() && stopped.is_some(),
            refused_connections: Vec::new(),
            changed: None,
            level: LevelReport {
                landlock: None,
                network: NetworkLevel::Open,
                unix_sockets: true,
                memory: MemoryScope::Process,
                uid: rustix::process::geteuid().as_raw(),
                project: ProjectLevel::Direct,
                unconfined: true,
            },
        })
    }

    fn start(
        &self,
        spec: &CommandSpec,
        stdin: Option<OwnedFd>,
        (stdout, stderr): (OwnedFd, OwnedFd),
    ) -> Result<Child, SandboxError> {
        let [program, arguments @ ..] = spec.argv.as_slice() else {
            return Err(SandboxError::Command);
        };
        let stdin = match (stdin, &spec.stdin) {
            (Some(fd), _) => Stdio::from(fd),
            (None, Some(text)) => {
                memory_file("stdin", text.as_bytes()).map_err(io("writing the input"))?.into()
            }
            (None, None) => Stdio::null(),
        };
        let mut command = Command::new(program);
        // No proxy of ours is there; without the network, programs are still told that there is none.
        let network = if spec.network { NetworkLevel::Open } else { NetworkLevel::None };
        let env = environment::build(&self.profile, spec, network)?;
        command.args(arguments).env_clear().envs(env);
        command.current_dir(checked_working_dir(&self.profile, &spec.working_dir)?);
        command.stdin(stdin).stdout(stdout).stderr(stderr).process_group(0);
        command.spawn().map_err(|error| not_started(program, error.raw_os_error()))
    }
}

fn group_of(child: &Child) -> Option<Pid> {
    i32::try_from(child.id()).ok().and_then(Pid::from_raw)
}

fn exit_of(status: ExitStatus) -> Exit {
    match (status.code(), status.signal()) {
        (Some(code), _) => Exit::Code(code),
        (None, signal) => Exit::Signal(signal.unwrap_or(libc::SIGKILL)),
    }
}

/// The output of a running command.
struct Watch {
    pipes: [Option<OwnedFd>; 2],
    kept: [Keeper; 2],
    buffer: Vec<u8>,
}

impl Watch {
    /// Waits for output or for one of `others`, and tells which of those are ready.
    fn wait(
        &self,
        others: &[Option<std::os::fd::BorrowedFd<'_>>; 2],
        deadline: Instant,
    ) -> [bool; 2] {
        let left = deadline.saturating_duration_since(Instant::now());
        let timeout = Timespec {
            tv_sec: i64::try_from(left.as_secs()).unwrap_or(i64::MAX),
            tv_nsec: left.subsec_nanos().into(),
        };
        let mut fds: Vec<PollFd<'_>> = Vec::with_capacity(4);
        for other in others.iter().flatten() {
            fds.push(PollFd::from_borrowed_fd(*other, PollFlags::IN));
        }
        fds.extend(self.pipes.iter().flatten().map(|pipe| PollFd::new(pipe, PollFlags::IN)));
        if rustix::event::poll(&mut fds, Some(&timeout)).is_err() {
            return [false; 2];
        }
        let mut ready = fds.iter().map(|fd| !fd.revents().is_empty());
        others.map(|other| other.is_some() && ready.next().unwrap_or(false))
    }

    /// Reads what is there, without waiting. Returns whether there may be more.
    fn read(&mut self, on_output: &mut impl FnMut(OutputChunk<'_>)) -> bool {
        let mut any = false;
        for (index, stream) in [Stream::Stdout, Stream::Stderr].into_iter().enumerate() {
            let Some(pipe) = &self.pipes[index] else { continue };
            match rustix::io::read(pipe, &mut *self.buffer) {
                Ok(0) => self.pipes[index] = None,
                Ok(count) => {
                    let bytes = &self.buffer[..count];
                    self.kept[index].take(bytes);
                    on_output(OutputChunk { stream, bytes });
                    any = true;
                }
                Err(Errno::AGAIN | Errno::INTR) => {}
                Err(_) => self.pipes[index] = None,
            }
        }
        any
    }
}
