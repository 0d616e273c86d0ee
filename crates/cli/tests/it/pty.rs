//! The binary with a real pseudo-terminal, and a user who types into it.

use std::fs::File;
use std::io::{Read as _, Write as _};
use std::os::fd::{AsFd as _, OwnedFd};
use std::process::{Child, Command, Stdio};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::{Mode, OFlags, open};
use rustix::process::{Pid, PidfdFlags, pidfd_open};
use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
use testkit::Fixture;

use crate::run::command;

/// How long a terminal may be silent: much longer than anything takes on a busy machine.
const PATIENCE: Timespec = Timespec { tv_sec: 90, tv_nsec: 0 };

/// A run of the binary whose questions and answers go through a terminal.
pub(crate) struct Session {
    terminal: File,
    child: Child,
    pub(crate) seen: String,
    /// How much of it has been waited for.
    passed: usize,
}

/// Where standard output goes.
#[derive(Clone, Copy, PartialEq)]
pub(crate) enum Output {
    /// To the one who calls.
    Piped,
    /// To the terminal, like everything else.
    Terminal,
}

impl Session {
    pub(crate) fn start(project: &Fixture, arguments: &[&str], output: Output) -> Self {
        let mut command = command(None);
        command.env("XDG_STATE_HOME", project.root().with_file_name("state"));
        command.env("EDITOR", format!("sh {}", project.path("../editor.sh").display()));
        command.args(arguments).arg("--root").arg(project.root());
        Self::spawn(command, output)
    }

    /// Starts a command that the test has put together.
    pub(crate) fn spawn(mut command: Command, output: Output) -> Self {
        let controller =
            openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY | OpenptFlags::CLOEXEC).unwrap();
        grantpt(&controller).unwrap();
        unlockpt(&controller).unwrap();
        let name = ptsname(&controller, Vec::new()).unwrap();
        let user: OwnedFd =
            open(name.as_c_str(), OFlags::RDWR | OFlags::NOCTTY | OFlags::CLOEXEC, Mode::empty())
                .unwrap();
        command.env("NO_COLOR", "1").env("PATH", "/usr/bin:/bin");
        if !command.get_envs().any(|(name, _)| name == "TERM") {
            command.env("TERM", "xterm");
        }
        let terminal = || Stdio::from(user.as_fd().try_clone_to_owned().unwrap());
        command.stdin(terminal()).stderr(terminal());
        command.stdout(match output {
            Output::Piped => Stdio::piped(),
            Output::Terminal => terminal(),
        });
        let child = command.spawn().unwrap();
        // What the command holds of the terminal must go, or its end would never be seen.
        drop((command, user));
        Self { terminal: File::from(controller), child, seen: String::new(), passed: 0 }
    }

    /// Waits until the terminal shows `text` after what was waited for before.
    pub(crate) fn wait_for(&mut self, text: &str) {
        loop {
            if let Some(at) = self.seen[self.passed..].find(text) {
                self.passed += at + text.len();
                return;
            }
            let mut buffer = [0; 4096];
            let mut ready = [PollFd::new(&self.terminal, PollFlags::IN)];
            let count = poll(&mut ready, Some(&PATIENCE)).unwrap_or(0);
            assert!(count > 0, "{text:?} did not come, and nothing else: {}", self.seen);
            let count = self.terminal.read(&mut buffer).unwrap_or(0);
            assert!(count > 0, "the terminal ended before {text:?}: {}", self.seen);
            self.seen.push_str(&String::from_utf8_lossy(&buffer[..count]));
        }
    }

    /// Types keys.
    pub(crate) fn press(&mut self, keys: &str) {
        self.terminal.write_all(keys.as_bytes()).unwrap();
    }

    /// Waits until the terminal shows `text`, then types `answer`.
    pub(crate) fn answer(&mut self, text: &str, answer: &str) {
        self.wait_for(text);
        self.press(&format!("{answer}\n"));
    }

    /// Closes the terminal as its window does, and waits for the end of the program: its exit code.
    pub(crate) fn hang_up(self) -> i32 {
        let Self { terminal, mut child, seen, .. } = self;
        drop(terminal);
        let process = pidfd_open(Pid::from_child(&child), PidfdFlags::empty()).unwrap();
        let mut ended = [PollFd::new(&process, PollFlags::IN)];
        let count = poll(&mut ended, Some(&PATIENCE)).unwrap_or(0);
        if count == 0 {
            child.kill().unwrap();
            panic!("the program does not end without its terminal: {seen}");
        }
        child.wait().unwrap().code().unwrap()
    }

    /// The exit code and the result.
    pub(crate) fn end(mut self) -> (i32, String) {
        let mut result = String::new();
        if let Some(mut stdout) = self.child.stdout.take() {
            stdout.read_to_string(&mut result).unwrap();
        }
        (self.child.wait().unwrap().code().unwrap(), result)
    }
}
