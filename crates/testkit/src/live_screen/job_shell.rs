//! A shell with job control between the terminal and the program.
//!
//! The kernel ignores requests of a terminal to stop a group of processes that no shell could continue. So
//! what Ctrl-Z does can only be tested below a real shell, which tells here when its job has stopped.

use std::ffi::OsString;
use std::fs::File;
use std::io::{Read as _, Write as _};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::{CWD, FileType, Mode, OFlags, mknodat, open};
use tempfile::TempDir;

/// Runs the job in the foreground. Each time it stops, a line is written to the first pipe and one is awaited from
/// the second, which is printed if there is anything in it, before the job is continued. 147 and 148 are how shells tell of SIGSTOP and SIGTSTP.
const SCRIPT: &str = r#"
report=$1 orders=$2
shift 2
set -m
"$@"
code=$?
while [ $code = 147 ] || [ $code = 148 ]; do
    echo stopped >"$report"
    read -r words <"$orders"
    [ -z "$words" ] || echo "$words"
    fg >/dev/null
    code=$?
done
exit $code
"#;

/// The pipes to such a shell.
#[derive(Debug)]
pub(super) struct JobShell {
    directory: TempDir,
    report: File,
    orders: File,
}

impl JobShell {
    pub(super) fn new() -> Self {
        let directory = tempfile::tempdir().expect("a temporary directory");
        // Opened for both ways, so that neither side waits for the other.
        let pipe = |name: &str| {
            let path = directory.path().join(name);
            mknodat(CWD, &path, FileType::Fifo, Mode::RUSR | Mode::WUSR, 0).expect("a named pipe");
            let flags = OFlags::RDWR | OFlags::CLOEXEC;
            File::from(open(&path, flags, Mode::empty()).expect("a named pipe can be opened"))
        };
        let (report, orders) = (pipe("report"), pipe("orders"));
        Self { directory, report, orders }
    }

    /// What to write before the program and its arguments.
    pub(super) fn arguments(&self) -> Vec<OsString> {
        let path = |name: &str| self.directory.path().join(name).into_os_string();
        vec!["sh".into(), "-c".into(), SCRIPT.into(), "sh".into(), path("report"), path("orders")]
    }

    /// Whether the job has stopped within this time.
    pub(super) fn wait_stopped(&self, patience: &Timespec) -> bool {
        let mut ready = [PollFd::new(&self.report, PollFlags::IN)];
        let has_come = poll(&mut ready, Some(patience)).is_ok_and(|count| count > 0);
        let mut line = [0; b"stopped\n".len()];
        has_come && (&self.report).read_exact(&mut line).is_ok()
    }

    /// Has the job continued after the shell has printed a line, or nothing.
    pub(super) fn resume(&self, words: &str) {
        (&self.orders)
            .write_all(format!("{words}\n").as_bytes())
            .expect("a pipe has room for a line");
    }
}
