//! The step "same matches as ripgrep": thousands of questions, put to our search and to ripgrep.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context as _, Result, ensure};

use crate::house::House;
use crate::step::{Outcome, one_line, run as run_command};

/// The oldest ripgrep that knows all options and decides about binary files as the current one does.
const OLDEST: u32 = 13;

/// Memory that is mounted as a directory: the corpus is small and changed all the time.
const MEMORY: &str = "/dev/shm";

/// Runs the example that compares. Only getting hold of ripgrep may be skipped.
pub(crate) fn ripgrep(house: &House) -> Result<Outcome> {
    let program = match program(&house.cache("ripgrep")) {
        Ok(program) => program,
        Err(why) => {
            return Ok(Outcome::Skipped {
                what: "same matches as ripgrep".into(),
                why: one_line(&format!("{why:#}")),
            });
        }
    };
    let directory = place_for_corpus(&house.cache("differential"));
    // What an interrupted run has left.
    if directory.exists() {
        fs::remove_dir_all(&directory).context("cannot clear the corpus")?;
    }
    // The program that the tests have built, and not `cargo run`: for one package alone, features
    // resolve differently and most dependencies would be built again.
    let mut command = Command::new(house.example("debug", "search_differential"));
    run_command(command.arg(&directory).arg(program))?;
    // A corpus that showed a difference is left for inspection.
    fs::remove_dir_all(&directory).context("cannot clear the corpus")?;
    Ok(Outcome::Passed)
}

fn place_for_corpus(otherwise: &Path) -> PathBuf {
    let memory = Path::new(MEMORY);
    if memory.is_dir() {
        return memory.join(format!("toolkiln-differential-{}", std::process::id()));
    }
    otherwise.to_owned()
}

/// The ripgrep on the path if it is new enough, else one that cargo builds once.
fn program(cache: &Path) -> Result<PathBuf> {
    let found = PathBuf::from("rg");
    if version(&found).is_ok_and(|version| version >= OLDEST) {
        return Ok(found);
    }
    let built = cache.join("bin").join(format!("rg{}", std::env::consts::EXE_SUFFIX));
    if version(&built).is_err() {
        let mut cargo = Command::new("cargo");
        cargo.args(["install", "ripgrep", "--locked", "--quiet", "--root"]).arg(cache);
        let output = cargo.output().context("cannot start cargo")?;
        ensure!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    }
    version(&built)?;
    Ok(built)
}

/// The major version that a ripgrep says it has.
fn version(program: &Path) -> Result<u32> {
    let output = Command::new(program).arg("--version").output().context("no ripgrep")?;
    ensure!(output.status.success(), "ripgrep does not say its version");
    major(&String::from_utf8_lossy(&output.stdout)).context("ripgrep does not say its version")
}

fn major(text: &str) -> Option<u32> {
    text.strip_prefix("ripgrep ")?.split('.').next()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_version_is_in_the_first_line() {
        assert_eq!(major("ripgrep 13.0.0\n-SIMD -AVX (compiled)\n"), Some(13));
        assert_eq!(major("ripgrep 15.1.0 (rev af60c2de9d)\n"), Some(15));
        assert_eq!(major("grep (GNU grep) 3.8\n"), None);
    }

    #[test]
    fn a_program_that_is_none_has_no_version() {
        assert!(version(Path::new("no-such-program")).is_err());
    }
}
