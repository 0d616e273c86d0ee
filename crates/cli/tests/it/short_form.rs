//! A message in place of a command, and what helps with the command line itself.

use std::process::Command;

use testkit::Fixture;

use crate::live::LiveChat;
use crate::run::{command, finish, run, run_with_state};

fn project() -> Fixture {
    Fixture::new("//- /package.json\n{\"name\": \"kiln-shop\", \"version\": \"1.2.3\"}\n")
}

#[test]
fn without_a_terminal_a_message_is_worked_on_to_the_end() {
    let project = project();
    for arguments in [
        &["What is the project's version?", "--provider", "offline"] as &[&str],
        &["-p", "What is the project's version?", "--provider", "offline"],
    ] {
        let ran = run_with_state(&project, arguments);
        assert_eq!(ran.code, 0, "{}", ran.stderr);
        assert!(ran.stdout.contains("1.2.3"), "{}", ran.stdout);
    }
}

#[test]
fn at_a_terminal_a_message_opens_a_conversation() {
    let project = project();
    let mut command = command(None);
    command.env("XDG_STATE_HOME", project.root().with_file_name("state"));
    command.args(["What is the project's version?", "--provider", "offline"]);
    let mut chat = LiveChat::start(command.arg("--root").arg(project.root()));
    chat.sees("› What is the project's version?");
    chat.sees("1.2.3");
    chat.is_idle();
    chat.say("Read package.json and tell me the project name");
    chat.sees("kiln-shop");
    chat.is_idle();
    chat.leave();
}

#[test]
fn a_typing_error_is_not_a_message() {
    let ran = run(&project(), &["rnu"]);
    assert_eq!((ran.code, ran.stdout.as_str()), (2, ""));
    assert!(ran.stderr.contains("did you mean 'run'?"), "{}", ran.stderr);
}

#[test]
fn shells_get_completions_and_man_a_page() {
    for shell in ["bash", "zsh", "fish", "elvish", "powershell"] {
        let ran = finish(command(None).args(["completions", shell]));
        assert_eq!(ran.code, 0, "{}", ran.stderr);
        assert!(ran.stdout.contains("toolkiln") && ran.stdout.contains("sessions"), "{shell}");
    }
    let ran = finish(command(None).args(["man", "run"]));
    assert!(ran.stdout.contains(".TH toolkiln-run 1"), "{}", ran.stdout);
}

#[test]
fn bash_accepts_its_completions() {
    let script = finish(command(None).args(["completions", "bash"])).stdout;
    let file = Fixture::new(&format!("//- /toolkiln.bash\n{script}"));
    let mut bash = Command::new("bash");
    assert!(bash.arg("-n").arg(file.path("toolkiln.bash")).status().unwrap().success());
}
