//! Providers that fail: what the user sees, that nothing is done by halves, and that the session
//! goes on afterwards.

use std::thread;

use insta::assert_snapshot;
use protocol::{SessionEvent, TurnEnd};
use serde_json::json;
use testkit::model_server::WireFormat;
use testkit::{Fault, ModelServer, Reply};

use super::bench::{Bench, Model};
use super::validity;
use crate::run::Ran;

const PROJECT: &str = "//- /notes.txt\nfirst\n";
const MESSAGE: &str = "Copy the notes";

/// How often a provider fails.
#[derive(Clone, Copy)]
enum Times {
    Once,
    Always,
}

/// An answer that would write a file, if it came through.
fn writing() -> Reply {
    let file = json!({"path": "copy.txt", "content": "first\n"});
    Reply::text("I write a copy. ").and_call("create_file", file)
}

/// The bytes of the answer to the second request up to a word in it.
fn up_to(word: &str, format: WireFormat) -> usize {
    let stream = String::from_utf8(writing().render(format, 1)).unwrap();
    stream.find(word).unwrap()
}

/// What the user saw in every form, which is the same but for the name of the provider.
fn seen(times: Times, fault: impl Fn(WireFormat) -> Fault + Sync) -> String {
    let seen = thread::scope(|scope| {
        let fault = &fault;
        let runs = WireFormat::ALL
            .map(|format| scope.spawn(move || seen_in(format, times, fault(format))));
        runs.map(|run| run.join().unwrap())
    });
    assert_eq!(seen[0], seen[1]);
    assert_eq!(seen[0], seen[2]);
    seen[0].clone()
}

fn seen_in(format: WireFormat, times: Times, fault: Fault) -> String {
    let bench = Bench::new(PROJECT);
    let mut requests = 0;
    let server = ModelServer::answering(move |_| {
        requests += 1;
        match (requests, times) {
            (1, _) => Reply::call("read_file", json!({"path": "notes.txt"})),
            (2, _) | (_, Times::Always) => writing().with_fault(fault.clone()),
            (3, _) => writing(),
            (_, Times::Once) => Reply::text("It is copied."),
        }
    });
    let model = Model { format, server: &server };
    let ran = bench.ask(model, MESSAGE, &["--yes"]);
    server.calls().iter().for_each(validity::check);
    let copied = bench.project.path("copy.txt").exists();
    assert_eq!(copied, matches!(times, Times::Once), "{}", ran.stderr);
    goes_on(&bench, format);
    let requests = server.calls().len();
    format!("{}exit {}, {requests} requests\n", notices(&ran, &server), ran.code)
}

/// The next message is answered, and what failed is not in the way.
fn goes_on(bench: &Bench, format: WireFormat) {
    let server = ModelServer::start([Reply::text("I am here.")]);
    let ran = bench.ask(Model { format, server: &server }, "Are you there?", &["--resume"]);
    assert_eq!((ran.code, ran.stdout.as_str()), (0, "I am here.\n"), "{}", ran.stderr);
    let [request] = &server.calls()[..] else { panic!("one request") };
    validity::check(request);
    let said = request.user_texts();
    assert_eq!(said.first().map(String::as_str), Some(MESSAGE));
    assert_eq!(said.last().map(String::as_str), Some("Are you there?"));
    let last = bench.log("").pop().map(|entry| entry.event);
    assert_eq!(last, Some(SessionEvent::TurnEnded(TurnEnd::Done)));
}

/// What was said beside the model's words and the tools, each line once, without what differs from
/// form to form and from run to run.
fn notices(ran: &Ran, server: &ModelServer) -> String {
    let url = server.base_url();
    let names = [
        (&*url, "URL"),
        ("OpenAI Chat Completions", "FORM"),
        ("OpenAI Responses", "FORM"),
        ("Anthropic Messages", "FORM"),
        ("openai-chat", "NAME"),
        ("openai", "NAME"),
        ("anthropic", "NAME"),
        ("OPENAI_API_KEY", "VARIABLE"),
        ("ANTHROPIC_API_KEY", "VARIABLE"),
    ];
    let mut lines: Vec<String> = Vec::new();
    for line in ran.stderr.lines().filter(|line| line.starts_with('·')) {
        let line = match line.split_once("; trying again in ") {
            Some((before, _)) => format!("{before}; trying again"),
            None => line.to_owned(),
        };
        // Where in the piece it is not valid JSON, and why, differs with the form.
        let line = match (line.split_once(" is not valid JSON: "), line.split_once("; check ")) {
            (Some((before, _)), Some((_, after))) => {
                format!("{before} is not valid JSON; check {after}")
            }
            _ => line,
        };
        let line = names.iter().fold(line, |line, (name, stand_in)| line.replace(name, stand_in));
        if lines.last() != Some(&line) {
            lines.push(line);
        }
    }
    lines.iter().map(|line| format!("{line}\n")).collect()
}

#[test]
fn a_refusal_is_told_at_once() {
    assert_snapshot!(seen(Times::Always, |_| Fault::status(400, "max_tokens is too large")), @"
    · the provider refused the request: NAME answered with status 400: max_tokens is too large
    exit 5, 2 requests
    ");
    assert_snapshot!(seen(Times::Always, |_| Fault::status(401, "invalid key")), @"
    · the provider does not accept the key: NAME answered with status 401: invalid key; check the key in VARIABLE and its account
    exit 5, 2 requests
    ");
}

#[test]
fn too_many_requests_are_waited_for_within_reason() {
    let soon = |_| Fault::status(429, "slow down").header("retry-after-ms", "1");
    assert_snapshot!(seen(Times::Once, soon), @"
    · too many requests: NAME answered with status 429: slow down; trying again
    exit 0, 4 requests
    ");
    assert_snapshot!(seen(Times::Always, soon), @"
    · too many requests: NAME answered with status 429: slow down; trying again
    · too many requests: NAME answered with status 429: slow down; tried 5 times; try again later
    exit 5, 6 requests
    ");
    let without_a_word = |_| Fault::status(429, "slow down");
    assert_snapshot!(seen(Times::Once, without_a_word), @"
    · too many requests: NAME answered with status 429: slow down; trying again
    exit 0, 4 requests
    ");
    let late = |_| Fault::status(429, "slow down").header("retry-after", "3600");
    assert_snapshot!(seen(Times::Always, late), @"
    · too many requests: NAME answered with status 429: slow down; it asks to wait for 60 min
    exit 5, 2 requests
    ");
}

#[test]
fn a_broken_or_overloaded_provider_is_asked_five_times() {
    let soon = |status| move |_| Fault::status(status, "no").header("retry-after-ms", "1");
    assert_snapshot!(seen(Times::Once, soon(500)), @"
    · the provider is overloaded: NAME answered with status 500: no; trying again
    exit 0, 4 requests
    ");
    assert_snapshot!(seen(Times::Always, soon(500)), @"
    · the provider is overloaded: NAME answered with status 500: no; trying again
    · the provider is overloaded: NAME answered with status 500: no; tried 5 times; try again later
    exit 5, 6 requests
    ");
    assert_snapshot!(seen(Times::Always, soon(529)), @"
    · the provider is overloaded: NAME answered with status 529: no; trying again
    · the provider is overloaded: NAME answered with status 529: no; tried 5 times; try again later
    exit 5, 6 requests
    ");
}

#[test]
fn an_answer_that_breaks_off_is_asked_for_again() {
    let in_text = |format| Fault::CutAfter(up_to("write", format));
    assert_snapshot!(seen(Times::Once, in_text), @"
    · the answer was cut: NAME: the connection broke in the middle of the answer (unexpected EOF during chunk size line); trying again
    exit 0, 4 requests
    ");
    let in_call = |format| Fault::CutAfter(up_to("copy.txt", format));
    assert_snapshot!(seen(Times::Once, in_call), @"
    · the answer was cut: NAME: the connection broke in the middle of the answer (unexpected EOF during chunk size line); trying again
    exit 0, 4 requests
    ");
    assert_snapshot!(seen(Times::Once, |_| Fault::HalfCall), @"
    · the answer was cut: NAME: the answer ended before it was complete; trying again
    exit 0, 4 requests
    ");
}

#[test]
fn an_answer_that_always_breaks_off_is_given_up() {
    let in_call = |format| Fault::CutAfter(up_to("copy.txt", format));
    assert_snapshot!(seen(Times::Always, in_call), @"
    · the answer was cut: NAME: the connection broke in the middle of the answer (unexpected EOF during chunk size line); trying again
    · the answer was cut: NAME: the connection broke in the middle of the answer (unexpected EOF during chunk size line); tried 4 times; try again later
    exit 5, 5 requests
    ");
}

#[test]
fn what_is_not_json_is_not_taken_for_an_answer() {
    assert_snapshot!(seen(Times::Always, |_| Fault::InvalidJson), @"
    · the answer cannot be understood: NAME: a piece of the answer is not valid JSON; check that URL speaks FORM
    exit 5, 2 requests
    ");
}
