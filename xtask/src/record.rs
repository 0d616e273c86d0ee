//! `cargo xtask record`: plays a real conversation at a terminal and draws it, for the documentation.

mod picture;
mod steady;
mod story;
mod svg;

use std::fs;
use std::path::Path;
use std::process::{Command, ExitCode};
use std::thread;
use std::time::Duration;

use anyhow::{Context as _, Result, ensure};
use testkit::{Gate, LiveScreen, ModelServer};

use crate::house::House;
use picture::Frame;
use story::{COLUMNS, ROWS, STEPS, Step, TITLE, WORD_MILLISECONDS};

/// Where the picture is kept.
const PICTURE: &str = "docs/chat.svg";

/// Plays the run twice, since a picture that differs from run to run would change with every release, and
/// writes it.
pub(crate) fn run(profile: &str) -> Result<ExitCode> {
    let house = House::find()?;
    let binary = house.build(profile)?;
    let (first, second) = (play(&binary)?, play(&binary)?);
    same(&first, &second)?;
    let path = house.root.join(PICTURE);
    let picture = svg::svg(&first, usize::from(COLUMNS), TITLE);
    fs::write(&path, &picture).with_context(|| format!("cannot write {}", path.display()))?;
    println!("{PICTURE}: {} frames, {} KB", first.len(), picture.len() / 1024);
    Ok(ExitCode::SUCCESS)
}

/// The frames of one run. What the script waits for in vain fails with the screen.
fn play(binary: &Path) -> Result<Vec<Frame>> {
    let project = story::project();
    let gate = Gate::new();
    let server = ModelServer::start(story::replies(&gate));
    let mut screen = LiveScreen::start(&chat(binary, project.root(), &server), COLUMNS, ROWS);
    let mut frames = Vec::new();
    for step in STEPS {
        match step {
            Step::Type(text) => type_words(text, &mut screen, &mut frames),
            Step::Press(key) => screen.press(key),
            Step::Pass(pieces) => gate.pass(*pieces),
            Step::Wait(texts) => screen.wait_until(|screen| {
                let seen = screen.contents();
                texts.iter().all(|text| seen.contains(text))
            }),
            Step::Rest(milliseconds) => thread::sleep(Duration::from_millis(*milliseconds)),
            Step::Hold(milliseconds) => frames.push(frame(&screen, *milliseconds)),
        }
    }
    Ok(frames)
}

fn frame(screen: &LiveScreen, milliseconds: u64) -> Frame {
    screen.look(|screen| Frame::new(screen, milliseconds))
}

/// Each word comes with the blank before it: a blank at the end could not be waited for.
fn type_words(text: &str, screen: &mut LiveScreen, frames: &mut Vec<Frame>) {
    let ends = text.match_indices(' ').map(|(at, _)| at).chain([text.len()]);
    let mut typed = 0;
    for end in ends {
        screen.press(&text[typed..end]);
        typed = end;
        screen.wait_until(|screen| screen.contents().contains(&text[..end]));
        frames.push(frame(screen, WORD_MILLISECONDS));
    }
}

fn chat(binary: &Path, project: &Path, server: &ModelServer) -> Command {
    let mut command = Command::new(binary);
    // Ollama's kind of server needs no key.
    command.args(["chat", "--provider", "ollama", "--model", "opus", "--allow", "bash"]);
    command.arg("--base-url").arg(server.base_url()).arg("--root").arg(project);
    for (name, directory) in [
        ("HOME", "home"),
        ("XDG_STATE_HOME", "state"),
        ("XDG_CACHE_HOME", "cache"),
        ("XDG_CONFIG_HOME", "config"),
    ] {
        command.env(name, project.with_file_name(directory));
    }
    command
}

/// Fails with both pictures of the first frame that differs.
fn same(first: &[Frame], second: &[Frame]) -> Result<()> {
    for (at, (one, other)) in first.iter().zip(second).enumerate() {
        let (before, after) = (one.text(), other.text());
        ensure!(before == after, "frame {at} differs:\n{before}\n\nand then:\n{after}");
        ensure!(one == other, "frame {at} differs in its colours or its cursor:\n{before}");
    }
    ensure!(first.len() == second.len(), "{} frames, then {}", first.len(), second.len());
    Ok(())
}
