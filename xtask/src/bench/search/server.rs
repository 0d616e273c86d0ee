//! Our own server, at home in a directory of the benchmark, and when it is ready to be measured.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, bail, ensure};
use serde_json::{Value, json};

use super::questions::SHOWN;
use crate::bench::client::Client;

/// The name of the text index in the cache.
const TEXT_INDEX: &str = "text.index";
/// More files than any project has: no index is built below that.
const NEVER_INDEXED: &str = "[limits]\nindex_from_files = 1000000000\n";
/// A word that no project holds, in two halves, so that this one does not either.
pub(crate) const NOWHERE: &str = concat!("zqxjk", "vbwpq");

/// An answer as quick as this did not walk a tree of the size that is worth an index.
const QUICK: Duration = Duration::from_millis(25);
const QUICK_IN_A_ROW: usize = 5;
const READY_WITHIN: Duration = Duration::from_secs(60);

/// Without work for as long as this, nothing is done in the background any more.
const QUIET: Duration = Duration::from_millis(1500);
const LOOK_EVERY: Duration = Duration::from_millis(50);
/// What a process that only waits may use between two looks.
const IDLE_TICKS: u64 = 1;

/// Configuration, state and caches of one measurement.
pub(crate) struct Home {
    directory: PathBuf,
}

impl Home {
    /// Emptied first, so that nothing is left of an earlier run.
    pub(crate) fn empty(directory: PathBuf) -> Result<Home> {
        if directory.exists() {
            fs::remove_dir_all(&directory).context("cannot empty a home of the benchmark")?;
        }
        fs::create_dir_all(directory.join("cache"))?;
        fs::create_dir_all(directory.join("config/toolkiln"))?;
        Ok(Home { directory })
    }

    /// Removes what was cached here.
    pub(crate) fn forget_the_cache(&self) -> Result<()> {
        let cache = self.directory.join("cache");
        fs::remove_dir_all(&cache).context("cannot empty the cache")?;
        Ok(fs::create_dir(&cache)?)
    }

    /// Lets searches in this home walk.
    pub(crate) fn without_index(self) -> Result<Home> {
        fs::write(self.directory.join("config/toolkiln/config.toml"), NEVER_INDEXED)?;
        Ok(self)
    }

    /// A command of ours that lives here.
    pub(crate) fn command(&self, binary: &Path, subcommand: &str, project: &Path) -> Command {
        let mut command = Command::new(binary);
        for (name, place) in [
            ("XDG_CONFIG_HOME", "config"),
            ("XDG_CACHE_HOME", "cache"),
            ("XDG_STATE_HOME", "state"),
        ] {
            command.env(name, self.directory.join(place));
        }
        command.arg(subcommand).arg("--root").arg(project);
        command
    }

    /// A server that lives here.
    pub(crate) fn server(&self, binary: &Path, project: &Path) -> Result<Client> {
        let (client, _) = Client::start(&mut self.command(binary, "mcp", project))?;
        Ok(client)
    }

    /// Builds the index; what it says about itself, and how long it took.
    pub(crate) fn build_index(&self, binary: &Path, project: &Path) -> Result<(Value, Duration)> {
        let mut command = self.command(binary, "index", project);
        command.arg("--json").stdin(Stdio::null());
        let start = Instant::now();
        let output = command.output().context("cannot start toolkiln index")?;
        let time = start.elapsed();
        ensure!(
            output.status.success(),
            "toolkiln index: {}\n{}",
            output.status,
            String::from_utf8_lossy(&output.stderr)
        );
        Ok((serde_json::from_slice(&output.stdout).context("toolkiln index --json")?, time))
    }

    /// Removes everything but the text index from the cache; whether there was anything.
    pub(crate) fn keep_only_the_text_index(&self) -> Result<bool> {
        remove_all_but(TEXT_INDEX, &self.directory.join("cache"))
    }
}

fn remove_all_but(name: &str, directory: &Path) -> Result<bool> {
    let mut removed = false;
    for entry in fs::read_dir(directory)? {
        let entry = entry?;
        if entry.file_type()?.is_dir() {
            removed |= remove_all_but(name, &entry.path())?;
        } else if entry.file_name() != name {
            fs::remove_file(entry.path())?;
            removed = true;
        }
    }
    Ok(removed)
}

/// The arguments of `grep` that ask what ripgrep is asked: no context lines, no exclusions but the
/// project's own.
pub(crate) fn grep(pattern: &str, case_sensitive: bool) -> Value {
    json!({
        "pattern": pattern,
        "case_sensitive": case_sensitive,
        "context": 0,
        "exclude": [],
        "max_results": SHOWN,
    })
}

/// Waits until answers come from the index; a search is what makes a server open it.
pub(crate) fn wait_until_quick(client: &mut Client) -> Result<Duration> {
    let start = Instant::now();
    let mut in_a_row = 0;
    loop {
        let (_, time) = client.ask("grep", &grep(NOWHERE, true))?;
        in_a_row = if time < QUICK { in_a_row + 1 } else { 0 };
        if in_a_row == QUICK_IN_A_ROW {
            return Ok(start.elapsed());
        }
        if start.elapsed() > READY_WITHIN {
            bail!("a search for nothing still takes {time:.0?} after {READY_WITHIN:.0?}");
        }
    }
}

/// Waits until the server does nothing in the background any more; how long it did something.
pub(crate) fn wait_until_idle(client: &Client, bound: Duration) -> Result<Duration> {
    let ticks = || client.processor_ticks().context("there is no /proc to tell when it is idle");
    let start = Instant::now();
    let (mut seen, mut busy_until) = (ticks()?, start);
    while busy_until.elapsed() < QUIET {
        ensure!(start.elapsed() < bound, "still busy in the background after {bound:.0?}");
        thread::sleep(LOOK_EVERY);
        let now = ticks()?;
        if now > seen + IDLE_TICKS {
            busy_until = Instant::now();
        }
        seen = now;
    }
    Ok(busy_until - start)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_but_the_text_index_is_forgotten() {
        let project = testkit::Fixture::new("");
        let home = Home::empty(project.path("home")).expect("a home");
        assert!(!home.keep_only_the_text_index().expect("nothing there"));
        project.write("home/cache/toolkiln/p/text.index", "text");
        project.write("home/cache/toolkiln/p/symbols.index", "symbols");
        assert!(home.keep_only_the_text_index().expect("one is removed"));
        assert!(project.path("home/cache/toolkiln/p/text.index").exists());
        assert!(!project.path("home/cache/toolkiln/p/symbols.index").exists());
        assert!(!home.keep_only_the_text_index().expect("nothing left"));

        Home::empty(project.path("home")).expect("the same home");
        assert!(!project.path("home/cache/toolkiln").exists());
    }
}
