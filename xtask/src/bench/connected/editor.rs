//! What an editor waits for: `toolkiln acp` over its standard streams, with a scripted model.

use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, ensure};
use serde_json::{Value, json};
use testkit::{ModelServer, Reply};

use super::{Stage, turns};
use crate::bench::client::Client;
use crate::bench::stats::Times;

const TURNS: usize = 10;

pub(super) struct EditorFigures {
    /// From before the start of the process.
    pub(super) initialize: Times,
    pub(super) new_session: Times,
    pub(super) read_turn: Times,
    pub(super) shell_turn: Times,
    pub(super) peak_mb: f64,
}

impl EditorFigures {
    pub(super) fn table(&self) -> String {
        format!(
            "| start to initialize p50, ms | session/new | a turn that reads | a turn that runs a command | peak memory, MB |\n\
             |---|---|---|---|---|\n| {:.1} | {:.1} | {:.2} | {:.2} | {:.1} |\n",
            self.initialize.median(),
            self.new_session.median(),
            self.read_turn.median(),
            self.shell_turn.median(),
            self.peak_mb,
        )
    }
}

/// What the scripted model asks for in each turn.
#[derive(Clone, Copy)]
enum EditorWork {
    Read,
    Shell,
}

struct EditorRun {
    initialize: Duration,
    new_session: Duration,
    turns: Vec<Duration>,
    peak: u64,
}

pub(super) fn measure(stage: &Stage, runs: usize) -> Result<EditorFigures> {
    stage.configure("")?;
    one(stage, EditorWork::Read)?;
    let (mut initialize, mut new_session, mut peak) = (Vec::new(), Vec::new(), 0);
    let (mut read, mut shell) = (Vec::new(), Vec::new());
    for _ in 0..runs {
        for (work, times) in [(EditorWork::Read, &mut read), (EditorWork::Shell, &mut shell)] {
            let mut run = one(stage, work)?;
            initialize.push(run.initialize);
            new_session.push(run.new_session);
            // The first command of a session prepares the sandbox.
            times.extend(run.turns.split_off(1));
            peak = peak.max(run.peak);
        }
    }
    Ok(EditorFigures {
        initialize: Times::new(initialize),
        new_session: Times::new(new_session),
        read_turn: Times::new(read),
        shell_turn: Times::new(shell),
        peak_mb: peak as f64 / 1024.0,
    })
}

fn one(stage: &Stage, work: EditorWork) -> Result<EditorRun> {
    let mut turn = 0;
    let server = ModelServer::answering(move |_| {
        turn += 1;
        match work {
            _ if turn > TURNS => Reply::text("Done."),
            EditorWork::Read => {
                Reply::call("read_file", json!({"path": format!("src/file_{turn:03}.txt")}))
            }
            EditorWork::Shell => Reply::call("bash", json!({"command": format!("printf {turn}")})),
        }
    });
    let mut command = stage.command(&["acp", "--allow", "bash", "--provider", "anthropic"]);
    command.args(["--model", "scripted", "--base-url", &server.base_url()]);
    let start = Instant::now();
    let mut client = Client::spawn(&mut command)?;
    client.call("initialize", &json!({"protocolVersion": 1, "clientCapabilities": {}}))?;
    let initialize = start.elapsed();
    client.result().context("initialize")?;
    let root = stage.project.root().display().to_string();
    let new_session = client.call("session/new", &json!({"cwd": root, "mcpServers": []}))?;
    let session = client.result().context("session/new")?["sessionId"].clone();
    let prompt: Value = json!([{"type": "text", "text": "Do it."}]);
    client.call("session/prompt", &json!({"sessionId": session, "prompt": prompt}))?;
    let ended = client.result().context("session/prompt")?;
    ensure!(ended["stopReason"] == "end_turn", "the turn has ended with {ended}");
    let peak = client.memory().context("the kernel does not tell the memory of processes")?.peak;
    let exchanges = server.exchanges();
    ensure!(exchanges.len() == TURNS + 1, "{} requests instead of {}", exchanges.len(), TURNS + 1);
    Ok(EditorRun { initialize, new_session, turns: turns(&exchanges), peak })
}
