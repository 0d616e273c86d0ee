//! Clients that ask for too much, and files that others can read: what one takes, no other lacks.

use std::fs;
use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::os::unix::fs::PermissionsExt as _;
use std::process::Stdio;

use serde_json::json;
use testkit::model_server::Gate;
use testkit::{Fixture, ModelServer, Reply};

use super::service::{Service, Watcher, state};

const PROJECT: &str = "//- /notes.txt\nfirst\n";

fn service(project: &Fixture) -> Service {
    Service::start_with(project, &["--provider", "offline"])
}

/// More requests than a client may send at once.
const MANY_REQUESTS: usize = 20_000;

#[test]
fn requests_without_a_login_use_up_nothing_of_those_with_one() {
    let project = Fixture::new(PROJECT);
    let service = service(&project);
    let mut stream = service.connect();
    let request = format!("GET /nothing HTTP/1.1\r\nhost: {}\r\n\r\n", service.address);
    let mut answers = stream.try_clone().unwrap();
    let is_limited = std::thread::spawn(move || {
        let (mut seen, mut piece) = (Vec::new(), [0; 65_536]);
        while let Ok(length @ 1..) = answers.read(&mut piece) {
            seen.extend_from_slice(&piece[..length]);
            if seen.windows(12).any(|part| part == b"RATE_LIMITED") {
                return true;
            }
            seen.drain(..seen.len().saturating_sub(12));
        }
        false
    });
    for _ in 0..MANY_REQUESTS {
        if is_limited.is_finished() || stream.write_all(request.as_bytes()).is_err() {
            break;
        }
    }
    assert!(is_limited.join().unwrap());
    let page = service.request("GET /nothing", &[], "").refusal();
    assert!(["404 NOT_FOUND", "429 RATE_LIMITED"].contains(&page.as_str()), "{page}");
    assert_eq!(service.get("/api/sessions"), json!({"sessions": []}));
}

/// What a pipe holds that is not read.
const PIPE_BYTES: usize = 64 * 1024;

#[test]
fn a_terminal_that_takes_no_more_lines_holds_up_no_request() {
    let project = Fixture::new(PROJECT);
    let (_unread, mut told) = std::io::pipe().unwrap();
    told.write_all(&[b'x'; PIPE_BYTES]).unwrap();
    let offline = ["--provider", "offline"];
    let service = Service::start_at("127.0.0.1:0", &project, &offline, &[], Stdio::from(told));
    for _ in 0..8 {
        assert_eq!(service.request("GET /api/sessions", &[], "").refusal(), "401 UNAUTHORIZED");
    }
    assert_eq!(service.get("/api/sessions"), json!({"sessions": []}));
}

#[test]
fn without_a_login_only_small_bodies_are_read() {
    let project = Fixture::new(PROJECT);
    let service = service(&project);
    let large = json!({"code": "x".repeat(5_000)}).to_string();
    assert_eq!(service.request("POST /api/login", &[], &large).refusal(), "413 TOO_LARGE");
    assert_eq!(service.request("GET /api", &[], &large).refusal(), "413 TOO_LARGE");
}

#[test]
fn tokens_that_others_could_read_are_replaced() {
    let project = Fixture::new(PROJECT);
    let first = service(&project);
    let before = first.secrets.clone();
    first.kill();
    let file = state(&project).join("toolkiln/web/secrets.json");
    let again = service(&project);
    assert_eq!(again.secrets, before);
    again.kill();
    fs::set_permissions(&file, fs::Permissions::from_mode(0o644)).unwrap();
    // A terminal does not use them either.
    let mut command = crate::run::command(None);
    command.env("XDG_STATE_HOME", state(&project)).args(["run", "Hello", "--attach"]);
    let ran = command.stdin(Stdio::null()).output().unwrap();
    let told = String::from_utf8(ran.stderr).unwrap();
    assert!(told.contains("others could read the tokens"), "{told}");
    let renewed = service(&project);
    for name in ["all", "chat", "approve", "tools", "cookie_key"] {
        assert_ne!(renewed.secrets[name], before[name], "{name}");
    }
    assert_eq!(fs::metadata(&file).unwrap().permissions().mode() & 0o777, 0o600);
}

#[test]
fn the_link_names_the_address_that_is_listened_at() {
    let project = Fixture::new(PROJECT);
    let offline = ["--provider", "offline"];
    let service = Service::start_at("127.0.0.2:0", &project, &offline, &[], Stdio::null());
    assert!(service.address.starts_with("127.0.0.2:"), "{}", service.address);
    assert_eq!(service.get("/api/sessions"), json!({"sessions": []}));
    // Other names lead elsewhere, where another user's program may listen.
    let port = service.address.rsplit(':').next().unwrap();
    for name in ["127.0.0.1", "localhost", "[::1]"] {
        let host = format!("host: {name}:{port}");
        let answer =
            service.request_as_is("GET /api/proof?challenge=0123456789abcdef", &[&host], "");
        assert_eq!(answer.refusal(), "421 WRONG_HOST", "{name}");
    }
}

#[test]
fn only_so_many_messages_wait_for_a_turn() {
    let project = Fixture::new(PROJECT);
    let model = ModelServer::start([Reply::pieces(["never ", "ending"]).through(&Gate::new())]);
    let service = Service::start(&project, &model);
    let session = service.begin();
    service.say(&session, "Go on for ever");
    let path = format!("/api/sessions/{session}/messages");
    let said: Vec<String> = (0..102)
        .map(|number| {
            let answer = service.try_post(&path, json!({"text": format!("And {number}")}));
            if answer.status == 200 { "queued".to_owned() } else { answer.refusal() }
        })
        .collect();
    assert!(said[..100].iter().all(|answer| answer == "queued"), "{said:?}");
    assert_eq!(said[100..], ["429 QUEUE_FULL", "429 QUEUE_FULL"]);
    let waiting = service.get(&format!("/api/sessions/{session}/queue"));
    assert_eq!(waiting["messages"].as_array().unwrap().len(), 100);
}

/// Calls by hand that may wait for an answer.
const WAITING_CALLS: usize = 32;

#[test]
fn only_so_many_calls_by_hand_wait_for_an_answer_and_those_left_alone_make_room() {
    let project = Fixture::new(PROJECT);
    let service = service(&project);
    let mut watcher = service.watch("");
    let calls: Vec<TcpStream> = (0..WAITING_CALLS)
        .map(|number| {
            let arguments = json!({"path": format!("{number}.txt"), "content": "x\n"});
            let body = json!({"arguments": arguments}).to_string();
            let mut stream = service.connect();
            write!(
                stream,
                "POST /api/tools/create_file HTTP/1.1\r\nhost: {}\r\n{}\r\n\
                 content-type: application/json\r\ncontent-length: {}\r\n\r\n{body}",
                service.address,
                service.token("tools"),
                body.len()
            )
            .unwrap();
            stream
        })
        .collect();
    watcher.until("all questions", |seen| seen.questions.len() == WAITING_CALLS);
    let one_more = json!({"arguments": {"path": "more.txt", "content": "x\n"}});
    let refused = service.try_post("/api/tools/create_file", one_more);
    assert_eq!(refused.refusal(), "429 TOO_MANY");
    drop(calls);
    watcher.until("no question", |seen| seen.questions.is_empty());
    let read = service.post("/api/tools/read_file", json!({"arguments": {"path": "notes.txt"}}));
    assert_eq!(read["ok"], true);
}

/// Streams that may be open.
const MOST_STREAMS: usize = 400;

#[test]
fn streams_leave_room_for_requests() {
    let project = Fixture::new(PROJECT);
    let service = service(&project);
    let open: Vec<Watcher> = (0..MOST_STREAMS).map(|_| service.watch("")).collect();
    let refused = service.request("GET /api/events", &[&service.token("chat")], "");
    assert_eq!(refused.refusal(), "503 OVERLOADED");
    assert_eq!(service.get("/api/sessions"), json!({"sessions": []}));
    drop(open);
}

#[test]
fn a_title_is_short_because_every_list_has_it() {
    let project = Fixture::new(PROJECT);
    let service = service(&project);
    let session = service.begin();
    let long = json!({"title": "x".repeat(1_001)});
    let path = format!("/api/sessions/{session}");
    assert_eq!(service.patch(&path, long.clone()).refusal(), "400 INVALID_ARGUMENTS");
    assert_eq!(service.try_post("/api/sessions", long).refusal(), "400 INVALID_ARGUMENTS");
    assert_eq!(service.patch(&path, json!({"title": "x".repeat(1_000)})).status, 200);
}

#[test]
fn a_program_that_may_only_chat_takes_no_change_of_a_file_back() {
    let project = Fixture::new(PROJECT);
    let write = json!({"path": "copy.txt", "content": "first\n"});
    let model = ModelServer::start([
        Reply::text("I write. ").and_call("create_file", write),
        Reply::text("Done."),
    ]);
    let more = ["--provider", "anthropic", "--base-url", &model.base_url(), "--yes"];
    let service = Service::start_with(&project, &more);
    let session = service.begin();
    let mut watcher = service.watch(&session);
    let said = service.say(&session, "Copy")["sequence"].as_u64().unwrap();
    watcher.until("the end of the turn", |seen| {
        seen.states.get(&session).is_some_and(|state| state == "idle")
            && seen.items_of(&session).iter().any(|item| item["kind"] == "turn")
    });
    let rewind = |scope: &str, files: &str| {
        let body = json!({"to": said, "files": files}).to_string();
        let target = format!("POST /api/sessions/{session}/rewind");
        service.request(&target, &[&service.token(scope)], &body)
    };
    assert_eq!(rewind("chat", "restore").refusal(), "403 PERMISSION_DENIED");
    assert!(project.path("copy.txt").exists());
    assert_eq!(rewind("all", "restore").status, 200);
    assert!(!project.path("copy.txt").exists());
}
