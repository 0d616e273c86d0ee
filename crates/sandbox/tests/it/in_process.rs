//! The sandbox as a library, in this process.

use std::io::{Read as _, Write as _};
use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};

use protocol::CommandSpec;
use sandbox::{
    Access, Canceller, Exit, Launcher, Overlay, Profile, ProjectAccess, RunOptions, Sandbox,
    SandboxError, Visible,
};
use testkit::Fixture;

fn open(project: &Fixture, access: ProjectAccess) -> Sandbox {
    let mut profile = Profile::new(project.root(), "/home/somebody");
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
    let options = RunOptions { cancel: Some(&cancel), stdin: None };
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
    let options = RunOptions { cancel: None, stdin: Some(stdin.into()) };
    let mut write = Some(write);
    let ran = sandbox.run(&sh("echo question; read a; echo got $a; cat"), options, |_| {
        if let Some(mut write) = write.take() {
            write.write_all(b"answer\n").expect("it is read");
        }
    });
    assert_eq!(ran.expect("it runs").stdout.text(), "question\ngot answer\n");
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

#[test]
fn names_stay_protected_while_another_command_ends() {
    let project = Fixture::new("");
    let sandbox = open(&project, ProjectAccess::Direct);
    let (stdin, write) = std::io::pipe().expect("a pipe");
    let options = RunOptions { cancel: None, stdin: Some(stdin.into()) };
    let mut write = Some(write);
    let script =
        "echo begun; read line; mkdir .vscode || echo x > .envrc || rmdir .idea || echo no";
    let ran = sandbox.run(&sh(script), options, |_| {
        if let Some(mut write) = write.take() {
            let other = sandbox.run(&sh("true"), RunOptions::default(), |_| {});
            assert_eq!(other.expect("it runs").exit, Exit::Code(0));
            assert!(project.path(".vscode").is_dir(), "the place is held for us");
            write.write_all(b"go on\n").expect("it is read");
        }
    });
    assert_eq!(ran.expect("it runs").stdout.text(), "begun\nno\n");
    assert_eq!(std::fs::read_dir(project.root()).expect("it is there").count(), 0);
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
        let script =
            "echo x > ~/file; rm -rf .git .vscode .envrc; cat .git/HEAD; ls -d .vscode .envrc";
        let ran = sandbox.run(&sh(script), RunOptions::default(), |_| {}).expect("it runs");
        assert_eq!(ran.stdout.text(), "x\n.envrc\n.vscode\n");
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
        let mut profile = Profile::new(project.root(), "/home/somebody");
        profile.visible = vec![Visible { path: above.to_owned(), access }];
        let launcher = Launcher::at(env!("CARGO_BIN_EXE_sandbox-testbed"));
        let sandbox = Sandbox::new(profile, launcher).expect("a sandbox");
        for _ in 0..3 {
            let script = "ls ../beside; mkdir .idea || echo no";
            let ran = sandbox.run(&sh(script), RunOptions::default(), |_| {}).expect("it runs");
            assert_eq!(ran.stdout.text(), "../beside\nno\n");
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
    let sandbox = open(&project, ProjectAccess::Overlay(Overlay::default()));
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
    assert!(changes.list(2).is_err_and(|error| error.to_string().contains("more than 2")));
    assert_eq!(changes.list(100).expect("they fit").len(), 5);
}

#[test]
fn a_linked_protected_name_is_refused_where_it_could_be_replaced() {
    let project = Fixture::new("//- /.git symlink=elsewhere\n");
    let sandbox = open(&project, ProjectAccess::Direct);
    let error = sandbox.run(&sh("true"), RunOptions::default(), |_| {}).expect_err("a link");
    assert!(matches!(error, SandboxError::Protected { .. }), "{error}");
    let sandbox = open(&project, ProjectAccess::Overlay(Overlay::default()));
    let ran = sandbox.run(&sh("rm .git"), RunOptions::default(), |_| {}).expect("it is a copy");
    assert_eq!(
        ran.changed.and_then(|changes| changes.list(9).ok()).map_or(0, |list| list.len()),
        1
    );
}
