//! A run that is under way: Ctrl-C while its model is silent, and a second run of its session.

use std::process::{Child, Stdio};
use std::sync::mpsc;

use insta::{allow_duplicates, assert_snapshot};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::json;
use testkit::model_server::WireFormat;
use testkit::{Fault, ModelServer, Reply};

use super::bench::{Bench, Model};
use super::validity;

fn interrupt(child: &Child) {
    let pid = Pid::from_raw(child.id().try_into().unwrap()).unwrap();
    kill_process(pid, Signal::INT).unwrap();
}

/// An answer that would write a file.
fn writing() -> Reply {
    let file = json!({"path": "copy.txt", "content": "first\n"});
    Reply::text("I write a copy. ").and_call("create_file", file)
}

/// Interrupts a run whose model hangs in its first answer, and goes on with it.
fn interrupted_at(fault: Fault, format: WireFormat) -> String {
    let bench = Bench::new("//- /notes.txt\nfirst\n");
    let server = ModelServer::start([writing().with_fault(fault)]);
    let mut command = bench.asking(Model { format, server: &server }, "Copy the notes");
    let child = command.arg("--yes").stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    server.watch().wait_for_calls(1);
    interrupt(&child);
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(130), "{output:?}");
    // Its connection is closed, so that the server stops answering.
    server.watch().wait_for_abandoned(1);
    assert!(!bench.project.path("copy.txt").exists());

    let server = ModelServer::start([Reply::text("I am here.")]);
    let ran = bench.ask(Model { format, server: &server }, "Are you there?", &["--resume"]);
    assert_eq!((ran.code, ran.stdout.as_str()), (0, "I am here.\n"), "{}", ran.stderr);
    server.calls().iter().for_each(validity::check);
    let notices = String::from_utf8(output.stderr).unwrap();
    notices.lines().filter(|line| line.starts_with('·')).collect::<Vec<_>>().join("\n")
}

#[test]
fn ctrl_c_ends_a_run_whose_model_does_not_answer() {
    for format in WireFormat::ALL {
        allow_duplicates!(
            assert_snapshot!(interrupted_at(Fault::HangBefore, format), @"· cancelled")
        );
    }
}

#[test]
fn ctrl_c_ends_a_run_whose_model_falls_silent() {
    for format in WireFormat::ALL {
        let stream = String::from_utf8(writing().render(format, 0)).unwrap();
        for word in ["write", "copy.txt"] {
            let fault = Fault::HangAfter(stream.find(word).unwrap());
            allow_duplicates!(assert_snapshot!(interrupted_at(fault, format), @"· cancelled"));
        }
    }
}

#[test]
fn an_answer_that_comes_after_the_ctrl_c_is_not_acted_on() {
    for format in WireFormat::ALL {
        let bench = Bench::new("//- /notes.txt\nfirst\n");
        let (asked, is_asked) = mpsc::channel();
        let (ended, has_ended) = mpsc::channel();
        let server = ModelServer::answering(move |_| {
            asked.send(()).unwrap();
            has_ended.recv().unwrap();
            writing()
        });
        let mut command = bench.asking(Model { format, server: &server }, "Copy the notes");
        let mut child = command.arg("--yes").stderr(Stdio::null()).spawn().unwrap();
        is_asked.recv().unwrap();
        interrupt(&child);
        let status = child.wait().unwrap();
        ended.send(()).unwrap();
        let copied = bench.project.path("copy.txt").exists();
        assert_eq!((status.code(), copied), (Some(130), false), "{format:?}");
    }
}

#[test]
fn a_session_that_is_under_way_is_not_taken_up_by_another_process() {
    let bench = Bench::new("//- /notes.txt\nfirst\n");
    let format = WireFormat::Anthropic;
    let server = ModelServer::start([Reply::fault(Fault::HangBefore)]);
    let model = Model { format, server: &server };
    let mut child = bench.asking(model, "Copy the notes").stderr(Stdio::null()).spawn().unwrap();
    server.watch().wait_for_calls(1);
    let second = bench.ask_offline("Are you there?", &["--resume"]);
    let told = second.stderr.replace(&child.id().to_string(), "PID");
    assert_eq!((second.code, second.stdout.as_str()), (2, ""), "{told}");
    assert!(told.contains("is open in process PID on "), "{told}");
    assert!(told.ends_with("; go on there, or end that process first\n"), "{told}");
    // The refused one has left no trace in the log.
    let before = bench.log("");
    interrupt(&child);
    assert_eq!(child.wait().unwrap().code(), Some(130));
    assert_eq!(bench.log("")[..before.len()], before);
    assert_eq!(bench.ask_offline("hello", &["--resume"]).code, 0);
}
