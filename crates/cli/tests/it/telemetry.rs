//! Traces and metrics of real conversations, as a collector gets them.

use std::collections::BTreeMap;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpListener;
use std::process::Stdio;
use std::sync::mpsc::{Receiver, channel};
use std::thread;

use serde_json::json;
use testkit::{Fixture, ModelServer, Reply, StdioServer};

use crate::run::{Ran, command, finish};

const PROJECT: &str = "//- /notes.txt\nfirst\n";

/// A server that takes everything.
pub(crate) struct Collector {
    pub(crate) address: String,
    received: Receiver<(String, Vec<u8>)>,
}

impl Collector {
    pub(crate) fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = format!("http://{}", listener.local_addr().unwrap());
        let (tell, received) = channel();
        thread::spawn(move || {
            for stream in listener.incoming().map_while(Result::ok) {
                let tell = tell.clone();
                thread::spawn(move || {
                    let mut reader = BufReader::new(stream.try_clone().unwrap());
                    let mut stream = stream;
                    loop {
                        let (mut head, mut length) = (String::new(), 0);
                        while !head.ends_with("\r\n\r\n") {
                            if reader.read_line(&mut head).unwrap_or(0) == 0 {
                                return;
                            }
                        }
                        for line in head.lines() {
                            if let Some(told) = line.strip_prefix("content-length: ") {
                                length = told.parse().unwrap();
                            }
                        }
                        let mut body = vec![0; length];
                        reader.read_exact(&mut body).unwrap();
                        let path = head.split(' ').nth(1).unwrap().to_owned();
                        // Before the answer, after which the sender may end.
                        if tell.send((path, body)).is_err() {
                            return;
                        }
                        stream.write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n").unwrap();
                    }
                });
            }
        });
        Self { address, received }
    }

    /// What was sent to each path, at once or in parts: a slow machine sends what it has after a second.
    pub(crate) fn all(&self) -> BTreeMap<String, Vec<u8>> {
        let mut sent = BTreeMap::<String, Vec<u8>>::new();
        for (path, body) in self.received.try_iter() {
            sent.entry(path).or_default().extend(body);
        }
        sent
    }
}

fn ran(project: &Fixture, variables: &[(&str, &str)]) -> Ran {
    let model = ModelServer::start([
        Reply::text("I look.").and_call("read_file", json!({"path": "notes.txt"})),
        Reply::text("It says first."),
    ]);
    let mut command = command(None);
    command.env("XDG_STATE_HOME", project.root().with_file_name("state"));
    command.env("ANTHROPIC_API_KEY", "test-key").envs(variables.iter().copied());
    command.args(["run", "What do the notes say?", "--provider", "anthropic", "--base-url"]);
    command.arg(model.base_url()).arg("--root").arg(project.root());
    finish(command.stdin(Stdio::null()))
}

fn holds(body: &[u8], text: &str) -> bool {
    body.windows(text.len()).any(|part| part == text.as_bytes())
}

#[test]
fn a_run_sends_its_spans_and_measures_before_it_ends() {
    let (project, collector) = (Fixture::new(PROJECT), Collector::start());
    let ran = ran(&project, &[("OTEL_EXPORTER_OTLP_ENDPOINT", &collector.address)]);
    assert_eq!((ran.code, ran.stderr.contains("telemetry")), (0, false), "{}", ran.stderr);
    let sent = collector.all();
    assert!(sent.keys().eq(["/v1/metrics", "/v1/traces"]), "{:?}", sent.keys());
    let (traces, metrics) = (&sent["/v1/traces"], &sent["/v1/metrics"]);
    for name in ["invoke_agent toolkiln", "execute_tool read_file", "gen_ai.usage.input_tokens"] {
        assert!(holds(traces, name), "{name}");
    }
    assert!(!holds(traces, "What do the notes say?") && !holds(traces, "It says first."));
    assert!(holds(metrics, "gen_ai.client.operation.duration"));
}

#[test]
fn nothing_is_sent_unless_an_address_is_configured_and_a_wrong_one_stops_no_command() {
    let (project, collector) = (Fixture::new(PROJECT), Collector::start());
    let disabled = [
        ("OTEL_EXPORTER_OTLP_ENDPOINT", collector.address.as_str()),
        ("OTEL_SDK_DISABLED", "true"),
    ];
    assert_eq!(ran(&project, &disabled).code, 0);
    assert_eq!(ran(&project, &[]).code, 0);
    let wrong = ran(&project, &[("OTEL_EXPORTER_OTLP_ENDPOINT", "localhost:4317")]);
    assert_eq!(wrong.code, 0);
    assert!(wrong.stderr.contains("no telemetry is sent"), "{}", wrong.stderr);
    assert_eq!(collector.all(), BTreeMap::new());
}

#[test]
fn what_was_said_is_sent_only_if_the_user_configures_that() {
    let (project, collector) = (Fixture::new(PROJECT), Collector::start());
    let text = format!(
        "//- /toolkiln/config.toml\n[telemetry]\nendpoint = \"{}\"\ncontent = true\n",
        collector.address
    );
    let config = Fixture::new(&text);
    let home = config.root().display().to_string();
    assert_eq!(ran(&project, &[("XDG_CONFIG_HOME", &home)]).code, 0);
    let traces = &collector.all()["/v1/traces"];
    assert!(holds(traces, "What do the notes say?") && holds(traces, "It says first."));
}

#[test]
fn a_call_over_mcp_is_sent_as_a_part_of_the_trace_that_it_names() {
    let (project, collector) = (Fixture::new(PROJECT), Collector::start());
    let mut command = command(None);
    command.env("XDG_STATE_HOME", project.root().with_file_name("state"));
    command.env("OTEL_EXPORTER_OTLP_ENDPOINT", &collector.address);
    command.arg("mcp").arg("--root").arg(project.root());
    let mut server = StdioServer::start(command);
    let hello = json!({
        "protocolVersion": "2025-11-25",
        "capabilities": {},
        "clientInfo": {"name": "test", "version": "1"},
    });
    server.request("initialize", hello);
    server.notify("notifications/initialized", json!({}));
    let parent = "00-0af7651916cd43dd8448eb211c80319c-00f067aa0ba902b7-01";
    for meta in [json!({"traceparent": parent}), json!({})] {
        let arguments = json!({"path": "notes.txt"});
        let call = json!({"name": "read_file", "arguments": arguments, "_meta": meta});
        assert_eq!(server.request("tools/call", call)["result"]["isError"], false);
    }
    assert!(server.finish().success());
    let sent = collector.all();
    assert!(sent.keys().eq(["/v1/traces"]), "there are no measures");
    let body = &sent["/v1/traces"];
    let spans = body.windows(20).filter(|part| *part == b"tools/call read_file").count();
    assert_eq!(spans, 1, "only the call that names a span is in a trace");
    for id in [&b"\x0a\xf7\x65\x19\x16\xcd\x43\xdd"[..], b"\x00\xf0\x67\xaa\x0b\xa9\x02\xb7"] {
        assert!(body.windows(id.len()).any(|part| part == id));
    }
}
