//! What is measured of every program in the same way.

use std::collections::BTreeMap;
use std::path::Path;
use std::process::Command;
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, ensure};
use serde::Deserialize;
use serde_json::{Value, json};
use testkit::model_server::ModelCall;
use testkit::{Fixture, Gate, ModelServer, Reply};

use super::program::WebProgram;
use super::service::WebServer;
use super::{FILES, SESSIONS, WATCHERS};
use crate::fetch::output;

/// Pieces of an answer whose way to all watchers is timed.
pub(super) const PIECES: usize = 50;
/// Calls of one reply, and of one turn: as many as a request can hold without becoming the measured thing.
const CALLS_A_REPLY: usize = 100;
const CALLS_A_TURN: usize = 1_000;
const BROWSER: &str = include_str!("browser.py");

pub(super) fn megabytes(kilobytes: u64) -> f64 {
    kilobytes as f64 / 1024.0
}

/// Memory of a service that has served its page and nothing else.
pub(super) fn idle(program: &dyn WebProgram, project: &Fixture) -> Result<f64> {
    let quiet = ModelServer::start([]);
    let (server, _) = WebServer::start(program, project, &quiet)?;
    Ok(megabytes(server.memory()?.now))
}

/// From before a message is sent until the stream says something of it.
pub(super) fn prompts(
    program: &dyn WebProgram,
    project: &Fixture,
    runs: usize,
) -> Result<Vec<Duration>> {
    let model = ModelServer::answering(|_: &ModelCall| Reply::text("Done."));
    let (server, _) = WebServer::start(program, project, &model)?;
    // The first turn opens what later ones find open.
    server.turn(&server.begin()?, "Warm up")?;
    let mut times = Vec::new();
    for _ in 0..runs {
        let session = server.begin()?;
        let mut watcher = server.watch(&session)?;
        let start = Instant::now();
        server.say(&session, "Measure")?;
        times.push(watcher.until(program.news())?.duration_since(start));
        watcher.until(&program.turn_end(&session))?;
    }
    Ok(times)
}

/// The way of each piece of an answer, from the model to every watcher.
pub(super) fn pieces_to_watchers(
    program: &dyn WebProgram,
    project: &Fixture,
) -> Result<Vec<Duration>> {
    let gate = Gate::new();
    let piece = |number: usize| format!("piece-{number}; ");
    let counted = Reply::pieces((0..PIECES).map(piece)).through(&gate);
    let model = ModelServer::start([Reply::text("Ready."), counted]);
    let (server, _) = WebServer::start(program, project, &model)?;
    let session = server.begin()?;
    server.turn(&session, "Warm up")?;
    let mut watchers = Vec::new();
    for _ in 0..WATCHERS {
        watchers.push(server.watch(&session)?);
    }
    server.say(&session, "Count")?;
    model.watch().wait_for_calls(2);
    let (told, came) = std::sync::mpsc::channel();
    let readers: Vec<_> = watchers
        .into_iter()
        .map(|mut watcher| {
            let told = told.clone();
            thread::spawn(move || -> Result<Vec<Instant>> {
                let mut seen = Vec::new();
                for number in 0..PIECES {
                    seen.push(watcher.until(&format!("piece-{number};"))?);
                    // The next piece is not sent before everybody has this one.
                    let _ = told.send(());
                }
                Ok(seen)
            })
        })
        .collect();
    // Only the watchers hold the channel, so that their end is noticed.
    drop(told);
    let mut sent = Vec::new();
    for _ in 0..PIECES {
        sent.push(Instant::now());
        gate.pass(1);
        for _ in 0..WATCHERS {
            came.recv().context("a watcher has ended")?;
        }
    }
    gate.open();
    let mut times = Vec::new();
    for reader in readers {
        let seen = reader.join().ok().context("a watcher has failed")??;
        times.extend(seen.iter().zip(&sent).map(|(seen, sent)| seen.duration_since(*sent)));
    }
    Ok(times)
}

/// Memory with sessions that have worked and clients that watch them all.
pub(super) fn many_sessions(program: &dyn WebProgram, project: &Fixture) -> Result<f64> {
    let (tool, arguments) = program.reading(project, "src/f0.rs");
    let tool = tool.to_owned();
    let model = ModelServer::answering(move |call: &ModelCall| match call.tool_answers().len() {
        0 => Reply::text("I look.").and_call(&tool, arguments.clone()),
        _ => Reply::text("Done."),
    });
    let (server, _) = WebServer::start(program, project, &model)?;
    let mut watchers = Vec::new();
    for _ in 0..WATCHERS {
        watchers.push(server.watch("*")?);
    }
    for _ in 0..SESSIONS {
        server.turn(&server.begin()?, "Look")?;
    }
    Ok(megabytes(server.memory()?.now))
}

/// What a browser has measured of visits to one address, in milliseconds.
#[derive(Clone, Debug, Deserialize)]
pub(super) struct Visits {
    pub(super) requests: u64,
    /// As sent, with headers.
    pub(super) bytes: u64,
    pub(super) paint: Vec<f64>,
    pub(super) input: Vec<f64>,
    /// The first item of a conversation; none where there is no conversation.
    pub(super) item: Vec<f64>,
}

/// The programs that a browser needs.
pub(super) struct BrowserTools<'a> {
    pub(super) python: &'a Path,
    pub(super) browser: &'a Path,
}

/// Visits with an empty cache: to the page itself, and to sessions with so many calls, by name.
pub(super) fn visits(
    tools: &BrowserTools<'_>,
    program: &dyn WebProgram,
    project: &Fixture,
    lengths: &[(&'static str, usize)],
    runs: usize,
) -> Result<BTreeMap<String, Visits>> {
    let left = Arc::new(Mutex::new(0_usize));
    let calls = (0..FILES).map(|n| program.reading(project, &format!("src/f{n}.rs")));
    let calls: Vec<(String, Value)> = calls.map(|(tool, call)| (tool.to_owned(), call)).collect();
    let model = {
        let left = Arc::clone(&left);
        ModelServer::answering(move |_: &ModelCall| many_calls(&left, &calls))
    };
    let (server, _) = WebServer::start(program, project, &model)?;
    let page = program.page(project);
    let mut addresses = vec![json!(["start", page.start])];
    for (name, calls) in lengths {
        let session = long_session(&server, &left, *calls)?;
        addresses.push(json!([name, format!("{}{session}", page.session)]));
    }
    let wanted = json!({
        "url": format!("http://{}", server.address),
        "token": server.token,
        "runs": runs,
        "input": page.input,
        "item": page.item,
        "addresses": addresses,
    });
    let mut command = Command::new(tools.python);
    command.args(["-c", BROWSER, &wanted.to_string()]);
    let printed = output(command.env("PAGE_BROWSER", tools.browser))?;
    serde_json::from_slice(&printed).context("the browser's figures")
}

/// A reply with as many calls as are left to be made, or its last words.
fn many_calls(left: &Mutex<usize>, calls: &[(String, Value)]) -> Reply {
    let mut left = left.lock().unwrap_or_else(PoisonError::into_inner);
    let count = (*left).min(CALLS_A_REPLY);
    let first = *left;
    *left -= count;
    let look = |reply: Reply, n: usize| {
        let (tool, arguments) = &calls[(first - n) % calls.len()];
        reply.and_call(tool, arguments.clone())
    };
    match count {
        0 => Reply::text("That was all."),
        count => (0..count).fold(Reply::text("I look."), look),
    }
}

fn long_session(server: &WebServer<'_>, left: &Mutex<usize>, calls: usize) -> Result<String> {
    let session = server.begin()?;
    for turn in 0..calls / CALLS_A_TURN {
        *left.lock().unwrap_or_else(PoisonError::into_inner) = CALLS_A_TURN;
        server.turn(&session, &format!("Look, {turn}"))?;
    }
    let told = server.calls(&session)?;
    ensure!(told >= calls, "the session tells of {told} calls instead of {calls}");
    Ok(session)
}
