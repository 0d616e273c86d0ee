//! `cargo xtask bench web`: what the service and its page cost, for the server, for watchers and in a browser.

mod service;

use std::fs;
use std::path::Path;
use std::process::{Command, ExitCode};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, ensure};
use serde_json::{Value, json};
use testkit::model_server::ModelCall;
use testkit::{Fixture, Gate, ModelServer, Reply};

use self::service::WebServer;
use super::Effort;
use super::stats::Times;
use super::verdict::{Verdict, at_most, below, pronounce};
use crate::fetch::output;
use crate::house::House;
use crate::page;
use crate::step::{one_line, run as run_command};

const START_MS: f64 = 40.0;
const PAGE_KB: f64 = 150.0;
const REQUESTS: f64 = 15.0;
const PAINT_MS: f64 = 250.0;
const INPUT_MS: f64 = 400.0;
const PROMPT_MS: f64 = 5.0;
const WATCHERS_P50_MS: f64 = 4.0;
const WATCHERS_P99_MS: f64 = 20.0;
const LONG_SESSION_MS: f64 = 500.0;
const LONGEST_SESSION_MS: f64 = 1000.0;
const IDLE_MB: f64 = 35.0;
const BUSY_MB: f64 = 100.0;

const WATCHERS: usize = 100;
const SESSIONS: usize = 20;
/// Pieces of an answer whose way to all watchers is timed.
const PIECES: usize = 50;
/// Tool calls of the long sessions.
const LONG: usize = 1_000;
const LONGEST: usize = 20_000;
/// Calls of one reply, and of one turn: as many as a request can hold without becoming the measured thing.
const CALLS_A_REPLY: usize = 100;
const CALLS_A_TURN: usize = 1_000;
const FILES: usize = 200;
/// The scripted model sees everything: long sessions are not to be shortened.
const CONTEXT_TOKENS: u64 = 200_000_000;
const BROWSER: &str = include_str!("web/browser.py");

struct Figures {
    start: Times,
    prompt: Times,
    /// From the model's piece to a watcher, over all pieces and watchers.
    watchers: Times,
    idle_mb: f64,
    busy_mb: f64,
    /// What the browser has measured; without one there is nothing.
    browser: Option<Value>,
}

/// Measures, prints and judges; the exit code says whether every target was reached.
pub(crate) fn run(effort: Effort, profile: &str) -> Result<ExitCode> {
    let house = House::find()?;
    let mut build = house.cargo();
    build.args(["build", "--locked", "-p", "cli"]);
    if profile == "release" {
        build.arg("--release");
    }
    run_command(&mut build)?;
    let runs = match effort {
        Effort::Full => 20,
        Effort::Quick => 5,
    };
    let figures = measure(&house, &house.binary(profile), runs)?;
    println!("\n{}", table(&figures)?);
    println!(
        "{runs} starts, prompts and visits; {PIECES} pieces to {WATCHERS} watchers; {profile} build."
    );
    // opencode's server and page are not started by this command.
    println!("SKIPPED: opencode-ai beside it\n");
    Ok(pronounce(&judge(&figures)?))
}

fn measure(house: &House, binary: &Path, runs: usize) -> Result<Figures> {
    let text: String = (0..FILES).map(|n| format!("//- /src/f{n}.rs\nfn f{n}() {{}}\n")).collect();
    let project = Fixture::new(&text);
    let config = project.root().with_file_name("config").join("toolkiln");
    fs::create_dir_all(&config)?;
    fs::write(config.join("config.toml"), format!("[model]\ncontext_tokens = {CONTEXT_TOKENS}\n"))?;
    let quiet = ModelServer::start([]);
    // The first start makes the state; users have that behind them.
    let (server, _) = WebServer::start(binary, &project, &quiet)?;
    drop(server);
    let mut starts = Vec::new();
    for _ in 0..runs {
        starts.push(WebServer::start(binary, &project, &quiet)?.1);
    }
    let (server, _) = WebServer::start(binary, &project, &quiet)?;
    let idle_mb = megabytes(server.memory()?.now);
    drop(server);
    let prompt = prompts(binary, &project, runs)?;
    let watchers = pieces_to_watchers(binary, &project)?;
    let busy_mb = many_sessions(binary, &project)?;
    let browser = in_a_browser(house, binary, &project, runs)?;
    let (start, prompt) = (Times::new(starts), Times::new(prompt));
    Ok(Figures { start, prompt, watchers: Times::new(watchers), idle_mb, busy_mb, browser })
}

/// From before a message is sent until the stream says something of it.
fn prompts(binary: &Path, project: &Fixture, runs: usize) -> Result<Vec<Duration>> {
    let model = ModelServer::answering(|_: &ModelCall| Reply::text("Done."));
    let (server, _) = WebServer::start(binary, project, &model)?;
    // The first turn opens what later ones find open.
    server.turn(&server.begin()?, "Warm up")?;
    let mut times = Vec::new();
    for _ in 0..runs {
        let session = server.begin()?;
        let mut watcher = server.watch(&session)?;
        let start = Instant::now();
        server.say(&session, "Measure")?;
        times.push(watcher.until("event: items")?.duration_since(start));
        watcher.until(r#""kind":"turn""#)?;
    }
    Ok(times)
}

/// The way of each piece of an answer, from the model to every watcher.
fn pieces_to_watchers(binary: &Path, project: &Fixture) -> Result<Vec<Duration>> {
    let gate = Gate::new();
    let piece = |number: usize| format!("piece-{number}; ");
    let model = ModelServer::start([Reply::pieces((0..PIECES).map(piece)).through(&gate)]);
    let (server, _) = WebServer::start(binary, project, &model)?;
    let session = server.begin()?;
    let mut watchers = Vec::new();
    for _ in 0..WATCHERS {
        watchers.push(server.watch(&session)?);
    }
    server.say(&session, "Count")?;
    model.watch().wait_for_calls(1);
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
fn many_sessions(binary: &Path, project: &Fixture) -> Result<f64> {
    let model = ModelServer::answering(|call: &ModelCall| match call.tool_answers().len() {
        0 => Reply::text("I look.").and_call("read_file", json!({"path": "src/f0.rs"})),
        _ => Reply::text("Done."),
    });
    let (server, _) = WebServer::start(binary, project, &model)?;
    let mut watchers = Vec::new();
    for _ in 0..WATCHERS {
        watchers.push(server.watch("*")?);
    }
    for _ in 0..SESSIONS {
        server.turn(&server.begin()?, "Look")?;
    }
    Ok(megabytes(server.memory()?.now))
}

/// Visits with an empty cache, also to long sessions.
fn in_a_browser(
    house: &House,
    binary: &Path,
    project: &Fixture,
    runs: usize,
) -> Result<Option<Value>> {
    let tools = page::interpreter(house).and_then(|python| Ok((python, page::browser()?)));
    let (python, browser) = match tools {
        Ok(tools) => tools,
        Err(why) => {
            println!("SKIPPED: the page in a browser ({})", one_line(&format!("{why:#}")));
            return Ok(None);
        }
    };
    let left = Arc::new(Mutex::new(0_usize));
    let model = {
        let left = Arc::clone(&left);
        ModelServer::answering(move |_: &ModelCall| many_calls(&left))
    };
    let (server, _) = WebServer::start(binary, project, &model)?;
    let long = long_session(&server, &left, LONG)?;
    let longest = long_session(&server, &left, LONGEST)?;
    let mut command = Command::new(python);
    command.args(["-c", BROWSER, &format!("http://{}", server.address), &server.token]);
    command.arg(runs.to_string()).arg("start=#/");
    command.arg(format!("long=#/session/{long}")).arg(format!("longest=#/session/{longest}"));
    let printed = output(command.env("PAGE_BROWSER", browser))?;
    Ok(Some(serde_json::from_slice(&printed).context("the browser's figures")?))
}

/// A reply with as many calls as are left to be made, or its last words.
fn many_calls(left: &Mutex<usize>) -> Reply {
    let mut left = left.lock().unwrap_or_else(PoisonError::into_inner);
    let calls = (*left).min(CALLS_A_REPLY);
    let first = *left;
    *left -= calls;
    let look = |reply: Reply, n: usize| {
        reply.and_call("read_file", json!({"path": format!("src/f{}.rs", (first - n) % FILES)}))
    };
    match calls {
        0 => Reply::text("That was all."),
        calls => (0..calls).fold(Reply::text("I look."), look),
    }
}

fn long_session(server: &WebServer, left: &Mutex<usize>, calls: usize) -> Result<String> {
    let session = server.begin()?;
    for turn in 0..calls / CALLS_A_TURN {
        *left.lock().unwrap_or_else(PoisonError::into_inner) = CALLS_A_TURN;
        server.turn(&session, &format!("Look, {turn}"))?;
    }
    let total = server.total(&session)?;
    ensure!(total >= calls as u64, "the session has {total} items instead of {calls}");
    Ok(session)
}

fn megabytes(kilobytes: u64) -> f64 {
    kilobytes as f64 / 1024.0
}

/// The middle of a list of milliseconds that the browser has measured.
fn median(figures: &Value, address: &str, name: &str) -> Result<f64> {
    let listed = figures[address][name].as_array().context("a list of times")?;
    let times = listed.iter().filter_map(Value::as_f64);
    let times: Vec<Duration> = times.map(|time| Duration::from_secs_f64(time / 1000.0)).collect();
    ensure!(!times.is_empty(), "the browser has not seen `{name}` at {address}");
    Ok(Times::new(times).median())
}

fn number(figures: &Value, address: &str, name: &str) -> Result<f64> {
    figures[address][name].as_f64().with_context(|| format!("no {name} of {address}"))
}

fn judge(figures: &Figures) -> Result<Vec<Verdict>> {
    let Figures { start, prompt, watchers, idle_mb, busy_mb, browser } = figures;
    let mut verdicts = vec![
        below("start to page served, p50", start.median(), START_MS, "ms"),
        below("prompt to first event, p50", prompt.median(), PROMPT_MS, "ms"),
        below("event to 100 watchers, p50", watchers.median(), WATCHERS_P50_MS, "ms"),
        below("event to 100 watchers, p99", watchers.percentile(99), WATCHERS_P99_MS, "ms"),
        below("memory, idle", *idle_mb, IDLE_MB, "MB"),
        below("memory, 20 sessions and 100 watchers", *busy_mb, BUSY_MB, "MB"),
    ];
    if let Some(seen) = browser {
        let kilobytes = number(seen, "start", "bytes")? / 1024.0;
        let requests = number(seen, "long", "requests")?;
        let session = |address| median(seen, address, "item");
        verdicts.extend([
            at_most("page on the wire", kilobytes, PAGE_KB, "KB"),
            at_most("page with a session, requests", requests, REQUESTS, "requests"),
            below("first paint, p50", median(seen, "start", "paint")?, PAINT_MS, "ms"),
            below("usable input, p50", median(seen, "start", "input")?, INPUT_MS, "ms"),
            below("session with 1,000 calls opens, p50", session("long")?, LONG_SESSION_MS, "ms"),
            below("session with 20,000 calls, p50", session("longest")?, LONGEST_SESSION_MS, "ms"),
        ]);
    }
    Ok(verdicts)
}

fn table(figures: &Figures) -> Result<String> {
    let Figures { start, prompt, watchers, idle_mb, busy_mb, browser } = figures;
    let mut text = format!(
        "| start p50 / p90, ms | prompt to event p50 / p90, ms | to {WATCHERS} watchers p50 / p99, ms \
         | idle, MB | {SESSIONS} sessions, {WATCHERS} watchers, MB |\n|---|---|---|---|---|\n\
         | {:.1} / {:.1} | {:.2} / {:.2} | {:.2} / {:.2} | {idle_mb:.1} | {busy_mb:.1} |\n",
        start.median(),
        start.percentile(90),
        prompt.median(),
        prompt.percentile(90),
        watchers.median(),
        watchers.percentile(99),
    );
    if let Some(seen) = browser {
        text += "\n| visit | requests | KB | first paint p50, ms | input p50, ms | first item p50, ms |\n|---|---|---|---|---|---|\n";
        for address in ["start", "long", "longest"] {
            let item = median(seen, address, "item").map_or("–".into(), |ms| format!("{ms:.0}"));
            text += &format!(
                "| {address} | {} | {:.1} | {:.0} | {:.0} | {item} |\n",
                number(seen, address, "requests")?,
                number(seen, address, "bytes")? / 1024.0,
                median(seen, address, "paint")?,
                median(seen, address, "input")?,
            );
        }
    }
    Ok(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn times(milliseconds: u64) -> Times {
        Times::new(vec![Duration::from_millis(milliseconds)])
    }

    fn figures(browser: Option<Value>) -> Figures {
        let (start, prompt, watchers) = (times(30), times(6), times(3));
        Figures { start, prompt, watchers, idle_mb: 20.0, busy_mb: 120.0, browser }
    }

    #[test]
    fn targets_are_judged() {
        let visit = json!({"requests": 15, "bytes": 153_600, "paint": [200.0], "input": [500.0], "item": [600.0]});
        let seen = json!({"start": visit, "long": visit, "longest": visit});
        let verdicts = judge(&figures(Some(seen.clone()))).unwrap();
        let shown: Vec<(&str, bool)> = verdicts.iter().map(|v| (&*v.what, v.passed)).collect();
        assert_eq!(
            shown,
            [
                ("start to page served, p50: 30.00 ms (< 40 ms)", true),
                ("prompt to first event, p50: 6.00 ms (< 5 ms)", false),
                ("event to 100 watchers, p50: 3.00 ms (< 4 ms)", true),
                ("event to 100 watchers, p99: 3.00 ms (< 20 ms)", true),
                ("memory, idle: 20.00 MB (< 35 MB)", true),
                ("memory, 20 sessions and 100 watchers: 120.00 MB (< 100 MB)", false),
                ("page on the wire: 150.00 KB (≤ 150 KB)", true),
                ("page with a session, requests: 15.00 requests (≤ 15 requests)", true),
                ("first paint, p50: 200.00 ms (< 250 ms)", true),
                ("usable input, p50: 500.00 ms (< 400 ms)", false),
                ("session with 1,000 calls opens, p50: 600.00 ms (< 500 ms)", false),
                ("session with 20,000 calls, p50: 600.00 ms (< 1000 ms)", true),
            ]
        );
        assert_eq!(table(&figures(Some(seen))).unwrap().lines().count(), 9);
    }

    #[test]
    fn without_a_browser_the_server_is_judged_alone() {
        assert_eq!(judge(&figures(None)).unwrap().len(), 6);
    }
}
