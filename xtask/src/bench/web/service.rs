//! The service that is measured, and clients that cost as little as possible.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpStream;
use std::path::Path;
use std::process::{Child, ChildStdout, Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, ensure};
use serde_json::{Value, json};
use testkit::{Fixture, ModelServer};

use super::super::client::{Memory, memory_in};

/// Longer than anything that is measured may take.
const PATIENCE: Duration = Duration::from_secs(120);

/// A running `toolkiln web`; killed on drop.
pub(super) struct WebServer {
    child: Child,
    /// Kept open: the service may write more.
    _stdout: BufReader<ChildStdout>,
    pub(super) address: String,
    pub(super) token: String,
}

impl WebServer {
    /// Starts it; the time runs from before the start of the process to the last byte of the page.
    pub(super) fn start(
        binary: &Path,
        project: &Fixture,
        model: &ModelServer,
    ) -> Result<(Self, Duration)> {
        let mut command = Command::new(binary);
        // Ollama's kind of server needs no key.
        command.args(["web", "--listen", "127.0.0.1:0", "--provider", "ollama"]);
        command.args(["--model", "scripted", "--base-url", &model.base_url()]);
        command.arg("--root").arg(project.root());
        for (name, directory) in [
            ("XDG_STATE_HOME", "state"),
            ("XDG_CACHE_HOME", "cache"),
            ("XDG_CONFIG_HOME", "config"),
        ] {
            command.env(name, project.root().with_file_name(directory));
        }
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null());
        let start = Instant::now();
        let mut child = command.spawn().context("cannot start the service")?;
        let mut stdout = BufReader::new(child.stdout.take().context("its output is piped")?);
        let mut link = String::new();
        stdout.read_line(&mut link)?;
        let url = link.split("/#code=").next().unwrap_or_default();
        let address = url.strip_prefix("http://").context("the service did not start")?.to_owned();
        let mut server = Self { child, _stdout: stdout, address, token: String::new() };
        let page = server.ask("GET", "/", None)?;
        let time = start.elapsed();
        ensure!(page.contains("<html"), "the page is not served: {page}");
        let secrets = project.root().with_file_name("state").join("toolkiln/web/secrets.json");
        let secrets: Value = serde_json::from_slice(&std::fs::read(secrets)?)?;
        secrets["all"].as_str().context("no token")?.clone_into(&mut server.token);
        Ok((server, time))
    }

    fn send(&self, method: &str, path: &str, body: Option<&Value>) -> Result<TcpStream> {
        let mut stream = TcpStream::connect(&self.address)?;
        stream.set_nodelay(true)?;
        stream.set_read_timeout(Some(PATIENCE))?;
        let body = body.map(Value::to_string).unwrap_or_default();
        // The page itself is for everybody.
        let token = match &*self.token {
            "" => String::new(),
            token => format!("authorization: Bearer {token}\r\n"),
        };
        let address = &self.address;
        let head = format!(
            "{method} {path} HTTP/1.1\r\nhost: {address}\r\n{token}\
             content-type: application/json\r\ncontent-length: {}\r\nconnection: close\r\n\r\n",
            body.len()
        );
        stream.write_all((head + &body).as_bytes())?;
        Ok(stream)
    }

    /// The body of an answer that is not an error.
    fn ask(&self, method: &str, path: &str, body: Option<&Value>) -> Result<String> {
        let mut answer = String::new();
        self.send(method, path, body)?.read_to_string(&mut answer)?;
        let (head, body) = answer.split_once("\r\n\r\n").context("half an answer")?;
        ensure!(head.starts_with("HTTP/1.1 200"), "{method} {path}: {answer}");
        Ok(body.to_owned())
    }

    fn json(&self, method: &str, path: &str, body: Option<&Value>) -> Result<Value> {
        serde_json::from_str(&self.ask(method, path, body)?).with_context(|| path.to_owned())
    }

    /// Begins a session and answers its id.
    pub(super) fn begin(&self) -> Result<String> {
        let begun = self.json("POST", "/api/sessions", Some(&json!({})))?;
        Ok(begun["id"].as_str().context("a session has an id")?.to_owned())
    }

    pub(super) fn say(&self, session: &str, text: &str) -> Result<()> {
        let path = format!("/api/sessions/{session}/messages");
        self.ask("POST", &path, Some(&json!({"text": text}))).map(drop)
    }

    /// Says something and waits for the end of the turn.
    pub(super) fn turn(&self, session: &str, text: &str) -> Result<()> {
        let mut watcher = self.watch(session)?;
        self.say(session, text)?;
        watcher.until(r#""kind":"turn""#).map(drop)
    }

    /// Items of a session's timeline, all of them.
    pub(super) fn total(&self, session: &str) -> Result<u64> {
        let path = format!("/api/sessions/{session}/timeline?limit=1");
        self.json("GET", &path, None)?["total"].as_u64().context("a timeline has a total")
    }

    /// A client of the stream that has been greeted.
    pub(super) fn watch(&self, follow: &str) -> Result<StreamClient> {
        let path = format!("/api/events?follow={follow}");
        let lines = BufReader::new(self.send("GET", &path, None)?);
        let mut client = StreamClient { lines, line: Vec::new() };
        client.until("event: hello")?;
        Ok(client)
    }

    pub(super) fn memory(&self) -> Result<Memory> {
        let status = std::fs::read_to_string(format!("/proc/{}/status", self.child.id()))?;
        memory_in(&status).context("the kernel does not tell the memory of processes")
    }
}

impl Drop for WebServer {
    fn drop(&mut self) {
        // It may have ended by itself; there is nothing to be done about it here.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Reads the stream line by line.
pub(super) struct StreamClient {
    lines: BufReader<TcpStream>,
    line: Vec<u8>,
}

impl StreamClient {
    /// The moment at which a line with this text was read.
    pub(super) fn until(&mut self, text: &str) -> Result<Instant> {
        loop {
            self.line.clear();
            let read = self.lines.read_until(b'\n', &mut self.line)?;
            ensure!(read > 0, "the stream ended before `{text}` came");
            let holds = |line: &[u8]| line.windows(text.len()).any(|part| part == text.as_bytes());
            if holds(&self.line) {
                return Ok(Instant::now());
            }
        }
    }
}
