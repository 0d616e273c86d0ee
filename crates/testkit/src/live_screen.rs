//! A program at a real pseudo-terminal, and what a user would see there.
//!
//! The terminal is the program's controlling one, so that keys become signals and a resize is noticed. A
//! thread reads all the time and feeds a screen model; tests wait for what the screen shows. A synchronised
//! update is shown when it is complete, as real terminals do it, so no test sees half a frame.

mod job_shell;
mod shown;
mod terminal_modes;
#[cfg(test)]
mod tests;

use std::fs::File;
use std::io::{Read as _, Write as _};
use std::os::fd::{AsFd as _, OwnedFd};
use std::os::unix::process::ExitStatusExt as _;
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::{Mode, OFlags, fcntl_getfl, fcntl_setfl, open};
pub use rustix::process::Signal;
use rustix::process::{Pid, kill_process};
use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
use rustix::termios::{Action, Termios, Winsize, tcflow, tcgetattr, tcgetpgrp, tcsetwinsize};
pub use vt100::Screen;

use job_shell::JobShell;
use shown::Shown;
pub use terminal_modes::TerminalModes;

/// How long something that must happen may take: much longer than it does on a busy machine.
const PATIENCE: Duration = Duration::from_secs(60);
/// The same for the kernel.
const POLL_PATIENCE: Timespec = Timespec { tv_sec: 60, tv_nsec: 0 };
/// What is read from the terminal at once: as much as the kernel keeps.
const READ_BYTES: usize = 64 * 1024;
/// Signals are told as shells do it: the exit code is this much more than their number.
const SIGNAL_CODE: i32 = 128;

/// A running program and its screen. The program is killed on drop.
///
/// ```
/// use std::process::Command;
/// use testkit::LiveScreen;
///
/// let mut command = Command::new("sh");
/// command.args(["-c", "printf 'Who? '; read name; echo \"Hello $name\""]);
/// let mut screen = LiveScreen::start(&command, 40, 5);
/// screen.wait_until(|screen| screen.contents().contains("Who?"));
/// screen.press("Kiln\r");
/// assert_eq!(screen.wait_exit(), 0);
/// assert_eq!(screen.text(), "Who? Kiln\nHello Kiln");
/// ```
#[derive(Debug)]
pub struct LiveScreen {
    controller: File,
    shared: Arc<LiveShared>,
    process: Pid,
    before: TerminalModes,
    job: Option<JobShell>,
}

/// What the threads share: one reads the terminal, one waits for the program.
struct LiveShared {
    state: Mutex<LiveState>,
    changed: Condvar,
}

impl std::fmt::Debug for LiveShared {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("LiveShared").finish_non_exhaustive()
    }
}

struct LiveState {
    shown: Shown,
    /// The program's side of the terminal, kept until it exits: without it, modes could not be asked for.
    user: Option<OwnedFd>,
    /// The modes when it exited.
    at_end: Option<Termios>,
    exit: Option<i32>,
    /// No process has the terminal open any more, and everything that was written is on the screen.
    is_drained: bool,
}

impl LiveScreen {
    /// Starts a program at a terminal of this size. Its environment is what `command` names, with
    /// `TERM` and `PATH` added if they are missing; nothing is inherited.
    #[track_caller]
    pub fn start(command: &Command, columns: u16, rows: u16) -> Self {
        Self::spawn(command, columns, rows, None)
    }

    /// The same below a shell with job control, which is needed for [`Self::stop`] and
    /// [`Self::resume`]: the kernel does not let a terminal stop programs that have no shell.
    #[track_caller]
    pub fn start_as_job(command: &Command, columns: u16, rows: u16) -> Self {
        Self::spawn(command, columns, rows, Some(JobShell::new()))
    }

    #[track_caller]
    fn spawn(command: &Command, columns: u16, rows: u16, job: Option<JobShell>) -> Self {
        let (controller, user) = open_terminal();
        tcsetwinsize(&controller, window(columns, rows)).expect("a terminal has a size");
        let modes = tcgetattr(&user).expect("a terminal has modes");
        let shown = Shown::new(columns, rows);
        let before = TerminalModes::new(&modes, &shown);
        let child = start_in_session(command, &user, job.as_ref());
        let process = Pid::from_child(&child);
        let state =
            LiveState { shown, user: Some(user), at_end: None, exit: None, is_drained: false };
        let shared = Arc::new(LiveShared { state: Mutex::new(state), changed: Condvar::new() });
        let (reading, waiting) = (Arc::clone(&shared), Arc::clone(&shared));
        let read_side = controller.try_clone().expect("a descriptor can be copied");
        thread::spawn(move || read_all(read_side, &reading));
        thread::spawn(move || wait_for_end(child, &waiting));
        Self { controller, shared, process, before, job }
    }

    /// Waits until the screen, without what has scrolled out of it, is as wanted.
    #[track_caller]
    pub fn wait_until(&mut self, mut wanted: impl FnMut(&Screen) -> bool) {
        self.wait("the screen does not become what the test waits for", |state| {
            wanted(state.shown.screen())
        });
    }

    /// Waits until `text` is on the screen or has scrolled out of it.
    #[track_caller]
    pub fn wait_for(&mut self, text: &str) {
        self.wait(&format!("{text:?} does not come"), |state| state.shown.text().contains(text));
    }

    /// Looks at the screen as it is.
    pub fn look<T>(&self, look: impl FnOnce(&Screen) -> T) -> T {
        look(self.lock().shown.screen())
    }

    /// What has scrolled out of the screen and what it shows, without blanks at the end of lines and without
    /// blank lines at the end.
    pub fn text(&self) -> String {
        self.lock().shown.text()
    }

    /// The row and column of the cursor, from 0.
    pub fn cursor(&self) -> (u16, u16) {
        self.look(Screen::cursor_position)
    }

    /// How many bytes the program has written.
    pub fn bytes(&self) -> u64 {
        self.lock().shown.bytes()
    }

    /// How often the program has rung the bell.
    pub fn bells(&self) -> usize {
        self.lock().shown.bells()
    }

    /// Has the terminal take nothing more from the program, which waits in its next write, or take it again.
    #[track_caller]
    pub fn hold_output(&self, is_held: bool) {
        let action = if is_held { Action::OOff } else { Action::OOn };
        let state = self.lock();
        let user = state.user.as_ref().expect("the program runs");
        tcflow(user, action).expect("a terminal can be held");
    }

    /// What the program has written since the last call, byte by byte: up to 8 MB, the first of it.
    pub fn take_written(&mut self) -> Vec<u8> {
        self.lock().shown.take_written()
    }

    /// Waits until what [`Self::take_written`] would give is as wanted.
    #[track_caller]
    pub fn wait_written(&mut self, mut wanted: impl FnMut(&[u8]) -> bool) {
        self.wait("the program does not write what the test waits for", |state| {
            wanted(state.shown.written())
        });
    }

    /// The sizes in bytes of the synchronised updates since the last call, marks included.
    pub fn take_updates(&mut self) -> Vec<usize> {
        self.lock().shown.take_updates()
    }

    /// Types keys.
    #[track_caller]
    pub fn press(&mut self, keys: &str) {
        let mut left = keys.as_bytes();
        while !left.is_empty() {
            let mut ready = [PollFd::new(&self.controller, PollFlags::OUT)];
            let count = poll(&mut ready, Some(&POLL_PATIENCE)).unwrap_or(0);
            assert!(count > 0, "the program does not read its keys\n{}", self.drawn());
            match self.controller.write(left) {
                Ok(written) => left = &left[written..],
                Err(error) if error.kind() == std::io::ErrorKind::WouldBlock => {}
                Err(error) => panic!("the terminal takes no keys: {error}\n{}", self.drawn()),
            }
        }
    }

    /// Pastes text, in brackets if the program has asked for them, as terminals do it: line breaks are sent
    /// as the key Enter sends them.
    #[track_caller]
    pub fn paste(&mut self, text: &str) {
        let text = text.replace("\r\n", "\r").replace('\n', "\r");
        match self.look(Screen::bracketed_paste) {
            true => self.press(&format!("\x1b[200~{text}\x1b[201~")),
            false => self.press(&text),
        }
    }

    /// Gives the terminal another size, of which the kernel tells the program.
    pub fn resize(&mut self, columns: u16, rows: u16) {
        // Whatever is drawn for the new size must find it.
        self.lock().shown.resize(columns, rows);
        tcsetwinsize(&self.controller, window(columns, rows)).expect("a terminal has a size");
    }

    /// The process that has the terminal: the program, also if it runs below a shell.
    #[track_caller]
    pub fn process(&self) -> Pid {
        match self.job {
            Some(_) => tcgetpgrp(&self.controller).expect("a group of processes has the terminal"),
            None => self.process,
        }
    }

    /// Sends a signal to the program.
    #[track_caller]
    pub fn signal(&self, signal: Signal) {
        assert!(self.lock().exit.is_none(), "the program has ended\n{}", self.drawn());
        kill_process(self.process(), signal).expect("the program runs");
    }

    /// Asks the program to stop, and waits until it has. What it has started is left alone: a program that is just
    /// starting another one could not stop before that one has begun, which would never be if it was stopped too.
    #[track_caller]
    pub fn stop(&mut self) {
        self.signal(Signal::TSTP);
        self.wait_stopped();
    }

    /// Waits until the program has stopped: its shell sees that and has the terminal again.
    #[track_caller]
    pub fn wait_stopped(&mut self) {
        let job = self.job.as_ref().expect("started by `start_as_job`");
        assert!(job.wait_stopped(&POLL_PATIENCE), "the program does not stop\n{}", self.drawn());
    }

    /// Brings a stopped program back to the foreground, as `fg` does. Until the program shows something,
    /// keys that become signals may still reach its shell.
    #[track_caller]
    pub fn resume(&mut self) {
        self.resume_after("");
    }

    /// The same after the shell has printed a line.
    #[track_caller]
    pub fn resume_after(&mut self, words: &str) {
        self.job.as_ref().expect("started by `start_as_job`").resume(words);
    }

    /// The modes of the terminal, or those that the program left behind if it has ended.
    #[track_caller]
    pub fn modes(&self) -> TerminalModes {
        let state = self.lock();
        let now = state.user.as_ref().map(|user| tcgetattr(user).expect("a terminal has modes"));
        let modes = now.or_else(|| state.at_end.clone()).expect("modes are kept at the end");
        TerminalModes::new(&modes, &state.shown)
    }

    /// How the modes differ from those before the start, such as `-icanon`; empty if they do not.
    #[track_caller]
    pub fn changed_modes(&self) -> Vec<String> {
        self.modes().changes_since(&self.before)
    }

    /// Waits for the end of the program and of its output. A program that a signal has ended has the exit
    /// code that shells give it: 128 more than the signal's number.
    #[track_caller]
    pub fn wait_exit(&mut self) -> i32 {
        self.wait("the program does not end", |state| state.exit.is_some() && state.is_drained);
        self.lock().exit.unwrap_or_default()
    }

    #[track_caller]
    fn wait(&mut self, problem: &str, mut come: impl FnMut(&mut LiveState) -> bool) {
        let deadline = Instant::now() + PATIENCE;
        let mut state = self.lock();
        while !come(&mut state) {
            let is_over = state.exit.is_some() && state.is_drained;
            let left = deadline.saturating_duration_since(Instant::now());
            if is_over || left.is_zero() {
                drop(state);
                panic!("{problem}\n{}", self.drawn());
            }
            let waiting = self.shared.changed.wait_timeout(state, left);
            state = waiting.unwrap_or_else(PoisonError::into_inner).0;
        }
    }

    /// Everything about the screen that explains a failure.
    fn drawn(&self) -> String {
        let state = self.lock();
        let end = state.exit.map_or("runs".to_owned(), |code| format!("has ended with {code}"));
        format!("The program {end}. {}", state.shown.drawn())
    }

    fn lock(&self) -> MutexGuard<'_, LiveState> {
        self.shared.lock()
    }
}

impl LiveShared {
    /// A panic of a test is that test's failure and must not become another one here.
    fn lock(&self) -> MutexGuard<'_, LiveState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for LiveScreen {
    fn drop(&mut self) {
        let state = self.lock();
        if state.exit.is_none() {
            if let Ok(foreground) = tcgetpgrp(&self.controller) {
                let _ = kill_process(foreground, Signal::KILL);
            }
            let _ = kill_process(self.process, Signal::KILL);
        }
    }
}

fn window(columns: u16, rows: u16) -> Winsize {
    Winsize { ws_row: rows, ws_col: columns, ws_xpixel: 0, ws_ypixel: 0 }
}

/// Both sides of a new terminal. The controller's side does not block.
fn open_terminal() -> (File, OwnedFd) {
    let controller = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY | OpenptFlags::CLOEXEC)
        .expect("there are pseudo-terminals");
    grantpt(&controller).expect("the terminal is ours");
    unlockpt(&controller).expect("the terminal is ours");
    let name = ptsname(&controller, Vec::new()).expect("a terminal has a name");
    let flags = OFlags::RDWR | OFlags::NOCTTY | OFlags::CLOEXEC;
    let user = open(name.as_c_str(), flags, Mode::empty()).expect("the terminal can be opened");
    let flags = fcntl_getfl(&controller).expect("a descriptor has flags");
    fcntl_setfl(&controller, flags | OFlags::NONBLOCK).expect("a descriptor has flags");
    (File::from(controller), user)
}

/// Starts the program as the leader of a session with this terminal, or below a shell that is it.
/// `setsid` replaces itself by the program, so the process is the program's own.
#[track_caller]
fn start_in_session(command: &Command, user: &OwnedFd, job: Option<&JobShell>) -> Child {
    // Not by the program's `PATH`, which may be without it.
    let places = ["/usr/bin/setsid", "/bin/setsid"];
    let setsid = places.iter().find(|path| std::path::Path::new(path).exists());
    let mut start = Command::new(setsid.unwrap_or(&"setsid"));
    start.arg("--ctty").env_clear();
    start.env("TERM", "xterm-256color").env("PATH", "/usr/local/bin:/usr/bin:/bin");
    if let Some(job) = job {
        start.args(job.arguments());
    }
    start.arg(command.get_program()).args(command.get_args());
    for (name, value) in command.get_envs() {
        match value {
            Some(value) => start.env(name, value),
            None => start.env_remove(name),
        };
    }
    if let Some(directory) = command.get_current_dir() {
        start.current_dir(directory);
    }
    let terminal = || Stdio::from(user.as_fd().try_clone_to_owned().expect("a copy"));
    start.stdin(terminal()).stdout(terminal()).stderr(terminal());
    start.spawn().unwrap_or_else(|error| panic!("cannot start {command:?} by setsid: {error}"))
}

/// Feeds the screen until no process has the terminal open.
fn read_all(mut controller: File, shared: &LiveShared) {
    let mut buffer = vec![0; READ_BYTES];
    loop {
        let mut ready = [PollFd::new(&controller, PollFlags::IN)];
        // Only an interruption can end the wait early, and then there is nothing to read yet.
        let _ = poll(&mut ready, None);
        match controller.read(&mut buffer) {
            Ok(count @ 1..) => shared.lock().shown.feed(&buffer[..count]),
            Err(error) if error.kind() == std::io::ErrorKind::WouldBlock => continue,
            Err(error) if error.kind() == std::io::ErrorKind::Interrupted => continue,
            // The kernel says "input/output error" when the other side is closed.
            Ok(_) | Err(_) => break,
        }
        shared.changed.notify_all();
    }
    let mut state = shared.lock();
    state.shown.end();
    state.is_drained = true;
    shared.changed.notify_all();
}

fn wait_for_end(mut child: Child, shared: &LiveShared) {
    let status = child.wait().expect("a child can be waited for");
    let signal = status.signal().map_or(0, |signal| SIGNAL_CODE + signal);
    let mut state = shared.lock();
    state.exit = Some(status.code().unwrap_or(signal));
    if let Some(user) = state.user.take() {
        state.at_end = tcgetattr(user).ok();
    }
    shared.changed.notify_all();
}
