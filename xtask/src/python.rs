//! Steps that are Python scripts, each with packages of its own.

use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context as _, Result};

use crate::house::House;
use crate::step::{Outcome, one_line, run as run_command};

/// A script that is given a program of ours to examine.
pub(crate) struct Script {
    /// Where it is, from the root of the repository.
    pub(crate) path: &'static str,
    /// The name of the directory that its packages are kept in.
    pub(crate) cache: &'static str,
    /// What pip installs for it; pinned, so that a new release cannot break us on a day of its own
    /// choosing.
    pub(crate) requirements: &'static [&'static str],
}

impl Script {
    /// Runs it. Only its preparation may be skipped: once the packages are installed, its verdict
    /// counts.
    pub(crate) fn run(&self, house: &House, program: &Path) -> Result<Outcome> {
        self.run_with(house, program, &[])
    }

    /// Runs it with variables of the environment that tell it where more things are.
    pub(crate) fn run_with(
        &self,
        house: &House,
        program: &Path,
        variables: &[(&str, &OsStr)],
    ) -> Result<Outcome> {
        match self.interpreter(&house.cache(self.cache)) {
            Ok(python) => {
                let mut command = Command::new(python);
                command.current_dir(&house.root).arg(self.path).arg(program);
                command.envs(variables.iter().copied());
                // Modules beside a script are imported from the source tree, which stays as it is.
                command.env("PYTHONDONTWRITEBYTECODE", "1");
                run_command(&mut command)?;
                Ok(Outcome::Passed)
            }
            Err(why) => Ok(Outcome::Skipped {
                what: format!("{} with {}", self.path, self.requirements.join(", ")),
                why: one_line(&format!("{why:#}")),
            }),
        }
    }

    /// The interpreter of a virtual environment that holds the packages, made once.
    pub(crate) fn interpreter(&self, directory: &Path) -> Result<PathBuf> {
        let python =
            directory.join(if cfg!(windows) { "Scripts/python.exe" } else { "bin/python" });
        let stamp = directory.join("requirement.stamp");
        let wanted = self.requirements.join("\n");
        // The interpreter is asked as well, because the system's Python may have gone meanwhile.
        let answers = |python: &Path| {
            Command::new(python).arg("--version").output().is_ok_and(|out| out.status.success())
        };
        if fs::read_to_string(&stamp).is_ok_and(|kept| kept == wanted) && answers(&python) {
            return Ok(python);
        }
        let mut make = Command::new("python3");
        run_command(make.args(["-m", "venv", "--clear"]).arg(directory))?;
        if !self.requirements.is_empty() {
            let mut install = Command::new(&python);
            install.args(["-m", "pip", "install", "--quiet", "--disable-pip-version-check"]);
            run_command(install.args(self.requirements))?;
        }
        fs::write(&stamp, wanted).context("cannot write the stamp")?;
        Ok(python)
    }
}
