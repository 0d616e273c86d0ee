//! A running service, and clients as plain as possible: what is sent is what the test wrote.

use std::collections::BTreeMap;
use std::fs;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdout, Command, Stdio};
use std::sync::OnceLock;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};
use testkit::{Fixture, ModelServer, first_admin_token};

use super::description::Description;
use crate::run::command;

/// How long a test waits for what must come.
const WATCHDOG: Duration = Duration::from_secs(30);

/// The service of a project. It is killed on drop.
pub(crate) struct Service {
    child: Child,
    /// Kept open: the service may write more.
    _stdout: BufReader<ChildStdout>,
    pub(crate) address: String,
    pub(crate) code: String,
    pub(crate) secrets: Value,
    description: Description,
}

pub(crate) fn state(project: &Fixture) -> PathBuf {
    project.root().with_file_name("state")
}

impl Service {
    /// Starts the service for a project with a scripted model.
    pub(crate) fn start(project: &Fixture, model: &ModelServer) -> Self {
        let more = ["--provider", "anthropic", "--base-url", &model.base_url()];
        Self::start_with(project, &more)
    }

    /// The same at an address of this machine that no other test uses. The port stays free after its end: the system gives
    /// ports of the usual address to any program, also as those that it connects from.
    pub(crate) fn start_alone(last: u8, project: &Fixture, model: &ModelServer) -> Self {
        let more = ["--provider", "anthropic", "--base-url", &model.base_url()];
        Self::start_at(&format!("127.0.0.{last}:0"), project, &more, &[], Stdio::null())
    }

    pub(crate) fn start_with(project: &Fixture, more: &[&str]) -> Self {
        Self::start_in(project, more, &[])
    }

    /// The same, with variables of the environment.
    pub(crate) fn start_in(project: &Fixture, more: &[&str], variables: &[(&str, &str)]) -> Self {
        Self::start_at("127.0.0.1:0", project, more, variables, Stdio::null())
    }

    /// The same at an address, and with a place for what it tells the user.
    pub(crate) fn start_at(
        address: &str,
        project: &Fixture,
        more: &[&str],
        variables: &[(&str, &str)],
        told: Stdio,
    ) -> Self {
        let mut command = command(None);
        command.envs(variables.iter().copied());
        command.env("XDG_STATE_HOME", state(project)).env("ANTHROPIC_API_KEY", "test-key");
        command.args(["web", "--listen", address, "--root"]).arg(project.root()).args(more);
        Self::run(command.stderr(told), &state(project))
    }

    /// Runs a command that serves, and keeps its tokens below `state`.
    pub(crate) fn run(command: &mut Command, state: &Path) -> Self {
        Self::started(command, |_, code| {
            assert!(!code.is_empty(), "a link");
            let secrets = fs::read(state.join("toolkiln/web/secrets.json")).unwrap();
            serde_json::from_slice(&secrets).unwrap()
        })
    }

    /// The same for a team. Whoever starts it first becomes the admin.
    pub(crate) fn run_for_team(command: &mut Command, admin: &OnceLock<String>) -> Self {
        Self::started(command, |address, code| {
            let token = admin.get_or_init(|| first_admin_token(address, code));
            json!({"all": token, "chat": token})
        })
    }

    fn started(command: &mut Command, secrets: impl FnOnce(&str, &str) -> Value) -> Self {
        command.stdin(Stdio::null()).stdout(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let mut stdout = BufReader::new(child.stdout.take().unwrap());
        let mut link = String::new();
        stdout.read_line(&mut link).unwrap();
        let link = link.trim_end();
        let (url, code) = link.split_once("/#code=").unwrap_or((link, ""));
        let address = url.strip_prefix("http://").unwrap().to_owned();
        let secrets = secrets(&address, code);
        let code = code.to_owned();
        let description = Description(json!({"paths": {}}));
        let mut service = Self { child, _stdout: stdout, address, code, secrets, description };
        service.description = Description(service.request("GET /api", &[], "").json());
        service
    }

    /// Ends it without a warning.
    pub(crate) fn kill(mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }

    /// Asks it to end, and waits until it has.
    pub(crate) fn terminate(mut self) -> Option<i32> {
        self.signal(Signal::TERM);
        self.child.wait().unwrap().code()
    }

    pub(crate) fn signal(&self, signal: Signal) {
        let pid = Pid::from_raw(self.child.id().try_into().unwrap()).unwrap();
        kill_process(pid, signal).unwrap();
    }

    pub(crate) fn token(&self, scope: &str) -> String {
        format!("authorization: Bearer {}", self.secrets[scope].as_str().unwrap())
    }

    pub(crate) fn connect(&self) -> TcpStream {
        let stream = TcpStream::connect(&self.address).unwrap();
        stream.set_read_timeout(Some(WATCHDOG)).unwrap();
        stream
    }

    /// Sends exactly these bytes and reads the answer to its end.
    pub(crate) fn raw(&self, bytes: &[u8]) -> HttpAnswer {
        let mut stream = self.connect();
        // A service that refuses early may close before everything is sent.
        let _ = stream.write_all(bytes);
        HttpAnswer::read(stream)
    }

    /// A request with these headers, beside those that every request has.
    pub(crate) fn request(&self, target: &str, headers: &[&str], body: &str) -> HttpAnswer {
        let host = format!("host: {}", self.address);
        let all: Vec<&str> =
            std::iter::once(host.as_str()).chain(headers.iter().copied()).collect();
        self.request_as_is(target, &all, body)
    }

    /// A request with these headers and no others but its length and type.
    pub(crate) fn request_as_is(&self, target: &str, headers: &[&str], body: &str) -> HttpAnswer {
        let headers: String = headers.iter().map(|line| format!("{line}\r\n")).collect();
        let length = body.len();
        let kind = if length == 0 { "" } else { "content-type: application/json\r\n" };
        let text = format!(
            "{target} HTTP/1.1\r\n{headers}{kind}content-length: {length}\r\nconnection: close\r\n\r\n{body}"
        );
        let answer = self.raw(text.as_bytes());
        self.description.check(target, &answer);
        answer
    }

    #[track_caller]
    pub(crate) fn get(&self, path: &str) -> Value {
        let answer = self.request(&format!("GET {path}"), &[&self.token("all")], "");
        assert_eq!(answer.status, 200, "{path}: {}", answer.body);
        answer.json()
    }

    #[track_caller]
    pub(crate) fn post(&self, path: &str, body: Value) -> Value {
        let answer = self.try_post(path, body);
        assert_eq!(answer.status, 200, "{path}: {}", answer.body);
        answer.json()
    }

    pub(crate) fn patch(&self, path: &str, body: Value) -> HttpAnswer {
        self.request(&format!("PATCH {path}"), &[&self.token("all")], &body.to_string())
    }

    pub(crate) fn try_post(&self, path: &str, body: Value) -> HttpAnswer {
        self.request(&format!("POST {path}"), &[&self.token("all")], &body.to_string())
    }

    /// Begins a session.
    pub(crate) fn begin(&self) -> String {
        self.post("/api/sessions", json!({}))["id"].as_str().unwrap().to_owned()
    }

    pub(crate) fn say(&self, session: &str, text: &str) -> Value {
        self.post(&format!("/api/sessions/{session}/messages"), json!({"text": text}))
    }

    /// The whole timeline as the service tells it.
    pub(crate) fn items(&self, session: &str) -> Vec<Value> {
        let window = self.get(&format!("/api/sessions/{session}/timeline?limit=1000"));
        window["items"].as_array().unwrap().clone()
    }

    pub(crate) fn watch(&self, follow: &str) -> Watcher {
        Watcher::connect(self, follow, Seen::default())
    }

    /// Comes back with what was seen before.
    pub(crate) fn resume(&self, follow: &str, seen: Seen) -> Watcher {
        Watcher::connect(self, follow, seen)
    }
}

impl Drop for Service {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

pub(crate) struct HttpAnswer {
    pub(crate) status: u16,
    pub(crate) head: String,
    pub(crate) body: String,
    /// The body as it came, which need not be text.
    pub(crate) bytes: Vec<u8>,
}

impl HttpAnswer {
    fn read(mut stream: TcpStream) -> Self {
        let mut bytes = Vec::new();
        // What came before the connection was reset is the answer.
        let _ = stream.read_to_end(&mut bytes);
        let text = String::from_utf8_lossy(&bytes);
        let (head, body) = text.split_once("\r\n\r\n").unwrap_or((&text, ""));
        let end = bytes.windows(4).position(|four| four == b"\r\n\r\n");
        let raw = end.map(|end| bytes[end + 4..].to_vec()).unwrap_or_default();
        let status = head.split(' ').nth(1).and_then(|status| status.parse().ok()).unwrap_or(0);
        // Names of headers in small letters; values as they are.
        let line = |line: &str| match line.split_once(": ") {
            Some((name, value)) => format!("{}: {value}\n", name.to_ascii_lowercase()),
            None => format!("{line}\n"),
        };
        let head = head.lines().map(line).collect();
        Self { status, head, body: body.to_owned(), bytes: raw }
    }

    #[track_caller]
    pub(crate) fn json(&self) -> Value {
        serde_json::from_str(&self.body).unwrap_or_else(|error| panic!("{error}: {}", self.body))
    }

    /// Status and code, such as `403 FOREIGN_ORIGIN`.
    pub(crate) fn refusal(&self) -> String {
        format!("{} {}", self.status, self.json()["error"]["code"].as_str().unwrap_or("none"))
    }
}

/// What a client has, also when its connection is gone.
#[derive(Clone, Debug, Default)]
pub(crate) struct Seen {
    /// Items by session and number.
    pub(crate) items: BTreeMap<(String, u64), Value>,
    /// What a browser would send to come back.
    pub(crate) last_event_id: Option<String>,
    pub(crate) questions: Vec<Value>,
    pub(crate) states: BTreeMap<String, String>,
    /// How far each session was seen.
    through: BTreeMap<String, u64>,
}

impl Seen {
    /// The items of one session, in order.
    pub(crate) fn items_of(&self, session: &str) -> Vec<Value> {
        let own = self.items.iter().filter(|((of, _), _)| of == session);
        own.map(|(_, item)| item.clone()).collect()
    }
}

/// A client of the stream of events.
pub(crate) struct Watcher {
    lines: BufReader<TcpStream>,
    pub(crate) seen: Seen,
}

impl Watcher {
    fn connect(service: &Service, follow: &str, seen: Seen) -> Self {
        let mut stream = service.connect();
        let id = seen.last_event_id.as_ref();
        let id = id.map(|id| format!("last-event-id: {id}\r\n")).unwrap_or_default();
        // Of HTTP 1.0, so that the events come as they are.
        let head = format!(
            "GET /api/events?follow={follow} HTTP/1.0\r\nhost: {}\r\n{}\r\n{id}\r\n",
            service.address,
            service.token("all")
        );
        stream.write_all(head.as_bytes()).unwrap();
        let mut lines = BufReader::new(stream);
        let mut line = String::new();
        while lines.read_line(&mut line).unwrap() > 2 {
            assert!(!line.starts_with("HTTP") || line.contains(" 200 "), "{line}");
            line.clear();
        }
        Self { lines, seen }
    }

    /// Takes events until `is_enough`.
    #[track_caller]
    pub(crate) fn until(&mut self, what: &str, is_enough: impl Fn(&Seen) -> bool) {
        // The service says at least that it is there, so that reading alone never takes too long.
        let end = Instant::now() + WATCHDOG;
        while !is_enough(&self.seen) {
            assert!(Instant::now() < end, "{what} does not come");
            assert!(self.next().is_some(), "the stream has ended before {what}");
        }
    }

    /// Takes one event; none if the stream has ended.
    #[track_caller]
    fn next(&mut self) -> Option<()> {
        let (mut id, mut name, mut data) = (None, String::new(), String::new());
        loop {
            let mut line = String::new();
            if self.lines.read_line(&mut line).ok()? == 0 {
                return None;
            }
            match line.trim_end_matches('\n').split_once(": ") {
                Some(("id", value)) => id = Some(value.to_owned()),
                Some(("event", value)) => name = value.to_owned(),
                Some(("data", value)) => data = value.to_owned(),
                _ => break,
            }
        }
        let data: Value = serde_json::from_str(&data).unwrap();
        let text = |name: &str| data[name].as_str().unwrap().to_owned();
        match name.as_str() {
            "items" => {
                let session = text("session");
                let after = data["after"].as_u64().unwrap();
                // Batches lie end to end: nothing is missing and nothing comes twice.
                if let Some(through) = self.seen.through.get(&session) {
                    assert_eq!(after, *through, "{session}");
                }
                self.seen.through.insert(session.clone(), data["through"].as_u64().unwrap());
                for item in data["items"].as_array().unwrap() {
                    let key = (session.clone(), item["id"].as_u64().unwrap());
                    self.seen.items.insert(key, item.clone());
                }
                for more in data["grown"].as_array().unwrap() {
                    let key = (session.clone(), more["id"].as_u64().unwrap());
                    let text = &mut self.seen.items.get_mut(&key).unwrap()["text"];
                    *text = format!("{}{}", text.as_str().unwrap(), more["text"].as_str().unwrap())
                        .into();
                }
            }
            "questions" => self.seen.questions = data["questions"].as_array().unwrap().clone(),
            "session" => drop(self.seen.states.insert(text("id"), text("state"))),
            "closed" => drop(self.seen.states.remove(&text("id"))),
            "hello" | "beat" => {}
            other => panic!("an event `{other}`"),
        }
        if let Some(id) = id {
            self.seen.last_event_id = Some(id);
        }
        Some(())
    }
}
