//! The person at a terminal, played through a real pseudo-terminal.

use std::fs::File;
use std::io::{Read as _, Write as _};
use std::os::fd::{AsFd as _, OwnedFd};
use std::process::{Child, Stdio};

use rustix::fs::{Mode, OFlags, open};
use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
use testkit::Fixture;

use crate::run::command;

/// A run of the binary whose questions and answers go through a terminal.
struct Session {
    terminal: File,
    child: Child,
    seen: String,
}

impl Session {
    fn start(project: &Fixture, arguments: &[&str]) -> Self {
        let controller = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY).unwrap();
        grantpt(&controller).unwrap();
        unlockpt(&controller).unwrap();
        let name = ptsname(&controller, Vec::new()).unwrap();
        let user: OwnedFd =
            open(name.as_c_str(), OFlags::RDWR | OFlags::NOCTTY, Mode::empty()).unwrap();
        let mut command = command(None);
        command.env("XDG_STATE_HOME", project.root().with_file_name("state"));
        command.env("NO_COLOR", "1").env("PATH", "/usr/bin:/bin");
        command.env("EDITOR", format!("sh {}", project.path("../editor.sh").display()));
        command.args(arguments).arg("--root").arg(project.root());
        command.stdin(Stdio::from(user.as_fd().try_clone_to_owned().unwrap()));
        command.stderr(Stdio::from(user)).stdout(Stdio::piped());
        let child = command.spawn().unwrap();
        // What the command holds of the terminal must go, or its end would never be seen.
        drop(command);
        Self { terminal: File::from(controller), child, seen: String::new() }
    }

    /// Waits until the terminal shows `text`, then types `answer`.
    fn answer(&mut self, text: &str, answer: &str) {
        let from = self.seen.len();
        while !self.seen[from..].contains(text) {
            let mut buffer = [0; 4096];
            let count = self.terminal.read(&mut buffer).unwrap_or(0);
            assert!(count > 0, "the terminal ended before {text:?}: {}", self.seen);
            self.seen.push_str(&String::from_utf8_lossy(&buffer[..count]));
        }
        self.terminal.write_all(format!("{answer}\n").as_bytes()).unwrap();
    }

    /// The exit code and the result.
    fn end(mut self) -> (i32, String) {
        let mut result = String::new();
        self.child.stdout.take().unwrap().read_to_string(&mut result).unwrap();
        (self.child.wait().unwrap().code().unwrap(), result)
    }
}

const PROMPT: &str = "Do it?";

fn project() -> Fixture {
    let lines: String = (1..=30).map(|line| format!("line {line}\n")).collect();
    Fixture::new(&format!("//- /a.txt\n{lines}"))
}

fn edit(project: &Fixture) -> Session {
    let content =
        project.read("a.txt").replace("line 2\n", "zwei\n").replace("line 25\n", "funf\n");
    let arguments = serde_json::json!({"path": "a.txt", "content": content}).to_string();
    Session::start(project, &["call", "update_file", &arguments])
}

#[test]
fn the_diff_is_shown_and_a_yes_writes_it() {
    let project = project();
    let mut session = edit(&project);
    session.answer(PROMPT, "y");
    assert!(session.seen.contains("-line 2") && session.seen.contains("+zwei"), "{}", session.seen);
    assert_eq!(session.end().0, 0);
    assert!(project.read("a.txt").contains("zwei\n"));
}

#[test]
fn a_no_with_a_reason_reaches_the_caller() {
    let project = project();
    let mut session = edit(&project);
    session.answer(PROMPT, "n write it in English");
    let (code, result) = session.end();
    assert_eq!(code, 1);
    assert!(result.contains("write it in English") && result.contains("REJECTED"), "{result}");
    assert!(!project.read("a.txt").contains("zwei"));
}

#[test]
fn picked_hunks_are_shown_again_before_they_are_written() {
    let project = project();
    let mut session = edit(&project);
    session.answer(PROMPT, "h");
    session.answer("which of 1-2", "2");
    session.answer(PROMPT, "y");
    assert_eq!(session.end().0, 0);
    let text = project.read("a.txt");
    assert!(text.contains("line 2\n") && text.contains("funf\n"), "{text}");
}

#[test]
fn what_the_editor_leaves_is_what_is_written() {
    let project = project();
    std::fs::write(project.path("../editor.sh"), "echo edited > \"$1\"\n").unwrap();
    let mut session = edit(&project);
    session.answer(PROMPT, "e");
    session.answer(PROMPT, "y");
    assert_eq!(session.end().0, 0);
    assert_eq!(project.read("a.txt"), "edited\n");
}

#[test]
fn always_is_remembered_listed_and_can_be_revoked() {
    let project = project();
    let mut session = edit(&project);
    session.answer(PROMPT, "a");
    assert_eq!(session.end().0, 0);
    let again = crate::run::run_with_state(
        &project,
        &["call", "update_file", r#"{"path":"a.txt","content":"x\n"}"#],
    );
    assert_eq!(again.code, 0, "{}", again.stderr);
    let listed = crate::run::run_with_state(&project, &["policy", "list"]).stdout;
    let line = listed.lines().find(|line| line.contains("a remembered answer")).unwrap();
    let id = line.split(' ').next().unwrap();
    assert_eq!(crate::run::run_with_state(&project, &["policy", "revoke", id]).code, 0);
    let asked = crate::run::run_with_state(
        &project,
        &["call", "update_file", r#"{"path":"a.txt","content":"y\n"}"#],
    );
    assert_eq!(asked.json()["code"], "APPROVAL_REQUIRED");
}

#[test]
fn the_last_change_can_be_undone_from_the_question() {
    let project = project();
    let before = project.read("a.txt");
    crate::run::run_with_state(
        &project,
        &["call", "create_file", r#"{"path":"new.txt","content":"x\n"}"#, "--yes"],
    );
    let mut session = edit(&project);
    session.answer(PROMPT, "?");
    session.answer(PROMPT, "u");
    session.answer("Undo the last change to new.txt?", "y");
    session.answer(PROMPT, "n");
    assert_eq!(session.end().0, 1);
    assert!(!project.path("new.txt").exists());
    assert_eq!(project.read("a.txt"), before);
}
