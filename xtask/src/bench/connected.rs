//! `cargo xtask bench connected`: what foreign MCP servers cost, the good and the bad ones, and how
//! quickly an editor is served.

mod editor;
mod foreign;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, ensure};
use testkit::model_server::ModelCall;
use testkit::{Exchange, Fixture, ModelServer, Reply};

use self::editor::EditorFigures;
use self::foreign::ForeignFigures;
use super::Effort;
use super::agent::between as turns;
use super::verdict::{Verdict, at_most, below, pronounce};
use crate::house::House;

/// How much later the first request may come because servers are configured.
const LATER_MS: f64 = 5.0;
/// How much larger it may be.
const LARGER_BYTES: f64 = 1024.0;
/// What a call of a foreign tool may take beyond a call of our own and the server's own time.
const FOREIGN_MS: f64 = 0.5;
/// How long after its limit a silent server may still be waited for.
const GIVEN_UP_MS: f64 = 250.0;
const INITIALIZE_MS: f64 = 8.0;
const NEW_SESSION_MS: f64 = 20.0;
const READ_TURN_MS: f64 = 1.5;
const SHELL_TURN_MS: f64 = 5.0;
const EDITOR_MB: f64 = 35.0;

/// Measures, prints and judges; the exit code says whether every target was reached.
pub(crate) fn run(effort: Effort) -> Result<ExitCode> {
    let house = House::find()?;
    let binary = house.build("release")?;
    let runs = match effort {
        Effort::Full => 40,
        Effort::Quick => 10,
    };
    let stage = Stage::new(binary);
    let foreign = foreign::measure(&stage, runs)?;
    let editor = editor::measure(&stage, runs)?;
    println!("\n{}\n{}", foreign.table(), editor.table());
    println!("{runs} starts and {runs} conversations of each kind.\n");
    Ok(pronounce(&judge(&foreign, &editor)))
}

fn judge(foreign: &ForeignFigures, editor: &EditorFigures) -> Vec<Verdict> {
    let later = foreign.start.median() - foreign.start_alone.median();
    let larger = foreign.first_request as f64 - foreign.first_request_alone as f64;
    vec![
        at_most("first request later with 7 servers, p50", later, LATER_MS, "ms"),
        at_most("first request larger with 7 servers", larger, LARGER_BYTES, "bytes"),
        at_most(
            "foreign call, beyond the server's own time, p50",
            foreign.beyond(),
            FOREIGN_MS,
            "ms",
        ),
        Verdict {
            what: "killed server, its call is answered all the same".to_owned(),
            passed: foreign.restarted_ms.is_some(),
        },
        at_most("silent server, given up after its limit", foreign.late_ms, GIVEN_UP_MS, "ms"),
        below("ACP, start to initialize, p50", editor.initialize.median(), INITIALIZE_MS, "ms"),
        below("ACP, session/new, p50", editor.new_session.median(), NEW_SESSION_MS, "ms"),
        below("ACP, a turn that reads, p50", editor.read_turn.median(), READ_TURN_MS, "ms"),
        below(
            "ACP, a turn that runs a command, p50",
            editor.shell_turn.median(),
            SHELL_TURN_MS,
            "ms",
        ),
        below("ACP, peak memory", editor.peak_mb, EDITOR_MB, "MB"),
    ]
}

/// A project, and the directories that the program keeps its things in.
struct Stage {
    binary: PathBuf,
    project: Fixture,
}

impl Stage {
    const FILES: usize = 40;

    fn new(binary: PathBuf) -> Self {
        let project =
            Fixture::new("//- /Cargo.toml\n[package]\nname = \"bench\"\nversion = \"1.0.0\"\n");
        let line = "The quick brown fox jumps over the lazy dog, line after line.\n";
        for number in 0..Self::FILES {
            let text = format!("{number}\n{}", line.repeat(64));
            project.write(format!("src/file_{number:03}.txt"), text);
        }
        Self { binary, project }
    }

    fn beside(&self, name: &str) -> PathBuf {
        self.project.root().with_file_name(name)
    }

    /// Replaces the user's configuration.
    fn configure(&self, text: &str) -> Result<()> {
        let directory = self.beside("config").join("toolkiln");
        fs::create_dir_all(&directory)?;
        Ok(fs::write(directory.join("config.toml"), text)?)
    }

    fn command(&self, words: &[&str]) -> Command {
        let mut command = Command::new(&self.binary);
        command.args(words).arg("--root").arg(self.project.root()).env("ANTHROPIC_API_KEY", "none");
        for (name, directory) in [
            ("XDG_STATE_HOME", "state"),
            ("XDG_CACHE_HOME", "cache"),
            ("XDG_CONFIG_HOME", "config"),
        ] {
            command.env(name, self.beside(directory));
        }
        command
    }

    /// A conversation in which the model says what `script` says, from the first request on.
    fn converse(
        &self,
        script: impl FnMut(&ModelCall) -> Reply + Send + 'static,
    ) -> Result<Conversation> {
        let server = ModelServer::answering(script);
        let mut command = self.command(&["run", "Do it.", "--max-turns", "1000"]);
        command
            .args([
                "--provider",
                "anthropic",
                "--model",
                "scripted",
                "--base-url",
                &server.base_url(),
            ])
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::piped());
        let started = Instant::now();
        let output = command.spawn().context("cannot start toolkiln run")?.wait_with_output()?;
        let told = String::from_utf8_lossy(&output.stderr);
        ensure!(output.status.success(), "toolkiln run: {}\n{told}", output.status);
        Ok(Conversation { started, exchanges: server.exchanges(), calls: server.calls() })
    }
}

/// A conversation as its model saw it.
struct Conversation {
    started: Instant,
    exchanges: Vec<Exchange>,
    calls: Vec<ModelCall>,
}

impl Conversation {
    fn first_request(&self) -> Result<(Duration, usize)> {
        let first = self.exchanges.first().context("the model was not asked")?;
        Ok((first.arrived - self.started, first.request_bytes))
    }

    /// What the tools have answered, in the last request.
    fn answers(&self) -> Vec<String> {
        let last = self.calls.last().map(ModelCall::tool_answers).unwrap_or_default();
        last.into_iter().map(|answer| answer.text).collect()
    }
}

/// The processes whose command line has this word.
fn processes_with(word: &Path) -> Vec<i32> {
    let word = word.to_string_lossy();
    let Ok(entries) = fs::read_dir("/proc") else { return Vec::new() };
    let ids = entries.filter_map(|entry| entry.ok()?.file_name().to_str()?.parse::<i32>().ok());
    ids.filter(|id| {
        let line = fs::read(format!("/proc/{id}/cmdline")).unwrap_or_default();
        line.split(|byte| *byte == 0).any(|part| part == word.as_bytes())
    })
    .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bench::stats::Times;

    fn times(microseconds: u64) -> Times {
        Times::new(vec![Duration::from_micros(microseconds)])
    }

    #[test]
    fn targets_are_judged() {
        let foreign = ForeignFigures {
            start_alone: times(10_000),
            start: times(16_000),
            first_request_alone: 9_000,
            first_request: 9_900,
            own_turn: times(900),
            foreign_turn: times(1_700),
            server: times(200),
            restarted_ms: Some(40.0),
            late_ms: 3.0,
        };
        let editor = EditorFigures {
            initialize: times(5_000),
            new_session: times(25_000),
            read_turn: times(1_000),
            shell_turn: times(4_000),
            peak_mb: 40.0,
        };
        let passed: Vec<bool> =
            judge(&foreign, &editor).iter().map(|verdict| verdict.passed).collect();
        assert_eq!(passed, [false, true, false, true, true, true, false, true, true, false]);
    }
}
