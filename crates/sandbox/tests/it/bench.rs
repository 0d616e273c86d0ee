//! A project, a user and a sandbox to test with.

use std::collections::BTreeMap;
use std::net::IpAddr;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use protocol::CommandSpec;
use sandbox::{Copy, Profile, ProjectAccess};
use serde_json::{Value, json};
use testkit::Fixture;

/// Who runs the sandbox.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum User {
    Root,
    Unprivileged,
}

const UNPRIVILEGED_ID: &str = "65534";
/// In the environment of whoever starts a sandbox.
pub(crate) const HOST_SECRET: &str = "host-secret-value";

/// The users that this test process can be. A test that is not run as root is an ordinary user.
pub(crate) fn users() -> Vec<User> {
    match rustix::process::geteuid().is_root() {
        true => vec![User::Root, User::Unprivileged],
        false => {
            testkit::left_out("sandboxes of root, since this test is not run by root");
            vec![User::Unprivileged]
        }
    }
}

/// A project with a program for attacks, and what lies outside.
pub(crate) struct Bench {
    pub(crate) project: Fixture,
    pub(crate) user: User,
    pub(crate) profile: Profile,
    /// What names resolve to for commands that may use the network.
    pub(crate) names: BTreeMap<String, Vec<Vec<IpAddr>>>,
    testbed: PathBuf,
    /// Names of directories and files that belong to the private layer.
    pub(crate) private: Vec<&'static str>,
    /// Whether commands on a copy write to the disk.
    pub(crate) disk: bool,
}

impl Bench {
    pub(crate) fn new(user: User, files: &str) -> Bench {
        let project = Fixture::new(files);
        let outside = project.root().parent().expect("the project has a parent").to_owned();
        let set = |path: &Path, mode| {
            let mode = std::fs::Permissions::from_mode(mode);
            std::fs::set_permissions(path, mode).expect("our own file");
        };
        // Others have to be able to reach it, whatever the directory for temporary files is like.
        set(&outside, 0o755);
        let testbed = outside.join("testbed");
        copy_program(env!("CARGO_BIN_EXE_sandbox-testbed").as_ref(), &testbed);
        set(&testbed, 0o755);
        std::fs::write(outside.join("secret"), "not for commands").expect("a file");
        let home = outside.join("home");
        std::fs::create_dir(&home).expect("a directory");
        std::fs::write(home.join(".secret"), "in the home").expect("a file");
        let mut profile = Profile::new(project.root(), &home);
        profile.project = ProjectAccess::Direct;
        let (names, private) = (BTreeMap::new(), Vec::new());
        let bench = Bench { project, user, profile, names, testbed, private, disk: false };
        bench.own(&outside);
        bench
    }

    /// Gives everything to the user.
    pub(crate) fn own(&self, path: &Path) {
        if self.user == User::Unprivileged && rustix::process::geteuid().is_root() {
            let owner = format!("{UNPRIVILEGED_ID}:{UNPRIVILEGED_ID}");
            let status = Command::new("chown").args(["-R", &owner]).arg(path).status();
            assert!(status.expect("chown runs").success());
        }
    }

    pub(crate) fn with_overlay(mut self) -> Bench {
        self.profile.project = ProjectAccess::Copy(Copy::default());
        self
    }

    /// Commands work on a copy; what they write to these names is kept in a private layer.
    pub(crate) fn with_layer(mut self, private: &[&'static str], disk: bool) -> Bench {
        self.disk = disk;
        let layer = Some(self.outside("state/layer"));
        self.profile.project = ProjectAccess::Copy(Copy { layer, ..Copy::default() });
        self.private = private.to_vec();
        self
    }

    /// The path of something beside the project.
    pub(crate) fn outside(&self, name: &str) -> PathBuf {
        self.project.root().parent().expect("the project has a parent").join(name)
    }

    /// Runs a shell script.
    pub(crate) fn sh(&self, script: &str) -> Value {
        self.run(&self.spec(&["/bin/sh", "-c", script]))
    }

    /// Makes an attempt inside.
    pub(crate) fn attempt(&self, arguments: &[&str]) -> Value {
        self.run(&self.attempt_spec(arguments))
    }

    /// The attack program lies in the project, where it can be seen.
    pub(crate) fn attempt_spec(&self, arguments: &[&str]) -> CommandSpec {
        let inside = self.project.path("testbed");
        if !inside.exists() {
            copy_program(&self.testbed, &inside);
            self.own(&inside);
        }
        let path = inside.to_str().expect("a readable path").to_owned();
        let mut argv = vec![path.as_str(), "attempt"];
        argv.extend(arguments);
        self.spec(&argv)
    }

    pub(crate) fn spec(&self, argv: &[&str]) -> CommandSpec {
        CommandSpec {
            argv: argv.iter().map(ToString::to_string).collect(),
            working_dir: ".".into(),
            env: Default::default(),
            stdin: None,
            timeout_ms: 60_000,
            network: false,
            ..CommandSpec::default()
        }
    }

    /// Runs a command in a sandbox of the user and returns what became of it.
    pub(crate) fn run(&self, spec: &CommandSpec) -> Value {
        self.ask(&["run"], spec)
    }

    /// The same on a kernel that refuses to mount overlays.
    pub(crate) fn run_without_overlays(&self, spec: &CommandSpec) -> Value {
        self.ask(&["without-overlays", "run"], spec)
    }

    fn ask(&self, words: &[&str], spec: &CommandSpec) -> Value {
        let (names, private) = (&self.names, &self.private);
        let request = json!({"profile": self.profile, "spec": spec, "names": names, "private": private, "disk": self.disk});
        let request = request.to_string();
        let mut command = self.as_user();
        let output = feed(command.args(words), &request);
        let text = String::from_utf8_lossy(&output.stdout);
        serde_json::from_str(&text).unwrap_or_else(|_| panic!("no answer: {output:?}"))
    }

    /// Makes the same attempt without a sandbox, as root where that is possible, since a control shows
    /// that the attempt can work at all.
    pub(crate) fn control(&self, arguments: &[&str]) -> Output {
        let mut command = Command::new(&self.testbed);
        command.arg("control").args(arguments).current_dir(self.project.root());
        command.output().expect("the control runs")
    }

    /// Where the test program lies.
    pub(crate) fn testbed(&self) -> &Path {
        &self.testbed
    }

    /// The test program, run by the user, with a host environment that must stay outside.
    pub(crate) fn as_user(&self) -> Command {
        let switch = self.user == User::Unprivileged && rustix::process::geteuid().is_root();
        let mut command = match switch {
            true => Bench::as_unprivileged(&self.testbed),
            false => Command::new(&self.testbed),
        };
        command.env("TOOLKILN_HOST_SECRET", HOST_SECRET);
        command
    }

    /// A program, run by an ordinary user, which only root can do.
    pub(crate) fn as_unprivileged(program: &Path) -> Command {
        let mut command = Command::new("setpriv");
        command
            .args(["--reuid", UNPRIVILEGED_ID, "--regid", UNPRIVILEGED_ID, "--clear-groups"])
            .arg(program);
        command
    }
}

fn feed(command: &mut Command, text: &str) -> Output {
    use std::io::Write as _;
    let mut child = command
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the test program starts");
    let mut stdin = child.stdin.take().expect("a pipe");
    stdin.write_all(text.as_bytes()).expect("it reads");
    drop(stdin);
    child.wait_with_output().expect("it ends")
}

/// Whether a process with this in its command line is there.
pub(crate) fn is_running(mark: &str) -> bool {
    let entries = std::fs::read_dir("/proc").expect("there is a /proc");
    entries.flatten().any(|entry| {
        let line = std::fs::read(entry.path().join("cmdline")).unwrap_or_default();
        line.windows(mark.len()).any(|window| window == mark.as_bytes())
    })
}

/// Copies by a process of its own. Were the copy open for writing here, a program that another test
/// starts in this moment would inherit that, and the copy could not be started.
pub(crate) fn copy_program(from: &std::path::Path, to: &std::path::Path) {
    let status = std::process::Command::new("cp").arg("--").arg(from).arg(to).status();
    assert!(status.expect("cp runs").success(), "a copy");
}
