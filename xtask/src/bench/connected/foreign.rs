//! Conversations with foreign MCP servers: five good ones, one that hangs and one that crashes.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::thread;
use std::time::Duration;

use anyhow::{Context as _, Result, ensure};
use serde_json::json;
use testkit::Reply;

use super::{Conversation, Stage, processes_with, turns};
use crate::bench::client::Client;
use crate::bench::stats::Times;

const PROGRAM: &str = include_str!("foreign_server.py");
const GOOD: [&str; 5] = ["one", "two", "three", "four", "five"];
const TOOLS: usize = 12;
/// Seconds that the silent server may take.
const LIMIT: u64 = 1;
/// Turns of a conversation whose turns are timed; the first call of a foreign tool starts its server.
const TURNS: usize = 10;

pub(super) struct ForeignFigures {
    pub(super) start_alone: Times,
    pub(super) start: Times,
    pub(super) first_request_alone: usize,
    pub(super) first_request: usize,
    /// A turn that reads a file.
    pub(super) own_turn: Times,
    pub(super) foreign_turn: Times,
    /// What the server takes for a call when it is asked directly.
    pub(super) server: Times,
    /// The turn in which a server that was killed is started again; none if its call failed and only the next
    /// one was answered.
    pub(super) restarted_ms: Option<f64>,
    /// How long after its limit a silent server was given up.
    pub(super) late_ms: f64,
}

impl ForeignFigures {
    /// What a foreign call takes that is neither an ordinary turn nor the server's.
    pub(super) fn beyond(&self) -> f64 {
        self.foreign_turn.median() - self.own_turn.median() - self.server.median()
    }

    pub(super) fn table(&self) -> String {
        format!(
            "| | without servers | with 5 good, 1 hanging, 1 crashing |\n|---|---|---|\n\
             | start to first request p50, ms | {:.1} | {:.1} |\n| first request, bytes | {} | {} |\n\n\
             | a turn of our own p50, ms | a foreign one | the server alone | killed server, ms | silent, after its limit, ms |\n\
             |---|---|---|---|---|\n| {:.2} | {:.2} | {:.3} | {} | {:.0} |\n",
            self.start_alone.median(),
            self.start.median(),
            self.first_request_alone,
            self.first_request,
            self.own_turn.median(),
            self.foreign_turn.median(),
            self.server.median(),
            self.restarted_ms.map_or("the call failed".to_owned(), |ms| format!("{ms:.0}")),
            self.late_ms,
        )
    }
}

pub(super) fn measure(stage: &Stage, runs: usize) -> Result<ForeignFigures> {
    let program = stage.beside("foreign_server.py");
    fs::write(&program, PROGRAM)?;
    let (seven, all) =
        (configuration(&program, &["hanging", "crashing"]), configuration(&program, &["silent"]));
    stage.configure(&all)?;
    for name in GOOD.iter().chain(&["silent"]) {
        let output = stage.command(&["mcp", "trust", name]).output()?;
        let told = String::from_utf8_lossy(&output.stderr);
        ensure!(output.status.success(), "toolkiln mcp trust {name}: {told}");
    }
    // The first conversation makes the state; users have that behind them.
    stage.converse(|_| Reply::text("Done."))?;

    let (mut alone, mut with) = (Vec::new(), Vec::new());
    let (mut first_request_alone, mut first_request) = (0, 0);
    for _ in 0..runs {
        for (settings, starts, bytes) in [
            ("", &mut alone, &mut first_request_alone),
            (seven.as_str(), &mut with, &mut first_request),
        ] {
            stage.configure(settings)?;
            let (start, size) = stage.converse(|_| Reply::text("Done."))?.first_request()?;
            starts.push(start);
            *bytes = size;
        }
    }
    stage.configure(&all)?;
    let (mut own, mut foreign) = (Vec::new(), Vec::new());
    for _ in 0..runs {
        own.extend(turns(&reading(stage)?.exchanges).split_off(1));
        foreign.extend(turns(&echoing(stage)?.exchanges).split_off(1));
    }
    Ok(ForeignFigures {
        start_alone: Times::new(alone),
        start: Times::new(with),
        first_request_alone,
        first_request,
        own_turn: Times::new(own),
        foreign_turn: Times::new(foreign),
        server: directly(&program, runs * TURNS)?,
        restarted_ms: killed(stage, &program)?,
        late_ms: silent(stage)?,
    })
}

/// The good servers and these bad ones.
fn configuration(program: &Path, bad: &[&str]) -> String {
    let server = |name: &str, kind: &str| {
        let program = program.display();
        format!(
            "[mcp.servers.{name}]\ncommand = \"python3\"\nargs = [\"{program}\", \"{kind}\", \"{TOOLS}\"]\n\
             read = [\"{program}\"]\napproval = \"allow\"\ntimeout = {LIMIT}\n\n"
        )
    };
    let good = GOOD.iter().map(|name| server(name, "good"));
    good.chain(bad.iter().map(|kind| server(kind, kind))).collect()
}

fn reading(stage: &Stage) -> Result<Conversation> {
    let mut turn = 0;
    stage.converse(move |_| {
        turn += 1;
        match turn {
            ..=TURNS => {
                Reply::call("read_file", json!({"path": format!("src/file_{turn:03}.txt")}))
            }
            _ => Reply::text("Done."),
        }
    })
}

fn echo(name: &str, turn: usize) -> Reply {
    Reply::call(&format!("{name}__echo"), json!({"text": said(turn)}))
}

fn said(turn: usize) -> String {
    format!("word number {turn}")
}

fn echoing(stage: &Stage) -> Result<Conversation> {
    let mut turn = 0;
    let seen = stage.converse(move |_| {
        turn += 1;
        if turn <= TURNS { echo(GOOD[0], turn) } else { Reply::text("Done.") }
    })?;
    let answers = seen.answers();
    ensure!(answers.len() == TURNS, "{} answers instead of {TURNS}", answers.len());
    for (at, answer) in answers.iter().enumerate() {
        ensure!(answer.contains(&said(at + 1)), "the foreign tool has answered: {answer}");
    }
    Ok(seen)
}

/// The same calls without us.
fn directly(program: &Path, calls: usize) -> Result<Times> {
    let mut command = Command::new("python3");
    command.arg(program).args(["good", &TOOLS.to_string()]);
    let (mut client, _) = Client::start(&mut command)?;
    let ask = |turn| json!({"name": "echo", "arguments": {"text": said(turn)}});
    let mut times = Vec::new();
    for turn in 0..calls {
        times.push(client.call("tools/call", &ask(turn))?);
        let result = client.result()?;
        ensure!(result["content"][0]["text"] == said(turn), "the server has answered {result}");
    }
    Ok(Times::new(times))
}

/// A server is killed between two calls; the next one is answered all the same.
fn killed(stage: &Stage, program: &Path) -> Result<Option<f64>> {
    let program: PathBuf = program.to_owned();
    let mut turn = 0;
    let seen = stage.converse(move |_| {
        turn += 1;
        if turn == 3 {
            let ids = processes_with(&program).into_iter().map(|id| id.to_string());
            // One that has ended by itself meanwhile is as good.
            let _ = Command::new("kill").arg("-KILL").args(ids).stderr(Stdio::null()).status();
            // A call that reaches it while it ends cannot be repeated: it may have been done.
            while !processes_with(&program).is_empty() {
                thread::yield_now();
            }
        }
        if turn <= 4 { echo(GOOD[0], turn) } else { Reply::text("Done.") }
    })?;
    let answers = seen.answers();
    let is_answered = |turn: usize| answers.iter().any(|answer| answer.contains(&said(turn)));
    ensure!([1, 2, 4].into_iter().all(is_answered), "answers: {answers:?}");
    let took = turns(&seen.exchanges).get(2).copied().context("there are four turns")?;
    Ok(is_answered(3).then_some(took.as_secs_f64() * 1000.0))
}

/// A server that never answers a call is given up, and the conversation goes on.
fn silent(stage: &Stage) -> Result<f64> {
    let mut turn = 0;
    let seen = stage.converse(move |_| {
        turn += 1;
        if turn == 1 { echo("silent", turn) } else { Reply::text("Done.") }
    })?;
    let took = turns(&seen.exchanges).first().copied().context("there is a turn")?;
    let limit = Duration::from_secs(LIMIT);
    ensure!(took >= limit, "given up after {took:?}: {:?}", seen.answers());
    Ok((took - limit).as_secs_f64() * 1000.0)
}
