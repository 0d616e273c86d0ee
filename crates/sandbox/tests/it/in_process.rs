//! The sandbox as a library, in this process.

use std::io::{Read as _, Write as _};
use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};

use protocol::CommandSpec;
use rustix::process::Signal;
use sandbox::{
    Access, Canceller, Copy, Exit, Launcher, Profile, ProjectAccess, RunOptions, Sandbox, Visible,
};
use testkit::Fixture;

fn open(project: &Fixture, access: ProjectAccess) -> Sandbox {
    let mut profile = Profile::new(project.root(), "/home/user");
    profile.project = access;
    let launcher = Launcher::at(env!("CARGO_BIN_EXE_sandbox-testbed"));
    Sandbox::new(profile, launcher).expect("a sandbox")
}

fn sh(script: &str) -> CommandSpec {
    CommandSpec {
        argv: ["/bin/sh", "-c", script].map(Into::into).into(),
        working_dir: ".".into(),
        env: Default::default(),
        stdin: None,
        timeout_ms: 60_000,
        network: false,
        ..CommandSpec::default()
    }
}

#[test]
fn a_command_is_ended_from_outside_as_soon_as_it_speaks() {
    let project = Fixture::new("");
    let sandbox = open(&project, ProjectAccess::Direct);
    let cancel = Canceller::new().expect("a handle");
    let options = RunOptions { cancel: Some(&cancel), ..RunOptions::default() };
    let ran = sandbox.run(&sh("echo begun; sleep 1000"), options, |chunk| {
        assert_eq!(chunk.bytes, b"begun\n");
        cancel.cancel();
    });
    let ran = ran.expect("it runs");
    assert_eq!((ran.exit, ran.stdout.text().as_str()), (Exit::Cancelled, "begun\n"));
}

#[test]
fn a_pipe_can_be_the_input_and_an_answer_can_go_into_it() {
    let project = Fixture::new("");
    let sandbox = open(&project, ProjectAccess::Direct);
    let (stdin, write) = std::io::pipe().expect("a pipe");
    let options = RunOptions { stdin: Some(stdin.into()), ..RunOptions::default() };
    let mut write = Some(write);
    let ran = sandbox.run(&sh("echo question; read a; echo got $a; cat"), options, |_| {
        if let Some(mut write) = write.take() {
            write.write_all(b"answer\n").expect("it is read");
        }
    });
    assert_eq!(ran.expect("it runs").stdout.text(), "question\ngot answer\n");
}

/// The next first process is made ready while a command runs, and may be ended with it.
#[test]
fn a_process_that_was_made_ready_and_killed_is_replaced() {
    let project = Fixture::new("");
    let sandbox = open(&project, ProjectAccess::Direct);
    let spare = spare_of(&sandbox, &project);
    spare.signal(Signal::KILL);
    let ran = sandbox.run(&sh("echo next"), RunOptions::default(), |_| {});
    assert_eq!(ran.expect("it runs").stdout.text(), "next\n");
}

/// The end of a killed process takes a while, in which it looks as if it could take an order.
#[test]
fn an_order_that_a_dying_process_was_given_goes_to_the_next() {
    let project = Fixture::new("");
    let sandbox = open(&project, ProjectAccess::Direct);
    let spare = spare_of(&sandbox, &project);
    spare.signal(Signal::STOP);
    std::thread::scope(|scope| {
        let run = scope.spawn(|| {
            let (stdin, mut write) = std::io::pipe().expect("a pipe");
            write.write_all(b"input").expect("it fits");
            drop(write);
            let options = RunOptions { stdin: Some(stdin.into()), ..RunOptions::default() };
            sandbox.run(&sh("echo next; cat"), options, |_| {})
        });
        let helper = spare.parent().expect("it is there");
        // The order has been given when the one for the next command is made.
        other_child(helper, &spare);
        spare.signal(Signal::KILL);
        let ran = run.join().expect("no panic").expect("it runs");
        assert_eq!((ran.exit, ran.stdout.text().as_str()), (Exit::Code(0), "next\ninput"));
    });
}

/// The process that is made ready for the next command while one runs.
fn spare_of(sandbox: &Sandbox, project: &Fixture) -> Process {
    let mark = format!("mark of {}", project.root().display());
    let (stdin, write) = std::io::pipe().expect("a pipe");
    let options = RunOptions { stdin: Some(stdin.into()), ..RunOptions::default() };
    let (mut write, mut spare) = (Some(write), None);
    let ran = sandbox.run(&sh(&format!("echo '{mark}'; cat")), options, |_| {
        let command = processes().find(|process| process.says(&mark)).expect("it runs");
        let first = Process(command.parent().expect("it has a parent"));
        spare = Some(other_child(first.parent().expect("so has this"), &first));
        drop(write.take());
    });
    assert_eq!(ran.expect("it runs").exit, Exit::Code(0));
    let spare = spare.expect("another is made ready");
    // The end of a first process is not waited for by the run.
    let helper = spare.parent().expect("it is there");
    let collected = other_children(helper, &spare).any(|other| other.is_none());
    assert!(collected, "the command's own has ended");
    spare
}

fn other_child(of: i32, than: &Process) -> Process {
    other_children(of, than).flatten().next().expect("there is another")
}

/// Looks again and again, without end for a test.
fn other_children(of: i32, than: &Process) -> impl Iterator<Item = Option<Process>> {
    let looks = std::iter::repeat_with(move || {
        std::thread::yield_now();
        processes().find(|other| other.parent() == Some(of) && other.0 != than.0)
    });
    looks.take(1_000_000)
}

/// A process of this machine.
struct Process(i32);

fn processes() -> impl Iterator<Item = Process> {
    let entries = std::fs::read_dir("/proc").expect("there is a /proc").flatten();
    entries.filter_map(|entry| Some(Process(entry.file_name().to_str()?.parse().ok()?)))
}

impl Process {
    fn signal(&self, signal: Signal) {
        let pid = rustix::process::Pid::from_raw(self.0).expect("a number");
        rustix::process::kill_process(pid, signal).expect("it is there");
    }

    fn says(&self, mark: &str) -> bool {
        let arguments = std::fs::read_to_string(format!("/proc/{}/cmdline", self.0));
        arguments.is_ok_and(|arguments| arguments.contains(mark))
    }

    fn parent(&self) -> Option<i32> {
        let status = std::fs::read_to_string(format!("/proc/{}/status", self.0)).ok()?;
        status.lines().find_map(|line| line.strip_prefix("PPid:")?.trim().parse().ok())
    }
}

#[test]
fn commands_run_at_the_same_time() {
    let project = Fixture::new("");
    let sandbox = open(&project, ProjectAccess::Direct);
    let done = AtomicUsize::new(0);
    std::thread::scope(|scope| {
        for number in 0..8 {
            let (sandbox, done) = (&sandbox, &done);
            scope.spawn(move || {
                let script = format!("echo {number}; echo x > .vscode/no");
                let ran =
                    sandbox.run(&sh(&script), RunOptions::default(), |_| {}).expect("it runs");
                assert_eq!(ran.stdout.text(), format!("{number}\n"));
                assert_ne!(ran.exit, Exit::Code(0), "the name stays protected");
                done.fetch_add(1, Ordering::Relaxed);
            });
        }
    });
    assert_eq!(done.into_inner(), 8);
    assert_eq!(std::fs::read_dir(project.root()).expect("it is there").count(), 0);
}

/// Whatever way a command runs in, the tree holds nothing that the user did not put there.
#[test]
fn nothing_of_ours_stands_in_the_project_while_a_command_runs() {
    let ways = [
        ProjectAccess::Direct,
        ProjectAccess::Live { writable: Vec::new() },
        ProjectAccess::Copy(Copy::default()),
    ];
    for access in ways {
        let project = Fixture::new("");
        let sandbox = open(&project, access);
        let mut seen = Vec::new();
        let ran = sandbox.run(&sh("echo begun; ls -A"), RunOptions::default(), |_| {
            seen = std::fs::read_dir(project.root()).expect("it is there").collect();
        });
        assert_eq!(ran.expect("it runs").stdout.text(), "begun\n");
        assert!(seen.is_empty(), "{seen:?}");
    }
}

#[test]
fn what_earlier_versions_left_is_removed() {
    use std::os::unix::fs::PermissionsExt as _;
    let project = Fixture::new("//- /.envrc\n//- /.mcp.json\nmine\n");
    let set = |name: &str, mode| {
        let mode = std::fs::Permissions::from_mode(mode);
        std::fs::set_permissions(project.path(name), mode).expect("our own file");
    };
    std::fs::create_dir(project.path(".vscode")).expect("a directory");
    std::fs::create_dir(project.path(".idea")).expect("a directory");
    let socket = std::os::unix::net::UnixListener::bind(project.path(".gitmodules"));
    drop(socket.expect("a socket"));
    for name in [".envrc", ".mcp.json", ".vscode", ".gitmodules"] {
        set(name, 0o1000);
    }
    open(&project, ProjectAccess::Direct);
    let mut left: Vec<_> = std::fs::read_dir(project.root()).expect("it is there").collect();
    left.sort_by_key(|entry| entry.as_ref().map(|entry| entry.file_name()).ok());
    let left: Vec<_> = left.into_iter().flatten().map(|entry| entry.file_name()).collect();
    assert_eq!(left, [".idea", ".mcp.json"]);
}

/// There the project lies in a directory that is made for each command and written by it.
#[test]
fn a_project_in_the_home_directory_is_protected_and_left_as_it_was() {
    let project = Fixture::new("//- /.git/HEAD\nx\n");
    let home = project.root().parent().expect("it lies somewhere");
    let profile = Profile::new(project.root(), home);
    let launcher = Launcher::at(env!("CARGO_BIN_EXE_sandbox-testbed"));
    let sandbox = Sandbox::new(profile, launcher).expect("a sandbox");
    for _ in 0..3 {
        let script = "echo x > ~/file; rm -rf .git; cat .git/HEAD; echo x > made";
        let ran = sandbox.run(&sh(script), RunOptions::default(), |_| {}).expect("it runs");
        assert_eq!(ran.stdout.text(), "x\n");
        assert_eq!(project.read(".git/HEAD"), "x\n");
        assert_eq!(std::fs::read_dir(project.root()).expect("it is there").count(), 1);
    }
    assert!(!home.join("file").exists());
}

/// There the place of the project is that of the host, and stays.
#[test]
fn a_project_in_a_visible_directory_stays_where_it_is() {
    for access in [Access::Read, Access::Layer] {
        let project = Fixture::new("");
        let above = project.root().parent().expect("it lies somewhere");
        std::fs::write(above.join("beside"), "").expect("a file");
        let mut profile = Profile::new(project.root(), "/home/user");
        profile.visible = vec![Visible { path: above.to_owned(), access }];
        let launcher = Launcher::at(env!("CARGO_BIN_EXE_sandbox-testbed"));
        let sandbox = Sandbox::new(profile, launcher).expect("a sandbox");
        for _ in 0..3 {
            let script = "ls ../beside; mkdir .idea; ls -A";
            let ran = sandbox.run(&sh(script), RunOptions::default(), |_| {}).expect("it runs");
            assert_eq!(ran.stdout.text(), "../beside\n.idea\n");
            assert_eq!(std::fs::read_dir(project.root()).expect("it is there").count(), 0);
        }
    }
}

#[test]
fn a_listener_that_panics_leaves_nothing_running() {
    let project = Fixture::new("");
    let sandbox = open(&project, ProjectAccess::Direct);
    let mark = format!("1000.{}", std::process::id());
    let script = format!("echo begun; sleep {mark}");
    let listening = std::panic::AssertUnwindSafe(|| {
        sandbox.run(&sh(&script), RunOptions::default(), |_| panic!("on purpose"))
    });
    assert!(std::panic::catch_unwind(listening).is_err());
    assert!(!crate::bench::is_running(&mark));
    let ran = sandbox.run(&sh("echo again"), RunOptions::default(), |_| {}).expect("it runs");
    assert_eq!(ran.stdout.text(), "again\n");
}

#[test]
fn changed_files_are_read_without_following_what_the_command_planted() {
    let project = Fixture::new("//- /file\nold\n");
    let sandbox = open(&project, ProjectAccess::Copy(Copy::default()));
    let script = "echo new > file; ln -s /etc/passwd link; mkdir d; ln -s / d/up; mkfifo pipe";
    let ran = sandbox.run(&sh(script), RunOptions::default(), |_| {}).expect("it runs");
    let changes = ran.changed.expect("it ran on a copy");
    // What is kept outlives the sandbox.
    drop(sandbox);
    let mut text = String::new();
    let mut file = changes.open_file(Path::new("file")).expect("it was changed");
    file.read_to_string(&mut text).expect("it is text");
    assert_eq!(text, "new\n");
    for path in ["link", "d/up/etc/passwd", "pipe", "../x", "/etc/passwd", "d"] {
        assert!(changes.open_file(Path::new(path)).is_err(), "{path}");
    }
    assert!(list(&changes, 2).is_err_and(|error| error.to_string().contains("more than 2")));
    assert_eq!(list(&changes, 100).expect("they fit").len(), 5);
}

#[test]
fn what_becomes_of_a_linked_protected_name_is_seen() {
    let project = Fixture::new("//- /.git symlink=elsewhere\n");
    let sandbox = open(&project, ProjectAccess::Copy(Copy::default()));
    let ran = sandbox.run(&sh("rm .git"), RunOptions::default(), |_| {}).expect("it runs");
    let changes = ran.changed.expect("it ran on a copy");
    assert_eq!(list(&changes, 9).expect("they fit").len(), 1);
    assert!(project.path(".git").is_symlink());
}

fn list(
    changes: &sandbox::CommandChanges,
    most: usize,
) -> Result<Vec<sandbox::Changed>, sandbox::ChangesError> {
    changes.list(most, &mut |_, _| sandbox::Fate::Change).map(|listed| listed.changed)
}
