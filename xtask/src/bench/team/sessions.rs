//! What sessions, events and watchers cost the service.

use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use anyhow::{Context as _, Result};
use testkit::model_server::ModelCall;
use testkit::{Fixture, Gate, ModelServer, Reply};

use crate::bench::Effort;
use crate::bench::web::program::WebProgram;
use crate::bench::web::service::WebServer;

/// Of the kernel's clock, on all systems that we know.
const MS_PER_TICK: f64 = 10.0;
const US_PER_MS: f64 = 1_000.0;
const KB_PER_MB: f64 = 1_024.0;
/// Pieces of an answer whose costs are measured.
const PIECES: usize = 500;
/// Clients that are told each of them.
const WATCHERS: usize = 100;
/// For all requests to reach the model.
const PATIENCE: Duration = Duration::from_secs(120);

/// What each thing costs.
pub(super) struct SessionFigures {
    pub(super) empty_mb: f64,
    pub(super) idle_kb: f64,
    pub(super) running_kb: f64,
    pub(super) watcher_kb: f64,
    pub(super) turn_ms: f64,
    pub(super) event_ms: f64,
    pub(super) watcher_event_us: f64,
}

pub(super) fn measure(
    program: &dyn WebProgram,
    project: &Fixture,
    effort: Effort,
) -> Result<SessionFigures> {
    let (sessions, turns) = match effort {
        Effort::Full => (100, 400),
        Effort::Quick => (40, 50),
    };
    println!("measuring sessions");
    let (empty_kb, idle_kb) = idle(program, project, sessions)?;
    let running_kb = running(program, project, sessions)?;
    let turn_ms = turn_time(program, project, turns)?;
    println!("measuring watchers");
    let alone = events(program, project, 0)?;
    let watched = events(program, project, WATCHERS)?;
    let per_event = |ms: f64| ms / PIECES as f64;
    Ok(SessionFigures {
        empty_mb: empty_kb / KB_PER_MB,
        idle_kb,
        running_kb,
        watcher_kb: watched.watcher_kb,
        turn_ms,
        event_ms: per_event(alone.processor_ms),
        watcher_event_us: per_event(watched.processor_ms - alone.processor_ms) * US_PER_MS
            / WATCHERS as f64,
    })
}

fn kilobytes(server: &WebServer<'_>) -> Result<f64> {
    Ok(server.memory()?.now as f64)
}

fn milliseconds(server: &WebServer<'_>) -> Result<f64> {
    Ok(server.processor_ticks()? as f64 * MS_PER_TICK)
}

/// Memory before any session and, for each, of sessions in which one turn has ended.
fn idle(program: &dyn WebProgram, project: &Fixture, sessions: usize) -> Result<(f64, f64)> {
    let model = ModelServer::answering(|_: &ModelCall| Reply::text("Done."));
    let (server, _) = WebServer::start(program, project, &model)?;
    let empty = kilobytes(&server)?;
    // The first turn opens what later ones find open.
    server.turn(&server.begin()?, "Warm up")?;
    let before = kilobytes(&server)?;
    for _ in 0..sessions {
        server.turn(&server.begin()?, "Hello")?;
    }
    Ok((empty, (kilobytes(&server)? - before) / sessions as f64))
}

/// Memory for each of sessions whose model has begun to answer.
fn running(program: &dyn WebProgram, project: &Fixture, sessions: usize) -> Result<f64> {
    let gate = Gate::new();
    let (asked, asks) = mpsc::channel();
    let held = gate.clone();
    let mut is_first = true;
    let model = ModelServer::answering(move |_: &ModelCall| {
        if std::mem::take(&mut is_first) {
            return Reply::text("Ready.");
        }
        // The receiver is gone when the measurement has failed.
        let _ = asked.send(());
        Reply::pieces(["Much ", "to ", "say."].map(str::to_owned)).through(&held)
    });
    let (server, _) = WebServer::start(program, project, &model)?;
    server.turn(&server.begin()?, "Warm up")?;
    let before = kilobytes(&server)?;
    for _ in 0..sessions {
        server.say(&server.begin()?, "Hello")?;
    }
    for _ in 0..sessions {
        asks.recv_timeout(PATIENCE).context("not all sessions have asked the model")?;
    }
    let after = kilobytes(&server)?;
    gate.open();
    Ok((after - before) / sessions as f64)
}

/// Processor time of a turn in which a file is read.
fn turn_time(program: &dyn WebProgram, project: &Fixture, turns: usize) -> Result<f64> {
    let (tool, arguments) = program.reading(project, "src/f0.rs");
    let tool = tool.to_owned();
    let model = ModelServer::answering(move |call: &ModelCall| match call.tool_answers().len() {
        0 => Reply::text("I look.").and_call(&tool, arguments.clone()),
        _ => Reply::text("Done."),
    });
    let (server, _) = WebServer::start(program, project, &model)?;
    server.turn(&server.begin()?, "Warm up")?;
    let before = milliseconds(&server)?;
    for _ in 0..turns {
        server.turn(&server.begin()?, "Look")?;
    }
    Ok((milliseconds(&server)? - before) / turns as f64)
}

/// What the pieces of an answer cost.
struct EventFigures {
    processor_ms: f64,
    /// Memory of each watcher.
    watcher_kb: f64,
}

fn events(program: &dyn WebProgram, project: &Fixture, watchers: usize) -> Result<EventFigures> {
    let gate = Gate::new();
    let piece = |number: usize| format!("piece-{number}; ");
    let counted = Reply::pieces((0..PIECES).map(piece)).through(&gate);
    let model = ModelServer::start([Reply::text("Ready."), counted]);
    let (server, _) = WebServer::start(program, project, &model)?;
    let session = server.begin()?;
    server.turn(&session, "Warm up")?;
    let empty = kilobytes(&server)?;
    let mut watching = Vec::new();
    for _ in 0..watchers {
        watching.push(server.watch(&session)?);
    }
    let watcher_kb = (kilobytes(&server)? - empty) / watchers.max(1) as f64;
    // One more tells when the turn is over, in both measurements.
    watching.push(server.watch(&session)?);
    server.say(&session, "Count")?;
    model.watch().wait_for_calls(2);
    let before = milliseconds(&server)?;
    let end = program.turn_end(&session);
    let readers: Vec<_> = watching
        .into_iter()
        .map(|mut watcher| {
            let end = end.clone();
            thread::spawn(move || watcher.until(&end).map(drop))
        })
        .collect();
    for _ in 0..PIECES {
        gate.pass(1);
        // Events that come at once are told together; those of a model come one by one.
        thread::sleep(Duration::from_millis(2));
    }
    gate.open();
    for reader in readers {
        reader.join().ok().context("a watcher has failed")??;
    }
    Ok(EventFigures { processor_ms: milliseconds(&server)? - before, watcher_kb })
}
