//! `cargo xtask bench terminal`: what the chat costs at a real terminal. A scripted model sends long answers
//! as fast as they are taken, and a screen model says when something can be seen.

mod stopping;

use std::fs;
use std::path::Path;
use std::process::{Command, ExitCode};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, ensure};
use testkit::{Fixture, Gate, LiveScreen, ModelServer, Reply};
use vt100::{Cell, Screen};

use super::Effort;
use super::client::{Memory, memory_in, ticks_in};
use super::stats::Times;
use super::verdict::{Verdict, at_most, below, pronounce};
use crate::house::House;
use stopping::{STOPS, StopFigures};

const START_MS: f64 = 40.0;
const ECHO_MS: f64 = 10.0;
const CORES: f64 = 1.0;
/// How much memory the answer may take, for each byte of it.
const MEMORY_TIMES: f64 = 2.0;
/// A frame in which only a key was typed: some rows of the living part, with their colours.
const FRAME_BYTES: f64 = 4096.0;
/// What is written to the terminal for each byte of the answer: the text, line ends, colours, and the
/// living part drawn anew below it.
const WRITTEN_TIMES: f64 = 2.0;

const COLUMNS: u16 = 100;
const ROWS: u16 = 30;
const ANSWER_BYTES: usize = 10 * 1024 * 1024;
/// The last words of the answer.
const LAST_WORDS: &str = "These are the last words.";
/// Keys that are typed while the model is silent.
const QUIET_KEYS: usize = 20;
/// Between two keys of a fast typist, and long enough that the next key does not meet the last one's frame.
const BETWEEN_KEYS: Duration = Duration::from_millis(30);
/// The kernel's clock, by which it counts the time of processes.
const TICK: Duration = Duration::from_millis(10);
/// What an answer may take before it counts as not ending.
const PATIENCE: Duration = Duration::from_secs(120);
/// The long answer is not to be cut, nor the conversation shortened after it.
const ANSWER_TOKENS: u64 = 20_000_000;
const CONTEXT_TOKENS: u64 = 200_000_000;
const BACKSPACE: &str = "\x7f";
const LEAVE: &str = "\x04";

struct Figures {
    start: Times,
    echo: Times,
    answers: Vec<AnswerFigures>,
    stops: StopFigures,
}

/// What one long answer took.
struct AnswerFigures {
    bytes: usize,
    wall: Duration,
    processor: Duration,
    /// Resident memory before the answer, and the most until its end, in kilobytes.
    before: u64,
    peak: u64,
    written: u64,
    /// The largest frame while the model was silent, in bytes.
    quiet_frame: usize,
    /// How many frames were drawn during the answer.
    frames: usize,
}

/// Measures, prints and judges; the exit code says whether every target was reached.
pub(crate) fn run(effort: Effort, profile: &str) -> Result<ExitCode> {
    let house = House::find()?;
    let binary = house.build(profile)?;
    let (starts, answers) = match effort {
        Effort::Full => (20, 3),
        Effort::Quick => (5, 1),
    };
    // A debug binary draws too slowly for the whole answer.
    let bytes = if profile == "release" { ANSWER_BYTES } else { ANSWER_BYTES / 16 };
    let figures = measure(&binary, starts, answers, bytes)?;
    println!("\n{}", table(&figures));
    let size = bytes / 1024;
    println!("{starts} starts, {answers} answers of {size} KB, {STOPS} stops of each kind.\n");
    Ok(pronounce(&judge(&figures)))
}

fn measure(binary: &Path, starts: usize, answers: usize, bytes: usize) -> Result<Figures> {
    let project = Fixture::new("//- /src/main.rs\nfn main() {}\n");
    let config = project.root().with_file_name("config").join("toolkiln");
    fs::create_dir_all(&config)?;
    let settings =
        format!("[model]\nmax_tokens = {ANSWER_TOKENS}\ncontext_tokens = {CONTEXT_TOKENS}\n");
    fs::write(config.join("config.toml"), settings)?;
    // The first start makes the state; users have that behind them.
    start_to_prompt(binary, &project)?;
    let times: Result<Vec<Duration>> =
        (0..starts).map(|_| start_to_prompt(binary, &project)).collect();
    let pieces = answer_pieces(bytes);
    let mut echoes = Vec::new();
    let answers: Result<Vec<AnswerFigures>> =
        (0..answers).map(|_| long_answer(binary, &project, &pieces, &mut echoes)).collect();
    let stops = stopping::measure(binary, &project, &pieces)?;
    Ok(Figures { start: Times::new(times?), echo: Times::new(echoes), answers: answers?, stops })
}

fn chat(binary: &Path, project: &Fixture, server: &ModelServer) -> Command {
    let mut command = Command::new(binary);
    // Ollama's kind of server needs no key.
    command.args(["chat", "--provider", "ollama", "--model", "scripted", "--base-url"]);
    command.arg(server.base_url()).arg("--root").arg(project.root());
    for (name, directory) in
        [("XDG_STATE_HOME", "state"), ("XDG_CACHE_HOME", "cache"), ("XDG_CONFIG_HOME", "config")]
    {
        command.env(name, project.root().with_file_name(directory));
    }
    command
}

/// From before the start of the process until the prompt can be seen. `setsid`, which gives the process its
/// terminal, is part of it.
fn start_to_prompt(binary: &Path, project: &Fixture) -> Result<Duration> {
    let server = ModelServer::start([]);
    let command = chat(binary, project, &server);
    let start = Instant::now();
    let mut screen = LiveScreen::start(&command, COLUMNS, ROWS);
    screen.wait_until(|screen| typed(screen) == Some(0));
    let time = start.elapsed();
    leave(&mut screen)?;
    Ok(time)
}

/// How many times `x` stands between the mark of the prompt and the cursor; `None` without a prompt.
fn typed(screen: &Screen) -> Option<u16> {
    let (row, column) = screen.cursor_position();
    let is = |at: u16, text: &str| screen.cell(row, at).map(Cell::contents) == Some(text);
    let keys = (1..=column).take_while(|back| is(column - back, "x")).count();
    let keys = u16::try_from(keys).ok()?;
    let mark = (column - keys).checked_sub(2)?;
    (!screen.hide_cursor() && is(mark, "›")).then_some(keys)
}

fn leave(screen: &mut LiveScreen) -> Result<()> {
    screen.press(LEAVE);
    let code = screen.wait_exit();
    ensure!(code == 0, "the chat ended with {code}:\n{}", screen.text());
    Ok(())
}

/// Paragraphs as models write them, with some code, in pieces of a line.
fn answer_pieces(least: usize) -> Vec<String> {
    let mut pieces = Vec::new();
    let mut bytes = 0;
    for number in 0.. {
        let piece = match number % 16 {
            5 | 11 => "\n".to_owned(),
            6 => "```rust\n".to_owned(),
            7..=9 => format!("    let value_{number} = compute({number}) + \"a string\".len();\n"),
            10 => "```\n".to_owned(),
            15 => format!("- an item of a list, with the number **{number}** and `code`\n\n"),
            _ => format!("Line {number} of the answer says as much as a line of text can say.\n"),
        };
        bytes += piece.len();
        pieces.push(piece);
        if bytes >= least && number % 16 == 15 {
            break;
        }
    }
    pieces.push(LAST_WORDS.to_owned());
    pieces
}

fn long_answer(
    binary: &Path,
    project: &Fixture,
    pieces: &[String],
    echoes: &mut Vec<Duration>,
) -> Result<AnswerFigures> {
    let gate = Gate::new();
    let server = ModelServer::start([Reply::pieces(pieces.iter().cloned()).through(&gate)]);
    let mut screen = LiveScreen::start(&chat(binary, project, &server), COLUMNS, ROWS);
    screen.wait_until(|screen| typed(screen) == Some(0));
    screen.press("go\r");
    server.watch().wait_for_calls(1);
    screen.wait_until(|screen| typed(screen) == Some(0));

    screen.take_updates();
    for at in 0..QUIET_KEYS {
        echo(&mut screen, at);
    }
    let quiet = screen.take_updates();
    let quiet_frame = quiet.into_iter().max().context("the chat draws no synchronised updates")?;

    let id = screen.process().as_raw_nonzero();
    let before = memory(id)?.now;
    let (ticks, bytes) = (processor_ticks(id)?, screen.bytes());
    let start = Instant::now();
    gate.open();
    let is_over =
        |screen: &LiveScreen| screen.look(|screen| screen.contents().contains(LAST_WORDS));
    let mut at = QUIET_KEYS;
    while !is_over(&screen) {
        let shown = || screen.look(Screen::contents);
        ensure!(start.elapsed() < PATIENCE, "the answer does not end:\n{}", shown());
        let time = echo(&mut screen, at);
        // What was typed when the answer had ended meanwhile was not typed during the answer.
        if !is_over(&screen) {
            echoes.push(time);
        }
        at += 1;
        thread::sleep(BETWEEN_KEYS);
    }
    let wall = start.elapsed();
    let processor = TICK * u32::try_from(processor_ticks(id)? - ticks)?;
    let peak = memory(id)?.peak;
    let (written, frames) = (screen.bytes() - bytes, screen.take_updates().len());
    if !at.is_multiple_of(2) {
        echo(&mut screen, at);
    }
    leave(&mut screen)?;
    let bytes = pieces.iter().map(String::len).sum();
    Ok(AnswerFigures { bytes, wall, processor, before, peak, written, quiet_frame, frames })
}

/// Types a letter, or takes it back the next time, and waits until that can be seen.
fn echo(screen: &mut LiveScreen, at: usize) -> Duration {
    let (key, keys) = if at.is_multiple_of(2) { ("x", 1) } else { (BACKSPACE, 0) };
    let start = Instant::now();
    screen.press(key);
    screen.wait_until(|screen| typed(screen) == Some(keys));
    start.elapsed()
}

fn memory(id: impl std::fmt::Display) -> Result<Memory> {
    let status = fs::read_to_string(format!("/proc/{id}/status")).context("the chat has ended")?;
    memory_in(&status).context("the kernel does not tell the memory of processes")
}

fn processor_ticks(id: impl std::fmt::Display) -> Result<u64> {
    let stat = fs::read_to_string(format!("/proc/{id}/stat")).context("the chat has ended")?;
    ticks_in(&stat).context("the kernel does not tell the time of processes")
}

impl AnswerFigures {
    fn cores(&self) -> f64 {
        self.processor.as_secs_f64() / self.wall.as_secs_f64()
    }

    /// Memory for each byte of the answer.
    fn memory_times(&self) -> f64 {
        self.peak.saturating_sub(self.before) as f64 * 1024.0 / self.bytes as f64
    }

    fn written_times(&self) -> f64 {
        self.written as f64 / self.bytes as f64
    }
}

/// The answer that did worst counts.
fn judge(figures: &Figures) -> Vec<Verdict> {
    let worst = |of: fn(&AnswerFigures) -> f64| figures.answers.iter().map(of).fold(0.0, f64::max);
    let mut verdicts = vec![
        below("start to prompt, p50", figures.start.median(), START_MS, "ms"),
        below("key to echo during an answer, p50", figures.echo.median(), ECHO_MS, "ms"),
        below("key to echo during an answer, p95", figures.echo.percentile(95), ECHO_MS, "ms"),
        below("processor during an answer", worst(AnswerFigures::cores), CORES, "cores"),
        at_most("memory / answer", worst(AnswerFigures::memory_times), MEMORY_TIMES, "×"),
        at_most("largest frame of a key", worst(|it| it.quiet_frame as f64), FRAME_BYTES, "bytes"),
        at_most("written / answer", worst(AnswerFigures::written_times), WRITTEN_TIMES, "×"),
    ];
    verdicts.extend(stopping::judge(&figures.stops));
    verdicts
}

fn table(figures: &Figures) -> String {
    let Figures { start, echo, answers, stops } = figures;
    let mut text = format!(
        "| start to prompt p50, ms | p90 | key to echo p50, ms | p95 | p99 |\n|---|---|---|---|---|\n\
         | {:.1} | {:.1} | {:.2} | {:.2} | {:.2} |\n\n\
         | answer, s | MB/s | cores | memory before → peak, MB | memory / answer | written / answer | frames | largest frame of a key, bytes |\n\
         |---|---|---|---|---|---|---|---|\n",
        start.median(),
        start.percentile(90),
        echo.median(),
        echo.percentile(95),
        echo.percentile(99),
    );
    for answer in answers {
        let seconds = answer.wall.as_secs_f64();
        text += &format!(
            "| {seconds:.2} | {:.1} | {:.2} | {:.1} → {:.1} | {:.2} | {:.2} | {} | {} |\n",
            answer.bytes as f64 / 1024.0 / 1024.0 / seconds,
            answer.cores(),
            answer.before as f64 / 1024.0,
            answer.peak as f64 / 1024.0,
            answer.memory_times(),
            answer.written_times(),
            answer.frames,
            answer.quiet_frame,
        );
    }
    text + "\n" + &stopping::table(stops)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn screen(bytes: &str) -> vt100::Parser {
        let size = |number| std::num::NonZeroU16::new(number).expect("not zero");
        let mut parser = vt100::Parser::new(size(3), size(20), 0);
        parser.process(bytes.as_bytes());
        parser
    }

    #[test]
    fn what_is_typed_is_read_from_the_cursor_back() {
        let table = [
            ("│ › ", Some(0)),
            ("│ › xx", Some(2)),
            ("› ", Some(0)),
            ("│ › xx\x1b[?25l", None),
            ("x", None),
            ("", None),
            ("│ › y", None),
        ];
        for (bytes, expected) in table {
            assert_eq!(typed(screen(bytes).screen()), expected, "{bytes:?}");
        }
    }

    #[test]
    fn the_worst_answer_is_judged() {
        let answer = |processor: u64, peak: u64, written: u64| AnswerFigures {
            bytes: ANSWER_BYTES,
            wall: Duration::from_secs(2),
            processor: Duration::from_secs(processor),
            before: 1024,
            peak,
            written,
            quiet_frame: 300,
            frames: 7,
        };
        let times = |milliseconds| Times::new(vec![Duration::from_millis(milliseconds)]);
        let answers = vec![answer(1, 2048, 1 << 20), answer(2, 31 * 1024, 30 << 20)];
        let stops = StopFigures { esc: times(20), ctrl_c: times(30) };
        let figures = Figures { start: times(30), echo: times(4), answers, stops };
        let verdicts = judge(&figures);
        let shown = verdicts.iter().map(|v| (&*v.what, v.passed));
        let shown: Vec<(&str, bool)> =
            shown.filter(|(what, _)| !what.contains("during an answer to")).collect();
        assert_eq!(
            shown,
            [
                ("start to prompt, p50: 30.00 ms (< 40 ms)", true),
                ("key to echo during an answer, p50: 4.00 ms (< 10 ms)", true),
                ("key to echo during an answer, p95: 4.00 ms (< 10 ms)", true),
                ("processor during an answer: 1.00 cores (< 1 cores)", false),
                ("memory / answer: 3.00 × (≤ 2 ×)", false),
                ("largest frame of a key: 300.00 bytes (≤ 4096 bytes)", true),
                ("written / answer: 3.00 × (≤ 2 ×)", false),
            ]
        );
        assert_eq!(table(&figures).lines().count(), 12);
    }

    #[test]
    fn the_answer_is_as_long_as_it_says() {
        let pieces = answer_pieces(ANSWER_BYTES);
        let bytes: usize = pieces.iter().map(String::len).sum();
        assert!((ANSWER_BYTES..ANSWER_BYTES + 4096).contains(&bytes), "{bytes}");
        let fences = pieces.iter().filter(|piece| piece.starts_with("```")).count();
        assert!(fences > 0 && fences.is_multiple_of(2));
    }
}
