//! A project to attack, and the process of a user that runs calls in it.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::os::unix::fs::PermissionsExt as _;
use std::os::unix::net::UnixListener;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use serde_json::{Value, json};
use testkit::{Fixture, Snapshot};

const PROJECT: &str = include_str!("project.sh");
/// A user id and group id without rights of its own.
const UNPRIVILEGED: &str = "65534";
/// Looks at the output of a job; each waits a moment for something new.
const MOST_LOOKS: usize = 1000;
/// Where processes outside listen, from the root.
pub(crate) const SOCKETS: [&str; 2] = ["target/sock", "src/sock"];

/// The user that runs the executor.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum User {
    Root,
    Ordinary,
}

impl User {
    /// The users that this test process can be. A test that is not run as root is an ordinary user.
    pub(crate) fn all() -> Vec<User> {
        match rustix::process::geteuid().is_root() {
            true => vec![User::Root, User::Ordinary],
            false => {
                testkit::left_out("executors of root, since this test is not run by root");
                vec![User::Ordinary]
            }
        }
    }

    /// Whether root has to become this user first.
    fn is_other(self) -> bool {
        self == User::Ordinary && rustix::process::geteuid().is_root()
    }
}

/// A project of a user, with the directories around it.
pub(crate) struct Stage {
    pub(crate) project: Fixture,
    pub(crate) user: User,
    testbed: PathBuf,
}

impl Stage {
    /// None if this machine cannot confine commands, which is said.
    pub(crate) fn new(user: User) -> Option<Stage> {
        let stage = Stage::unprobed(user);
        let worker = stage.start();
        let ran = worker.map(|mut worker| worker.call("bash", json!({"command": "echo ok"})));
        if ran.as_ref().is_some_and(|ran| ran["ok"]["output"] == "ok\n") {
            return Some(stage);
        }
        testkit::left_out(&format!("{user:?} cannot confine commands here: {ran:?}"));
        None
    }

    /// For what runs no confined command.
    pub(crate) fn unprobed(user: User) -> Stage {
        let project = Fixture::new("");
        let base = project.root().parent().expect("the project has a parent").to_owned();
        let mode = std::fs::Permissions::from_mode(0o755);
        std::fs::set_permissions(&base, mode).expect("our own directory");
        let testbed = base.join("testbed");
        run(Command::new("cp").arg(env!("CARGO_BIN_EXE_tool-system-testbed")).arg(&testbed));
        run(Command::new("bash").args(["-c", PROJECT]).current_dir(project.root()));
        let stage = Stage { project, user, testbed };
        if user.is_other() {
            run(Command::new("chown")
                .args(["-hR", &format!("{UNPRIVILEGED}:{UNPRIVILEGED}")])
                .arg(&base));
        }
        stage
    }

    /// The directory that holds everything of the stage.
    pub(crate) fn base(&self) -> &Path {
        self.project.root().parent().expect("the project has a parent")
    }

    /// Where the executor keeps what is its own.
    pub(crate) fn state(&self) -> PathBuf {
        self.base().join("state")
    }

    /// Processes outside that write into the project for every process that connects to them.
    pub(crate) fn listen(&self) {
        for name in SOCKETS {
            listen(self.project.root(), name);
        }
    }

    /// Everything that no command may change.
    pub(crate) fn snapshot(&self) -> (Snapshot, Snapshot) {
        (Snapshot::of(self.project.root()), Snapshot::of(&self.base().join("elsewhere")))
    }

    /// A process of the user with an executor; none if it does not start.
    pub(crate) fn start(&self) -> Option<Worker> {
        let mut worker = self.spawn();
        (worker.answer()["ok"] == "ready").then_some(worker)
    }

    /// Such a process before it has said anything.
    pub(crate) fn spawn(&self) -> Worker {
        let mut command = match self.user.is_other() {
            true => {
                let mut command = Command::new("setpriv");
                command.args(["--reuid", UNPRIVILEGED, "--regid", UNPRIVILEGED, "--clear-groups"]);
                command.arg(&self.testbed);
                command
            }
            false => Command::new(&self.testbed),
        };
        command.arg("serve").arg(self.project.root()).arg(self.state());
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).current_dir("/");
        let mut child = command.spawn().expect("the test program starts");
        let input = child.stdin.take().expect("a pipe");
        let output = BufReader::new(child.stdout.take().expect("a pipe"));
        Worker { child, input, output }
    }
}

/// What was changed, one line for each path.
pub(crate) fn differences(
    before: &(Snapshot, Snapshot),
    after: &(Snapshot, Snapshot),
) -> Vec<String> {
    let mut found = before.0.differences(&after.0);
    found.extend(before.1.differences(&after.1));
    found
}

/// Listens in a project and writes there for every process that connects.
pub(crate) fn listen(project: &Path, name: &str) {
    let (socket, served) = (project.join(name), project.join("served"));
    let _ = std::fs::remove_file(&socket);
    let listener = UnixListener::bind(&socket).expect("a socket");
    let mode = std::fs::Permissions::from_mode(0o777);
    std::fs::set_permissions(&socket, mode).expect("our own socket");
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let Ok(mut stream) = stream else { return };
            let _ = stream.read(&mut [0]);
            let _ = std::fs::write(&served, "x");
            let _ = stream.write_all(b"x");
        }
    });
}

/// A process that runs calls, one after the other.
pub(crate) struct Worker {
    pub(crate) child: Child,
    pub(crate) input: ChildStdin,
    pub(crate) output: BufReader<ChildStdout>,
}

impl Worker {
    /// Runs a call: `{"ok": …}` or `{"error": …}`.
    pub(crate) fn call(&mut self, tool: &str, arguments: Value) -> Value {
        writeln!(self.input, "{}", json!({"tool": tool, "arguments": arguments})).expect("a pipe");
        self.answer()
    }

    /// Runs a job until it has ended, or has done nothing for long.
    pub(crate) fn job(&mut self, command: &str) -> Value {
        let started = self.call("job", json!({"action": "start", "command": command}));
        let Some(id) = started["ok"]["id"].as_str() else { return started };
        let mut output = String::new();
        let mut cursor = 0;
        for _ in 0..MOST_LOOKS {
            let look = self.call("job", json!({"action": "output", "id": id, "cursor": cursor}));
            output += look["ok"]["output"].as_str().unwrap_or_default();
            cursor = look["ok"]["cursor"].as_u64().unwrap_or_default();
            if look["ok"]["running"] == false {
                break;
            }
        }
        self.call("job", json!({"action": "stop", "id": id}));
        json!({"ok": {"output": output}})
    }

    fn answer(&mut self) -> Value {
        let mut line = String::new();
        self.output.read_line(&mut line).expect("a pipe");
        serde_json::from_str(&line).unwrap_or_else(|_| panic!("no answer: {line:?}"))
    }
}

impl Drop for Worker {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Runs a program that must succeed.
#[track_caller]
pub(crate) fn run(command: &mut Command) {
    let output = command.stdin(Stdio::null()).output().expect("it starts");
    assert!(output.status.success(), "{command:?}: {output:?}");
}
