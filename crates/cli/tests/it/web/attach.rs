//! Terminals that join the service: the same session, answered here or there.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpListener;
use std::process::{Command, Output, Stdio};
use std::thread;

use serde_json::{Value, json};
use testkit::{Fixture, ModelServer, Reply};

use super::service::{Service, state};
use crate::live::LiveChat;
use crate::run::command;

const PROJECT: &str = "//- /notes.txt\nfirst\n";

fn writing() -> Reply {
    let file = json!({"path": "copy.txt", "content": "first\n"});
    Reply::text("I write a copy. ").and_call("create_file", file)
}

/// The binary in the project, with the state of the service.
fn here(project: &Fixture, arguments: &[&str]) -> Command {
    let mut command = command(None);
    command.env("XDG_STATE_HOME", state(project)).current_dir(project.root()).args(arguments);
    command
}

fn output(project: &Fixture, arguments: &[&str]) -> Output {
    here(project, arguments).stdin(Stdio::null()).output().unwrap()
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8(bytes.to_vec()).unwrap()
}

#[test]
fn a_run_in_the_service_shows_the_answer_and_is_a_session_of_the_service() {
    let project = Fixture::new(PROJECT);
    let model = ModelServer::start([Reply::text("All is well."), Reply::text("Still.")]);
    let service = Service::start(&project, &model);
    let ran = output(&project, &["run", "How is it?", "--attach", &service.address]);
    assert_eq!(text(&ran.stdout), "All is well.\n");
    assert_eq!(ran.status.code(), Some(0));
    let sessions = service.get("/api/sessions");
    let session = sessions["sessions"][0]["id"].as_str().unwrap();
    // The same session goes on, and only what is new is shown.
    let arguments = ["run", "And now?", "--json", "--resume", session, "--attach"];
    let ran = output(&project, &[&arguments[..], &[&service.address]].concat());
    let lines: Vec<Value> =
        text(&ran.stdout).lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(lines[0]["type"], "session");
    assert_eq!(lines[0]["data"]["id"], session);
    assert_eq!(lines[1]["type"], "user_message");
    assert_eq!(lines.last().unwrap()["data"]["text"], "Still.");
    assert_eq!(lines.last().unwrap()["data"]["outcome"], "done");
}

#[test]
fn a_question_of_an_attached_run_is_answered_by_a_browser_or_by_yes() {
    let project = Fixture::new(PROJECT);
    let done = || Reply::text("Done.");
    let model = ModelServer::start([writing(), done(), writing(), done()]);
    let service = Service::start(&project, &model);
    let mut watcher = service.watch("*");
    let mut running = here(&project, &["run", "Copy", "--attach", &service.address])
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    watcher.until("a question", |seen| seen.questions.len() == 1);
    let question = &watcher.seen.questions[0];
    let part = |name: &str| question[name].as_str().unwrap();
    let path = format!("/api/approvals/{}/{}", part("owner"), part("question"));
    // The run has the question too before it is answered.
    let waits = "create_file waits for an answer at http://127.0.0.1:";
    let mut told = BufReader::new(running.stderr.take().unwrap());
    assert!(told.by_ref().lines().any(|line| line.unwrap().contains(waits)));
    service.post(&path, json!({"approve": false, "reason": "not now"}));
    let rest = thread::spawn(move || told.lines().count());
    let ran = running.wait_with_output().unwrap();
    rest.join().unwrap();
    assert_eq!(ran.status.code(), Some(3), "what was refused is told by the exit code");
    assert!(!project.path("copy.txt").exists());

    let ran = output(&project, &["run", "Copy", "--yes", "--attach", &service.address]);
    assert_eq!(ran.status.code(), Some(0));
    assert_eq!(std::fs::read_to_string(project.path("copy.txt")).unwrap(), "first\n");
}

#[test]
fn a_chat_joins_a_session_and_answers_its_questions_and_a_browser_takes_them_away() {
    let project = Fixture::new(PROJECT);
    let other = json!({"path": "other.txt", "content": "other\n"});
    let more = || Reply::text("One more. ").and_call("create_file", other.clone());
    let model = ModelServer::start([writing(), more(), Reply::text("Both are there.")]);
    let service = Service::start(&project, &model);
    let mut watcher = service.watch("*");
    let command = here(&project, &["chat", "--attach", &service.address]);
    let mut terminal = LiveChat::start(&command);
    terminal.say("Copy the notes");
    terminal.answers("copy.txt", "y");
    watcher.until("the next question", |seen| {
        seen.questions.first().is_some_and(|it| it["files"][0]["path"] == "other.txt")
    });
    terminal.asks("other.txt");
    let question = &watcher.seen.questions[0];
    let part = |name: &str| question[name].as_str().unwrap();
    let path = format!("/api/approvals/{}/{}", part("owner"), part("question"));
    service.post(&path, json!({"approve": true}));
    terminal.sees("Both are there.");
    terminal.is_idle();
    assert_eq!(std::fs::read_to_string(project.path("copy.txt")).unwrap(), "first\n");
    assert_eq!(std::fs::read_to_string(project.path("other.txt")).unwrap(), "other\n");
    assert!(terminal.leave().contains("Join again: toolkiln chat --attach http://127.0.0.1:"));
}

#[test]
fn who_else_listens_at_the_port_is_sent_no_token() {
    let project = Fixture::new(PROJECT);
    let service = Service::start_with(&project, &[]);
    let secrets = service.secrets.clone();
    service.kill();
    // Answers every request as the service would, but cannot know the key.
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap().to_string();
    let listening = thread::spawn(move || {
        let (mut stream, _) = listener.accept().unwrap();
        let mut asked = [0; 4096];
        let length = stream.read(&mut asked).unwrap();
        let body = json!({"proofs": ["00".repeat(32)]}).to_string();
        let head = "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\nconnection: close";
        write!(stream, "{head}\r\ncontent-length: {}\r\n\r\n{body}", body.len()).unwrap();
        String::from_utf8_lossy(&asked[..length]).into_owned()
    });
    let ran = output(&project, &["run", "Hello", "--attach", &address]);
    let asked = listening.join().unwrap();
    assert!(asked.starts_with("GET /api/proof?challenge="), "{asked}");
    for name in ["all", "chat", "approve", "tools", "cookie_key"] {
        assert!(!asked.contains(secrets[name].as_str().unwrap()), "{name} was sent");
    }
    assert_eq!(ran.status.code(), Some(2));
    let told = text(&ran.stderr);
    assert!(told.contains("is not your own service"), "{told}");
}

#[test]
fn a_proof_of_one_address_is_none_for_another() {
    let project = Fixture::new(PROJECT);
    let service = Service::start_with(&project, &[]);
    let ask = "GET /api/proof?challenge=0123456789abcdef";
    let port = service.address.rsplit_once(':').unwrap().1;
    let by_number = service.request(ask, &[], "").json();
    let by_name = service.request_as_is(ask, &[&format!("host: localhost:{port}")], "").json();
    assert_ne!(by_number["proofs"], by_name["proofs"]);
    assert_eq!(by_number, service.request(ask, &[], "").json());
    let short = service.request("GET /api/proof?challenge=short", &[], "");
    assert_eq!(short.refusal(), "400 INVALID_ARGUMENTS");
}

#[test]
fn options_that_the_service_has_settled_are_refused_and_not_ignored() {
    let project = Fixture::new(PROJECT);
    let rows: [&[&str]; 4] = [
        &["run", "Hello", "--attach", "--model", "small"],
        &["run", "Hello", "--attach", "--allow", "bash:*"],
        &["run", "Hello", "--attach", "--mode", "read-only"],
        &["chat", "--attach", "--yes"],
    ];
    for arguments in rows {
        let ran = output(&project, arguments);
        assert_eq!(ran.status.code(), Some(2), "{arguments:?}");
        assert!(text(&ran.stderr).contains("cannot be used with"), "{arguments:?}");
    }
}

#[test]
fn without_a_service_the_user_is_told_how_to_start_one() {
    let project = Fixture::new(PROJECT);
    let service = Service::start_alone(14, &project, &ModelServer::start([]));
    let address = service.address.clone();
    service.kill();
    let ran = output(&project, &["run", "Hello", "--attach", &address]);
    let told = text(&ran.stderr);
    assert!(told.contains("`toolkiln web` starts one"), "{told}");
    let ran = output(&project, &["run", "Hello", "--attach", "http://example.org:1"]);
    assert!(text(&ran.stderr).contains("is not sent to http://example.org:1 without TLS"));
}
