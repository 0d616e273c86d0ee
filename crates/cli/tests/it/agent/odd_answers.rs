//! Answers that are complete but odd: the model is told what was wrong with them, and goes on.

use serde_json::json;
use testkit::model_server::{ModelCall, WireFormat};
use testkit::{Fixture, ModelServer, Reply};

use super::bench::{Bench, Model, answer_to};
use super::validity;

/// Plays a script in every form to a good end.
fn in_every_form(script: &[Reply], check: impl Fn(&Fixture, &[ModelCall])) {
    for format in WireFormat::ALL {
        let bench = Bench::new("//- /notes.txt\nfirst\n");
        let server = ModelServer::start(script.iter().cloned());
        let ran = bench.ask(Model { format, server: &server }, "Go", &["--yes"]);
        assert_eq!((ran.code, ran.stdout.as_str()), (0, "Done.\n"), "{format:?} {}", ran.stderr);
        let requests = server.calls();
        requests.iter().for_each(validity::check);
        check(&bench.project, &requests);
    }
}

fn append(text: &str) -> String {
    json!({"path": "notes.txt", "content": text}).to_string()
}

#[test]
fn calls_with_the_same_id_are_told_apart() {
    let script = [
        Reply::default().and_raw_call("twin", "append_file", &append("a\n")).and_raw_call(
            "twin",
            "append_file",
            &append("b\n"),
        ),
        Reply::default().and_raw_call("twin", "append_file", &append("c\n")),
        Reply::text("Done."),
    ];
    in_every_form(&script, |project, requests| {
        assert_eq!(project.read("notes.txt"), "first\na\nb\nc\n");
        assert_eq!(requests[2].tool_answers().len(), 3);
    });
}

#[test]
fn names_and_ids_that_a_wire_refuses_do_no_harm() {
    let read = json!({"path": "notes.txt"}).to_string();
    let script = [
        Reply::default()
            .and_raw_call("functions.read_file:0", "functions.read_file", &read)
            .and_raw_call("", "", "{}")
            .and_raw_call("", "read_file", &read)
            .and_raw_call(&"🦀".repeat(80), "Read\u{1b}[2J", &read),
        Reply::default().and_raw_call("functions.read_file:0", "functions.read_file:0", &read),
        Reply::text("Done."),
    ];
    in_every_form(&script, |_, requests| {
        let answers = requests[2].tool_answers();
        let read: Vec<bool> = answers.iter().map(|answer| answer.text.contains("first")).collect();
        assert_eq!(read, [true, false, true, false, true], "{answers:?}");
    });
}

#[test]
fn a_tool_that_does_not_exist_is_named_to_the_model() {
    let script = [Reply::call("raed_file", json!({"path": "notes.txt"})), Reply::text("Done.")];
    in_every_form(&script, |_, requests| {
        let told = answer_to(&requests[1], "call_0_0").text;
        assert!(told.contains("raed_file") && told.contains("read_file"), "{told}");
    });
}

#[test]
fn a_call_whose_arguments_are_no_json_is_not_run() {
    let whole = append("a\n");
    let script = [
        Reply::default()
            .and_raw_call("half", "append_file", &whole[..whole.len() - 1])
            .and_raw_call("whole", "append_file", &append("b\n")),
        Reply::text("Done."),
    ];
    in_every_form(&script, |project, requests| {
        assert_eq!(project.read("notes.txt"), "first\nb\n");
        let told = answer_to(&requests[1], "half").text;
        assert!(told.contains("was not run"), "{told}");
    });
}

#[test]
fn a_thousand_calls_have_a_thousand_results() {
    let many = (1..=1000).fold(Reply::default(), |reply, line| {
        reply.and_call("read_file", json!({"path": "notes.txt", "limit": line}))
    });
    in_every_form(&[many, Reply::text("Done.")], |_, requests| {
        let answers = requests[1].tool_answers();
        assert_eq!(answers.len(), 1000);
        assert!(answers.iter().all(|answer| answer.text.contains("first")), "{answers:?}");
    });
}
