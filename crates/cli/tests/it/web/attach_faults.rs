//! Terminals that join, and what may become of their service meanwhile.

use std::io::{Read as _, Write as _};
use std::net::TcpListener;
use std::process::{Child, Command, Output, Stdio};
use std::thread;

use serde_json::{Value, json};
use testkit::model_server::Gate;
use testkit::{Fixture, ModelServer, Reply};

use super::service::{Service, state};
use crate::live::LiveChat;
use crate::run::command;

const PROJECT: &str = "//- /notes.txt\nfirst\n";

fn here(project: &Fixture, arguments: &[&str]) -> Command {
    let mut command = command(None);
    command.env("XDG_STATE_HOME", state(project)).current_dir(project.root()).args(arguments);
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    command
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8(bytes.to_vec()).unwrap()
}

fn never_ending() -> ModelServer {
    ModelServer::start([Reply::pieces(["never ", "ending "]).through(&Gate::new())])
}

/// A run whose turn has begun.
fn working(project: &Fixture, service: &Service, model: &ModelServer) -> Child {
    let run =
        here(project, &["run", "Go on for ever", "--attach", &service.address]).spawn().unwrap();
    model.watch().wait_for_calls(1);
    run
}

/// Answers one request after the other at an address, and gives all that was asked once the client has gone.
fn impostor(address: &str, body: &Value) -> thread::JoinHandle<String> {
    let (listener, body) = (TcpListener::bind(address).unwrap(), body.to_string());
    thread::spawn(move || {
        let (mut stream, _) = listener.accept().unwrap();
        let mut asked = [0; 4096];
        let length = stream.read(&mut asked).unwrap();
        let head = "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\nconnection: close";
        let _ = write!(stream, "{head}\r\ncontent-length: {}\r\n\r\n{body}", body.len());
        drop(stream);
        text(&asked[..length])
    })
}

fn holds_no_secret(asked: &str, secrets: &Value) {
    assert!(asked.starts_with("GET /api/proof?challenge="), "{asked}");
    for name in ["all", "chat", "approve", "tools", "cookie_key"] {
        assert!(!asked.contains(secrets[name].as_str().unwrap()), "{name} was sent");
    }
}

#[test]
fn a_program_that_takes_the_port_of_a_service_that_has_ended_is_sent_no_token() {
    let project = Fixture::new(PROJECT);
    let model = never_ending();
    let service = Service::start_alone(11, &project, &model);
    let run = working(&project, &service, &model);
    let (address, secrets) = (service.address.clone(), service.secrets.clone());
    service.kill();
    let listening = impostor(&address, &json!({"proofs": ["00".repeat(32)]}));
    let Output { status, stderr, .. } = run.wait_with_output().unwrap();
    holds_no_secret(&listening.join().unwrap(), &secrets);
    let told = text(&stderr);
    assert!(told.contains("cannot be followed any more: what listens at"), "{told}");
    assert!(told.contains("is not your own service, or has new tokens"), "{told}");
    assert_eq!(status.code(), Some(2));
}

#[test]
fn a_run_whose_service_was_killed_and_started_again_says_that_its_turn_has_no_end() {
    let project = Fixture::new(PROJECT);
    let model = never_ending();
    let service = Service::start_alone(12, &project, &model);
    let run = working(&project, &service, &model);
    let address = service.address.clone();
    service.kill();
    let offline = ["--provider", "offline"];
    let _again = Service::start_at(&address, &project, &offline, &[], Stdio::null());
    let Output { status, stderr, .. } = run.wait_with_output().unwrap();
    let told = text(&stderr);
    assert!(told.contains("the service has ended in the middle of the turn"), "{told}");
    assert_eq!(status.code(), Some(2));
}

#[test]
fn a_token_from_the_environment_is_not_sent_without_a_proof_either() {
    let project = Fixture::new(PROJECT);
    let model = ModelServer::start([Reply::text("Hello.")]);
    let service = Service::start_alone(13, &project, &model);
    let mut run = here(&project, &["run", "Hello", "--attach", &service.address]);
    run.env("XDG_STATE_HOME", "/dev/null/state");
    run.env("TOOLKILN_TOKEN", service.secrets["chat"].as_str().unwrap());
    let ran = run.output().unwrap();
    assert_eq!((text(&ran.stdout).as_str(), ran.status.code()), ("Hello.\n", Some(0)));
    let (address, secrets) = (service.address.clone(), service.secrets.clone());
    service.kill();
    let listening = impostor(&address, &json!({"proofs": []}));
    assert_eq!(run.output().unwrap().status.code(), Some(2));
    holds_no_secret(&listening.join().unwrap(), &secrets);
}

#[test]
fn a_run_ends_when_its_session_is_deleted() {
    let project = Fixture::new(PROJECT);
    let model = never_ending();
    let service = Service::start(&project, &model);
    let run = working(&project, &service, &model);
    let session = service.get("/api/sessions")["sessions"][0]["id"].as_str().unwrap().to_owned();
    let delete = format!("DELETE /api/sessions/{session}");
    assert_eq!(service.request(&delete, &[&service.token("all")], "").status, 200);
    // It may have seen before that its turn was cancelled.
    let ended = run.wait_with_output().unwrap();
    let told = text(&ended.stderr);
    match ended.status.code() {
        Some(130) => {}
        Some(2) => assert!(told.contains(&format!("there is no session `{session}`")), "{told}"),
        other => panic!("{other:?}: {told}"),
    }
}

#[test]
fn a_chat_ends_when_its_session_is_deleted() {
    let project = Fixture::new(PROJECT);
    let model = ModelServer::start([Reply::text("I am here.")]);
    let service = Service::start(&project, &model);
    let command = here(&project, &["chat", "--attach", &service.address]);
    let mut terminal = LiveChat::start(&command);
    terminal.say("Hello");
    terminal.sees("I am here.");
    terminal.is_idle();
    let session = service.get("/api/sessions")["sessions"][0]["id"].as_str().unwrap().to_owned();
    let delete = format!("DELETE /api/sessions/{session}");
    assert_eq!(service.request(&delete, &[&service.token("all")], "").status, 200);
    // Lines are broken where the screen ends.
    let told = terminal.ends(2).replace('\n', "");
    assert!(told.contains("cannot be followed any more: there is no session"), "{told}");
}

#[test]
fn a_run_tells_the_files_that_it_has_left_changed_and_no_others() {
    let project = Fixture::new(PROJECT);
    let write = |name: &str| {
        let file = json!({"path": name, "content": "first\n"});
        Reply::text("I write. ").and_call("create_file", file)
    };
    let delete = json!({"path": "two.txt"});
    let model = ModelServer::start([
        write("one.txt"),
        Reply::text("Done."),
        write("two.txt"),
        Reply::text("And away. ").and_call("delete_file", delete),
        write("three.txt"),
        Reply::text("Done."),
        Reply::text("Nothing to do."),
    ]);
    let service = Service::start(&project, &model);
    let session = service.begin();
    let changed = |said: &str| {
        let arguments = ["run", said, "--json", "--yes", "--resume", &session, "--attach"];
        let ran = here(&project, &[&arguments[..], &[&service.address]].concat()).output().unwrap();
        let lines = text(&ran.stdout);
        let result: Value = serde_json::from_str(lines.lines().last().unwrap()).unwrap();
        result["data"]["files_changed"].clone()
    };
    assert_eq!(changed("Write one"), json!(["one.txt"]));
    assert_eq!(changed("Write two, and three instead"), json!(["three.txt"]));
    assert_eq!(changed("Rest"), json!([]));
    let all = service.get(&format!("/api/sessions/{session}/changed"));
    assert_eq!(all["paths"], json!(["one.txt", "three.txt"]));
}
