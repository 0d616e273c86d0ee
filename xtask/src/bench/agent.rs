//! `cargo xtask bench agent`: what a conversation costs when the model costs nothing. A scripted
//! model on this machine answers at once; the time between its answer and the next request is ours.

use std::fs;
use std::path::Path;
use std::process::{Command, ExitCode, Stdio};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, ensure};
use serde_json::json;
use testkit::{Exchange, Fixture, ModelServer, Reply};

use super::Effort;
use super::client::{Memory, memory_in};
use super::stats::Times;
use super::verdict::{Verdict, below, pronounce};
use crate::house::House;

const START_MS: f64 = 20.0;
const TURN_MS: f64 = 1.0;
const SHELL_TURN_MS: f64 = 4.0;
/// A turn at the end of the long conversation, whose request has a megabyte.
const LATE_TURN_MS: f64 = 2.0;
const MEMORY_MB: f64 = 40.0;
const FIRST_REQUEST_BYTES: f64 = 16_384.0;
/// The same where rarely needed tools are listed once the model asks for them.
const SHORT_FIRST_REQUEST_BYTES: f64 = 10_240.0;
/// How much more memory a long conversation may take than a short one, for each kilobyte that the
/// conversation itself has grown by: it is held once, kept once as it is sent, and its answers once
/// more until the turn ends, for calls that repeat themselves.
const GROWTH: f64 = 5.0;

const FILES: usize = 240;
const FILE_BYTES: usize = 4096;
/// Turns of the conversation whose turns are timed, as the peers were measured.
const TURNS: usize = 10;
/// Turns of the long conversation.
const MANY_TURNS: usize = 200;
/// What the scripted model can see: the long conversation is not to be shortened.
const CONTEXT_TOKENS: u64 = 10_000_000;
/// How often the long conversation is held.
const LONG_RUNS: usize = 3;

struct Figures {
    start: Times,
    turn: Times,
    /// A turn that runs a confined `printf`.
    shell_turn: Times,
    late_turn: Times,
    first_request: usize,
    /// With tools on demand.
    short_first_request: usize,
    /// After ten turns.
    memory: Memory,
    /// After many turns.
    late_memory: Memory,
    /// The size of the last request of the long conversation.
    last_request: usize,
}

/// What the scripted model asks for in each turn.
#[derive(Clone, Copy)]
enum Work {
    Read,
    Shell,
}

impl Work {
    /// Each turn does something else, as honest work does.
    fn call(self, turn: usize) -> Reply {
        match self {
            Work::Read => {
                Reply::call("read_file", json!({"path": format!("src/file_{turn:03}.txt")}))
            }
            Work::Shell => Reply::call("bash", json!({"command": format!("printf {turn}")})),
        }
    }
}

/// Measures, prints and judges; the exit code says whether every target was reached.
pub(crate) fn run(effort: Effort) -> Result<ExitCode> {
    let house = House::find()?;
    let binary = house.build("release")?;
    let runs = match effort {
        Effort::Full => 40,
        Effort::Quick => 10,
    };
    let figures = measure(&binary, runs)?;
    println!("\n{}", table(&figures));
    println!(
        "{runs} conversations of {TURNS} turns, and {LONG_RUNS} of {MANY_TURNS}; each turn reads a file of 4 KB, or runs `printf`.\n"
    );
    Ok(pronounce(&judge(&figures)))
}

fn measure(binary: &Path, runs: usize) -> Result<Figures> {
    let project = project();
    let config = project.root().with_file_name("config").join("toolkiln");
    fs::create_dir_all(&config)?;
    let settings = config.join("config.toml");
    let model = format!("[model]\ncontext_tokens = {CONTEXT_TOKENS}\n");
    fs::write(&settings, format!("{model}tool_list = \"on_demand\"\n"))?;
    let on_demand = converse(binary, &project, Work::Read, 1)?;
    let short_first_request = on_demand.exchanges[0].request_bytes;
    fs::write(&settings, format!("{model}tool_list = \"all\"\n"))?;
    // The first conversation makes the state; users have that behind them.
    converse(binary, &project, Work::Read, 1)?;
    let (mut starts, mut turns, mut first_request, mut memory) = (Vec::new(), Vec::new(), 0, None);
    for _ in 0..runs {
        let seen = converse(binary, &project, Work::Read, TURNS)?;
        starts.push(seen.exchanges[0].arrived - seen.started);
        turns.extend(between(&seen.exchanges));
        first_request = seen.exchanges[0].request_bytes;
        memory = seen.memory;
    }
    let mut shell_turns = Vec::new();
    for _ in 0..runs {
        let seen = converse(binary, &project, Work::Shell, TURNS)?;
        // The first command of a session prepares the sandbox.
        shell_turns.extend(between(&seen.exchanges).split_off(1));
    }
    let (mut late, mut late_memory, mut last_request) = (Vec::new(), None::<Memory>, 0);
    for _ in 0..LONG_RUNS {
        let long = converse(binary, &project, Work::Read, MANY_TURNS)?;
        late.extend(between(&long.exchanges).split_off(MANY_TURNS - TURNS));
        late_memory = late_memory.into_iter().chain(long.memory).max_by_key(|memory| memory.peak);
        last_request = long.exchanges.last().map_or(0, |exchange| exchange.request_bytes);
    }
    Ok(Figures {
        start: Times::new(starts),
        turn: Times::new(turns),
        shell_turn: Times::new(shell_turns),
        late_turn: Times::new(late),
        first_request,
        short_first_request,
        memory: memory.context("the kernel does not tell the memory of processes")?,
        late_memory: late_memory.context("the kernel does not tell the memory of processes")?,
        last_request,
    })
}

/// From the end of each answer to the next request.
pub(super) fn between(exchanges: &[Exchange]) -> Vec<Duration> {
    let pairs = exchanges.windows(2);
    pairs.map(|pair| pair[1].arrived.saturating_duration_since(pair[0].answered)).collect()
}

/// One conversation as its model saw it.
struct Seen {
    started: Instant,
    exchanges: Vec<Exchange>,
    /// When the last request came.
    memory: Option<Memory>,
}

fn converse(binary: &Path, project: &Fixture, work: Work, turns: usize) -> Result<Seen> {
    let process = Arc::new(Mutex::new((None::<u32>, None::<Memory>)));
    let (watched, mut asked) = (Arc::clone(&process), 0);
    let server = ModelServer::answering(move |_| {
        asked += 1;
        if asked <= turns {
            return work.call(asked);
        }
        let mut watched = watched.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
        let status = watched.0.and_then(|id| fs::read_to_string(format!("/proc/{id}/status")).ok());
        watched.1 = status.as_deref().and_then(memory_in);
        Reply::text("Done.")
    });
    let mut command = Command::new(binary);
    command
        .args(["run", "Read all of it.", "--provider", "anthropic", "--model", "scripted"])
        .args([
            "--allow",
            "bash",
            "--max-turns",
            "1000",
            "--base-url",
            &server.base_url(),
            "--root",
        ])
        .arg(project.root())
        .env("ANTHROPIC_API_KEY", "none")
        .env("XDG_STATE_HOME", project.root().with_file_name("state"))
        .env("XDG_CACHE_HOME", project.root().with_file_name("cache"))
        .env("XDG_CONFIG_HOME", project.root().with_file_name("config"))
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::piped());
    let started = Instant::now();
    let child = command.spawn().context("cannot start toolkiln run")?;
    process.lock().unwrap_or_else(|poisoned| poisoned.into_inner()).0 = Some(child.id());
    let output = child.wait_with_output()?;
    let told = String::from_utf8_lossy(&output.stderr);
    ensure!(output.status.success(), "toolkiln run: {}\n{told}", output.status);
    let exchanges = server.exchanges();
    ensure!(exchanges.len() == turns + 1, "{} requests instead of {}", exchanges.len(), turns + 1);
    let memory = process.lock().unwrap_or_else(|poisoned| poisoned.into_inner()).1;
    Ok(Seen { started, exchanges, memory })
}

/// A small project with enough files that no turn repeats another. It has a repository and a
/// manifest, so that every tool is offered.
fn project() -> Fixture {
    let project = Fixture::new("//- /.git/HEAD\nref: refs/heads/main\n");
    project.write("Cargo.toml", "[package]\nname = \"bench\"\nversion = \"1.0.0\"\n");
    let line = "The quick brown fox jumps over the lazy dog, line after line.\n";
    let mut text = line.repeat(FILE_BYTES.div_ceil(line.len()));
    text.truncate(FILE_BYTES - 1);
    for number in 0..FILES {
        project.write(format!("src/file_{number:03}.txt"), format!("{number}\n{text}\n"));
    }
    project
}

fn judge(figures: &Figures) -> Vec<Verdict> {
    let Figures {
        start,
        turn,
        shell_turn,
        late_turn,
        first_request,
        short_first_request,
        memory,
        late_memory,
        last_request,
    } = figures;
    let grown = late_memory.peak.saturating_sub(memory.peak) as f64;
    let conversation = last_request.saturating_sub(*first_request) as f64 / 1024.0;
    vec![
        below("start to first request, p50", start.median(), START_MS, "ms"),
        below("overhead of a tool turn, p50", turn.median(), TURN_MS, "ms"),
        below("overhead of a shell turn, p50", shell_turn.median(), SHELL_TURN_MS, "ms"),
        below("overhead of a turn after 190, p50", late_turn.median(), LATE_TURN_MS, "ms"),
        below("peak memory after 10 turns", megabytes(memory.peak), MEMORY_MB, "MB"),
        below("peak memory after 200 turns", megabytes(late_memory.peak), MEMORY_MB, "MB"),
        below("memory for each KB of conversation", grown / conversation, GROWTH, "KB"),
        below("first request, all tools", *first_request as f64, FIRST_REQUEST_BYTES, "bytes"),
        below(
            "first request, tools on demand",
            *short_first_request as f64,
            SHORT_FIRST_REQUEST_BYTES,
            "bytes",
        ),
    ]
}

fn megabytes(kilobytes: u64) -> f64 {
    kilobytes as f64 / 1024.0
}

fn table(figures: &Figures) -> String {
    format!(
        "| start to first request p50, ms | p90 | tool turn p50, ms | p90 | shell turn p50, ms | p90 | turns 190 to 200, p50 | peak memory, MB \
         | after 200 turns | first request, bytes |\n|---|---|---|---|---|---|---|---|---|---|\n\
         | {:.1} | {:.1} | {:.2} | {:.2} | {:.2} | {:.2} | {:.2} | {:.1} | {:.1} | {} |\n",
        figures.start.median(),
        figures.start.percentile(90),
        figures.turn.median(),
        figures.turn.percentile(90),
        figures.shell_turn.median(),
        figures.shell_turn.percentile(90),
        figures.late_turn.median(),
        megabytes(figures.memory.peak),
        megabytes(figures.late_memory.peak),
        figures.first_request,
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn times(milliseconds: u64) -> Times {
        Times::new(vec![Duration::from_millis(milliseconds)])
    }

    #[test]
    fn targets_are_judged() {
        let figures = Figures {
            start: times(25),
            turn: times(0),
            shell_turn: times(7),
            late_turn: times(1),
            first_request: 10_000,
            short_first_request: 12_000,
            memory: Memory { now: 20_000, peak: 20_480 },
            late_memory: Memory { now: 28_000, peak: 28_672 },
            last_request: 10_000 + 2 * 1024 * 1024,
        };
        let passed: Vec<bool> = judge(&figures).iter().map(|verdict| verdict.passed).collect();
        assert_eq!(passed, [false, true, false, true, true, true, true, true, false]);
        assert!(table(&figures).contains("| 25.0 | 25.0 | 0.00 |"));
    }

    #[test]
    fn a_turn_is_from_an_answer_to_the_next_request() {
        let start = Instant::now();
        let at = |ms: u64| start + Duration::from_millis(ms);
        let exchange = |arrived, answered| Exchange {
            arrived: at(arrived),
            answered: at(answered),
            request_bytes: 1,
        };
        let turns = between(&[exchange(0, 5), exchange(7, 9), exchange(10, 11)]);
        assert_eq!(turns, [Duration::from_millis(2), Duration::from_millis(1)]);
    }
}
