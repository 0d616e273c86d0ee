//! The last line of `run --json`, whatever ends the run, and the exit code that goes with it.

use std::process::{Child, Command, Stdio};
use std::sync::mpsc;

use insta::assert_snapshot;
use rustix::process::{Pid, Resource, Rlimit, Signal, kill_process, prlimit};
use serde_json::{Value, json};
use testkit::model_server::{ModelCall, WireFormat};
use testkit::{Fault, ModelServer, Reply};

use super::bench::{Bench, Model};
use crate::run::{Ran, finish};

const PROJECT: &str = "//- /notes.txt\nfirst\n";

fn anthropic(server: &ModelServer) -> Model<'_> {
    Model { format: WireFormat::Anthropic, server }
}

fn create(path: &str) -> Reply {
    Reply::call("create_file", json!({"path": path, "content": "made\n"}))
}

/// A conversation in JSON lines to its end.
fn told(bench: &Bench, server: &ModelServer, more: &[&str]) -> Ran {
    bench.ask(anthropic(server), "Work", &[&["--json"], more].concat())
}

/// The one result, which is the last line; its exit code is that of the process.
#[track_caller]
fn result(stdout: &str, code: i32) -> Value {
    let lines: Vec<Value> =
        stdout.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let results = lines.iter().filter(|line| line["type"] == "result").count();
    let last = lines.last().unwrap_or_else(|| panic!("nothing was printed"));
    assert_eq!((results, &last["type"]), (1, &json!("result")), "{stdout}");
    assert_eq!(last["data"]["exit_code"], code, "{last}");
    assert_eq!(last["data"]["is_error"], code != 0, "{last}");
    last["data"].clone()
}

/// How a run came out, in a line.
#[track_caller]
fn summary(ran: &Ran) -> String {
    let result = result(&ran.stdout, ran.code);
    let message = result["message"].as_str().unwrap_or("-");
    format!("{} {} {message}", result["exit_code"], result["outcome"].as_str().unwrap())
}

#[test]
fn a_provider_that_fails_is_told() {
    let bench = Bench::new(PROJECT);
    let server = ModelServer::start([Reply::fault(Fault::status(400, "no such thing"))]);
    let summary = summary(&told(&bench, &server, &[]));
    assert_snapshot!(summary, @"5 provider_error anthropic answered with status 400: no such thing");
}

#[test]
fn a_run_that_cannot_begin_has_nothing_but_a_result() {
    let bench = Bench::new(PROJECT);
    let offline = ["--provider", "offline", "--json"];
    let unknown = [&offline[..], &["--resume=nothing-like-it"]].concat();
    let cases = [
        finish(bench.command("Work").args(unknown)),
        finish(bench.command("Work").args(["--provider", "unknown", "--json"])),
        finish(bench.command("Work").args(["--provider", "anthropic", "--json"])),
        finish(bench.command("  ").args(offline)),
        finish(bench.command("Work").args(offline).args(["--role", "king"])),
        finish(bench.command("Work").args(offline).env("XDG_STATE_HOME", "/dev/null/x")),
    ];
    for ran in cases {
        let result = result(&ran.stdout, 2);
        assert_eq!((ran.code, &result["outcome"]), (2, &json!("error")), "{}", ran.stderr);
        assert_eq!((ran.stdout.lines().count(), &result["files_changed"]), (1, &json!([])));
        let message = result["message"].as_str().unwrap();
        assert!(!message.is_empty() && ran.stderr.contains(message), "{message}\n{}", ran.stderr);
    }
}

/// The same command, for which a file that may not grow is an error and not the end.
fn surviving_file_limits(command: &Command) -> Command {
    let mut wrapped = Command::new("/bin/sh");
    // What is ignored stays so in the program that takes the shell's place.
    wrapped.args(["-c", "trap '' XFSZ; exec \"$0\" \"$@\""]);
    wrapped.arg(command.get_program()).args(command.get_args()).env_clear();
    wrapped.envs(command.get_envs().filter_map(|(name, value)| Some((name, value?))));
    wrapped.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null());
    wrapped
}

#[test]
fn a_log_that_cannot_be_written_ends_the_run_and_what_was_changed_is_told() {
    let bench = Bench::new(PROJECT);
    let (tell, told) = mpsc::channel();
    let mut requests = 0;
    let server = ModelServer::answering(move |_: &ModelCall| {
        requests += 1;
        if requests == 1 {
            return create("made.txt");
        }
        // From here on the process cannot write to any file.
        let nothing = Rlimit { current: Some(0), maximum: Some(0) };
        prlimit(Some(told.recv().unwrap()), Resource::Fsize, nothing).unwrap();
        Reply::text("This cannot be logged.")
    });
    let mut command = bench.asking(anthropic(&server), "Work");
    let child = surviving_file_limits(command.args(["--json", "--yes"])).spawn().unwrap();
    tell.send(pid(&child)).unwrap();
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(2));
    let result = result(&String::from_utf8(output.stdout).unwrap(), 2);
    assert_eq!(result["outcome"], "error");
    let message = result["message"].as_str().unwrap();
    assert!(message.starts_with("the session cannot be written down"), "{message}");
    assert_eq!(result["files_changed"], json!(["made.txt"]));
}

fn pid(child: &Child) -> Pid {
    Pid::from_raw(child.id().try_into().unwrap()).unwrap()
}

#[test]
fn a_signal_ends_a_run_with_a_result() {
    for (signal, code) in [(Signal::INT, 130), (Signal::TERM, 143)] {
        let bench = Bench::new(PROJECT);
        let hanging = Reply::fault(Fault::HangBefore);
        let server = ModelServer::start([create("made.txt"), hanging]);
        let mut command = bench.asking(anthropic(&server), "Work");
        command.args(["--json", "--yes"]).stdout(Stdio::piped()).stderr(Stdio::null());
        let child = command.spawn().unwrap();
        server.watch().wait_for_calls(2);
        kill_process(pid(&child), signal).unwrap();
        let output = child.wait_with_output().unwrap();
        assert_eq!(output.status.code(), Some(code));
        let result = result(&String::from_utf8(output.stdout).unwrap(), code);
        assert_eq!(result["outcome"], "cancelled");
        assert_eq!(result["files_changed"], json!(["made.txt"]));
    }
}

#[test]
fn a_run_names_what_it_has_left_changed_and_nothing_of_earlier_runs() {
    let bench = Bench::new(PROJECT);
    let server = ModelServer::start([create("first.txt"), Reply::text("Done.")]);
    let ran = told(&bench, &server, &["--yes"]);
    assert_eq!(result(&ran.stdout, 0)["files_changed"], json!(["first.txt"]));

    let delegate = json!({"task": "Make inner.txt", "role": "actor"});
    let server = ModelServer::start([
        create("kept.txt").and_call("create_file", json!({"path": "gone.txt", "content": "x"})),
        Reply::call("delete_file", json!({"path": "gone.txt"})),
        create("undone.txt"),
        Reply::call("undo", json!({})),
        Reply::call("delegate", delegate),
        create("inner.txt"),
        Reply::text("It is made."),
        Reply::text("Done."),
    ]);
    let ran = told(&bench, &server, &["--yes", "--resume"]);
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    let left = &result(&ran.stdout, 0)["files_changed"];
    assert_eq!(*left, json!(["inner.txt", "kept.txt"]), "{}", ran.stdout);

    let server = ModelServer::start([Reply::text("Nothing to do.")]);
    let ran = told(&bench, &server, &["--yes", "--resume"]);
    assert_eq!(result(&ran.stdout, 0)["files_changed"], json!([]));
}

#[test]
fn only_what_is_denied_at_the_top_is_exit_code_3() {
    let said = || Reply::text("That is how it is.");
    let delegate = || Reply::call("delegate", json!({"task": "Make a.txt", "role": "actor"}));
    let cases: [(&[&str], Vec<Reply>, i32); 5] = [
        (&[], vec![create("a.txt"), said()], 3),
        (&["--yes", "--deny", "create_file:*"], vec![create("a.txt"), said()], 3),
        (&[], vec![delegate(), create("a.txt"), said(), said()], 0),
        // A mistake of the model, and a role without the right, were denied neither by the user nor by a rule.
        (&[], vec![Reply::call("read_file", json!({"path": "none"})), said()], 0),
        (&["--role", "planner"], vec![create("a.txt"), said()], 0),
    ];
    for (more, script, code) in cases {
        let bench = Bench::new(PROJECT);
        let ran = told(&bench, &ModelServer::start(script), more);
        assert_eq!(ran.code, code, "{more:?} {}", ran.stdout);
        let result = result(&ran.stdout, code);
        let denied = result["denied"].as_array().unwrap();
        assert_eq!(denied.len(), usize::from(code == 3), "{result}");
        if let Some(denied) = denied.first() {
            assert_eq!(result["message"], denied["reason"]);
        }
        assert!(!bench.project.path("a.txt").exists());
    }
}
