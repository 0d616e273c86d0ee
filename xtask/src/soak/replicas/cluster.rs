//! The replicas as processes, and the database that they share.

use std::io::{BufRead as _, BufReader};
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdout, Command, Stdio};
use std::sync::{Mutex, OnceLock, PoisonError};
use std::time::Instant;

use anyhow::{Context as _, Result, bail, ensure};
use serde_json::{Value, json};
use testkit::{Fixture, ModelServer, Postgres, PostgresDatabase, Reply, first_admin_token};

use super::http::HttpRequest;

/// What the model says, piece by piece.
const PIECES: [&str; 8] = ["I ", "have ", "looked ", "at ", "all ", "of ", "it ", "now."];

pub(super) struct Cluster {
    binary: PathBuf,
    project: Fixture,
    database: PostgresDatabase,
    model: ModelServer,
    /// The token of the first admin.
    token: OnceLock<String>,
    ports: Vec<u16>,
    replicas: Mutex<Vec<Option<Replica>>>,
}

struct Replica {
    child: Child,
    /// Kept open: the service may write more.
    _stdout: BufReader<ChildStdout>,
}

impl Drop for Replica {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Cluster {
    pub(super) fn start(binary: &Path, count: usize) -> Result<Self> {
        let server = Postgres::shared().context("there is no PostgreSQL on this machine")?;
        let listeners: Vec<TcpListener> =
            (0..count).map(|_| TcpListener::bind("127.0.0.1:0")).collect::<Result<_, _>>()?;
        let ports: Result<Vec<u16>, _> =
            listeners.iter().map(|it| it.local_addr().map(|address| address.port())).collect();
        drop(listeners);
        let cluster = Self {
            binary: binary.to_owned(),
            project: Fixture::new("//- /notes.txt\nfirst\n"),
            database: server.database(),
            model: ModelServer::answering(|_| Reply::pieces(PIECES)),
            token: OnceLock::new(),
            ports: ports?,
            replicas: Mutex::new((0..count).map(|_| None).collect()),
        };
        for slot in 0..count {
            cluster.revive(slot)?;
        }
        Ok(cluster)
    }

    /// Ends a replica without a warning.
    pub(super) fn kill(&self, slot: usize) -> Result<()> {
        let replica = self.replicas.lock().unwrap_or_else(PoisonError::into_inner)[slot].take();
        ensure!(replica.is_some(), "replica {slot} has ended by itself");
        Ok(())
    }

    /// Starts a replica, and waits until it serves.
    pub(super) fn revive(&self, slot: usize) -> Result<()> {
        let mut command = Command::new(&self.binary);
        let served = format!("app={}", self.project.root().display());
        let address = format!("127.0.0.1:{}", self.ports[slot]);
        command.args(["serve", "--project", &served, "--listen", &address]);
        command.args(["--provider", "anthropic", "--base-url", &self.model.base_url()]);
        command.env("TOOLKILN_DATABASE", self.database.url()).env("ANTHROPIC_API_KEY", "none");
        for (variable, name) in [
            ("XDG_STATE_HOME", "state"),
            ("XDG_CACHE_HOME", "cache"),
            ("XDG_CONFIG_HOME", "config"),
            ("XDG_DATA_HOME", "data"),
        ] {
            command.env(variable, self.project.root().with_file_name(name));
        }
        command.stdin(Stdio::null()).stdout(Stdio::piped());
        let mut child = command.spawn()?;
        let mut stdout = BufReader::new(child.stdout.take().context("no output")?);
        let mut line = String::new();
        stdout.read_line(&mut line)?;
        ensure!(line.starts_with("http://"), "replica {slot} does not start: {line}");
        if let Some((_, code)) = line.trim_end().split_once("/#code=") {
            self.token.get_or_init(|| first_admin_token(&address, code));
        }
        let replica = Replica { child, _stdout: stdout };
        self.replicas.lock().unwrap_or_else(PoisonError::into_inner)[slot] = Some(replica);
        Ok(())
    }

    /// A request to one of the replicas.
    pub(super) fn request<'a>(
        &'a self,
        slot: usize,
        target: &'a str,
        header: &'a str,
        body: Option<&'a Value>,
    ) -> HttpRequest<'a> {
        let port = self.ports[slot % self.ports.len()];
        HttpRequest {
            port,
            token: self.token.get().map_or("", String::as_str),
            target,
            header,
            body,
        }
    }

    /// Begins a session.
    pub(super) fn begin(&self, slot: usize) -> Result<String> {
        let (status, begun) =
            self.request(slot, "POST /api/sessions", "", Some(&json!({}))).answer()?;
        ensure!(status == 200, "a session cannot be begun: {status} {begun}");
        Ok(begun["id"].as_str().context("no id")?.to_owned())
    }

    /// The last entry of a session once no turn runs in it.
    pub(super) fn at_rest(&self, session: &str, end: Instant) -> Result<u64> {
        let target = format!("GET /api/sessions/{session}");
        for slot in 0.. {
            if let Ok((200, told)) = self.request(slot, &target, "", None).answer() {
                if told["state"] == "idle" {
                    return told["events"].as_u64().context("no events");
                }
                if Instant::now() > end {
                    bail!("the session is {} and does not come to rest", told["state"]);
                }
            }
            ensure!(Instant::now() < end, "no replica tells of the session");
            std::thread::sleep(std::time::Duration::from_millis(100));
        }
        bail!("there are no replicas")
    }
}
