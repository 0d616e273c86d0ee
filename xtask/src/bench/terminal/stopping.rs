//! How long it takes to stop: Esc and Ctrl-C while an answer comes as fast as it is taken.

use std::path::Path;
use std::time::{Duration, Instant};

use anyhow::{Result, ensure};
use testkit::{Fixture, LiveScreen, ModelServer, Reply};
use vt100::Screen;

use super::{COLUMNS, ROWS, chat, leave, typed};
use crate::bench::stats::Times;
use crate::bench::verdict::{Verdict, below};

/// How many answers are stopped in each way.
pub(super) const STOPS: usize = 20;
/// What feels like at once.
const STOP_MS: f64 = 100.0;
const ESC: &str = "\x1b";
const CTRL_C_TWICE: &str = "\x03\x03";
/// What is written of the answer before it is stopped: some screens.
const BEGUN_BYTES: u64 = 128 * 1024;

pub(super) struct StopFigures {
    /// Until the screen says that the turn was cancelled and the prompt is ready.
    pub(super) esc: Times,
    /// Until the process is gone and the terminal is as it was.
    pub(super) ctrl_c: Times,
}

/// Stops [`STOPS`] answers in each way. The answers end neither before nor by themselves.
pub(super) fn measure(binary: &Path, project: &Fixture, pieces: &[String]) -> Result<StopFigures> {
    // What is never sent need not be made: it would take processor time from what is measured.
    let pieces = &pieces[..pieces.len() / 4];
    let esc: Result<Vec<_>> = (0..STOPS).map(|_| esc(binary, project, pieces)).collect();
    let ctrl_c: Result<Vec<_>> = (0..STOPS).map(|_| ctrl_c(binary, project, pieces)).collect();
    Ok(StopFigures { esc: Times::new(esc?), ctrl_c: Times::new(ctrl_c?) })
}

/// A chat in the middle of an answer.
fn streaming(binary: &Path, project: &Fixture, pieces: &[String]) -> (ModelServer, LiveScreen) {
    let server = ModelServer::start([Reply::pieces(pieces.iter().cloned())]);
    let mut screen = LiveScreen::start(&chat(binary, project, &server), COLUMNS, ROWS);
    screen.wait_until(|screen| typed(screen) == Some(0));
    let before = screen.bytes();
    screen.press("go\r");
    while screen.bytes() < before + BEGUN_BYTES {
        screen.take_written();
        screen.wait_written(|written| !written.is_empty());
    }
    (server, screen)
}

fn esc(binary: &Path, project: &Fixture, pieces: &[String]) -> Result<Duration> {
    let (_server, mut screen) = streaming(binary, project, pieces);
    let start = Instant::now();
    screen.press(ESC);
    screen.wait_until(says_cancelled);
    let time = start.elapsed();
    leave(&mut screen)?;
    Ok(time)
}

fn says_cancelled(screen: &Screen) -> bool {
    let contents = screen.contents();
    let mut lines = contents.lines().rev().filter(|line| !line.trim().is_empty());
    let is_ready = lines.next().is_some_and(|line| line.trim_start().starts_with("ready"));
    is_ready && lines.any(|line| line.trim() == "· cancelled")
}

fn ctrl_c(binary: &Path, project: &Fixture, pieces: &[String]) -> Result<Duration> {
    let (_server, mut screen) = streaming(binary, project, pieces);
    let start = Instant::now();
    screen.press(CTRL_C_TWICE);
    let code = screen.wait_exit();
    let time = start.elapsed();
    let changed = screen.changed_modes();
    ensure!(code == 0, "the chat ended with {code}");
    ensure!(changed.is_empty(), "the terminal is left with {}", changed.join(", "));
    Ok(time)
}

pub(super) fn judge(figures: &StopFigures) -> Vec<Verdict> {
    let judged = |what: &str, times: &Times| {
        [("p50", 50), ("worst", 100)].map(|(name, percent)| {
            below(&format!("{what}, {name}"), times.percentile(percent), STOP_MS, "ms")
        })
    };
    let esc = judged("Esc during an answer to cancelled", &figures.esc);
    let ctrl_c = judged("Ctrl-C twice during an answer to the end", &figures.ctrl_c);
    esc.into_iter().chain(ctrl_c).collect()
}

pub(super) fn table(figures: &StopFigures) -> String {
    let StopFigures { esc, ctrl_c } = figures;
    format!(
        "| Esc to cancelled p50, ms | worst | Ctrl-C twice to the end p50, ms | worst |\n\
         |---|---|---|---|\n| {:.1} | {:.1} | {:.1} | {:.1} |\n",
        esc.median(),
        esc.percentile(100),
        ctrl_c.median(),
        ctrl_c.percentile(100),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_slowest_counts_too() {
        let times = |milliseconds: [u64; 3]| {
            Times::new(milliseconds.into_iter().map(Duration::from_millis).collect())
        };
        let figures = StopFigures { esc: times([9, 120, 20]), ctrl_c: times([7, 8, 30]) };
        let verdicts = judge(&figures);
        let shown: Vec<(&str, bool)> = verdicts.iter().map(|v| (&*v.what, v.passed)).collect();
        assert_eq!(
            shown,
            [
                ("Esc during an answer to cancelled, p50: 20.00 ms (< 100 ms)", true),
                ("Esc during an answer to cancelled, worst: 120.00 ms (< 100 ms)", false),
                ("Ctrl-C twice during an answer to the end, p50: 8.00 ms (< 100 ms)", true),
                ("Ctrl-C twice during an answer to the end, worst: 30.00 ms (< 100 ms)", true),
            ]
        );
        assert_eq!(table(&figures).lines().last(), Some("| 20.0 | 120.0 | 8.0 | 30.0 |"));
    }
}
