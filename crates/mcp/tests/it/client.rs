//! A client that sends and reads raw lines, with the server in the same process.

use std::collections::VecDeque;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use mcp::{ApproverChoice, CallTracer, ProjectResources, ServeError, ServerParts};
use serde_json::{Value, json};
use testkit::Fixture;
use tokio::io::{
    AsyncBufReadExt as _, AsyncWriteExt as _, BufReader, DuplexStream, Lines, ReadHalf, WriteHalf,
};
use tokio::task::JoinHandle;
use tool_system::{
    ApproveAll, Caller, ExecutorOptions, JournalPerformer, OnDemand, ProjectTools, Tool,
    ToolExecutor, ToolRegistry,
};
use workspace::{Journal, JournalOptions, Workspace};

/// How long a test waits for what must come; a healthy server never needs it.
const WATCHDOG: Duration = Duration::from_secs(60);
/// As much as a pipe holds.
const PIPE_BYTES: usize = 64 * 1024;

const PROJECT: &str = r#"
//- /src/main.rs
fn main() {}
//- /src/lib.rs
pub fn answer() -> u32 { 42 }
//- /README.md
hello
"#;

/// How the client opens the conversation.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Era {
    /// `initialize`, then plain requests.
    Handshake,
    /// Every request carries its version.
    Stateless,
}

impl Era {
    pub(crate) const BOTH: [Era; 2] = [Era::Handshake, Era::Stateless];
}

/// What a client and its server are like.
pub(crate) struct Setup {
    pub(crate) era: Era,
    /// The revision that the handshake asks for.
    pub(crate) version: &'static str,
    /// What the client says it can do.
    pub(crate) capabilities: Value,
    pub(crate) approver: ApproverChoice,
    pub(crate) tools: Vec<Arc<dyn Tool>>,
    /// The project as the server names it, if the user has not.
    pub(crate) assumed_root: Option<PathBuf>,
    pub(crate) resources: Option<Arc<dyn ProjectResources>>,
    pub(crate) tracer: Option<Arc<dyn CallTracer>>,
}

impl Setup {
    /// A client that can do nothing special, of the built-in tools.
    pub(crate) fn new(era: Era) -> Setup {
        let (capabilities, approver, tools) = (json!({}), ApproverChoice::Host, Vec::new());
        let (version, assumed_root, resources, tracer) = ("2025-11-25", None, None, None);
        Setup { era, version, capabilities, approver, tools, assumed_root, resources, tracer }
    }
}

pub(crate) struct Client {
    era: Era,
    capabilities: Value,
    output: WriteHalf<DuplexStream>,
    input: Lines<BufReader<ReadHalf<DuplexStream>>>,
    server: JoinHandle<Result<(), ServeError>>,
    unclaimed: VecDeque<Value>,
    last_id: i64,
    pub(crate) project: Fixture,
}

impl Client {
    /// A client of the built-in tools, past the handshake if there is one.
    pub(crate) async fn new(era: Era) -> Client {
        Client::with_tools(era, []).await
    }

    /// The same with more tools.
    pub(crate) async fn with_tools<const N: usize>(era: Era, tools: [Arc<dyn Tool>; N]) -> Client {
        Client::open(Setup { tools: tools.into(), ..Setup::new(era) }).await
    }

    /// A client past the handshake, if there is one.
    pub(crate) async fn open(setup: Setup) -> Client {
        let (era, version) = (setup.era, setup.version);
        let mut client = Client::connect(setup);
        if era == Era::Handshake {
            client.initialize(version).await;
            client.send(&json!({"jsonrpc": "2.0", "method": "notifications/initialized"})).await;
        }
        client
    }

    /// A client that has said nothing yet.
    pub(crate) fn silent<const N: usize>(era: Era, tools: [Arc<dyn Tool>; N]) -> Client {
        Client::connect(Setup { tools: tools.into(), ..Setup::new(era) })
    }

    fn connect(setup: Setup) -> Client {
        let project = Fixture::new(PROJECT);
        let executor = Arc::new(executor(&project, setup.tools));
        let (ours, theirs) = tokio::io::duplex(PIPE_BYTES);
        let (reader, writer) = tokio::io::split(theirs);
        let parts = ServerParts::new(executor, setup.approver);
        let Setup { assumed_root, resources, tracer, .. } = setup;
        let parts = ServerParts { assumed_root, resources, tracer, ..parts };
        let server = tokio::spawn(mcp::serve(parts, reader, writer));
        let (input, output) = tokio::io::split(ours);
        Client {
            era: setup.era,
            capabilities: setup.capabilities,
            output,
            input: BufReader::new(input).lines(),
            server,
            unclaimed: VecDeque::new(),
            last_id: 0,
            project,
        }
    }

    pub(crate) fn era(&self) -> Era {
        self.era
    }

    /// The answer to `initialize`.
    pub(crate) async fn initialize(&mut self, version: &str) -> Value {
        let params = json!({
            "protocolVersion": version,
            "capabilities": self.capabilities,
            "clientInfo": {"name": "test", "version": "1"},
        });
        let id = self.send_plain_request("initialize", params).await;
        self.answer(id).await
    }

    /// Sends a request as the era wants it and returns its id.
    pub(crate) async fn send_request(&mut self, method: &str, mut params: Value) -> i64 {
        if self.era == Era::Stateless {
            let meta = &mut params["_meta"];
            meta["io.modelcontextprotocol/protocolVersion"] = "2026-07-28".into();
            meta["io.modelcontextprotocol/clientCapabilities"] = self.capabilities.clone();
        }
        self.send_plain_request(method, params).await
    }

    /// Sends a request without adding anything and returns its id.
    pub(crate) async fn send_plain_request(&mut self, method: &str, params: Value) -> i64 {
        self.last_id += 1;
        let id = self.last_id;
        self.send(&json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params})).await;
        id
    }

    /// Sends a request and waits for its answer.
    pub(crate) async fn request(&mut self, method: &str, params: Value) -> Value {
        let id = self.send_request(method, params).await;
        self.answer(id).await
    }

    /// Calls a tool and waits for the answer.
    pub(crate) async fn call(&mut self, name: &str, arguments: Value) -> Value {
        self.request("tools/call", json!({"name": name, "arguments": arguments})).await
    }

    pub(crate) async fn send(&mut self, message: &Value) {
        self.send_line(message.to_string().as_bytes()).await;
    }

    /// Sends a line, whatever it holds.
    pub(crate) async fn send_line(&mut self, line: &[u8]) {
        self.send_bytes(line).await;
        self.send_bytes(b"\n").await;
    }

    pub(crate) async fn send_bytes(&mut self, bytes: &[u8]) {
        self.output.write_all(bytes).await.expect("the server reads");
    }

    /// The next message of any kind, or `None` when the server has closed its side.
    pub(crate) async fn next(&mut self) -> Option<Value> {
        if let Some(message) = self.unclaimed.pop_front() {
            return Some(message);
        }
        let line = tokio::time::timeout(WATCHDOG, self.input.next_line()).await;
        let line = line.expect("the server answers").expect("the server sends UTF-8")?;
        Some(serde_json::from_str(&line).expect("the server sends nothing but JSON"))
    }

    /// The answer with this id; other messages stay available to [`Self::next`].
    pub(crate) async fn answer(&mut self, id: i64) -> Value {
        let mut others = VecDeque::new();
        loop {
            let message = self.next().await.expect("the server has not left");
            // What the server asks has ids of its own, which may be the same.
            if message["id"] == id && message.get("method").is_none() {
                others.append(&mut self.unclaimed);
                self.unclaimed = others;
                return message;
            }
            others.push_back(message);
        }
    }

    /// The next notification of this kind; nothing else may come before it.
    pub(crate) async fn notification(&mut self, method: &str) -> Value {
        let message = self.next().await.expect("the server has not left");
        assert_eq!(message["method"], method, "{message}");
        message
    }

    /// What has come and was not looked at.
    pub(crate) fn unclaimed(&self) -> Vec<Value> {
        self.unclaimed.iter().cloned().collect()
    }

    /// Shows that the server is still there.
    pub(crate) async fn assert_alive(&mut self) {
        let answer = self.call("read_file", json!({"path": "README.md"})).await;
        assert_eq!(answer["result"]["structuredContent"]["size"], 6, "{answer}");
    }

    /// Closes our side; everything that still came before the server left in peace.
    pub(crate) async fn finish(self) -> Vec<Value> {
        self.leave().await.0
    }

    /// The same, with the project as it was left.
    pub(crate) async fn leave(mut self) -> (Vec<Value>, Fixture) {
        self.output.shutdown().await.expect("the pipe closes");
        let mut rest = Vec::new();
        while let Some(message) = self.next().await {
            rest.push(message);
        }
        self.server.await.expect("the server does not panic").expect("the server ends well");
        (rest, self.project)
    }
}

/// An executor that can change the project and has an approver of its own, which approves all.
fn executor(project: &Fixture, tools: Vec<Arc<dyn Tool>>) -> ToolExecutor {
    let workspace = Arc::new(Workspace::open(project.root()).expect("the project opens"));
    let state = project.root().with_file_name("state");
    let journal = Journal::open(Arc::clone(&workspace), &state, JournalOptions::default());
    let journal = Arc::new(OnDemand::from(Arc::new(journal.expect("the journal opens"))));
    let mut registry = ToolRegistry::builtin();
    tools.into_iter().for_each(|tool| registry.register(tool));
    let options = ExecutorOptions {
        performer: Some(Arc::new(JournalPerformer::new(Arc::clone(&journal)))),
        history: Some(tool_system::History::of(journal)),
        ..ExecutorOptions::default()
    };
    let (session, approver) = ("s1".to_owned(), Arc::new(ApproveAll));
    let caller = Caller { session, approver, ..Caller::default() };
    ProjectTools::new(registry, workspace, options).executor(caller)
}
