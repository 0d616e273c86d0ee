//! A little MCP server over HTTP that answers as a test tells it to, byte for byte.

use std::collections::BTreeMap;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex};
use std::thread;

use serde_json::{Value, json};

/// A request as it came.
#[derive(Clone, Debug)]
pub(crate) struct Seen {
    pub(crate) http_method: String,
    pub(crate) headers: BTreeMap<String, String>,
    pub(crate) message: Value,
}

impl Seen {
    /// The method of its message, or that of HTTP where it has none.
    pub(crate) fn what(&self) -> &str {
        self.message["method"].as_str().unwrap_or(&self.http_method)
    }

    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.headers.get(name).map(String::as_str)
    }

    /// The result of its message.
    pub(crate) fn result(&self, result: Value) -> Value {
        json!({"jsonrpc": "2.0", "id": self.message["id"], "result": result})
    }
}

/// What is sent back.
#[derive(Clone, Debug)]
pub(crate) struct Answer {
    status: u16,
    headers: Vec<(&'static str, String)>,
    body: String,
    /// The connection ends in the middle of the body.
    breaks: bool,
}

impl Answer {
    pub(crate) fn status(status: u16, body: &str) -> Self {
        Self { status, headers: Vec::new(), body: body.to_owned(), breaks: false }
    }

    pub(crate) fn json(message: &Value) -> Self {
        Self::status(200, &message.to_string()).with("content-type", "application/json")
    }

    /// A stream of events as they are written.
    pub(crate) fn events(text: &str) -> Self {
        Self::status(200, text).with("content-type", "text/event-stream")
    }

    /// One message as JSON or as a stream.
    pub(crate) fn message(kind: AnswerKind, message: &Value) -> Self {
        match kind {
            AnswerKind::Json => Self::json(message),
            AnswerKind::Events => {
                Self::events(&format!(": hello\n\nevent: message\ndata: {message}\n\n"))
            }
        }
    }

    pub(crate) fn with(mut self, name: &'static str, value: &str) -> Self {
        self.headers.push((name, value.to_owned()));
        self
    }

    pub(crate) fn broken(mut self) -> Self {
        self.breaks = true;
        self
    }

    fn write(&self, stream: &mut TcpStream) -> std::io::Result<()> {
        let mut text = format!("HTTP/1.1 {} Told\r\nconnection: close\r\n", self.status);
        for (name, value) in &self.headers {
            text += &format!("{name}: {value}\r\n");
        }
        text += "transfer-encoding: chunked\r\n\r\n";
        if !self.body.is_empty() {
            text += &format!("{:x}\r\n{}\r\n", self.body.len(), self.body);
        }
        if !self.breaks {
            text += "0\r\n\r\n";
        }
        stream.write_all(text.as_bytes())
    }
}

/// How messages come back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum AnswerKind {
    Json,
    Events,
}

impl AnswerKind {
    pub(crate) const BOTH: [AnswerKind; 2] = [AnswerKind::Json, AnswerKind::Events];
}

type Script = dyn Fn(&Seen) -> Answer + Send + Sync;

/// The server, at an address of its own. Its threads end with the process.
pub(crate) struct HttpServer {
    pub(crate) url: String,
    seen: Arc<Mutex<Vec<Seen>>>,
}

impl HttpServer {
    pub(crate) fn start(script: impl Fn(&Seen) -> Answer + Send + Sync + 'static) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port is free");
        let url = format!("http://{}/mcp", listener.local_addr().expect("it has an address"));
        let seen: Arc<Mutex<Vec<Seen>>> = Arc::default();
        let (noted, script): (_, Arc<Script>) = (Arc::clone(&seen), Arc::new(script));
        thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let (noted, script) = (Arc::clone(&noted), Arc::clone(&script));
                // A client that goes away is its own affair.
                thread::spawn(move || _ = served(stream, &noted, &*script));
            }
        });
        Self { url, seen }
    }

    /// Everything that was asked so far.
    pub(crate) fn seen(&self) -> Vec<Seen> {
        self.seen.lock().unwrap().clone()
    }

    /// The requests of this method, of the protocol or of HTTP.
    pub(crate) fn asked(&self, what: &str) -> Vec<Seen> {
        self.seen().into_iter().filter(|seen| seen.what() == what).collect()
    }
}

fn served(mut stream: TcpStream, noted: &Mutex<Vec<Seen>>, script: &Script) -> std::io::Result<()> {
    let mut reader = BufReader::new(stream.try_clone()?);
    let mut line = String::new();
    reader.read_line(&mut line)?;
    let http_method = line.split(' ').next().unwrap_or_default().to_owned();
    let mut headers = BTreeMap::new();
    loop {
        line.clear();
        reader.read_line(&mut line)?;
        let Some((name, value)) = line.trim_end().split_once(':') else { break };
        headers.insert(name.to_ascii_lowercase(), value.trim().to_owned());
    }
    let length = headers.get("content-length").and_then(|length| length.parse().ok());
    let mut body = vec![0; length.unwrap_or(0)];
    reader.read_exact(&mut body)?;
    let message = serde_json::from_slice(&body).unwrap_or_default();
    let seen = Seen { http_method, headers, message };
    noted.lock().unwrap().push(seen.clone());
    script(&seen).write(&mut stream)
}

/// What a server of the modern era answers to the first questions.
pub(crate) fn modern(kind: AnswerKind, seen: &Seen) -> Option<Answer> {
    let result = match seen.what() {
        "server/discover" => json!({
            "resultType": "complete",
            "supportedVersions": ["2026-07-28"],
            "capabilities": {"tools": {}},
            "ttlMs": 0,
            "cacheScope": "public",
        }),
        "tools/list" => {
            json!({"resultType": "complete", "tools": [tool()], "ttlMs": 0, "cacheScope": "public"})
        }
        _ => return None,
    };
    Some(Answer::message(kind, &seen.result(result)))
}

/// What a server of the legacy era answers before the first call: it knows only its own session.
pub(crate) fn legacy(kind: AnswerKind, session: &str, seen: &Seen) -> Option<Answer> {
    Some(match seen.what() {
        "server/discover" => Answer::status(400, "no such method"),
        "initialize" => {
            let result = json!({
                "protocolVersion": "2025-11-25",
                "capabilities": {"tools": {}},
                "serverInfo": {"name": "little", "version": "1"},
            });
            Answer::message(kind, &seen.result(result)).with("mcp-session-id", session)
        }
        _ if seen.header("mcp-session-id") != Some(session) => {
            Answer::status(404, "no such session")
        }
        "notifications/initialized" => Answer::status(202, ""),
        "GET" if seen.header("last-event-id").is_none() => Answer::status(405, "no such stream"),
        "tools/list" => Answer::message(kind, &seen.result(json!({"tools": [tool()]}))),
        _ => return None,
    })
}

fn tool() -> Value {
    let schema = json!({"type": "object", "properties": {"word": {"type": "string"}}});
    json!({"name": "echo", "description": "Says it again.", "inputSchema": schema})
}

/// The result of the tool.
pub(crate) fn echoed(seen: &Seen) -> Value {
    let word = &seen.message["params"]["arguments"]["word"];
    let content = json!([{"type": "text", "text": word}]);
    seen.result(json!({"resultType": "complete", "content": content, "isError": false}))
}
