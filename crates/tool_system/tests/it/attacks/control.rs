//! The same lines without our confinement, on a project that is thrown away.

use std::io::{BufRead as _, BufReader, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use testkit::Snapshot;

use super::line::Line;
use super::stage::{SOCKETS, Stage, User, listen, run};

const SCRIPT: &str = include_str!("control.sh");
/// Before the directories that a developer has put first.
const SYSTEM_PATH: &str = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";

/// Runs lines in namespaces of their own, where nothing but a copy of the project can be written.
pub(crate) struct Control {
    stage: Stage,
    fresh: Snapshot,
    child: Child,
    input: ChildStdin,
    output: BufReader<ChildStdout>,
}

impl Control {
    /// Runs them as root where that is possible, since a control shows that a line can work at all.
    pub(crate) fn new() -> Control {
        let user = User::all()[0];
        let stage = Stage::unprobed(user);
        let template = stage.base().join("template");
        run(Command::new("cp").arg("-a").arg(stage.project.root()).arg(&template));
        let fresh = Snapshot::of(&template);
        let mut unshare = Command::new("unshare");
        unshare.arg("--mount");
        if user == User::Ordinary {
            unshare.args(["--user", "--map-root-user"]);
        }
        unshare.args(["bash", "-c", SCRIPT, "control"]).arg(stage.base());
        let others = std::env::var("PATH").unwrap_or_default();
        unshare.env("PATH", format!("{SYSTEM_PATH}:{others}"));
        let mut child = unshare.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().expect("bash");
        let input = child.stdin.take().expect("a pipe");
        let output = BufReader::new(child.stdout.take().expect("a pipe"));
        Control { stage, fresh, child, input, output }
    }

    /// What a line changes in a fresh project.
    pub(crate) fn changes(&mut self, line: &Line) -> Vec<String> {
        self.send("");
        let project = self.project();
        let talks = line.text.contains("sock'").then(|| {
            SOCKETS.iter().for_each(|name| listen(&project, name));
            Snapshot::of(&project)
        });
        self.send(&line.control);
        let before = talks.as_ref().unwrap_or(&self.fresh);
        before.differences_to_copy(&Snapshot::of(&project))
    }

    fn send(&mut self, line: &str) {
        self.input.write_all(line.as_bytes()).expect("a pipe");
        self.input.write_all(b"\0").expect("a pipe");
        let mut done = String::new();
        self.output.read_line(&mut done).expect("a pipe");
        assert_eq!(done, "done\n", "{line}");
    }

    /// The project as the lines see it, in their view of the file systems.
    fn project(&self) -> PathBuf {
        let view = Path::new("/proc").join(self.child.id().to_string()).join("root");
        let path = self.stage.project.root().strip_prefix("/").expect("an absolute path");
        view.join(path)
    }
}

impl Drop for Control {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Whether a program can be started by its name.
pub(crate) fn is_there(program: &str) -> bool {
    let mut which = Command::new("sh");
    which.args(["-c", &format!("command -v {program}")]).stdout(Stdio::null());
    which.status().is_ok_and(|status| status.success())
}
